//! A tape written again, smaller: the same events with the same numbers, their contents
//! compressed as well as they can be.
//!
//! The old tape is left alone. The new one is verified and compared with it event by event
//! before anybody is told that it is there.

mod history;
mod remark;
mod rewriter;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::scan::{Record, ScanEnd, ScanSink, scan};
use super::verify::verify;
use super::wire::v1::parent_value;
use super::{Tape, TapeBytes};
use crate::model::{
    Body, Event, Kind, LineHash, Problem, ProblemKind, Progress, Seq, StepNumber, Tell,
};
use history::Cut;
pub(super) use remark::CompactRemark;
use rewriter::Rewriter;

/// What compacting did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of the old tape.
    pub before: u64,
    /// Bytes of the new one.
    pub after: u64,
    /// Events of the new one.
    pub events: u32,
    /// The first event that was kept, where the history before it was dropped.
    pub kept_from: Option<Seq>,
    /// Bytes of a torn last line, which the new tape has not.
    pub torn: u64,
}

/// Why a tape was not compacted. No file was left behind.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// There is a file already.
    #[error("{0} exists; a new tape is never written over a file")]
    Exists(PathBuf),
    /// The old tape cannot be read, or the new one not be written.
    #[error("{path}: {source}")]
    Io {
        /// The new tape.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The history cannot be dropped there.
    #[error("the history cannot be dropped there: {0}")]
    KeepFrom(String),
    /// It is a fork, and what it shares is not to be written with it.
    #[error("a fork is written again only with what it shares")]
    Fork,
    /// It is a fork, and what it shares is not at hand.
    #[error("the fork's parent is not at hand, and with it what they share")]
    Alone,
    /// Whoever was told how far it had come broke it off.
    #[error("compacting was stopped")]
    Stopped,
    /// The new tape does not say what the old one says. That is a fault of this program.
    #[error("the compacted tape would differ from the old one: {0}; the old one is untouched")]
    Differs(String),
}

/// How to compact.
#[derive(Clone, Debug, Default)]
pub struct CompactOptions {
    /// Drops the events before this one, and puts a snapshot in their place. What a snapshot
    /// does not tell goes with them: files outside the workspace, and contents that something
    /// may have changed unseen.
    pub keep_from: Option<Seq>,
    /// Events that forks of the tape begin at: the new header tells the hashes that their
    /// lines had, which the forks name.
    pub fork_points: Vec<Seq>,
    /// A fork is written with what it shares: a tape that needs no other one.
    pub standalone: bool,
}

/// Writes a tape again to a new file at `path`, with mode 0600.
pub fn compact(
    tape: &Tape,
    path: &Path,
    options: &CompactOptions,
) -> Result<Compacted, CompactError> {
    compact_telling(tape, path, options, &mut |_| ControlFlow::Continue(()))
}

/// Writes a tape again, and tells how far that has come; a break leaves no file behind.
pub fn compact_telling(
    tape: &Tape,
    path: &Path,
    options: &CompactOptions,
    tell: &mut Tell<'_>,
) -> Result<Compacted, CompactError> {
    let failed = |source| io_error(path, source);
    let header = tape.header().map_err(failed)?;
    if header.parent.is_some() && !options.standalone {
        return Err(CompactError::Fork);
    }
    if header.parent.is_some() && !tape.bytes.is_stitched() {
        return Err(CompactError::Alone);
    }
    let cut = match options.keep_from {
        Some(seq) => {
            let cut = history::cut(tape, seq).map_err(failed)?;
            Some(cut.map_err(CompactError::KeepFrom)?)
        }
        None => None,
    };
    let kept_from = cut.as_ref().map(|cut| cut.from);
    let remark = remark(tape, cut.as_ref(), &options.fork_points).map_err(failed)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CompactError::Exists(path.to_owned()),
        _ => io_error(path, source),
    })?;
    let failed = |halt| match halt {
        Halt::Io(source) => io_error(path, source),
        Halt::Differs(how) => CompactError::Differs(how),
        Halt::Stopped => CompactError::Stopped,
    };
    let written = rewrite(tape, BufWriter::new(&file), cut, remark, tell);
    let checked = written.and_then(|()| {
        file.sync_all()?;
        compare(tape, TapeBytes::File(Arc::new(file)), kept_from, tell)
    });
    let checked = checked.map_err(failed);
    match checked {
        Ok(new) => Ok(Compacted {
            before: tape.end.offset,
            after: new.end.offset,
            events: new.index.events.len(),
            kept_from,
            torn: tape.end.torn,
        }),
        Err(error) => {
            // It is ours, it is new, and it is not what it should be.
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

fn io_error(path: &Path, source: io::Error) -> CompactError {
    CompactError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Why the work ends before it is done.
enum Halt {
    Io(io::Error),
    Differs(String),
    Stopped,
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What is done, in percent, when the tape is written again, when the old one and when the
/// new one is verified; comparing them is the rest.
const WRITTEN: u64 = 50;
const OLD_VERIFIED: u64 = 75;
const NEW_VERIFIED: u64 = 90;

/// Writes the lines of a tape again.
fn rewrite(
    tape: &Tape,
    out: impl Write,
    cut: Option<Cut>,
    remark: Option<Value>,
    tell: &mut Tell<'_>,
) -> Result<(), Halt> {
    let mut rewriter = Rewriter::new(tape, out, cut, remark)?;
    let mut telling = Telling {
        rewriter: &mut rewriter,
        tell,
        told: 0,
        of: tape.end.offset,
        is_stopped: false,
    };
    scan(&tape.bytes, ScanEnd::default(), &mut telling)?;
    if telling.is_stopped {
        return Err(Halt::Stopped);
    }
    match rewriter.failure.take() {
        Some(error) => Err(error.into()),
        None => Ok(rewriter.into_out().flush()?),
    }
}

/// A rewriter, and who is told how far it has come.
struct Telling<'a, 'b, W> {
    rewriter: &'a mut Rewriter<'b, W>,
    tell: &'a mut Tell<'a>,
    told: u64,
    of: u64,
    is_stopped: bool,
}

impl<W: Write> ScanSink for Telling<'_, '_, W> {
    fn line(&mut self, line: &[u8], at: ScanEnd) -> ControlFlow<()> {
        const STEP: u64 = 1 << 18;
        if at.offset >= self.told + STEP {
            self.told = at.offset;
            let progress = Progress::bytes(at.offset, self.of).within(0, WRITTEN);
            self.is_stopped = (self.tell)(progress).is_break();
        }
        if self.is_stopped {
            return ControlFlow::Break(());
        }
        self.rewriter.line(line, at)
    }

    fn record(&mut self, record: Record<'_>) -> ControlFlow<()> {
        self.rewriter.record(record)
    }

    fn problem(&mut self, problem: Problem) {
        self.rewriter.problem(problem);
    }

    fn wants_whole(&self, kind: Kind) -> bool {
        self.rewriter.wants_whole(kind)
    }
}

/// What the header says of this and earlier compacting.
pub(super) fn remark(
    tape: &Tape,
    cut: Option<&Cut>,
    fork_points: &[Seq],
) -> io::Result<Option<Value>> {
    let parent = tape.header()?.parent;
    if cut.is_none() && fork_points.is_empty() && parent.is_none() {
        return Ok(None);
    }
    let header = tape.event(0)?;
    let known = header.extra.get("compacted").and_then(Value::as_object);
    let mut remark = known.cloned().unwrap_or_default();
    if let Some(parent) = &parent {
        remark.insert("parent".to_owned(), parent_value(parent));
        if let Some(dropped) = tape.bytes.dropped().filter(|dropped| dropped.kept_from > 0) {
            remark.insert("kept_from".to_owned(), dropped.kept_from.into());
            remark.insert("steps".to_owned(), dropped.steps.into());
        }
    }
    if let Some(cut) = cut {
        remark.insert("kept_from".to_owned(), cut.from.0.into());
        remark.insert("steps".to_owned(), cut.steps.into());
    }
    let mut lines = match remark.remove("lines") {
        Some(Value::Object(lines)) => lines,
        _ => Map::new(),
    };
    for seq in fork_points {
        if let Some(position) = tape.index.events.position(*seq) {
            let hash = LineHash::of(&tape.record(position)?).to_string();
            lines.entry(seq.to_string()).or_insert(hash.into());
        }
    }
    if !lines.is_empty() {
        remark.insert("lines".to_owned(), lines.into());
    }
    Ok(Some(remark.into()))
}

/// Events that are compared between two words about it.
const COMPARED: u32 = 1024;

/// Verifies the new tape and compares it with the old one.
fn compare(
    old: &Tape,
    bytes: TapeBytes,
    kept_from: Option<Seq>,
    tell: &mut Tell<'_>,
) -> Result<Tape, Halt> {
    let of = old.end.offset;
    // The new tape is shorter; how far this has come is told in bytes of the old one.
    let mut tell = |progress: Progress, from: u64, to: u64| {
        let done = u128::from(of) * u128::from(progress.done) / u128::from(progress.of.max(1));
        tell(Progress::bytes(done as u64, of).within(from, to))
    };
    let mut check = |bytes: &TapeBytes, from: u64, to: u64| {
        let found = verify(bytes.clone(), &mut |progress| tell(progress, from, to))?;
        found.is_complete.then_some(found).ok_or(Halt::Stopped)
    };
    let before = count(&check(&old.bytes, WRITTEN, OLD_VERIFIED)?.problems);
    let after = check(&bytes, OLD_VERIFIED, NEW_VERIFIED)?;
    for (kind, count) in count(&after.problems) {
        // The chain is a new one; only lines that were carried over as they stood break it.
        if kind != ProblemKind::BrokenChain
            && count > before.get(&kind).copied().unwrap_or_default()
        {
            let first = after.problems.iter().find(|problem| problem.kind == kind);
            let first = first.map(ToString::to_string).unwrap_or_default();
            return Err(Halt::Differs(format!("{}, {first}", kind.as_str())));
        }
    }
    let new = Tape::read(bytes, &mut ())?;
    let first = |tape: &Tape| match kept_from {
        Some(seq) => tape.index.events.position(seq),
        None => Some(0),
    };
    let (Some(first_old), Some(first_new)) = (first(old), first(&new)) else {
        let what = "the first event that was kept".to_owned();
        return Err(Halt::Differs(what));
    };
    let count = |tape: &Tape, first: u32| tape.index.events.len().saturating_sub(first);
    let (was, is) = (count(old, first_old), count(&new, first_new));
    if was != is {
        return Err(Halt::Differs(format!("{is} events in place of {was}")));
    }
    for ahead in 0..is {
        let (done, of) = (u64::from(ahead), u64::from(is));
        if ahead % COMPARED == 0 && tell(Progress::bytes(done, of), NEW_VERIFIED, 100).is_break() {
            return Err(Halt::Stopped);
        }
        let (before, after) = (first_old + ahead, first_new + ahead);
        let seq = old.index.events.seq(before);
        let is_there = new.index.events.seq(after) == seq && step(old, before) == step(&new, after);
        if !is_there || !is_same(&old.event(before)?, &new.event(after)?) {
            return Err(Halt::Differs(format!("event {seq}")));
        }
    }
    Ok(new)
}

/// The number of an event's step.
pub(super) fn step(tape: &Tape, position: u32) -> Option<StepNumber> {
    let step = tape.index.events.get(position)?.step?;
    tape.index.number_of(step)
}

/// Whether two events say the same. The new one may have the time of the event before, where
/// the old one had none.
fn is_same(old: &Event, new: &Event) -> bool {
    let mut new = new.clone();
    let mut old = old.clone();
    if old.head.t.is_none() {
        new.head.t = None;
    }
    // The new header may say what was done, and a snapshot may hold what dropped ones held.
    for event in [&mut old, &mut new] {
        event.extra.remove("compacted");
        if let Body::Snapshot { directories, .. } = &mut event.body {
            directories.clear();
        }
        // It is whole by now.
        if let Body::Tape(header) = &mut event.body {
            header.parent = None;
        }
    }
    old == new
}

pub(super) fn count(problems: &[Problem]) -> BTreeMap<ProblemKind, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.kind).or_insert(0) += 1;
    }
    counts
}
