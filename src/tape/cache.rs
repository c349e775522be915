//! The index cache: what was read out of a large tape, kept in a file, so that the tape opens
//! at once the next time.
//!
//! The files lie in a directory of the user's, never beside a tape, and may be removed at any
//! time. One is used only for the tape it was made of, at the same path, by the same build of
//! this program; and only if its checksum is right over all of its bytes, which is proven
//! before the first of them is believed. Everything else is as if there were no file: the
//! tape is read, and a new file replaces the old one. Nothing that goes wrong here is an
//! error to anybody.
//!
//! A tape is the same if its length, its time and its ends are; if it only grew, so that its
//! ends stand where they stood, what is new is read on. Its file is mapped, and its columns
//! are used where they lie ([`Column`]). It is written on a thread of its own, behind the
//! opening, under a name that nobody looks for, and is moved to its place when it is whole:
//! who has the old one mapped keeps it, and two programs at once do no harm.

mod column;
mod entry;
mod file;
mod map;
mod writing;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use writing::Writing;

pub(crate) use column::Column;
pub(crate) use entry::CacheEntry;
pub(crate) use file::{Keep, Reader, Writer};

/// A tape of fewer bytes is read again before anybody notices.
const WORTH_IT: u64 = 16 << 20;
/// Bytes of all files together; the one that was not used for the longest time leaves first.
const ROOM: u64 = 1 << 30;
/// What a file is called, and what until it is whole.
const SUFFIX: &str = "index";
const PART: &str = ".part-";
/// A part that is older was left by a program that was killed.
const FORGOTTEN: Duration = Duration::from_hours(1);

/// Where the indexes of large tapes are kept.
#[derive(Clone, Debug)]
pub struct IndexCache {
    directory: PathBuf,
    /// Which build of the program writes and reads here.
    build: String,
    worth_it: u64,
    room: u64,
    writing: Arc<Writing>,
}

impl IndexCache {
    /// The cache in this directory, which is made when something is kept. `build` tells this
    /// program from those that may find other things in the same tape.
    pub fn new(directory: PathBuf, build: &str) -> Self {
        Self {
            directory,
            build: format!("{} {build}", env!("CARGO_PKG_VERSION")),
            worth_it: WORTH_IT,
            room: ROOM,
            writing: Arc::default(),
        }
    }

    /// The same, for all tapes of so many bytes and more.
    pub fn for_tapes_from(self, bytes: u64) -> Self {
        Self {
            worth_it: bytes,
            ..self
        }
    }

    /// The same, with so many bytes for all files together.
    pub fn with_room(self, bytes: u64) -> Self {
        Self {
            room: bytes,
            ..self
        }
    }

    /// How long it took to read the tapes whose indexes are being written: what the next
    /// opening saves.
    pub fn saves(&self) -> Duration {
        self.writing.saves()
    }

    /// At the end of the program: waits until all is written, but not longer than this.
    /// What is not done then is given up, and nothing is kept any more.
    pub fn finish(&self, patience: Duration) {
        self.writing.finish(patience);
    }

    /// What the cache may hold of the tape in this file; `None` where none would be kept.
    /// Call it before the tape is read, so that nothing that is written meanwhile is missed.
    pub(crate) fn entry(&self, tape: &Path, file: &Arc<File>) -> Option<CacheEntry> {
        let len = file.metadata().ok()?.len();
        if len < self.worth_it {
            return None;
        }
        CacheEntry::new(self.clone(), tape, file).ok()
    }

    /// Removes what there is no room for, and parts that nobody writes any more.
    fn sweep(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for file in fs::read_dir(&self.directory)? {
            let file = file?;
            let (path, metadata) = (file.path(), file.metadata()?);
            let used = metadata.modified()?;
            let name = file.file_name();
            let is_part = name.as_bytes().starts_with(PART.as_bytes());
            if is_part && used.elapsed().is_ok_and(|age| age > FORGOTTEN) {
                fs::remove_file(path)?;
            } else if path.extension() == Some(OsStr::new(SUFFIX)) {
                files.push((used, metadata.len(), path));
            }
        }
        files.sort_unstable();
        let mut sum = 0;
        for (_, len, path) in files.into_iter().rev() {
            sum += len;
            if sum > self.room {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}
