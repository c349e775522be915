//! The smallest set of files of a case, in the time that there is for it; and what was left out.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::prepared::size_of_all;
use super::{ExportError, PreparedCase};
use crate::export::{Cut, Kept, Limits, MinimalError, minimal};
use crate::model::{Progress, StepNumber, Unit};
use crate::replay::workbench::WorkbenchConfig;
use crate::text::{SafeText, human};

/// A try may take so long in any case.
const LEAST: Duration = Duration::from_secs(2);
/// So many times as long as the first one, on all files.
const TIMES: u32 = 10;

/// How far the search for the smallest set of files is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrinking {
    /// How often the command was run.
    pub tries: u32,
    /// How many files and links are left by now.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// How long it takes so far.
    pub elapsed: Duration,
    /// How long it may take.
    pub budget: Duration,
}

impl Shrinking {
    /// The seconds of those that there are for it.
    pub fn progress(&self) -> Progress {
        let of = self.budget.as_secs();
        Progress {
            done: self.elapsed.as_secs().min(of),
            of,
            unit: Unit::Seconds,
        }
    }
}

/// What whoever waits for the smallest set of files wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhileShrinking {
    /// That it goes on.
    GoOn,
    /// The smallest set so far, if it fails twice more.
    Enough,
    /// Nothing any more.
    Stop,
}

/// What was left out of a smallest set of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseCut {
    /// Nothing more can be left out.
    pub is_least: bool,
    /// The later step in which the same call went well: it still does, on what is left, with
    /// the files as they had become by then.
    pub turns_green: Option<StepNumber>,
    /// The files that are gone, or shorter.
    pub files: Vec<(SafeText, Kept)>,
}

/// A file that is gone or shorter, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutRow {
    /// How many lines are gone.
    pub less: SafeText,
    /// The file.
    pub path: SafeText,
    /// How much of it is left, if anything is.
    pub left: Option<SafeText>,
}

impl CaseCut {
    pub(super) fn new(cut: &Cut, turns_green: Option<StepNumber>) -> Self {
        let files = cut.files.iter();
        let files = files.map(|(path, kept)| (SafeText::line(&path.to_text()), *kept));
        Self {
            is_least: cut.is_least,
            turns_green,
            files: files.collect(),
        }
    }

    /// The files, in words.
    pub fn rows(&self) -> impl Iterator<Item = CutRow> + '_ {
        self.files.iter().map(|(path, kept)| {
            let (less, left) = match kept {
                Kept::Nothing { lines: Some(lines) } => (format!("-{lines}"), None),
                Kept::Nothing { lines: None } => ("-".to_owned(), None),
                Kept::Lines { kept, of } => {
                    let lines = human::plural(*kept as u64, "line", "lines");
                    (format!("-{}", of - kept), Some(format!("{lines} left")))
                }
            };
            CutRow {
                less: SafeText::line(&less),
                path: path.clone(),
                left: left.map(|left| SafeText::line(&left)),
            }
        })
    }

    /// Whether the call still succeeds with later files, in words.
    pub fn green_in_words(&self) -> Option<SafeText> {
        let step = self.turns_green?;
        let line = format!("with the files of step {step} the call still succeeds");
        Some(SafeText::line(&line))
    }
}

impl PreparedCase {
    /// Leaves as few files, and lines of them, as are found by the time that is up, or until
    /// `ask` has enough. Runs the command in the sandbox, many times. Nothing is changed where
    /// it fails.
    pub fn shrink(
        &mut self,
        (config, budget): (&WorkbenchConfig, Duration),
        ask: &mut dyn FnMut(Shrinking) -> WhileShrinking,
    ) -> Result<(), ExportError> {
        let number = self.step;
        let begun = Instant::now();
        let (files, bytes) = size_of_all(&self.case.files);
        let shrinking = Cell::new(Shrinking {
            tries: 0,
            files,
            bytes,
            elapsed: Duration::ZERO,
            budget,
        });
        let (ask, wanted) = (RefCell::new(ask), Cell::new(WhileShrinking::GoOn));
        let look = || {
            let elapsed = begun.elapsed();
            let now = (ask.borrow_mut())(Shrinking {
                elapsed,
                ..shrinking.get()
            });
            // Who had enough waits for what there is, however long that takes.
            if now != WhileShrinking::GoOn {
                wanted.set(now);
            }
        };
        // How long the first try took, and when the one that goes on began.
        let (first, last) = (Cell::new(None), Cell::new(None));
        let begins = || {
            let now = Instant::now();
            if let (Some(last), None) = (last.replace(Some(now)), first.get()) {
                first.set(Some(now - last));
            }
            let told = shrinking.get();
            let tries = told.tries + 1;
            shrinking.set(Shrinking { tries, ..told });
        };
        let is_late = || {
            let allowed = first.get().map(|first| LEAST.max(first * TIMES));
            let taken = last.get().map(|last: Instant| last.elapsed());
            taken
                .zip(allowed)
                .is_some_and(|(taken, allowed)| taken > allowed)
        };
        let limits = Limits {
            begins: &begins,
            holds: &|left| {
                let (files, bytes) = size_of_all(left);
                shrinking.set(Shrinking {
                    files,
                    bytes,
                    ..shrinking.get()
                });
            },
            is_late: &is_late,
            is_over: &|| wanted.get() == WhileShrinking::Enough || begun.elapsed() >= budget,
            is_stopped: &|| {
                look();
                wanted.get() == WhileShrinking::Stop
            },
        };
        let (step, changed) = self
            .mended
            .as_ref()
            .map(|(step, changed)| (*step, changed))
            .unzip();
        let found = minimal(&self.case, changed, config, &limits);
        let (case, turns_green) = found.map_err(|error| match error {
            MinimalError::Workbench(error) => error.into(),
            error => ExportError::NotMinimal(number, error),
        })?;
        self.case = case;
        self.turns_green = step.filter(|_| turns_green);
        Ok(())
    }
}
