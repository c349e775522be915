//! The files at any event, beside what a plain table of the same paths costs.

use std::collections::{BTreeMap, HashMap};

use jukebox::model::{Cursor, TapePath};
use jukebox::state::{PathId, PathTable, State};
use jukebox::tape::{Tape, TapeBytes};

use crate::beside::{beside, cases, clock};
use crate::spread::Spread;
use crate::tapes::Shape;
use crate::{Result, tape};

/// Lookups in one call: one alone is too short to be timed.
const LOOKUPS: u64 = 1000;

pub(crate) fn run() -> Result {
    for (scale, words) in [
        (0.1, "10k files, 100k events"),
        (1.0, "100k files, 1M events"),
    ] {
        let (bytes, written) = tape(Shape::Tree, scale)?;
        let bytes = TapeBytes::Memory(bytes.into());
        let read = || Tape::read(bytes.clone(), &mut State::default());
        let bare = || Tape::read(bytes.clone(), &mut ());
        println!("  {words}");
        let each = (written.file_events, "a file event");
        beside("index with state", each, read, "the index without", bare);
        let mut state = State::default();
        let tape = Tape::read(bytes.clone(), &mut state)?;
        Files::new(&tape, &state).run();
    }
    Ok(())
}

struct Files<'a> {
    tape: &'a Tape,
    state: &'a State,
    paths: Vec<(PathId, TapePath)>,
}

impl<'a> Files<'a> {
    /// All files that are there at the end.
    fn new(tape: &'a Tape, state: &'a State) -> Self {
        let mut paths = Vec::new();
        let end = main_line(tape.index.events.len());
        state.walk(&tape.index.blobs, end, &mut |child| {
            paths.extend(state.paths.path(child.path).map(|path| (child.path, path)));
        });
        Self { tape, state, paths }
    }

    fn run(&self) {
        self.look_up();
        self.list();
        self.walk();
        self.compare();
    }

    /// A place in each region of the tape, in no order.
    fn place(&self, turn: u64) -> Cursor {
        let events = u64::from(self.tape.index.events.len());
        main_line(((turn * 618_033_988_749 / 1_000_003) % events) as u32)
    }

    fn path(&self, turn: u64) -> Option<&(PathId, TapePath)> {
        self.paths
            .get((turn * 7919) as usize % self.paths.len().max(1))
    }

    fn look_up(&self) {
        let blobs = &self.tape.index.blobs;
        let work = || {
            let look = |turn| {
                self.state
                    .file(blobs, self.place(turn), &self.path(turn)?.1)
            };
            (0..LOOKUPS).filter_map(look).count()
        };
        let lists: HashMap<&TapePath, Vec<u32>> = self
            .paths
            .iter()
            .map(|(id, path)| {
                let next = |from| self.state.version_after(0, *id, from);
                let versions = std::iter::successors(next(0), |at| next(at.position));
                (path, versions.map(|version| version.position).collect())
            })
            .collect();
        let other = || {
            let look = |turn| {
                let list = lists.get(&self.path(turn)?.1)?;
                let to = self.place(turn).position;
                list.partition_point(|at| *at <= to).checked_sub(1)
            };
            (0..LOOKUPS).filter_map(look).count()
        };
        let baseline = "a hash map of lists";
        beside("lookup", (LOOKUPS, "a lookup"), work, baseline, other);
    }

    /// The top of the tree: nearly nothing is shown of it, and everything stands below.
    fn list(&self) {
        let events = self.tape.index.events.len();
        let blobs = &self.tape.index.blobs;
        let names = || {
            let names = self.state.paths.children(PathTable::ROOT);
            names
                .map(|id| self.state.paths.name(id).len())
                .sum::<usize>()
        };
        for (what, position) in [
            ("top of the tree, at the end", events),
            ("top of the tree, in the middle", events / 2),
            ("top of the tree, before the first file", 1),
        ] {
            let list = || self.state.list(blobs, main_line(position), PathTable::ROOT);
            beside(what, (1, "a listing"), list, "its names", names);
        }
    }

    fn walk(&self) {
        let blobs = &self.tape.index.blobs;
        let events = self.tape.index.events.len();
        let sorted: BTreeMap<&TapePath, PathId> =
            self.paths.iter().map(|(id, path)| (path, *id)).collect();
        let copy = || {
            sorted
                .iter()
                .map(|(path, id)| (*path, *id))
                .collect::<Vec<_>>()
        };
        for (what, position) in [
            ("full tree, at the end", events),
            ("full tree, in the middle", events / 2),
        ] {
            let walk = || {
                let mut count = 0;
                self.state
                    .walk(blobs, main_line(position), &mut |_| count += 1);
                count
            };
            beside(what, (1, "a tree"), walk, "a copy of a sorted table", copy);
        }
    }

    fn compare(&self) {
        let blobs = &self.tape.index.blobs;
        let changes = |from, to| self.state.changes(blobs, from, to).collect::<Vec<_>>();
        for (what, is_near) in [
            ("delta of neighbours", true),
            ("delta of any two places", false),
        ] {
            let (mut ours, mut theirs) = (Spread::default(), Spread::default());
            for turn in 0..100 {
                let to = self.place(turn);
                let from = if is_near {
                    main_line(to.position.saturating_sub(16))
                } else {
                    self.place(turn + 1)
                };
                let mut found = Vec::new();
                ours.0.push(clock(|| found = changes(from, to)));
                let mut ids: Vec<PathId> = found.iter().map(|change| change.path).collect();
                ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
                theirs.0.push(clock(|| ids.sort_unstable()));
            }
            cases(what, "a delta", &ours, "a sort of their numbers", &theirs);
        }
        let whole = || changes(main_line(0), main_line(self.tape.index.events.len()));
        let names = || {
            let mut names: Vec<TapePath> =
                self.paths.iter().map(|(_, path)| path.clone()).collect();
            names.sort_unstable();
            names
        };
        beside(
            "delta of start and end",
            (1, "a delta"),
            whole,
            "a sort of their names",
            names,
        );
    }
}

/// A place on the main line.
const fn main_line(position: u32) -> Cursor {
    Cursor {
        position,
        branch: 0,
    }
}
