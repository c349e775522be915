//! A file of the cache, mapped into memory: the only unsafe code of the crate.
//!
//! Never a tape: somebody else writes that while we read, and cuts it. A file of the cache
//! has its name only once it is whole, and is replaced or removed from then on, but never
//! written again ([`IndexCache`](super::IndexCache)); a map keeps the old file alive.

#![expect(unsafe_code, reason = "a file can be mapped in no other way")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The bytes of a file.
#[derive(Debug)]
pub(super) struct Map(Mmap);

impl Map {
    /// Maps a whole file of the cache, to be read only.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes must not change, nor the file become shorter, as long as they
        // are borrowed. No program of ours writes into a file once it has its name in the
        // cache. Whoever else did would have to look for it in the user's own directory,
        // which lets nobody but the user in. That the bytes were such to begin with is not
        // needed: they are read as plain numbers, of which each pattern of bits is one.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(map))
    }

    /// All of them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
