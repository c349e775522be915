//! What may be asked about the forks of the run and about what it is a fork of, and what comes
//! back.
//!
//! Nothing here works. Of all that is asked, [`ForkTreeJob::Rename`] and [`ForkTreeJob::Delete`]
//! alone change anything: a fork's tape.

use std::path::PathBuf;

use super::{Answered, Slot};
use crate::debugger::{ForkAccount, ForkPoints, ForkRow};

/// Something to find out or to do about forks.
#[derive(Clone, Debug, PartialEq)]
pub enum ForkTreeJob {
    /// Where forks leave a branch of the run.
    Points {
        /// The branch.
        branch: u16,
    },
    /// The tree, and what became of each fork in it.
    Tree,
    /// Nobody looks at it any more.
    Stop,
    /// Give a fork's tape another name.
    Rename {
        /// The id of the fork.
        id: String,
        /// Its tape.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Delete a fork's tape.
    Delete {
        /// The id of the fork.
        id: String,
        /// Its tape.
        path: PathBuf,
    },
    /// Hold the run against the one in this file.
    Beside(PathBuf),
}

/// The answer to a [`ForkTreeJob`].
#[derive(Clone, Debug)]
pub enum ForkTreeAnswer {
    /// To [`ForkTreeJob::Points`].
    Points(ForkPoints),
    /// To [`ForkTreeJob::Tree`]: the tapes, each behind the one it left.
    Tree(Vec<ForkRow>),
    /// To [`ForkTreeJob::Tree`], behind it, for each fork that is there: what became of it.
    Account {
        /// The id of the fork.
        id: String,
        /// What its tape tells.
        account: Answered<ForkAccount>,
    },
    /// To [`ForkTreeJob::Rename`]: where it lies now.
    Renamed(Answered<PathBuf>),
    /// To [`ForkTreeJob::Delete`]: where it lay.
    Deleted(Answered<PathBuf>),
    /// To [`ForkTreeJob::Beside`].
    Beside(Answered<()>),
}

impl ForkTreeJob {
    /// The slot of the job.
    pub(super) const fn slot(&self) -> Slot {
        match self {
            Self::Points { .. } => Slot::ForkPoints,
            Self::Tree | Self::Stop | Self::Rename { .. } | Self::Delete { .. } => Slot::ForkTree,
            Self::Beside(_) => Slot::Right,
        }
    }
}
