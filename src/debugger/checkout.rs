//! The tree of a place, written to disk: what the state holds, handed to [`crate::checkout`].

use std::path::Path;

use super::Debugger;
pub use crate::checkout::{
    CheckoutError, OutsideLinks, Report as CheckoutReport, Row as CheckoutRow, Skipped,
};
use crate::checkout::{Entry, Item, Plan};
use crate::model::{Cursor, EntryKind, TapePath, Tell};
use crate::state::{Child, ContentRef, FileState};

/// How a tree is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckoutOptions {
    /// What becomes of links that may lead out of the tree.
    pub links: OutsideLinks,
    /// What becomes of a tree that is not known exactly.
    pub doubt: Doubt,
}

/// What becomes of a tree that is not known exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doubt {
    /// What is known is written, the last known content where something may have changed it.
    #[default]
    WriteKnown,
    /// Nothing is written.
    WriteNothing,
}

/// What became of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// Each entry.
    pub report: CheckoutReport,
    /// Whether it was written, as the report says; otherwise it would have been.
    pub is_written: bool,
}

impl Debugger {
    /// Writes the tree of a place into a directory that is empty or not there yet. Costs a
    /// read of every content; with [`Doubt::WriteNothing`] two of those that are not cached. A
    /// break of `tell` ends it, and leaves what was written.
    pub fn checkout(
        &self,
        at: Cursor,
        directory: &Path,
        options: CheckoutOptions,
        tell: &mut Tell<'_>,
    ) -> Result<Checkout, CheckoutError> {
        let plan = Plan::new(self.entries(at), options.links);
        if options.doubt == Doubt::WriteNothing {
            let report = plan.rehearse(&self.tape);
            if !report.is_exact() {
                let is_written = false;
                return Ok(Checkout { report, is_written });
            }
        }
        Ok(Checkout {
            report: plan.write(directory, &self.tape, tell)?,
            is_written: true,
        })
    }

    /// All that the state knows at a place, as entries of a tree.
    pub(super) fn entries(&self, at: Cursor) -> Vec<Entry> {
        let mut entries = Vec::new();
        let blobs = &self.tape.index.blobs;
        self.state.walk(blobs, at, &mut |child: Child| {
            if let Some(path) = self.state.paths.path(child.path) {
                entries.push(self.entry(path, &child.state));
            }
        });
        entries
    }

    /// A path in a state, as an entry of a tree.
    pub(super) fn entry(&self, path: TapePath, state: &FileState) -> Entry {
        let item = match (state.kind, state.content) {
            (EntryKind::Directory, _) => Item::Directory,
            (EntryKind::Link, ContentRef::Target(position)) => {
                match self.link_target(position, &path) {
                    Some(target) => Item::Link(target),
                    None => Item::File(None),
                }
            }
            (EntryKind::File, ContentRef::Blob(id)) => {
                Item::File(self.blob_head(id, state.since).0)
            }
            _ => Item::File(None),
        };
        Entry {
            path,
            mode: state.mode,
            certainty: state.certainty,
            item,
        }
    }
}
