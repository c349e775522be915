//! How one event becomes a line: completed, its content packed, written, taken note of.

use std::io;
use std::sync::Arc;

use super::files::file_in;
use super::{Failure, History, OnFailure, RecordError, Recorder, SyncPolicy};
use crate::model::{BlobHash, Body, Content, Event, FileOp, Head, Kind, LineHash, Seq, TapePath};
use crate::tape::blobs::{BlobSource as _, MAX_CHAIN};
use crate::tape::index::Standing;
use crate::tape::manifest::{FileNode, Node};
use crate::tape::pack::{is_base, splice};
use crate::tape::redaction::EventRedaction;
use crate::tape::scan::Record;
use crate::tape::wire::v1::{Draft, Stored, scan_head};

/// The bytes of an event's content. A raw record has bytes and no name.
type Bytes = (Option<BlobHash>, Arc<[u8]>);

impl Recorder {
    /// Writes an event without its secrets, or loses it as the options say.
    pub(in crate::tape) fn write(&mut self, mut event: Event) -> Result<Seq, RecordError> {
        if let Some(redaction) = &mut self.redaction {
            let due = redaction.due_before(&event);
            for mut frame in due {
                if let Some(redaction) = &mut self.redaction {
                    redaction.last_frame(&mut frame);
                }
                frame.head.t = None;
                self.write_as_it_is(frame)?;
            }
            if let Some(redaction) = &mut self.redaction {
                redaction.event(&mut event);
            }
        }
        self.write_as_it_is(event)
    }

    /// Writes an event that holds no secret, or loses it as the options say.
    pub(in crate::tape) fn write_as_it_is(&mut self, mut event: Event) -> Result<Seq, RecordError> {
        let seq = Seq(self.next_seq);
        self.complete(&mut event, seq);
        let is_redacted = EventRedaction::is_content_redacted(&event);
        let content = take_bytes(&mut event.body, is_redacted);
        let result = self.put(&event, content.as_ref());
        match result {
            Ok(()) => {
                self.written.take(seq, &event);
                if let Some((Some(hash), bytes)) = &content {
                    self.tape.cache.put(*hash, bytes);
                }
                self.settle(event.kind())?;
                Ok(seq)
            }
            Err(error) => {
                self.lose(seq, &event, &error);
                match self.options.on_failure {
                    OnFailure::Stop => Err(RecordError::Write(error)),
                    OnFailure::Continue => Ok(seq),
                }
            }
        }
    }

    /// Fills in what the event does not say.
    fn complete(&mut self, event: &mut Event, seq: Seq) {
        event.head.seq = Some(seq);
        event.head.step = None;
        let t = event.head.t.unwrap_or_else(|| self.clock.time(self.last_t));
        self.last_t = t;
        event.head.t = Some(t);
        if let Some(title) = &mut event.head.title
            && let Some((end, _)) = title.char_indices().nth(MAX_TITLE)
        {
            title.truncate(end);
        }
        if let Body::File(change) = &mut event.body
            && change.was.is_none()
            && matches!(change.op, FileOp::Write | FileOp::Remove)
            && let Some(file) = self.file(&event.head, &change.path)
            && file.is_proven
        {
            change.was = file.hash;
        }
    }

    fn put(&mut self, event: &Event, content: Option<&Bytes>) -> io::Result<()> {
        let Some((name, bytes)) = content else {
            return self.put_line(event, &Stored::Elsewhere);
        };
        let Some(name) = name else {
            let stored = self.packer.whole(bytes)?;
            return self.put_line(event, &stored);
        };
        if self.holds(name) {
            return self.put_line(event, &Stored::Elsewhere);
        }
        let base = self.base_of(event, bytes.len());
        let spliced =
            base.and_then(|(base, base_bytes)| splice(base, &base_bytes, bytes, bytes.len() / 4));
        if let Some(stored @ Stored::Splice { base, .. }) = &spliced {
            self.put_line(event, stored)?;
            let links = self.chain(base);
            self.written.chained(name, links);
            return Ok(());
        }
        let stored = self.packer.whole(bytes)?;
        self.put_line(event, &stored)
    }

    /// What the file held before, or what a blob is like, if a content of `len` bytes may be a
    /// change of it.
    fn base_of(&self, event: &Event, len: usize) -> Option<(BlobHash, Arc<[u8]>)> {
        const WORTH_IT: usize = 512;
        let (base, base_len) = match &event.body {
            Body::File(change) => {
                let file = self.file(&event.head, &change.path)?;
                (file.hash?, file.len?)
            }
            Body::Blob(_) => {
                let like = self.like?;
                (like, self.tape.blob(&like).ok()?.len() as u64)
            }
            _ => return None,
        };
        let is_fit = len >= WORTH_IT
            && is_base(base_len)
            && is_base(len as u64)
            && self.chain(&base) < MAX_CHAIN;
        let bytes = is_fit.then(|| self.tape.blob(&base).ok()).flatten()?;
        Some((base, bytes))
    }

    /// The file at a path, as an event with this head sees it.
    fn file(&self, head: &Head, path: &TapePath) -> Option<FileNode> {
        match (&self.written.files, self.written.manifest.get(head, path)) {
            (Some(files), _) => file_in(&**files, &self.tape, head, path),
            (None, Some(Node::File(file))) => Some(file.clone()),
            (None, _) => None,
        }
    }

    /// How many splices lead from a blob to a whole one.
    fn chain(&self, hash: &BlobHash) -> usize {
        match self.written.chain(hash) {
            // On shared lines, nothing was noted.
            0 if self.written.files.is_some() => self.tape.chain(hash),
            links => links,
        }
    }

    /// Writes the line of an event that lacks nothing, and takes it into the index.
    pub(super) fn put_line(&mut self, event: &Event, stored: &Stored<'_>) -> io::Result<()> {
        let mut draft = Draft::new(event, stored, self.prev);
        let (seq, kind) = (self.next_seq, event.kind());
        let at = Standing {
            offset: self.tape.end.offset,
            line: self.tape.end.lines + 1,
        };
        let index = Arc::make_mut(&mut self.tape.index);
        // A header has no line before it, and no step.
        let head = scan_head(draft.head()).unwrap_or_default();
        let indexed = index.push(&head, kind, at, seq, None);
        let step = indexed.step.and_then(|step| index.number_of(step));
        // A fork's steps go on from its parent's.
        if let Some(step) = step.filter(|_| self.history != History::Unknown) {
            draft.put_step(step);
        }
        let mut line = draft.finish(event, stored);
        let hash = LineHash::of(&line);
        line.push(b'\n');
        if let Err(error) = self.sink.append(&line) {
            // The index holds an event that is not on the tape: read it again.
            self.tape.reindex()?;
            return Err(error);
        }
        if let Some(files) = &mut self.written.files
            && let Some(head) = scan_head(&line)
        {
            let index = Arc::make_mut(&mut self.tape.index);
            let record = Record {
                offset: at.offset,
                line_number: at.line,
                head: &head,
                kind,
                whole: None,
                implied_blob: None,
            };
            files.indexed(index, indexed, Some(&record));
        }
        self.written.budget.take(event.kind(), line.len() as u64);
        self.tape.end.offset += line.len() as u64;
        self.tape.end.lines += 1;
        self.prev = Some(hash);
        self.next_seq += 1;
        Ok(())
    }

    /// Sees to it that what was written reaches the disk when it should.
    fn settle(&mut self, kind: Kind) -> Result<(), RecordError> {
        let synced = match self.options.sync {
            SyncPolicy::None => Ok(()),
            SyncPolicy::Always => self.sink.sync(),
            SyncPolicy::Effects if promises(kind) => self.sink.sync(),
            SyncPolicy::Effects => self.sink.sync_soon(),
        };
        match (synced, self.options.on_failure) {
            (Err(error), OnFailure::Stop) => {
                let why = error.to_string();
                self.failure = Some(Failure { why, lost: 0 });
                Err(RecordError::Write(error))
            }
            _ => Ok(()),
        }
    }

    fn lose(&mut self, seq: Seq, event: &Event, error: &io::Error) {
        // The run goes on from what the event did, whether it was recorded or not.
        self.written.happened(seq, event);
        self.lost += 1;
        let lost = self.failure.as_ref().map_or(0, |failure| failure.lost);
        self.failure = Some(Failure {
            why: error.to_string(),
            lost: lost + 1,
        });
    }
}

/// A title has at most this many characters.
const MAX_TITLE: usize = 80;

/// Whether what an event of this kind says must be on disk before it is acted upon.
pub(super) const fn promises(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::TxnBegin
            | Kind::TxnSavepoint
            | Kind::TxnCommit
            | Kind::TxnRollback
            | Kind::EffectIntent
            | Kind::EffectResult
            | Kind::EffectCompensate
            | Kind::ModelResponse
    )
}

/// Takes the bytes out of an event and leaves their name; a raw record keeps its bytes and
/// has no name.
fn take_bytes(body: &mut Body, redacted: bool) -> Option<Bytes> {
    let content = match body {
        Body::File(change) => &mut change.content,
        Body::Blob(content) => content,
        Body::Raw { bytes, .. } => return Some((None, Arc::clone(bytes))),
        _ => return None,
    };
    let Content::Bytes(bytes) = content else {
        return None;
    };
    let bytes = Arc::clone(bytes);
    let hash = BlobHash::of(&bytes);
    *content = Content::Blob {
        hash,
        len: bytes.len() as u64,
        redacted,
    };
    Some((Some(hash), bytes))
}
