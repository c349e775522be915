//! A document, read back: the output it says, or where the first mistake is.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::write::{self, Section};
use super::{MARK, Output, is_marked};
use crate::model::{BlobHash, BlockKind, ModelBlock, Outcome};

/// An output, as a document says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The output. A call that is new, or was changed, has no id.
    pub output: Output,
    /// The line, from 1, at which each of its blocks begins; of a result or a prompt, the one
    /// of all of it.
    pub lines: Vec<usize>,
}

/// Whether a text without any section is one, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is a mistake: the document had some.
    Sections,
    /// It is the words of the output, and all else stays as it was.
    MayBePlain,
}

/// A mistake in a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {what}", column.map(|column| format!(", column {column}")).unwrap_or_default())]
pub struct DocumentError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in bytes, where it is known.
    pub column: Option<usize>,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl Document {
    /// Reads a document that was made of `original`, or stands for it.
    pub fn read(text: &str, original: &Output, reading: Reading) -> Result<Self, DocumentError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let has_sections = text.split('\n').any(|line| line.starts_with(MARK));
        if !has_sections && reading == Reading::MayBePlain {
            return Ok(plain(text, original));
        }
        let parts = parts(text, original)?;
        match original {
            Output::Response(blocks) => response(&parts, blocks),
            Output::Result { .. } => result(&parts, original),
            Output::Prompt { .. } => prompt(&parts, original),
        }
    }
}

/// A text that is nothing but the words of an output.
fn plain(text: &str, original: &Output) -> Document {
    let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
    let output = match original.clone() {
        Output::Response(_) => Output::Response(vec![ModelBlock {
            kind: BlockKind::Text,
            text,
            call: None,
            data: Value::Null,
        }]),
        Output::Result {
            outcome,
            exit,
            attachments,
            detail,
            ..
        } => Output::Result {
            outcome,
            exit,
            output: text,
            attachments,
            detail,
        },
        Output::Prompt {
            role, attachments, ..
        } => Output::Prompt {
            role,
            text,
            attachments,
        },
    };
    Document {
        output,
        lines: vec![1],
    }
}

/// A section, and where it begins.
struct Part {
    line: usize,
    section: Section,
}

impl Part {
    /// The sort of the section, and what stands behind it.
    fn words(&self) -> (&str, &str) {
        let title = self.section.title.trim();
        let (sort, rest) = title.split_once(' ').unwrap_or((title, ""));
        (sort, rest.trim())
    }

    fn wrong(&self, what: impl Into<String>) -> DocumentError {
        DocumentError {
            line: self.line,
            column: None,
            what: what.into(),
        }
    }

    /// The name behind the sort of the section.
    fn name(&self) -> Result<String, DocumentError> {
        match self.words() {
            (sort, "") => Err(self.wrong(format!("`== {sort}` is to be followed by a name"))),
            (_, word) if word.starts_with('"') => serde_json::from_str(word).map_err(|error| {
                self.wrong(format!("the name is no JSON string: {}", said(&error)))
            }),
            (_, word) => Ok(word.to_owned()),
        }
    }

    /// What stands below the section, as JSON.
    fn json<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        serde_json::from_str(&self.section.body).map_err(|error| DocumentError {
            line: self.line + error.line().max(1),
            column: (error.column() > 0).then_some(error.column()),
            what: format!("no JSON: {}", said(&error)),
        })
    }

    fn is_nothing_below(&self) -> Result<(), DocumentError> {
        if self.section.body.trim().is_empty() {
            return Ok(());
        }
        let (sort, _) = self.words();
        Err(self.wrong(format!("nothing is to stand below `== {sort}`")))
    }
}

/// What a JSON reader says, without the place, which counts from the section.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let said = text.rsplit_once(" at line ").map(|(said, _)| said);
    said.unwrap_or(&text).to_owned()
}

/// Cuts a document into its sections.
fn parts(text: &str, original: &Output) -> Result<Vec<Part>, DocumentError> {
    let mut parts: Vec<Part> = Vec::new();
    let mut below: Vec<&str> = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if let Some(title) = line.strip_prefix(MARK) {
            close(&mut parts, &mut below);
            parts.push(Part {
                line: index + 1,
                section: Section {
                    title: title.trim_end().to_owned(),
                    body: String::new(),
                },
            });
        } else if !parts.is_empty() {
            below.push(line);
        } else if !line.starts_with('#') && !line.trim().is_empty() {
            return Err(DocumentError {
                line: index + 1,
                column: None,
                what: format!("a section is expected first: {}", original.sections()),
            });
        }
    }
    // What the last line ends with begins no other one.
    if below.last().is_some_and(|line| line.is_empty()) {
        below.pop();
    }
    close(&mut parts, &mut below);
    if parts.is_empty() {
        return Err(DocumentError {
            line: 1,
            column: None,
            what: format!("there is no section: {}", original.sections()),
        });
    }
    Ok(parts)
}

/// Gives the lines below the last section to it.
fn close(parts: &mut [Part], below: &mut Vec<&str>) {
    let Some(part) = parts.last_mut() else {
        return;
    };
    // One blank line parts a section from the next one.
    if below.len() > 1 && below.last().is_some_and(|line| line.is_empty()) {
        below.pop();
    }
    let lines = below.drain(..).map(|line| match line.strip_prefix('\\') {
        Some(rest) if is_marked(line) => rest,
        _ => line,
    });
    part.section.body = lines.collect::<Vec<_>>().join("\n");
}

fn response(parts: &[Part], original: &[ModelBlock]) -> Result<Document, DocumentError> {
    let mut untouched = original.iter();
    let mut blocks = Vec::new();
    for part in parts {
        // Blocks that were taken out in between are behind the untouched ones for good.
        let mut rest = untouched.clone();
        if let Some(block) = rest.find(|block| write::block(block) == part.section) {
            untouched = rest;
            blocks.push(block.clone());
            continue;
        }
        let words = |kind| ModelBlock {
            kind,
            text: part.section.body.clone(),
            call: None,
            data: Value::Null,
        };
        let named = |kind| -> Result<ModelBlock, DocumentError> {
            Ok(ModelBlock {
                kind,
                text: part.name()?,
                call: None,
                data: part.json()?,
            })
        };
        blocks.push(match part.words() {
            ("text", "") => words(BlockKind::Text),
            ("thinking", "") => words(BlockKind::Thinking),
            ("call", _) => named(BlockKind::ToolCall)?,
            ("block", _) => named(BlockKind::Other)?,
            _ => return Err(unknown(part, &Output::Response(Vec::new()))),
        });
    }
    Ok(Document {
        output: Output::Response(blocks),
        lines: parts.iter().map(|part| part.line).collect(),
    })
}

fn result(parts: &[Part], original: &Output) -> Result<Document, DocumentError> {
    let mut found: Option<(Outcome, Option<i32>, String)> = None;
    let mut attachments = Vec::new();
    let mut detail = None;
    for part in parts {
        match part.words() {
            ("result", words) => {
                if found.is_some() {
                    return Err(part.wrong("there is a result already; a call has one"));
                }
                let (outcome, exit) = ending(part, words)?;
                found = Some((outcome, exit, part.section.body.clone()));
            }
            ("detail", "") if detail.is_none() => detail = Some(part.json()?),
            ("detail", "") => return Err(part.wrong("there is a detail already")),
            ("attachment", _) => attachments.push(hash(part)?),
            _ => return Err(unknown(part, original)),
        }
    }
    let Some((outcome, exit, output)) = found else {
        let first = parts.first().map_or(1, |part| part.line);
        return Err(missing(first, "result OUTCOME"));
    };
    Ok(Document {
        output: Output::Result {
            outcome,
            exit,
            output,
            attachments,
            detail: detail.unwrap_or_default(),
        },
        lines: vec![parts.first().map_or(1, |part| part.line)],
    })
}

/// `failed exit 1`
fn ending(part: &Part, words: &str) -> Result<(Outcome, Option<i32>), DocumentError> {
    let mut words = words.split_whitespace();
    let first = words.next().unwrap_or_default();
    let known = Outcome::parse(first).filter(|outcome| *outcome != Outcome::Pending);
    let outcome = known.ok_or_else(|| {
        part.wrong(format!(
            "`{first}` is no outcome; outcomes: ok, failed, refused, interrupted"
        ))
    })?;
    let exit = match (words.next(), words.next(), words.next()) {
        (None, ..) => None,
        (Some("exit"), Some(code), None) => Some(code.parse().map_err(|_not_a_number| {
            part.wrong(format!("`{code}` is no exit code; one is a number"))
        })?),
        _ => return Err(part.wrong("`== result OUTCOME` may be followed by `exit CODE` only")),
    };
    Ok((outcome, exit))
}

fn prompt(parts: &[Part], original: &Output) -> Result<Document, DocumentError> {
    let mut found = None;
    let mut attachments = Vec::new();
    for part in parts {
        match part.words() {
            ("prompt", _) if found.is_none() => {
                found = Some((part.name()?, part.section.body.clone()));
            }
            ("prompt", _) => return Err(part.wrong("there is a prompt already; a step has one")),
            ("attachment", _) => attachments.push(hash(part)?),
            _ => return Err(unknown(part, original)),
        }
    }
    let first = parts.first().map_or(1, |part| part.line);
    let Some((role, text)) = found else {
        return Err(missing(first, "prompt ROLE"));
    };
    Ok(Document {
        output: Output::Prompt {
            role,
            text,
            attachments,
        },
        lines: vec![first],
    })
}

fn hash(part: &Part) -> Result<BlobHash, DocumentError> {
    part.is_nothing_below()?;
    let name = part.name()?;
    name.parse()
        .map_err(|error| part.wrong(format!("`{name}` names no content: {error}")))
}

fn missing(line: usize, section: &str) -> DocumentError {
    DocumentError {
        line,
        column: None,
        what: format!("`== {section}` is missing"),
    }
}

fn unknown(part: &Part, original: &Output) -> DocumentError {
    let title = &part.section.title;
    part.wrong(format!(
        "`{MARK}{title}` is no section here: there are {}; a line of text that begins so is \
         written `\\{MARK}…`",
        original.sections()
    ))
}
