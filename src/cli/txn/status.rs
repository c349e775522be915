//! `jukebox txn status`: the transactions that are open or abandoned, and what was committed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::effects;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::fields;
use super::super::output::{Output, Style};
use crate::debugger::{Done, Entry, HeldState, LookUpError, Pending, Registry, Status, Workspace};
use crate::model::WallTime;
use crate::text::{SafeText, human};

/// Say which transactions there are, what was committed, and whether something was cut off
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Only this transaction
    #[arg(conflicts_with = "directory")]
    id: Option<String>,
    /// Only those of this workspace, and its commits
    #[arg(long = "dir", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
A transaction is open, committing, committed (`jukebox txn undo ID`), or the process that held it
was killed. Then it is abandoned (nothing was committed: `jukebox txn recover ID` copies out what
it had written, or drops it), cut-off (its commit was decided: `jukebox txn recover ID` finishes
it), committed all the same, or unclear (it was killed while it committed, and later commits cover
what became of that). Writes nothing. Ends with code 1 if one is abandoned, cut-off or unclear, or
a commit was cut off: `jukebox txn recover --dir DIR` finishes that.

JSON, one object: directory (or null), pending (null, damaged, or how many paths), commits (id,
changed, bytes: of the files kept, undoes: the commit taken back, or null), oldest first,
transactions (id, state, commit, directory, tape, began); with an ID also effects, as of
`jukebox effects`.";

/// Transactions, and what has become of each.
pub(super) type Rows = Vec<(Entry, HeldState)>;

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let registry = super::registry(around)?;
        let rows = match &self.id {
            Some(id) => {
                let entry = registry.find(id)?;
                let state = registry.state(&entry);
                vec![(entry, state)]
            }
            None => of_workspace(&registry, self.directory.as_deref())?,
        };
        let status = match &self.directory {
            Some(directory) => Some(Workspace::open(directory)?.status()?),
            None => None,
        };
        let ledger = match (&self.id, rows.first()) {
            // A tape that is gone tells of no effects, and keeps nothing else from being told.
            (Some(_), Some((entry, _))) if entry.tape().exists() => {
                super::ledger(entry.tape(), around)?
            }
            _ => Vec::new(),
        };
        if self.json {
            let mut object = self.object(status.as_ref(), &rows);
            if self.id.is_some() {
                object["effects"] = ledger.iter().map(fields::effect).collect();
            }
            out.json(&object)?;
        } else {
            print(&rows, out)?;
            effects::print(&ledger, out)?;
            match &status {
                Some(status) => print_commits(status, out)?,
                None if rows.is_empty() => {
                    let line = SafeText::literal("there is no transaction");
                    out.line(Style::Strong, &line)?;
                }
                None => {}
            }
        }
        let is_left = rows.iter().any(|(_, state)| is_left(*state));
        let is_cut_off = status.is_some_and(|status| status.pending != Pending::Nothing);
        Ok(Answer::no_if(is_left || is_cut_off))
    }

    fn object(&self, status: Option<&Status>, rows: &Rows) -> Value {
        let commit = |done: &Done| {
            json!({
                "id": done.id,
                "changed": done.changed,
                "bytes": done.bytes,
                "undoes": done.undoes,
            })
        };
        let commits = status.iter().flat_map(|status| &status.done).map(commit);
        let directory = self.directory.as_ref();
        json!({
            "directory": directory.map(|directory| directory.to_string_lossy()),
            "pending": match status.map(|status| status.pending) {
                None | Some(Pending::Nothing) => Value::Null,
                Some(Pending::Commit(paths)) => paths.into(),
                Some(Pending::Damaged) => "damaged".into(),
            },
            "commits": commits.collect::<Vec<_>>(),
            "transactions": rows.iter().map(object).collect::<Value>(),
        })
    }
}

/// The transactions of a workspace, or all, the oldest first.
pub(super) fn of_workspace(
    registry: &Registry,
    directory: Option<&Path>,
) -> Result<Rows, LookUpError> {
    let directory = directory.and_then(|directory| directory.canonicalize().ok());
    let mut rows = Rows::new();
    for entry in registry.entries()? {
        let is_meant = directory
            .as_ref()
            .is_none_or(|directory| entry.workspace() == directory);
        if is_meant {
            let state = registry.state(&entry);
            rows.push((entry, state));
        }
    }
    Ok(rows)
}

/// Whether somebody has to say what is to become of a transaction: nobody holds it.
pub(super) const fn is_left(state: HeldState) -> bool {
    match state {
        HeldState::Abandoned | HeldState::CutOff | HeldState::Unclear => true,
        HeldState::Open | HeldState::Committing | HeldState::Committed(_) => false,
    }
}

/// A transaction, as JSON.
pub(super) fn object((entry, state): &(Entry, HeldState)) -> Value {
    let commit = match state {
        HeldState::Committed(commit) => *commit,
        _ => None,
    };
    json!({
        "id": entry.id,
        "state": state.as_str(),
        "commit": commit,
        "directory": entry.workspace().to_string_lossy(),
        "tape": entry.tape().to_string_lossy(),
        "began": began(entry),
    })
}

/// Transactions, for people: a line each.
pub(super) fn print(rows: &Rows, out: &mut Output) -> Result<(), Failure> {
    for (entry, state) in rows {
        let style = match state {
            HeldState::Open | HeldState::Committing => Style::Good,
            HeldState::Abandoned | HeldState::CutOff | HeldState::Unclear => Style::Bad,
            HeldState::Committed(_) => Style::Faint,
        };
        let more = match state {
            HeldState::Abandoned | HeldState::Unclear => {
                format!(
                    "; `jukebox txn recover {}` with --salvage NEW or --drop",
                    entry.id
                )
            }
            HeldState::CutOff => format!("; `jukebox txn recover {}` finishes it", entry.id),
            HeldState::Committed(Some(commit)) => format!(" by commit {commit}"),
            _ => String::new(),
        };
        let place = entry.workspace().display();
        let rest = format!("  {}  {place}{more}", began(entry));
        out.spans(&[
            (Style::Plain, &SafeText::line(&format!("{}  ", entry.id))),
            (style, &SafeText::literal(state.as_str())),
            (Style::Plain, &SafeText::line(&rest)),
        ])?;
    }
    Ok(())
}

fn began(entry: &Entry) -> String {
    let seconds = i64::try_from(entry.began).unwrap_or(0);
    WallTime(seconds.saturating_mul(1_000_000)).to_string()
}

fn print_commits(status: &Status, out: &mut Output) -> Result<(), Failure> {
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
