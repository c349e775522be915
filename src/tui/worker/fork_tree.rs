//! What is asked about the forks of the run, and the renaming and deleting of one.
//!
//! The run is held as long as it takes to look into its index, and not while directories are
//! searched: it may grow meanwhile.

use std::path::Path;
use std::sync::RwLockReadGuard;

use super::against;
use super::answer::safe;
use super::runs::Runs;
use crate::debugger::{Debugger, Places, RunSource};
use crate::text::SafeText;
use crate::tui::job::{Answered, ForkTreeAnswer, ForkTreeJob};

/// Does the job and gives the answer to `reply`.
pub(super) fn answer<'a>(
    runs: &Runs,
    read: &dyn Fn() -> RwLockReadGuard<'a, Debugger>,
    job: &ForkTreeJob,
    is_cancelled: &dyn Fn() -> bool,
    reply: &mut dyn FnMut(ForkTreeAnswer),
) {
    let search = || read().fork_search();
    let places = || read().places().clone();
    match job {
        ForkTreeJob::Points { branch } => {
            let points = search().points();
            reply(ForkTreeAnswer::Points(read().forks_on(*branch, &points)));
        }
        ForkTreeJob::Tree => {
            let rows = search().forks();
            reply(ForkTreeAnswer::Tree(rows.clone()));
            for row in rows
                .iter()
                .filter(|row| row.seq.is_some() && row.is_there())
            {
                let account = match row.account(is_cancelled) {
                    Ok(Some(account)) => Ok(account),
                    Ok(None) => return,
                    Err(error) => Err(safe(error)),
                };
                let id = row.id.clone();
                reply(ForkTreeAnswer::Account { id, account });
            }
        }
        ForkTreeJob::Stop => {}
        ForkTreeJob::Rename { id, path, name } => {
            let renamed = fork_at(&places(), path, id);
            let renamed = renamed.and_then(|fork| fork.rename_fork(name).map_err(safe));
            reply(ForkTreeAnswer::Renamed(renamed));
        }
        ForkTreeJob::Delete { id, path } => {
            let deleted = fork_at(&places(), path, id);
            let deleted = deleted.and_then(|fork| fork.delete_fork().map_err(safe));
            reply(ForkTreeAnswer::Deleted(deleted));
        }
        ForkTreeJob::Beside(path) => {
            reply(ForkTreeAnswer::Beside(against::open_file(runs, path)));
        }
    }
}

/// The fork in this file, if it is still the one that was shown.
fn fork_at(places: &Places, path: &Path, id: &str) -> Answered<Debugger> {
    let run = places.open(&RunSource::File(path.to_owned()));
    let run = run.map_err(safe)?;
    if run.header().id == id {
        Ok(run)
    } else {
        Err(SafeText::literal("another tape stands there now"))
    }
}
