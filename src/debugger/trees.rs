//! The trees of two runs against each other: which paths differ, and how.
//!
//! Contents are told apart by their hashes, which stand in the heads of lines, without being
//! read. What is not known on one
//! side cannot be said to differ, and is told as perhaps different.

use std::collections::BTreeMap;

use super::{ChangeList, ChangeRow, Debugger};
use crate::model::{Body, Certainty, ChangeKind, Content, Cursor, EntryKind, KnownLines, TapePath};
use crate::state::{ContentRef, FileState};

/// A path in two trees.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both {
    pub(super) left: Option<FileState>,
    pub(super) right: Option<FileState>,
}

impl Debugger {
    /// The paths at which the tree at a place differs from that of another run, sorted:
    /// `Added` means only there, `Removed` only here. Costs a walk over both trees,
    /// and for each file that both have a read of two lines' heads.
    pub fn changes_against(&self, at: Cursor, right: (&Self, Cursor)) -> ChangeList {
        let certainty =
            |file: Option<FileState>| file.map_or(Certainty::Absent, |file| file.certainty);
        let row = |(path, change, both): (TapePath, ChangeKind, Both)| ChangeRow {
            path,
            from: None,
            change,
            certainty: (certainty(both.left), certainty(both.right)),
            mode: both.modes().filter(|(one, two)| one != two),
            is_outside: false,
        };
        let differences = self.differences(at, right).into_iter();
        differences.map(row).collect()
    }

    /// The paths at which two trees differ, or cannot be said not to, sorted.
    pub(super) fn differences(
        &self,
        at: Cursor,
        (right_run, right_at): (&Self, Cursor),
    ) -> Vec<(TapePath, ChangeKind, Both)> {
        let both = self.both_trees(at, (right_run, right_at));
        let difference = |(path, both): (TapePath, Both)| {
            let change = self.difference_of(&both, right_run, &path)?;
            Some((path, change, both))
        };
        both.into_iter().filter_map(difference).collect()
    }

    /// Every path of both trees.
    fn both_trees(
        &self,
        at: Cursor,
        (right_run, right_at): (&Self, Cursor),
    ) -> BTreeMap<TapePath, Both> {
        let mut both: BTreeMap<TapePath, Both> = BTreeMap::new();
        self.walk_tree(at, |path, file| {
            both.entry(path).or_default().left = Some(file);
        });
        right_run.walk_tree(right_at, |path, file| {
            both.entry(path).or_default().right = Some(file);
        });
        both
    }

    fn walk_tree(&self, at: Cursor, mut visit: impl FnMut(TapePath, FileState)) {
        self.state.walk(&self.tape.index.blobs, at, &mut |child| {
            if let Some(path) = self.state.paths.path(child.path) {
                visit(path, child.state);
            }
        });
    }

    fn difference_of(&self, both: &Both, right_run: &Self, path: &TapePath) -> Option<ChangeKind> {
        let is_file = |file: &FileState| file.kind != EntryKind::Directory;
        let (left, right) = (both.left.filter(is_file), both.right.filter(is_file));
        let (left, right) = match (left, right) {
            (None, None) => return None,
            (Some(_), None) => return Some(ChangeKind::Removed),
            (None, Some(_)) => return Some(ChangeKind::Added),
            (Some(left), Some(right)) => (left, right),
        };
        let has_other_mode = both.modes().is_some_and(|(one, two)| one != two);
        let is_same = match (left.content, right.content) {
            (ContentRef::Blob(one), ContentRef::Blob(two)) => {
                let (one, _) = self.blob_head(one, left.since);
                let (two, _) = right_run.blob_head(two, right.since);
                if one.is_none() || two.is_none() {
                    return Some(ChangeKind::Suspected);
                }
                one == two
            }
            (ContentRef::Target(one), ContentRef::Target(two)) => {
                self.link_target(one, path) == right_run.link_target(two, path)
            }
            (ContentRef::Lines(one), ContentRef::Lines(two)) => {
                let (one, two) = (self.known_lines(one), right_run.known_lines(two));
                if one.is_none() || one != two {
                    return Some(ChangeKind::Suspected);
                }
                true
            }
            (ContentRef::Unknown | ContentRef::Lines(_), _)
            | (_, ContentRef::Unknown | ContentRef::Lines(_)) => {
                return Some(ChangeKind::Suspected);
            }
            (ContentRef::Blob(_), ContentRef::Target(_))
            | (ContentRef::Target(_), ContentRef::Blob(_)) => false,
        };
        (!is_same || has_other_mode).then_some(ChangeKind::Modified)
    }

    fn known_lines(&self, position: u32) -> Option<KnownLines> {
        match self.tape.event(position).ok()?.body {
            Body::File(change) => match change.content {
                Content::Lines(known) => Some(known),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Both {
    /// Both modes, where both are known.
    fn modes(&self) -> Option<(u32, u32)> {
        self.left?.mode.zip(self.right?.mode)
    }
}
