//! What is asked of two runs at once, or of the one on the right.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::answer::{detail, safe};
use super::runs::Runs;
use crate::debugger::{Debugger, RunSource, Source, Spot};
use crate::model::Place;
use crate::tui::difference::OpenDiff;
use crate::tui::job::{Answer, Answered, Changes, Counterpart, Job, SharedRun};

/// Answers a job that needs the run on the right. `None` for the others, where there is no
/// such run any more, and when nobody waits for the answer.
pub(super) fn answer(runs: &Runs, job: &Job, is_cancelled: &dyn Fn() -> bool) -> Option<Answer> {
    match job {
        Job::OpenRight(typed) => return Some(Answer::RightOpened(open(runs, typed))),
        Job::CloseRight => {
            runs.set_right(None);
            return None;
        }
        _ => {}
    }
    let right = runs.right()?;
    let left = runs.left.read().unwrap_or_else(PoisonError::into_inner);
    let right = right.read().unwrap_or_else(PoisonError::into_inner);
    let spot_of = |of: &Counterpart| right.spot(of.branch, of.step);
    Some(match job {
        Job::RightSummary => Answer::RightSummary(Box::new(right.summary())),
        Job::Align { branches } => {
            let (of_left, of_right) = (end_of(&left, branches.0), end_of(&right, branches.1));
            let alignment = left.align(of_left, (&right, of_right), is_cancelled)?;
            Answer::Aligned(Arc::new(alignment))
        }
        Job::RightTimeline { branch, steps } => {
            Answer::RightTimeline(right.timeline(*branch, steps.clone()))
        }
        Job::RightDetail { of, columns } => Answer::Detail(detail(&right, spot_of(of), *columns)),
        Job::ChangesAgainst { at, of } => Answer::Changes(Changes {
            from: *at,
            list: Arc::new(left.changes_against(at.cursor, (&right, spot_of(of).cursor))),
        }),
        Job::TreeAgainst {
            at,
            of,
            changes,
            expanded,
            in_view,
        } => {
            let right = (&*right, spot_of(of).cursor);
            Answer::Tree(left.tree_against(at.cursor, right, changes, expanded, in_view))
        }
        Job::DiffAgainst { at, of, change } => {
            let view = left.diff_against(*at, (&right, spot_of(of).cursor), change);
            Answer::Diff(Ok(Box::new(OpenDiff::of(view))))
        }
        Job::StepAgainst { at, of } => {
            let difference = left.step_difference(*at, (&right, spot_of(of)));
            Answer::Diff(
                difference
                    .map(|view| Box::new(OpenDiff::of(view)))
                    .map_err(safe),
            )
        }
        _ => return None,
    })
}

fn end_of(run: &Debugger, branch: u16) -> Spot {
    run.spot(branch, crate::model::StepNumber(u32::MAX))
}

/// Opens the run in a file.
pub(super) fn open_file(runs: &Runs, path: &Path) -> Answered<()> {
    let left = runs.left.read().unwrap_or_else(PoisonError::into_inner);
    let places = left.places().clone();
    drop(left);
    let run = places.open(&RunSource::File(path.to_owned()));
    runs.set_right(Some(Arc::new(RwLock::new(run.map_err(safe)?))));
    Ok(())
}

/// Opens what was typed: another run, or `@b2:end` for another branch of the one that is
/// shown. The name of the branch that is meant comes back, if one was named.
fn open(runs: &Runs, typed: &str) -> Answered<Option<String>> {
    let (right, place): (SharedRun, Place) = if typed.starts_with('@') {
        (Arc::clone(&runs.left), typed.parse().map_err(safe)?)
    } else {
        let exists = |path: &str| Path::new(path).exists();
        let (path, place) = Place::split(typed, exists).map_err(safe)?;
        let left = runs.left.read().unwrap_or_else(PoisonError::into_inner);
        let run = left.open_other(Source::Path(PathBuf::from(path)));
        (Arc::new(RwLock::new(run.map_err(safe)?)), place)
    };
    {
        let right = right.read().unwrap_or_else(PoisonError::into_inner);
        right.locate(&place).map_err(safe)?;
    }
    runs.set_right(Some(right));
    Ok(place.branch)
}
