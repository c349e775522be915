//! What may be asked about the transaction whose tape the run is, and what comes back.
//!
//! Nothing here works. Of all that is asked, [`TransactionJob::End`] alone changes anything.

use std::sync::Arc;

use super::{Answered, Slot};
use crate::debugger::{Prospect, Spot, TransactionEnd, TransactionEnded, TransactionStanding};
use crate::text::SafeText;
use crate::tui::reading::ReadingRow;

/// Something to find out or to do about the transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionJob {
    /// What has become of it. Reads the registry.
    Standing,
    /// The transaction at a place, set in lines.
    View {
        /// Where.
        at: Spot,
        /// How long a line may be.
        columns: u16,
    },
    /// What an end would do. Asks the process that holds it.
    Prospect(TransactionEnd),
    /// End it as was shown.
    End(Arc<Prospect>),
    /// Stop looking at what an end would do.
    Stop,
    /// How one path would change, set in lines.
    Patch {
        /// As was shown.
        prospect: Arc<Prospect>,
        /// Which path.
        of: PatchOf,
        /// How long a line may be.
        columns: u16,
    },
}

/// Which path a patch is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchOf {
    /// The change with this index.
    Change(usize),
    /// The conflict with this index.
    Conflict(usize),
}

/// The answer to a [`TransactionJob`].
#[derive(Clone, Debug)]
pub enum TransactionAnswer {
    /// To [`TransactionJob::Standing`]; `None`: nobody knows of one.
    Standing(Answered<Option<TransactionStanding>>),
    /// To [`TransactionJob::View`].
    View(Vec<ReadingRow>),
    /// To [`TransactionJob::Prospect`].
    Prospect(Answered<Box<Prospect>>),
    /// To [`TransactionJob::Prospect`], behind it, again and again: of the next changes, in
    /// order.
    Counted(Vec<LineCount>),
    /// To [`TransactionJob::End`].
    Ended(Answered<Box<TransactionEnded>>),
    /// To [`TransactionJob::Patch`].
    Patch(Vec<PatchRow>),
}

/// How many lines of a file a commit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineCount {
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
}

/// A piece of a line of a patch: long lines are broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchRow {
    /// What the line says.
    pub sort: PatchSort,
    /// The text.
    pub text: SafeText,
}

/// What a line of a patch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchSort {
    /// Which file, and what else is of it.
    Head,
    /// Where in the file.
    Hunk,
    /// A line that comes.
    Added,
    /// A line that goes.
    Removed,
    /// A line that stays.
    Kept,
    /// Something the program says about it.
    Remark,
}

impl TransactionJob {
    /// The slot of the job.
    pub(super) const fn slot(&self) -> Slot {
        match self {
            Self::Standing => Slot::Standing,
            Self::View { .. } => Slot::TransactionView,
            Self::Prospect(_) | Self::End(_) | Self::Stop => Slot::TransactionEnd,
            Self::Patch { .. } => Slot::ProposedPatch,
        }
    }
}
