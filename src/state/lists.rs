//! For each path a list of numbers, ascending, all in one column.
//!
//! A list is always a slice, so that it can be searched in halves. One that outgrows its
//! room moves to the end of the column; what it leaves behind is given back when the column
//! is packed. What the numbers mean is not known here.

use std::collections::HashMap;

use super::paths::PathId;
use crate::tape::cache::{Column, Keep, Reader, Writer};

/// Lists of numbers by path.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    numbers: Column<u32>,
    runs: Runs,
    /// Numbers in all lists.
    held: usize,
}

/// Where a list lies in the column: twelve bytes a path.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    start: u32,
    len: u32,
    /// Places that it may fill before it has to move.
    room: u32,
}

/// The main line has lists for most paths, other branches for few.
#[derive(Clone, Debug)]
enum Runs {
    Dense(Vec<Run>),
    Sparse(HashMap<PathId, Run>),
}

/// The column may be so many times as long as what it holds while lists grow.
const SPREAD: usize = 3;
/// Below this length, packing gains nothing.
const SMALL: usize = 1 << 10;

impl Lists {
    /// For a branch with lists for most paths.
    pub(super) fn dense() -> Self {
        Self::of(Runs::Dense(Vec::new()))
    }

    /// For a branch with lists for few paths.
    pub(super) fn sparse() -> Self {
        Self::of(Runs::Sparse(HashMap::new()))
    }

    fn of(runs: Runs) -> Self {
        Self {
            numbers: Column::default(),
            runs,
            held: 0,
        }
    }

    /// The list of a path.
    pub(super) fn get(&self, path: PathId) -> &[u32] {
        let run = match &self.runs {
            Runs::Dense(runs) => runs.get(path.0 as usize),
            Runs::Sparse(runs) => runs.get(&path),
        };
        let Some(run) = run else { return &[] };
        let start = run.start as usize;
        let end = start + run.len as usize;
        self.numbers.get(start..end).unwrap_or_default()
    }

    /// Adds a number, not lower than any before it, to the list of a path.
    pub(super) fn push(&mut self, path: PathId, number: u32) {
        if self.numbers.len() > SMALL && self.numbers.len() > SPREAD * (self.held + 1) {
            self.pack();
        }
        let run = match &mut self.runs {
            Runs::Dense(runs) => {
                let at = path.0 as usize;
                if runs.len() <= at {
                    runs.resize(at + 1, Run::default());
                }
                runs.get_mut(at)
            }
            Runs::Sparse(runs) => Some(runs.entry(path).or_default()),
        };
        let Some(run) = run else { return };
        if run.len == run.room {
            let start = run.start as usize;
            let moved = self.numbers.len();
            let numbers = self.numbers.to_mut();
            numbers.extend_from_within(start..start + run.len as usize);
            run.start = moved as u32;
            run.room += (run.len / 2).max(2);
            numbers.resize(moved + run.room as usize, u32::MAX);
        }
        if let Some(place) = self
            .numbers
            .to_mut()
            .get_mut((run.start + run.len) as usize)
        {
            *place = number;
        }
        run.len += 1;
        self.held += 1;
    }

    /// The numbers below this one, of the first so many paths; all others have none.
    pub(super) fn cut(&self, end: u32, paths: usize) -> Self {
        let mut numbers = Vec::new();
        let mut cut = |run: &Run| {
            let start = run.start as usize;
            let list = self.numbers.get(start..start + run.len as usize);
            let list = list.unwrap_or_default();
            let before = match list.last() {
                Some(last) if *last < end => list.len(),
                _ => list.partition_point(|number| *number < end),
            };
            let start = numbers.len() as u32;
            numbers.extend_from_slice(list.get(..before).unwrap_or_default());
            let len = before as u32;
            Run {
                start,
                len,
                room: len,
            }
        };
        let runs = match &self.runs {
            Runs::Dense(runs) => Runs::Dense(runs.iter().take(paths).map(cut).collect()),
            Runs::Sparse(runs) => {
                let known = runs.iter().filter(|(path, _)| path.index() < paths);
                let cut = known.map(|(path, run)| (*path, cut(run)));
                Runs::Sparse(cut.filter(|(_, run)| run.len > 0).collect())
            }
        };
        Self {
            held: numbers.len(),
            numbers: numbers.into(),
            runs,
        }
    }

    /// Gives back what no list uses, where that is worth the copy.
    pub(super) fn settle(&mut self) {
        if self.numbers.len() > self.held + self.held / 8 + SMALL {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let mut packed = Vec::with_capacity(self.held);
        let mut keep = |run: &mut Run| {
            let start = run.start as usize;
            let list = self.numbers.get(start..start + run.len as usize);
            run.start = packed.len() as u32;
            run.room = run.len;
            packed.extend_from_slice(list.unwrap_or_default());
        };
        match &mut self.runs {
            Runs::Dense(runs) => runs.iter_mut().for_each(&mut keep),
            Runs::Sparse(runs) => runs.values_mut().for_each(&mut keep),
        }
        self.numbers = packed.into();
    }
}

impl Keep for Lists {
    fn write(&self, out: &mut Writer<'_>) {
        let columns = |run: &Run| [run.start, run.len, run.room];
        out.column(&self.numbers);
        let is_sparse = matches!(self.runs, Runs::Sparse(_));
        out.column(&[self.held as u64, u64::from(is_sparse)]);
        match &self.runs {
            Runs::Dense(runs) => out.column(&runs.iter().map(columns).collect::<Vec<_>>()),
            Runs::Sparse(runs) => {
                out.pairs(runs.iter().map(|(path, run)| (path.0, columns(run))));
            }
        }
    }

    fn read(from: &mut Reader) -> Self {
        let numbers = from.column();
        let [held, is_sparse] = from.numbers::<u64, 2>();
        let run = |[start, len, room]: [u32; 3]| Run { start, len, room };
        let runs = if is_sparse == 1 {
            let runs = from.pairs().map(|(path, row)| (PathId(path), run(row)));
            Runs::Sparse(runs.collect())
        } else {
            Runs::Dense(from.column().iter().copied().map(run).collect())
        };
        Self {
            numbers,
            runs,
            held: held as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lists_hold_what_was_pushed_however_they_move(
            paths in prop::collection::vec(prop_oneof![0..4_u32, 0..600_u32], 0..6000),
            settle_after in 0..6000_usize,
        ) {
            for mut lists in [Lists::dense(), Lists::sparse()] {
                let mut expected: HashMap<u32, Vec<u32>> = HashMap::new();
                for (number, path) in paths.iter().enumerate() {
                    lists.push(PathId(*path), number as u32);
                    expected.entry(*path).or_default().push(number as u32);
                    if number == settle_after {
                        lists.settle();
                    }
                }
                lists.settle();
                for path in 0..600 {
                    let list = expected.remove(&path).unwrap_or_default();
                    prop_assert_eq!(lists.get(PathId(path)), list.as_slice());
                }
                let bound = lists.held + lists.held / 8 + SMALL;
                prop_assert!(lists.numbers.len() <= bound);
            }
        }
    }
}
