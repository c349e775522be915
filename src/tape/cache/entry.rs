//! What the cache holds of one tape: found, believed or not, and written.
//!
//! Which tapes are worth it and how much room there is is not known here.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime};

use super::writing::Writing;
use super::{IndexCache, Keep, PART, Reader, SUFFIX, Writer};
use crate::model::BlobHash;
use crate::tape::index::Index;
use crate::tape::scan::ScanEnd;
use crate::tape::seen::Seen;
use crate::tape::{Tape, TapeBytes};

/// What the cache may hold of a tape.
#[derive(Debug)]
pub(crate) struct CacheEntry {
    cache: IndexCache,
    /// The tape, by its whole path.
    tape: PathBuf,
    file: Arc<File>,
    seen: Seen,
    /// The file of the cache.
    path: PathBuf,
    /// Bytes of the tape whose index it holds.
    held: u64,
    begun: Instant,
}

impl CacheEntry {
    pub(super) fn new(cache: IndexCache, tape: &Path, file: &Arc<File>) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let tape = tape.canonicalize()?;
        let name = BlobHash::of(tape.as_os_str().as_bytes()).to_string();
        let path = cache.directory.join(name.replace(':', "-"));
        Ok(Self {
            path: path.with_extension(SUFFIX),
            seen: Seen::of(file, &metadata, metadata.len())?,
            cache,
            tape,
            file: Arc::clone(file),
            held: 0,
            begun: Instant::now(),
        })
    }

    /// The tape as it was when its index was kept, and what was kept beside it. What was
    /// written to the tape since is still to be read.
    pub(crate) fn open<T: Keep>(&mut self, bytes: TapeBytes) -> Option<(Tape, T)> {
        let file = File::open(&self.path).ok()?;
        let mut from = Reader::open(&file).ok()??;
        let (build, tape, seen) = read_key(&mut from);
        let is_ours =
            *build == *self.cache.build.as_bytes() && *tape == *self.tape.as_os_str().as_bytes();
        if !is_ours || !self.is_of(&seen) || !from.is_whole() {
            return None;
        }
        let [offset, lines, torn] = from.numbers();
        let index = Index::read(&mut from);
        let beside = T::read(&mut from);
        if from.is_spoilt() {
            return None;
        }
        // Who was used last leaves last. The directory may be for reading only.
        let _ = file.set_modified(SystemTime::now());
        self.held = offset;
        let end = ScanEnd {
            offset,
            lines,
            torn,
        };
        Some((Tape::known(bytes, index, end), beside))
    }

    /// Whether the tape is the one that was seen, or has grown out of it.
    fn is_of(&self, seen: &Seen) -> bool {
        if self.seen.len <= seen.len {
            return self.seen == *seen;
        }
        let then = self.file.metadata();
        let then = then.and_then(|now| Seen::of(&self.file, &now, seen.len));
        then.is_ok_and(|then| then.ends == seen.ends)
    }

    /// Keeps the index of the tape, now that it is read, and what belongs to it; behind what
    /// the caller does. Not where there is little new, and not of a tape that is being written.
    pub(crate) fn keep<T>(self, tape: &Tape, beside: &Arc<T>)
    where
        T: Keep + Send + Sync + 'static,
    {
        let end = tape.end;
        let is_new = end.offset - self.held.min(end.offset) >= self.cache.worth_it.max(1);
        let is_still = |now: Metadata| self.seen.is_unchanged(&now);
        if !is_new
            || end.offset + end.torn != self.seen.len
            || !self.file.metadata().is_ok_and(is_still)
        {
            return;
        }
        let (index, beside) = (Arc::clone(&tape.index), Arc::clone(beside));
        let writing = Writing::begin(&self.cache.writing, self.begun.elapsed());
        let write = move || {
            // Without it, all is as it was before.
            let _ = self.write(&index, end, &*beside);
            drop((index, beside, writing));
        };
        let _ = thread::Builder::new()
            .name("index cache".into())
            .spawn(write);
    }

    fn write(&self, index: &Index, end: ScanEnd, beside: &impl Keep) -> io::Result<()> {
        let directory = &self.cache.directory;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        let part = tempfile::Builder::new()
            .prefix(PART)
            .tempfile_in(directory)?;
        let mut out = Writer::new(part.as_file(), &self.cache.writing);
        self.write_key(&mut out);
        out.column(&[end.offset, end.lines, end.torn]);
        index.write(&mut out);
        beside.write(&mut out);
        out.seal()?;
        part.persist(&self.path)?;
        self.cache.sweep()
    }

    fn write_key(&self, out: &mut Writer<'_>) {
        let Seen {
            len,
            modified,
            ends,
        } = self.seen;
        out.lists([
            self.cache.build.as_bytes(),
            self.tape.as_os_str().as_bytes(),
        ]);
        out.column(&[len]);
        out.column(&[modified.0, modified.1]);
        out.column(ends.as_bytes());
    }
}

/// The build, the tape and its state that a file says it is of.
fn read_key(from: &mut Reader) -> (Box<[u8]>, Box<[u8]>, Seen) {
    let mut texts = from.lists::<u8, Box<[u8]>>();
    let (build, tape) = (texts.next(), texts.next());
    let [len] = from.numbers();
    let [seconds, nanoseconds] = from.numbers();
    let seen = Seen {
        len,
        modified: (seconds, nanoseconds),
        ends: BlobHash::from_digest(from.numbers()),
    };
    (build.unwrap_or_default(), tape.unwrap_or_default(), seen)
}
