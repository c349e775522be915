//! Checkout: a tree written to disk, below a new or empty directory that the user named.
//!
//! What a tape says of paths and links was written by strangers. So a [`Plan`] decides
//! first, from the whole tree, what is written and what is not; then each component is
//! opened below the one before it and no link is ever followed. What was left out, or is not
//! known exactly, is a row of the [`Report`].
//!
//! Nothing here writes into a workspace, or sets a bit that lends rights (setuid, setgid,
//! sticky). A file that is there is replaced only where a tree that was written here is brought
//! to another state ([`Plan::renew`]). Trees of the program's own lie in a [`Scratch`].

mod beneath;
mod plan;
mod scratch;
mod working;

use std::io;
use std::path::PathBuf;

pub use plan::Plan;
pub use scratch::{Scratch, remove_tree};
pub use working::WorkingTree;

use crate::model::{BlobHash, Certainty, TapePath};
use crate::tape::BlobError;

/// A path of the tree to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where.
    pub path: TapePath,
    /// Permission bits; `None`: what the system gives a new file.
    pub mode: Option<u32>,
    /// How well it is known.
    pub certainty: Certainty,
    /// What it is.
    pub item: Item,
}

/// What a path of the tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A file with its last known content; `None` where none is known as a whole.
    File(Option<BlobHash>),
    /// A directory.
    Directory,
    /// A link with its text.
    Link(Vec<u8>),
}

/// What becomes of links whose text may lead out of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutsideLinks {
    /// They are left out.
    #[default]
    Skip,
    /// They are written, and as little followed as any.
    Write,
}

/// What became of a tree: a row for each entry, in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The rows.
    pub rows: Vec<Row>,
}

impl Report {
    /// The rows that were left out.
    pub fn skipped(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.skipped.is_some())
    }

    /// The rows that were written, and may not be what the file held.
    pub fn doubtful(&self) -> impl Iterator<Item = &Row> {
        let is_doubtful = |row: &&Row| row.certainty != Certainty::Exact;
        self.rows
            .iter()
            .filter(|row| row.skipped.is_none())
            .filter(is_doubtful)
    }

    /// Whether the directory holds exactly the workspace. Files outside the workspace are
    /// not part of it.
    pub fn is_exact(&self) -> bool {
        self.rows.iter().all(|row| match row.skipped {
            Some(Skipped::OutsideWorkspace) => true,
            Some(_) => false,
            None => row.certainty == Certainty::Exact,
        })
    }
}

/// What became of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its path.
    pub path: TapePath,
    /// How well it is known.
    pub certainty: Certainty,
    /// Why it was left out; `None`: it was written.
    pub skipped: Option<Skipped>,
}

/// Why an entry was left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Skipped {
    /// The run named a file outside its workspace; only what is inside is written.
    #[error("it lies outside the workspace")]
    OutsideWorkspace,
    /// A link may lead out of the tree.
    #[error("it is a link that leads out of the tree")]
    LinkLeaves,
    /// A directory above it is a link, or something else that is no directory.
    #[error("it lies below a link")]
    BelowLink,
    /// Its content is not known as a whole.
    #[error("its content is not known")]
    NotKnown,
    /// Its content is not on the tape, or damaged.
    #[error("{0}")]
    Unreadable(String),
    /// Something stands in its place already.
    #[error("something stands in its place already")]
    Occupied,
    /// The system refused.
    #[error("{0}")]
    Failed(String),
}

impl Skipped {
    fn unreadable(error: BlobError) -> Self {
        Self::Unreadable(error.to_string())
    }

    /// The fixed word, as printed by `--json`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::OutsideWorkspace => "outside-workspace",
            Self::LinkLeaves => "link-leaves",
            Self::BelowLink => "below-link",
            Self::NotKnown => "not-known",
            Self::Unreadable(_) => "unreadable",
            Self::Occupied => "occupied",
            Self::Failed(_) => "failed",
        }
    }
}

/// Why nothing more is written.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// There is something in the directory.
    #[error("`{}` is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The name is taken by something else than a directory; a link is something else.
    #[error("`{}` is no directory", .0.display())]
    NotADirectory(PathBuf),
    /// The directory could not be made or opened.
    #[error("`{}` cannot be made or opened: {source}", path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What stood there before could not be removed.
    #[error("{} cannot be removed: {source}", path.to_text())]
    NotRemoved {
        /// Its path.
        path: TapePath,
        /// Why.
        source: io::Error,
    },
    /// Whoever was told how far it had come broke it off. What was written so far is there.
    #[error("stopped after {written} of {of} entries")]
    BrokenOff {
        /// How many entries were written.
        written: usize,
        /// How many there are.
        of: usize,
    },
    /// The disk takes no more. What was written so far is there.
    #[error("writing stopped after {written} entries: {source}")]
    Stopped {
        /// How many entries were written.
        written: usize,
        /// Why.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests;
