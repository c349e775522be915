//! `jukebox txn undo`: the last commit to a workspace, taken back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::change::{self, ChangeArgs, Consent};
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::output::Output;
use crate::debugger::{
    Committed, HeldState, Pending, Preview, Status, TransactionError, Workspace,
};

/// Take back the last commit that was not taken back yet
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The transaction whose commit is taken back, if no other came after it
    #[arg(required_unless_present = "directory", conflicts_with = "directory")]
    id: Option<String>,
    /// The workspace
    #[arg(long = "dir", value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    change: ChangeArgs,
}

const HELP: &str = "\
Every path that the commit changed becomes what it was, bytes, modes and times, all or none.
If somebody changed one since, that is a conflict (code 3), and nothing is written. A second
undo takes back the commit before. What an undo replaces is kept in DIR/.jukebox/displaced
like that of any commit. On a terminal it asks; elsewhere it needs --yes.

JSON, one object: directory, written, commit, changes, conflicts, late, as of `jukebox restore`.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        self.change.check(around)?;
        let (directory, commit) = self.meant(around)?;
        let mut workspace = Workspace::open(&directory)?;
        let mut status = workspace.status()?;
        if status.pending != Pending::Nothing && !self.change.dry_run {
            workspace.recover()?;
            status = workspace.status()?;
        }
        if let Some(commit) = commit.filter(|commit| last_to_undo(&status) != Some(*commit)) {
            return Err(Failure::no(format!(
                "commit {commit} is not the last that can be taken back; nothing was written: \
                 `jukebox txn status --dir DIR` lists them, and `undo --dir DIR` takes back the last"
            )));
        }
        let preview = workspace.preview_undo()?;
        if !preview.conflicts.is_empty() {
            self.tell(&directory, &preview, None, out)?;
            return Err(TransactionError::Conflicts(preview.conflicts).into());
        }
        let done = match self.change.ask(&directory, &preview, out)? {
            Consent::Given => Some(workspace.undo()?),
            Consent::Withheld => None,
        };
        self.tell(&directory, &preview, done.as_ref(), out)?;
        Ok(Answer::no_if(
            done.is_some_and(|done| !done.late.is_empty()),
        ))
    }

    /// The workspace, and the commit if it is to be that one.
    fn meant(&self, around: &Environment) -> Result<(PathBuf, Option<u64>), Failure> {
        let Some(id) = &self.id else {
            return Ok((self.directory.clone().unwrap_or_default(), None));
        };
        let registry = super::registry(around)?;
        let entry = registry.find(id)?;
        let place = entry.workspace().to_owned();
        match registry.state(&entry) {
            HeldState::Committed(Some(commit)) => Ok((place, Some(commit))),
            HeldState::Committed(None) => Err(Failure::no(format!(
                "the transaction `{}` had nothing to change; there is nothing to undo",
                entry.id
            ))),
            state => Err(Failure::unusable(format!(
                "the transaction `{}` is {}: only a commit can be undone; \
                 `jukebox txn rollback ID` takes back what was not committed",
                entry.id,
                state.as_str()
            ))),
        }
    }

    fn tell(
        &self,
        directory: &Path,
        preview: &Preview,
        done: Option<&Committed>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        if self.change.json {
            return Ok(out.json(&change::object(directory, preview, done))?);
        }
        Ok(change::print_outcome(directory, preview, done, out)?)
    }
}

/// The number of the commit that an undo takes back.
fn last_to_undo(status: &Status) -> Option<u64> {
    let undone: BTreeSet<u64> = status.done.iter().filter_map(|done| done.undoes).collect();
    let mut done = status.done.iter().rev();
    let last = done.find(|done| done.undoes.is_none() && !undone.contains(&done.id));
    last.map(|done| done.id)
}
