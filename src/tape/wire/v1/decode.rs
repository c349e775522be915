//! From a line to its event, and to the parts of a content.
//!
//! Total: a field of a wrong type is as good as absent, and the event is still an event.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Enc, Line};
use crate::model::{
    BlobHash, BlockKind, Body, Content, Event, FileChange, FileOp, Head, Header, Kind, KnownLines,
    ModelBlock, Parent, Scope, Seq, SnapshotReason, Usage, WallTime,
};
use crate::tape::wire::{Text, repair_surrogates};

/// The event of a line.
pub fn decode_event(line: &Line<'_>) -> Event {
    let head = &line.head;
    let text = |text: Option<Text<'_>>| text.map(|text| text.decode().into_owned());
    let mut fields = Fields::new(line);
    let kind_name = text(head.kind).unwrap_or_default();
    let body = body(line, head.kind(), kind_name, &mut fields);
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
        },
        body,
        extra: fields.rest(),
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
    let head = &line.head;
    let mut all = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            all.insert(key.to_owned(), value);
        }
    };
    let text = |text: Option<Text<'_>>| text.map(|text| Value::from(text.decode().into_owned()));
    put("name", text(head.name));
    put("path", text(head.path));
    put("path_raw", text(head.path_raw));
    put("from", text(head.from));
    put("from_raw", text(head.from_raw));
    put("mode", head.mode.map(|mode| format!("{mode:o}").into()));
    put("blob", text(head.blob));
    put("len", head.len.map(Value::from));
    put("base", text(head.base));
    put("was", text(head.was));
    put("by", head.is_outside.then(|| "outside".into()));
    put("redacted", head.is_redacted.then(|| true.into()));
    put(
        "outcome",
        head.outcome.map(|outcome| outcome.as_str().into()),
    );
    put("exit", head.exit.map(Value::from));
    put("dur", head.dur.map(Value::from));
    put("at", head.at.map(Value::from));
    put("to", text(head.to));
    put("reason", text(head.reason));
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
        source: fields.take("source").unwrap_or_default(),
    }
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

/// A content as it travels, not yet decoded.
#[derive(Debug, PartialEq)]
pub enum BlobParts {
    /// The bytes themselves.
    Whole(Vec<u8>),
    /// One zstd frame.
    Zstd(Vec<u8>),
    /// A change of another blob.
    Splice {
        /// The blob that is changed.
        base: BlobHash,
        /// Where, in bytes.
        at: u64,
        /// How many bytes are taken out.
        del: u64,
        /// What is put in.
        ins: String,
    },
}

/// The content that travels in a line; `None` if none does, or it cannot be read.
pub fn decode_blob(line: &Line<'_>) -> Option<BlobParts> {
    let mut fields = Fields::new(line);
    match line.head.enc {
        Enc::Text | Enc::Elsewhere => {
            let text: String = fields.take("text")?;
            Some(BlobParts::Whole(text.into_bytes()))
        }
        Enc::Zstd => {
            let data: String = fields.take("data")?;
            BASE64.decode(data).ok().map(BlobParts::Zstd)
        }
        Enc::Splice => Some(BlobParts::Splice {
            base: line.head.base_hash()?,
            at: fields.take("at_byte")?,
            del: fields.take("del")?,
            ins: fields.take("ins")?,
        }),
        Enc::None | Enc::Lines | Enc::Unknown => None,
    }
}

/// The directory blobs that travel in a snapshot's line, by hash.
pub fn snapshot_directories(line: &Line<'_>) -> Vec<(BlobHash, Arc<[u8]>)> {
    directories(&mut Fields::new(line))
}

fn directories(fields: &mut Fields<'_>) -> Vec<(BlobHash, Arc<[u8]>)> {
    let dirs: Map<String, Value> = fields.take("dirs").unwrap_or_default();
    dirs.into_iter()
        .filter_map(|(hash, text)| Some((hash.parse().ok()?, text.as_str()?.as_bytes().into())))
        .collect()
}

fn raw_bytes(enc: Enc, len: Option<u64>, fields: &mut Fields<'_>) -> Arc<[u8]> {
    let bytes = match enc {
        Enc::Zstd => fields.take::<String>("data").and_then(|data| {
            let frame = BASE64.decode(data).ok()?;
            crate::tape::blobs::decompress(&frame, len?).ok()
        }),
        _ => fields.take::<String>("text").map(String::into_bytes),
    };
    bytes.unwrap_or_default().into()
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

/// The content fields of a line; what was taken is not among the rest.
struct Fields<'a> {
    line: &'a Line<'a>,
    taken: Vec<bool>,
}

impl<'a> Fields<'a> {
    fn new(line: &'a Line<'a>) -> Self {
        Self {
            line,
            taken: vec![false; line.content.len()],
        }
    }

    /// Takes a field, if it is there and of the wanted type. The last of that name counts.
    fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let found = self
            .line
            .content
            .iter()
            .rposition(|(name, _)| name == key)?;
        let (_, raw) = self.line.content.get(found)?;
        let value = serde_json::from_str(raw.get())
            .or_else(|_| serde_json::from_str(&repair_surrogates(raw.get())))
            .ok()?;
        if let Some(taken) = self.taken.get_mut(found) {
            *taken = true;
        }
        Some(value)
    }

    fn text(&mut self, key: &str) -> String {
        self.take(key).unwrap_or_default()
    }

    fn hashes(&mut self, key: &str) -> Vec<BlobHash> {
        let texts: Vec<String> = self.take(key).unwrap_or_default();
        texts.iter().filter_map(|text| text.parse().ok()).collect()
    }

    /// Leaves the bytes of a content where they are: they are fetched by hash.
    fn drop_content(&mut self) {
        for ((key, _), taken) in self.line.content.iter().zip(&mut self.taken) {
            *taken |= matches!(&**key, "text" | "data" | "at_byte" | "del" | "ins");
        }
    }

    fn rest(&mut self) -> Map<String, Value> {
        let mut rest = Map::new();
        for ((key, raw), taken) in self.line.content.iter().zip(&self.taken) {
            if !taken
                && let Ok(value) = serde_json::from_str(raw.get())
                    .or_else(|_| serde_json::from_str(&repair_surrogates(raw.get())))
            {
                rest.insert(key.clone().into_owned(), value);
            }
        }
        rest
    }
}
