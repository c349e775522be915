//! `jukebox txn undo`: the last commit to a workspace, taken back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::change::{self, ChangeArgs, Consent};
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::output::{Output, Style, warn};
use super::super::{effects, fields};
use crate::debugger::{
    Committed, Done, EffectState, HeldState, LedgerRow, Pending, Preview, Status, TransactionError,
    Workspace,
};
use crate::model::STATE_DIRECTORY;
use crate::text::SafeText;

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

An undo is about files. What the transaction did outside them remains, and what waits is not sent
by it: each such effect is named, before and after, and ends with code 1. Then `jukebox effects TAPE
--take-back` runs the compensations that are declared, the last first, and drops what waits.

JSON, one object: directory, written, commit, changes, conflicts, late, as of `jukebox restore`;
effects (those that remain, as of `jukebox effects`).";

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
        let last = last_to_undo(&status);
        if let Some(commit) = commit.filter(|commit| last.is_none_or(|last| last.id != *commit)) {
            if let Some(undo) = status.done.iter().find(|it| it.undoes == Some(commit)) {
                return Err(Failure::no(format!(
                    "commit {commit} was taken back already, by commit {}; nothing was written",
                    undo.id
                )));
            }
            return Err(Failure::no(format!(
                "commit {commit} is not the last that can be taken back; nothing was written: \
                 `jukebox txn status --dir DIR` lists them, and `undo --dir DIR` takes back the last"
            )));
        }
        let preview = workspace.preview_undo()?;
        let outward = match last.and_then(|last| last.transaction.as_deref()) {
            Some(id) => Outward::of(id, &directory, around)?,
            None => Outward::default(),
        };
        if !preview.conflicts.is_empty() {
            self.tell((&directory, &outward), &preview, None, out)?;
            return Err(TransactionError::Conflicts(preview.conflicts).into());
        }
        if !self.change.json && !outward.rows.is_empty() {
            let line = "what remains of it outside the files:";
            out.line(Style::Strong, &SafeText::literal(line))?;
            effects::print(&outward.rows, out)?;
        }
        let done = match self.change.ask(&directory, &preview, out)? {
            Consent::Given => Some(workspace.undo()?),
            Consent::Withheld => None,
        };
        self.tell((&directory, &outward), &preview, done.as_ref(), out)?;
        Ok(Answer::no_if(done.is_some_and(|done| {
            !done.late.is_empty() || !outward.rows.is_empty()
        })))
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
        (directory, outward): (&Path, &Outward),
        preview: &Preview,
        done: Option<&Committed>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        if self.change.json {
            let mut object = change::object(directory, preview, done);
            object["effects"] = outward.rows.iter().map(fields::effect).collect::<Value>();
            return Ok(out.json(&object)?);
        }
        change::print_outcome(directory, preview, done, out)?;
        if done.is_some() && !outward.rows.is_empty() {
            out.line(Style::Doubt, &SafeText::line(&outward.in_words()))?;
        }
        Ok(())
    }
}

/// What a transaction did outside the files, and an undo of its commit leaves.
#[derive(Default)]
struct Outward {
    tape: PathBuf,
    rows: Vec<LedgerRow>,
}

impl Outward {
    /// Read from the tape of the transaction. One that is gone or cannot be read keeps nobody
    /// from an undo.
    fn of(id: &str, workspace: &Path, around: &Environment) -> Result<Self, Failure> {
        let entries = super::registry(around)?.entries()?;
        let entry = entries.iter().find(|entry| entry.id == id);
        let tape = entry.map_or_else(
            || {
                let tapes = workspace.join(STATE_DIRECTORY).join("tapes");
                tapes.join(format!("{id}.jsonl"))
            },
            |entry| entry.tape().to_owned(),
        );
        if !tape.exists() {
            return Ok(Self::default());
        }
        let id = SafeText::line(id);
        let mut rows = match super::ledger(&tape, around) {
            Ok(rows) => rows,
            Err(failure) => {
                let why = failure.line().unwrap_or_default();
                warn(&format!(
                    "what it did outside the files is not known: {why}"
                ));
                return Ok(Self::default());
            }
        };
        rows.retain(|row| row.transaction.as_ref() == Some(&id) && remains(row));
        Ok(Self { tape, rows })
    }

    fn in_words(&self) -> String {
        let named = self.rows.iter();
        let named = named.map(|row| format!("effect {}, {}", row.number, row.title()));
        let named: Vec<String> = named.collect();
        format!(
            "outside the files remains: {}; `jukebox effects {} --take-back` takes back what can be",
            named.join("; "),
            self.tape.display()
        )
    }
}

/// Whether something of an effect is left, or may come yet.
fn remains(row: &LedgerRow) -> bool {
    match row.state {
        EffectState::Failed | EffectState::Refused | EffectState::Compensated => false,
        EffectState::Done | EffectState::InDoubt => row.class.changes_something(),
        EffectState::Waiting
        | EffectState::CompensationFailed
        | EffectState::CompensationInDoubt => true,
    }
}

/// The commit that an undo takes back.
fn last_to_undo(status: &Status) -> Option<&Done> {
    let undone: BTreeSet<u64> = status.done.iter().filter_map(|done| done.undoes).collect();
    let mut done = status.done.iter().rev();
    done.find(|done| done.undoes.is_none() && !undone.contains(&done.id))
}
