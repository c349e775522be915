//! The recorder: writes a tape, event by event.
//!
//! A program that runs an agent opens one, tells it what happens, and closes it:
//!
//! ```
//! use jukebox::model::{Body, Event, FileChange, Header, Outcome, TapePath};
//! use jukebox::tape::{Recorder, RecorderOptions};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("run.jsonl");
//! let header = Header {
//!     agent: Some("my-agent 0.1".to_owned()),
//!     root: Some("/home/me/project".to_owned()),
//!     ..Header::default()
//! };
//! let mut recorder = Recorder::create(&path, header, RecorderOptions::default())?;
//! recorder.append(Event::new(Body::Prompt {
//!     role: "user".to_owned(),
//!     text: "Fix the greeting.".to_owned(),
//!     attachments: Vec::new(),
//! }))?;
//! recorder.append(
//!     Event::new(Body::ToolCall {
//!         name: "write".to_owned(),
//!         arguments: serde_json::json!({"path": "hello.txt"}),
//!     })
//!     .in_call("c1"),
//! )?;
//! let hello = FileChange::write(TapePath::new("hello.txt")?, *b"Hello, world!\n");
//! recorder.append(Event::new(Body::File(hello)).in_call("c1"))?;
//! recorder.append(
//!     Event::new(Body::ToolResult {
//!         outcome: Outcome::Ok,
//!         exit: None,
//!         output: "done".to_owned(),
//!         duration: None,
//!         attachments: Vec::new(),
//!         detail: serde_json::Value::Null,
//!     })
//!     .in_call("c1"),
//! )?;
//! recorder.close(Outcome::Ok)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The recorder numbers the events, gives them their time and step, chains the lines,
//! chooses how contents travel, and writes snapshots. It does not look at the workspace: what
//! nobody tells it, it does not know.

mod budget;
mod flusher;
mod lock;
mod options;
mod resume;
mod sink;
#[cfg(test)]
mod tests;
mod written;

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub use options::{OnFailure, RecordError, RecorderOptions, SnapshotPolicy, SyncPolicy};
use sink::Sink;
use written::{Written, begins_the_run};

use super::blobs::{BlobError, BlobSource, MAX_CHAIN};
use super::manifest::Node;
use super::pack::{Packer, is_base, splice};
use super::wire::RawHead;
use super::wire::v1::{Draft, Scan, Stored, scan_head};
use super::{Tape, TapeBytes};
use crate::model::{
    BlobHash, Body, Content, Event, FileOp, Header, Kind, LineHash, Micros, Outcome, Seq,
    SnapshotReason, WallTime,
};

/// Writes a tape. Dropped without [`close`](Self::close), it leaves a valid tape that does
/// not say how the run ended.
#[derive(Debug)]
pub struct Recorder {
    options: RecorderOptions,
    sink: Sink,
    /// The tape as a reader sees it: the same index numbers its steps and finds its blobs.
    tape: Tape,
    written: Written,
    packer: Packer,
    clock: Clock,
    is_fork: bool,
    next_seq: u64,
    last_t: Micros,
    prev: Option<LineHash>,
    failure: Option<Failure>,
    lost: u64,
    gap_snapshot_is_due: bool,
}

/// Why events cannot be written just now, or could not be for a while.
#[derive(Debug)]
struct Failure {
    why: String,
    /// Events lost since, for which there is no gap on the tape yet.
    lost: u64,
}

/// What time an event has that says none.
#[derive(Debug)]
enum Clock {
    /// That of the event before: nothing in memory depends on when it was written.
    Still,
    Running {
        at_start: Micros,
        since: Instant,
    },
}

impl Recorder {
    /// Begins a new tape at `path`, with mode 0600. A file that is there is never written over.
    ///
    /// What the header does not say is filled in: the format, an id, the wall clock, the
    /// recorder.
    pub fn create(
        path: &Path,
        header: Header,
        options: RecorderOptions,
    ) -> Result<Self, RecordError> {
        let header = Header {
            started: Some(header.started.unwrap_or_else(now)),
            ..header
        };
        let clock = Clock::running(header.started);
        Self::begin(Sink::create(path)?, header, clock, options)
    }

    /// Begins a new tape in memory. Its clock stands still: an event that says no time has
    /// that of the event before, so equal events give equal bytes.
    pub fn in_memory(header: Header, options: RecorderOptions) -> Result<Self, RecordError> {
        Self::begin(Sink::memory(), header, Clock::Still, options)
    }

    /// Goes on with the tape at `path`. A torn last line is set aside as `TAPE.torn-OFFSET`,
    /// and a `gap` says so.
    pub fn resume(path: &Path, options: RecorderOptions) -> Result<Self, RecordError> {
        resume::resume(path, options)
    }

    fn begin(
        sink: Sink,
        header: Header,
        clock: Clock,
        options: RecorderOptions,
    ) -> Result<Self, RecordError> {
        let tape = Tape::read(sink.bytes(), &mut ()).map_err(RecordError::Write)?;
        let mut recorder = Self {
            clock,
            is_fork: header.parent.is_some(),
            ..Self::new(sink, tape, options).map_err(RecordError::Write)?
        };
        let parent = header.parent.as_ref().map(|parent| parent.seq);
        let header = Header {
            format: 1,
            id: if header.id.is_empty() {
                uuid::Uuid::now_v7().to_string()
            } else {
                header.id
            },
            recorder: header
                .recorder
                .or_else(|| Some(format!("jukebox {}", env!("CARGO_PKG_VERSION")))),
            ..header
        };
        recorder.write(Event::new(Body::Tape(Box::new(header))).at(0))?;
        if let Some(parent) = parent {
            recorder.next_seq = parent.0 + 1;
        }
        Ok(recorder)
    }

    fn new(sink: Sink, tape: Tape, options: RecorderOptions) -> std::io::Result<Self> {
        Ok(Self {
            options,
            sink,
            tape,
            written: Written::default(),
            packer: Packer::new()?,
            clock: Clock::Still,
            is_fork: false,
            next_seq: 0,
            last_t: 0,
            prev: None,
            failure: None,
            lost: 0,
            gap_snapshot_is_due: false,
        })
    }

    /// Records an event; its number.
    ///
    /// The number and the step are given here, whatever the event says; the time only if
    /// it says none. With [`OnFailure::Continue`], an event that cannot be written is lost,
    /// and the number is that of the `gap` that will stand for it.
    pub fn append(&mut self, event: Event) -> Result<Seq, RecordError> {
        if self.options.on_failure == OnFailure::Stop
            && let Some(failure) = &self.failure
        {
            return Err(RecordError::Stopped(failure.why.clone()));
        }
        self.own_up();
        self.snapshot_if_due(&event.body)?;
        self.write(event)
    }

    /// Writes a snapshot of the line of the last event; its number.
    ///
    /// Of a file that something may have changed unseen it tells no content. Fails between a
    /// call and its result, inside a transaction, and on a fork's tape.
    pub fn snapshot(&mut self, reason: SnapshotReason) -> Result<Seq, RecordError> {
        if self.is_fork {
            return Err(RecordError::Fork);
        }
        if !self.written.calls.is_quiet() {
            return Err(RecordError::MidCall);
        }
        self.own_up();
        self.write_snapshot(reason)
    }

    /// Waits until everything recorded so far is on disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.sink.sync().map_err(RecordError::Write)
    }

    /// Ends the tape: a last snapshot, how the run ended, and all of it on disk.
    ///
    /// Fails if events were lost on the way, even where the tape could say so.
    pub fn close(mut self, outcome: Outcome) -> Result<(), RecordError> {
        if let Some(failure) = &self.failure
            && self.options.on_failure == OnFailure::Stop
        {
            return Err(RecordError::Stopped(failure.why.clone()));
        }
        self.own_up();
        if self.takes_snapshots() {
            self.write_snapshot(SnapshotReason::End)?;
        }
        let mut end = Event::new(Body::End { outcome });
        if self.lost > 0 {
            end.head.title = Some(format!("{} events of this run were lost", self.lost));
        }
        self.write(end)?;
        self.sink.sync().map_err(RecordError::Write)?;
        match self.lost {
            0 => Ok(()),
            count => Err(RecordError::Lost {
                count,
                why: self.failure.map(|failure| failure.why).unwrap_or_default(),
            }),
        }
    }

    /// The bytes of the tape, for reading: all that has been recorded, while more is.
    pub fn bytes(&self) -> TapeBytes {
        self.sink.bytes()
    }

    /// How many events were lost because they could not be written.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// The number of the event that comes next.
    pub const fn next_seq(&self) -> Seq {
        Seq(self.next_seq)
    }

    fn takes_snapshots(&self) -> bool {
        self.options.snapshots == SnapshotPolicy::Budget && !self.is_fork
    }

    /// Writes the snapshot that should stand before an event like this one.
    fn snapshot_if_due(&mut self, next: &Body) -> Result<(), RecordError> {
        if !self.takes_snapshots() || !self.written.calls.is_quiet() {
            return Ok(());
        }
        let reason = if std::mem::take(&mut self.gap_snapshot_is_due) {
            SnapshotReason::Gap
        } else if !self.written.has_start && begins_the_run(next) {
            // What the run found is known now, if anything is.
            let workspace = self.written.manifest.workspace(None);
            if workspace.is_none_or(|root| root.entries().next().is_none()) {
                return Ok(());
            }
            SnapshotReason::Start
        } else {
            let line = self.written.branch.as_deref();
            let cost = self.written.manifest.snapshot_cost(line) + SNAPSHOT_HEAD;
            let tape = self.tape.end.offset;
            // A snapshot of files that something may have changed proves nothing.
            if !self.written.budget.is_due(cost, tape) || !self.written.manifest.is_proven(line) {
                return Ok(());
            }
            SnapshotReason::Budget
        };
        self.write_snapshot(reason)?;
        Ok(())
    }

    fn write_snapshot(&mut self, reason: SnapshotReason) -> Result<Seq, RecordError> {
        let line = self.written.branch.clone();
        let written = &mut self.written;
        let (root, directories) = written
            .manifest
            .snapshot(line.as_deref(), &written.directories);
        let mut event = Event::new(Body::Snapshot {
            root,
            reason,
            directories,
        });
        event.head.branch = line;
        self.write(event)
    }

    /// Says on the tape that events were lost, if they were and it can be said now.
    fn own_up(&mut self) {
        let Some(failure) = self.failure.as_mut().filter(|failure| failure.lost > 0) else {
            return;
        };
        let why = format!("{} events were lost: {}", failure.lost, failure.why);
        let mut gap = Event::new(Body::Gap { why });
        gap.head.seq = Some(Seq(self.next_seq));
        gap.head.t = Some(self.time());
        if self.put_line(&gap, &Stored::Elsewhere).is_ok() {
            if let Some(failure) = &mut self.failure {
                failure.lost = 0;
            }
            // What was lost is known here all the same: a snapshot heals the files.
            self.gap_snapshot_is_due = true;
        }
    }

    /// Writes an event, or loses it as the options say.
    fn write(&mut self, mut event: Event) -> Result<Seq, RecordError> {
        let seq = Seq(self.next_seq);
        self.complete(&mut event, seq);
        let content = take_bytes(&mut event.body);
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
        let t = event.head.t.unwrap_or_else(|| self.time());
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
            && let Some(Node::File(file)) = self.written.manifest.get(&event.head, &change.path)
            && file.is_proven
        {
            change.was = file.hash;
        }
    }

    fn time(&self) -> Micros {
        match &self.clock {
            Clock::Still => self.last_t,
            Clock::Running { at_start, since } => {
                let passed = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
                at_start.saturating_add(passed)
            }
        }
    }

    fn put(
        &mut self,
        event: &Event,
        content: Option<&(Option<BlobHash>, Arc<[u8]>)>,
    ) -> std::io::Result<()> {
        let Some((name, bytes)) = content else {
            return self.put_line(event, &Stored::Elsewhere);
        };
        let Some(name) = name else {
            let stored = self.packer.whole(bytes)?;
            return self.put_line(event, &stored);
        };
        let blobs = &self.tape.index.blobs;
        if blobs
            .find(name)
            .is_some_and(|id| blobs.position(id).is_some())
        {
            return self.put_line(event, &Stored::Elsewhere);
        }
        let base = self.base_of(event, bytes.len());
        let spliced = base.and_then(|(base, base_bytes)| splice(base, &base_bytes, bytes));
        if let Some(stored @ Stored::Splice { base, .. }) = &spliced {
            self.put_line(event, stored)?;
            self.written.chained(name, base);
            return Ok(());
        }
        let stored = self.packer.whole(bytes)?;
        self.put_line(event, &stored)
    }

    /// What the file held before, if a content of `len` bytes may be a change of it.
    fn base_of(&self, event: &Event, len: usize) -> Option<(BlobHash, Arc<[u8]>)> {
        const WORTH_IT: usize = 512;
        let Body::File(change) = &event.body else {
            return None;
        };
        let Some(Node::File(file)) = self.written.manifest.get(&event.head, &change.path) else {
            return None;
        };
        let base = file.hash?;
        let is_fit = len >= WORTH_IT
            && is_base(file.len?)
            && is_base(len as u64)
            && self.written.chain(&base) < MAX_CHAIN;
        let bytes = is_fit.then(|| self.tape.blob(&base).ok()).flatten()?;
        Some((base, bytes))
    }

    /// Writes the line of an event that lacks nothing, and takes it into the index.
    fn put_line(&mut self, event: &Event, stored: &Stored<'_>) -> std::io::Result<()> {
        let mut draft = Draft::new(event, stored, self.prev);
        let (offset, seq, kind) = (self.tape.end.offset, self.next_seq, event.kind());
        let index = &mut self.tape.index;
        let step = match scan_head(draft.head()) {
            Scan::Head(head) => {
                let indexed = index.push(&head, kind, offset, seq, None);
                indexed.step.and_then(|step| index.number_of(step))
            }
            // A header has no line before it, and no step.
            Scan::Incomplete | Scan::OtherOrder => {
                index.push(&RawHead::default(), kind, offset, seq, None);
                None
            }
        };
        // A fork's steps go on from its parent's, which are not known here.
        if let Some(step) = step.filter(|_| !self.is_fork) {
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

    fn lose(&mut self, seq: Seq, event: &Event, error: &std::io::Error) {
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

impl BlobSource for Recorder {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        self.tape.blob(hash)
    }
}

/// The bytes of a tape with these events. Equal events give equal bytes, if the header has
/// an id.
pub fn build(
    header: Header,
    events: impl IntoIterator<Item = Event>,
) -> Result<Vec<u8>, RecordError> {
    let mut recorder = Recorder::in_memory(header, RecorderOptions::default())?;
    for event in events {
        recorder.append(event)?;
    }
    let bytes = recorder.bytes();
    recorder.close(Outcome::Ok)?;
    let len = bytes.len().map_err(RecordError::Write)?;
    bytes
        .read_exact_at(0, len as usize)
        .map_err(RecordError::Write)
}

/// A title has at most this many characters.
const MAX_TITLE: usize = 80;
/// What a snapshot takes beside its directories.
const SNAPSHOT_HEAD: u64 = 220;

/// Whether what an event of this kind says must be on disk before it is acted upon.
const fn promises(kind: Kind) -> bool {
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
fn take_bytes(body: &mut Body) -> Option<(Option<BlobHash>, Arc<[u8]>)> {
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
        redacted: false,
    };
    Some((Some(hash), bytes))
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime(since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }))
}

impl Clock {
    fn running(started: Option<WallTime>) -> Self {
        Self::Running {
            at_start: started.map_or(0, |started| now().since(started)),
            since: Instant::now(),
        }
    }
}
