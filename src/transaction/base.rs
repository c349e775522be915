//! What a workspace was when a transaction began, path by path.
//!
//! Every entry is looked at when it begins, and few are read: the bytes of a file are named
//! when a call first touches it, while its stat still is what it was. Reads, and writes
//! nothing; follows no link.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Bound;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::plan::Fingerprint;
use super::{TransactionError, Workspace};
use crate::model::{BlobHash, STATE_DIRECTORY, TapePath};

/// A workspace as it was.
#[derive(Debug)]
pub(super) struct Base {
    root: PathBuf,
    entries: BTreeMap<TapePath, Begun>,
}

/// A path as it was.
#[derive(Debug)]
struct Begun {
    stat: Stat,
    /// What it was; `None`: a file that nobody read yet.
    known: Option<Fingerprint>,
}

/// Changes with every change of a file. Of a directory, only what sort of thing it is and its
/// mode count: its times change with what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    mode: u32,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    fn of(found: &Metadata) -> Self {
        let stat = Self {
            mode: found.mode(),
            inode: found.ino(),
            len: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        };
        if found.is_dir() {
            return Self {
                len: 0,
                modified: (0, 0),
                changed: (0, 0),
                ..stat
            };
        }
        stat
    }
}

impl Base {
    /// Looks at every entry of a workspace.
    pub(super) fn scan(root: &Path) -> io::Result<Self> {
        let mut base = Self {
            root: root.to_owned(),
            entries: BTreeMap::new(),
        };
        base.entries = base.look()?;
        Ok(base)
    }

    fn look(&self) -> io::Result<BTreeMap<TapePath, Begun>> {
        let mut entries = BTreeMap::new();
        let mut open: Vec<PathBuf> = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            let listed = match fs::read_dir(self.root.join(&below)) {
                // What nobody here may list, no command of theirs can change either.
                Err(_) if !below.as_os_str().is_empty() => continue,
                listed => listed?,
            };
            for entry in listed {
                let path = below.join(entry?.file_name());
                let Ok(named) = TapePath::new(path.as_os_str().as_bytes()) else {
                    continue;
                };
                if path == Path::new(STATE_DIRECTORY) {
                    continue;
                }
                let place = self.root.join(&path);
                let Ok(found) = fs::symlink_metadata(&place) else {
                    continue;
                };
                let mode = found.mode() & 0o7777;
                let known = if found.is_dir() {
                    open.push(path);
                    Some(Fingerprint::Directory { mode: Some(mode) })
                } else if found.is_symlink() {
                    let target = fs::read_link(&place).ok();
                    target.map(|target| Fingerprint::Link(target.into_os_string().into_vec()))
                } else if found.is_file() {
                    None
                } else {
                    Some(Fingerprint::Other)
                };
                let stat = Stat::of(&found);
                entries.insert(named, Begun { stat, known });
            }
        }
        Ok(entries)
    }

    /// A file was read while the transaction began, and held this.
    pub(super) fn know(&mut self, path: &TapePath, hash: BlobHash, len: u64) {
        if let Some(begun) = self.entries.get_mut(path)
            && begun.known.is_none()
        {
            begun.known = Some(Fingerprint::File {
                hash,
                len: Some(len),
                mode: Some(begun.stat.mode & 0o7777),
            });
        }
    }

    /// Reads every file that nobody read yet.
    pub(super) fn know_all(&mut self, workspace: &Workspace) -> Result<(), TransactionError> {
        let unread = self.entries.iter().filter(|(_, it)| it.known.is_none());
        let unread: Vec<TapePath> = unread.map(|(path, _)| path.clone()).collect();
        for path in unread {
            self.pin(&path, workspace)?;
        }
        Ok(())
    }

    /// What a path was. A file that nobody read yet is read now, if it is still as it was.
    pub(super) fn pin(
        &mut self,
        path: &TapePath,
        workspace: &Workspace,
    ) -> Result<Fingerprint, TransactionError> {
        let place = self.place(path);
        let Some(begun) = self.entries.get_mut(path) else {
            return Ok(Fingerprint::Absent);
        };
        if let Some(known) = &begun.known {
            return Ok(known.clone());
        }
        let is_same = || {
            let now = fs::symlink_metadata(&place);
            now.is_ok_and(|now| Stat::of(&now) == begun.stat)
        };
        let found = if is_same() {
            match workspace.look(path) {
                // Somebody may have written while it was read.
                Ok(found) if is_same() => found,
                Ok(_) => Fingerprint::Unread,
                Err(error) if is_forbidden(&error) => Fingerprint::Unread,
                Err(error) => return Err(error),
            }
        } else {
            Fingerprint::Unread
        };
        begun.known = Some(found.clone());
        Ok(found)
    }

    /// What a path was, as far as it was read.
    pub(super) fn known(&self, path: &TapePath) -> Fingerprint {
        match self.entries.get(path) {
            None => Fingerprint::Absent,
            Some(begun) => begun.known.clone().unwrap_or(Fingerprint::Unread),
        }
    }

    /// Whether anything was there.
    pub(super) fn holds(&self, path: &TapePath) -> bool {
        self.entries.contains_key(path)
    }

    /// Everything that was below a path.
    pub(super) fn below(&self, path: &TapePath) -> impl Iterator<Item = &TapePath> {
        // What lies below sorts between the path with a slash and the path with the next byte.
        let first = [path.as_bytes(), b"/"].concat();
        let end = [path.as_bytes(), &[b'/' + 1]].concat();
        let range = (Bound::Excluded(&*first), Bound::Excluded(&*end));
        let below = self.entries.range::<[u8], _>(range);
        below.map(|(path, _)| path)
    }

    /// The paths that are no longer what they were, each with what it was: by stat alone, and
    /// so more than really differ.
    pub(super) fn stirred(&self) -> io::Result<Vec<(TapePath, Fingerprint)>> {
        let now = self.look()?;
        let mut stirred = Vec::new();
        for (path, begun) in &self.entries {
            if now.get(path).is_none_or(|now| now.stat != begun.stat) {
                stirred.push((path.clone(), self.known(path)));
            }
        }
        let came = now.into_keys().filter(|path| !self.holds(path));
        stirred.extend(came.map(|path| (path, Fingerprint::Absent)));
        Ok(stirred)
    }

    fn place(&self, path: &TapePath) -> PathBuf {
        let name = std::ffi::OsStr::from_bytes(path.as_bytes());
        self.root.join(name)
    }
}

/// Whether a file could not be read because it is closed to who runs this.
pub(super) fn is_forbidden(error: &TransactionError) -> bool {
    let denied = io::ErrorKind::PermissionDenied;
    matches!(error, TransactionError::Prepare(error) if error.kind() == denied)
}
