//! The transaction whose tape a run is: what has become of it, what its end would do, and that
//! end.
//!
//! Looking it up reads the user's registry and nothing else. Only who asks what an end would
//! do, or for the end, reaches the process that holds the transaction. Nothing is committed
//! that was not shown before.

use std::path::PathBuf;

use super::transactions::HeldTransaction;
use super::{Debugger, LedgerRow, Places, Source, Standing};
use crate::effects::{EffectState, Fate, RolledBack};
use crate::model::Place;
use crate::text::SafeText;
use crate::transaction::hold::{Entry, HeldState, HoldError, LookUpError, Registry};
use crate::transaction::{Conflict, Ended, OpenTransactionError, Proposed, TransactionError};

/// The way from a run to the transaction whose tape it is. Holds nothing open.
#[derive(Clone, Debug)]
pub struct TransactionLink {
    registry: Registry,
    tape: PathBuf,
    places: Places,
}

/// What has become of a transaction, as the registry knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionStanding {
    /// Its id.
    pub id: String,
    /// The workspace.
    pub workspace: PathBuf,
    /// How far it is.
    pub state: HeldState,
    /// Whether its holder can be asked for anything. One that a command holds by itself
    /// answers to nobody but whoever typed it.
    pub is_within_reach: bool,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEnd {
    /// What it changed becomes real.
    Commit,
    /// It is forgotten.
    RollBack,
}

/// What an end of a transaction would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Prospect {
    /// Which end.
    pub end: TransactionEnd,
    /// Of which transaction.
    pub transaction: TransactionStanding,
    /// The paths that are committed or forgotten, sorted.
    pub changes: Vec<Proposed>,
    /// What forbids a commit.
    pub conflicts: Vec<Conflict>,
    /// The effects that it has to do with: of a commit, those that wait for it or are in
    /// doubt; of a rollback, all that it takes back or leaves.
    pub effects: Vec<LedgerRow>,
}

/// How a transaction was ended.
#[derive(Clone, Debug)]
pub enum TransactionEnded {
    /// It was committed.
    Committed(Ended),
    /// It was rolled back.
    RolledBack(RolledBack),
    /// Somebody else changed what it changes: nothing was written, and it is still open.
    Conflicts(Vec<Conflict>),
    /// It is no longer what was shown: nothing was done, and it is to be looked at again.
    Changed,
}

/// The transaction of a run cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Nobody holds one on this tape.
    #[error(
        "no process of yours holds a transaction on this tape: it was rolled back, or began \
         elsewhere; `jukebox txn status` lists those that are open"
    )]
    None,
    /// Its holder did not do it.
    #[error("{}", .0.advised())]
    Held(#[from] HoldError),
}

impl From<LookUpError> for LinkError {
    fn from(error: LookUpError) -> Self {
        Self::Held(error.into())
    }
}

impl Debugger {
    /// The way to the transaction whose tape this is. `None` where the run has none, is no
    /// file, or the user has no place to keep transactions in.
    pub fn transaction_link(&self) -> Option<TransactionLink> {
        let has_any = self.has_transactions();
        let tape = self.tape_file().filter(|_| has_any)?;
        Some(TransactionLink {
            registry: Registry::new(self.places.state.as_deref()?),
            tape: tape.to_owned(),
            places: self.places.clone(),
        })
    }
}

impl TransactionLink {
    /// What has become of the transaction; `None`: it is not known, or was rolled back. Reads
    /// small files.
    pub fn standing(&self) -> Result<Option<TransactionStanding>, LookUpError> {
        let entry = self.registry.of_tape(&self.tape)?;
        Ok(entry.map(|entry| self.standing_of(&entry)))
    }

    /// What an end would do. Nothing is done. Asks the holder, and reads the tape for what was
    /// done outside.
    pub fn prospect(&self, end: TransactionEnd) -> Result<Prospect, LinkError> {
        self.prospect_of(&self.held()?, end)
    }

    /// Ends the transaction, if what that does is still what was shown.
    pub fn end(&self, shown: &Prospect) -> Result<TransactionEnded, LinkError> {
        let held = self.held()?;
        let now = self.prospect_of(&held, shown.end)?;
        if !is_same(&now, shown) {
            return Ok(TransactionEnded::Changed);
        }
        match shown.end {
            TransactionEnd::RollBack => Ok(TransactionEnded::RolledBack(held.roll_back(None)?)),
            TransactionEnd::Commit => match held.commit() {
                Ok(ended) => Ok(TransactionEnded::Committed(ended)),
                Err(HoldError::Open(OpenTransactionError::Transaction(
                    TransactionError::Conflicts(conflicts),
                ))) => Ok(TransactionEnded::Conflicts(conflicts)),
                Err(error) => Err(error.into()),
            },
        }
    }

    fn held(&self) -> Result<HeldTransaction, LinkError> {
        let entry = self.registry.of_tape(&self.tape)?.ok_or(LinkError::None)?;
        Ok(HeldTransaction::find(&self.registry, &entry.id)?)
    }

    fn standing_of(&self, entry: &Entry) -> TransactionStanding {
        TransactionStanding {
            id: entry.id.clone(),
            workspace: entry.workspace().to_owned(),
            state: self.registry.state(entry),
            is_within_reach: !entry.is_attended(),
        }
    }

    fn prospect_of(
        &self,
        held: &HeldTransaction,
        end: TransactionEnd,
    ) -> Result<Prospect, LinkError> {
        let mut changes = held.proposed()?;
        let mut conflicts = Vec::new();
        if end == TransactionEnd::Commit {
            let preview = held.preview()?;
            // What is there already does not become so.
            changes.retain(|change| {
                let at = |path| preview.changes.binary_search_by(|it| it.path.cmp(path));
                at(&change.path).is_ok() || !preview.conflicts.is_empty()
            });
            conflicts = preview.conflicts;
        }
        let entry = held.entry();
        let mut effects = self.effects_of(entry);
        effects.retain(|row| match (end, row.standing) {
            (TransactionEnd::Commit, _) => {
                matches!(row.state, EffectState::Waiting | EffectState::InDoubt)
            }
            (TransactionEnd::RollBack, Standing::Open(fate)) => fate != Fate::Nothing,
            (TransactionEnd::RollBack, _) => false,
        });
        Ok(Prospect {
            end,
            transaction: self.standing_of(entry),
            changes,
            conflicts,
            effects,
        })
    }

    /// What it did outside the files, as its tape tells now: the run on a screen may be behind.
    fn effects_of(&self, entry: &Entry) -> Vec<LedgerRow> {
        let options = super::OpenOptions {
            places: self.places.clone(),
            ..super::OpenOptions::default()
        };
        let run = Debugger::open(Source::Path(entry.tape().to_owned()), &options);
        let rows = run.ok().and_then(|run| {
            let end = run.locate(&Place::END).ok()?;
            Some(run.effects(end, usize::MAX).rows)
        });
        let id = SafeText::line(&entry.id);
        let rows = rows.into_iter().flatten();
        rows.filter(|row| row.transaction.as_ref() == Some(&id))
            .collect()
    }
}

/// Whether both do the same, wherever the bytes lie that are written.
fn is_same(one: &Prospect, two: &Prospect) -> bool {
    let of = |prospect: &Prospect| -> Vec<_> {
        let changes = prospect.changes.iter();
        let paths = changes.map(|it| (it.path.clone(), it.ours.clone()));
        paths.collect()
    };
    let effects = |prospect: &Prospect| -> Vec<_> {
        let rows = prospect.effects.iter();
        rows.map(|row| (row.number, row.state)).collect()
    };
    one.transaction.id == two.transaction.id && of(one) == of(two) && effects(one) == effects(two)
}
