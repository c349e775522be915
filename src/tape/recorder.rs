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
//! chooses how contents travel, takes secrets out where it was told which there are, and writes
//! snapshots. It does not look at the workspace: what
//! nobody tells it, it does not know.

mod budget;
mod clock;
mod files;
mod flusher;
mod fork;
mod lock;
mod options;
mod resume;
mod sink;
#[cfg(test)]
mod tests;
mod write;
mod written;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use clock::{Clock, now};
pub use files::{Behind, Files, LastFile};
pub use options::{OnFailure, RecordError, RecorderOptions, SnapshotPolicy, SyncPolicy, Untimed};
pub(super) use resume::remember;
use sink::{Sink, open_error};
use write::promises;
use written::{Written, begins_the_run};

use super::blobs::{BlobError, BlobSource};
use super::manifest::{Directory, Node};
use super::pack::{Effort, Packer};
use super::redaction::EventRedaction;
use super::wire::v1::Stored;
use super::{Tape, TapeBytes};
use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Head, Header, LineHash, Micros, Outcome,
    Seq, SnapshotReason, TapePath,
};

/// Writes a tape. Dropped without [`close`](Self::close), it leaves a valid tape that does
/// not say how the run ended.
#[derive(Debug)]
pub struct Recorder {
    options: RecorderOptions,
    sink: Sink,
    redaction: Option<EventRedaction>,
    /// The tape as a reader sees it: the same index numbers its steps and finds its blobs.
    tape: Tape,
    written: Written,
    packer: Packer,
    clock: Clock,
    history: History,
    next_seq: u64,
    last_t: Micros,
    prev: Option<LineHash>,
    failure: Option<Failure>,
    lost: u64,
    gap_snapshot_is_due: bool,
    /// A blob that the content of the event at hand is much like.
    like: Option<BlobHash>,
}

/// What a recorder knows of the events before those that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum History {
    /// All: they stand on the tape.
    Own,
    /// All: those that a fork shares stand on its parent's tape.
    Shared,
    /// Nothing of those that a fork shares.
    Unknown,
}

impl History {
    /// What is known of a tape that is looked at alone.
    fn of(header: &Header) -> Self {
        if header.shares_events() {
            Self::Unknown
        } else {
            Self::Own
        }
    }
}

/// Why events cannot be written just now, or could not be for a while.
#[derive(Debug)]
struct Failure {
    why: String,
    /// Events lost since, for which there is no gap on the tape yet.
    lost: u64,
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
        let clock = match options.untimed {
            Untimed::Now => Clock::running(header.started),
            Untimed::AsBefore => Clock::Still,
        };
        let sink = Sink::create(path)?;
        sync_new(path, options.sync)?;
        Self::begin(sink, header, Map::new(), clock, options)
    }

    /// Begins a new tape in memory. Its clock stands still: an event that says no time has
    /// that of the event before, so equal events give equal bytes.
    pub fn in_memory(header: Header, options: RecorderOptions) -> Result<Self, RecordError> {
        Self::begin(Sink::memory(), header, Map::new(), Clock::Still, options)
    }

    /// Goes on with the tape at `path`. A torn last line is set aside as `TAPE.torn-OFFSET`,
    /// and a `gap` says so.
    pub fn resume(path: &Path, options: RecorderOptions) -> Result<Self, RecordError> {
        resume::resume(path, options)
    }

    /// Begins a new file for events of another tape, its header the first of them.
    pub(super) fn copy_to(path: &Path) -> Result<Self, RecordError> {
        let options = RecorderOptions {
            sync: SyncPolicy::None,
            snapshots: SnapshotPolicy::Never,
            ..RecorderOptions::default()
        };
        let sink = Sink::create(path)?;
        let tape = Tape::read(sink.bytes(), &mut ()).map_err(RecordError::Write)?;
        Self::new(sink, tape, options).map_err(RecordError::Write)
    }

    /// Writes an event of another tape under the number that it has there.
    pub(super) fn copy(&mut self, event: Event, seq: Seq) -> Result<(), RecordError> {
        self.next_seq = seq.0;
        self.write_as_it_is(event).map(|_| ())
    }

    /// Writes a line that is no event.
    pub(super) fn carry(&mut self, line: &[u8]) -> Result<(), RecordError> {
        self.prev = Some(LineHash::of(line));
        let line = [line, b"\n"].concat();
        self.sink.append(&line).map_err(RecordError::Write)?;
        // What is not an event the index reads itself.
        self.tape.reindex().map_err(RecordError::Write)
    }

    fn begin(
        sink: Sink,
        header: Header,
        extra: Map<String, Value>,
        clock: Clock,
        options: RecorderOptions,
    ) -> Result<Self, RecordError> {
        let tape = Tape::read(sink.bytes(), &mut ()).map_err(RecordError::Write)?;
        let mut recorder = Self {
            clock,
            history: History::of(&header),
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
        let mut first = Event::new(Body::Tape(Box::new(header))).at(0);
        first.extra = extra;
        recorder.write(first)?;
        if let Some(parent) = parent {
            recorder.next_seq = parent.0 + 1;
        }
        Ok(recorder)
    }

    fn new(sink: Sink, tape: Tape, options: RecorderOptions) -> std::io::Result<Self> {
        Ok(Self {
            redaction: options.redacting.as_ref().map(EventRedaction::new),
            options,
            sink,
            tape,
            written: Written::default(),
            packer: Packer::new(Effort::Quick)?,
            clock: Clock::Still,
            history: History::Own,
            next_seq: 0,
            last_t: 0,
            prev: None,
            failure: None,
            lost: 0,
            gap_snapshot_is_due: false,
            like: None,
        })
    }

    /// Somebody gets these variables: the secrets among them are taken out of all that is
    /// recorded from now on, if any are.
    pub fn know(&mut self, variables: &[(OsString, OsString)]) {
        if let Some(redaction) = &mut self.redaction {
            redaction.know(variables);
        }
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

    /// Records a `blob` whose bytes are much like those of another blob of the tape, so that
    /// only what differs need be written; its number.
    pub fn append_like(&mut self, event: Event, like: BlobHash) -> Result<Seq, RecordError> {
        self.like = Some(like);
        let seq = self.append(event);
        self.like = None;
        seq
    }

    /// Records an event that something depends on: it is on disk, or this fails, whatever the
    /// options say. Fails if it is lost, too.
    pub fn promise(&mut self, event: Event) -> Result<Seq, RecordError> {
        let (lost, kind) = (self.lost, event.kind());
        let seq = self.append(event)?;
        if let Some(failure) = self.failure.as_ref().filter(|_| self.lost > lost) {
            return Err(RecordError::Lost {
                count: self.lost - lost,
                why: failure.why.clone(),
            });
        }
        let is_synced = match self.options.sync {
            SyncPolicy::None => false,
            SyncPolicy::Effects => promises(kind),
            SyncPolicy::Always => true,
        };
        // A recorder that goes on says nothing of a sync that failed.
        if !is_synced || self.options.on_failure == OnFailure::Continue {
            self.sync()?;
        }
        Ok(seq)
    }

    /// An event that was recorded, by its number.
    pub fn event(&self, seq: Seq) -> std::io::Result<Event> {
        let position = self.tape.index.events.position(seq);
        self.tape
            .event(position.ok_or(std::io::ErrorKind::NotFound)?)
    }

    /// Writes a snapshot of the line of the last event; its number.
    ///
    /// Of a file that something may have changed unseen it tells no content. Fails between a
    /// call and its result, inside a transaction, and on a fork's tape.
    pub fn snapshot(&mut self, reason: SnapshotReason) -> Result<Seq, RecordError> {
        if self.history != History::Own {
            return Err(RecordError::Fork);
        }
        if !self.written.calls.is_quiet() {
            return Err(RecordError::MidCall);
        }
        self.own_up();
        self.write_snapshot(reason)
    }

    /// Takes what stands at a path of the workspace before the run begins. No event says so:
    /// the next snapshot does. Contents go on the tape as blobs before that; of one that lost
    /// a secret, an event says which file has placeholders.
    pub fn found(&mut self, path: &TapePath, mut node: Node) -> Result<(), RecordError> {
        let path = self.path_of(path).unwrap_or_else(|| path.clone());
        if let Node::Link(target) = &mut node
            && let Some(without) = self.redaction.as_ref().and_then(|it| it.target_of(target))
        {
            *target = without.as_slice().into();
        }
        if let Node::File(file) = &mut node
            && let Some(raw) = file.hash
            && let Some((hash, len)) = self.redaction.as_ref().and_then(|it| it.lost(&raw))
        {
            file.hash = Some(hash);
            file.len = Some(len);
            let content = Content::Blob {
                hash,
                len,
                redacted: true,
            };
            let seen = FileChange {
                mode: file.mode,
                content,
                ..FileChange::new(FileOp::Observe, path.clone())
            };
            self.write(Event::new(Body::File(seen)))?;
        }
        self.written.manifest.found(&path, node);
        Ok(())
    }

    /// What is at a path, as an event with this head sees it and as far as the tape says. Of
    /// what a fork shares, this knows nothing: who knows its parent does.
    pub fn node(&self, head: &Head, path: &TapePath) -> Option<&Node> {
        let without = self.path_of(path);
        let path = without.as_ref().unwrap_or(path);
        self.written.manifest.get(head, path)
    }

    fn path_of(&self, path: &TapePath) -> Option<TapePath> {
        self.redaction.as_ref()?.path_of(path)
    }

    /// The name that a content has on the tape: another than its own where secrets were taken
    /// out of it.
    pub fn name_of(&self, hash: &BlobHash) -> BlobHash {
        let redaction = self.redaction.as_ref();
        redaction.map_or(*hash, |redaction| redaction.name_of(hash))
    }

    /// The text that a link has on the tape.
    pub fn target_of(&self, target: &[u8]) -> Vec<u8> {
        let redaction = self.redaction.as_ref();
        let without = redaction.and_then(|redaction| redaction.target_of(target));
        without.unwrap_or_else(|| target.to_vec())
    }

    /// The workspace on the main line, as far as the tape says; of a fork nothing, as
    /// [`node`](Self::node).
    pub fn workspace(&self) -> Option<&Directory> {
        self.written.manifest.workspace(None)
    }

    /// Whether the tape holds the bytes of this blob, or what is left of them.
    pub fn holds(&self, hash: &BlobHash) -> bool {
        let blobs = &self.tape.index.blobs;
        let known = blobs.find(&self.name_of(hash));
        known.is_some_and(|id| blobs.position(id).is_some())
    }

    /// Waits until everything recorded so far is on disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.sink.sync().map_err(RecordError::Write)
    }

    /// Ends the tape: a last snapshot, how the run ended, and all of it on disk. Gives the
    /// number of the last event.
    ///
    /// Fails if events were lost on the way, even where the tape could say so.
    pub fn close(mut self, outcome: Outcome) -> Result<Seq, RecordError> {
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
        let end = self.write(end)?;
        self.sink.sync().map_err(RecordError::Write)?;
        match self.lost {
            0 => Ok(end),
            count => Err(RecordError::Lost {
                count,
                why: self.failure.map(|failure| failure.why).unwrap_or_default(),
            }),
        }
    }

    /// The bytes of the tape, for reading: all that has been recorded, while more is; of a
    /// fork, with the lines that it shares.
    pub fn bytes(&self) -> TapeBytes {
        self.tape.bytes.clone()
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
        self.options.snapshots == SnapshotPolicy::Budget && self.history == History::Own
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
            let cost = self.written.manifest.snapshot_cost(line) + head_cost(line);
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
        let Written {
            manifest,
            directories: stored,
            ..
        } = &mut self.written;
        let is_stored = |hash: &BlobHash| stored.contains(hash);
        let (root, directories) = manifest.snapshot(line.as_deref(), &is_stored);
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
        gap.head.t = Some(self.clock.time(self.last_t));
        if self.put_line(&gap, &Stored::Elsewhere).is_ok() {
            if let Some(failure) = &mut self.failure {
                failure.lost = 0;
            }
            // What was lost is known here all the same: a snapshot heals the files.
            self.gap_snapshot_is_due = true;
        }
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

/// Waits until the name of a new tape is on disk: events there are of no use in a file that has
/// no name.
fn sync_new(path: &Path, sync: SyncPolicy) -> Result<(), RecordError> {
    if sync == SyncPolicy::None {
        return Ok(());
    }
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let synced = std::fs::File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|source| open_error(path, source))
}

/// How many bytes a snapshot takes at most beside its directories.
fn head_cost(line: Option<&str>) -> u64 {
    const WITHOUT_NAME: u64 = 240;
    WITHOUT_NAME + line.map_or(0, |line| 16 + 6 * line.len() as u64)
}
