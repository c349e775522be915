//! The version table: for each branch, what happened to each path, in order.

use std::collections::HashMap;

use super::below::Below;
use super::entry::Entry;
use super::log::Log;
use super::paths::{PathId, PathTable};
use super::snapshot::{Directories, Told};
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// The files of a run at every event.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Every path that was named.
    pub paths: PathTable,
    pub(super) branches: Vec<Branch>,
    pub(super) directories: Directories,
    /// By path: nothing below it was there, on any branch, before so many events.
    pub(super) filled: Column<u32>,
    pub(super) below: Below,
    /// Paths that events looked at below those they name.
    pub(super) looked_at: usize,
    /// How much there was of what has no place of its own, whenever it became more.
    pub(super) grown: Column<Grown>,
}

/// An event, and what there was behind it: paths, lines of directories, and paths that were
/// looked at, these in two halves.
pub(super) type Grown = [u32; 5];

/// What happened on one branch.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    /// The branch it left, and how many events had happened.
    pub(super) parent: Option<(u16, u32)>,
    /// What became of its paths.
    pub(super) log: Log,
    /// Events after which any file may have been written.
    pub(super) suspects: Vec<u32>,
    /// Events after which a path or what is below it may have been written.
    pub(super) path_suspects: HashMap<PathId, Vec<u32>>,
    /// Which path each of these named, in order.
    pub(super) suspect_order: Vec<(u32, PathId)>,
    /// Events that proved the whole tree.
    pub(super) proofs: Vec<u32>,
    /// Savepoints by name, the latest last.
    pub(super) savepoints: Vec<(Box<[u8]>, u32)>,
    /// The events between which it was taken back, each time: from a savepoint to a rollback.
    pub(super) undone: Vec<(u32, u32)>,
    /// What the last snapshot said.
    pub(super) told: Told,
}

impl Branch {
    pub(super) fn main() -> Self {
        Self::of(None, Log::dense())
    }

    /// A branch that leaves its parent after so many events.
    pub(super) fn leaving(parent: (u16, u32)) -> Self {
        Self::of(Some(parent), Log::sparse())
    }

    pub(super) fn of(parent: Option<(u16, u32)>, log: Log) -> Self {
        Self {
            parent,
            log,
            suspects: Vec::new(),
            path_suspects: HashMap::new(),
            suspect_order: Vec::new(),
            proofs: Vec::new(),
            savepoints: Vec::new(),
            undone: Vec::new(),
            told: Told::default(),
        }
    }

    /// Whether a path has an entry among the events from `from` on and before `to`.
    pub(super) fn has_entry_between(&self, path: PathId, from: u32, to: u32) -> bool {
        let next = self.log.of_path_from(path, from).next();
        next.is_some_and(|entry| entry.position < to)
    }

    /// Notes that an event may have written a path or what is below it.
    pub(super) fn suspect(&mut self, path: PathId, position: u32) {
        self.path_suspects.entry(path).or_default().push(position);
        self.suspect_order.push((position, path));
    }

    /// The last of these events before another one that was not taken back by then.
    pub(super) fn last_standing(&self, sorted: &[u32], to: u32) -> Option<u32> {
        let mut last = last_before(sorted, to)?;
        for (from, until) in self.undone.iter().rev() {
            if *until < to && (*from..*until).contains(&last) {
                last = last_before(sorted, *from)?;
            }
        }
        Some(last)
    }

    /// The paths with entries among the events from `from` on and before `to`.
    pub(super) fn touched(&self, from: u32, to: u32) -> impl ExactSizeIterator<Item = PathId> {
        self.log.paths_between(from, to)
    }

    /// The paths that events from `from` on and before `to` may have written.
    pub(super) fn suspected(&self, from: u32, to: u32) -> impl Iterator<Item = PathId> {
        let order = &self.suspect_order;
        let start = order.partition_point(|(position, _)| *position < from);
        let suspected = order.get(start..).unwrap_or_default().iter();
        let until = move |(position, _): &&(u32, PathId)| *position < to;
        suspected.take_while(until).map(|(_, path)| *path)
    }
}

/// The last of some sorted positions that lies before another.
fn last_before(sorted: &[u32], to: u32) -> Option<u32> {
    let after = sorted.partition_point(|position| *position < to);
    sorted.get(after.checked_sub(1)?).copied()
}

impl Keep for Branch {
    fn write(&self, out: &mut Writer<'_>) {
        let parent = self
            .parent
            .map_or([0; 3], |(parent, left)| [1, u32::from(parent), left]);
        out.column(&parent);
        self.log.write(out);
        out.column(&self.suspects);
        out.pairs(self.suspect_order.iter().map(|(at, path)| (*at, path.0)));
        out.column(&self.proofs);
        out.lists(self.savepoints.iter().map(|(name, _)| &**name));
        let positions = self.savepoints.iter().map(|(_, position)| *position);
        out.column(&positions.collect::<Vec<_>>());
        out.pairs(self.undone.iter().copied());
        self.told.write(out);
    }

    fn read(from: &mut Reader) -> Self {
        let [has_parent, parent, left] = from.numbers::<u32, 3>();
        let log = Log::read(from);
        let suspects = from.column().to_vec();
        let suspect_order = from.pairs().map(|(at, path)| (at, PathId(path)));
        let suspect_order: Vec<(u32, PathId)> = suspect_order.collect();
        let mut path_suspects: HashMap<PathId, Vec<u32>> = HashMap::new();
        for (position, path) in &suspect_order {
            path_suspects.entry(*path).or_default().push(*position);
        }
        let proofs = from.column().to_vec();
        let names: Vec<Box<[u8]>> = from.lists().collect();
        let positions = from.column::<u32>();
        from.require(names.len() == positions.len());
        Self {
            parent: (has_parent == 1).then_some((parent as u16, left)),
            log,
            suspects,
            path_suspects,
            suspect_order,
            proofs,
            savepoints: names.into_iter().zip(positions.iter().copied()).collect(),
            undone: from.pairs().collect(),
            told: Told::read(from),
        }
    }
}

impl State {
    /// The number of the main line.
    pub(super) const MAIN: u16 = 0;

    /// Notes for the directories above a path that it is there from now on, or, where it is
    /// only seen to be there, that it may have been all along.
    pub(super) fn note_filled(&mut self, path: PathId, entry: Entry) {
        if entry.kind().is_none() {
            return;
        }
        let since = if entry.is_observed() {
            0
        } else {
            entry.position + 1
        };
        if self.filled.len() < self.paths.len() {
            self.filled.to_mut().resize(self.paths.len(), u32::MAX);
        }
        let mut above = self.paths.parent(path);
        while let Some(directory) = above
            && let Some(filled) = self.filled.to_mut().get_mut(directory.0 as usize)
            && *filled > since
        {
            *filled = since;
            above = self.paths.parent(directory);
        }
    }

    /// Whether nothing can be below a path after so many events.
    pub(super) fn is_empty_before(&self, path: PathId, position: u32) -> bool {
        let filled = self.filled.get(path.0 as usize);
        filled.is_none_or(|filled| position < *filled)
    }

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
        branch
            .into_iter()
            .flat_map(move |branch| branch.touched(position, position.saturating_add(1)))
    }
}
