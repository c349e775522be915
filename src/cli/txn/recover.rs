//! `jukebox txn recover`: what was cut off: a commit is finished, and what an abandoned
//! transaction had written is copied out or dropped.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::change;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::fields;
use super::super::output::{Output, Style};
use super::status;
use crate::debugger::{Entry, HeldState, Recovery, Registry, Told, Workspace, salvage};
use crate::text::{SafeText, human};

/// Finish a commit that was cut off; copy out or drop what an abandoned transaction wrote
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// A transaction whose holder is gone; where nothing of it was committed, --salvage or --drop
    /// says what is to become of it
    #[arg(required_unless_present = "directory", conflicts_with = "directory")]
    id: Option<String>,
    /// The workspace
    #[arg(long = "dir", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Copy what it had written to this new or empty directory
    #[arg(long, value_name = "NEW", requires = "id", conflicts_with = "drop")]
    salvage: Option<PathBuf>,
    /// Remove what it had written; its tape stays
    #[arg(long, requires = "id")]
    drop: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
With --dir: a commit that was cut off after it was decided is finished, or taken back where the
disk allows no more; one that was cut off before has changed no file, and what it had staged is
cleared. Files that somebody else wrote meanwhile are kept, listed, and end with code 1. A damaged
journal is left as it is, with everything else (code 3). Safe to be cut off itself. Tapes of
transactions that were committed without having been told so are told. Abandoned transactions of
the workspace are listed, and left as they are.

With an ID: a transaction whose holder was killed. If its commit was decided, that is finished, and
its tape told; effects that wait are named, and `jukebox effects TAPE --send` sends them. Else it is
abandoned: the workspace is untouched, and nobody goes on with it. --salvage copies the files that
it had written out, and lists what it had deleted; --drop removes them. One of a copy (`begin
--backend copy`) that ended while it was rolled back to a savepoint can only be dropped: the tape
has what it wrote.

JSON, one object: directory, found (nothing, rolled-back, finished), changed, late, committed (id,
commit, told: its tape says so only now, waiting: numbers of effects), abandoned (id, state,
directory, tape, began). With an ID: one of committed, or: id, written, deleted, left (path, sort).";

/// A transaction that was committed by a holder that could not say so.
struct Finished {
    entry: Entry,
    commit: Option<u64>,
    told: Told,
}

impl Finished {
    fn object(&self) -> Value {
        json!({
            "id": self.entry.id,
            "commit": self.commit,
            "told": self.told.is_new,
            "waiting": self.told.waiting,
        })
    }

    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        let mut line = format!("{} was committed", self.entry.id);
        if let Some(commit) = self.commit {
            line = format!("{line} by commit {commit}");
        }
        if self.told.is_new {
            line.push_str(", and its tape says so now");
        }
        if !self.told.waiting.is_empty() {
            let effects = human::plural(self.told.waiting.len() as u64, "effect", "effects");
            let tape = self.entry.tape().display();
            line = format!("{line}; {effects} not sent yet: `jukebox effects {tape} --send`");
        }
        Ok(out.line(Style::Strong, &SafeText::line(&line))?)
    }
}

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        if let Some(directory) = &self.directory {
            return self.workspace(directory, around, out);
        }
        let registry = super::registry(around)?;
        let entry = registry.find(self.id.as_deref().unwrap_or_default())?;
        match (&self.salvage, self.drop) {
            (Some(to), _) => self.salvage(&registry, &entry, to, out),
            (None, true) => {
                registry.drop_abandoned(&entry)?;
                if self.json {
                    out.json(&json!({
                        "id": entry.id, "written": 0, "deleted": [], "left": [],
                    }))?;
                } else {
                    let line = format!("what {} had written is gone", entry.id);
                    out.line(Style::Strong, &SafeText::line(&line))?;
                }
                Ok(Answer::Yes)
            }
            (None, false) => self.finish(&registry, &entry, out),
        }
    }

    /// Finishes a commit that its holder could not, and tells the tape.
    fn finish(
        &self,
        registry: &Registry,
        entry: &Entry,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let mut late = Vec::new();
        if registry.state(entry) == HeldState::CutOff
            && let Recovery::Finished(done) = Workspace::open(entry.workspace())?.recover()?
        {
            late = done.late;
        }
        let HeldState::Committed(commit) = registry.state(entry) else {
            return Err(Failure::unusable(format!(
                "the transaction `{}` is {}; nothing was done: --salvage NEW copies out what an \
                 abandoned one had written, --drop removes it",
                entry.id,
                registry.state(entry).as_str()
            )));
        };
        let finished = Finished {
            told: registry.tell_committed(entry)?,
            entry: entry.clone(),
            commit,
        };
        if self.json {
            let mut object = finished.object();
            object["late"] = change::conflicts(&late);
            out.json(&object)?;
        } else {
            change::print_conflicts(&late, out)?;
            finished.print(out)?;
        }
        Ok(Answer::no_if(!late.is_empty()))
    }

    fn salvage(
        &self,
        registry: &Registry,
        entry: &Entry,
        to: &Path,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let found = salvage(registry, entry, to)?;
        if self.json {
            let deleted = found.deleted.iter();
            let left = found
                .left
                .iter()
                .map(|(path, sort)| json!({ "path": path.to_string_lossy(), "sort": sort }));
            out.json(&json!({
                "id": entry.id,
                "written": found.written,
                "deleted": deleted.map(|path| fields::with_path(path, json!({}))).collect::<Value>(),
                "left": left.collect::<Value>(),
            }))?;
            return Ok(Answer::Yes);
        }
        for path in &found.deleted {
            let path = SafeText::from_bytes(path.as_bytes());
            out.spans(&[
                (Style::Bad, &SafeText::literal("D ")),
                (Style::Plain, &path),
            ])?;
        }
        for (path, sort) in &found.left {
            let line = format!("! {}  left behind: a {sort}", path.display());
            out.line(Style::Doubt, &SafeText::line(&line))?;
        }
        let paths = human::plural(found.written as u64, "path", "paths");
        let line = format!("{paths} copied to {}", to.display());
        out.line(Style::Strong, &SafeText::line(&line))?;
        Ok(Answer::Yes)
    }

    fn workspace(
        &self,
        directory: &Path,
        around: &Environment,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let found = Workspace::open(directory)?.recover()?;
        let registry = super::registry(around)?;
        let mut abandoned = status::of_workspace(&registry, Some(directory))?;
        let mut finished = Vec::new();
        for (entry, state) in &abandoned {
            if let HeldState::Committed(commit) = *state
                && !entry.is_known_as_committed()
            {
                finished.push(Finished {
                    told: registry.tell_committed(entry)?,
                    entry: entry.clone(),
                    commit,
                });
            }
        }
        abandoned.retain(|(_, state)| status::is_left(*state));
        let (word, done) = match &found {
            Recovery::Nothing => ("nothing", None),
            Recovery::RolledBack => ("rolled-back", None),
            Recovery::Finished(done) => ("finished", Some(done)),
        };
        let late = done.map_or(&[][..], |done| &done.late);
        if self.json {
            out.json(&json!({
                "directory": directory.to_string_lossy(),
                "found": word,
                "changed": done.map_or(0, |done| done.changed),
                "late": change::conflicts(late),
                "committed": finished.iter().map(Finished::object).collect::<Value>(),
                "abandoned": abandoned.iter().map(status::object).collect::<Value>(),
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
                    let summary = done.in_words(directory);
                    format!("a commit was cut off, and is finished: {summary}")
                }
            };
            out.line(Style::Strong, &SafeText::line(&line))?;
            for finished in &finished {
                finished.print(out)?;
            }
            status::print(&abandoned, out)?;
        }
        Ok(Answer::no_if(!late.is_empty()))
    }
}
