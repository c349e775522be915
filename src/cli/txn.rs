//! `jukebox txn`: the transactions of a workspace: what was committed, what was cut off.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::change::{self, ChangeArgs, Consent};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{
    Committed, Done, Pending, Preview, Recovery, Status, TransactionError, Workspace,
};
use crate::text::{SafeText, human};

/// Changes that were committed to a workspace: undo, recover, status
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Undo(UndoArgs),
    Recover(RecoverArgs),
    Status(StatusArgs),
}

/// Take back the last commit that was not taken back yet
#[derive(Debug, clap::Args)]
#[command(after_help = UNDO)]
struct UndoArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

/// Finish a commit that was cut off, or clear what it left
#[derive(Debug, clap::Args)]
#[command(after_help = RECOVER)]
struct RecoverArgs {
    /// The workspace
    #[arg(long = "dir", value_name = "DIR")]
    directory: PathBuf,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// Say what was committed, and whether something was cut off
#[derive(Debug, clap::Args)]
#[command(after_help = STATUS)]
struct StatusArgs {
    /// The workspace
    #[arg(long = "dir", value_name = "DIR")]
    directory: PathBuf,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const UNDO: &str = "\
Every path that the commit changed becomes what it was, bytes, modes and times, all or none.
If somebody changed one since, that is a conflict (code 3), and nothing is written. A second
undo takes back the commit before. What an undo replaces is kept in DIR/.jukebox/displaced
like that of any commit. On a terminal it asks; elsewhere it needs --yes.

JSON, one object: directory, written, commit, changes, conflicts, late, as of `jukebox restore`.";

const RECOVER: &str = "\
A commit that was cut off after it was decided is finished, or taken back where the disk allows
no more; one that was cut off before has changed no file, and what it had staged is cleared.
Files that somebody else wrote meanwhile are kept, listed, and end with code 1. A damaged
journal is left as it is, with everything else (code 3). Safe to be cut off itself.

JSON, one object: directory, found (nothing, rolled-back, finished), changed, late.";

const STATUS: &str = "\
Writes nothing. Ends with code 1 if a commit was cut off: `jukebox txn recover` finishes it.

JSON, one object: directory, pending (null, damaged, or how many paths), commits (id, changed,
bytes: of the files kept, undoes: the commit taken back, or null), oldest first.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        match &self.verb {
            Verb::Undo(args) => args.run(around, out),
            Verb::Recover(args) => args.run(out),
            Verb::Status(args) => args.run(out),
        }
    }
}

impl UndoArgs {
    fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        self.change.check(around)?;
        let mut workspace = Workspace::open(&self.change.directory)?;
        if workspace.status()?.pending != Pending::Nothing && !self.change.dry_run {
            workspace.recover()?;
        }
        let preview = workspace.preview_undo()?;
        if !preview.conflicts.is_empty() {
            self.tell(&preview, None, out)?;
            return Err(TransactionError::Conflicts(preview.conflicts).into());
        }
        let done = match self.change.ask(&preview, out)? {
            Consent::Given => Some(workspace.undo()?),
            Consent::Withheld => None,
        };
        self.tell(&preview, done.as_ref(), out)?;
        Ok(Answer::no_if(
            done.is_some_and(|done| !done.late.is_empty()),
        ))
    }

    fn tell(
        &self,
        preview: &Preview,
        done: Option<&Committed>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let directory = &self.change.directory;
        let late = done.map_or(&[][..], |done| &done.late);
        if self.change.json {
            return Ok(out.json(&json!({
                "directory": directory.to_string_lossy(),
                "written": done.is_some(),
                "commit": done.and_then(|done| done.id),
                "changes": change::changes(preview),
                "conflicts": change::conflicts(&preview.conflicts),
                "late": change::conflicts(late),
            }))?);
        }
        change::print_conflicts(&preview.conflicts, out)?;
        change::print_conflicts(late, out)?;
        let summary = match done {
            Some(done) => change::summary(done, directory),
            None if preview.conflicts.is_empty() => "nothing was written".to_owned(),
            None => return Ok(()),
        };
        Ok(out.line(Style::Strong, &SafeText::line(&summary))?)
    }
}

impl RecoverArgs {
    fn run(&self, out: &mut Output) -> Result<Answer, Failure> {
        let found = Workspace::open(&self.directory)?.recover()?;
        let (word, done) = match &found {
            Recovery::Nothing => ("nothing", None),
            Recovery::RolledBack => ("rolled-back", None),
            Recovery::Finished(done) => ("finished", Some(done)),
        };
        let late = done.map_or(&[][..], |done| &done.late);
        if self.json {
            out.json(&json!({
                "directory": self.directory.to_string_lossy(),
                "found": word,
                "changed": done.map_or(0, |done| done.changed),
                "late": change::conflicts(late),
            }))?;
        } else {
            change::print_conflicts(late, out)?;
            let line = match &found {
                Recovery::Nothing => "nothing was cut off".to_owned(),
                Recovery::RolledBack => {
                    "a commit was cut off before it changed anything; what it had staged is gone"
                        .to_owned()
                }
                Recovery::Finished(done) => {
                    let summary = change::summary(done, &self.directory);
                    format!("a commit was cut off, and is finished: {summary}")
                }
            };
            out.line(Style::Strong, &SafeText::line(&line))?;
        }
        Ok(Answer::no_if(!late.is_empty()))
    }
}

impl StatusArgs {
    fn run(&self, out: &mut Output) -> Result<Answer, Failure> {
        let status = Workspace::open(&self.directory)?.status()?;
        if self.json {
            out.json(&self.object(&status))?;
        } else {
            print(&status, out)?;
        }
        Ok(Answer::no_if(status.pending != Pending::Nothing))
    }

    fn object(&self, status: &Status) -> Value {
        let commit = |done: &Done| {
            json!({
                "id": done.id,
                "changed": done.changed,
                "bytes": done.bytes,
                "undoes": done.undoes,
            })
        };
        json!({
            "directory": self.directory.to_string_lossy(),
            "pending": match status.pending {
                Pending::Nothing => Value::Null,
                Pending::Commit(paths) => paths.into(),
                Pending::Damaged => "damaged".into(),
            },
            "commits": status.done.iter().map(commit).collect::<Vec<_>>(),
        })
    }
}

fn print(status: &Status, out: &mut Output) -> Result<(), Failure> {
    for done in &status.done {
        let paths = human::plural(done.changed as u64, "path", "paths");
        let mut line = format!(
            "{:>4}  {paths} changed, {} bytes kept",
            done.id,
            human::size(done.bytes)
        );
        if let Some(undone) = done.undoes {
            line = format!("{line}; took back {undone}");
        }
        out.line(Style::Plain, &SafeText::line(&line))?;
    }
    let line = match status.pending {
        Pending::Nothing if status.done.is_empty() => "nothing was committed here".to_owned(),
        Pending::Nothing => "nothing was cut off".to_owned(),
        Pending::Commit(paths) => {
            let paths = human::plural(paths as u64, "path", "paths");
            format!("a commit of {paths} was cut off; `jukebox txn recover --dir DIR` finishes it")
        }
        Pending::Damaged => {
            "the journal `.jukebox/commit` is damaged; nothing is touched".to_owned()
        }
    };
    Ok(out.line(Style::Strong, &SafeText::line(&line))?)
}
