//! A directory of our own in place of a real one, with the same entries: new ones can be made
//! in it without touching the machine.
//!
//! Each entry is the real one, mounted once more, with all that is mounted below it. What is
//! no directory, file or link has no use there and is left out.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};

use super::tree::{attach_at, file_system};

/// Entries that are mounted once more, at most: a directory with more of them is no place
/// that a workspace would be made in.
const MOST: usize = 4096;

/// Puts a stand-in over a directory of the tree; its mount, which can still be written.
pub(super) fn attach(real: &OwnedFd) -> io::Result<OwnedFd> {
    let mode = statat(real, "", AtFlags::EMPTY_PATH)?.st_mode & 0o7777;
    let entries = entries_of(real)?;
    let stand_in = file_system("tmpfs", &[("mode", &format!("{mode:o}")), ("size", "16m")])?;
    attach_at(&stand_in, real)?;
    for (name, entry) in entries {
        match entry {
            Entry::Link(target) => symlinkat(target, &stand_in, name)?,
            Entry::Directory(mount) => {
                mkdirat(&stand_in, &name, Mode::from_raw_mode(0o755))?;
                attach_at(&mount, &place(&stand_in, &name)?)?;
            }
            Entry::File(mount) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                drop(openat(&stand_in, &name, flags, Mode::from_raw_mode(0o644))?);
                attach_at(&mount, &place(&stand_in, &name)?)?;
            }
        }
    }
    Ok(stand_in)
}

/// What stands in a directory.
enum Entry {
    Link(CString),
    /// A directory, as a mount of its own.
    Directory(OwnedFd),
    /// A file, likewise.
    File(OwnedFd),
}

fn entries_of(real: &OwnedFd) -> io::Result<Vec<(CString, Entry)>> {
    let clone = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let listed = openat(
        real,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut entries = Vec::new();
    for entry in Dir::new(listed)? {
        let name = entry?.file_name().to_owned();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if entries.len() == MOST {
            return Err(Errno::TOOBIG.into());
        }
        let found = statat(real, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let entry = match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => Entry::Link(readlinkat(real, &name, Vec::new())?),
            FileType::Directory => Entry::Directory(open_tree(real, &name, clone)?),
            FileType::RegularFile => Entry::File(open_tree(real, &name, clone)?),
            _ => continue,
        };
        entries.push((name, entry));
    }
    Ok(entries)
}

fn place(stand_in: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(stand_in, name, flags, Mode::empty())?)
}
