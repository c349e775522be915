//! What the protocol asks of a file system: a few operations below one directory.
//!
//! A path is bytes relative to the workspace, and empty for the workspace itself. No
//! implementation follows a link, the last component's included, leaves the workspace, or
//! crosses into another device. What a call has done may be lost in a crash until
//! [`Fs::sync`] or [`Fs::barrier`] returns.

#[cfg(target_os = "linux")]
mod disk;

#[cfg(target_os = "linux")]
pub(super) use disk::Disk;
use std::io::{self, Read};

use crate::model::BlobHash;

/// Seconds since 1970, and nanoseconds.
pub type Time = (i64, u32);

/// What sort of thing a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Link,
    /// A FIFO, a socket, a device.
    Other,
}

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Permission bits, with those that lend rights.
    pub(super) mode: u32,
    pub(super) len: u64,
    pub(super) mtime: Time,
    pub(super) inode: u64,
}

/// A file system below a workspace.
pub(super) trait Fs {
    /// What a name leads to. `None`: nothing, also where something above it is no directory.
    fn look(&self, path: &[u8]) -> io::Result<Option<Node>>;
    /// The names in a directory, sorted; none where it is not there.
    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>>;
    /// The bytes of a file.
    fn open(&self, path: &[u8]) -> io::Result<Box<dyn Read>>;
    /// The text of a link.
    fn target(&self, path: &[u8]) -> io::Result<Vec<u8>>;
    /// Makes a new file with these bytes, for nobody else to read until it has its mode.
    fn create(&self, path: &[u8], content: &mut dyn Read, mode: u32) -> io::Result<()>;
    /// Makes a directory for nobody else.
    fn make_directory(&self, path: &[u8]) -> io::Result<()>;
    /// Makes a link with this text.
    fn make_link(&self, path: &[u8], target: &[u8]) -> io::Result<()>;
    /// Gives a file or a link a second name, which must be free.
    fn add_name(&self, path: &[u8], name: &[u8]) -> io::Result<()>;
    /// Gives it another name, which must be free.
    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()>;
    /// Gives it another name, and to what has that one, if anything, none.
    fn replace(&self, from: &[u8], to: &[u8]) -> io::Result<()>;
    /// Gives each of two the name of the other.
    fn exchange(&self, one: &[u8], two: &[u8]) -> io::Result<()>;
    /// Takes a name from what is no directory.
    fn remove(&self, path: &[u8]) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &[u8]) -> io::Result<()>;
    /// Sets the permission bits of a directory.
    fn set_mode(&self, path: &[u8], mode: u32) -> io::Result<()>;
    /// Sets the time of the last change, of a link itself too.
    fn set_mtime(&self, path: &[u8], mtime: Time) -> io::Result<()>;
    /// What a file or a directory holds will survive a crash.
    fn sync(&self, path: &[u8]) -> io::Result<()>;
    /// All that was done before will survive a crash.
    fn barrier(&self) -> io::Result<()>;
    /// Takes the lock at this path, until the file system is dropped; `false`: another
    /// process has it.
    fn lock(&self, path: &[u8]) -> io::Result<bool>;
}

/// The name of a file's bytes.
pub(super) fn hash(fs: &dyn Fs, path: &[u8]) -> io::Result<BlobHash> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut fs.open(path)?, &mut hasher)?;
    Ok(BlobHash::from_digest(*hasher.finalize().as_bytes()))
}
