//! A tape written again, smaller: the same events with the same numbers, their contents
//! compressed as well as they can be.
//!
//! The old tape is left alone. The new one is verified and compared with it event by event
//! before anybody is told that it is there.

mod rewriter;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scan::{ScanEnd, scan};
use super::verify::verify;
use super::{Tape, TapeBytes};
use crate::model::{Event, Problem, ProblemKind};
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
    /// The new tape does not say what the old one says. That is a fault of this program.
    #[error("the compacted tape would differ from the old one: {0}; the old one is untouched")]
    Differs(String),
}

/// Writes a tape again to a new file at `path`, with mode 0600.
pub fn compact(tape: &Tape, path: &Path) -> Result<Compacted, CompactError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CompactError::Exists(path.to_owned()),
        _ => io_error(path, source),
    })?;
    let written = rewrite(tape, BufWriter::new(&file))
        .and_then(|()| file.sync_all())
        .map_err(|source| io_error(path, source));
    let checked = written.and_then(|()| {
        let bytes = TapeBytes::File(Arc::new(file));
        let new = compare(tape, bytes).map_err(|source| io_error(path, source))?;
        new.map_err(CompactError::Differs)
    });
    match checked {
        Ok(new) => Ok(Compacted {
            before: tape.end.offset,
            after: new.end.offset,
            events: new.index.events.len(),
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
fn rewrite(tape: &Tape, out: impl Write) -> io::Result<()> {
    let mut rewriter = Rewriter::new(tape, out)?;
    scan(&tape.bytes, ScanEnd::default(), &mut rewriter)?;
    match rewriter.failure.take() {
        Some(error) => Err(error),
        None => rewriter.into_out().flush(),
    }
}

/// Verifies the new tape and compares it with the old one: the new one, or how it differs.
fn compare(old: &Tape, bytes: TapeBytes) -> io::Result<Result<Tape, String>> {
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
    if new.index.events.len() != old.index.events.len() {
        let (new, old) = (new.index.events.len(), old.index.events.len());
        return Ok(Err(format!("{new} events in place of {old}")));
    }
    for position in 0..new.index.events.len() {
        let (seq, other) = (
            new.index.events.seq(position),
            old.index.events.seq(position),
        );
        let (told, tells) = (old.event(position)?, new.event(position)?);
        if seq != other || !is_same(&told, &tells) {
            return Ok(Err(format!("event {seq}")));
        }
    }
    Ok(Ok(new))
}

/// Whether two events say the same. The new one may have the time of the event before, where
/// the old one had none.
fn is_same(old: &Event, new: &Event) -> bool {
    let mut new = new.clone();
    if old.head.t.is_none() {
        new.head.t = None;
    }
    *old == new
}

fn count(problems: &[Problem]) -> BTreeMap<ProblemKind, usize> {
    let mut counts = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem.kind).or_insert(0) += 1;
    }
    counts
}
