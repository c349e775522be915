//! Test cases, made again several at a time.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::LeafRow;
use super::compare::row_of_leaf;
use crate::export::{CaseVerdict, OverlayError, cases_at, check, lay, overlay, read, slug};
use crate::model::{Progress, Tell, Unit};
use crate::replay::workbench::{WorkbenchConfig, WorkbenchError};
use crate::text::SafeText;

pub use crate::export::CaseError;

/// Between two looks whether somebody wants to stop.
const PACE: Duration = Duration::from_millis(50);

/// How cases are made again.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// The cases, or directories that hold some.
    pub places: Vec<PathBuf>,
    /// Sources that are laid over the files of each.
    pub with: Option<PathBuf>,
    /// How many at a time.
    pub jobs: usize,
    /// What the calls are answered with.
    pub workbench: WorkbenchConfig,
}

/// What came of a case.
#[derive(Clone, Debug)]
pub struct CaseRow {
    /// Its name, a slug.
    pub name: String,
    /// Where it lies.
    pub directory: PathBuf,
    /// What came of it.
    pub standing: CaseStanding,
    /// What was not known when it was made.
    pub doubts: Vec<SafeText>,
}

/// What came of a case, in words that are safe to show.
#[derive(Clone, Debug)]
pub enum CaseStanding {
    /// It failed as it did.
    Reproduces,
    /// It succeeded.
    Fixed,
    /// It failed, and not as it did: what was recorded stands on the left.
    Changed(Vec<LeafRow>),
    /// Nothing can be said, and why.
    Inconclusive(SafeText),
}

impl CaseStanding {
    /// The fixed word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Reproduces => "reproduces",
            Self::Fixed => "fixed",
            Self::Changed(_) => "changed",
            Self::Inconclusive(_) => "inconclusive",
        }
    }
}

impl From<CaseVerdict> for CaseStanding {
    fn from(verdict: CaseVerdict) -> Self {
        match verdict {
            CaseVerdict::Reproduces => Self::Reproduces,
            CaseVerdict::Fixed => Self::Fixed,
            CaseVerdict::Changed(leaves) => {
                Self::Changed(leaves.into_iter().map(row_of_leaf).collect())
            }
            CaseVerdict::Inconclusive(why) => Self::Inconclusive(SafeText::line(&why)),
        }
    }
}

/// Cases could not be made again.
#[derive(Debug, thiserror::Error)]
pub enum TestCasesError {
    /// One cannot be read.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The sources cannot be read.
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    /// The machine does not allow it, or whoever waits does not want to any more.
    #[error(transparent)]
    Workbench(#[from] WorkbenchError),
}

type Done = (usize, Result<CaseRow, TestCasesError>);

/// Makes cases again. The rows stand in the order in which the cases were named. Of several, one
/// that cannot be read is inconclusive.
pub fn test_cases(
    options: &TestOptions,
    tell: &mut Tell<'_>,
) -> Result<Vec<CaseRow>, TestCasesError> {
    let mut places = Vec::new();
    for place in &options.places {
        places.extend(cases_at(place)?);
    }
    let over = options.with.as_deref().map(overlay).transpose()?;
    let over = over.unwrap_or_default();
    let queue: Mutex<VecDeque<(usize, &Path)>> =
        Mutex::new(places.iter().map(PathBuf::as_path).enumerate().collect());
    let is_stopped = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel::<Done>();
    let is_alone = places.len() == 1;
    let one = |place: &Path| {
        let mut case = match read(place) {
            Ok(case) => case,
            // The others are what was asked for, too.
            Err(error) if !is_alone => return Ok(unreadable(place, &error)),
            Err(error) => return Err(error.into()),
        };
        lay(&mut case.files, &over);
        let stopped = || is_stopped.load(Ordering::Relaxed);
        let checked = check(&case, &options.workbench, &stopped)?;
        Ok(CaseRow {
            name: case.name,
            directory: place.to_owned(),
            standing: checked.verdict.into(),
            doubts: case.doubts.iter().map(|it| SafeText::line(it)).collect(),
        })
    };
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    };
    let mut found = thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, places.len().max(1)) {
            let sender = sender.clone();
            let (one, next, is_stopped) = (&one, &next, &is_stopped);
            scope.spawn(move || {
                while let Some((number, place)) = next() {
                    let done = one(place);
                    if done.is_err() {
                        // Nobody asks for the others any more.
                        is_stopped.store(true, Ordering::Relaxed);
                    }
                    let is_over = sender.send((number, done)).is_err();
                    if is_over || is_stopped.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        drop(sender);
        gather(&receiver, places.len(), &is_stopped, tell)
    })?;
    found.sort_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

/// A case of several that cannot be read.
fn unreadable(place: &Path, error: &CaseError) -> CaseRow {
    let name = place.file_name().unwrap_or_default();
    CaseRow {
        name: slug(&name.to_string_lossy()),
        directory: place.to_owned(),
        standing: CaseStanding::Inconclusive(SafeText::line(&error.to_string())),
        doubts: Vec::new(),
    }
}

/// Collects what comes of the cases, and tells how far it has come.
fn gather(
    receiver: &mpsc::Receiver<Done>,
    of: usize,
    is_stopped: &AtomicBool,
    tell: &mut Tell<'_>,
) -> Result<Vec<(usize, CaseRow)>, TestCasesError> {
    let mut found = Vec::new();
    let mut failure = None;
    loop {
        let progress = Progress {
            done: found.len() as u64,
            of: of as u64,
            unit: Unit::Cases,
        };
        if tell(progress) == ControlFlow::Break(()) {
            is_stopped.store(true, Ordering::Relaxed);
        }
        match receiver.recv_timeout(PACE) {
            Ok((number, Ok(row))) => found.push((number, row)),
            // The first one is the reason; others only heard that it is over.
            Ok((_, Err(error))) => {
                failure.get_or_insert(error);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None if found.len() < of => Err(WorkbenchError::Stopped.into()),
        None => Ok(found),
    }
}
