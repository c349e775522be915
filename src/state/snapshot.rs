//! A snapshot proves the table: where they disagree, the snapshot is right.
//!
//! A directory that the last snapshot proved, and that no event touched since, is not read
//! again: a snapshot costs what changed, here as on the tape.

use std::collections::hash_map;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::entry::{ContentRef, Entry};
use super::paths::{PathId, PathTable};
use super::table::State;
use crate::model::{BlobHash, EntryKind, TapePath};
use crate::tape::cache::{Keep, Reader, Writer};
use crate::tape::wire::v1::{
    DirectoryEntries, DirectoryEntry, decode_directory, parse_record, snapshot_directories,
};
use crate::tape::{Index, Indexed, Record};

/// The texts of the directories that travelled with snapshots: a later one, of whatever
/// branch, names them by their hash alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Directories {
    /// Each with the first snapshot that it travelled with.
    texts: HashMap<BlobHash, (u32, Arc<[u8]>)>,
    /// Lines of all of them: names of files.
    lines: usize,
}

impl Directories {
    /// How many names stand in them.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Takes a text, unless it is damaged.
    fn take(&mut self, hash: BlobHash, text: Arc<[u8]>, position: u32) {
        if BlobHash::of(&text) == hash
            && let hash_map::Entry::Vacant(place) = self.texts.entry(hash)
        {
            self.lines += memchr::memchr_iter(b'\n', &text).count();
            place.insert((position, text));
        }
    }

    /// Those that travelled before an event: so many lines.
    pub(super) fn cut(&self, position: u32, lines: usize) -> Self {
        let before = self.texts.iter().filter(|(_, (at, _))| *at < position);
        Self {
            texts: before.map(|(hash, text)| (*hash, text.clone())).collect(),
            lines,
        }
    }
}

/// What the last snapshot of a branch said.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Where it was.
    position: u32,
    /// Its directories in which, and in all below, each file is what it says. A later
    /// snapshot that names the same one says nothing new, unless an event came in between.
    proven: HashMap<PathId, BlobHash>,
}

impl Told {
    /// What it says as far as it was said before an event. What a later snapshot says is not
    /// taken back: then nothing is known to be as it was.
    pub(super) fn cut(&self, position: u32) -> Self {
        if self.position < position {
            self.clone()
        } else {
            Self::default()
        }
    }
}

impl Keep for Directories {
    fn write(&self, out: &mut Writer<'_>) {
        let texts: Vec<_> = self.texts.iter().collect();
        let hashes = texts.iter().map(|(hash, _)| *hash.as_bytes());
        out.column(&hashes.collect::<Vec<_>>());
        let positions = texts.iter().map(|(_, (position, _))| *position);
        out.column(&positions.collect::<Vec<_>>());
        out.lists(texts.iter().map(|(_, (_, text))| &**text));
        out.column(&[self.lines as u64]);
    }

    fn read(from: &mut Reader) -> Self {
        let hashes = from.column::<[u8; 32]>();
        let positions = from.column::<u32>();
        let texts: Vec<Arc<[u8]>> = from.lists().collect();
        from.require(hashes.len() == positions.len() && hashes.len() == texts.len());
        let texts = positions.iter().copied().zip(texts);
        let [lines] = from.numbers::<u64, 1>();
        let hashes = hashes.iter().copied().map(BlobHash::from_digest);
        Self {
            texts: hashes.zip(texts).collect(),
            lines: lines as usize,
        }
    }
}

impl Keep for Told {
    fn write(&self, out: &mut Writer<'_>) {
        out.column(&[self.position]);
        out.pairs(
            self.proven
                .iter()
                .map(|(path, hash)| (path.0, *hash.as_bytes())),
        );
    }

    fn read(from: &mut Reader) -> Self {
        let [position] = from.numbers();
        let proven = from
            .pairs()
            .map(|(path, digest)| (PathId(path), BlobHash::from_digest(digest)));
        Self {
            position,
            proven: proven.collect(),
        }
    }
}

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
        // The first snapshot tells what there was; a later one that differs shows a change.
        let is_first = branch.proofs.is_empty();
        let mut told = std::mem::take(&mut branch.told);
        if !told.proven.is_empty() {
            for path in branch.touched(told.position, event.position) {
                forget(&mut told.proven, &self.paths, path);
            }
        }
        let mut directories = std::mem::take(&mut self.directories);
        for (hash, text) in snapshot_directories(&line) {
            directories.take(hash, text, event.position);
        }
        let mut proof = Proof {
            state: self,
            index,
            event,
            names_left: FREE_NAMES + NAMES_A_LINE * directories.lines,
            texts: &directories.texts,
            proven: told.proven,
            pending: vec![(PathTable::ROOT, root, 1)],
            unsaid: Vec::new(),
            is_whole: true,
            differs: false,
        };
        while let Some((directory, hash, depth)) = proof.pending.pop() {
            proof.directory(directory, hash, depth);
        }
        let (is_whole, differs) = (proof.is_whole, proof.differs);
        let (mut proven, unsaid) = (proof.proven, proof.unsaid);
        if differs
            && !is_first
            && let Some(step) = event.step
        {
            index.flag_outside(step);
        }
        self.directories = directories;
        if !is_whole {
            proven.clear();
        }
        for path in unsaid {
            forget(&mut proven, &self.paths, path);
        }
        if let Some(branch) = self.branches.get_mut(usize::from(event.view)) {
            branch.told = Told {
                position: event.position,
                proven,
            };
            if is_whole {
                branch.proofs.push(event.position);
            }
        }
    }
}

/// Takes a path and all directories above it from those that are proven.
fn forget(proven: &mut HashMap<PathId, BlobHash>, paths: &PathTable, path: PathId) {
    for node in std::iter::successors(Some(path), |node| paths.parent(*node)) {
        proven.remove(&node);
    }
}

/// Names of a snapshot that are looked at whatever it holds, and for each line of its
/// directories: with directories that share children, a few lines can be made to name more
/// paths than there are atoms.
const FREE_NAMES: usize = 1 << 16;
const NAMES_A_LINE: usize = 16;

struct Proof<'a> {
    state: &'a mut State,
    index: &'a mut Index,
    event: Indexed,
    texts: &'a HashMap<BlobHash, (u32, Arc<[u8]>)>,
    proven: HashMap<PathId, BlobHash>,
    /// Directories to be looked at yet, with the depth of what is in them.
    pending: Vec<(PathId, BlobHash, usize)>,
    /// Names that may still be looked at.
    names_left: usize,
    /// Files that are named without their content.
    unsaid: Vec<PathId>,
    /// Every directory was there to be read.
    is_whole: bool,
    differs: bool,
}

impl Proof<'_> {
    fn directory(&mut self, directory: PathId, hash: BlobHash, depth: usize) {
        if self.proven.get(&directory) == Some(&hash) {
            return;
        }
        let Some(entries) = self.entries(&hash, depth) else {
            self.is_whole = false;
            return;
        };
        self.proven.insert(directory, hash);
        let mut listed = HashSet::new();
        for (name, entry) in entries {
            let node = self.state.paths.intern_child(directory, &name);
            listed.insert(node);
            self.entry(node, &entry);
            if let DirectoryEntry::Directory { hash, .. } = entry {
                self.pending.push((node, hash, depth + 1));
            }
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

    /// What is in a directory, unless it cannot be read or leads too far.
    fn entries(&mut self, hash: &BlobHash, depth: usize) -> Option<DirectoryEntries> {
        let (_, text) = self.texts.get(hash)?;
        let entries = decode_directory(text).ok()?;
        self.names_left = self.names_left.checked_sub(entries.len())?;
        (depth <= TapePath::MAX_DEPTH).then_some(entries)
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
        let file = before.filter(|before| before.kind() == Some(EntryKind::File));
        if kind == EntryKind::File && content == ContentRef::Unknown {
            self.unsaid.push(node);
            // What made it uncertain before still does.
            if let Some(file) = file {
                self.state.pass_doubt_on(self.event, (node, file), node);
                return;
            }
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
            // A directory that is there through its files was not there before them.
            let seen = seen
                .observed_if(!is_implied)
                .outside_if(differs && !is_implied);
            self.state.put(self.event.view, node, seen);
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
