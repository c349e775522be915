//! A directory of the program's own, for as long as it takes: somewhere to write trees in
//! which commands are run. Nobody but its user looks into it.
//!
//! It goes when it is dropped, whatever the modes in it forbid. One whose owner was killed goes
//! when the next one is made beside it, unless something in it can be salvaged. Nothing is removed that is somebody else's, or that
//! somebody holds; no link is followed.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use tempfile::TempDir;

/// What the name of each begins with.
const PREFIX: &str = "jukebox-";
/// In each, a file that its owner holds, of a name that nobody else would think of. Nobody sees
/// it under this name and not held.
const LOCK: &str = ".jukebox-scratch";

/// A directory of the program's own. Dropping it removes it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held by those that go when their owner is killed.
    _lock: Option<File>,
}

impl Scratch {
    /// Makes one below an existing directory; `what` is for people who look there.
    pub fn new(place: &Path, what: &str) -> io::Result<Self> {
        // Whoever cannot remove what others left can work beside it.
        let _ = sweep(place);
        let directory = make(place, what)?;
        let new = directory.path().join(".jukebox-scratch.new");
        let lock = File::create_new(&new)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(new, directory.path().join(LOCK))?;
        Ok(Self {
            path: directory.keep(),
            _lock: Some(lock),
        })
    }

    /// The same, but it stays where its owner is killed: somebody is told of what is in it.
    pub fn lasting(place: &Path, what: &str) -> io::Result<Self> {
        Ok(Self {
            path: make(place, what)?.keep(),
            _lock: None,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove_tree(&self.path);
    }
}

fn make(place: &Path, what: &str) -> io::Result<TempDir> {
    let prefix = format!("{PREFIX}{what}-");
    let mut named = tempfile::Builder::new();
    named
        .prefix(&prefix)
        .permissions(Permissions::from_mode(0o700));
    // An error says where the directory would have been, which is nobody's wish.
    let made = named.tempdir_in(place);
    made.map_err(|error| io::Error::from(error.kind()))
}

/// Removes those whose owners are gone.
fn sweep(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let is_named_so = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes());
        if is_named_so && entry.metadata().is_ok_and(|found| is_own(&found)) {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let lock = openat(CWD, entry.path().join(LOCK), flags, Mode::empty());
            let taken = lock.and_then(|lock| {
                flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                Ok(lock)
            });
            if let Ok(_held) = taken {
                let _ = remove_tree(&entry.path());
            }
        }
    }
    Ok(())
}

/// Whether it is a directory that nobody but this user enters.
fn is_own(found: &Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700
}

/// Removes a tree whatever its modes forbid its owner. Follows no link.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.is_dir() {
        return fs::remove_file(path);
    }
    if found.mode() & 0o700 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(path)? {
        remove_tree(&entry?.path())?;
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(place: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(place).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn it_goes_whatever_the_modes_in_it_forbid() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(place.path(), "test").unwrap();
        let mode = fs::metadata(scratch.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        let closed = scratch.path().join("tree/closed");
        fs::create_dir_all(&closed).unwrap();
        fs::write(closed.join("file"), "").unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn what_nobody_holds_goes_with_the_next_one_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join("jukebox-test-left");
        let others = ["jukebox-test-no-lock", "somebody-else"].map(|name| place.path().join(name));
        for directory in others.iter().chain([&left]) {
            fs::create_dir(directory).unwrap();
            fs::set_permissions(directory, Permissions::from_mode(0o700)).unwrap();
        }
        for directory in [&left, &others[1]] {
            fs::write(directory.join(LOCK), "").unwrap();
        }
        let lasting = Scratch::lasting(place.path(), "test").unwrap();
        let salvageable = lasting.path().to_owned();
        std::mem::forget(lasting);
        let held = Scratch::new(place.path(), "test").unwrap();
        let next = Scratch::new(place.path(), "test").unwrap();
        let mut expected = vec![held.path().to_owned(), next.path().to_owned(), salvageable];
        expected.extend(others);
        expected.sort();
        let mut found = names(place.path());
        found.sort();
        assert_eq!(found, expected);
    }
}
