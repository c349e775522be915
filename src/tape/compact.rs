//! A tape written again, smaller: the same events with the same numbers, their contents
//! compressed as well as they can be.
//!
//! The old tape is left alone. The new one is verified and compared with it event by event
//! before anybody is told that it is there.

mod history;
mod rewriter;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::scan::{ScanEnd, scan};
use super::verify::verify;
use super::{Tape, TapeBytes};
use crate::model::{Body, Event, LineHash, Problem, ProblemKind, Seq, StepNumber};
use history::Cut;
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
}

/// Writes a tape again to a new file at `path`, with mode 0600.
pub fn compact(
    tape: &Tape,
    path: &Path,
    options: &CompactOptions,
) -> Result<Compacted, CompactError> {
    let failed = |source| io_error(path, source);
    let header = tape.header().map_err(failed)?;
    let cut = match options.keep_from {
        Some(_) if header.parent.is_some() => {
            let why = "a fork's tape does not hold its whole history".to_owned();
            return Err(CompactError::KeepFrom(why));
        }
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
    let written = rewrite(tape, BufWriter::new(&file), cut, remark)
        .and_then(|()| file.sync_all())
        .map_err(|source| io_error(path, source));
    let checked = written.and_then(|()| {
        let bytes = TapeBytes::File(Arc::new(file));
        let new = compare(tape, bytes, kept_from).map_err(|source| io_error(path, source))?;
        new.map_err(CompactError::Differs)
    });
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

/// Writes the lines of a tape again.
fn rewrite(
    tape: &Tape,
    out: impl Write,
    cut: Option<Cut>,
    remark: Option<Value>,
) -> io::Result<()> {
    let mut rewriter = Rewriter::new(tape, out, cut, remark)?;
    scan(&tape.bytes, ScanEnd::default(), &mut rewriter)?;
    match rewriter.failure.take() {
        Some(error) => Err(error),
        None => rewriter.into_out().flush(),
    }
}

/// What the header says of this and earlier compacting.
fn remark(tape: &Tape, cut: Option<&Cut>, fork_points: &[Seq]) -> io::Result<Option<Value>> {
    if cut.is_none() && fork_points.is_empty() {
        return Ok(None);
    }
    let header = tape.event(0)?;
    let known = header.extra.get("compacted").and_then(Value::as_object);
    let mut remark = known.cloned().unwrap_or_default();
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

/// Verifies the new tape and compares it with the old one: the new one, or how it differs.
fn compare(
    old: &Tape,
    bytes: TapeBytes,
    kept_from: Option<Seq>,
) -> io::Result<Result<Tape, String>> {
    let go_on = &mut |_| ControlFlow::Continue(());
    let before = count(&verify(old.bytes.clone(), go_on)?.problems);
    let after = verify(bytes.clone(), go_on)?;
    for (kind, count) in count(&after.problems) {
        // The chain is a new one; only lines that were carried over as they stood break it.
        if kind != ProblemKind::BrokenChain
            && count > before.get(&kind).copied().unwrap_or_default()
        {
            let first = after.problems.iter().find(|problem| problem.kind == kind);
            let first = first.map(ToString::to_string).unwrap_or_default();
            return Ok(Err(format!("{}, {first}", kind.as_str())));
        }
    }
    let new = Tape::read(bytes, &mut ())?;
    let first = |tape: &Tape| match kept_from {
        Some(seq) => tape.index.events.position(seq),
        None => Some(0),
    };
    let (Some(first_old), Some(first_new)) = (first(old), first(&new)) else {
        return Ok(Err("the first event that was kept".to_owned()));
    };
    let count = |tape: &Tape, first: u32| tape.index.events.len().saturating_sub(first);
    let (was, is) = (count(old, first_old), count(&new, first_new));
    if was != is {
        return Ok(Err(format!("{is} events in place of {was}")));
    }
    for ahead in 0..is {
        let (before, after) = (first_old + ahead, first_new + ahead);
        let seq = old.index.events.seq(before);
        let is_there = new.index.events.seq(after) == seq && step(old, before) == step(&new, after);
        if !is_there || !is_same(&old.event(before)?, &new.event(after)?) {
            return Ok(Err(format!("event {seq}")));
        }
    }
    Ok(Ok(new))
}

/// The number of an event's step.
fn step(tape: &Tape, position: u32) -> Option<StepNumber> {
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
    }
    old == new
}

fn count(problems: &[Problem]) -> BTreeMap<ProblemKind, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.kind).or_insert(0) += 1;
    }
    counts
}
