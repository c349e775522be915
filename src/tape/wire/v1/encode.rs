//! From an event to its line: the head first, in the order of `FORMAT.md`, `prev` last of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::RawHead;
use super::loose::LOOSE_HEAD;
use super::object::Object;
use crate::model::{
    BlobHash, BlockKind, Body, Content, Edit, Event, FileOp, Header, LineHash, ModelBlock, Outcome,
    Parent, Scope, StepNumber, Usage, Via,
};

/// How the bytes of an event's content are put into its line.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored<'a> {
    /// Not at all: they are on the tape already, or there are none.
    Elsewhere,
    /// As text.
    Text(&'a str),
    /// As one zstd frame.
    Zstd(Vec<u8>),
    /// As a change of another blob.
    Splice {
        /// The blob that is changed.
        base: BlobHash,
        /// Where, in bytes.
        at: u64,
        /// How many bytes are taken out.
        del: u64,
        /// What is put in.
        ins: &'a str,
    },
}

/// A line, ready to be written.
pub type Encoded = Vec<u8>;

/// Writes the line of an event, without its newline.
///
/// `Content::Bytes` must have been replaced by `Content::Blob` and `stored` by then.
pub fn encode_event(event: &Event, stored: &Stored<'_>, prev: Option<LineHash>) -> Encoded {
    Draft::new(event, stored, prev).finish(event, stored)
}

/// A line whose head stands and whose content does not: the number of its step is known only
/// once the grouping has read the head.
#[derive(Debug)]
pub struct Draft(Object);

impl Draft {
    /// Writes the head of an event's line.
    pub fn new(event: &Event, stored: &Stored<'_>, prev: Option<LineHash>) -> Self {
        let mut line = Object::new();
        let head = &event.head;
        line.put("seq", &head.seq.unwrap_or_default().0);
        line.put("t", &head.t.unwrap_or_default());
        line.put("kind", event.body.kind_name());
        line.put_some("step", head.step.as_ref());
        line.put_some("branch", head.branch.as_ref());
        line.put_some("agent", head.agent.as_ref());
        line.put_some("call", head.call.as_ref());
        line.put_some("txn", head.txn.as_ref());
        put_head(&mut line, &event.body, stored);
        put_loose_head(&mut line, &event.extra);
        line.put_some("title", head.title.as_ref());
        line.put_some("via", head.via.map(Via::as_str).as_ref());
        line.put_some("prev", prev.map(|prev| prev.to_string()).as_ref());
        Self(line)
    }

    /// The head as far as it stands, for [`super::scan_head`].
    pub fn head(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Puts the number of the step behind the kind of a head that has none.
    pub fn put_step(&mut self, step: StepNumber) {
        const KIND: &[u8] = b",\"kind\":\"";
        let head = self.0.as_mut();
        let kind = memchr::memmem::find(head, KIND).map(|found| found + KIND.len());
        let behind =
            kind.and_then(|kind| Some(kind + memchr::memchr(b'"', head.get(kind..)?)? + 1));
        if let Some(behind) = behind {
            let field = format!(",\"step\":{step}");
            head.splice(behind..behind, field.into_bytes());
        }
    }

    /// Writes the content behind the head.
    pub fn finish(self, event: &Event, stored: &Stored<'_>) -> Encoded {
        let mut line = self.0;
        line.reserve(room_for(stored));
        put_content(&mut line, &event.body, stored);
        put_loose_content(&mut line, &event.extra);
        line.finish()
    }
}

/// About how many bytes a content takes in its line, so that they are moved once.
const fn room_for(stored: &Stored<'_>) -> usize {
    match stored {
        Stored::Elsewhere => 64,
        Stored::Text(text) => text.len() + text.len() / 8 + 64,
        Stored::Zstd(frame) => frame.len() / 3 * 4 + 64,
        Stored::Splice { ins, .. } => ins.len() + ins.len() / 8 + 128,
    }
}

/// Fields of the head that are not the event's own, for kinds whose fields are kept as they
/// are: by the promise of `prev` they stand before it, whatever the kind.
fn put_loose_head(line: &mut Object, fields: &Map<String, Value>) {
    for key in LOOSE_HEAD {
        if let Some(value) = fields.get(key)
            && !value.is_null()
            && !line.has(key)
        {
            line.put(key, value);
        }
    }
}

/// The fields that are no head fields.
fn put_loose_content(line: &mut Object, fields: &Map<String, Value>) {
    for (key, value) in fields {
        if !RawHead::is_head_field(key.as_bytes()) {
            line.put(key, value);
        }
    }
}

/// The head fields of a kind, in the order of the format.
fn put_head(line: &mut Object, body: &Body, stored: &Stored<'_>) {
    match body {
        Body::Tape(header) => line.put_some("name", header.agent.as_ref()),
        Body::Prompt { role, .. } => line.put("name", role),
        Body::ModelRequest { model, request, .. } => {
            line.put_some("name", model.as_ref());
            line.put_hash("blob", request.as_ref());
        }
        Body::ModelResponse {
            model,
            outcome,
            duration,
            ..
        } => {
            line.put_some("name", model.as_ref());
            put_outcome(line, *outcome);
            line.put_some("dur", duration.as_ref());
        }
        Body::ToolCall { name, .. } | Body::AgentStart { name } | Body::TxnSavepoint { name } => {
            line.put("name", name);
        }
        Body::ToolResult {
            outcome,
            exit,
            duration,
            ..
        } => {
            put_outcome(line, *outcome);
            line.put_some("exit", exit.as_ref());
            line.put_some("dur", duration.as_ref());
        }
        Body::File(change) => {
            line.put_path("path", "path_raw", &change.path);
            if let FileOp::Rename { from } = &change.op {
                line.put_path("from", "from_raw", from);
            }
            line.put_some("mode", change.mode.map(|mode| format!("{mode:o}")).as_ref());
            put_content_head(line, &change.content, stored);
            line.put_hash("was", change.was.as_ref());
            if change.outside {
                line.put("by", "outside");
            }
            put_redacted(line, &change.content);
        }
        Body::Suspect { scope, .. } => {
            if let Scope::Path(path) = scope {
                line.put_path("path", "path_raw", path);
            }
        }
        Body::Snapshot { root, reason, .. } => {
            line.put_hash("blob", Some(root));
            line.put("reason", reason.as_str());
        }
        Body::Blob(content) => {
            put_content_head(line, content, stored);
            put_redacted(line, content);
        }
        Body::TxnRollback { to } => line.put_some("to", to.as_ref()),
        Body::Branch { from, at, .. } => {
            line.put_some("from", from.as_ref());
            line.put("at", &at.0);
        }
        Body::AgentEnd { outcome } | Body::End { outcome } => put_outcome(line, *outcome),
        Body::Raw { format, bytes } => {
            line.put("name", format);
            line.put("len", &bytes.len());
            line.put_some("enc", stored_word(stored).as_ref());
        }
        Body::Other { fields, .. } => put_loose_head(line, fields),
        Body::TxnBegin | Body::TxnCommit | Body::Note { .. } | Body::Gap { .. } => {}
    }
}

fn put_outcome(line: &mut Object, outcome: Outcome) {
    if outcome != Outcome::None {
        line.put("outcome", outcome.as_str());
    }
}

fn put_content_head(line: &mut Object, content: &Content, stored: &Stored<'_>) {
    match content {
        Content::None | Content::Bytes(_) => {}
        Content::Blob { hash, len, .. } => {
            line.put_hash("blob", Some(hash));
            line.put("len", len);
            line.put_some("enc", stored_word(stored).as_ref());
            if let Stored::Splice { base, .. } = stored {
                line.put_hash("base", Some(base));
            }
        }
        Content::Unstored { hash, len } => {
            line.put_hash("blob", hash.as_ref());
            line.put_some("len", len.as_ref());
            line.put("enc", "none");
        }
        Content::Lines(_) => line.put("enc", "lines"),
    }
}

fn put_redacted(line: &mut Object, content: &Content) {
    if matches!(content, Content::Blob { redacted: true, .. }) {
        line.put("redacted", &true);
    }
}

/// The word that says how a content travels.
pub(super) const fn stored_word(stored: &Stored<'_>) -> Option<&'static str> {
    match stored {
        Stored::Elsewhere => None,
        Stored::Text(_) => Some("text"),
        Stored::Zstd(_) => Some("zstd"),
        Stored::Splice { .. } => Some("splice"),
    }
}

/// The content fields of a kind.
fn put_content(line: &mut Object, body: &Body, stored: &Stored<'_>) {
    match body {
        Body::Tape(header) => put_header(line, header),
        Body::Prompt {
            text, attachments, ..
        } => {
            line.put("text", text);
            line.put_hashes("attachments", attachments);
        }
        Body::ModelRequest { added, .. } => line.put_value("added", added),
        Body::ModelResponse {
            blocks,
            stop,
            usage,
            ..
        } => {
            line.put(
                "blocks",
                &blocks.iter().map(block_value).collect::<Vec<_>>(),
            );
            line.put_some("stop", stop.as_ref());
            line.put_some("usage", usage.map(usage_value).as_ref());
        }
        Body::ToolCall { arguments, .. } => line.put("args", arguments),
        Body::ToolResult {
            output,
            attachments,
            detail,
            ..
        } => {
            line.put("output", output);
            line.put_hashes("attachments", attachments);
            line.put_value("detail", detail);
        }
        Body::File(change) => {
            if let FileOp::Symlink { target } = &change.op {
                match std::str::from_utf8(target) {
                    Ok(target) => line.put("target", target),
                    Err(_) => line.put("target_raw", &BASE64.encode(target)),
                }
            }
            if !change.candidates.is_empty() {
                line.put("candidates", &change.candidates);
            }
            line.put_some("remark", change.remark.as_ref());
            if let Content::Lines(known) = &change.content {
                line.put_some("total", known.total.as_ref());
                line.put("lines", &known.ranges);
            }
            put_stored(line, stored);
        }
        Body::Suspect { why, .. } | Body::Branch { why, .. } | Body::Gap { why } => {
            line.put("why", why);
        }
        Body::Snapshot { directories, .. } => {
            let mut dirs = Map::new();
            for (hash, text) in directories {
                let text = String::from_utf8_lossy(text).into_owned();
                dirs.insert(hash.to_string(), Value::String(text));
            }
            line.put("dirs", &dirs);
        }
        Body::Blob(_) | Body::Raw { .. } => put_stored(line, stored),
        Body::Note { text } => line.put("text", text),
        Body::Other { fields, .. } => put_loose_content(line, fields),
        Body::TxnBegin
        | Body::TxnSavepoint { .. }
        | Body::TxnCommit
        | Body::TxnRollback { .. }
        | Body::AgentStart { .. }
        | Body::AgentEnd { .. }
        | Body::End { .. } => {}
    }
}

/// The content fields of a content.
pub(super) fn put_stored(line: &mut Object, stored: &Stored<'_>) {
    match stored {
        Stored::Elsewhere => {}
        Stored::Text(text) => line.put("text", text),
        Stored::Zstd(frame) => line.put("data", &BASE64.encode(frame)),
        Stored::Splice { at, del, ins, .. } => {
            line.put("at_byte", at);
            line.put("del", del);
            line.put("ins", ins);
        }
    }
}

fn put_header(line: &mut Object, header: &Header) {
    line.put("format", &header.format);
    line.put("id", &header.id);
    line.put_some("started", header.started.map(|at| at.to_string()).as_ref());
    line.put_some("root", header.root.as_ref());
    line.put_some("recorder", header.recorder.as_ref());
    if !header.covers.is_empty() {
        line.put("covers", &header.covers);
    }
    line.put_some("parent", header.parent.as_ref().map(parent_value).as_ref());
    line.put_some("edit", header.edit.as_ref().map(edit_value).as_ref());
    if !header.source.is_empty() {
        line.put("source", &header.source);
    }
}

/// The object that says where a fork leaves its parent.
pub fn parent_value(parent: &Parent) -> Value {
    serde_json::json!({
        "id": parent.id,
        "seq": parent.seq.0,
        "line": parent.line.map(|line| line.to_string()),
        "path": parent.path,
    })
}

fn edit_value(edit: &Edit) -> Value {
    let mut value = Map::new();
    value.insert("of".to_owned(), edit.of.as_str().into());
    value.insert("step".to_owned(), edit.step.0.into());
    if let Some(branch) = &edit.branch {
        value.insert("branch".to_owned(), branch.as_str().into());
    }
    if let Some(seq) = edit.seq {
        value.insert("seq".to_owned(), seq.0.into());
    }
    if let Some(path) = &edit.path {
        value.insert("path".to_owned(), path.to_text().into());
        if std::str::from_utf8(path.as_bytes()).is_err() {
            let raw = BASE64.encode(path.as_bytes());
            value.insert("path_raw".to_owned(), raw.into());
        }
    }
    value.insert("title".to_owned(), edit.title.as_str().into());
    if let Some(then) = &edit.then {
        value.insert("then".to_owned(), then.as_str().into());
    }
    value.into()
}

fn block_value(block: &ModelBlock) -> Value {
    match block.kind {
        BlockKind::Text => serde_json::json!({"type": "text", "text": block.text}),
        BlockKind::Thinking => serde_json::json!({"type": "thinking", "text": block.text}),
        BlockKind::ToolCall => serde_json::json!({
            "type": "tool_call", "name": block.text, "call": block.call, "args": block.data,
        }),
        BlockKind::Other => serde_json::json!({
            "type": "other", "text": block.text, "data": block.data,
        }),
    }
}

fn usage_value(usage: Usage) -> Value {
    serde_json::json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
    })
}
