//! An output, written as a document.

use serde_json::Value;

use super::{MARK, Output, is_marked};
use crate::model::{BlobHash, BlockKind, ModelBlock};

/// A section as it is written: what it is, and what stands below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) body: String,
}

/// Writes an output. Each remark is a line above it; line ends in one are blanks.
pub fn write(output: &Output, remarks: &[String]) -> String {
    let mut text = String::new();
    for remark in remarks {
        let remark = remark.replace(['\n', '\r'], " ");
        text.push_str(format!("# {remark}").trim_end());
        text.push('\n');
    }
    if !remarks.is_empty() {
        text.push('\n');
    }
    for section in sections(output) {
        text.push_str(MARK);
        text.push_str(&section.title);
        text.push('\n');
        for line in section.body.split('\n') {
            if is_marked(line) {
                text.push('\\');
            }
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

fn sections(output: &Output) -> Vec<Section> {
    match output {
        Output::Response(blocks) => blocks.iter().map(block).collect(),
        Output::Result {
            outcome,
            exit,
            output,
            attachments,
            detail,
        } => {
            let title = match exit {
                Some(exit) => format!("result {outcome} exit {exit}"),
                None => format!("result {outcome}"),
            };
            let mut sections = vec![section(title, output.clone())];
            if !detail.is_null() {
                sections.push(section("detail", json(detail)));
            }
            sections.extend(attachments.iter().map(attachment));
            sections
        }
        Output::Prompt {
            role,
            text,
            attachments,
        } => {
            let mut sections = vec![section(format!("prompt {}", word(role)), text.clone())];
            sections.extend(attachments.iter().map(attachment));
            sections
        }
    }
}

/// The section of a block.
pub(super) fn block(block: &ModelBlock) -> Section {
    match block.kind {
        BlockKind::Text => section("text", block.text.clone()),
        BlockKind::Thinking => section("thinking", block.text.clone()),
        BlockKind::ToolCall => section(format!("call {}", word(&block.text)), json(&block.data)),
        BlockKind::Other => section(format!("block {}", word(&block.text)), json(&block.data)),
    }
}

fn attachment(hash: &BlobHash) -> Section {
    section(format!("attachment {hash}"), String::new())
}

fn section(title: impl Into<String>, body: String) -> Section {
    Section {
        title: title.into(),
        body,
    }
}

fn json(value: &Value) -> String {
    format!("{value:#}")
}

/// A name as it stands behind the sort of a section: plain, or as a JSON string.
fn word(name: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.:/@".contains(c);
    if !name.is_empty() && name.chars().all(is_part) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}
