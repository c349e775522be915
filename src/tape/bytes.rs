//! Where the bytes of a tape come from: a file, or memory.
//!
//! Only reads at an offset, so that one open tape serves many threads. Never writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, PoisonError, RwLock};

/// The bytes of a tape.
#[derive(Clone, Debug)]
pub enum TapeBytes {
    /// An open file. It may grow, shrink or vanish under us.
    File(Arc<File>),
    /// A tape in memory, such as the one that is built into the program.
    Memory(Arc<[u8]>),
    /// A tape that is being recorded into memory.
    Growing(Arc<RwLock<Vec<u8>>>),
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
}

fn copy_at(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let (_, rest) = bytes.split_at(start.min(bytes.len()));
    let count = rest.len().min(buffer.len());
    let (source, target) = (rest.split_at(count).0, buffer.split_at_mut(count).0);
    target.copy_from_slice(source);
    count
}
