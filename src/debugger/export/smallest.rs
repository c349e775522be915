//! The smallest set of files of a case, in the time that there is for it.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::{CaseMeans, ExportError, PreparedCase};
use crate::export::{Limits, MinimalError, minimal};
use crate::model::{Progress, Tell, Unit};

/// A try may take so long in any case.
const LEAST: Duration = Duration::from_secs(2);
/// So many times as long as the first one, on all files.
const TIMES: u32 = 10;

/// Leaves a case as few files, and lines of them, as are found by the time that is up; and the
/// later step whose files turn it green, if they do.
pub(super) fn smallest(
    prepared: &mut PreparedCase,
    means: &CaseMeans,
    tell: &mut Tell<'_>,
) -> Result<(), ExportError> {
    let number = prepared.step;
    let Some((config, budget)) = &means.tries else {
        return Err(ExportError::NowhereToRun(number));
    };
    let begun = Instant::now();
    let tell = RefCell::new(tell);
    let is_stopped = || {
        let progress = Progress {
            done: begun.elapsed().as_secs().min(budget.as_secs()),
            of: budget.as_secs(),
            unit: Unit::Seconds,
        };
        (tell.borrow_mut())(progress).is_break()
    };
    // How long the first try took, and when the one that goes on began.
    let (first, last) = (Cell::new(None), Cell::new(None));
    let begins = || {
        let now = Instant::now();
        if let (Some(last), None) = (last.replace(Some(now)), first.get()) {
            first.set(Some(now - last));
        }
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
        is_late: &is_late,
        is_over: &|| begun.elapsed() >= *budget,
        is_stopped: &is_stopped,
    };
    let (step, changed) = prepared.mended.take().unzip();
    let found = minimal(&prepared.case, changed.as_ref(), config, &limits);
    let (case, turns_green) = found.map_err(|error| match error {
        MinimalError::Workbench(error) => error.into(),
        error => ExportError::NotMinimal(number, error),
    })?;
    prepared.case = case;
    prepared.turns_green = step.filter(|_| turns_green);
    Ok(())
}
