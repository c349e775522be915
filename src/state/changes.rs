//! What changed between two cursors: the entries between them, and nothing else.

use super::entry::{ContentRef, FileState};
use super::paths::PathId;
use super::table::State;
use crate::model::{Certainty, ChangeKind, Cursor, EntryKind};
use crate::tape::BlobTable;

/// A path that differs between two cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: PathId,
    /// How it differs.
    pub kind: ChangeKind,
    /// What it was; `None`: it was not named yet.
    pub before: Option<FileState>,
    /// What it is.
    pub after: Option<FileState>,
}

impl Change {
    /// How the states of a path differ, if they do.
    fn between(path: PathId, before: Option<FileState>, after: Option<FileState>) -> Option<Self> {
        let kind = match (there(before), there(after)) {
            (None, Some(after)) if after.kind == EntryKind::Directory => return None,
            (Some(before), None) if before.kind == EntryKind::Directory => return None,
            (None, Some(named)) | (Some(named), None) if is_only_named(named) => {
                ChangeKind::Suspected
            }
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Removed,
            (Some(before), Some(after)) if differs(before, after) => ChangeKind::Modified,
            (Some(before), Some(after)) if before.suspect != after.suspect => ChangeKind::Suspected,
            _ => return None,
        };
        Some(Self {
            path,
            kind,
            before,
            after,
        })
    }
}

impl State {
    /// What differs between two cursors, in the order of the paths. Either may be the earlier
    /// one, and they may be on different branches.
    pub fn changes(
        &self,
        blobs: &BlobTable,
        from: Cursor,
        to: Cursor,
    ) -> impl Iterator<Item = Change> {
        let mut touched = self.touched_between(from, to);
        self.paths.sort(&mut touched);
        let ways = (self.way(from), self.way(to));
        let change = move |path| {
            let before = self.made_of(blobs, from, path, ways.0.entry(path));
            let after = self.made_of(blobs, to, path, ways.1.entry(path));
            Change::between(path, before, after)
        };
        touched.into_iter().filter_map(change)
    }

    /// How one path differs between two cursors, if it does.
    pub fn change(
        &self,
        blobs: &BlobTable,
        path: PathId,
        from: Cursor,
        to: Cursor,
    ) -> Option<Change> {
        let before = self.at(blobs, from, path);
        let after = self.at(blobs, to, path);
        Change::between(path, before, after)
    }
    /// The paths with entries or suspicions between two cursors, each once, in no order of
    /// their names.
    pub fn touched_between(&self, from: Cursor, to: Cursor) -> Vec<PathId> {
        let mut paths = Vec::new();
        let (mut one, mut two) = (Some(self.home(from)), Some(self.home(to)));
        // Up from both until they meet on a branch: branches have higher numbers than
        // their parents.
        while let (Some(a), Some(b)) = (one, two) {
            if a.branch == b.branch {
                let (first, last) = (a.position.min(b.position), a.position.max(b.position));
                self.touch(&mut paths, a.branch, first, last);
                break;
            }
            let later = if a.branch > b.branch { a } else { b };
            self.touch(&mut paths, later.branch, 0, later.position);
            let parent = self
                .branches
                .get(usize::from(later.branch))
                .and_then(|branch| {
                    let (parent, left) = branch.parent?;
                    Some(Cursor {
                        position: left.min(later.position),
                        branch: parent,
                    })
                });
            if a.branch > b.branch {
                one = parent;
            } else {
                two = parent;
            }
        }
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// The same place on the branch where its last event happened: up to where a branch
    /// leaves its parent, its events are those of the parent.
    fn home(&self, cursor: Cursor) -> Cursor {
        let mut home = cursor;
        while let Some(branch) = self.branches.get(usize::from(home.branch))
            && let Some((parent, left)) = branch.parent
            && home.position <= left
        {
            home.branch = parent;
        }
        home
    }

    fn touch(&self, paths: &mut Vec<PathId>, branch: u16, from: u32, to: u32) {
        let Some(branch) = self.branches.get(usize::from(branch)) else {
            return;
        };
        let touched = branch.touched(from, to);
        if touched.len() / ENTRIES_A_PATH > self.paths.len() {
            let is_touched = |path: &PathId| branch.has_entry_between(*path, from, to);
            paths.extend(self.paths.ids().filter(is_touched));
        } else if touched.len() > self.paths.len() / PATHS_AN_ENTRY {
            self.paths.add_each_once(touched, paths);
        } else {
            paths.extend(touched);
        }
        paths.extend(branch.suspected(from, to));
    }
}

/// Where there are so many entries for each path, it is quicker to ask every path for one.
const ENTRIES_A_PATH: usize = 64;

/// Where there are fewer paths than this for each entry, it is quicker to tick them off.
const PATHS_AN_ENTRY: usize = 64;

/// The state of a path that is there.
fn there(state: Option<FileState>) -> Option<FileState> {
    state.filter(|state| state.certainty != Certainty::Absent)
}

/// Whether all that is known of a file is that something may have written it: nobody saw
/// whether it was there, before or since.
fn is_only_named(state: FileState) -> bool {
    state.certainty == Certainty::Unknown && state.suspect.is_some()
}

fn differs(before: FileState, after: FileState) -> bool {
    if before.kind != after.kind {
        return true;
    }
    let modes = (before.mode, after.mode);
    if let (Some(one), Some(two)) = modes
        && one != two
    {
        return true;
    }
    match (before.content, after.content) {
        // Another remark on the same unknown content is no difference.
        (ContentRef::Unknown, ContentRef::Unknown) => false,
        (one, two) => one != two,
    }
}
