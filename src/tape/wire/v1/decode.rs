//! From a line to its event.
//!
//! Total: a field of a wrong type is as good as absent, and the event is still an event.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::content::{directories, raw_bytes};
use super::fields::Fields;
use super::loose::{loose_head, used_by};
use super::{Enc, Line};
use crate::model::{
    BlobHash, BlockKind, Body, Content, Edit, EditOf, Event, FileChange, FileOp, Head, Header,
    Kind, KnownLines, ModelBlock, Parent, Scope, Seq, SnapshotReason, StepNumber, TapePath, Usage,
    WallTime,
};
use crate::tape::wire::Text;

/// The event of a line.
pub fn decode_event(line: &Line<'_>) -> Event {
    let head = &line.head;
    let text = |text: Option<Text<'_>>| text.map(|text| text.decode().into_owned());
    let mut fields = Fields::new(line);
    let kind_name = text(head.kind).unwrap_or_default();
    let body = body(line, head.kind(), kind_name, &mut fields);
    let mut extra = loose_head(head, used_by(&body));
    extra.append(&mut fields.rest());
    Event {
        head: Head {
            seq: head.seq.map(Seq),
            t: head.t,
            step: head.step,
            branch: text(head.branch),
            agent: text(head.agent),
            call: text(head.call),
            txn: text(head.txn),
            title: text(head.title),
            via: head.via,
        },
        body,
        extra,
    }
}

fn body(line: &Line<'_>, kind: Kind, kind_name: String, fields: &mut Fields<'_>) -> Body {
    let head = &line.head;
    let name = || head.name.map(|name| name.decode().into_owned());
    let outcome = head.outcome.unwrap_or_default();
    match kind {
        Kind::Tape => Body::Tape(Box::new(header(name(), fields))),
        Kind::Prompt => Body::Prompt {
            role: name().unwrap_or_else(|| "user".to_owned()),
            text: fields.text("text"),
            attachments: fields.hashes("attachments"),
        },
        Kind::ModelRequest => Body::ModelRequest {
            model: name(),
            request: head.blob_hash(),
            added: fields.take("added").unwrap_or_default(),
        },
        Kind::ModelResponse => Body::ModelResponse {
            model: name(),
            blocks: blocks(fields.take("blocks").unwrap_or_default()),
            stop: fields.take("stop"),
            usage: fields.take::<Value>("usage").as_ref().map(usage),
            outcome,
            duration: head.dur,
        },
        Kind::ToolCall => Body::ToolCall {
            name: name().unwrap_or_default(),
            arguments: fields.take("args").unwrap_or_default(),
        },
        Kind::ToolResult => Body::ToolResult {
            outcome,
            exit: head.exit,
            output: fields.text("output"),
            duration: head.dur,
            attachments: fields.hashes("attachments"),
            detail: fields.take("detail").unwrap_or_default(),
        },
        Kind::FsWrite
        | Kind::FsRemove
        | Kind::FsRename
        | Kind::FsMkdir
        | Kind::FsSymlink
        | Kind::FsChmod
        | Kind::FsObserve => match file_change(line, kind, fields) {
            Some(change) => Body::File(change),
            None => other(line, kind_name, fields),
        },
        Kind::FsSuspect => Body::Suspect {
            scope: match head.tape_path() {
                Ok(Some(path)) => Scope::Path(path),
                _ => Scope::All,
            },
            why: fields.text("why"),
        },
        Kind::Snapshot => match head.blob_hash() {
            Some(root) => Body::Snapshot {
                root,
                reason: head
                    .reason
                    .and_then(|word| {
                        let is_it = |reason: &SnapshotReason| reason.as_str() == word.decode();
                        SnapshotReason::ALL.into_iter().find(is_it)
                    })
                    .unwrap_or(SnapshotReason::Asked),
                directories: directories(fields),
            },
            None => other(line, kind_name, fields),
        },
        Kind::Blob => Body::Blob(content(line, fields)),
        Kind::TxnBegin => Body::TxnBegin,
        Kind::TxnSavepoint => Body::TxnSavepoint {
            name: name().unwrap_or_default(),
        },
        Kind::TxnCommit => Body::TxnCommit,
        Kind::TxnRollback => Body::TxnRollback {
            to: head.to.map(|to| to.decode().into_owned()),
        },
        Kind::Branch => Body::Branch {
            from: head.from.map(|from| from.decode().into_owned()),
            at: Seq(head.at.unwrap_or_default()),
            why: fields.text("why"),
        },
        Kind::AgentStart => Body::AgentStart {
            name: name().unwrap_or_default(),
        },
        Kind::AgentEnd => Body::AgentEnd { outcome },
        Kind::Raw => Body::Raw {
            format: name().unwrap_or_default(),
            bytes: raw_bytes(head.enc, head.len, fields),
        },
        Kind::Note => Body::Note {
            text: fields.text("text"),
        },
        Kind::Gap => Body::Gap {
            why: fields.text("why"),
        },
        Kind::End => Body::End { outcome },
        Kind::EffectIntent
        | Kind::EffectResult
        | Kind::EffectCompensate
        | Kind::StreamFrame
        | Kind::InputClock
        | Kind::InputRandom
        | Kind::InputEnv
        | Kind::Unknown => other(line, kind_name, fields),
    }
}

/// All fields as they are, those of the head that only some kinds use among them.
fn other(line: &Line<'_>, kind: String, fields: &mut Fields<'_>) -> Body {
    let mut all = loose_head(&line.head, &[]);
    all.append(&mut fields.rest());
    Body::Other { kind, fields: all }
}

fn header(agent: Option<String>, fields: &mut Fields<'_>) -> Header {
    Header {
        format: fields.take("format").unwrap_or_default(),
        id: fields.text("id"),
        started: fields
            .take::<String>("started")
            .and_then(|started| WallTime::parse(&started)),
        agent,
        root: fields.take("root"),
        recorder: fields.take("recorder"),
        covers: fields.take("covers").unwrap_or_default(),
        parent: fields.take::<Value>("parent").and_then(|parent| {
            let text = |key| parent.get(key)?.as_str().map(str::to_owned);
            Some(Parent {
                id: text("id")?,
                seq: Seq(parent.get("seq")?.as_u64()?),
                line: text("line").and_then(|line| line.parse().ok()),
                path: text("path"),
            })
        }),
        edit: fields.take::<Value>("edit").as_ref().and_then(edit),
        source: fields.take("source").unwrap_or_default(),
    }
}

fn edit(value: &Value) -> Option<Edit> {
    let text = |key| value.get(key)?.as_str();
    let raw = text("path_raw").and_then(|raw| BASE64.decode(raw).ok());
    let path = match raw {
        Some(raw) => TapePath::new(raw).ok(),
        None => text("path").and_then(|path| TapePath::new(path).ok()),
    };
    let step = value.get("step").and_then(Value::as_u64);
    Some(Edit {
        of: EditOf::parse(text("of")?)?,
        step: StepNumber(step.and_then(|step| step.try_into().ok())?),
        branch: text("branch").map(str::to_owned),
        seq: value.get("seq").and_then(Value::as_u64).map(Seq),
        path,
        title: text("title").unwrap_or_default().to_owned(),
        then: text("then").map(str::to_owned),
    })
}

fn file_change(line: &Line<'_>, kind: Kind, fields: &mut Fields<'_>) -> Option<FileChange> {
    let head = &line.head;
    let op = match kind {
        Kind::FsWrite => FileOp::Write,
        Kind::FsRemove => FileOp::Remove,
        Kind::FsRename => FileOp::Rename {
            from: head.tape_path_from().ok().flatten()?,
        },
        Kind::FsMkdir => FileOp::Mkdir,
        Kind::FsSymlink => FileOp::Symlink {
            target: match fields.take::<String>("target_raw") {
                Some(raw) => BASE64.decode(raw).ok()?,
                None => fields.text("target").into_bytes(),
            },
        },
        Kind::FsChmod => FileOp::Chmod,
        _ => FileOp::Observe,
    };
    Some(FileChange {
        op,
        path: head.tape_path().ok().flatten()?,
        mode: head.mode,
        content: content(line, fields),
        was: head.was_hash(),
        outside: head.is_outside,
        candidates: fields.take("candidates").unwrap_or_default(),
        remark: fields.take("remark"),
    })
}

fn content(line: &Line<'_>, fields: &mut Fields<'_>) -> Content {
    let head = &line.head;
    match (head.enc, head.blob_hash()) {
        (Enc::Lines, _) => Content::Lines(KnownLines {
            total: fields.take("total"),
            ranges: fields.take("lines").unwrap_or_default(),
        }),
        (Enc::None | Enc::Unknown, hash) => Content::Unstored {
            hash,
            len: head.len,
        },
        (Enc::Elsewhere | Enc::Text | Enc::Zstd | Enc::Splice, Some(hash)) => {
            fields.drop_content();
            Content::Blob {
                hash,
                len: head.len.unwrap_or_default(),
                redacted: head.is_redacted,
            }
        }
        // Written by hand, without a hash: the text is the content, and names itself.
        (Enc::Elsewhere | Enc::Text, None) => match fields.take::<String>("text") {
            Some(text) => Content::Blob {
                hash: BlobHash::of(text.as_bytes()),
                len: text.len() as u64,
                redacted: head.is_redacted,
            },
            None => Content::None,
        },
        (Enc::Zstd | Enc::Splice, None) => Content::Unstored {
            hash: None,
            len: head.len,
        },
    }
}

fn blocks(values: Vec<Value>) -> Vec<ModelBlock> {
    values.into_iter().map(block).collect()
}

fn block(mut value: Value) -> ModelBlock {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let take = |value: &mut Value, key: &str| value.get_mut(key).map(Value::take);
    match value.get("type").and_then(Value::as_str) {
        Some("text") => ModelBlock {
            kind: BlockKind::Text,
            text: text("text").unwrap_or_default(),
            call: None,
            data: Value::Null,
        },
        Some("thinking") => ModelBlock {
            kind: BlockKind::Thinking,
            text: text("text").unwrap_or_default(),
            call: None,
            data: Value::Null,
        },
        Some("tool_call") => ModelBlock {
            kind: BlockKind::ToolCall,
            text: text("name").unwrap_or_default(),
            call: text("call"),
            data: take(&mut value, "args").unwrap_or_default(),
        },
        Some("other") if value.get("data").is_some() => ModelBlock {
            kind: BlockKind::Other,
            text: text("text").unwrap_or_default(),
            call: None,
            data: take(&mut value, "data").unwrap_or_default(),
        },
        other => ModelBlock {
            kind: BlockKind::Other,
            text: other.unwrap_or_default().to_owned(),
            call: None,
            data: value,
        },
    }
}

fn usage(value: &Value) -> Usage {
    let tokens = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
    Usage {
        input: tokens("input_tokens"),
        output: tokens("output_tokens"),
        cache_read: tokens("cache_read_tokens"),
        cache_write: tokens("cache_write_tokens"),
    }
}
