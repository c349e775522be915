//! The files that calls are answered from: a tree at a place of a run, and what was changed
//! in it since.
//!
//! Nothing here reads or writes a disk. What is not known of a file is not made up: whoever
//! asks for it is told how well it is known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::NotAttempted;
use crate::checkout::{Entry, Item};
use crate::model::{BlobHash, Certainty, Content, FileChange, FileOp, TapePath};
use crate::tape::{BlobError, BlobSource};

/// A tree of files.
pub struct Tree<'a> {
    entries: BTreeMap<TapePath, Entry>,
    /// Whether what is not among the entries is known not to be there.
    is_whole: bool,
    blobs: Blobs<'a>,
}

/// Contents: those of the run, and those that came since.
pub(super) struct Blobs<'a> {
    run: &'a dyn BlobSource,
    new: HashMap<BlobHash, Arc<[u8]>>,
}

impl BlobSource for Blobs<'_> {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        match self.new.get(hash) {
            Some(bytes) => Ok(Arc::clone(bytes)),
            None => self.run.blob(hash),
        }
    }
}

/// What the tree knows of a path.
pub enum Found {
    /// A file with these bytes.
    File(Arc<[u8]>),
    /// A directory.
    Directory,
    /// Nothing, for certain.
    Nothing,
}

impl<'a> Tree<'a> {
    /// A tree of these entries, with their contents. `is_whole`: what is not named is not
    /// there.
    pub fn new(entries: Vec<Entry>, is_whole: bool, blobs: &'a dyn BlobSource) -> Self {
        let entries = entries.into_iter();
        Self {
            entries: entries.map(|entry| (entry.path.clone(), entry)).collect(),
            is_whole,
            blobs: Blobs {
                run: blobs,
                new: HashMap::new(),
            },
        }
    }

    /// Whether what is not named is known not to be there.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Says whether what is not named is known not to be there.
    pub fn set_whole(&mut self, is_whole: bool) {
        self.is_whole = is_whole;
    }

    /// Makes it a tree of these entries; the paths that are not what they were.
    pub(super) fn make(&mut self, entries: Vec<Entry>, is_whole: bool) -> Vec<TapePath> {
        let new = entries.into_iter().map(|entry| (entry.path.clone(), entry));
        let new: BTreeMap<TapePath, Entry> = new.collect();
        let is_other = |path: &&TapePath| self.entries.get(*path) != new.get(*path);
        let paths = self.entries.keys().chain(new.keys()).filter(is_other);
        let changed: BTreeSet<TapePath> = paths.cloned().collect();
        self.entries = new;
        self.is_whole = is_whole;
        changed.into_iter().collect()
    }

    /// Makes a path what an entry says, or nothing, with all below it.
    pub fn set(&mut self, path: &TapePath, entry: Option<Entry>) {
        let Some(entry) = entry else {
            self.entries.remove(path);
            self.remove_below(path);
            return;
        };
        if !matches!(entry.item, Item::Directory) {
            self.remove_below(path);
        }
        self.add_directories(path);
        self.entries.insert(path.clone(), entry);
    }

    /// What a path is, as an entry.
    pub fn get(&self, path: &TapePath) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The entries, each directory before what is in it.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// What lies below a path.
    pub fn below(&self, path: &TapePath) -> impl Iterator<Item = &Entry> {
        let (first, end) = below(path.as_bytes());
        let first = Bound::Included(first.as_slice());
        let end = Bound::Excluded(end.as_slice());
        let entries = self.entries.range::<[u8], _>((first, end));
        entries
            .map(|(_, entry)| entry)
            .collect::<Vec<_>>()
            .into_iter()
    }

    pub(super) fn blobs(&self) -> &Blobs<'a> {
        &self.blobs
    }

    /// The first file or link of the workspace that is not known exactly, and how many more
    /// there are.
    pub(super) fn first_inexact(&self) -> Option<(&Entry, usize)> {
        let is_inexact = |entry: &&Entry| {
            !entry.path.is_outside()
                && match entry.item {
                    Item::Directory => false,
                    Item::Link(_) => entry.certainty != Certainty::Exact,
                    Item::File(hash) => entry.certainty != Certainty::Exact || hash.is_none(),
                }
        };
        let mut inexact = self.entries.values().filter(is_inexact);
        let first = inexact.next()?;
        Some((first, inexact.count()))
    }

    /// What stands at a path, if that is known.
    pub fn find(&self, path: &TapePath) -> Result<Found, NotAttempted> {
        self.goes_through_link(path)?;
        let Some(entry) = self.entries.get(path) else {
            return self.nothing(path);
        };
        match (&entry.item, entry.certainty) {
            (_, Certainty::Absent) => Ok(Found::Nothing),
            (Item::Directory, _) => Ok(Found::Directory),
            (Item::File(Some(hash)), Certainty::Exact) => match self.blobs.blob(hash) {
                Ok(bytes) => Ok(Found::File(bytes)),
                Err(error) => Err(NotAttempted::Unreadable {
                    path: path.clone(),
                    why: error.to_string(),
                }),
            },
            (Item::Link(_), _) => Err(NotAttempted::ThroughLink(path.clone())),
            (Item::File(_), certainty) => Err(NotAttempted::Inexact {
                path: path.clone(),
                certainty,
                more: 0,
            }),
        }
    }

    fn nothing(&self, path: &TapePath) -> Result<Found, NotAttempted> {
        if self.is_whole && !path.is_outside() {
            Ok(Found::Nothing)
        } else {
            Err(NotAttempted::Inexact {
                path: path.clone(),
                certainty: Certainty::Unknown,
                more: 0,
            })
        }
    }

    /// A path that leads through a link leads somewhere else.
    fn goes_through_link(&self, path: &TapePath) -> Result<(), NotAttempted> {
        let mut above = path.parent();
        while let Some(directory) = above {
            if let Some(entry) = self.entries.get(&directory)
                && matches!(entry.item, Item::Link(_))
            {
                return Err(NotAttempted::ThroughLink(directory));
            }
            above = directory.parent();
        }
        Ok(())
    }

    /// Takes in a change. The paths that may be other than before, each with all below it.
    pub fn apply(&mut self, change: &FileChange) -> Vec<TapePath> {
        let path = change.path.clone();
        match &change.op {
            FileOp::Remove => self.set(&path, None),
            FileOp::Rename { from } => {
                self.rename(from, &path);
                return vec![from.clone(), path];
            }
            FileOp::Mkdir => {
                let is_there = self.entries.get(&path);
                if !is_there.is_some_and(|entry| matches!(entry.item, Item::Directory)) {
                    self.set(&path, None);
                }
                self.set(&path, Some(entry(change, Item::Directory)));
            }
            FileOp::Symlink { target } => {
                self.set(&path, Some(entry(change, Item::Link(target.clone()))));
            }
            FileOp::Chmod => {
                if let Some(entry) = self.entries.get_mut(&path) {
                    entry.mode = change.mode.or(entry.mode);
                }
            }
            FileOp::Write | FileOp::Observe => self.write(change),
        }
        vec![path]
    }

    fn write(&mut self, change: &FileChange) {
        let (hash, certainty) = match &change.content {
            Content::Bytes(bytes) => {
                let hash = BlobHash::of(bytes);
                self.blobs.new.insert(hash, Arc::clone(bytes));
                (Some(hash), Certainty::Exact)
            }
            Content::Blob { hash, redacted, .. } => match redacted {
                true => (Some(*hash), Certainty::Redacted),
                false => (Some(*hash), Certainty::Exact),
            },
            Content::Unstored { hash, .. } => (*hash, Certainty::Unstored),
            Content::Lines(_) => (None, Certainty::Partial),
            Content::None if change.op == FileOp::Observe => {
                self.set(&change.path, None);
                return;
            }
            Content::None => (None, Certainty::Unknown),
        };
        let before = self.entries.get(&change.path).and_then(|entry| entry.mode);
        let mut entry = entry(change, Item::File(hash));
        entry.mode = entry.mode.or(before);
        entry.certainty = certainty;
        self.set(&change.path, Some(entry));
    }

    fn rename(&mut self, from: &TapePath, to: &TapePath) {
        let Some(moved) = self.entries.get(from).cloned() else {
            return;
        };
        let below: Vec<Entry> = self.below(from).cloned().collect();
        self.set(from, None);
        self.set(to, None);
        for mut entry in std::iter::once(moved).chain(below) {
            let tail = entry.path.as_bytes().get(from.as_bytes().len()..);
            let tail = tail.unwrap_or_default();
            if let Ok(path) = TapePath::new([to.as_bytes(), tail].concat()) {
                entry.path = path.clone();
                self.set(&path, Some(entry));
            }
        }
    }

    fn remove_below(&mut self, path: &TapePath) {
        let below: Vec<TapePath> = self.below(path).map(|entry| entry.path.clone()).collect();
        for path in below {
            self.entries.remove(&path);
        }
    }

    /// The directories that hold a path are there, too.
    fn add_directories(&mut self, path: &TapePath) {
        let mut above = path.parent();
        while let Some(directory) = above {
            let held = self.entries.get(&directory);
            if held.is_some_and(|entry| matches!(entry.item, Item::Directory)) {
                return;
            }
            above = directory.parent();
            let entry = Entry {
                path: directory.clone(),
                mode: None,
                certainty: Certainty::Exact,
                item: Item::Directory,
            };
            self.entries.insert(directory, entry);
        }
    }
}

fn entry(change: &FileChange, item: Item) -> Entry {
    Entry {
        path: change.path.clone(),
        mode: change.mode,
        certainty: Certainty::Exact,
        item,
    }
}

/// What lies below a path sorts between the path with a slash and the path with the next byte.
fn below(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    ([path, b"/"].concat(), [path, &[b'/' + 1]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl BlobSource for Nothing {
        fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
            Err(BlobError::Missing(*hash))
        }
    }

    fn path(text: &str) -> TapePath {
        TapePath::new(text).unwrap()
    }

    fn names(tree: &Tree<'_>) -> Vec<String> {
        tree.entries().map(|entry| entry.path.to_text()).collect()
    }

    #[test]
    fn changes_are_taken_in_with_what_lies_above_and_below() {
        let mut tree = Tree::new(Vec::new(), true, &Nothing);
        tree.apply(&FileChange::write(path("d/e/f"), b"1".as_slice()));
        tree.apply(&FileChange::write(path("d.txt"), b"2".as_slice()));
        assert_eq!(names(&tree), ["d", "d.txt", "d/e", "d/e/f"]);
        let from = path("d");
        let moved = FileChange::new(FileOp::Rename { from }, path("n"));
        tree.apply(&moved);
        assert_eq!(names(&tree), ["d.txt", "n", "n/e", "n/e/f"]);
        assert!(matches!(tree.find(&path("n/e/f")), Ok(Found::File(bytes)) if *bytes == *b"1"));
        // A file in place of a directory takes all below it along.
        tree.apply(&FileChange::write(path("n"), b"3".as_slice()));
        assert_eq!(names(&tree), ["d.txt", "n"]);
        tree.apply(&FileChange::new(FileOp::Remove, path("n")));
        assert!(matches!(tree.find(&path("n")), Ok(Found::Nothing)));
        assert_eq!(names(&tree), ["d.txt"]);
    }

    #[test]
    fn what_is_not_known_is_not_made_up() {
        let mut tree = Tree::new(Vec::new(), false, &Nothing);
        assert!(matches!(
            tree.find(&path("a")),
            Err(NotAttempted::Inexact {
                certainty: Certainty::Unknown,
                ..
            })
        ));
        let unstored = Content::Unstored {
            hash: None,
            len: None,
        };
        let mut change = FileChange::new(FileOp::Write, path("a"));
        change.content = unstored;
        tree.apply(&change);
        assert!(matches!(
            tree.find(&path("a")),
            Err(NotAttempted::Inexact {
                certainty: Certainty::Unstored,
                ..
            })
        ));
        let target = b"a".to_vec();
        tree.apply(&FileChange::new(FileOp::Symlink { target }, path("l")));
        assert!(matches!(
            tree.find(&path("l/x")),
            Err(NotAttempted::ThroughLink(_))
        ));
        assert_eq!(
            tree.first_inexact()
                .map(|(first, more)| (first.path.to_text(), more)),
            Some(("a".to_owned(), 0))
        );
    }
}
