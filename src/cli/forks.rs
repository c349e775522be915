//! `jukebox forks`: the tree of forks that a run belongs to.

use serde_json::{Value, json};

use super::arguments::TapeArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{Debugger, ForkRow, LineageError};
use crate::model::TapePath;
use crate::text::SafeText;

/// List the forks of a run, and what it is a fork of
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// Call this run so in the list; '' takes the name away
    #[arg(long, value_name = "NAME", conflicts_with = "delete")]
    rename: Option<String>,
    /// Delete this fork's tape; refused while it has forks itself
    #[arg(long)]
    delete: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Each fork stands below the tape it left, with the step at which it differs; ▸ is this run. Found
are forks that lie beside the run, and those that were made or opened before, as the state
directory of the user remembers.

JSON, one tape a line: id, path (or null), there (it is there), this (it is this run), depth (0: it
is no fork), parent (the id of the tape above it, or null), seq (the last event they share), of
(response, result, prompt, file), step, branch, file, title: what was changed; name (as --rename
gave it). What a tape does not say is null.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open(around)?;
        if let Some(name) = &self.rename {
            run.rename(name)?;
        }
        if self.delete {
            let path = run.delete_fork()?;
            if self.json {
                out.json(&json!({ "deleted": path.to_string_lossy() }))?;
            } else {
                let line = format!("{} is deleted", path.display());
                out.line(Style::Strong, &SafeText::line(&line))?;
            }
            return Ok(Answer::Yes);
        }
        self.list(&run, out)?;
        Ok(Answer::Yes)
    }

    fn list(&self, run: &Debugger, out: &mut Output) -> Result<(), Failure> {
        // The tapes above the one that is listed, outermost first.
        let mut above: Vec<String> = Vec::new();
        for row in run.forks() {
            above.truncate(usize::from(row.depth));
            if self.json {
                out.json(&object(&row, above.last().map(String::as_str)))?;
            } else {
                print(&row, out)?;
            }
            above.push(row.id);
        }
        Ok(())
    }
}

fn object(row: &ForkRow, parent: Option<&str>) -> Value {
    let edit = row.edit.as_ref();
    let path = row.path.as_ref();
    json!({
        "id": row.id,
        "path": path.map(|path| path.to_string_lossy()),
        "there": row.is_there,
        "this": row.is_this,
        "depth": row.depth,
        "parent": parent,
        "seq": row.seq.map(|seq| seq.0),
        "of": edit.map(|edit| edit.of.as_str()),
        "step": edit.map(|edit| edit.step.0),
        "branch": edit.and_then(|edit| edit.branch.as_ref()),
        "file": edit.and_then(|edit| edit.path.as_ref()).map(TapePath::to_text),
        "title": edit.map(|edit| SafeText::line(&edit.title).to_string()),
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
    let file = match path {
        Some(path) if row.is_there => format!("  {path}"),
        Some(path) => format!("  not there: {path}"),
        None => "  not found".to_owned(),
    };
    let (strong, faint) = if row.is_there {
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

impl From<LineageError> for Failure {
    fn from(error: LineageError) -> Self {
        let line = format!("{error}; nothing was changed");
        match error {
            LineageError::HasForks { .. } => {
                Self::conflict(format!("{line}: `jukebox forks TAPE` lists them"))
            }
            LineageError::NotAFork(_) | LineageError::NoFile(_) => Self::unusable(line),
            LineageError::NoState | LineageError::Io(..) => Self::machine(line),
        }
    }
}
