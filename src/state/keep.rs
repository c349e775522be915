//! The state as columns of the index cache. What an event does to it is not known here.

use super::below::Below;
use super::paths::PathTable;
use super::snapshot::Directories;
use super::table::{Branch, State};
use crate::tape::cache::{Keep, Reader, Writer};

impl Keep for State {
    fn write(&self, out: &mut Writer<'_>) {
        self.paths.write(out);
        self.directories.write(out);
        out.column(&self.filled);
        self.below.write(out);
        out.column(&self.grown);
        out.column(&[self.looked_at as u64, self.branches.len() as u64]);
        for branch in &self.branches {
            branch.write(out);
        }
    }

    fn read(from: &mut Reader) -> Self {
        let paths = PathTable::read(from);
        let directories = Directories::read(from);
        let filled = from.column();
        let below = Below::read(from);
        let grown = from.column();
        let [looked_at, branches] = from.numbers::<u64, 2>();
        let branches = (0..branches).map_while(|_| {
            let branch = Branch::read(from);
            (!from.is_spoilt()).then_some(branch)
        });
        Self {
            paths,
            directories,
            filled,
            below,
            branches: branches.collect(),
            looked_at: looked_at as usize,
            grown,
        }
    }
}
