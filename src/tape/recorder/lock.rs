//! One writer at a time: an advisory lock on the tape, and who holds it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};

use super::RecordError;
use super::sink::open_error;

/// The lock on a tape, until this is dropped.
#[derive(Debug)]
pub(super) struct Lock(Arc<File>);

impl Lock {
    pub(super) fn take(file: &Arc<File>, path: &Path) -> Result<Self, RecordError> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(Arc::clone(file))),
            Err(error) if io::Error::from(error).kind() == io::ErrorKind::WouldBlock => {
                Err(RecordError::Locked {
                    path: path.to_owned(),
                    writer: writer_of(file).unwrap_or_else(|| "another process".to_owned()),
                })
            }
            Err(error) => Err(open_error(path, error.into())),
        }
    }
}

/// A process that another thread is just starting holds the descriptor until it becomes its
/// program: closing alone would not let go of the lock.
impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// The process that holds the lock, where the system tells (Linux does).
fn writer_of(file: &File) -> Option<String> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4242 fd:01:131 0 EOF`. The device is spelt differently from
    // what `stat` says on some file systems, so only the inode is compared.
    let pid = locks.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_lock = words.next()? == "FLOCK" && words.nth(1)? == "WRITE";
        let pid = words.next()?;
        let is_file = words.next()?.rsplit(':').next()? == inode;
        (is_lock && is_file).then_some(pid)
    })?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    Some(match name.as_deref().map(str::trim_end) {
        Some(name) => format!("process {pid} ({name})"),
        None => format!("process {pid}"),
    })
}
