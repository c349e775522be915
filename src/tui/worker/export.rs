//! What is asked about a test case of a step, and the writing of one.
//!
//! The run is read while it is found out what a case would hold; to write that, nobody reads it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, RwLockReadGuard};
use std::time::Instant;

use super::TOLD;
use super::answer::safe;
use crate::debugger::{CaseFiles, Debugger, Direction, Spot};
use crate::model::Progress;
use crate::tui::job::{CaseOffered, ExportAnswer, ExportJob, NoCase};

/// Below this directory a case goes if nobody says otherwise: where the program was started.
const HERE: &str = ".";

/// Does the job and gives the answer to `reply`.
pub(super) fn answer<'a>(
    read: &dyn Fn() -> RwLockReadGuard<'a, Debugger>,
    job: &ExportJob,
    is_cancelled: &dyn Fn() -> bool,
    reply: &mut dyn FnMut(ExportAnswer),
) {
    let go_on = || {
        if is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    match job {
        ExportJob::Prepare { at, files } => {
            let prepared = prepare(&read(), (*at, *files), &mut |_| go_on());
            reply(ExportAnswer::Prepared(prepared.map(Arc::new)));
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
                offered
                    .case
                    .write((*form, *uncertain), directory, &mut tell)
            };
            let written = written.map_err(safe);
            reply(ExportAnswer::Written(written.map(Box::new)));
        }
        ExportJob::Stop => {}
    }
}

fn prepare(
    run: &Debugger,
    (at, files): (Spot, CaseFiles),
    tell: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<CaseOffered, NoCase> {
    let case = run.prepare_case(at, files, tell).map_err(|error| NoCase {
        why: safe(error),
        next: run.next_failure(at, Direction::Forward).map(|it| it.step),
        before: run.next_failure(at, Direction::Back).map(|it| it.step),
    })?;
    Ok(CaseOffered {
        offer: case.offer(),
        directory: case.free_directory(Path::new(HERE)),
        case,
    })
}
