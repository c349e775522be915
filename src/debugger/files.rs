//! The file tree and single files, at any place.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::{ChangeRow, Debugger, FileContent, FileView, ReadError, TreeRow};
use crate::model::{
    BlobHash, Body, Certainty, ChangeKind, Content, Cursor, EntryKind, FileOp, TapePath,
};
use crate::state::{Change, Child, ContentRef, FileState, PathId, PathTable};
use crate::tape::wire::v1::{DirectoryEntry, decode_directory};
use crate::tape::{BlobError, BlobId, BlobSource};
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

impl Debugger {
    /// The file tree at a place, compared with another one. Costs the changes between them,
    /// a search per row, and for each file a read of a line's head.
    pub fn tree(&self, at: Cursor, since: Cursor, expanded: &Expanded) -> Vec<TreeRow> {
        self.tree_in_view(at, since, expanded, &(0..usize::MAX))
    }

    /// The same tree, where only the rows in view are told what has to be read from the
    /// tape: how long a file is, its hash, and where a link points.
    pub fn tree_in_view(
        &self,
        at: Cursor,
        since: Cursor,
        expanded: &Expanded,
        in_view: &Range<usize>,
    ) -> Vec<TreeRow> {
        let blobs = &self.tape.index.blobs;
        let changes = self.state.changes_unsorted(blobs, since, at);
        let view = TreeView::new(self, at, changes, expanded);
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
        let mut children = self.state.list(&self.tape.index.blobs, view.at, directory);
        if let Some(removed) = view.removed.get(&directory) {
            let listed: HashSet<PathId> = children.iter().map(|child| child.path).collect();
            let is_gone = |child: &&Child| !listed.contains(&child.path);
            children.extend(removed.iter().filter(is_gone));
            self.state.sort(&mut children);
        }
        children
    }

    fn tree_row(&self, view: &TreeView<'_>, child: Child, depth: u16) -> Option<TreeRow> {
        let path = self.state.paths.path(child.path)?;
        let state = child.state;
        let is_expanded = state.kind == EntryKind::Directory && view.expanded.has(&path);
        let name = if path.is_outside() && depth == 0 {
            [b"/", path.name()].concat()
        } else {
            path.name().to_vec()
        };
        Some(TreeRow {
            name: SafeText::from_bytes(&name),
            depth,
            kind: state.kind,
            mode: state.mode,
            size: None,
            blob: None,
            certainty: state.certainty,
            change: view.marks.get(&child.path).copied(),
            is_expanded,
            target: None,
            path,
        })
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

    /// The hash and the length of a blob, from the line that holds it, or that named it.
    pub(super) fn blob_head(&self, id: BlobId, named_at: u32) -> (Option<BlobHash>, Option<u64>) {
        let blobs = &self.tape.index.blobs;
        let positions = [blobs.position(id), Some(named_at)];
        for position in positions.into_iter().flatten() {
            let told = self
                .tape
                .with_head(position, |head| (head.blob_hash(), head.len));
            let Ok(Ok((hash, len))) = told else { continue };
            if let Some(hash) = hash
                && blobs.find(&hash) == Some(id)
            {
                return (Some(hash), len);
            }
            // Written by hand: the event names no hash, its content does.
            let content = match self.tape.event(position).map(|event| event.body) {
                Ok(Body::File(change)) => change.content,
                Ok(Body::Blob(content)) => content,
                _ => continue,
            };
            if let Content::Blob { hash, len, .. } = content
                && blobs.find(&hash) == Some(id)
            {
                return (Some(hash), Some(len));
            }
        }
        (None, None)
    }

    /// The text of a link, from the event or the snapshot that told it.
    pub(super) fn link_target(&self, position: u32, path: &TapePath) -> Option<Vec<u8>> {
        match self.tape.event(position).ok()?.body {
            Body::File(change) => match change.op {
                FileOp::Symlink { target } => Some(target),
                _ => None,
            },
            Body::Snapshot { root, .. } => self.target_in_snapshot(root, path),
            _ => None,
        }
    }

    /// Walks down the directories of a snapshot; they stand in it, or in an earlier one.
    fn target_in_snapshot(&self, root: BlobHash, path: &TapePath) -> Option<Vec<u8>> {
        let mut hash = root;
        for name in path.components() {
            let text = self.directory(&hash)?;
            let entries = decode_directory(&text).ok()?;
            let (_, entry) = entries.into_iter().find(|(entry, _)| **entry == *name)?;
            match entry {
                DirectoryEntry::Directory { hash: below, .. } => hash = below,
                DirectoryEntry::Link { target } => return Some(target.to_vec()),
                DirectoryEntry::File { .. } => return None,
            }
        }
        None
    }

    fn directory(&self, hash: &BlobHash) -> Option<Arc<[u8]>> {
        let snapshots = self.tape.index.snapshots.iter().rev();
        snapshots
            .into_iter()
            .find_map(|position| match self.tape.event(*position).ok()?.body {
                Body::Snapshot { directories, .. } => directories
                    .into_iter()
                    .find(|(name, _)| name == hash)
                    .map(|(_, text)| text),
                _ => None,
            })
    }

    /// A file at a place: its last known content, how well it is known, and its versions
    /// around the place.
    pub fn file(&self, at: Cursor, path: &TapePath) -> Result<FileView, ReadError> {
        let state = self.state.file(&self.tape.index.blobs, at, path);
        let Some(state) = state else {
            return Err(ReadError::NoFile(SafeText::from_bytes(path.as_bytes())));
        };
        let (content, mut remarks) = self.content(&state, path);
        remarks.extend(self.remarks(&state));
        Ok(FileView {
            path: path.clone(),
            kind: state.kind,
            certainty: state.certainty,
            mode: state.mode,
            content,
            remarks,
            versions: self.versions(at, path),
        })
    }

    /// The content of a state, and what went wrong in reading it.
    pub(super) fn content(
        &self,
        state: &FileState,
        path: &TapePath,
    ) -> (FileContent, Vec<SafeText>) {
        let nothing = |why: &str| (FileContent::Nothing(SafeText::line(why)), Vec::new());
        match state.content {
            ContentRef::Blob(id) => match self.blob_bytes(id, state.since) {
                Ok(bytes) => (FileContent::Bytes(bytes), Vec::new()),
                Err(error) => nothing(&error.to_string()),
            },
            ContentRef::Lines(position) => {
                match self.tape.event(position).map(|event| event.body) {
                    Ok(Body::File(change)) => match change.content {
                        Content::Lines(known) => (FileContent::Lines(known), Vec::new()),
                        _ => nothing("the event that showed it does not hold its lines"),
                    },
                    _ => nothing("the event that showed it cannot be read"),
                }
            }
            ContentRef::Target(position) => match self.link_target(position, path) {
                Some(target) => (FileContent::Bytes(target.into()), Vec::new()),
                None => nothing("the text of the link cannot be read"),
            },
            ContentRef::Unknown => match (state.kind, state.certainty) {
                (EntryKind::Directory, _) => nothing("a directory"),
                (_, Certainty::Absent) => nothing("the file is not there"),
                _ => nothing("the tape never shows its content"),
            },
        }
    }

    /// The bytes of a blob. Its whole hash is read from the tape, and checked.
    pub(super) fn blob_bytes(&self, id: BlobId, named_at: u32) -> Result<Arc<[u8]>, BlobError> {
        match self.blob_head(id, named_at) {
            (Some(hash), _) => self.tape.blob(&hash),
            (None, _) => Err(BlobError::Io(std::io::Error::other(
                "the line that holds the content cannot be read",
            ))),
        }
    }

    fn remarks(&self, state: &FileState) -> Vec<SafeText> {
        let mut remarks = Vec::new();
        if let Some(suspect) = state.suspect {
            let spot = self.after_event(None, suspect);
            let title = self.row(self.line_of(spot), spot.step).map(|row| row.title);
            remarks.push(SafeText::line(&format!(
                "step {} may have written it, and nobody saw: {}",
                spot.step,
                title.as_ref().map_or("", SafeText::as_str)
            )));
        }
        if state.is_outside {
            remarks.push(SafeText::literal(
                "changed by something outside the recorded calls",
            ));
        }
        if state.certainty == Certainty::Redacted {
            remarks.push(SafeText::literal(
                "placeholders stand where secrets were taken out",
            ));
        }
        if let Ok(event) = self.tape.event(state.since)
            && let Body::File(change) = event.body
            && let Some(remark) = change.remark
        {
            remarks.push(SafeText::line(&remark));
        }
        remarks
    }

    pub(super) fn change_row(path: TapePath, change: &Change) -> ChangeRow {
        let certainty =
            |state: Option<FileState>| state.map_or(Certainty::Absent, |state| state.certainty);
        let mode = match (change.before, change.after) {
            (Some(before), Some(after)) => match (before.mode, after.mode) {
                (Some(one), Some(two)) if one != two => Some((one, two)),
                _ => None,
            },
            _ => None,
        };
        ChangeRow {
            path,
            from: None,
            change: change.kind,
            certainty: (certainty(change.before), certainty(change.after)),
            mode,
            is_outside: change.after.is_some_and(|after| after.is_outside),
        }
    }
}

/// By path, how it differs: as many as there are changes, looked up by numbers of our own.
type Marks = hashbrown::HashMap<PathId, ChangeKind, FixedState>;

/// What a tree is made for.
struct TreeView<'a> {
    at: Cursor,
    expanded: &'a Expanded,
    /// How paths differ; a directory, when anything below it does.
    marks: Marks,
    /// What was removed, by directory.
    removed: HashMap<PathId, Vec<Child>>,
}

impl<'a> TreeView<'a> {
    fn new(
        run: &Debugger,
        at: Cursor,
        changes: impl Iterator<Item = Change>,
        expanded: &'a Expanded,
    ) -> Self {
        let mut view = Self {
            at,
            expanded,
            marks: Marks::default(),
            removed: HashMap::new(),
        };
        for change in changes {
            view.marks.insert(change.path, change.kind);
            if change.kind == ChangeKind::Removed
                && let Some(before) = change.before
            {
                view.remove(run, change.path, before);
            }
            if change.kind != ChangeKind::Suspected {
                view.mark_above(run, change.path);
            }
        }
        view
    }

    fn remove(&mut self, run: &Debugger, path: PathId, before: FileState) {
        let state = FileState {
            certainty: Certainty::Absent,
            ..before
        };
        if let Some(parent) = run.state.paths.parent(path) {
            self.removed
                .entry(parent)
                .or_default()
                .push(Child { path, state });
        }
    }

    fn mark_above(&mut self, run: &Debugger, path: PathId) {
        let mut above = run.state.paths.parent(path);
        while let Some(directory) = above.filter(|at| run.state.paths.parent(*at).is_some()) {
            if self.marks.contains_key(&directory) {
                return;
            }
            let there = run.state.at(&run.tape.index.blobs, self.at, directory);
            let is_there = there.is_some_and(|state| state.certainty != Certainty::Absent);
            let kind = if is_there {
                ChangeKind::Modified
            } else {
                ChangeKind::Removed
            };
            self.marks.insert(directory, kind);
            if !is_there {
                self.remove(run, directory, FileState::directory());
            }
            above = run.state.paths.parent(directory);
        }
    }
}
