//! One tree of files: directories shared between trees until one of them changes.
//!
//! Every directory knows how many files below it are there, how many of them are not
//! proven, and what a snapshot of it would cost now; so a look at the root is enough to
//! decide whether a snapshot is worth its bytes. It holds no contents.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::model::{BlobHash, TapePath};
use crate::tape::wire::v1::{DirectoryEntry, put_entry};

/// Texts of directories, each with its hash.
pub type DirectoryTexts = Vec<(BlobHash, Arc<[u8]>)>;

/// Directories below directories: no system has paths deeper than this, and what walks a
/// tree may recurse.
const MAX_DEPTH: usize = 1024;

/// What is under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file.
    File(FileNode),
    /// A symbolic link with this text.
    Link(Arc<[u8]>),
    /// A directory.
    Directory(Arc<Directory>),
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileNode {
    /// Its permission bits, where they are known.
    pub mode: Option<u32>,
    /// The hash of the content it was last known to hold.
    pub hash: Option<BlobHash>,
    /// The length of that content.
    pub len: Option<u64>,
    /// Nothing may have written it since.
    pub is_proven: bool,
}

/// A directory.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Its permission bits, where they are known.
    pub mode: Option<u32>,
    entries: BTreeMap<Box<[u8]>, Node>,
    /// The hash of its text, since it last changed.
    blob: Option<BlobHash>,
    /// How many bytes its own text takes on a tape at most.
    text_len: u64,
    below: Sums,
}

/// Sums over all that is below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    files: u64,
    unproven: u64,
    /// Bytes of the texts of changed directories.
    unwritten: u64,
    /// The deepest path that ever was below; an upper bound.
    depth: usize,
}

/// What a change replaced: putting it back undoes the change.
#[derive(Clone, Debug)]
pub(super) struct Replaced {
    /// How many components of the path lead to it.
    pub(super) depth: usize,
    pub(super) before: Option<Node>,
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        self.mode == other.mode && self.entries == other.entries
    }
}

impl Eq for Directory {}

impl Directory {
    /// What it holds, by name.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.entries.iter().map(|(name, node)| (&**name, node))
    }

    /// What it holds under a name.
    pub fn entry(&self, name: &[u8]) -> Option<&Node> {
        self.entries.get(name)
    }

    /// The hash of its text, if it has not changed since that was written.
    pub(super) const fn blob(&self) -> Option<BlobHash> {
        self.blob
    }

    fn get(&self, path: &[&[u8]]) -> Option<&Node> {
        let (name, rest) = path.split_first()?;
        match self.entries.get(*name)? {
            Node::Directory(child) if !rest.is_empty() => child.get(rest),
            node => rest.is_empty().then_some(node),
        }
    }

    /// Puts a node at a path, or takes away what is there. Directories above appear.
    fn put(&mut self, path: &[&[u8]], node: Option<Node>) -> Replaced {
        let Some((name, rest)) = path.split_first() else {
            return Replaced {
                depth: 0,
                before: None,
            };
        };
        self.blob = None;
        if !rest.is_empty()
            && let Some(Node::Directory(child)) = self.entries.get_mut(*name)
        {
            let before = child.sums();
            let mut replaced = Arc::make_mut(child).put(rest, node);
            self.below.replace(before, child.sums());
            replaced.depth += 1;
            return replaced;
        }
        let node = match node {
            Some(node) if !rest.is_empty() => {
                let mut child = Self::default();
                child.put(rest, Some(node));
                Some(Node::Directory(Arc::new(child)))
            }
            node => node,
        };
        if let Some(node) = &node {
            self.below.replace(Sums::default(), node.sums());
            self.text_len += line_len(name, node);
        }
        let before = match node {
            Some(node) => self.entries.insert((*name).into(), node),
            None => self.entries.remove(*name),
        };
        if let Some(before) = &before {
            self.below.replace(before.sums(), Sums::default());
            self.text_len -= line_len(name, before);
        }
        Replaced { depth: 1, before }
    }

    /// Marks the files at and below a path as no longer proven.
    fn doubt(&mut self, path: &[&[u8]]) {
        if self.below.unproven == self.below.files {
            return;
        }
        self.blob = None;
        match path.split_first() {
            Some((name, rest)) => {
                if let Some(node) = self.entries.get_mut(*name) {
                    let before = node.sums();
                    node.doubt(rest);
                    self.below.replace(before, node.sums());
                }
            }
            None => {
                for node in self.entries.values_mut() {
                    let before = node.sums();
                    node.doubt(&[]);
                    self.below.replace(before, node.sums());
                }
            }
        }
    }

    fn sums(&self) -> Sums {
        let own = if self.blob.is_none() {
            self.text_len + WITHOUT_NAME
        } else {
            0
        };
        Sums {
            unwritten: self.below.unwritten + own,
            depth: self.below.depth + 1,
            ..self.below
        }
    }

    /// Its hash. The texts of directories that are not stored are added to `texts`.
    fn write(&mut self, is_stored: &dyn Fn(&BlobHash) -> bool, texts: &mut Texts) -> BlobHash {
        if let Some(blob) = self.blob
            && is_stored(&blob)
        {
            return blob;
        }
        let mut text = String::new();
        let mut below = self.below;
        for (name, node) in &mut self.entries {
            let entry = match node {
                Node::File(file) => file.entry(),
                Node::Link(target) => DirectoryEntry::Link {
                    target: Arc::clone(target),
                },
                Node::Directory(child) => {
                    let hash = match child.blob {
                        Some(blob) if is_stored(&blob) => blob,
                        _ => {
                            let before = child.sums();
                            let hash = Arc::make_mut(child).write(is_stored, texts);
                            below.replace(before, child.sums());
                            hash
                        }
                    };
                    DirectoryEntry::Directory {
                        mode: child.mode,
                        hash,
                    }
                }
            };
            put_entry(&mut text, name, &entry);
        }
        let hash = BlobHash::of(text.as_bytes());
        self.below = below;
        self.blob = Some(hash);
        if !is_stored(&hash) && texts.seen.insert(hash) {
            texts.list.push((hash, text.into_bytes().into()));
        }
        hash
    }
}

/// Texts of directories, each once.
#[derive(Default)]
struct Texts {
    seen: HashSet<BlobHash>,
    list: DirectoryTexts,
}

impl Node {
    fn sums(&self) -> Sums {
        match self {
            Self::File(file) => Sums {
                files: 1,
                unproven: u64::from(!file.is_proven),
                unwritten: 0,
                depth: 0,
            },
            Self::Link(_) => Sums::default(),
            Self::Directory(directory) => directory.sums(),
        }
    }

    fn doubt(&mut self, path: &[&[u8]]) {
        match self {
            Self::File(file) => file.is_proven = false,
            Self::Link(_) => {}
            Self::Directory(child) => {
                if child.below.unproven < child.below.files {
                    Arc::make_mut(child).doubt(path);
                }
            }
        }
    }
}

impl FileNode {
    /// What a snapshot says of it: of its content nothing unless it is proven.
    pub(super) fn entry(&self) -> DirectoryEntry {
        let hash = self.hash.filter(|_| self.is_proven);
        DirectoryEntry::File {
            mode: self.mode,
            hash,
            len: self.len.filter(|_| hash.is_some()),
        }
    }
}

impl Sums {
    fn replace(&mut self, before: Self, after: Self) {
        self.files = self.files - before.files + after.files;
        self.unproven = self.unproven - before.unproven + after.unproven;
        self.unwritten = self.unwritten - before.unwritten + after.unwritten;
        self.depth = self.depth.max(after.depth);
    }
}

/// How many bytes the line of an entry takes on a tape at most, but for its name: its kind,
/// mode, hash and length, and twice as many backslashes as one would think.
const WITHOUT_NAME: u64 = 128;

/// How many bytes the line of an entry takes on a tape at most.
fn line_len(name: &[u8], node: &Node) -> u64 {
    let target = match node {
        Node::Link(target) => escaped_len(target),
        Node::File(_) | Node::Directory(_) => 0,
    };
    WITHOUT_NAME + escaped_len(name) + target
}

/// How many bytes a name takes at most as a JSON string inside of a JSON string, or as base64.
fn escaped_len(name: &[u8]) -> u64 {
    let is_plain = |byte: &u8| *byte >= b' ' && !matches!(*byte, b'"' | b'\\');
    let escapes = name.iter().filter(|byte| !is_plain(byte)).count() as u64;
    let len = name.len() as u64;
    (len + 6 * escapes).max(len / 3 * 4 + 24)
}

/// The files of a branch: those of the workspace, and others that the run named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    workspace: Arc<Directory>,
    outside: Arc<Directory>,
}

impl Tree {
    pub(super) fn workspace(&self) -> &Directory {
        &self.workspace
    }

    pub(super) fn get(&self, path: &TapePath) -> Option<&Node> {
        let components: Vec<&[u8]> = path.components().collect();
        if path.is_outside() {
            self.outside.get(&components)
        } else {
            self.workspace.get(&components)
        }
    }

    /// Puts a node at a path, or takes away what is there. What would be too deep is left out.
    pub(super) fn put(&mut self, path: &TapePath, node: Option<Node>) -> Option<Replaced> {
        let components: Vec<&[u8]> = path.components().collect();
        self.put_at(path.is_outside(), &components, node)
    }

    /// Puts back what a change at this path replaced.
    pub(super) fn put_back(&mut self, path: &TapePath, replaced: &Replaced) {
        let components: Vec<&[u8]> = path.components().take(replaced.depth).collect();
        self.put_at(path.is_outside(), &components, replaced.before.clone());
    }

    fn put_at(&mut self, is_outside: bool, path: &[&[u8]], node: Option<Node>) -> Option<Replaced> {
        let root = self.root(is_outside);
        let depth = node.as_ref().map_or(0, |node| node.sums().depth);
        if path.len() + depth > MAX_DEPTH || (node.is_none() && root.get(path).is_none()) {
            return None;
        }
        Some(Arc::make_mut(root).put(path, node))
    }

    /// Marks the files at and below a path as no longer proven; without one, every file.
    pub(super) fn doubt(&mut self, path: Option<&TapePath>) {
        let Some(path) = path else {
            Arc::make_mut(&mut self.workspace).doubt(&[]);
            Arc::make_mut(&mut self.outside).doubt(&[]);
            return;
        };
        let components: Vec<&[u8]> = path.components().collect();
        let root = self.root(path.is_outside());
        if root.get(&components).is_some() {
            Arc::make_mut(root).doubt(&components);
        }
    }

    /// Whether every file of the workspace is proven.
    pub(super) fn is_proven(&self) -> bool {
        self.workspace.below.unproven == 0
    }

    /// How many bytes the directories of a snapshot would take now at most.
    pub(super) fn snapshot_cost(&self) -> u64 {
        self.workspace.sums().unwritten
    }

    /// The root directory's hash, and the texts of the directories that are not stored.
    pub(super) fn write(
        &mut self,
        is_stored: &dyn Fn(&BlobHash) -> bool,
    ) -> (BlobHash, DirectoryTexts) {
        let mut texts = Texts::default();
        let root = Arc::make_mut(&mut self.workspace).write(is_stored, &mut texts);
        (root, texts.list)
    }

    fn root(&mut self, is_outside: bool) -> &mut Arc<Directory> {
        if is_outside {
            &mut self.outside
        } else {
            &mut self.workspace
        }
    }
}
