//! The versions of a file, from the first one on: over renames, and into transactions.

use std::collections::HashSet;

use super::super::Debugger;
use crate::model::{Body, Certainty, Cursor, FileOp, Kind, TapePath};
use crate::state::{FileState, PathId};

/// A file as it was for a while.
pub(super) struct Version {
    /// What it was called.
    pub(super) node: PathId,
    /// The event that made it so; `None`: it was so before any.
    pub(super) event: Option<u32>,
    /// What is known of it.
    pub(super) state: FileState,
    /// Whether it is known what it was just before, or that it was not there.
    pub(super) is_base_certain: bool,
    /// Nothing of the file is known from before.
    pub(super) is_first: bool,
}

/// Before this version, what?
enum Base {
    /// The same file, under this name, at this place.
    Same(PathId, Cursor),
    /// It was not there.
    Nothing,
    /// Nobody knows.
    Unknown,
}

impl Debugger {
    /// The versions of a file up to a place, in order.
    pub(super) fn history(&self, at: Cursor, node: PathId) -> Vec<Version> {
        let blobs = &self.tape.index.blobs;
        let mut versions = Vec::new();
        let (mut at, mut node) = (at, node);
        // Transactions that were gone into: none is gone into twice.
        let mut entered = HashSet::new();
        loop {
            let version = self.state.version_before(at.branch, node, at.position);
            let Some(version) = version else {
                // What was only looked at stood there before.
                if let Some(state) = self.state.at(blobs, at, node) {
                    versions.push(Version {
                        node,
                        event: None,
                        state,
                        is_base_certain: true,
                        is_first: true,
                    });
                }
                break;
            };
            let event = version.position - 1;
            if let Some(inside) = self.committed_at(event)
                && entered.insert(event)
            {
                at = inside;
                continue;
            }
            let here = Cursor {
                branch: at.branch,
                ..version
            };
            let Some(state) = self.state.at(blobs, here, node) else {
                break;
            };
            let base = self.base_of(here, node);
            let is_base_certain = match &base {
                Base::Same(node, before) => {
                    let before = self.state.at(blobs, *before, *node);
                    before.is_some_and(|before| is_certain(before.certainty))
                }
                Base::Nothing => true,
                Base::Unknown => false,
            };
            versions.push(Version {
                node,
                event: Some(event),
                state,
                is_base_certain,
                is_first: !matches!(base, Base::Same(..)),
            });
            match base {
                Base::Same(before, place) => (node, at) = (before, place),
                Base::Nothing | Base::Unknown => break,
            }
        }
        versions.reverse();
        versions
    }

    /// Where to look for what an event brought, if it committed a transaction.
    fn committed_at(&self, event: u32) -> Option<Cursor> {
        let index = &self.tape.index;
        let entry = index.events.get(event)?;
        if entry.kind != Kind::TxnCommit {
            return None;
        }
        let lane = index.steps.get(entry.step?)?.lane;
        (lane.view != lane.line).then_some(Cursor {
            position: event,
            branch: lane.view,
        })
    }

    /// What was there before the version that begins just before `here`.
    fn base_of(&self, here: Cursor, node: PathId) -> Base {
        let blobs = &self.tape.index.blobs;
        let before = Cursor {
            position: here.position - 1,
            ..here
        };
        match self.state.at(blobs, before, node) {
            Some(state) if state.certainty != Certainty::Absent => return Base::Same(node, before),
            _ => {}
        }
        if let Some(from) = self.moved_from(before, node) {
            return from;
        }
        let was_absent = self.state.at(blobs, before, node).is_some()
            || self.state.is_known_absent(before, node);
        if was_absent {
            Base::Nothing
        } else {
            Base::Unknown
        }
    }

    /// Where the file was before that an event moved here, or that its step removed elsewhere
    /// with the same content.
    fn moved_from(&self, before: Cursor, node: PathId) -> Option<Base> {
        let path = self.state.paths.path(node)?;
        if let Some(from) = self.renamed_by(before.position, &path) {
            let from = self.state.paths.find(&from)?;
            return Some(Base::Same(from, before));
        }
        let line = self.line_of_branch(before.branch);
        let after = self.spot_of_change(line, before.position);
        let changes = self.changes(self.spot_before(after).cursor, after.cursor);
        let from = changes.get(changes.index_of(&path)?)?.from?;
        let from = self.state.paths.find(&from)?;
        // It may have been removed before it came, or only then.
        let gone = self
            .state
            .version_before(before.branch, from, after.cursor.position)?;
        let position = before.position.min(gone.position - 1);
        Some(Base::Same(from, Cursor { position, ..before }))
    }

    /// What the path was called before an event moved it, or a directory above it.
    fn renamed_by(&self, event: u32, path: &TapePath) -> Option<TapePath> {
        if self.tape.index.events.kind(event) != Some(Kind::FsRename) {
            return None;
        }
        let Body::File(change) = self.tape.event(event).ok()?.body else {
            return None;
        };
        let FileOp::Rename { from } = change.op else {
            return None;
        };
        let below = path.as_bytes().strip_prefix(change.path.as_bytes())?;
        TapePath::new([from.as_bytes(), below].concat()).ok()
    }
}

/// Whether all that is seen of a file then is what it was.
const fn is_certain(certainty: Certainty) -> bool {
    matches!(
        certainty,
        Certainty::Exact | Certainty::Redacted | Certainty::Absent
    )
}
