//! The file tree at a cursor, a directory at a time.

use super::entry::FileState;
use super::paths::{PathId, PathTable};
use super::table::State;
use crate::model::{Certainty, Cursor, EntryKind};
use crate::tape::BlobTable;

/// A child of a directory at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its node.
    pub path: PathId,
    /// What it is.
    pub state: FileState,
}

impl State {
    /// What is in a directory at a cursor, directories first, then by name. Files that are
    /// gone are not listed, unless something named them since.
    pub fn list(&self, blobs: &BlobTable, cursor: Cursor, directory: PathId) -> Vec<Child> {
        let mut children: Vec<Child> = self
            .paths
            .children(directory)
            .filter_map(|path| {
                let state = self.at(blobs, cursor, path)?;
                let is_listed = state.certainty != Certainty::Absent;
                is_listed.then_some(Child { path, state })
            })
            .collect();
        self.sort(&mut children);
        children
    }

    /// Puts the children of a directory in the order in which they are shown: directories
    /// first, then by the bytes of the name.
    pub fn sort(&self, children: &mut [Child]) {
        let is_leaf = |child: &Child| child.state.kind != EntryKind::Directory;
        children.sort_by(|one, two| {
            is_leaf(one)
                .cmp(&is_leaf(two))
                .then_with(|| self.paths.name(one.path).cmp(self.paths.name(two.path)))
        });
    }

    /// Calls `visit` with every file, link and directory at a cursor, each directory before
    /// what is in it, the workspace before what lies outside.
    pub fn walk(&self, blobs: &BlobTable, cursor: Cursor, visit: &mut impl FnMut(Child)) {
        for root in [PathTable::ROOT, PathTable::OUTSIDE] {
            let mut open = vec![self.list(blobs, cursor, root).into_iter()];
            while let Some(children) = open.last_mut() {
                let Some(child) = children.next() else {
                    open.pop();
                    continue;
                };
                visit(child);
                if child.state.kind == EntryKind::Directory {
                    open.push(self.list(blobs, cursor, child.path).into_iter());
                }
            }
        }
    }

    /// The places where a path changed on the way to a cursor's branch, in order: the event,
    /// and the branch it happened on.
    pub fn versions(&self, branch: u16, path: PathId) -> Vec<Cursor> {
        let mut versions = Vec::new();
        let mut at = Some((branch, u32::MAX));
        while let Some((number, limit)) = at {
            let Some(branch) = self.branches.get(usize::from(number)) else {
                break;
            };
            let entries = branch.log.of_path(path).filter(|entry| {
                entry.position < limit && (!entry.is_observed() || entry.is_outside())
            });
            versions.extend(entries.map(|entry| Cursor {
                position: entry.position + 1,
                branch: number,
            }));
            at = branch
                .parent
                .map(|(parent, left)| (parent, left.min(limit)));
        }
        versions.sort_unstable_by_key(|version| version.position);
        versions.dedup();
        versions
    }
}
