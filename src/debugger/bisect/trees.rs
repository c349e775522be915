//! The trees along a line, each once: where the files of the workspace change, and what it
//! takes to get from one tree to another.
//!
//! All from the version table: nothing is read but the hashes of what has to be written.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use super::super::{Debugger, Spot};
use crate::checkout::Entry;
use crate::model::{Certainty, Cursor, EntryKind, StepNumber, TapePath};
use crate::state::{ContentRef, FileState, PathId, PathTable};

/// A tree, at the step in which it came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) spot: Spot,
    /// Trees with the same number hold the same files.
    pub(super) number: usize,
}

/// What counts of a path: what a checkout would write.
type Shape = Option<(EntryKind, Option<u32>, ContentRef)>;

fn shape(state: Option<FileState>) -> Shape {
    let state = state.filter(|state| state.certainty != Certainty::Absent)?;
    match (state.kind, state.content) {
        (EntryKind::File, ContentRef::Unknown | ContentRef::Lines(_)) => None,
        (kind, content) => Some((kind, state.mode, content)),
    }
}

/// A number for a set of paths with their shapes, which changes with each of them. Two random
/// functions, so that no tape can be written to make two trees look the same.
struct Sum {
    functions: [RandomState; 2],
    of: [u64; 2],
}

impl Sum {
    fn new() -> Self {
        Self {
            functions: [RandomState::new(), RandomState::new()],
            of: [0; 2],
        }
    }

    fn change(&mut self, path: PathId, before: Shape, after: Shape) {
        for (sum, function) in self.of.iter_mut().zip(&self.functions) {
            let number = |shape: Shape| {
                let shape = shape.map(|(kind, mode, content)| {
                    let content = match content {
                        ContentRef::Unknown => (0, 0),
                        ContentRef::Blob(id) => (1, id.0),
                        ContentRef::Lines(at) => (2, at),
                        ContentRef::Target(at) => (3, at),
                    };
                    (kind.as_str(), mode, content)
                });
                shape.map_or(0, |shape| function.hash_one((path, shape)))
            };
            *sum = sum.wrapping_sub(number(before)).wrapping_add(number(after));
        }
    }
}

impl Debugger {
    /// The trees from one place to another of a line, in order: the first is that of `from`,
    /// each further one differs from the one before it. With a path, only that is looked at.
    /// Costs a look at each step between them, and at each path that changes.
    pub(super) fn trees_between(&self, from: Spot, to: Spot, only: Option<PathId>) -> Vec<Tree> {
        let line = self.line_of(to);
        let mut numbers: HashMap<[u64; 2], usize> = HashMap::new();
        let mut sum = Sum::new();
        numbers.insert(sum.of, 0);
        let mut trees = vec![Tree {
            spot: from,
            number: 0,
        }];
        let mut before = from.cursor;
        for spot in self.places_between(line, (from, to), only) {
            if self.add_changes(&mut sum, before, spot.cursor, only) {
                let next = numbers.len();
                let number = *numbers.entry(sum.of).or_insert(next);
                trees.push(Tree { spot, number });
            }
            before = spot.cursor;
        }
        trees
    }

    /// Where to look: behind each step, or behind each that changed the path.
    fn places_between(
        &self,
        line: u16,
        (from, to): (Spot, Spot),
        only: Option<PathId>,
    ) -> Box<dyn Iterator<Item = Spot> + '_> {
        let steps = (from.step.0 + 1..to.step.0).map(StepNumber);
        let places = steps.map(move |step| self.spot(line, step));
        let Some(path) = only else {
            return Box::new(places.chain([to]));
        };
        let end = to.cursor.position;
        let next = move |position| {
            let version = self.state.version_after(to.cursor.branch, path, position);
            version.filter(|version| version.position <= end)
        };
        let versions = std::iter::successors(next(from.cursor.position), move |version| {
            next(version.position)
        });
        let places = versions.map(move |version| self.spot_of_change(line, version.position - 1));
        let inside = move |spot: &Spot| spot.step > from.step && spot.step < to.step;
        Box::new(places.filter(inside).chain([to]))
    }

    /// Whether anything that would be written changes between two places.
    fn add_changes(&self, sum: &mut Sum, from: Cursor, to: Cursor, only: Option<PathId>) -> bool {
        let touched = match only {
            Some(path) => vec![path],
            None => self.state.touched_between(from, to),
        };
        let blobs = &self.tape.index.blobs;
        let mut differs = false;
        for path in touched {
            if only.is_none() && self.lies_outside(path) {
                continue;
            }
            let [before, after] = [from, to].map(|at| shape(self.state.at(blobs, at, path)));
            if before != after {
                sum.change(path, before, after);
                differs = true;
            }
        }
        differs
    }

    fn lies_outside(&self, path: PathId) -> bool {
        let mut node = path;
        while let Some(above) = self.state.paths.parent(node) {
            node = above;
        }
        node == PathTable::OUTSIDE
    }

    /// What makes the tree of one place that of another: each path that differs, with what it
    /// is there. How well paths are known that did not change is not told. Costs a look at each
    /// path that changed and at the directories above it, and a read for each new content's
    /// hash.
    pub(super) fn steps_to(&self, from: Cursor, to: Cursor) -> Vec<(TapePath, Option<Entry>)> {
        let blobs = &self.tape.index.blobs;
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        for path in self.state.touched_between(from, to) {
            let mut node = Some(path);
            while let Some(at) = node.filter(|at| seen.insert(*at)) {
                node = self.state.paths.parent(at);
                let there = |cursor| {
                    let state = self.state.at(blobs, cursor, at)?;
                    (state.certainty != Certainty::Absent).then_some(state)
                };
                let (before, after) = (there(from), there(to));
                let told = |state: FileState| (state.kind, state.mode, state.content);
                let is_same = before.map(told) == after.map(told);
                if let Some(path) = self.state.paths.path(at).filter(|_| !is_same) {
                    let entry = after.map(|state| self.entry(path.clone(), &state));
                    changes.push((path, entry));
                }
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::super::{OpenOptions, Source};
    use super::*;

    const RUN: &[&str] = &[
        r#""kind":"tape","format":1,"id":"t""#,
        r#""kind":"prompt","text":"go""#,
        r#""kind":"fs.write","path":"a","text":"one""#,
        r#""kind":"tool.call","call":"c1","name":"x""#,
        r#""kind":"fs.mkdir","call":"c1","path":"empty/one""#,
        r#""kind":"tool.call","call":"c2","name":"x""#,
        r#""kind":"fs.write","call":"c2","path":"d/e/f","text":"deep""#,
        r#""kind":"tool.call","call":"c3","name":"x""#,
        r#""kind":"fs.suspect","call":"c3","why":"a command""#,
        r#""kind":"tool.call","call":"c4","name":"x""#,
        r#""kind":"fs.rename","call":"c4","from":"d","path":"g""#,
        r#""kind":"tool.call","call":"c5","name":"x""#,
        r#""kind":"fs.write","call":"c5","path":"/outside","text":"x""#,
        r#""kind":"txn.begin","txn":"t""#,
        r#""kind":"tool.call","txn":"t","call":"c6","name":"x""#,
        r#""kind":"fs.write","txn":"t","call":"c6","path":"a","text":"two""#,
        r#""kind":"txn.rollback","txn":"t""#,
        r#""kind":"tool.call","call":"c7","name":"x""#,
        r#""kind":"fs.symlink","call":"c7","path":"a","target":"g/e""#,
        r#""kind":"tool.call","call":"c8","name":"x""#,
        r#""kind":"fs.remove","call":"c8","path":"g""#,
        r#""kind":"fs.remove","call":"c8","path":"empty""#,
    ];

    fn run() -> Debugger {
        let lines = RUN.iter().enumerate();
        let lines = lines.map(|(seq, line)| format!("{{\"seq\":{seq},{line}}}\n"));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        Debugger::open(Source::Path(path), &OpenOptions::default()).unwrap()
    }

    #[test]
    fn a_tree_stands_where_files_change_and_one_that_comes_back_is_known() {
        let run = run();
        let trees = run.trees_between(run.spot(0, StepNumber(0)), run.end(0), None);
        let told: Vec<(u32, usize)> = trees
            .iter()
            .map(|tree| (tree.spot.step.0, tree.number))
            .collect();
        // The rollback brings back what was there before the transaction.
        let expected = [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 3),
            (5, 4),
            (8, 5),
            (9, 4),
            (10, 6),
            (11, 7),
        ];
        assert_eq!(told, expected);
        let path = run.state.paths.find(&TapePath::new("a").unwrap());
        let trees = run.trees_between(run.spot(0, StepNumber(0)), run.end(0), path);
        let steps: Vec<u32> = trees.iter().map(|tree| tree.spot.step.0).collect();
        assert_eq!(steps, [0, 1, 10]);
    }

    fn known(entry: Entry) -> Entry {
        let certainty = Certainty::Exact;
        Entry { certainty, ..entry }
    }

    #[test]
    fn what_differs_makes_one_tree_the_other_wherever_the_two_are() {
        let run = run();
        let at = |step| run.spot(0, StepNumber(step)).cursor;
        let tree = |step| -> BTreeMap<TapePath, Entry> {
            let entries = run.entries(at(step)).into_iter().map(known);
            entries.map(|entry| (entry.path.clone(), entry)).collect()
        };
        for from in 0..=11 {
            for to in 0..=11 {
                let mut tree_there = tree(from);
                for (path, entry) in run.steps_to(at(from), at(to)) {
                    match entry {
                        Some(entry) => tree_there.insert(path, known(entry)),
                        None => tree_there.remove(&path),
                    };
                }
                assert_eq!(tree_there, tree(to), "{from} to {to}");
            }
        }
    }
}
