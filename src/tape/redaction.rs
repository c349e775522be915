//! Events without their secrets: every text of them, their paths, their contents.
//!
//! A content that lost something has another name from then on, and a hash with a key tells
//! those who know the key which bytes it was. Text of a stream is looked at over the borders
//! of its frames: what may be the beginning of a secret goes into a later frame.
//!
//! Works on events; what a line looks like is not known here.

mod copy;
mod stream;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::wire::v1::{DirectoryEntry, decode_directory};
use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Head, Header, Kind, ModelBlock, Scope,
    TapePath,
};
use crate::redact::{Placeholder, Redaction, Redactor, SecretKind};
pub use copy::{LeakPlace, RedactError, Redacted, find_leaks, redact};
use stream::Streams;

/// Says on an event that placeholders stand in it.
const REDACTED: &str = "redacted";
/// Says which placeholders an event was the first to need.
const PLACEHOLDERS: &str = "placeholders";
/// The fields that hold the key of an effect.
const EFFECT_KEYS: [&str; 2] = ["key", "of"];
/// Says which bytes a content was, to those who know the key.
const KEYED: &str = "keyed";

/// What a recorder takes out, and with which key it says what that was.
#[derive(Clone, Debug)]
pub struct Redacting {
    /// What is a secret.
    pub redactor: Arc<Redactor>,
    /// The key, which stands on no tape.
    pub key: [u8; 32],
}

/// A secret that was found in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leak {
    /// In which field, in a word.
    pub field: &'static str,
    /// What sort of secret.
    pub kind: SecretKind,
}

/// Whether an event of a tape says that placeholders stand in it, in the place of what it said
/// first.
pub fn is_redacted(event: &Event) -> bool {
    let fields = match &event.body {
        Body::Other { fields, .. } => Some(fields),
        _ => None,
    };
    let all = fields.into_iter().chain([&event.extra]);
    let mut said = all.filter_map(|fields| fields.get(REDACTED));
    said.any(|value| *value == Value::Bool(true))
}

/// Takes out of the fields of an effect the keys that it is known by, and leaves their places:
/// they are names and no secrets, though they look like some, and who goes on with the effect
/// needs them.
fn take_keys(kind: &str, fields: &mut Map<String, Value>) -> Vec<(&'static str, String)> {
    let kind = Kind::parse(kind.as_bytes());
    if !matches!(
        kind,
        Kind::EffectIntent | Kind::EffectCompensate | Kind::EffectResult
    ) {
        return Vec::new();
    }
    let take = |name| match fields.get_mut(name)?.take() {
        Value::String(key) => Some((name, key)),
        other => {
            fields[name] = other;
            None
        }
    };
    EFFECT_KEYS.into_iter().filter_map(take).collect()
}

/// The placeholders that an event tells of.
fn told(event: &Event) -> impl Iterator<Item = Placeholder> {
    let placeholders = event.extra.get(PLACEHOLDERS).and_then(Value::as_array);
    placeholders.into_iter().flatten().filter_map(|told| {
        let text = |at: usize| told.get(at)?.as_str().map(str::to_owned);
        Some(Placeholder {
            number: u32::try_from(told.get(0)?.as_u64()?).ok()?,
            kind: text(1)?,
            keyed: text(2)?,
        })
    })
}

/// Takes the secrets out of the events of one tape.
#[derive(Debug)]
pub(super) struct EventRedaction {
    texts: Redaction,
    /// Contents that lost something, by the name they had.
    blobs: HashMap<BlobHash, (BlobHash, u64)>,
    /// The same, as the tape says of those that were recorded earlier.
    keyed: HashMap<String, (BlobHash, u64)>,
    streams: Streams,
    leaks: Vec<Leak>,
}

impl EventRedaction {
    pub(super) fn new(redacting: &Redacting) -> Self {
        Self {
            texts: Redaction::new(Arc::clone(&redacting.redactor), redacting.key),
            blobs: HashMap::new(),
            keyed: HashMap::new(),
            streams: Streams::default(),
            leaks: Vec::new(),
        }
    }

    /// Takes the secrets among these variables.
    pub(super) fn know(&mut self, variables: &[(OsString, OsString)]) {
        self.texts.know(variables);
    }

    /// Where in these bytes something may tell of placeholders, in order.
    pub(super) fn telling_at(bytes: &[u8]) -> Vec<usize> {
        let fields = [PLACEHOLDERS, KEYED].map(|field| format!("\"{field}\":"));
        let found = fields
            .iter()
            .flat_map(|field| memchr::memmem::find_iter(bytes, field.as_bytes()));
        let mut found: Vec<usize> = found.collect();
        found.sort_unstable();
        found
    }

    /// What an event says of placeholders, as it says it.
    pub(super) fn placeholders_of(event: &Event) -> Map<String, Value> {
        let told = event.extra.get_key_value(PLACEHOLDERS).into_iter();
        told.map(|(name, told)| (name.clone(), told.clone()))
            .collect()
    }

    /// Takes an event that stands on the tape, with placeholders in it.
    pub(super) fn remember(&mut self, event: &Event) {
        for placeholder in told(event) {
            self.texts.remember(&placeholder);
        }
        let (Body::File(FileChange { content, .. }) | Body::Blob(content)) = &event.body else {
            return;
        };
        if let (Content::Blob { hash, len, .. }, Some(Value::String(keyed))) =
            (content, event.extra.get(KEYED))
        {
            self.keyed.insert(keyed.clone(), (*hash, *len));
        }
    }

    /// Takes an event of another tape, which may be copied to this one.
    pub(super) fn foresee(&mut self, event: &Event) {
        for placeholder in told(event) {
            self.texts.foresee(&placeholder);
        }
    }

    /// The name that a content has on the tape, which lost something there or did not.
    pub(super) fn name_of(&self, hash: &BlobHash) -> BlobHash {
        self.lost(hash).map_or(*hash, |(name, _)| name)
    }

    /// The name and the length of a content that lost something.
    pub(super) fn lost(&self, hash: &BlobHash) -> Option<(BlobHash, u64)> {
        let known = self.blobs.get(hash).copied();
        if known.is_some() || self.keyed.is_empty() {
            return known;
        }
        self.keyed
            .get(&self.texts.keyed(hash.to_string().as_bytes()))
            .copied()
    }

    /// A path as it stands on the tape.
    pub(super) fn path_of(&self, path: &TapePath) -> Option<TapePath> {
        TapePath::new(self.texts.known_as(path.as_bytes())?).ok()
    }

    /// The text of a link as it stands on the tape.
    pub(super) fn target_of(&self, target: &[u8]) -> Option<Vec<u8>> {
        self.texts.known_as(target)
    }

    /// Frames that must stand on the tape before this event: what is left of the streams that
    /// it ends.
    pub(super) fn due_before(&mut self, event: &Event) -> Vec<Event> {
        self.streams.due_before(event)
    }

    /// Takes the secrets out of an event; which there were.
    pub(super) fn event(&mut self, event: &mut Event) -> Vec<Leak> {
        self.take_out(event, false)
    }

    /// The same, of a frame behind which its stream has no other.
    pub(super) fn last_frame(&mut self, event: &mut Event) -> Vec<Leak> {
        self.take_out(event, true)
    }

    /// Whether a content that an event carries lost something.
    pub(super) fn is_content_redacted(event: &Event) -> bool {
        event.extra.contains_key(KEYED) || event.extra.contains_key(REDACTED)
    }

    fn take_out(&mut self, event: &mut Event, is_last: bool) -> Vec<Leak> {
        self.head(&mut event.head);
        let Self { streams, texts, .. } = self;
        streams.frame(event, texts, is_last);
        let keyed = self.body(&mut event.body);
        self.within("fields", |texts| texts.fields(&mut event.extra));
        let leaks = std::mem::take(&mut self.leaks);
        let has_any = !leaks.is_empty();
        let is_content = matches!(
            &event.body,
            Body::Blob(_)
                | Body::File(FileChange {
                    content: Content::Blob { .. } | Content::Bytes(_),
                    ..
                })
        );
        // A content says so itself, and only of itself.
        if has_any && !is_content {
            event.extra.insert(REDACTED.to_owned(), true.into());
        }
        if let Some(keyed) = keyed {
            // What had placeholders before is known by what it was before those.
            event.extra.entry(KEYED).or_insert(keyed.into());
        }
        self.tell_placeholders(event);
        leaks
    }

    /// Says on an event which placeholders are new.
    fn tell_placeholders(&mut self, event: &mut Event) {
        let fresh = self.texts.take_fresh();
        if !fresh.is_empty() {
            let known = event.extra.remove(PLACEHOLDERS);
            let mut all = match known {
                Some(Value::Array(known)) => known,
                _ => Vec::new(),
            };
            all.extend(
                fresh
                    .iter()
                    .map(|one| json!([one.number, one.kind, one.keyed])),
            );
            event.extra.insert(PLACEHOLDERS.to_owned(), all.into());
        }
    }

    /// Nothing waits any more.
    fn forget_streams(&mut self) {
        self.streams = Streams::default();
    }

    /// The secrets in the names and links of a snapshot's directories.
    fn in_directories(&mut self, directories: &[(BlobHash, Arc<[u8]>)]) -> Vec<Leak> {
        for (_, text) in directories {
            for (name, entry) in decode_directory(text).unwrap_or_default() {
                self.within("a snapshot", |texts| texts.name_bytes(&name));
                if let DirectoryEntry::Link { target } = entry {
                    self.within("a snapshot", |texts| texts.name_bytes(&target));
                }
            }
        }
        std::mem::take(&mut self.leaks)
    }

    /// Notes what is found in a field.
    fn within<T>(&mut self, field: &'static str, take: impl FnOnce(&mut Redaction) -> T) -> T {
        let done = take(&mut self.texts);
        let found = self.texts.take_found().into_iter();
        self.leaks.extend(found.map(|kind| Leak { field, kind }));
        done
    }

    fn text(&mut self, field: &'static str, text: &mut String) {
        self.within(field, |texts| texts.text(text));
    }

    fn value(&mut self, field: &'static str, value: &mut Value) {
        self.within(field, |texts| texts.value(value));
    }

    fn name(&mut self, field: &'static str, name: &mut String) {
        self.within(field, |texts| texts.name(name));
    }

    fn head(&mut self, head: &mut Head) {
        let names = [
            &mut head.branch,
            &mut head.agent,
            &mut head.call,
            &mut head.txn,
        ];
        for name in names.into_iter().flatten() {
            self.name("a name", name);
        }
        if let Some(title) = &mut head.title {
            self.text("title", title);
        }
    }

    /// Gives the hash with the key of a content that lost something.
    fn body(&mut self, body: &mut Body) -> Option<String> {
        match body {
            Body::Tape(header) => self.header(header),
            Body::Prompt {
                text, attachments, ..
            } => {
                self.text("prompt", text);
                self.hashes(attachments);
            }
            Body::ModelRequest { added, request, .. } => {
                self.value("request", added);
                *request = request.map(|request| self.name_of(&request));
            }
            Body::ModelResponse { blocks, .. } => self.blocks(blocks),
            Body::ToolCall { name, arguments } => {
                self.name("tool", name);
                self.value("arguments", arguments);
            }
            Body::ToolResult {
                output,
                attachments,
                detail,
                ..
            } => {
                self.text("output", output);
                self.value("detail", detail);
                self.hashes(attachments);
            }
            Body::File(change) => return self.file(change),
            Body::Blob(content) => return self.content(content),
            Body::Suspect { scope, why } => {
                if let Scope::Path(path) = scope {
                    self.path(path);
                }
                self.text("why", why);
            }
            Body::TxnSavepoint { name }
            | Body::AgentStart { name }
            | Body::TxnRollback { to: Some(name) } => self.name("a name", name),
            Body::Branch { why, from, .. } => {
                if let Some(from) = from {
                    self.name("a name", from);
                }
                self.text("why", why);
            }
            Body::Gap { why } => self.text("why", why),
            Body::Note { text } => self.text("note", text),
            Body::Raw { bytes, .. } => {
                let bytes: &mut Arc<[u8]> = bytes;
                if let Some(without) = self.within("record", |texts| texts.bytes(bytes)) {
                    *bytes = without.into();
                }
            }
            Body::Other { kind, fields } => {
                let keys = take_keys(kind, fields);
                self.within("fields", |texts| texts.fields(fields));
                for (name, mut key) in keys {
                    self.name("key", &mut key);
                    fields[name] = key.into();
                }
                for value in fields.values_mut() {
                    if let Some(hash) = value.as_str().and_then(|text| text.parse().ok())
                        && let Some((name, _)) = self.lost(&hash)
                    {
                        *value = name.to_string().into();
                    }
                }
            }
            Body::TxnRollback { to: None }
            | Body::Snapshot { .. }
            | Body::TxnBegin
            | Body::TxnCommit
            | Body::AgentEnd { .. }
            | Body::End { .. } => {}
        }
        None
    }

    fn header(&mut self, header: &mut Header) {
        if let Some(root) = &mut header.root {
            self.name("root", root);
        }
        self.within("header", |texts| {
            texts.fields(&mut header.covers) | texts.fields(&mut header.source)
        });
        if let Some(edit) = &mut header.edit {
            self.text("title", &mut edit.title);
            if let Some(path) = &mut edit.path {
                self.path(path);
            }
        }
    }

    fn blocks(&mut self, blocks: &mut [ModelBlock]) {
        for block in &mut *blocks {
            self.text("response", &mut block.text);
            self.value("response", &mut block.data);
            if let Some(call) = &mut block.call {
                self.name("a name", call);
            }
        }
        // What was streamed may have been cut anywhere.
        let mut texts: Vec<&mut String> = blocks.iter_mut().map(|block| &mut block.text).collect();
        if texts.len() > 1 {
            self.within("response", |redaction| redaction.pieces(&mut texts));
        }
    }

    fn hashes(&self, hashes: &mut [BlobHash]) {
        for hash in hashes {
            *hash = self.name_of(hash);
        }
    }

    fn path(&mut self, path: &mut TapePath) {
        let without = self.within("path", |texts| texts.name_bytes(path.as_bytes()));
        if let Some(without) = without.and_then(|without| TapePath::new(without).ok()) {
            *path = without;
        }
    }

    fn file(&mut self, change: &mut FileChange) -> Option<String> {
        self.path(&mut change.path);
        match &mut change.op {
            FileOp::Rename { from } => self.path(from),
            FileOp::Symlink { target } => {
                if let Some(without) = self.within("target", |texts| texts.name_bytes(target)) {
                    *target = without;
                }
            }
            _ => {}
        }
        for call in &mut change.candidates {
            self.name("a name", call);
        }
        if let Some(remark) = &mut change.remark {
            self.text("remark", remark);
        }
        change.was = change.was.map(|was| self.name_of(&was));
        self.content(&mut change.content)
    }

    fn content(&mut self, content: &mut Content) -> Option<String> {
        match content {
            Content::Bytes(bytes) => {
                let without = self.within("contents", |texts| texts.bytes(bytes))?;
                let raw = BlobHash::of(bytes);
                let (hash, len) = (BlobHash::of(&without), without.len() as u64);
                self.blobs.insert(raw, (hash, len));
                *content = Content::Bytes(without.into());
                Some(self.texts.keyed(raw.to_string().as_bytes()))
            }
            Content::Blob {
                hash,
                len,
                redacted,
            } => {
                if let Some((name, now)) = self.lost(hash) {
                    (*hash, *len, *redacted) = (name, now, true);
                }
                None
            }
            Content::Unstored { hash, .. } => {
                *hash = hash.map(|hash| self.name_of(&hash));
                None
            }
            Content::Lines(known) => {
                for (_, lines) in &mut known.ranges {
                    self.within("contents", |texts| texts.text(lines));
                }
                None
            }
            Content::None => None,
        }
    }
}
