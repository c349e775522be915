//! The version table: for each branch, what happened to each path, in order.

use std::collections::HashMap;

use super::entry::Entry;
use super::paths::{PathId, PathTable};
use super::snapshot::{Directories, Told};

/// The files of a run at every event.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Every path that was named.
    pub paths: PathTable,
    pub(super) branches: Vec<Branch>,
    pub(super) directories: Directories,
    /// Paths that events looked at below those they name.
    pub(super) looked_at: usize,
}

/// What happened on one branch.
#[derive(Clone, Debug, Default)]
pub(super) struct Branch {
    /// The branch it left, and how many events had happened.
    pub(super) parent: Option<(u16, u32)>,
    /// Entries by path, each list in order.
    lists: Lists,
    /// Which path each entry was for, in order: what changed between two cursors.
    order: Vec<(u32, PathId)>,
    /// Events after which any file may have been written.
    pub(super) suspects: Vec<u32>,
    /// Events after which a path or what is below it may have been written.
    pub(super) path_suspects: HashMap<PathId, Vec<u32>>,
    /// Events that proved the whole tree.
    pub(super) proofs: Vec<u32>,
    /// Savepoints by name, the latest last.
    pub(super) savepoints: Vec<(Box<[u8]>, u32)>,
    /// What the last snapshot said.
    pub(super) told: Told,
}

/// The main line has entries for most paths, other branches for few.
#[derive(Clone, Debug)]
enum Lists {
    Dense(Vec<Vec<Entry>>),
    Sparse(HashMap<PathId, Vec<Entry>>),
}

impl Default for Lists {
    fn default() -> Self {
        Self::Sparse(HashMap::new())
    }
}

impl Branch {
    pub(super) fn main() -> Self {
        Self {
            lists: Lists::Dense(Vec::new()),
            ..Self::default()
        }
    }

    /// A branch that leaves its parent after so many events.
    pub(super) fn leaving(parent: (u16, u32)) -> Self {
        Self {
            parent: Some(parent),
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, path: PathId, entry: Entry) {
        self.order.push((entry.position, path));
        let list = match &mut self.lists {
            Lists::Dense(lists) => {
                let at = path.0 as usize;
                if lists.len() <= at {
                    lists.resize(at + 1, Vec::new());
                }
                lists.get_mut(at)
            }
            Lists::Sparse(lists) => Some(lists.entry(path).or_default()),
        };
        let Some(list) = list else { return };
        // Most paths are written a few times: grow by little.
        if list.len() == list.capacity() {
            list.reserve_exact((list.len() / 4).max(2));
        }
        list.push(entry);
    }

    /// All entries of a path on this branch, in order.
    pub(super) fn list(&self, path: PathId) -> &[Entry] {
        match &self.lists {
            Lists::Dense(lists) => lists.get(path.0 as usize).map_or(&[], Vec::as_slice),
            Lists::Sparse(lists) => lists.get(&path).map_or(&[], Vec::as_slice),
        }
    }

    /// The last entry of a path among the first `position` events.
    pub(super) fn entry_at(&self, path: PathId, position: u32) -> Option<Entry> {
        let list = self.list(path);
        let after = list.partition_point(|entry| entry.position < position);
        list.get(after.checked_sub(1)?).copied()
    }

    /// The paths with entries among the events from `from` on and before `to`.
    pub(super) fn touched(&self, from: u32, to: u32) -> &[(u32, PathId)] {
        let start = self.order.partition_point(|(position, _)| *position < from);
        let end = self.order.partition_point(|(position, _)| *position < to);
        self.order.get(start..end.max(start)).unwrap_or_default()
    }
}

impl State {
    /// The chain of branches from this one to the main line, each with how many of its
    /// events count.
    pub(super) fn chain(&self, branch: u16, position: u32) -> impl Iterator<Item = (&Branch, u32)> {
        let first = self
            .branches
            .get(usize::from(branch))
            .map(|found| (found, position));
        std::iter::successors(first, move |(at, position)| {
            let (parent, left) = at.parent?;
            Some((self.branches.get(usize::from(parent))?, left.min(*position)))
        })
    }

    /// The paths that an event on a branch was for.
    pub fn touched_by(&self, branch: u16, position: u32) -> impl Iterator<Item = PathId> {
        let branch = self.branches.get(usize::from(branch));
        let touched = branch.map_or(&[][..], |branch| branch.touched(position, position + 1));
        touched.iter().map(|(_, path)| *path)
    }
}
