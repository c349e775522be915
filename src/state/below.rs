//! Whether anything is below a directory, known without a look at what is.
//!
//! Of each directory of the main line, the events in turn that put the first thing into it
//! and took the last one out. So a directory that was removed with all it held costs a
//! search, however much that was. Other branches are not kept here, and what something is
//! not either: there is something or there is not.

use super::entry::Entry;
use super::lists::Lists;
use super::paths::{PathId, PathTable};
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// What is below the directories of the main line.
#[derive(Clone, Debug)]
pub(super) struct Below {
    /// By directory, how much is directly in it.
    counts: Column<u32>,
    /// By directory, the events that filled it and emptied it, in turn.
    turns: Lists,
    /// By directory, how many events there were when something below it was first seen that
    /// may have been there all along.
    seen: Column<u32>,
}

impl Default for Below {
    fn default() -> Self {
        Self {
            counts: Column::default(),
            turns: Lists::sparse(),
            seen: Column::default(),
        }
    }
}

impl Below {
    /// What was below the first so many paths before an event. `is_there` says of each whether
    /// it was there by itself.
    pub(super) fn cut(
        &self,
        position: u32,
        paths: &PathTable,
        is_there: impl Fn(PathId) -> bool,
    ) -> Self {
        let mut counts = vec![0; paths.len()];
        // What is below a directory was named after it.
        let mut ids: Vec<PathId> = paths.ids().collect();
        while let Some(id) = ids.pop() {
            let count = counts.get(id.index()).copied().unwrap_or(0);
            if (count > 0 || is_there(id))
                && let Some(above) = paths.parent(id)
                && let Some(count) = counts.get_mut(above.index())
            {
                *count += 1;
            }
        }
        let seen = self.seen.iter().take(paths.len());
        Self {
            counts: counts.into(),
            turns: self.turns.cut(position, paths.len()),
            // What was seen later tells that one had to look then: so one looks before now.
            seen: seen.map(|seen| (*seen).min(position)).collect(),
        }
    }

    /// Whether anything is below a directory after so many events of the main line; `None`
    /// where one has to look.
    pub(super) fn is_any(&self, directory: PathId, position: u32) -> Option<bool> {
        let seen = self.seen.get(directory.0 as usize);
        if seen.is_some_and(|seen| position < *seen) {
            return None;
        }
        let turns = self.turns.get(directory);
        let before = turns.partition_point(|turn| *turn < position);
        Some(!before.is_multiple_of(2))
    }

    /// Notes an entry of the main line, with the one before it of the same path. `is_there`
    /// says of the directories above whether they are there by themselves.
    pub(super) fn note(
        &mut self,
        paths: &PathTable,
        path: PathId,
        (before, entry): (Option<Entry>, Entry),
        is_there: impl Fn(PathId) -> bool,
    ) {
        if before.is_none() && entry.shows_the_past() {
            self.note_seen(paths, path, entry.position + 1);
        }
        let is_kept = self.count(path) > 0;
        let mut node = path;
        let mut was = is_kept || before.is_some_and(|before| before.kind().is_some());
        let mut is = is_kept || entry.kind().is_some();
        while was != is
            && let Some(directory) = paths.parent(node)
        {
            let before = self.count(directory);
            let after = if is {
                before + 1
            } else {
                before.saturating_sub(1)
            };
            put(&mut self.counts, directory, paths.len(), after);
            if (before > 0) != (after > 0) {
                self.turns.push(directory, entry.position);
            }
            let is_kept = is_there(directory);
            (was, is) = (is_kept || before > 0, is_kept || after > 0);
            node = directory;
        }
    }

    fn note_seen(&mut self, paths: &PathTable, path: PathId, position: u32) {
        let mut above = paths.parent(path);
        while let Some(directory) = above {
            put(&mut self.seen, directory, paths.len(), position);
            above = paths.parent(directory);
        }
    }

    /// Gives back what is not needed when nothing more comes for a while.
    pub(super) fn settle(&mut self) {
        self.turns.settle();
    }

    fn count(&self, directory: PathId) -> u32 {
        let count = self.counts.get(directory.0 as usize);
        count.copied().unwrap_or_default()
    }
}

fn put(column: &mut Column<u32>, directory: PathId, paths: usize, number: u32) {
    let numbers = column.to_mut();
    if numbers.len() <= directory.0 as usize {
        numbers.resize(paths, 0);
    }
    if let Some(place) = numbers.get_mut(directory.0 as usize) {
        *place = number;
    }
}

impl Keep for Below {
    fn write(&self, out: &mut Writer<'_>) {
        out.column(&self.counts);
        self.turns.write(out);
        out.column(&self.seen);
    }

    fn read(from: &mut Reader) -> Self {
        Self {
            counts: from.column(),
            turns: Lists::read(from),
            seen: from.column(),
        }
    }
}
