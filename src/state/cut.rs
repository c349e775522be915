//! The state as it was before a place, for a run that goes on otherwise from there: a fork
//! begins with what its parent's events before it did.
//!
//! From there on it grows as one does that was told of the events themselves, and answers as
//! that would. Where it was looked for a shortcut only later, it looks a little longer.

use super::log::Log;
use super::paths::PathId;
use super::table::{Branch, Grown, State};
use crate::tape::Index;

impl State {
    /// The state after the events of this index, the first of those that it was told of.
    #[must_use]
    pub fn cut(&self, index: &Index) -> Self {
        let position = index.events.len();
        if position == 0 {
            return Self::default();
        }
        let before = self.grown.partition_point(|[at, ..]| *at < position);
        let grown = before.checked_sub(1).and_then(|at| self.grown.get(at));
        let [_, paths, lines, looked_at, many] = grown.copied().unwrap_or([0, 2, 0, 0, 0]);
        let paths = self.paths.cut(paths as usize);
        let branches = self.branches.iter().take(index.branches.len());
        let branches: Vec<Branch> = branches
            .map(|branch| branch.cut(position, paths.len()))
            .collect();
        let is_there = |path: PathId| {
            let main = branches.first();
            let last = main.and_then(|main| main.log.last_of(path, u32::MAX));
            last.is_some_and(|entry| entry.kind().is_some())
        };
        let filled = self.filled.iter().take(paths.len());
        Self {
            directories: self.directories.cut(position, lines as usize),
            filled: filled
                .map(|since| filled_before(*since, position))
                .collect(),
            below: self.below.cut(position, &paths, is_there),
            looked_at: looked_at as usize | (many as usize) << 32,
            grown: self.grown.cut(before),
            branches,
            paths,
        }
    }

    /// Notes how much there is behind an event, if that is more than before.
    pub(super) fn note_growth(&mut self, position: u32) {
        let paths = self.paths.len() as u32;
        let lines = self.directories.lines() as u32;
        let looked_at = self.looked_at as u64;
        let (low, high) = (looked_at as u32, (looked_at >> 32) as u32);
        let now: Grown = [position, paths, lines, low, high];
        let before = self.grown.last().copied().unwrap_or([0, 2, 0, 0, 0]);
        if now.get(1..) != before.get(1..) {
            self.grown.to_mut().push(now);
        }
    }
}

/// Before which event nothing was below a path, as far as that was known at this position.
const fn filled_before(since: u32, position: u32) -> u32 {
    if since > position { u32::MAX } else { since }
}

impl Branch {
    fn cut(&self, position: u32, paths: usize) -> Self {
        let before = |list: &[u32]| {
            let count = list.partition_point(|at| *at < position);
            list.get(..count).unwrap_or_default().to_vec()
        };
        let mut cut = Self {
            log: self.log.cut(position, paths),
            suspects: before(&self.suspects),
            proofs: before(&self.proofs),
            told: self.told.cut(position),
            ..Self::of(self.parent, Log::sparse())
        };
        let saved = self.savepoints.iter();
        let undone = self.undone.iter().copied();
        cut.undone = undone.take_while(|(_, until)| *until < position).collect();
        cut.savepoints = saved.filter(|(_, at)| *at < position).cloned().collect();
        for (at, path) in self
            .suspect_order
            .iter()
            .take_while(|(at, _)| *at < position)
        {
            cut.suspect(*path, *at);
        }
        cut
    }
}
