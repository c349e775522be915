//! Two trees as a patch: for each path that differs, what `git apply` needs.
//!
//! The trees may be those of two tapes. What a patch cannot hold (a content that is not
//! known, a file outside the workspace) is a remark in its place.

mod armour;

use std::sync::Arc;

use super::rows::letter_of;
use super::{Debugger, FileContent};
use crate::model::{Certainty, ChangeKind, Cursor, EntryKind, KnownLines, TapePath};
use crate::text::diff::{self, Named};
use crate::text::{DiffKind, FileDiff, GitMode, SafeText};

/// How a patch writes what is no harmless text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchForm {
    /// As git's binary patch, in ASCII: it can be applied, and no terminal obeys it.
    #[default]
    Armoured,
    /// As it is, and binary files only by name: for reading, made safe where it is shown.
    Plain,
}

/// How one path differs between two trees.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The path.
    pub path: TapePath,
    /// The path it had, of a rename.
    pub from: Option<TapePath>,
    /// How it differs.
    pub change: ChangeKind,
    /// How well it is known in the first tree, and in the second.
    pub certainty: (Certainty, Certainty),
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// The unified diff, exact. Empty where there is none to be had.
    pub bytes: Vec<u8>,
    /// What to know of it, one sentence each.
    pub remarks: Vec<SafeText>,
}

/// A path in a tree, as far as a patch can say.
pub(super) enum Side {
    Absent,
    Known(GitMode, Option<u32>, Arc<[u8]>),
    Lines(KnownLines),
    Unknown(SafeText),
}

impl Debugger {
    /// The patches that make the tree at `from` the tree at `to` of another tape, or of this
    /// one, sorted by path. Each costs the reading of its two contents, and at most some
    /// 50 ms for their comparison.
    pub fn patches<'a>(
        &'a self,
        from: Cursor,
        other: &'a Self,
        to: Cursor,
        form: PatchForm,
    ) -> impl Iterator<Item = Patch> + 'a {
        let changes = if std::ptr::eq(self, other) {
            let changes = self.changes(from, to);
            let named = changes.iter().map(|row| (row.path, row.from, row.change));
            named.collect::<Vec<_>>()
        } else {
            let differences = self.differences(from, (other, to)).into_iter();
            let named = differences.map(|(path, change, _)| (path, None, change));
            named.collect()
        };
        changes.into_iter().filter_map(move |(path, old_path, change)| {
            let before = self.side(from, old_path.as_ref().unwrap_or(&path));
            let after = other.side(to, &path);
            let is_same =
                matches!((&before.1, &after.1), (Side::Lines(one), Side::Lines(two)) if one == two);
            (!is_same).then(|| patch((path, old_path), change, before, after, form))
        })
    }

    fn side(&self, at: Cursor, path: &TapePath) -> (Certainty, Side) {
        let state = self.state.file(&self.tape.index.blobs, at, path);
        let Some(state) = state.filter(|state| state.certainty != Certainty::Absent) else {
            return (Certainty::Absent, Side::Absent);
        };
        let mode = match state.kind {
            EntryKind::Directory => return (state.certainty, Side::Absent),
            EntryKind::Link => GitMode::Symlink,
            EntryKind::File => state.mode.map_or(GitMode::File, GitMode::of_permissions),
        };
        let side = match self.content(&state, path).0 {
            FileContent::Bytes(bytes) => Side::Known(mode, state.mode, bytes),
            FileContent::Lines(known) => Side::Lines(known),
            FileContent::Nothing(why) => Side::Unknown(why),
        };
        (state.certainty, side)
    }
}

pub(super) fn patch(
    (path, from): (TapePath, Option<TapePath>),
    change: ChangeKind,
    (certainty_before, before): (Certainty, Side),
    (certainty_after, after): (Certainty, Side),
    form: PatchForm,
) -> Patch {
    let mut patch = Patch {
        change,
        certainty: (certainty_before, certainty_after),
        added: 0,
        removed: 0,
        bytes: Vec::new(),
        remarks: Vec::new(),
        path,
        from,
    };
    for (certainty, when) in [(certainty_before, "before"), (certainty_after, "after")] {
        if matches!(certainty, Certainty::Uncertain | Certainty::Redacted) {
            patch.remark(&format!("{when}: {certainty}"));
        }
    }
    let (old, new) = match (before, after) {
        (Side::Unknown(why), _) | (_, Side::Unknown(why)) => {
            patch.remark(&format!("not in the patch: {why}"));
            return patch;
        }
        (Side::Lines(_), _) | (_, Side::Lines(_)) => {
            patch.remark("not in the patch: only some lines are known");
            return patch;
        }
        _ if change == ChangeKind::Suspected => {
            patch.remark("something may have written it, and nobody saw");
            return patch;
        }
        (old, new) => (old.known(), new.known()),
    };
    if patch.path.is_outside() {
        patch.remark("not in the patch: it lies outside the workspace");
        return patch;
    }
    match (old, new) {
        // Between a file and a link git knows no change: one goes, the other comes.
        (Some(old), Some(new))
            if (old.mode == GitMode::Symlink) != (new.mode == GitMode::Symlink) =>
        {
            patch.put(Some(old), None, form);
            patch.put(None, Some(new), form);
        }
        (old, new) => patch.put(old, new, form),
    }
    patch
}

impl Patch {
    /// One letter for how the path differs, as git prints it.
    pub fn letter(&self) -> char {
        letter_of(self.change, self.from.as_ref())
    }

    fn remark(&mut self, words: &str) {
        self.remarks.push(SafeText::line(words));
    }

    fn put(&mut self, old: Option<Content>, new: Option<Content>, form: PatchForm) {
        // A mode that one side does not know is no change of it.
        let mode = |one: &Option<Content>, two: &Option<Content>| match (one, two) {
            (Some(one), Some(two)) if !one.has_mode => two.mode,
            (Some(one), _) => one.mode,
            (None, _) => GitMode::File,
        };
        let path = self.path.as_bytes();
        let old_path = self.from.as_ref().map_or(path, TapePath::as_bytes);
        let named = [(&old, &new, old_path), (&new, &old, path)].map(|(one, two, path)| Named {
            path,
            mode: mode(one, two),
        });
        let [old_bytes, new_bytes] =
            [&old, &new].map(|side| side.as_ref().map(|content| &*content.bytes));
        let mut diff = FileDiff::between(old_bytes, new_bytes, diff::BUDGET);
        self.added += diff.added;
        self.removed += diff.removed;
        if form == PatchForm::Plain || diff.kind != DiffKind::Binary {
            self.remarks.extend(diff.remarks());
        }
        let mut text = diff::unified(named[0], named[1], &diff);
        if form == PatchForm::Armoured && !diff.hunks.is_empty() && !armour::is_harmless(&text) {
            diff.kind = DiffKind::Binary;
            text = diff::unified(named[0], named[1], &diff);
        }
        if form == PatchForm::Armoured && diff.kind == DiffKind::Binary {
            text = armour::binary(text, old_bytes, new_bytes);
        }
        self.bytes.extend(text);
    }
}

/// A content that is known, and the mode git would give it.
struct Content {
    mode: GitMode,
    has_mode: bool,
    bytes: Arc<[u8]>,
}

impl Side {
    fn known(self) -> Option<Content> {
        match self {
            Self::Known(mode, bits, bytes) => Some(Content {
                mode,
                has_mode: mode == GitMode::Symlink || bits.is_some(),
                bytes,
            }),
            Self::Absent | Self::Lines(_) | Self::Unknown(_) => None,
        }
    }
}
