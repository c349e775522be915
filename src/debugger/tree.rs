//! The file tree at any place, in rows: what is there, what was removed, and how it differs
//! from another place.
//!
//! Of what differs, a tree is told by a [`ChangeList`]: a directory whose rows nobody sees
//! costs a search in it, however much differs below. Contents are never read here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::{ChangeList, Debugger, TreeRow};
use crate::model::{Certainty, ChangeKind, Cursor, EntryKind, TapePath};
use crate::state::{Child, ContentRef, FileState, PathId, PathTable};
use crate::text::SafeText;

/// Which directories of a tree are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expanded {
    /// All.
    All,
    /// These.
    Only(BTreeSet<TapePath>),
}

impl Expanded {
    pub(super) fn has(&self, directory: &TapePath) -> bool {
        match self {
            Self::All => true,
            Self::Only(paths) => paths.contains(directory),
        }
    }
}

/// What a tree is made for.
struct TreeView<'a> {
    at: Cursor,
    since: Cursor,
    changes: &'a ChangeList,
    expanded: &'a Expanded,
}

impl Debugger {
    /// The file tree at a place, compared with another one. Costs the changes between them,
    /// a search per row, and for each file a read of a line's head.
    pub fn tree(&self, at: Cursor, since: Cursor, expanded: &Expanded) -> Vec<TreeRow> {
        let changes = self.changes(since, at);
        self.tree_in_view(at, (since, &changes), expanded, &(0..usize::MAX))
    }

    /// The same tree, with the [changes](Self::changes) since the other place, where only the
    /// rows in view are told what has to be read from the tape: how long a file is, its hash,
    /// and where a link points. Costs some searches per row, and those reads.
    pub fn tree_in_view(
        &self,
        at: Cursor,
        (since, changes): (Cursor, &ChangeList),
        expanded: &Expanded,
        in_view: &Range<usize>,
    ) -> Vec<TreeRow> {
        let view = TreeView {
            at,
            since,
            changes,
            expanded,
        };
        let mut rows = Vec::new();
        for root in [PathTable::ROOT, PathTable::OUTSIDE] {
            let mut open = vec![self.rows_in(&view, root).into_iter()];
            while let Some(children) = open.last_mut() {
                let Some(child) = children.next() else {
                    open.pop();
                    continue;
                };
                let depth = open.len() as u16 - 1;
                let Some(mut row) = self.tree_row(&view, child, depth) else {
                    continue;
                };
                if in_view.contains(&rows.len()) {
                    self.read_into(&mut row, child.state);
                }
                if row.is_expanded {
                    open.push(self.rows_in(&view, child.path).into_iter());
                }
                rows.push(row);
            }
        }
        rows
    }

    /// What is in a directory and, once, as removed, what was removed from it since.
    fn rows_in(&self, view: &TreeView<'_>, directory: PathId) -> Vec<Child> {
        let blobs = &self.tape.index.blobs;
        let mut children = self.state.list(blobs, view.at, directory);
        let path = self.state.paths.path(directory);
        let place = match (directory, &path) {
            (PathTable::ROOT, _) => None,
            (_, None) => Some(&b""[..]),
            (_, Some(path)) => Some(path.as_bytes()),
        };
        let mut gone = view.changes.gone_from(place).peekable();
        if gone.peek().is_none() {
            return children;
        }
        let mut listed: HashSet<PathId> = children.iter().map(|child| child.path).collect();
        for (name, is_directory) in gone {
            let Some(path) = self.state.paths.child(directory, name) else {
                continue;
            };
            let before = if is_directory {
                Some(FileState::directory())
            } else {
                self.state.at(blobs, view.since, path)
            };
            if let Some(before) = before
                && listed.insert(path)
            {
                let state = FileState {
                    certainty: Certainty::Absent,
                    ..before
                };
                children.push(Child { path, state });
            }
        }
        self.state.sort(&mut children);
        children
    }

    fn tree_row(&self, view: &TreeView<'_>, child: Child, depth: u16) -> Option<TreeRow> {
        let path = self.state.paths.path(child.path)?;
        let state = child.state;
        let is_directory = state.kind == EntryKind::Directory;
        let below = || match state.certainty {
            _ if !is_directory || !view.changes.differs_below(&path) => None,
            Certainty::Absent => Some(ChangeKind::Removed),
            _ => Some(ChangeKind::Modified),
        };
        let change = view.changes.change_of(&path).or_else(below);
        Some(row_of(path, depth, state, change, view.expanded))
    }

    /// The file tree at a place, with what only the other run's tree holds in its place, and
    /// the [changes](Self::changes_against) between them. Marks say how paths differ: `Added`
    /// only there, `Removed` only here; of a directory, that something below it does. Costs
    /// what a tree of one run costs, twice.
    pub fn tree_against(
        &self,
        at: Cursor,
        right: (&Self, Cursor),
        changes: &ChangeList,
        expanded: &Expanded,
        in_view: &Range<usize>,
    ) -> Vec<TreeRow> {
        let sides = [(self, at), right];
        let mut rows = Vec::new();
        for root in [PathTable::ROOT, PathTable::OUTSIDE] {
            let mut open = vec![both_in(sides, [Some(root); 2]).into_iter()];
            while let Some(children) = open.last_mut() {
                let Some(both) = children.next() else {
                    open.pop();
                    continue;
                };
                let Some((run, child)) = both.shown(sides) else {
                    continue;
                };
                let Some(path) = run.state.paths.path(child.path) else {
                    continue;
                };
                let is_directory = child.state.kind == EntryKind::Directory;
                let change = if is_directory && changes.differs_below(&path) {
                    Some(match both.0 {
                        [Some(_), None] => ChangeKind::Removed,
                        [None, Some(_)] => ChangeKind::Added,
                        _ => ChangeKind::Modified,
                    })
                } else {
                    changes.change_of(&path)
                };
                let depth = open.len() as u16 - 1;
                let mut row = row_of(path, depth, child.state, change, expanded);
                if in_view.contains(&rows.len()) {
                    run.read_into(&mut row, child.state);
                }
                if row.is_expanded {
                    let directories = both.0.map(|child| child.map(|child| child.path));
                    open.push(both_in(sides, directories).into_iter());
                }
                rows.push(row);
            }
        }
        rows
    }

    /// Completes a row with what stands on the tape alone.
    fn read_into(&self, row: &mut TreeRow, state: FileState) {
        match state.content {
            ContentRef::Blob(id) => (row.blob, row.size) = self.blob_head(id, state.since),
            ContentRef::Target(position) => {
                let target = self.link_target(position, &row.path);
                row.target = target.map(|target| SafeText::from_bytes(&target));
            }
            ContentRef::Lines(_) | ContentRef::Unknown => {}
        }
    }
}

/// What stands at one path of two trees.
#[derive(Clone, Copy, Default)]
struct Both([Option<Child>; 2]);

impl Both {
    /// The one that is shown, with its run: the left one, else the right one.
    fn shown(
        self,
        [(left, _), (right, _)]: [(&Debugger, Cursor); 2],
    ) -> Option<(&Debugger, Child)> {
        let Self([one, two]) = self;
        one.map(|child| (left, child))
            .or_else(|| two.map(|child| (right, child)))
    }
}

/// What is in a directory of two trees, directories first, then by name.
fn both_in(sides: [(&Debugger, Cursor); 2], directories: [Option<PathId>; 2]) -> Vec<Both> {
    let mut named: BTreeMap<&[u8], Both> = BTreeMap::new();
    for (side, ((run, at), directory)) in sides.into_iter().zip(directories).enumerate() {
        let list = |directory| run.state.list(&run.tape.index.blobs, at, directory);
        for child in directory.map(list).into_iter().flatten() {
            let Both(both) = named.entry(run.state.paths.name(child.path)).or_default();
            if let Some(place) = both.get_mut(side) {
                *place = Some(child);
            }
        }
    }
    let mut all: Vec<Both> = named.into_values().collect();
    all.sort_by_key(|both| {
        let shown = both.shown(sides);
        shown.is_some_and(|(_, child)| child.state.kind != EntryKind::Directory)
    });
    all
}

/// A row, without what has to be read from the tape.
fn row_of(
    path: TapePath,
    depth: u16,
    state: FileState,
    change: Option<ChangeKind>,
    expanded: &Expanded,
) -> TreeRow {
    let name = if path.is_outside() && depth == 0 {
        [b"/", path.name()].concat()
    } else {
        path.name().to_vec()
    };
    TreeRow {
        name: SafeText::from_bytes(&name),
        depth,
        kind: state.kind,
        mode: state.mode,
        size: None,
        blob: None,
        certainty: state.certainty,
        change,
        is_expanded: state.kind == EntryKind::Directory && expanded.has(&path),
        target: None,
        path,
    }
}
