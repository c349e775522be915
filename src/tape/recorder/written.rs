//! What stands on the tape so far, as far as the next event depends on it.
//!
//! Built event by event while recording, and by one scan when a tape is gone on with; both
//! ways lead to the same. What a fork shares is not gone through: who knows its files is asked.

use std::collections::{HashMap, HashSet};

use super::budget::{Budget, OpenCalls};
use super::files::Files;
use crate::model::{BlobHash, Body, Event, Kind, Seq};
use crate::tape::TapeBytes;
use crate::tape::index::{Index, IndexSink, Indexed};
use crate::tape::manifest::{Manifest, Proven};
use crate::tape::scan::Record;
use crate::tape::wire::v1::{decode_event, parse_record};
use crate::tape::wire::{Enc, Line};

#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) manifest: Manifest,
    /// Of a fork, who knows the files instead.
    pub(super) files: Option<Box<dyn Files>>,
    /// Directories of snapshots, by hash.
    pub(super) directories: HashSet<BlobHash>,
    /// Of each blob that is a splice, how many splices lead to a whole one.
    chains: HashMap<u64, u8>,
    pub(super) calls: OpenCalls,
    pub(super) budget: Budget,
    /// A snapshot says how the run began, or it is too late for one.
    pub(super) has_start: bool,
    /// The line of the last event.
    pub(super) branch: Option<String>,
}

impl Written {
    /// What stands on a fork's tape, whose shared events somebody else was told of.
    pub(super) fn behind(files: Box<dyn Files>) -> Self {
        Self {
            files: Some(files),
            ..Self::default()
        }
    }

    /// Takes an event that stands on the tape.
    pub(super) fn take(&mut self, seq: Seq, event: &Event) {
        if self.files.is_none() {
            self.manifest.apply(seq, event);
        }
        self.note(event);
    }

    /// Takes an event that happened and was not written.
    pub(super) fn happened(&mut self, seq: Seq, event: &Event) {
        // Of a fork, the gap that will be told says that any file may be another.
        if self.files.is_none() {
            self.manifest.apply(seq, event);
        }
        self.note_run(event);
    }

    /// Takes an event that stands on the tape, but for what it does to files.
    fn note(&mut self, event: &Event) {
        self.note_run(event);
        if let Body::Snapshot { directories, .. } = &event.body {
            self.directories
                .extend(directories.iter().map(|(hash, _)| *hash));
            self.has_start = true;
        }
    }

    fn note_run(&mut self, event: &Event) {
        self.calls.take(event);
        self.has_start |= begins_the_run(&event.body);
        if self.branch != event.head.branch {
            self.branch.clone_from(&event.head.branch);
        }
    }

    /// How many splices lead from a blob to a whole one, as far as it was noted.
    pub(super) fn chain(&self, hash: &BlobHash) -> usize {
        self.chains
            .get(&hash.prefix())
            .copied()
            .map_or(0, usize::from)
    }

    /// A blob was written as a change of another, which so many splices lead to.
    pub(super) fn chained(&mut self, hash: &BlobHash, links: usize) {
        let links = u8::try_from(links + 1).unwrap_or(u8::MAX);
        self.chains.insert(hash.prefix(), links);
    }
}

/// Whether an event is the agent's doing, not what the recorder found before it began.
pub(super) const fn begins_the_run(body: &Body) -> bool {
    matches!(
        body,
        Body::Prompt { .. }
            | Body::ModelRequest { .. }
            | Body::ModelResponse { .. }
            | Body::ToolCall { .. }
            | Body::TxnBegin
            | Body::AgentStart { .. }
    )
}

/// The scan of a tape that is gone on with.
#[derive(Debug)]
pub(super) struct Scanned {
    written: Written,
    files: Proven,
    /// The event before, whose line ends where the next one begins.
    before: Option<(u64, Kind)>,
}

impl Scanned {
    pub(super) fn new(bytes: TapeBytes) -> Self {
        Self {
            written: Written::default(),
            files: Proven::new(bytes),
            before: None,
        }
    }

    /// What stands on the tape, whose last line ends here.
    pub(super) fn finish(mut self, end: u64) -> Written {
        self.end_line(end);
        Written {
            manifest: self.files.manifest,
            ..self.written
        }
    }

    fn end_line(&mut self, end: u64) {
        if let Some((offset, kind)) = self.before.take() {
            self.written.budget.take(kind, end.saturating_sub(offset));
        }
    }
}

impl IndexSink for Scanned {
    fn indexed(&mut self, index: &mut Index, indexed: Indexed, record: Option<&Record<'_>>) {
        let seq = index.events.seq(indexed.position);
        let event = record.map_or_else(|| Event::new(Body::Gap { why: String::new() }), event_of);
        if let Some(entry) = index.events.get(indexed.position) {
            self.end_line(entry.offset);
            self.before = Some((entry.offset, indexed.kind));
        }
        if let Some(record) = record
            && record.head.enc == Enc::Splice
            && let (Some(hash), Some(base)) = (record.head.blob_hash(), record.head.base_hash())
        {
            let links = self.written.chain(&base);
            self.written.chained(&hash, links);
        }
        let place = record.map_or((0, 0), |record| {
            (record.offset, record.whole.map_or(0, str::len))
        });
        self.files.apply(seq, &event, place);
        self.written.note(&event);
    }

    fn wants_whole(&self, kind: Kind) -> bool {
        // A link's target stands behind the head.
        kind == Kind::FsSymlink
    }
}

/// The event of a record, without the content that was not read.
fn event_of(record: &Record<'_>) -> Event {
    match record.whole.map(parse_record) {
        Some(Ok((line, _))) => decode_event(&line),
        _ => decode_event(&Line {
            head: record.head.clone(),
            ..Line::default()
        }),
    }
}
