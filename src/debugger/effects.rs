//! The ledger of effects at a place: what calls did outside the files so far, and what a
//! rollback would do about it.
//!
//! The ledger of the whole tape is made once, and goes on where the tape grew; a place in it
//! costs as many looks as rows are told.

use std::sync::{Mutex, PoisonError};

use super::{Debugger, Section, Spot};
use crate::effects::{EffectState, Fate, Ledger};
use crate::model::{EffectClass, Seq, StepNumber};
use crate::tape::{StepFlags, TransactionState};
use crate::text::{SafeText, human};

/// The effects up to a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerView {
    /// The effects, in the order in which they were asked for; the latest of them.
    pub rows: Vec<LedgerRow>,
    /// How many there are before these.
    pub earlier: usize,
}

/// An effect.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerRow {
    /// Its number on the tape.
    pub number: u32,
    /// The step in which it was asked for.
    pub step: StepNumber,
    /// What it is called.
    pub name: SafeText,
    /// What it was asked with.
    pub arguments: SafeText,
    /// What was declared of it.
    pub class: EffectClass,
    /// What the other side knows it by.
    pub key: SafeText,
    /// The transaction it was asked for in.
    pub transaction: Option<SafeText>,
    /// What became of it.
    pub state: EffectState,
    /// How it stands in its transaction.
    pub standing: Standing,
}

/// How an effect stands in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has none, or that committed.
    Settled,
    /// It is open, and this is what a rollback does.
    Open(Fate),
    /// It was rolled back, and this was left.
    Left,
    /// It was rolled back, and nothing of this was left.
    Dropped,
}

/// The ledger of a tape, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct LedgerSoFar(Mutex<(u32, Ledger)>);

impl Debugger {
    /// Whether any effect stands on the tape.
    pub fn has_effects(&self) -> bool {
        let steps = &self.tape.index.steps;
        let total = steps.total(0..steps.len());
        total.flags.has(StepFlags::EFFECTS)
    }

    /// The effects up to a place, at most so many.
    pub fn effects(&self, spot: Spot, most: usize) -> LedgerView {
        if !self.has_effects() {
            return LedgerView::default();
        }
        let events = &self.tape.index.events;
        let mut so_far = self.ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, ledger) = &mut *so_far;
        if *read > events.len() {
            (*read, *ledger) = (0, Ledger::default());
        }
        ledger.extend(&self.tape, *read);
        *read = events.len();
        let position = spot.cursor.position;
        let until = if position < events.len() {
            events.seq(position)
        } else {
            Seq(u64::MAX)
        };
        let entries = ledger.before(until);
        let earlier = entries.len().saturating_sub(most);
        let row = |entry: &crate::effects::Entry| {
            let asked = events.position(entry.asked());
            let step = asked.and_then(|position| events.get(position)?.step);
            let step = step.and_then(|step| self.tape.index.number_of(step));
            let standing = self.standing(entry, asked, until, position);
            let state = match (entry.state_before(until), standing) {
                // Whoever held the transaction may have been too short of time to say so.
                (EffectState::Waiting, Standing::Dropped) => EffectState::Refused,
                (state, _) => state,
            };
            LedgerRow {
                number: entry.number,
                step: step.unwrap_or_default(),
                name: SafeText::line(&entry.name),
                arguments: SafeText::line(&entry.arguments),
                class: entry.class,
                key: SafeText::line(&entry.key),
                transaction: entry.txn.as_deref().map(SafeText::line),
                state,
                standing,
            }
        };
        LedgerView {
            rows: entries.iter().skip(earlier).map(row).collect(),
            earlier,
        }
    }

    fn standing(
        &self,
        entry: &crate::effects::Entry,
        asked: Option<u32>,
        until: Seq,
        position: u32,
    ) -> Standing {
        let index = &self.tape.index;
        // The id of a transaction may come again: the one that was open then is meant.
        let transaction = entry.txn.as_deref().zip(asked).and_then(|(txn, asked)| {
            let begun = index
                .transactions
                .partition_point(|entry| entry.begin <= asked);
            let before = index.transactions.get(..begun)?.iter().rev();
            let is_it = |branch: u16| {
                let branch = index.branches.get(usize::from(branch));
                branch.is_some_and(|branch| branch.name == txn)
            };
            before
                .take(MAX_OPEN)
                .find(|transaction| is_it(transaction.branch))
        });
        let Some(transaction) = transaction else {
            return Standing::Settled;
        };
        let fate = entry.fate_before(until);
        match (transaction.end, transaction.state) {
            (Some(end), TransactionState::RolledBack) if end < position => match fate {
                Fate::Nothing | Fate::NotSent => Standing::Dropped,
                Fate::Compensated | Fate::Remains | Fate::Asked => Standing::Left,
            },
            (Some(end), _) if end < position => Standing::Settled,
            _ => Standing::Open(fate),
        }
    }
}

/// Transactions that are looked through for the one of an effect.
const MAX_OPEN: usize = 64;

impl LedgerRow {
    /// What it is called, with what it was asked with.
    pub fn title(&self) -> SafeText {
        let mut title = self.name.clone();
        if title.is_empty() {
            title = self.key.clone();
        }
        if !self.arguments.is_empty() {
            title.push(&SafeText::literal(" "));
            title.push(&self.arguments);
        }
        title
    }

    /// What became of it, and of it in its transaction, in words.
    pub fn in_words(&self) -> String {
        let state = self.state.in_words();
        match self.standing {
            Standing::Settled | Standing::Dropped | Standing::Open(Fate::Nothing) => {
                state.to_owned()
            }
            Standing::Left => format!("{state}; the rollback left it"),
            Standing::Open(fate) => format!("{state}; a rollback {}", fate.in_words()),
        }
    }
}

impl LedgerView {
    /// All of it in words, as sections to read: the latest first, since a place on the tape is
    /// about that.
    pub fn sections(&self) -> Vec<Section> {
        let mut lines = Vec::new();
        for row in self.rows.iter().rev() {
            let sign = row.state.sign();
            lines.push(format!("{sign} {} {}", row.number, row.title()));
            lines.push(format!("    {}", row.in_words()));
            lines.push(format!(
                "    {}, step {}, key {}",
                row.class, row.step, row.key
            ));
        }
        if self.rows.is_empty() {
            lines.push("None up to here.".to_owned());
        }
        if self.earlier > 0 {
            let more = human::plural(self.earlier as u64, "earlier one", "earlier ones");
            lines.push(format!("… and {more}"));
        }
        let name = "effects outside the files, the latest first";
        vec![Section::of_lines(name, &lines)]
    }
}
