//! A snapshot proves the table: where they disagree, the snapshot is right.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::entry::{ContentRef, Entry};
use super::paths::{PathId, PathTable};
use super::table::State;
use crate::model::{BlobHash, Cursor, EntryKind};
use crate::tape::wire::v1::{DirectoryEntry, decode_directory, parse_record, snapshot_directories};
use crate::tape::{Index, Indexed, Record};

impl State {
    pub(super) fn prove(&mut self, index: &mut Index, event: Indexed, record: &Record<'_>) {
        let Some(Ok((line, _))) = record.whole.map(parse_record) else {
            return;
        };
        let Some(root) = line.head.blob_hash() else {
            return;
        };
        let Some(branch) = self.branches.get_mut(usize::from(event.view)) else {
            return;
        };
        let mut known = std::mem::take(&mut branch.directories);
        known.extend(snapshot_directories(&line));
        let mut proof = Proof {
            state: self,
            index,
            event,
            known: &known,
            used: HashMap::new(),
            is_whole: true,
            differs: false,
        };
        proof.directory(PathTable::ROOT, &root);
        let (used, is_whole, differs) = (proof.used, proof.is_whole, proof.differs);
        // The first snapshot tells what there was; a later one that differs shows a change.
        let is_first = self
            .branches
            .get(usize::from(event.view))
            .is_none_or(|branch| branch.proofs.is_empty());
        if differs
            && !is_first
            && let Some(step) = event.step
        {
            index.flag_outside(step);
        }
        if let Some(branch) = self.branches.get_mut(usize::from(event.view)) {
            branch.directories = used;
            if is_whole {
                branch.proofs.push(event.position);
            }
        }
    }
}

struct Proof<'a> {
    state: &'a mut State,
    index: &'a mut Index,
    event: Indexed,
    known: &'a HashMap<BlobHash, Arc<[u8]>>,
    used: HashMap<BlobHash, Arc<[u8]>>,
    /// Every directory was there to be read.
    is_whole: bool,
    differs: bool,
}

impl Proof<'_> {
    fn directory(&mut self, directory: PathId, hash: &BlobHash) {
        let Some(text) = self.known.get(hash) else {
            self.is_whole = false;
            return;
        };
        self.used.insert(*hash, Arc::clone(text));
        let Ok(entries) = decode_directory(text) else {
            self.is_whole = false;
            return;
        };
        let mut listed = HashSet::new();
        for (name, entry) in entries {
            let node = self.state.paths.intern_child(directory, &name);
            listed.insert(node);
            self.entry(node, &entry);
        }
        let others: Vec<PathId> = self
            .state
            .paths
            .children(directory)
            .filter(|child| !listed.contains(child))
            .collect();
        for other in others {
            self.gone(other);
        }
    }

    fn entry(&mut self, node: PathId, entry: &DirectoryEntry) {
        let position = self.event.position;
        let (kind, content, mode) = match entry {
            DirectoryEntry::File { mode, hash, .. } => {
                let content = match hash {
                    Some(hash) => ContentRef::Blob(self.index.name_blob(hash)),
                    None => ContentRef::Unknown,
                };
                (EntryKind::File, content, *mode)
            }
            // A link's text is in the manifest, not in an event of its own: the snapshot
            // tells it where no event did.
            DirectoryEntry::Link { .. } => (EntryKind::Link, ContentRef::Target(position), None),
            DirectoryEntry::Directory { mode, .. } => {
                (EntryKind::Directory, ContentRef::Unknown, *mode)
            }
        };
        let before = self.state.latest(self.event.view, node);
        let is_file = before.is_some_and(|before| before.kind() == Some(EntryKind::File));
        if kind == EntryKind::File && content == ContentRef::Unknown && is_file {
            self.leave_in_doubt(node);
            return;
        }
        let seen = Entry::new(position, kind, content).with_mode(mode);
        let agrees = before.is_some_and(|before| match kind {
            EntryKind::File => !before.contradicts(seen) && before.content() == seen.content(),
            EntryKind::Link | EntryKind::Directory => before.kind() == Some(kind),
        });
        if !agrees {
            let is_implied = kind == EntryKind::Directory
                && before.is_none()
                && self.state.has_children(self.event.view, node, position + 1);
            self.differs |= !is_implied;
            let differs = before.is_some_and(|before| before.kind().is_some());
            let seen = seen.observed_if(true).outside_if(differs && !is_implied);
            self.state.put(self.event.view, node, seen);
        }
        if let DirectoryEntry::Directory { hash, .. } = entry {
            self.directory(node, hash);
        }
    }

    /// The snapshot names a file and does not say what it holds: what made it uncertain
    /// before still does.
    fn leave_in_doubt(&mut self, node: PathId) {
        let cursor = Cursor {
            position: self.event.position,
            branch: self.event.view,
        };
        let entry = self.state.latest(self.event.view, node);
        let doubt = entry.and_then(|entry| self.state.suspect_since(cursor, node, entry));
        if doubt.is_some()
            && let Some(branch) = self.state.branches.get_mut(usize::from(self.event.view))
        {
            let suspects = branch.path_suspects.entry(node).or_default();
            suspects.push(self.event.position);
        }
    }

    /// What the manifest does not list is not there.
    fn gone(&mut self, node: PathId) {
        for below in self.state.paths.subtree(node) {
            let before = self.state.latest(self.event.view, below);
            if before.is_some_and(|before| before.kind().is_some()) {
                self.differs = true;
                let gone = Entry::absent(self.event.position)
                    .observed_if(true)
                    .outside_if(true);
                self.state.push(self.event.view, below, gone);
            }
        }
    }
}
