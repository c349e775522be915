//! Where the bytes of a tape come from: a file, memory, or, of a fork, several of these.
//!
//! Only reads at an offset, so that one open tape serves many threads. Never writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, PoisonError, RwLock};

use super::stitched::{Dropped, Stitched};
use crate::model::{LineHash, Problem};

/// The bytes of a tape.
#[derive(Clone, Debug)]
pub enum TapeBytes {
    /// An open file. It may grow, shrink or vanish under us.
    File(Arc<File>),
    /// A tape in memory, such as the one that is built into the program.
    Memory(Arc<[u8]>),
    /// A tape that is being recorded into memory.
    Growing(Arc<RwLock<Vec<u8>>>),
    /// A fork, with the lines that it shares with its parent.
    Stitched(Arc<Stitched>),
}

impl TapeBytes {
    /// How many bytes there are now.
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Memory(bytes) => Ok(bytes.len() as u64),
            Self::Growing(bytes) => {
                let bytes = bytes.read().unwrap_or_else(PoisonError::into_inner);
                Ok(bytes.len() as u64)
            }
            Self::Stitched(stitched) => stitched.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads at most `buffer.len()` bytes at `offset`; 0 at the end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => loop {
                match file.read_at(buffer, offset) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => return result,
                }
            },
            Self::Memory(bytes) => Ok(copy_at(bytes, offset, buffer)),
            Self::Growing(bytes) => {
                let bytes = bytes.read().unwrap_or_else(PoisonError::into_inner);
                Ok(copy_at(&bytes, offset, buffer))
            }
            Self::Stitched(stitched) => stitched.read_at(offset, buffer),
        }
    }

    /// Reads exactly these bytes.
    pub fn read_exact_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; len];
        let mut filled = 0;
        while filled < len {
            let (_, rest) = buffer.split_at_mut(filled);
            match self.read_at(offset + filled as u64, rest)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(buffer)
    }

    /// The offset of the next newline from here on; the end where there is none.
    pub(super) fn line_end(&self, offset: u64) -> io::Result<u64> {
        self.line_end_within(offset, u64::MAX)
    }

    /// The same, where so many bytes are looked at, or a few more.
    pub(super) fn line_end_within(&self, offset: u64, most: u64) -> io::Result<u64> {
        let mut at = offset;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = self.read_at(at, &mut buffer)?;
            if count == 0 || at - offset >= most {
                return Ok(at);
            }
            match memchr::memchr(b'\n', buffer.split_at(count).0) {
                Some(found) => return Ok(at + found as u64),
                None => at += count as u64,
            }
        }
    }

    /// The line whose newline stands before this offset, without it.
    pub(super) fn line_before(&self, offset: u64) -> io::Result<Vec<u8>> {
        const BLOCK: u64 = 1 << 16;
        let newline = offset.saturating_sub(1);
        let mut from = newline;
        while from > 0 {
            let start = from.saturating_sub(BLOCK);
            let block = self.read_exact_at(start, (from - start) as usize)?;
            if let Some(found) = memchr::memrchr(b'\n', &block) {
                from = start + found as u64 + 1;
                break;
            }
            from = start;
        }
        let len = usize::try_from(newline - from).map_err(io::Error::other)?;
        self.read_exact_at(from, len)
    }

    /// Of a fork, what `prev` of the line at this offset has to be, where another file begins
    /// there: the hash of the line before it in that one.
    pub(super) fn chains_to(&self, offset: u64) -> Option<LineHash> {
        match self {
            Self::Stitched(stitched) => stitched.chains_to(offset),
            _ => None,
        }
    }

    /// Of a fork, what was dropped of the history that it shares.
    pub(super) fn dropped(&self) -> Option<Dropped> {
        match self {
            Self::Stitched(stitched) => Some(stitched.dropped()),
            _ => None,
        }
    }

    /// Whether a fork's shared lines are among them.
    pub const fn is_stitched(&self) -> bool {
        matches!(self, Self::Stitched(_))
    }

    /// A problem that was found in them, with its place in the file that it lies in.
    pub fn in_its_file(&self, problem: Problem) -> Problem {
        match self {
            Self::Stitched(stitched) => stitched.in_its_file(problem),
            _ => problem,
        }
    }
}

fn copy_at(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let (_, rest) = bytes.split_at(start.min(bytes.len()));
    let count = rest.len().min(buffer.len());
    let (source, target) = (rest.split_at(count).0, buffer.split_at_mut(count).0);
    target.copy_from_slice(source);
    count
}
