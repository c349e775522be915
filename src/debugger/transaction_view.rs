//! The transaction at a place of a run, to be read: how it stands, its savepoints, the paths it
//! changed so far, what it did outside.
//!
//! All of it is the tape's; what has become of the transaction since then is told by its
//! [link](super::TransactionLink). Costs a look back over a bounded number of steps.

use super::{Debugger, LedgerRow, Section, Spot, TransactionStanding};
use crate::model::{Body, Cursor, Kind, StepKind, StepNumber};
use crate::tape::{StepTotal, TransactionEntry, TransactionState};
use crate::text::{SafeText, human};
use crate::transaction::hold::HeldState;

/// The transaction that is open at a place, or else the last one that ended before it.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionView {
    /// What the tape calls it.
    pub id: SafeText,
    /// The step that began it.
    pub began: StepNumber,
    /// The step that ended it, and whether that was a rollback; `None`: it is open here.
    pub ended: Option<(StepNumber, bool)>,
    /// The workspace, what keeps commands from it, and what must be as it was at the commit,
    /// as far as the header says.
    pub facts: Vec<(&'static str, SafeText)>,
    /// Its savepoints up to here, the earliest first.
    pub savepoints: Vec<(StepNumber, SafeText)>,
    /// The paths that it changed up to here, each with its letter; not all of them.
    pub changes: Vec<(char, SafeText)>,
    /// How many there are in all.
    pub changed: usize,
    /// What it did outside the files up to here.
    pub effects: Vec<LedgerRow>,
}

/// Transactions, steps and effects that are looked at.
const MAX_LOOKED_AT: usize = 4096;
/// Paths that are listed.
const MAX_PATHS: usize = 200;

impl Debugger {
    /// Whether the run has a transaction.
    pub fn has_transactions(&self) -> bool {
        !self.tape.index.transactions.is_empty()
    }

    /// The transaction at a place; `None` where none had begun.
    pub fn transaction(&self, spot: Spot) -> Option<TransactionView> {
        let index = &self.tape.index;
        let entry = self.transaction_at(spot)?;
        let branch = index.branches.get(usize::from(entry.branch))?;
        let line = self.line_of(spot);
        let step_of = |position| self.after_event(Some(line), position).step;
        let position = spot.cursor.position;
        let end = entry.end.filter(|end| *end < position);
        let covers = &self.header.covers;
        let fact = |what: &'static str, key: &str| {
            Some((what, SafeText::line(covers.get(key)?.as_str()?)))
        };
        let workspace = self.header.root.as_deref();
        let workspace = workspace.map(|root| ("workspace", SafeText::line(root)));
        let at = |position| Cursor {
            position,
            branch: entry.branch,
        };
        let until = end.unwrap_or(position);
        let changes = self.changes(at(entry.begin + 1), at(until));
        let letter = |row: super::ChangeRow| (row.letter(), row.names());
        let effects = self.effects(spot, MAX_LOOKED_AT).rows.into_iter();
        let name = SafeText::line(&branch.name);
        Some(TransactionView {
            began: step_of(entry.begin),
            ended: end.map(|end| {
                let is_rolled_back = entry.state == TransactionState::RolledBack;
                (step_of(end), is_rolled_back)
            }),
            facts: workspace
                .into_iter()
                .chain(fact("guard", "sandbox"))
                .chain(fact("isolation", "isolation"))
                .collect(),
            savepoints: self.savepoints(entry, spot),
            changed: changes.len(),
            changes: changes.iter().take(MAX_PATHS).map(letter).collect(),
            effects: effects
                .filter(|row| row.transaction.as_ref() == Some(&name))
                .collect(),
            id: name,
        })
    }

    /// The last one that began before a place on its line, an open one before others.
    fn transaction_at(&self, spot: Spot) -> Option<&TransactionEntry> {
        let index = &self.tape.index;
        let (line, position) = (self.line_of(spot), spot.cursor.position);
        if let Some(entry) = index.transaction_on(spot.cursor.branch) {
            return Some(entry);
        }
        let begun = index
            .transactions
            .partition_point(|entry| entry.begin < position);
        let begun = index.transactions.get(..begun)?.iter().rev();
        let mut here = begun
            .take(MAX_LOOKED_AT)
            .filter(|entry| self.line_of_branch(entry.branch) == line);
        let last = here.next()?;
        let is_open = |entry: &&TransactionEntry| entry.end.is_none_or(|end| end >= position);
        std::iter::once(last)
            .chain(here)
            .find(is_open)
            .or(Some(last))
    }

    fn savepoints(&self, entry: &TransactionEntry, spot: Spot) -> Vec<(StepNumber, SafeText)> {
        let index = &self.tape.index;
        let may_hold = |total: &StepTotal| total.has_kind(StepKind::Transaction);
        let numbers = 1..spot.step.0.saturating_add(1);
        let steps = self
            .steps_back(self.line_of(spot), numbers, may_hold)
            .take(MAX_LOOKED_AT)
            .take_while(|(_, step)| step.opened >= entry.begin);
        let saves = steps.filter(|(_, step)| {
            let kind = index.events.kind(step.opened);
            kind == Some(Kind::TxnSavepoint) && step.lane.view == entry.branch
        });
        let mut found: Vec<_> = saves
            .filter(|(_, step)| step.opened < spot.cursor.position)
            .filter_map(|(step, saved)| {
                let event = self.tape.event(saved.opened).ok()?;
                let Body::TxnSavepoint { name } = event.body else {
                    return None;
                };
                Some((index.number_of(step)?, SafeText::line(&name)))
            })
            .collect();
        found.reverse();
        found
    }
}

impl TransactionStanding {
    /// What has become of it, in one line.
    pub fn in_words(&self) -> String {
        let id = &self.id;
        match self.state {
            HeldState::Open if self.is_within_reach => {
                "open: a process holds it until it is committed or rolled back".to_owned()
            }
            HeldState::Open => {
                "open: the command that it records holds it, and commits it or asks when it ends"
                    .to_owned()
            }
            HeldState::Committing => "being committed right now".to_owned(),
            HeldState::Abandoned => format!(
                "abandoned: the process that held it is gone, and the workspace is untouched; \
                 `jukebox txn recover {id}` with --salvage NEW copies out what it had written, with \
                 --drop removes it"
            ),
            HeldState::CutOff => format!(
                "cut off: the process that held it ended while it committed, and old and new files \
                 are kept; `jukebox txn recover {id}` finishes it"
            ),
            HeldState::Unclear => format!(
                "unclear: the process that held it ended while it committed, and later commits cover \
                 what became of that; `jukebox txn recover {id}` with --salvage NEW copies out what \
                 it had written"
            ),
            HeldState::Committed(Some(commit)) => {
                format!("committed, by commit {commit}; `jukebox txn undo {id}` takes it back")
            }
            HeldState::Committed(None) => "committed; nothing had to change".to_owned(),
        }
    }
}

impl TransactionView {
    /// All of it in words, as sections to read; with what has become of it since, where that is
    /// known.
    pub fn sections(&self, standing: Option<&TransactionStanding>) -> Vec<Section> {
        let mut facts = vec![("began", format!("in step {}", self.began))];
        facts.push((
            "here",
            match self.ended {
                None => "open".to_owned(),
                Some((step, true)) => format!("rolled back in step {step}"),
                Some((step, false)) => format!("committed in step {step}"),
            },
        ));
        if let Some(standing) = standing.filter(|standing| self.id.as_str() == standing.id) {
            facts.push(("now", standing.in_words()));
        }
        let told = self.facts.iter();
        facts.extend(told.map(|(what, words)| (*what, words.to_string())));
        let widest = facts.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
        let facts = facts
            .iter()
            .map(|(what, words)| format!("{what:<widest$}  {words}"));
        let savepoints = self.savepoints.iter();
        let savepoints = savepoints.map(|(step, name)| format!("{name}, step {step}"));
        let paths = self.changes.iter();
        let paths = paths.map(|(letter, names)| format!("{letter} {names}"));
        let more = self.changed - self.changes.len().min(self.changed);
        let more = (more > 0).then(|| format!("… and {} more", human::count(more as u64)));
        let effects = self.effects.iter().rev().flat_map(|row| {
            let sign = row.state.sign();
            let title = format!("{sign} {} {}", row.number, row.title());
            [title, format!("    {}", row.in_words())]
        });
        let changed = human::plural(self.changed as u64, "path", "paths");
        vec![
            Section::of_lines(
                &format!("transaction {}", self.id),
                &facts.collect::<Vec<_>>(),
            ),
            of_some("savepoints", savepoints.collect(), "None up to here."),
            of_some(
                &format!("{changed} changed, up to here"),
                paths.chain(more).collect(),
                "Nothing that was recorded.",
            ),
            of_some(
                "effects outside the files, the latest first",
                effects.collect(),
                "None up to here.",
            ),
        ]
    }
}

fn of_some(name: &str, lines: Vec<String>, nothing: &str) -> Section {
    match lines.as_slice() {
        [] => Section::of_lines(name, &[nothing.to_owned()]),
        lines => Section::of_lines(name, lines),
    }
}
