//! The version table: for each branch, what happened to each path, in order.

use std::collections::HashMap;

use super::log::Log;
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
    /// Events that proved the whole tree.
    pub(super) proofs: Vec<u32>,
    /// Savepoints by name, the latest last.
    pub(super) savepoints: Vec<(Box<[u8]>, u32)>,
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

    fn of(parent: Option<(u16, u32)>, log: Log) -> Self {
        Self {
            parent,
            log,
            suspects: Vec::new(),
            path_suspects: HashMap::new(),
            proofs: Vec::new(),
            savepoints: Vec::new(),
            told: Told::default(),
        }
    }

    /// The paths with entries among the events from `from` on and before `to`.
    pub(super) fn touched(&self, from: u32, to: u32) -> impl Iterator<Item = PathId> {
        self.log.paths_between(from, to)
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
        branch
            .into_iter()
            .flat_map(move |branch| branch.touched(position, position.saturating_add(1)))
    }
}
