//! Writing below one directory, and nowhere else.
//!
//! Each component is opened in the one before it, as a directory and never as a link, so
//! what anybody puts in its place meanwhile is refused, not followed. Files are made new, or
//! were made here before; modes are set on what was opened. Only portable calls: nothing here needs `openat2`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RawMode};
use rustix::io::Errno;

use super::{CheckoutError, Skipped};
use crate::model::TapePath;

/// What a new directory may be used for, as far as the user's mask allows.
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);
/// What a new file of unknown mode may be used for, as far as the user's mask allows.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
/// A file that is to get its own mode is nobody else's before.
const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);
/// The bits that are set: those that lend rights are not.
const PERMISSIONS: u32 = 0o777;

/// Why something was not written.
#[derive(Debug)]
pub(super) enum Refusal {
    /// This entry cannot be; others may.
    Entry(Skipped),
    /// The disk takes no more.
    Disk(io::Error),
}

/// A directory that everything is written below.
pub(super) struct Beneath {
    path: PathBuf,
    root: OwnedFd,
    /// The directories that are open, each in the one before: entries often share them.
    open: Vec<(Box<[u8]>, OwnedFd)>,
    /// Modes to be set when all is written, since they may forbid writing.
    modes: Vec<(TapePath, Mode)>,
}

impl Beneath {
    /// Opens an empty directory, or makes it in the one above it.
    pub(super) fn open(directory: &Path) -> Result<Self, CheckoutError> {
        // Without a slash at its end: with one, the system would follow a link.
        let path: PathBuf = directory.components().collect();
        let failed = |errno: Errno| match errno {
            Errno::NOTDIR | Errno::LOOP => CheckoutError::NotADirectory(path.clone()),
            errno => CheckoutError::Directory {
                path: path.clone(),
                source: errno.into(),
            },
        };
        match rustix::fs::mkdir(&path, NEW_DIRECTORY) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let root = open_directory(rustix::fs::CWD, &path).map_err(failed)?;
        for entry in Dir::read_from(&root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Err(CheckoutError::NotEmpty(path));
            }
        }
        Ok(Self {
            path,
            root,
            open: Vec::new(),
            modes: Vec::new(),
        })
    }

    /// Opens a directory that was written before.
    pub(super) fn reopen(directory: &Path) -> Result<Self, CheckoutError> {
        let path: PathBuf = directory.components().collect();
        let root = open_directory(rustix::fs::CWD, &path);
        let root = root.map_err(|errno| CheckoutError::Directory {
            path: path.clone(),
            source: errno.into(),
        })?;
        Ok(Self {
            path,
            root,
            open: Vec::new(),
            modes: Vec::new(),
        })
    }

    /// Removes what stands at a path, with all below it; nothing may.
    pub(super) fn remove(&mut self, path: &TapePath) -> io::Result<()> {
        // No directory that goes may be held open as one to write in.
        self.open.clear();
        let components = components(path);
        let Some((name, above)) = components.split_last() else {
            return Ok(());
        };
        let mut directory = rustix::io::dup(&self.root)?;
        for component in above {
            directory = match open_directory(&directory, *component) {
                Ok(below) => below,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            };
        }
        match rustix::fs::unlinkat(&directory, *name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // Each of them is what some system says of a directory.
            Err(Errno::ISDIR | Errno::PERM) => {
                let below = std::ffi::OsStr::from_bytes(path.as_bytes());
                std::fs::remove_dir_all(self.path.join(below))
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes a directory, or takes the one that is there.
    pub(super) fn make_directory(
        &mut self,
        path: &TapePath,
        mode: Option<u32>,
    ) -> Result<(), Refusal> {
        self.enter(&components(path)).map_err(at_entry)?;
        if let Some(mode) = mode {
            self.modes.push((path.clone(), permissions(mode)));
        }
        Ok(())
    }

    /// Makes a directory, or takes the one that is there. It gets its mode at once, and its
    /// owner all rights: more is to be changed in it.
    pub(super) fn make_open_directory(
        &mut self,
        path: &TapePath,
        mode: Option<u32>,
    ) -> Result<(), Refusal> {
        let directory = self.enter(&components(path)).map_err(at_entry)?;
        match mode {
            Some(mode) => {
                let mode = permissions(mode) | Mode::RWXU;
                rustix::fs::fchmod(directory, mode).map_err(at_entry)
            }
            None => Ok(()),
        }
    }

    /// Takes away a file or a link, or a directory that is empty.
    pub(super) fn take_away(&mut self, path: &TapePath, is_directory: bool) -> Result<(), Refusal> {
        let directory = self.enter_parent(path)?;
        let flags = if is_directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        rustix::fs::unlinkat(directory, path.name(), flags).map_err(at_entry)
    }

    /// Makes a new file.
    pub(super) fn make_file(
        &mut self,
        path: &TapePath,
        mode: Option<u32>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let directory = self.enter_parent(path)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let at_first = mode.map_or(NEW_FILE, |_| PRIVATE_FILE);
        let file = rustix::fs::openat(directory, path.name(), flags, at_first).map_err(at_entry)?;
        fill(directory, path, file, mode, bytes)
    }

    /// Gives a file that was made here other bytes, and this mode if one is known. A new file
    /// would cost several times as much, and no program has this one open.
    pub(super) fn write_over(
        &mut self,
        path: &TapePath,
        mode: Option<u32>,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let directory = self.enter_parent(path)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(directory, path.name(), flags, Mode::empty()) {
            return fill(directory, path, file, mode, bytes);
        }
        // Its own mode forbids it.
        self.take_away(path, false)?;
        self.make_file(path, mode, bytes)
    }

    /// Makes a new link with this text, wherever it leads.
    pub(super) fn make_link(&mut self, path: &TapePath, target: &[u8]) -> Result<(), Refusal> {
        let directory = self.enter_parent(path)?;
        rustix::fs::symlinkat(target, directory, path.name()).map_err(at_entry)
    }

    /// Gives the directories their modes, what is deeper first; which of them failed.
    pub(super) fn set_directory_modes(mut self) -> Vec<(TapePath, io::Error)> {
        let mut modes = std::mem::take(&mut self.modes);
        modes.sort_by(|(one, _), (two, _)| two.cmp(one));
        let mut failed = Vec::new();
        for (path, mode) in modes {
            let directory = self.enter(&components(&path));
            let set = directory.and_then(|directory| rustix::fs::fchmod(directory, mode));
            if let Err(errno) = set {
                failed.push((path, errno.into()));
            }
        }
        failed
    }

    fn enter_parent(&mut self, path: &TapePath) -> Result<&OwnedFd, Refusal> {
        let mut above = components(path);
        above.pop();
        self.enter(&above).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => Refusal::Entry(Skipped::BelowLink),
            errno => refusal(errno.into()),
        })
    }

    /// Opens a directory below the root, and makes it where it is missing.
    fn enter(&mut self, components: &[&[u8]]) -> Result<&OwnedFd, Errno> {
        let both = self.open.iter().zip(components);
        let shared = both
            .take_while(|((name, _), component)| **name == ***component)
            .count();
        self.open.truncate(shared);
        for component in components.iter().skip(shared) {
            let above = self.open.last().map_or(&self.root, |(_, open)| open);
            let opened = match open_directory(above, *component) {
                Err(Errno::NOENT) => match rustix::fs::mkdirat(above, *component, NEW_DIRECTORY) {
                    Ok(()) | Err(Errno::EXIST) => open_directory(above, *component),
                    Err(errno) => Err(errno),
                },
                opened => opened,
            }?;
            self.open.push(((*component).into(), opened));
        }
        Ok(self.open.last().map_or(&self.root, |(_, open)| open))
    }
}

/// Makes these the bytes and the mode of a file.
fn fill(
    directory: &OwnedFd,
    path: &TapePath,
    file: OwnedFd,
    mode: Option<u32>,
    bytes: &[u8],
) -> Result<(), Refusal> {
    let mut file = File::from(file);
    // Cut behind the bytes, not emptied before them: some file systems write a file that was
    // emptied to the disk at once.
    let written = file
        .write_all(bytes)
        .and_then(|()| file.set_len(bytes.len() as u64));
    let written = written.and_then(|()| match mode {
        Some(mode) => Ok(rustix::fs::fchmod(&file, permissions(mode))?),
        None => Ok(()),
    });
    written.map_err(|error| {
        // Half a file is worse than none. If it cannot be taken back, the row still says that
        // it was not written.
        let _ = rustix::fs::unlinkat(directory, path.name(), AtFlags::empty());
        refusal(error)
    })
}

fn open_directory(
    above: impl std::os::fd::AsFd,
    name: impl rustix::path::Arg,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

fn components(path: &TapePath) -> Vec<&[u8]> {
    path.components().collect()
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & PERMISSIONS) as RawMode)
}

fn at_entry(errno: Errno) -> Refusal {
    match errno {
        Errno::EXIST | Errno::NOTDIR | Errno::LOOP => Refusal::Entry(Skipped::Occupied),
        errno => refusal(errno.into()),
    }
}

fn refusal(error: io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::ReadOnlyFilesystem => Refusal::Disk(error),
        _ => Refusal::Entry(Skipped::Failed(error.to_string())),
    }
}
