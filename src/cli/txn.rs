//! `jukebox txn`: changes to a workspace that are committed whole or not at all, from a shell.

mod begin;
mod commit;
mod diff;
mod edges;
mod effect;
mod exec;
mod recover;
mod status;
mod undo;

use std::path::Path;

use clap::Subcommand;

use super::arguments::SourceArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::Output;
use crate::debugger::{HeldTransaction, LedgerRow, Registry};
use crate::model::Place;
pub(super) use exec::input;

/// Run commands as a transaction on a workspace, and look after what was committed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Begin(begin::Args),
    Exec(exec::Args),
    Savepoint(edges::SavepointArgs),
    Diff(diff::Args),
    Effect(effect::Args),
    Commit(commit::Args),
    Rollback(edges::RollbackArgs),
    Undo(undo::Args),
    Recover(recover::Args),
    Status(status::Args),
}

const HELP: &str = "\
In a shell:
    id=$(jukebox txn begin --dir W)          nothing in W changes before the commit
    jukebox txn exec $id -- make fix         sees W, and what earlier calls changed
    jukebox txn diff $id
    jukebox txn commit $id                   all of it, or nothing; or: txn rollback $id

A transaction stays open when the command that began it has ended, until it is committed or
rolled back: a process holds it. If that is killed, the transaction is abandoned, and the
workspace untouched. An id may be shortened as long as one transaction only is meant.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        match &self.verb {
            Verb::Begin(args) => args.run(around, out),
            Verb::Exec(args) => Ok(args.run(around, out)),
            Verb::Savepoint(args) => args.run(around),
            Verb::Diff(args) => args.run(around, out),
            Verb::Effect(args) => Ok(args.run(around, out)),
            Verb::Commit(args) => args.run(around, out),
            Verb::Rollback(args) => args.run(around, out),
            Verb::Undo(args) => args.run(around, out),
            Verb::Recover(args) => args.run(around, out),
            Verb::Status(args) => args.run(around, out),
        }
    }
}

/// The transactions of the user.
pub(in crate::cli) fn registry(around: &Environment) -> Result<Registry, Failure> {
    Ok(Registry::new(state_directory(around)?))
}

/// Where they are written down.
fn state_directory(around: &Environment) -> Result<&Path, Failure> {
    around.places.state.as_deref().ok_or_else(|| {
        Failure::unusable("there is no home directory to keep transactions in: set HOME")
    })
}

/// The open transaction of this id.
fn held(around: &Environment, id: &str) -> Result<HeldTransaction, Failure> {
    Ok(HeldTransaction::find(&registry(around)?, id)?)
}

/// What a transaction did outside the files, as its tape tells.
fn ledger(tape: &Path, around: &Environment) -> Result<Vec<LedgerRow>, Failure> {
    let run = SourceArgs::default().open_quietly(tape.as_os_str(), around)?;
    let end = run.locate(&Place::END)?;
    Ok(run.effects(end, usize::MAX).rows)
}
