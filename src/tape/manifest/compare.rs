//! Where a snapshot and the tree of the events disagree, without reading equal directories.

use std::collections::BTreeMap;

use super::{Directory, Manifest, Node};
use crate::model::{BlobHash, Content, Event, FileChange, FileOp, TapePath};
use crate::tape::wire::v1::{DirectoryEntries, DirectoryEntry};

/// Directories below directories that are followed.
const MAX_DEPTH: usize = 1024;
/// Names that are looked at: directories that share children can be made to hold more paths
/// than there are atoms.
const MAX_NAMES: usize = 1 << 20;

/// One path on which a snapshot and the events disagree, or of which it says more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path.
    pub path: TapePath,
    /// What is there by the events.
    pub events: Option<Node>,
    /// What is there by the snapshot.
    pub snapshot: Option<DirectoryEntry>,
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Paths, those of directories before what is in them.
    pub paths: Vec<Difference>,
    /// Directories that the snapshot names and that cannot be read.
    pub unread: Vec<BlobHash>,
    /// The snapshot names more than anybody looks at; the rest was not compared.
    pub is_cut: bool,
}

impl Manifest {
    /// Compares a line with the snapshot whose root directory is `root`. `read` gives the
    /// entries of a directory.
    pub fn differences(
        &mut self,
        line: Option<&str>,
        root: BlobHash,
        read: &mut dyn FnMut(&BlobHash) -> Option<DirectoryEntries>,
    ) -> Differences {
        // Writes the hashes of all directories, so that equal ones are passed over.
        self.snapshot(line, &|_| true);
        let mut comparison = Comparison {
            read,
            found: Differences::default(),
            names: 0,
        };
        comparison.directory(self.workspace(line), root, &mut Vec::new(), 0);
        comparison.found
    }
}

impl Difference {
    /// The event after which the events say what the snapshot says.
    pub fn to_event(&self) -> Event {
        let change = |op| FileChange::new(op, self.path.clone());
        let change = match &self.snapshot {
            None => change(FileOp::Remove),
            Some(DirectoryEntry::File { mode, hash, len }) => FileChange {
                mode: *mode,
                content: Content::Unstored {
                    hash: *hash,
                    len: *len,
                },
                ..change(FileOp::Write)
            },
            Some(DirectoryEntry::Link { target }) => change(FileOp::Symlink {
                target: target.to_vec(),
            }),
            Some(DirectoryEntry::Directory { mode, .. }) => FileChange {
                mode: *mode,
                ..change(FileOp::Mkdir)
            },
        };
        Event::new(crate::model::Body::File(change))
    }
}

struct Comparison<'a> {
    read: &'a mut dyn FnMut(&BlobHash) -> Option<DirectoryEntries>,
    found: Differences,
    names: usize,
}

impl Comparison<'_> {
    fn directory(
        &mut self,
        known: Option<&Directory>,
        hash: BlobHash,
        path: &mut Vec<u8>,
        depth: usize,
    ) {
        if known.is_some_and(|known| known.blob() == Some(hash)) {
            return;
        }
        if depth > MAX_DEPTH || self.names > MAX_NAMES {
            self.found.is_cut = true;
            return;
        }
        let Some(entries) = (self.read)(&hash) else {
            self.found.unread.push(hash);
            return;
        };
        self.names += entries.len();
        let entries: BTreeMap<Box<[u8]>, DirectoryEntry> = entries.into_iter().collect();
        for (name, node) in known.into_iter().flat_map(Directory::entries) {
            if !entries.contains_key(name) {
                self.note(path, name, Some(node), None);
            }
        }
        for (name, entry) in &entries {
            let node = known.and_then(|known| known.entry(name));
            if differ(node, entry) {
                self.note(path, name, node, Some(entry));
            }
            if let DirectoryEntry::Directory { hash, .. } = entry {
                let child = match node {
                    Some(Node::Directory(child)) => Some(&**child),
                    _ => None,
                };
                let len = path.len();
                push(path, name);
                self.directory(child, *hash, path, depth + 1);
                path.truncate(len);
            }
        }
    }

    fn note(
        &mut self,
        above: &mut Vec<u8>,
        name: &[u8],
        node: Option<&Node>,
        entry: Option<&DirectoryEntry>,
    ) {
        let len = above.len();
        push(above, name);
        if let Ok(path) = TapePath::new(&*above) {
            self.found.paths.push(Difference {
                path,
                events: node.cloned(),
                snapshot: entry.cloned(),
            });
        }
        above.truncate(len);
    }
}

/// Whether a snapshot's entry says something else, or more, than is known.
fn differ(node: Option<&Node>, entry: &DirectoryEntry) -> bool {
    let other_mode = |known: Option<u32>, told: Option<u32>| told.is_some() && told != known;
    match (node, entry) {
        (Some(Node::File(file)), DirectoryEntry::File { mode, hash, .. }) => {
            let other_content = hash.is_some() && (*hash != file.hash || !file.is_proven);
            other_content || other_mode(file.mode, *mode)
        }
        (Some(Node::Link(known)), DirectoryEntry::Link { target }) => known != target,
        (Some(Node::Directory(known)), DirectoryEntry::Directory { mode, .. }) => {
            other_mode(known.mode, *mode)
        }
        _ => true,
    }
}

fn push(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}
