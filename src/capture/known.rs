//! The tree of a watched directory as it was last seen.
//!
//! Holds what tells a changed entry from an unchanged one, and no contents.

use std::collections::BTreeMap;

use super::disk::Stat;
use crate::model::BlobHash;

/// What was seen under a name.
#[derive(Debug)]
pub(super) enum Known {
    File(KnownFile),
    Link {
        target: Vec<u8>,
        stat: Stat,
    },
    Directory(KnownDirectory),
    /// Not covered; decided when it was first seen, and for good.
    Left(Left),
}

/// A file as it was last read.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownFile {
    pub(super) stat: Stat,
    pub(super) mode: u32,
    /// What it held; `None` where that was not or could not be read.
    pub(super) hash: Option<BlobHash>,
    /// Equal times and size mean equal content: it was not read right after it was written.
    pub(super) is_settled: bool,
}

/// A directory.
#[derive(Debug)]
pub(super) struct KnownDirectory {
    pub(super) stat: Stat,
    pub(super) mode: u32,
    pub(super) entries: BTreeMap<Box<[u8]>, Known>,
}

/// Why an entry is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// A repository's own files, Jukebox's own, or the tape.
    Own,
    /// The ignore rules name it.
    Ignored,
    /// No file, directory or link, but this.
    Special(&'static str),
    /// A directory of another file system.
    OtherDevice,
    /// Deeper than anything is looked at, or longer than a tape's path.
    TooDeep,
}

impl KnownDirectory {
    pub(super) const fn new(stat: Stat, mode: u32) -> Self {
        Self {
            stat,
            mode,
            entries: BTreeMap::new(),
        }
    }

    /// What it holds, by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], &Known)> {
        self.entries.iter().map(|(name, known)| (&**name, known))
    }

    /// The directory at a path below this one; itself for an empty path.
    pub(super) fn directory_mut(&mut self, path: &[u8]) -> Option<&mut Self> {
        let mut at = self;
        for name in path
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
        {
            match at.entries.get_mut(name)? {
                Known::Directory(below) => at = below,
                _ => return None,
            }
        }
        Some(at)
    }

    /// What is at a path below this directory.
    pub(super) fn get(&self, path: &[u8]) -> Option<&Known> {
        let mut names = path.split(|byte| *byte == b'/');
        let mut known = self.entries.get(names.next()?)?;
        for name in names {
            match known {
                Known::Directory(below) => known = below.entries.get(name)?,
                _ => return None,
            }
        }
        Some(known)
    }

    /// Puts what was seen at a path, where the directory above is known.
    pub(super) fn put(&mut self, path: &[u8], known: Known) {
        let (above, name) = split(path);
        if let Some(directory) = self.directory_mut(above) {
            directory.entries.insert(name.into(), known);
        }
    }

    /// Calls for each file, in the order of paths.
    pub(super) fn each_file(&self, path: &mut Vec<u8>, call: &mut dyn FnMut(&[u8], &KnownFile)) {
        for (name, known) in &self.entries {
            let len = path.len();
            push(path, name);
            match known {
                Known::File(file) => call(path, file),
                Known::Directory(below) => below.each_file(path, call),
                Known::Link { .. } | Known::Left(_) => {}
            }
            path.truncate(len);
        }
    }
}

/// Adds a name to a path.
pub(super) fn push(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// The path of the directory that holds this one, empty at the top, and the name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(slash) => {
            let (above, name) = path.split_at(slash);
            (above, name.get(1..).unwrap_or_default())
        }
        None => (b"", path),
    }
}
