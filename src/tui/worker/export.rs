//! What is asked about a test case of a step, the search for fewer files, and the writing.
//!
//! The run is read while it is found out what a case would hold; for the rest, nobody reads it.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, RwLockReadGuard};
use std::time::{Duration, Instant};

use super::TOLD;
use super::answer::{Patience, safe};
use super::runs::Runs;
use crate::debugger::{
    CaseForm, CaseMeans, Debugger, Direction, ExportError, ExportedCase, Spot, Uncertain,
    WhileShrinking,
};
use crate::model::{Progress, Tell};
use crate::text::SafeText;
use crate::tui::job::{CaseOffered, ExportAnswer, ExportJob, Keep, NoCase, Prepared};

/// Below this directory a case goes if nobody says otherwise: where the program was started.
const HERE: &str = ".";

/// Does the job and gives the answer to `reply`.
pub(super) fn answer<'a>(
    runs: &Runs,
    read: &dyn Fn() -> RwLockReadGuard<'a, Debugger>,
    job: &ExportJob,
    patience: Patience<'_>,
    reply: &mut dyn FnMut(ExportAnswer),
) {
    let go_on = || {
        if (patience.is_cancelled)() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    match job {
        ExportJob::Prepare { at, keep } => {
            let prepared = prepare((runs, &read()), (*at, keep), &mut |_| go_on());
            reply(ExportAnswer::Prepared(prepared.map(Arc::new)));
        }
        ExportJob::Shrink { offered, budget } => {
            let shrunk = shrink(runs, (offered, *budget), patience, reply);
            reply(ExportAnswer::Shrunk(shrunk.map(Arc::new)));
        }
        ExportJob::Write {
            offered,
            form,
            uncertain,
            directory,
        } => {
            let mut told = Instant::now();
            let written = {
                let mut tell = |progress| {
                    if told.elapsed() >= TOLD {
                        told = Instant::now();
                        reply(ExportAnswer::Wrote(progress));
                    }
                    go_on()
                };
                write(offered, (*form, *uncertain), directory, &mut tell)
            };
            let written = written.map_err(safe);
            reply(ExportAnswer::Written(written.map(Box::new)));
        }
        ExportJob::Enough | ExportJob::Stop => {}
    }
}

/// Makes what is to be kept of a step ready.
fn prepare(
    (runs, run): (&Runs, &Debugger),
    (at, keep): (Spot, &Keep),
    tell: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<CaseOffered, NoCase> {
    let none = |why: &dyn Display| NoCase {
        why: safe(why),
        has_evaluation: run.has_evaluation(at),
        is_call: run.is_call(at),
        next: run.next_failure(at, Direction::Forward).map(|it| it.step),
        before: run.next_failure(at, Direction::Back).map(|it| it.step),
    };
    let root = run.header().root.as_deref().map(Path::new);
    let redactor = runs.ground.as_ref().map(|it| it.secrets.redactor(root));
    let means = CaseMeans {
        redactor: redactor.transpose().map_err(|error| none(&error))?,
        check: match keep {
            Keep::Checked(_, typed) => Some(run.predicate(typed).map_err(|error| none(&error))?),
            Keep::Call(_) | Keep::Turn => None,
        },
        tries: None,
    };
    let offered = match keep {
        Keep::Call(files) | Keep::Checked(files, _) => {
            let case = run.prepare_case(at, *files, &means, tell);
            case.map(|case| {
                let (directory, offer) = (case.free_directory(Path::new(HERE)), case.offer());
                let prepared = Prepared::Case(Box::new(case), offer);
                CaseOffered {
                    prepared,
                    directory,
                }
            })
        }
        Keep::Turn => {
            let turn = run.prepare_evaluation(at, &means);
            turn.map(|turn| {
                let (directory, offer) = (turn.free_directory(Path::new(HERE)), turn.offer());
                let prepared = Prepared::Evaluation(turn, offer);
                CaseOffered {
                    prepared,
                    directory,
                }
            })
        }
    };
    offered.map_err(|error| none(&error))
}

/// The case with as few files as are found, by the time that is up or until that is enough.
fn shrink(
    runs: &Runs,
    (offered, budget): (&CaseOffered, Duration),
    patience: Patience<'_>,
    reply: &mut dyn FnMut(ExportAnswer),
) -> Result<CaseOffered, SafeText> {
    let Prepared::Case(case, _) = &offered.prepared else {
        return Err(SafeText::literal("an evaluation holds no files"));
    };
    let Some(ground) = &runs.ground else {
        let why = "the program's own file cannot be found; is /proc mounted?";
        return Err(SafeText::literal(why));
    };
    let mut case = case.clone();
    let mut told = None::<Instant>;
    let mut ask = |shrinking| {
        if told.is_none_or(|told| told.elapsed() >= TOLD) {
            told = Some(Instant::now());
            reply(ExportAnswer::Shrinks(shrinking));
        }
        if (patience.is_cancelled)() {
            WhileShrinking::Stop
        } else if (patience.is_enough)() {
            WhileShrinking::Enough
        } else {
            WhileShrinking::GoOn
        }
    };
    case.shrink((&ground.workbench, budget), &mut ask)
        .map_err(safe)?;
    let offer = case.offer();
    Ok(CaseOffered {
        prepared: Prepared::Case(case, offer),
        directory: offered.directory.clone(),
    })
}

fn write(
    offered: &CaseOffered,
    how: (CaseForm, Uncertain),
    directory: &Path,
    tell: &mut Tell<'_>,
) -> Result<ExportedCase, ExportError> {
    match &offered.prepared {
        Prepared::Case(case, _) => case.write(how, directory, tell),
        Prepared::Evaluation(turn, _) => turn.write(directory),
    }
}
