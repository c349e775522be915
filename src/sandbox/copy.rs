//! A workspace copied in full, for machines that have no overlay: reflinked where the file
//! system can, never hard-linked, since a writer in place would hit the original.
//!
//! What is still as it was copied is known by its inode and the time of its last change, so
//! that no byte is read to find what commands wrote. That stands beside the copy as well, so that
//! whoever finds it when its owner is gone can tell what commands wrote. Owners and times are not
//! copied.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::change_set::{self, Below, Change, ChangeSet};
use super::error::SandboxError;
use super::layers::Layers;
use crate::checkout::remove_tree;
use crate::model::{STATE_DIRECTORY, TapePath};

/// In the directory of a sandbox.
const ORIGIN: &str = "origin";

/// The copy of a workspace, and what it was.
#[derive(Debug, Default)]
pub(super) struct Copies {
    origin: Origin,
    saved: BTreeMap<u32, Saved>,
}

/// What a copy was made of.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// All that was in the workspace.
    #[serde(with = "pairs")]
    base: BTreeMap<PathBuf, Node>,
    /// What is in the copy and was not changed, with what tells that.
    #[serde(with = "pairs")]
    same: BTreeMap<PathBuf, Mark>,
}

/// A savepoint: a copy of the copy.
#[derive(Debug)]
struct Saved {
    tree: PathBuf,
    /// What of it is as it was in the workspace.
    same: BTreeSet<PathBuf>,
}

/// What a path was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    is_directory: bool,
    mode: u32,
}

/// Changes with every change of a file or its rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    inode: u64,
    changed: (i64, i64),
}

impl Copies {
    /// Copies the workspace; where the copy lies.
    pub(super) fn take(
        &mut self,
        layers: &mut Layers,
        workspace: &Path,
    ) -> Result<PathBuf, SandboxError> {
        let (number, tree) = layers.add_tree()?;
        copy_tree(workspace, &tree)?;
        layers.settle(vec![number])?;
        for (path, found) in walk(&tree)? {
            self.origin.base.insert(path.clone(), Node::of(&found));
            self.origin.same.insert(path, Mark::of(&found));
        }
        self.origin.write(layers.path())?;
        Ok(tree)
    }

    /// Copies the copy.
    pub(super) fn save(&mut self, layers: &mut Layers, tree: &Path) -> Result<u32, SandboxError> {
        let (number, place) = layers.add_tree()?;
        copy_tree(tree, &place)?;
        let same = walk(tree)?.into_iter();
        let same = same.filter(|(path, found)| self.origin.is_same(path, found));
        let saved = Saved {
            tree: place,
            same: same.map(|(path, _)| path).collect(),
        };
        self.saved.insert(number, saved);
        Ok(number)
    }

    /// Makes the copy what it was when it was saved.
    pub(super) fn restore(
        &mut self,
        saved: &[u32],
        (layers, tree): (&Layers, &Path),
    ) -> Result<(), SandboxError> {
        let Some(saved) = saved.first().and_then(|number| self.saved.get(number)) else {
            return Ok(());
        };
        // Half of it restored, nobody could tell what commands wrote.
        Origin::forget(layers.path())?;
        // The directory itself stays: commands may write below it, and below no other.
        let entries = fs::read_dir(tree).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in entries.map_err(SandboxError::layer(tree))? {
            let path = entry.path();
            remove_tree(&path).map_err(SandboxError::layer(&path))?;
        }
        copy_tree(&saved.tree, tree)?;
        self.origin.same.clear();
        for (path, found) in walk(tree)? {
            if saved.same.contains(&path) {
                self.origin.same.insert(path, Mark::of(&found));
            }
        }
        self.origin.write(layers.path())
    }

    /// What commands changed in the copy.
    pub(super) fn change_set(&self, tree: &Path) -> Result<ChangeSet, SandboxError> {
        self.origin.change_set(tree)
    }
}

impl Origin {
    /// Writes down what the copy in a directory of layers was made of.
    fn write(&self, layers: &Path) -> Result<(), SandboxError> {
        let path = layers.join(ORIGIN);
        let write = || {
            let new = path.with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.sync_all()?;
            fs::rename(new, &path)
        };
        write().map_err(SandboxError::layer(&path))
    }

    /// What was written down of it.
    pub(super) fn read(layers: &Path) -> Result<Self, SandboxError> {
        let path = layers.join(ORIGIN);
        let read = || match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = "it was being rolled back to a savepoint, and nobody can tell what of it \
                           was written; the tape can";
                Err(io::Error::new(io::ErrorKind::NotFound, why))
            }
            read => Ok(serde_json::from_slice(&read?)?),
        };
        read().map_err(SandboxError::layer(layers))
    }

    fn forget(layers: &Path) -> Result<(), SandboxError> {
        let path = layers.join(ORIGIN);
        change_set::there(fs::remove_file(&path))
            .map(|_| ())
            .map_err(SandboxError::layer(&path))
    }

    /// What commands changed in the copy.
    pub(super) fn change_set(&self, tree: &Path) -> Result<ChangeSet, SandboxError> {
        let mut set = ChangeSet::default();
        let found = walk(tree)?;
        for (path, found) in &found {
            if self.is_same(path, found) {
                continue;
            }
            let content = tree.join(path);
            match (
                TapePath::new(path.as_os_str().as_bytes()),
                self.change(path, &content, found),
            ) {
                (Err(_), _) => set.refused.push((path.clone(), "path too long")),
                (Ok(path), Ok(change)) => set.changes.push((path, change)),
                (Ok(_), Err(name)) => set.refused.push((path.clone(), name)),
            }
        }
        for path in self.base.keys().filter(|path| !found.contains_key(*path)) {
            let parent = path.parent().unwrap_or(Path::new(""));
            let was_in_it =
                parent == Path::new("") || found.get(parent).is_some_and(Metadata::is_dir);
            if let (true, Ok(path)) = (was_in_it, TapePath::new(path.as_os_str().as_bytes())) {
                set.changes.push((path, Change::Deleted));
            }
        }
        set.changes.sort_by(|one, two| one.0.cmp(&two.0));
        Ok(set)
    }

    fn change(
        &self,
        path: &Path,
        content: &Path,
        found: &Metadata,
    ) -> Result<Change, &'static str> {
        let mode = found.mode() & 0o7777;
        if found.is_dir() {
            let before = self.base.get(path);
            let below = match before {
                Some(before) if !before.is_directory => Below::Replaced,
                _ => Below::Kept,
            };
            Ok(Change::Directory { mode, below })
        } else if found.is_file() {
            Ok(Change::File {
                mode,
                len: found.len(),
                mtime: (found.mtime(), found.mtime_nsec() as u32),
                content: content.to_owned(),
            })
        } else if found.is_symlink() {
            let target = change_set::read_link(content).ok();
            target.map(Change::Link).ok_or("link that cannot be read")
        } else {
            Err(change_set::name_of(found))
        }
    }

    /// Whether a path of the copy is as it was in the workspace. A directory is, whatever
    /// happened in it.
    fn is_same(&self, path: &Path, found: &Metadata) -> bool {
        if found.is_dir() {
            return self.base.get(path) == Some(&Node::of(found));
        }
        self.same.get(path) == Some(&Mark::of(found))
    }
}

impl Node {
    fn of(found: &Metadata) -> Self {
        Self {
            is_directory: found.is_dir(),
            mode: found.mode() & 0o7777,
        }
    }
}

impl Mark {
    fn of(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Maps whose keys are no text, as lists of pairs.
mod pairs {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::PathBuf;

    use serde::de::DeserializeOwned;
    use serde::{Deserialize as _, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<V: Serialize, S: Serializer>(
        map: &BTreeMap<PathBuf, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|(path, value)| (path.as_os_str(), value)))
    }

    pub(super) fn deserialize<'de, V: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<PathBuf, V>, D::Error> {
        let pairs = Vec::<(OsString, V)>::deserialize(deserializer)?;
        Ok(pairs
            .into_iter()
            .map(|(path, value)| (path.into(), value))
            .collect())
    }
}

/// Everything below a directory, by its path there; the state directory is left out.
fn walk(top: &Path) -> Result<BTreeMap<PathBuf, Metadata>, SandboxError> {
    let mut found = BTreeMap::new();
    walk_into(top, Path::new(""), &mut found)?;
    Ok(found)
}

fn walk_into(
    top: &Path,
    below: &Path,
    found: &mut BTreeMap<PathBuf, Metadata>,
) -> Result<(), SandboxError> {
    let directory = top.join(below);
    let lent = change_set::lend(&directory, change_set::READ_DIRECTORY);
    let _lent = lent.map_err(SandboxError::layer(&directory))?;
    let names = change_set::list(&directory);
    for name in names.map_err(SandboxError::layer(&directory))? {
        let path = below.join(name);
        if path == Path::new(STATE_DIRECTORY) {
            continue;
        }
        let place = top.join(&path);
        let metadata = fs::symlink_metadata(&place).map_err(SandboxError::layer(&place))?;
        if metadata.is_dir() {
            walk_into(top, &path, found)?;
        }
        found.insert(path, metadata);
    }
    Ok(())
}

/// Copies what is below a directory to below another, which is made if it is not there.
fn copy_tree(from: &Path, to: &Path) -> Result<(), SandboxError> {
    let entries = walk(from)?;
    let top = fs::metadata(from).map_err(SandboxError::layer(from))?;
    if !to.exists() {
        fs::create_dir(to).map_err(SandboxError::layer(to))?;
    }
    for (path, found) in &entries {
        let (from, to) = (from.join(path), to.join(path));
        copy_entry(&from, &to, found).map_err(SandboxError::layer(&from))?;
    }
    // A directory gets its mode when all that belongs into it is there.
    let directories = entries.iter().filter(|(_, found)| found.is_dir());
    for (path, found) in directories.rev() {
        let path = to.join(path);
        let mode = fs::Permissions::from_mode(found.mode() & 0o7777);
        fs::set_permissions(&path, mode).map_err(SandboxError::layer(&path))?;
    }
    let mode = fs::Permissions::from_mode(top.mode() & 0o7777 | 0o700);
    fs::set_permissions(to, mode).map_err(SandboxError::layer(to))
}

fn copy_entry(from: &Path, to: &Path, found: &Metadata) -> io::Result<()> {
    if found.is_dir() {
        fs::create_dir(to)
    } else if found.is_symlink() {
        let target = change_set::read_link(from)?;
        std::os::unix::fs::symlink(OsStr::from_bytes(&target), to)
    } else if found.is_file() {
        let mut source = change_set::open(from)?;
        let mut target = File::create_new(to)?;
        match rustix::fs::ioctl_ficlone(&target, &source) {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS) => {
                io::copy(&mut source, &mut target)?;
            }
            Err(error) => return Err(error.into()),
        }
        target.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777))
    } else {
        // A FIFO, a socket or a device of the workspace is nobody's to write to.
        Ok(())
    }
}

/// Whether files here share their bytes with a copy until one is changed.
pub(super) fn can_reflink(directory: &Path) -> bool {
    let clone = || {
        let source = tempfile::tempfile_in(directory)?;
        let target = tempfile::tempfile_in(directory)?;
        Ok::<(), io::Error>(rustix::fs::ioctl_ficlone(target, source)?)
    };
    clone().is_ok()
}
