//! Where the lines of a recorder go: a file under a lock, or memory.
//!
//! A line is there whole or not at all. Knows nothing of events.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::RecordError;
use super::flusher::Flusher;
use super::lock::Lock;
use crate::tape::TapeBytes;

#[derive(Debug)]
pub(super) enum Sink {
    File(FileSink),
    Memory(Arc<RwLock<Vec<u8>>>),
    /// Takes this many bytes, as a full disk does.
    #[cfg(test)]
    Full(Arc<RwLock<Vec<u8>>>, Arc<std::sync::atomic::AtomicUsize>),
}

/// A file that only this recorder writes.
#[derive(Debug)]
pub(super) struct FileSink {
    // Before the lock: its thread ends before that is given back.
    flusher: Flusher,
    file: Arc<File>,
    /// The end of the last whole line. What stands behind it is to be taken back.
    len: u64,
    is_torn: bool,
    _lock: Lock,
}

impl Sink {
    /// A new file with mode 0600, locked.
    pub(super) fn create(path: &Path) -> Result<Self, RecordError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists(path.to_owned()),
            _ => open_error(path, source),
        })?;
        Self::of_file(file, path)
    }

    /// A file that is there, locked.
    pub(super) fn open(path: &Path) -> Result<Self, RecordError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).open(path);
        Self::of_file(file.map_err(|source| open_error(path, source))?, path)
    }

    fn of_file(file: File, path: &Path) -> Result<Self, RecordError> {
        let file = Arc::new(file);
        let lock = Lock::take(&file, path)?;
        let len = file
            .metadata()
            .map_err(|source| open_error(path, source))?
            .len();
        Ok(Self::File(FileSink {
            flusher: Flusher::new(Arc::clone(&file)),
            file,
            len,
            is_torn: false,
            _lock: lock,
        }))
    }

    pub(super) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    /// Appends a line, its newline included: whole, or the sink is as it was before.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::File(sink) => sink.append(line),
            Self::Memory(bytes) => {
                let mut bytes = bytes.write().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(line);
                Ok(())
            }
            #[cfg(test)]
            Self::Full(bytes, room) => {
                let mut bytes = bytes.write().unwrap();
                let order = std::sync::atomic::Ordering::Relaxed;
                let left = room.load(order);
                let left = left
                    .checked_sub(line.len())
                    .ok_or(io::ErrorKind::StorageFull)?;
                room.store(left, order);
                bytes.extend_from_slice(line);
                Ok(())
            }
        }
    }

    /// Cuts the sink behind its last whole line.
    pub(super) fn truncate(&mut self, len: u64) -> io::Result<()> {
        if let Self::File(sink) = self {
            sink.len = len;
            sink.take_back()?;
        }
        Ok(())
    }

    /// Waits until everything is on disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::File(sink) => {
                sink.flusher.settle();
                sink.file.sync_data()
            }
            Self::Memory(_) => Ok(()),
            #[cfg(test)]
            Self::Full(..) => Ok(()),
        }
    }

    /// Lets everything be on disk within 100 ms; says if that failed earlier.
    pub(super) fn sync_soon(&mut self) -> io::Result<()> {
        match self {
            Self::File(sink) => sink.flusher.wake(),
            Self::Memory(_) => Ok(()),
            #[cfg(test)]
            Self::Full(..) => Ok(()),
        }
    }

    /// What was appended, for reading.
    pub(super) fn bytes(&self) -> TapeBytes {
        match self {
            Self::File(sink) => TapeBytes::File(Arc::clone(&sink.file)),
            Self::Memory(bytes) => TapeBytes::Growing(Arc::clone(bytes)),
            #[cfg(test)]
            Self::Full(bytes, _) => TapeBytes::Growing(Arc::clone(bytes)),
        }
    }
}

impl FileSink {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.take_back()?;
        }
        if let Err(error) = (&*self.file).write_all(line) {
            // If even this fails, it is tried again before the next line.
            self.is_torn = true;
            let _ = self.take_back();
            return Err(error);
        }
        self.len += line.len() as u64;
        Ok(())
    }

    fn take_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.len)?;
        self.is_torn = false;
        Ok(())
    }
}

pub(super) fn open_error(path: &Path, source: io::Error) -> RecordError {
    RecordError::Open {
        path: path.to_owned(),
        source,
    }
}
