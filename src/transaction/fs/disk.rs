//! The real file system, below one open directory.
//!
//! The directory above each name is opened by `openat2`, which refuses links, other devices
//! and whatever leads out; then only that name is touched. Nothing is opened by a path from
//! the top, so what is swapped meanwhile is refused, not followed.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RawMode, RenameFlags, ResolveFlags,
    Timespec, Timestamps, UTIME_OMIT,
};
use rustix::io::Errno;

use super::{Fs, Kind, Node, Time};

/// Files and directories that nobody else may look into.
const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);
const PRIVATE_DIRECTORY: Mode = Mode::from_raw_mode(0o700);

/// The file system below a directory.
pub(in crate::transaction) struct Disk {
    root: OwnedFd,
    lock: OnceCell<OwnedFd>,
}

impl Disk {
    /// Opens the workspace. Its own path may lead through links: the user named it.
    pub(in crate::transaction) fn open(directory: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(directory, flags, Mode::empty())?;
        let disk = Self {
            root,
            lock: OnceCell::new(),
        };
        // Better now than half-way, where the call is missing or forbidden.
        disk.open_at(b"", OFlags::DIRECTORY)?;
        Ok(disk)
    }

    fn open_at(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve)
    }

    /// The directory above a name, and the name.
    fn above<'a>(&self, path: &'a [u8]) -> Result<(OwnedFd, &'a [u8]), Errno> {
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = match slash {
            Some(slash) => (path.split_at(slash).0, path.split_at(slash + 1).1),
            None => (&b""[..], path),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let name = if name.is_empty() { b"." } else { name };
        Ok((self.open_at(above, flags)?, name))
    }

    /// Opens a file; a FIFO in its place is not waited for.
    fn file(&self, path: &[u8]) -> io::Result<File> {
        let file = self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        if kind == FileType::RegularFile {
            Ok(file.into())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    fn rename_with(&self, from: &[u8], to: &[u8], flags: RenameFlags) -> io::Result<()> {
        let (from_above, from) = self.above(from)?;
        let (to_above, to) = self.above(to)?;
        Ok(rustix::fs::renameat_with(
            from_above, from, to_above, to, flags,
        )?)
    }
}

/// A process that another thread is just starting holds the descriptor until it becomes its
/// program: closing alone would not let go of the lock.
impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.get() {
            let _ = rustix::fs::flock(lock, FlockOperation::Unlock);
        }
    }
}

impl Fs for Disk {
    fn look(&self, path: &[u8]) -> io::Result<Option<Node>> {
        let found = self.above(path).and_then(|(above, name)| {
            rustix::fs::statat(
                above,
                name,
                AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT,
            )
        });
        let stat = match found {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            found => found?,
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        Ok(Some(Node {
            kind,
            mode: stat.st_mode & 0o7777,
            len: stat.st_size.cast_unsigned(),
            mtime: (stat.st_mtime, stat.st_mtime_nsec as u32),
            inode: stat.st_ino,
        }))
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let directory = match self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            directory => directory?,
        };
        let mut names = Vec::new();
        for entry in Dir::new(directory)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn open(&self, path: &[u8]) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(self.file(path)?))
    }

    fn target(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (above, name) = self.above(path)?;
        Ok(rustix::fs::readlinkat(above, name, Vec::new())?.into_bytes())
    }

    fn create(&self, path: &[u8], content: &mut dyn Read, mode: u32) -> io::Result<()> {
        let (above, name) = self.above(path)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(above, name, flags, PRIVATE_FILE)?);
        io::copy(content, &mut file)?;
        Ok(rustix::fs::fchmod(&file, raw(mode))?)
    }

    fn make_directory(&self, path: &[u8]) -> io::Result<()> {
        let (above, name) = self.above(path)?;
        Ok(rustix::fs::mkdirat(above, name, PRIVATE_DIRECTORY)?)
    }

    fn make_link(&self, path: &[u8], target: &[u8]) -> io::Result<()> {
        let (above, name) = self.above(path)?;
        Ok(rustix::fs::symlinkat(target, above, name)?)
    }

    fn add_name(&self, path: &[u8], name: &[u8]) -> io::Result<()> {
        let (from_above, from) = self.above(path)?;
        let (to_above, to) = self.above(name)?;
        let flags = AtFlags::empty();
        Ok(rustix::fs::linkat(from_above, from, to_above, to, flags)?)
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.rename_with(from, to, RenameFlags::NOREPLACE)
    }

    fn replace(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.rename_with(from, to, RenameFlags::empty())
    }

    fn exchange(&self, one: &[u8], two: &[u8]) -> io::Result<()> {
        self.rename_with(one, two, RenameFlags::EXCHANGE)
    }

    fn remove(&self, path: &[u8]) -> io::Result<()> {
        let (above, name) = self.above(path)?;
        Ok(rustix::fs::unlinkat(above, name, AtFlags::empty())?)
    }

    fn remove_directory(&self, path: &[u8]) -> io::Result<()> {
        let (above, name) = self.above(path)?;
        Ok(rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?)
    }

    fn set_mode(&self, path: &[u8], mode: u32) -> io::Result<()> {
        let directory = OFlags::DIRECTORY;
        match self.open_at(path, OFlags::RDONLY | directory) {
            // A directory that forbids to be opened is reached by its own descriptor: a
            // path could be made to lead elsewhere.
            Err(Errno::ACCESS) => {
                let open = self.open_at(path, OFlags::PATH | directory)?;
                let name = format!("/proc/self/fd/{}", open.as_raw_fd());
                Ok(rustix::fs::chmod(name, raw(mode))?)
            }
            open => Ok(rustix::fs::fchmod(open?, raw(mode))?),
        }
    }

    fn set_mtime(&self, path: &[u8], mtime: Time) -> io::Result<()> {
        let (above, name) = self.above(path)?;
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            },
            last_modification: Timespec {
                tv_sec: mtime.0,
                tv_nsec: mtime.1.into(),
            },
        };
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(above, name, &times, flags)?)
    }

    fn sync(&self, path: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.open_at(path, OFlags::RDONLY)?)?)
    }

    fn barrier(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.root)?)
    }

    fn lock(&self, path: &[u8]) -> io::Result<bool> {
        let (above, name) = self.above(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(above, name, flags, PRIVATE_FILE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            taken => {
                taken?;
                Ok(self.lock.set(file).is_ok())
            }
        }
    }
}

fn raw(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}
