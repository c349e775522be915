//! `jukebox forks`: the tree of forks that a run belongs to.

use std::path::Path;

use serde_json::{Value, json};

use super::arguments::TapeArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{Debugger, ForkAccount, ForkRow, LineageError, Presence};
use crate::model::TapePath;
use crate::text::SafeText;

/// List the forks of a run, and what it is a fork of
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// Give this fork's tape another name in its directory, one that no file has
    #[arg(long, value_name = "NEW")]
    rename: Option<String>,
    /// Call this run so in the list; '' takes the name away
    #[arg(long, value_name = "WORDS", conflicts_with = "rename")]
    name: Option<String>,
    /// Delete this fork's tape; refused while it has forks itself
    #[arg(long, conflicts_with_all = ["rename", "name"])]
    delete: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Each fork stands below the tape it left, with the step at which it differs; ▸ is this run. Below it
stand how its answers came about, how it was to go on, and why it ended. Found are forks that lie
beside the run, and those that were made or opened before, as the state directory of the user
remembers. Of what is no fork nothing is renamed or deleted, and no file is written over.

JSON, one tape a line: id, path (or null), there (it is there), this (it is this run), depth (0: it
is no fork), parent (the id of the tape above it, or null), seq (the last event they share), of
(response, result, prompt, file), step, branch, file, title: what was changed; then: how it was to
go on (stop, script, assume-recorded, agent …); answers: how many came about in each way (edit,
recorded, rerun, script, live, stale, unknown); ended: why; name (as --name gave it). What a tape
does not say is null. With --rename and --delete one object: renamed or deleted, a path.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open(around)?;
        if let Some(name) = &self.name {
            run.call_fork(name)?;
        }
        if let Some(name) = &self.rename {
            let path = run.rename_fork(name)?;
            self.tell("renamed", &path, "is its name now", out)?;
        } else if self.delete {
            let path = run.delete_fork()?;
            self.tell("deleted", &path, "is deleted", out)?;
        } else {
            self.list(&run, out)?;
        }
        Ok(Answer::Yes)
    }

    fn tell(&self, key: &str, path: &Path, words: &str, out: &mut Output) -> Result<(), Failure> {
        if self.json {
            out.json(&json!({ key: path.to_string_lossy() }))?;
        } else {
            let line = format!("{} {words}", path.display());
            out.line(Style::Strong, &SafeText::line(&line))?;
        }
        Ok(())
    }

    fn list(&self, run: &Debugger, out: &mut Output) -> Result<(), Failure> {
        // The tapes above the one that is listed, outermost first.
        let mut above: Vec<String> = Vec::new();
        for row in run.forks() {
            above.truncate(usize::from(row.depth));
            let account = account(&row);
            if self.json {
                out.json(&object(&row, account.as_ref(), above.last()))?;
            } else {
                print(&row, out)?;
                print_account(&row, account.as_ref(), out)?;
            }
            above.push(row.id);
        }
        Ok(())
    }
}

/// What became of a fork; `None` of what is none, and where nothing can be read of it.
fn account(row: &ForkRow) -> Option<ForkAccount> {
    if row.seq.is_none() || !row.is_there() {
        return None;
    }
    row.account(&|| false).ok()?
}

fn object(row: &ForkRow, account: Option<&ForkAccount>, parent: Option<&String>) -> Value {
    let edit = row.edit.as_ref();
    let answers = account.map(|account| {
        let shares = account.shares.iter();
        let counts = shares.map(|(via, count)| (via.as_str().to_owned(), json!(count)));
        Value::Object(counts.collect())
    });
    let path = row.path.as_ref();
    json!({
        "id": row.id,
        "path": path.map(|path| path.to_string_lossy()),
        "there": row.is_there(),
        "this": row.is_this,
        "depth": row.depth,
        "parent": parent,
        "seq": row.seq.map(|seq| seq.0),
        "of": edit.map(|edit| edit.of.as_str()),
        "step": edit.map(|edit| edit.step.0),
        "branch": edit.and_then(|edit| edit.branch.as_ref()),
        "file": edit.and_then(|edit| edit.path.as_ref()).map(TapePath::to_text),
        "title": edit.map(|edit| SafeText::line(&edit.title).to_string()),
        "then": edit.and_then(|edit| edit.then.as_deref()),
        "answers": answers,
        "ended": account.and_then(|account| account.ended.as_ref()).map(SafeText::as_str),
        "name": row.is_named.then(|| row.title.as_str()),
    })
}

fn print(row: &ForkRow, out: &mut Output) -> Result<(), Failure> {
    let mark = if row.is_this { "▸ " } else { "  " };
    let indent = "  ".repeat(usize::from(row.depth));
    let left = SafeText::line(&format!("{mark}{indent}"));
    let place = row.edit.as_ref().map(|edit| match &edit.branch {
        Some(branch) => format!("step {branch}:{}, {}  ", edit.step, edit.of),
        None => format!("step {}, {}  ", edit.step, edit.of),
    });
    let place = SafeText::line(&place.unwrap_or_default());
    let path = row.path.as_ref().map(|path| path.display().to_string());
    let file = match (row.presence, path) {
        (Presence::There, Some(path)) => format!("  {path}"),
        (Presence::Other, Some(path)) => format!("  another tape, or unreadable: {path}"),
        (_, Some(path)) => format!("  not there: {path}"),
        (_, None) => "  not found".to_owned(),
    };
    let (strong, faint) = if row.is_there() {
        (Style::Strong, Style::Faint)
    } else {
        (Style::Doubt, Style::Doubt)
    };
    out.spans(&[
        (Style::Place, &left),
        (Style::Faint, &place),
        (strong, &row.title),
        (faint, &SafeText::line(&file)),
    ])?;
    Ok(())
}

/// How the answers of a fork came about, how it was to go on, and why it ended.
fn print_account(
    row: &ForkRow,
    account: Option<&ForkAccount>,
    out: &mut Output,
) -> Result<(), Failure> {
    let Some(account) = account else {
        return Ok(());
    };
    let shares = account.shares.iter();
    let shares: Vec<String> = shares
        .map(|(via, count)| format!("{count} {}", via.label()))
        .collect();
    let then = row.edit.as_ref().and_then(|edit| edit.then.as_ref());
    let said = [
        Some(shares.join(", ")).filter(|shares| !shares.is_empty()),
        then.map(|then| format!("then {then}")),
        account.ended.as_ref().map(|why| format!("stopped: {why}")),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if !said.is_empty() {
        let indent = "  ".repeat(usize::from(row.depth) + 2);
        let line = format!("{indent}{}", said.join("; "));
        out.line(Style::Faint, &SafeText::line(&line))?;
    }
    Ok(())
}

impl From<LineageError> for Failure {
    fn from(error: LineageError) -> Self {
        let line = format!("{error}; nothing was changed");
        match error {
            LineageError::HasForks { .. } => {
                Self::conflict(format!("{line}: `jukebox forks TAPE` lists them"))
            }
            LineageError::Taken(_) => Self::conflict(format!("{line}: choose another name")),
            LineageError::NotAFork(_) | LineageError::NoFile(_) | LineageError::NoName(_) => {
                Self::unusable(line)
            }
            LineageError::NoState | LineageError::Io(..) => Self::machine(line),
        }
    }
}
