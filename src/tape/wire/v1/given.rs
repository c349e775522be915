//! A line that somebody gives to be recorded: read strictly, where a tape is read totally.
//!
//! What is wrong with it is told to whoever wrote it while that can still be mended, so a
//! field of a wrong type, a missing one or an unknown kind is a fault here. Decides nothing
//! about the run: whether a blob is there, or a call is open, is the recorder's to know.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;

use super::decode::decode_event;
use super::line::{LineError, RawFields, line_of, parse_fields};
use super::{Enc, Line};
use crate::model::{BlobHash, Body, Content, Event, FileOp, Kind, ProblemKind};

/// What is wrong with a line, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The byte of the line, from 0.
    pub at: usize,
    /// The sort.
    pub kind: ProblemKind,
    /// One sentence for a person. It may quote the line: sanitise before printing.
    pub message: String,
}

/// The kinds that may be given, in the order in which they are told.
const KINDS: [Kind; 32] = [
    Kind::Tape,
    Kind::Prompt,
    Kind::ModelRequest,
    Kind::ModelResponse,
    Kind::ToolCall,
    Kind::ToolResult,
    Kind::FsWrite,
    Kind::FsRemove,
    Kind::FsRename,
    Kind::FsMkdir,
    Kind::FsSymlink,
    Kind::FsChmod,
    Kind::FsObserve,
    Kind::FsSuspect,
    Kind::Snapshot,
    Kind::Blob,
    Kind::TxnBegin,
    Kind::TxnSavepoint,
    Kind::TxnCommit,
    Kind::TxnRollback,
    Kind::Branch,
    Kind::AgentStart,
    Kind::AgentEnd,
    Kind::Raw,
    Kind::EffectIntent,
    Kind::EffectResult,
    Kind::EffectCompensate,
    Kind::StreamFrame,
    Kind::InputClock,
    Kind::InputRandom,
    Kind::InputEnv,
    Kind::Note,
];

/// The word for bytes that travel as plain base64; on a tape they travel otherwise.
const BASE64_WORD: &str = "base64";

/// Reads a line, given without its newline. The event has no number: that, its step and the
/// hash of the line before are the recorder's, whatever the line says of them.
///
/// A content is there as bytes, as a hash that the tape has to hold, or as not kept. Of a
/// snapshot only the wish for one is read: its root is all zeros.
pub fn decode_given(line: &[u8]) -> Result<Event, Fault> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            let message = "the line is not UTF-8 from here on";
            return Err(fault(
                error.valid_up_to(),
                ProblemKind::InvalidUtf8,
                message,
            ));
        }
    };
    let given = Given::parse(text)?;
    let kind = given.check_kind()?;
    given.check_fields(kind)?;
    if kind == Kind::Snapshot {
        return given.snapshot();
    }
    let mut event = decode_event(&given.line);
    given.check_content_fields(kind, &event)?;
    match &mut event.body {
        Body::File(change) => {
            let is_change = change.op == FileOp::Write;
            if is_change || change.op == FileOp::Observe {
                let content = given.content(&change.content)?;
                if is_change && content == Content::None {
                    return Err(given.missing("text"));
                }
                change.content = content;
            }
        }
        Body::Blob(content) => {
            *content = given.content(content)?;
            if !matches!(content, Content::Bytes(_)) {
                return Err(given.missing("text"));
            }
        }
        Body::Raw { bytes, .. } => {
            *bytes = given.bytes()?.ok_or_else(|| given.missing("text"))?;
        }
        _ => {}
    }
    if matches!(event.body, Body::File(_) | Body::Blob(_) | Body::Raw { .. }) {
        // They were taken as bytes.
        for field in ["text", "data"] {
            event.extra.remove(field);
        }
    }
    event.head.seq = None;
    event.head.step = None;
    Ok(event)
}

fn fault(at: usize, kind: ProblemKind, message: impl Into<String>) -> Fault {
    Fault {
        at,
        kind,
        message: message.into(),
    }
}

fn bad_field(at: usize, message: impl Into<String>) -> Fault {
    fault(at, ProblemKind::BadField, message)
}

struct Given<'a> {
    text: &'a str,
    fields: RawFields<'a>,
    line: Line<'a>,
}

impl<'a> Given<'a> {
    fn parse(text: &'a str) -> Result<Self, Fault> {
        let (fields, end) = parse_fields(text).map_err(|error| match error {
            LineError::NotAnObject => {
                fault(0, ProblemKind::NotAnObject, "the line is no JSON object")
            }
            LineError::NotJson(error) => {
                // A column is counted in bytes, from 1; at the end of the line it is the last.
                let at = error.column().saturating_sub(1);
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default();
                fault(at, ProblemKind::NotJson, format!("no JSON: {words}"))
            }
        })?;
        let rest = text.get(end..).unwrap_or_default();
        if !rest.trim().is_empty() {
            let at = text.len() - rest.trim_start().len();
            let message = "something stands behind the object; an event is one line";
            return Err(fault(at, ProblemKind::GluedRecords, message));
        }
        let line = line_of(fields.clone());
        Ok(Self { text, fields, line })
    }

    /// Where the value of a field begins; the line's own start where there is none.
    fn place(&self, name: &str) -> usize {
        let raw = self.raw(name);
        raw.map_or(0, |raw| {
            (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
        })
    }

    fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let field = self.fields.iter().rev().find(|(key, _)| key == name);
        field.map(|(_, raw)| *raw)
    }

    fn has(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|raw| raw.get() != "null")
    }

    fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    fn missing(&self, name: &str) -> Fault {
        let kind = self.line.head.kind().as_str();
        bad_field(0, format!("`{name}` is missing; `{kind}` needs it"))
    }

    fn check_kind(&self) -> Result<Kind, Fault> {
        let Some(word) = self.string("kind") else {
            return Err(bad_field(
                self.place("kind"),
                "`kind` is missing, or no text",
            ));
        };
        let kind = Kind::parse(word.as_bytes());
        if kind == Kind::End || KINDS.contains(&kind) {
            return Ok(kind);
        }
        let known = KINDS.map(Kind::as_str).join(", ");
        let message = format!("the kind `{word}` cannot be given; known are {known}, end");
        Err(fault(
            self.place("kind"),
            ProblemKind::NotUnderstood,
            message,
        ))
    }

    /// Checks the fields of the head, and that those are there that the kind cannot do without.
    fn check_fields(&self, kind: Kind) -> Result<(), Fault> {
        for (at, (name, raw)) in self.fields.iter().enumerate() {
            if self
                .fields
                .iter()
                .take(at)
                .any(|(before, _)| before == name)
            {
                let place = raw.get().as_ptr() as usize - self.text.as_ptr() as usize;
                return Err(bad_field(place, format!("`{name}` stands twice")));
            }
        }
        if let Some(name) = self.line.bad_fields.first() {
            let message = format!("`{name}` is not what the format says it is");
            return Err(bad_field(self.place(name), message));
        }
        if self.has("via") {
            let message = "`via` says how an answer in a fork came about; no fork is recorded so";
            return Err(bad_field(self.place("via"), message));
        }
        for name in needed(kind) {
            let raw = format!("{name}_raw");
            if !self.has(name) && !self.has(&raw) {
                return Err(self.missing(name));
            }
        }
        let head = &self.line.head;
        for (name, path) in [("path", head.tape_path()), ("from", head.tape_path_from())] {
            // `from` of a branch is no path.
            if let Err(error) = path
                && kind != Kind::Branch
            {
                return Err(bad_field(self.place(name), error.to_string()));
            }
        }
        for (name, hash) in [("blob", head.blob_hash()), ("was", head.was_hash())] {
            if self.has(name) && hash.is_none() {
                let message = format!("`{name}` is no hash: b3: and 64 hex digits");
                return Err(bad_field(self.place(name), message));
            }
        }
        Ok(())
    }

    /// Checks that every field was taken that the kind knows: one of a wrong type was not.
    fn check_content_fields(&self, kind: Kind, event: &Event) -> Result<(), Fault> {
        for name in content_fields(kind) {
            if event.extra.get(*name).is_some_and(|value| !value.is_null()) {
                let message = format!("`{name}` is not what the format says it is");
                return Err(bad_field(self.place(name), message));
            }
        }
        Ok(())
    }

    fn snapshot(&self) -> Result<Event, Fault> {
        for name in ["blob", "dirs"] {
            if self.has(name) {
                let message = "a snapshot is made by the recorder; ask for one with `kind` alone";
                return Err(bad_field(self.place(name), message));
            }
        }
        Ok(Event::new(Body::Snapshot {
            root: BlobHash::from_digest([0; 32]),
            reason: crate::model::SnapshotReason::Asked,
            directories: Vec::new(),
        }))
    }

    /// The content that the line gives.
    fn content(&self, decoded: &Content) -> Result<Content, Fault> {
        if let Some(bytes) = self.bytes()? {
            let head = &self.line.head;
            let hash = BlobHash::of(&bytes);
            if head.blob_hash().is_some_and(|said| said != hash) {
                let message = format!("`blob` is not the hash of the content, which is {hash}");
                return Err(fault(self.place("blob"), ProblemKind::BadHash, message));
            }
            if head.len.is_some_and(|said| said != bytes.len() as u64) {
                let message = format!("`len` is not that of the content, {}", bytes.len());
                return Err(bad_field(self.place("len"), message));
            }
            return Ok(Content::Bytes(bytes));
        }
        Ok(decoded.clone())
    }

    /// The bytes that the line gives, in whatever way.
    fn bytes(&self) -> Result<Option<Arc<[u8]>>, Fault> {
        let word = self.string("enc");
        let head = &self.line.head;
        let data = || {
            let data = self.string("data").ok_or_else(|| self.missing("data"))?;
            let bytes = BASE64.decode(data);
            bytes.map_err(|error| bad_field(self.place("data"), format!("no base64: {error}")))
        };
        match (word.as_deref(), head.enc) {
            (Some(BASE64_WORD), _) => Ok(Some(data()?.into())),
            (_, Enc::Zstd) => {
                let len = head.len.ok_or_else(|| self.missing("len"))?;
                let bytes = crate::tape::blobs::decompress(&data()?, len);
                let bytes = bytes.map_err(|error| bad_field(self.place("data"), error.to_string()));
                Ok(Some(bytes?.into()))
            }
            (_, Enc::Elsewhere | Enc::Text) => {
                if !self.has("text") {
                    return match head.enc {
                        Enc::Text => Err(self.missing("text")),
                        _ => Ok(None),
                    };
                }
                let text = self.string("text");
                let text = text.ok_or_else(|| bad_field(self.place("text"), "`text` is no text"));
                Ok(Some(text?.into_bytes().into()))
            }
            (_, Enc::None | Enc::Lines) => Ok(None),
            (_, Enc::Splice | Enc::Unknown) => {
                let message = "`enc` can be text, base64, zstd, lines or none";
                Err(bad_field(self.place("enc"), message))
            }
        }
    }
}

/// The fields that a kind cannot do without.
const fn needed(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Prompt | Kind::Note => &["text"],
        Kind::ModelResponse => &["blocks"],
        Kind::ToolCall => &["name", "call"],
        Kind::ToolResult => &["call"],
        Kind::FsWrite | Kind::FsRemove | Kind::FsMkdir | Kind::FsObserve => &["path"],
        Kind::FsRename => &["path", "from"],
        Kind::FsSymlink => &["path", "target"],
        Kind::FsChmod => &["path", "mode"],
        Kind::TxnBegin | Kind::TxnCommit | Kind::TxnRollback => &["txn"],
        Kind::TxnSavepoint => &["txn", "name"],
        Kind::Branch => &["branch", "at"],
        Kind::AgentStart | Kind::AgentEnd => &["agent"],
        Kind::Raw => &["name"],
        Kind::EffectIntent | Kind::EffectResult | Kind::EffectCompensate => &["call", "key"],
        _ => &[],
    }
}

/// The fields of a kind's content that are taken from a line whatever its encoding is.
const fn content_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Tape => &[
            "format", "id", "started", "root", "recorder", "covers", "edit", "source",
        ],
        Kind::Prompt => &["text", "attachments"],
        Kind::ModelResponse => &["blocks", "stop", "usage"],
        Kind::ToolResult => &["output", "attachments"],
        Kind::FsSymlink => &["target", "target_raw", "candidates", "remark"],
        Kind::FsWrite | Kind::FsObserve => &["candidates", "remark", "lines", "total"],
        Kind::FsRemove | Kind::FsRename | Kind::FsMkdir | Kind::FsChmod => {
            &["candidates", "remark"]
        }
        Kind::FsSuspect | Kind::Branch => &["why"],
        Kind::Note => &["text"],
        _ => &[],
    }
}
