//! What is remembered of a file, to tell later whether it is still the same.
//!
//! Only looks at its ends: that a tape is written anew in the middle, with as many bytes, is
//! told by its time.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use crate::model::BlobHash;

/// A file as it was at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// How many of its bytes counted.
    pub(super) len: u64,
    /// When it was last written: seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    /// Hash of the first bytes, and of the last ones before `len`.
    pub(super) ends: BlobHash,
}

/// Bytes that are compared at either end.
const END: u64 = 64 << 10;

impl Seen {
    /// The state of a file of which `len` bytes count.
    pub(super) fn of(file: &File, metadata: &Metadata, len: u64) -> io::Result<Self> {
        let mut ends = Vec::new();
        let mut take = |from: u64, count: u64| -> io::Result<()> {
            let mut bytes = vec![0; count as usize];
            let mut filled = 0;
            while filled < bytes.len() {
                let (_, rest) = bytes.split_at_mut(filled);
                match file.read_at(rest, from + filled as u64)? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            ends.extend(bytes);
            Ok(())
        };
        take(0, len.min(END))?;
        take(len.saturating_sub(END), len.min(END))?;
        Ok(Self {
            len,
            modified: modified(metadata),
            ends: BlobHash::of(&ends),
        })
    }

    /// Whether a file was not written since, by what its directory says of it.
    pub(super) fn is_unchanged(&self, now: &Metadata) -> bool {
        now.len() == self.len && modified(now) == self.modified
    }
}

fn modified(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}
