//! What changed in the layers of a sandbox since they were last looked at.
//!
//! Nothing tells: a write through an overlay wakes no watcher of the layer, and one through a
//! mapping wakes none at all. So every entry of the topmost layer is asked for its stat, by its
//! name in an open directory. A directory that is as it was is not listed again, and nothing is
//! made of an entry that is as it was: a look costs one call for each, and the rest follows what
//! changed. The layers below the topmost do not change any more.
//!
//! Two writes leave no trace in a stat: one in the same tick of the clock as the look before
//! it, where the kernel has no finer one, and one through a mapping that was written before.
//! Whoever reads a file here has to know that; [`is_fresh`] tells of the first.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::change_set::{
    self, Below, Change, Fold, Known, READ_DIRECTORY, READ_FILE, Since, is_fresh, there,
};
use super::error::SandboxError;
use crate::model::{STATE_DIRECTORY, TapePath};

/// What was found when the layers were last looked at. One that is new takes what lies in layers
/// below the topmost as known already.
#[derive(Debug, Default)]
pub struct Sweep {
    uppers: Vec<PathBuf>,
    below: Fold,
    top: Directory,
    /// What was told last was not taken note of.
    is_untold: bool,
}

/// A directory of the topmost layer.
#[derive(Debug, Default)]
struct Directory {
    /// What it was when it was listed; `None`: it was not, or so late that it has to be again.
    listed: Option<Stat>,
    entries: BTreeMap<OsString, Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    /// `None`: it was not looked at yet.
    stat: Option<Stat>,
    /// Of a directory: it stands alone, whatever lay below it.
    is_opaque: bool,
    /// What is in it, if it is a directory.
    directory: Option<Box<Directory>>,
}

/// Changes with every change that can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    kind: FileType,
    mode: u32,
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, u32),
    changed: (i64, u32),
}

impl Stat {
    fn of(found: &rustix::fs::Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(found.st_mode),
            mode: found.st_mode & 0o7777,
            device: found.st_rdev,
            inode: found.st_ino,
            len: found.st_size.cast_unsigned(),
            modified: (found.st_mtime, found.st_mtime_nsec as u32),
            changed: (found.st_ctime, found.st_ctime_nsec as u32),
        }
    }
}

impl Sweep {
    /// What changed since this was asked last. Before it is asked again, what it told is to be
    /// taken note of by [`told`](Self::told): else everything is told again.
    pub(super) fn since(
        &mut self,
        uppers: &[PathBuf],
        base: &Path,
        unseen: &[PathBuf],
    ) -> Result<Since, SandboxError> {
        let Some((upper, below)) = uppers.split_last() else {
            return Ok(Since::Paths(Vec::new()));
        };
        if self.uppers != uppers {
            *self = Self {
                uppers: uppers.to_vec(),
                below: Fold::of_layers(below, base, unseen)?,
                is_untold: self.is_untold,
                ..Self::default()
            };
        }
        let was_untold = std::mem::replace(&mut self.is_untold, true);
        let mut look = Look {
            upper,
            base,
            unseen,
            below: &self.below,
            now: SystemTime::now(),
            found: Vec::new(),
            is_all: was_untold,
        };
        look.directory(Path::new(""), &mut self.top)?;
        Ok(if look.is_all {
            Since::All
        } else {
            Since::Paths(look.found)
        })
    }

    /// What it told, or what was read when it told of everything, is known from now on.
    pub fn told(&mut self) {
        self.is_untold = false;
    }
}

/// A look at the topmost layer.
struct Look<'a> {
    upper: &'a Path,
    base: &'a Path,
    unseen: &'a [PathBuf],
    below: &'a Fold,
    now: SystemTime,
    found: Vec<(TapePath, Option<Change>)>,
    /// What changed reaches further than the paths that were found.
    is_all: bool,
}

impl Look<'_> {
    fn directory(&mut self, path: &Path, known: &mut Directory) -> Result<(), SandboxError> {
        let place = self.upper.join(path);
        let lent = there(change_set::lend(&place, READ_DIRECTORY));
        // One that went since it was looked at will be missed in the one above next time.
        let Some(_lent) = lent.map_err(SandboxError::layer(&place))? else {
            return Ok(());
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = there(rustix::fs::open(&place, flags, Mode::empty()).map_err(Into::into));
        let Some(open) = open.map_err(SandboxError::layer(&place))? else {
            return Ok(());
        };
        let stat = rustix::fs::fstat(&open).map_err(io::Error::from);
        let stat = Stat::of(&stat.map_err(SandboxError::layer(&place))?);
        if known.listed != Some(stat) {
            self.list(path, &place, known)?;
        }
        known.listed = (!is_fresh(stat.changed, self.now)).then_some(stat);
        let mut gone = Vec::new();
        for (name, entry) in &mut known.entries {
            match rustix::fs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => {
                    let found = Stat::of(&found);
                    if entry.stat != Some(found) {
                        self.changed(&path.join(name), entry, found)?;
                    }
                }
                Err(Errno::NOENT) => gone.push(name.clone()),
                Err(error) => return Err(SandboxError::layer(place.join(name))(error.into())),
            }
        }
        drop(open);
        for name in gone {
            if let Some(entry) = known.entries.remove(&name) {
                self.gone(&path.join(name), entry);
            }
        }
        for (name, entry) in &mut known.entries {
            if let Some(directory) = &mut entry.directory {
                self.directory(&path.join(name), directory)?;
            }
        }
        Ok(())
    }

    /// Which names there are in a directory.
    fn list(
        &mut self,
        path: &Path,
        place: &Path,
        known: &mut Directory,
    ) -> Result<(), SandboxError> {
        let names = there(change_set::list(place)).map_err(SandboxError::layer(place))?;
        let names: HashSet<OsString> = names.unwrap_or_default().into_iter().collect();
        let gone: Vec<_> = known
            .entries
            .extract_if(.., |name, _| !names.contains(name))
            .collect();
        for (name, entry) in gone {
            self.gone(&path.join(name), entry);
        }
        for name in names {
            if path.as_os_str().is_empty() && name == STATE_DIRECTORY {
                continue;
            }
            known.entries.entry(name).or_default();
        }
        Ok(())
    }

    fn changed(&mut self, path: &Path, entry: &mut Entry, found: Stat) -> Result<(), SandboxError> {
        let was = entry.stat.replace(found);
        if found.kind != FileType::Directory
            && let Some(directory) = entry.directory.take()
        {
            entry.is_opaque = false;
            self.all_gone(path, *directory);
        }
        let content = self.upper.join(path);
        let change = if found.kind == FileType::Directory {
            let Some(is_opaque) = there(opaque(&content)).map_err(SandboxError::layer(&content))?
            else {
                entry.stat = was;
                return Ok(());
            };
            let was_opaque = std::mem::replace(&mut entry.is_opaque, is_opaque);
            let was_there = entry.directory.is_some();
            entry.directory.get_or_insert_default();
            // What happens in it sets its times, and is told by itself.
            if was_there && was_opaque == is_opaque && was.is_some_and(|was| was.mode == found.mode)
            {
                return Ok(());
            }
            // What was below shows through again.
            self.is_all |= was_opaque && !is_opaque;
            Some(self.directory_change(path, found.mode, is_opaque))
        } else {
            self.is_all |= self.below.has_below(path);
            match found.kind {
                FileType::RegularFile => Some(Change::File {
                    mode: found.mode,
                    len: found.len,
                    mtime: found.modified,
                    content,
                }),
                FileType::Symlink => {
                    let target = there(change_set::read_link(&content));
                    let Some(target) = target.map_err(SandboxError::layer(&content))? else {
                        entry.stat = was;
                        return Ok(());
                    };
                    Some(Change::Link(target))
                }
                FileType::CharacterDevice if found.device == 0 => {
                    let is_unseen = self.unseen.iter().any(|unseen| unseen == path);
                    let is_change = !is_unseen && change_set::is_there(&self.base.join(path));
                    is_change.then_some(Change::Deleted)
                }
                _ => None,
            }
        };
        self.tell(path, change);
        Ok(())
    }

    fn directory_change(&mut self, path: &Path, mode: u32, is_opaque: bool) -> Change {
        self.is_all |= is_opaque && self.below.has_below(path);
        let below = match self.below.get(path) {
            _ if is_opaque => Below::Replaced,
            Some(Known::Change(Change::Directory { below, .. })) => *below,
            Some(_) => Below::Replaced,
            None => Below::Kept,
        };
        Change::Directory { mode, below }
    }

    fn gone(&mut self, path: &Path, entry: Entry) {
        if let Some(directory) = entry.directory {
            self.all_gone(path, *directory);
        }
        // What the layers below say of it counts again.
        self.is_all |= self.below.get(path).is_some() || self.below.has_below(path);
        if entry.stat.is_some() {
            self.tell(path, None);
        }
    }

    fn all_gone(&mut self, path: &Path, directory: Directory) {
        for (name, entry) in directory.entries {
            self.gone(&path.join(name), entry);
        }
    }

    fn tell(&mut self, path: &Path, change: Option<Change>) {
        // One that is too long for a tape is in no change set either.
        if let Ok(path) = TapePath::new(path.as_os_str().as_bytes()) {
            self.found.push((path, change));
        }
    }
}

fn opaque(directory: &Path) -> io::Result<bool> {
    let _lent = change_set::lend(directory, READ_FILE)?;
    change_set::is_opaque(directory)
}
