//! The file tree at a cursor, a directory at a time.

use super::entry::{Entry, FileState};
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
        let way = self.way(cursor);
        let mut children: Vec<Child> = self
            .paths
            .children(directory)
            .filter_map(|path| {
                let state = self.made_of(blobs, cursor, path, way.entry(path))?;
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

    /// The first place behind `position` events where a path changed, on the way to a branch:
    /// the event, and the branch it happened on.
    pub fn version_after(&self, branch: u16, path: PathId, position: u32) -> Option<Cursor> {
        self.way_to(branch)
            .filter_map(|(number, limit)| {
                let log = &self.branches.get(usize::from(number))?.log;
                let mut later = log.of_path_from(path, position);
                let entry = later.find(|entry| entry.is_version())?;
                (entry.position < limit).then(|| version(number, entry))
            })
            .min_by_key(|version| version.position)
    }

    /// The last place among the first `position` events where a path changed.
    pub fn version_before(&self, branch: u16, path: PathId, position: u32) -> Option<Cursor> {
        self.way_to(branch)
            .filter_map(|(number, limit)| {
                let log = &self.branches.get(usize::from(number))?.log;
                let mut earlier = log.of_path_before(path, position.min(limit));
                let entry = earlier.rfind(|entry| entry.is_version())?;
                Some(version(number, entry))
            })
            .max_by_key(|version| version.position)
    }

    /// How many places there are where a path changed; `None` where one would have to look
    /// at more than `most` entries to know.
    pub fn count_versions(&self, branch: u16, path: PathId, most: usize) -> Option<usize> {
        let (mut count, mut left) = (0, most);
        for (number, limit) in self.way_to(branch) {
            let log = &self.branches.get(usize::from(number))?.log;
            for entry in log.of_path_before(path, limit) {
                left = left.checked_sub(1)?;
                count += usize::from(entry.is_version());
            }
        }
        Some(count)
    }

    /// A branch and those it comes from, each with how many events count on it.
    fn way_to(&self, branch: u16) -> impl Iterator<Item = (u16, u32)> {
        std::iter::successors(Some((branch, u32::MAX)), |(branch, limit)| {
            let (parent, left) = self.branches.get(usize::from(*branch))?.parent?;
            Some((parent, left.min(*limit)))
        })
    }
}

/// The place just behind an entry.
const fn version(branch: u16, entry: Entry) -> Cursor {
    Cursor {
        position: entry.position + 1,
        branch,
    }
}
