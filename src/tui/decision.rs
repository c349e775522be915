//! The end of the open transaction, from the question to what became of it.
//!
//! A person asks for a commit or a rollback, sees what that would do, and says yes or does not.
//! Nothing is done before the yes, and the yes means what was shown. Here is the state alone;
//! how it is asked and answered is in `update`, what it says in `overlay`.

use std::sync::Arc;

use super::held::{Held, Ticket};
use super::job::{LineCount, PatchOf, PatchRow};
use crate::debugger::{Prospect, TransactionEnd, TransactionEnded};
use crate::text::SafeText;

/// What is to become of the transaction.
#[derive(Debug)]
pub(super) struct Decision {
    /// The end that was asked for.
    pub(super) end: TransactionEnd,
    /// How far it is.
    pub(super) stage: Stage,
    /// The chosen row, as far as there are so many; none where nobody chose one yet.
    pub(super) chosen: Option<usize>,
    /// A change that is looked at.
    pub(super) patch: Option<OpenPatch>,
}

/// How far a decision is.
#[derive(Debug)]
pub(super) enum Stage {
    /// What the end would do is being found out; and why it is asked again.
    Asking(Ticket, Option<&'static str>),
    /// It is shown.
    Shown(Shown),
    /// It is being done.
    Ending(Ticket, Shown),
    /// It was done.
    Ended(Arc<Prospect>, TransactionEnded),
    /// It cannot be done, and why.
    Failed(SafeText),
}

/// What an end would do, as it is shown.
#[derive(Debug)]
pub(super) struct Shown {
    /// What it would do.
    pub(super) prospect: Arc<Prospect>,
    /// Of the first changes, how many lines they change: the others are being counted.
    pub(super) counts: Vec<LineCount>,
    /// By which the next counts are known.
    pub(super) counting: Ticket,
    /// Why it is shown once more.
    pub(super) remark: Option<&'static str>,
}

/// A change that is looked at.
#[derive(Debug)]
pub(super) struct OpenPatch {
    /// Which one.
    pub(super) of: PatchOf,
    /// Its lines.
    pub(super) rows: Held<Vec<PatchRow>>,
}

impl Decision {
    /// The end was asked for, and what it would do is being found out.
    pub(super) const fn new(end: TransactionEnd, ticket: Ticket) -> Self {
        Self {
            end,
            stage: Stage::Asking(ticket, None),
            chosen: None,
            patch: None,
        }
    }

    /// Whether an answer is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        let is_open = |patch: &OpenPatch| patch.rows.is_waiting();
        matches!(self.stage, Stage::Asking(..) | Stage::Ending(..))
            || self.patch.as_ref().is_some_and(is_open)
    }

    /// What is shown, if something is and nothing was decided yet.
    pub(super) const fn shown(&self) -> Option<&Shown> {
        match &self.stage {
            Stage::Shown(shown) => Some(shown),
            _ => None,
        }
    }

    /// What can be said yes to.
    pub(super) fn offered(&self) -> Option<&Shown> {
        let is_possible = |shown: &&Shown| shown.prospect.conflicts.is_empty();
        self.shown().filter(is_possible)
    }
}
