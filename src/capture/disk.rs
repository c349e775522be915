//! Looking at a real directory: what is under a name, and what a file holds.
//!
//! Each component is opened in the one before it and never as a link, so nothing outside the
//! directory is reached whatever is put in its place meanwhile. Opens nothing but regular
//! files and directories, so that no pipe keeps it waiting. Writes nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;

use super::Caps;
use crate::model::BlobHash;

/// Two writes less than this apart may leave a file with one time: FAT counts in twos of
/// seconds, and nothing that is mounted counts coarser. In nanoseconds.
const TICK: i64 = 2_000_000_000;
/// A file that is written while it is read is read again so often.
const TRIES: usize = 3;
/// Bytes that are read at once.
const BLOCK: usize = 1 << 18;

/// What the system says of an entry without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    /// Nanoseconds since the epoch.
    modified: i64,
    /// The same of the entry itself: nobody can set it back.
    changed: i64,
}

/// The sort of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    File,
    Directory,
    Link,
    Special(&'static str),
}

/// An entry as it was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) sort: Sort,
    pub(super) stat: Stat,
    /// Permission bits, at most `0o7777`.
    pub(super) mode: u32,
    /// It has other names, which change with it unheard.
    pub(super) is_shared: bool,
}

/// What reading a file came to.
#[derive(Debug)]
pub(super) enum Held {
    /// Its bytes.
    Bytes(Arc<[u8]>, BlobHash),
    /// The hash only: the bytes are more than are kept.
    Hash(BlobHash),
    /// Nothing but its size: it is more than is read, or cannot be read.
    Nothing(Option<io::Error>),
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) held: Held,
    /// What the system said of it when it had been read.
    pub(super) seen: Seen,
    /// It was written so long ago that a write since would show in its times.
    pub(super) is_settled: bool,
    /// It was being written each time it was read.
    pub(super) is_moving: bool,
}

/// Opens the directory that everything is looked at in.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Opens a directory in another.
pub(super) fn open_directory(at: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Opens the directory at a path below the root; the root for an empty one.
pub(super) fn open_beneath(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at = open_directory(root, b".")?;
    for name in path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        at = open_directory(&at, name)?;
    }
    Ok(at)
}

/// The names in a directory.
pub(super) fn names(directory: &OwnedFd) -> Result<Vec<Box<[u8]>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.into());
        }
    }
    Ok(names)
}

/// Looks at an entry; a link is looked at itself.
pub(super) fn look(at: impl AsFd, name: &[u8]) -> Result<Seen, Errno> {
    rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| seen(&stat))
}

/// The text of a link.
pub(super) fn target(at: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    rustix::fs::readlinkat(at, name, Vec::new()).map(std::ffi::CString::into_bytes)
}

/// Whether a file or directory can be read.
pub(super) fn is_readable(at: impl AsFd, name: &[u8]) -> bool {
    rustix::fs::accessat(at, name, rustix::fs::Access::READ_OK, AtFlags::empty()).is_ok()
}

/// Reads a file; `None` where no regular file is there any more. Of its bytes at most
/// `keep` are held at a time.
pub(super) fn read(at: impl AsFd, name: &[u8], caps: &Caps, keep: u64) -> Option<Reading> {
    // Without waiting: a pipe that took the file's place would.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = look(&at, name)
        .ok()
        .filter(|seen| seen.sort == Sort::File)?;
    let mut file = match rustix::fs::openat(&at, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return None,
        Err(errno) => {
            return Some(Reading {
                held: Held::Nothing(Some(errno.into())),
                seen: opened,
                is_settled: true,
                is_moving: false,
            });
        }
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let before = rustix::fs::fstat(&file).map(|stat| seen(&stat)).ok()?;
        if before.sort != Sort::File {
            return None;
        }
        let now = now();
        let held = if before.stat.size > caps.hash {
            Held::Nothing(None)
        } else {
            hold(&mut file, &before, keep).unwrap_or_else(|error| Held::Nothing(Some(error)))
        };
        let after = rustix::fs::fstat(&file).map(|stat| seen(&stat)).ok()?;
        let is_moving = after.stat != before.stat;
        if is_moving && tries < TRIES && io::Seek::rewind(&mut file).is_ok() {
            continue;
        }
        return Some(Reading {
            held,
            is_settled: !is_moving && after.stat.is_settled(now),
            seen: after,
            is_moving,
        });
    }
}

fn hold(file: &mut File, seen: &Seen, keep: u64) -> io::Result<Held> {
    if seen.stat.size <= keep {
        let mut bytes = Vec::with_capacity(seen.stat.size as usize);
        file.by_ref()
            .take(keep.saturating_add(1))
            .read_to_end(&mut bytes)?;
        // One that grew beyond what is kept is read to its end below.
        if bytes.len() as u64 <= keep {
            let hash = BlobHash::of(&bytes);
            return Ok(Held::Bytes(bytes.into(), hash));
        }
        io::Seek::rewind(file)?;
    }
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; BLOCK];
    // No further than it reached when it was opened: it may grow faster than it is read.
    let mut left = seen.stat.size;
    while left > 0 {
        let room = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
        let Some(part) = block.get_mut(..room) else {
            break;
        };
        let count = file.read(part)?;
        if count == 0 {
            break;
        }
        hasher.update(part.get(..count).unwrap_or_default());
        left -= count as u64;
    }
    Ok(Held::Hash(BlobHash::from_digest(
        *hasher.finalize().as_bytes(),
    )))
}

impl Stat {
    /// Whether a write after this moment would show in the times.
    fn is_settled(&self, now: i64) -> bool {
        self.modified.max(self.changed).saturating_add(TICK) < now
    }

    /// Whether the content may be another than it was: all but the entry's own time counts,
    /// which a change of its mode moves, too.
    pub(super) fn has_other_content(&self, before: &Self) -> bool {
        (self.inode, self.size, self.modified) != (before.inode, before.size, before.modified)
    }

    /// Whether both are of one inode.
    pub(super) fn is_same_inode(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the types of these fields differ from system to system"
)]
fn seen(stat: &rustix::fs::Stat) -> Seen {
    let nanos =
        |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000).saturating_add(part);
    let mode = stat.st_mode as RawMode;
    Seen {
        sort: match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Sort::File,
            FileType::Directory => Sort::Directory,
            FileType::Symlink => Sort::Link,
            FileType::Fifo => Sort::Special("named pipe"),
            FileType::Socket => Sort::Special("socket"),
            _ => Sort::Special("device"),
        },
        stat: Stat {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        },
        mode: mode as u32 & 0o7777,
        is_shared: stat.st_nlink as u64 > 1,
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_trusted_only_when_a_later_write_would_move_them() {
        let now = 1_000 * TICK;
        let check = |modified, changed, expected| {
            let stat = Stat {
                device: 1,
                inode: 1,
                size: 1,
                modified,
                changed,
            };
            assert_eq!(stat.is_settled(now), expected, "{modified} {changed}");
        };
        check(now - 2 * TICK, now - 2 * TICK, true);
        check(now - TICK, now - 2 * TICK, false);
        check(now - 2 * TICK, now - 1, false);
        check(now + TICK, now - 2 * TICK, false);
        let directory = tempfile::tempdir().unwrap();
        let root = open_root(directory.path()).unwrap();
        std::fs::write(directory.path().join("new"), "new").unwrap();
        let reading = read(&root, b"new", &Caps::default(), 10).unwrap();
        assert!(!reading.is_settled, "it was written just now");
        assert!(matches!(reading.held, Held::Bytes(..)));
    }
}
