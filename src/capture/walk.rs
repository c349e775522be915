//! From a directory and what was known of it to where they differ.
//!
//! Says only *that* an entry is gone, new, or may hold something else; reads no contents.
//! What is new is not entered into the known tree here, but what is gone is taken out of it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

use rustix::io::Errno;

use super::disk::{self, Seen, Sort};
use super::ignore::IgnoreRules;
use super::known::{Known, KnownDirectory, Left, push};
use super::watcher::Watcher;
use crate::model::TapePath;

/// Directories below directories that are looked at; each of them is open meanwhile.
const MAX_DEPTH: usize = 200;
/// Entries in directories beside each other from which on two threads look at them. The
/// system is asked for each of them, which takes a microsecond or two.
const MANY: usize = 1000;

/// Where a directory and what was known of it differ. Paths are below the watched one.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// What is no longer there.
    pub(super) gone: Vec<(Vec<u8>, Known)>,
    /// What was not there before, directories without what is in them.
    pub(super) came: Vec<(Vec<u8>, Seen)>,
    /// Files and links that may be others now.
    pub(super) touched: Vec<(Vec<u8>, Seen)>,
    /// Directories with another mode.
    pub(super) modes: Vec<(Vec<u8>, u32)>,
    /// Entries that are not covered, and were not there before.
    pub(super) left: Vec<(Vec<u8>, Left)>,
}

impl Differences {
    fn append(&mut self, mut other: Self) {
        self.gone.append(&mut other.gone);
        self.came.append(&mut other.came);
        self.touched.append(&mut other.touched);
        self.modes.append(&mut other.modes);
        self.left.append(&mut other.left);
    }

    /// Takes away what was found twice, by its name and through the directory above it.
    pub(super) fn forget_repeated(&mut self) {
        fn once<T>(list: &mut Vec<(Vec<u8>, T)>) {
            list.sort_by(|one, two| one.0.cmp(&two.0));
            list.dedup_by(|one, two| one.0 == two.0);
        }
        once(&mut self.came);
        once(&mut self.touched);
        once(&mut self.modes);
        once(&mut self.left);
    }
}

/// Threads that are not looking at anything, beside the one that is.
#[derive(Debug)]
pub(super) struct Idle(AtomicUsize);

impl Idle {
    /// One for each further processor.
    pub(super) fn all() -> Self {
        let processors = thread::available_parallelism().map_or(1, Into::into);
        Self(AtomicUsize::new(processors - 1))
    }

    fn take(&self) -> bool {
        let one_less = |idle: usize| idle.checked_sub(1);
        let (took, left) = (Ordering::AcqRel, Ordering::Acquire);
        self.0.fetch_update(took, left, one_less).is_ok()
    }

    fn give_back(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// What decides which entries are covered.
#[derive(Debug)]
pub(super) struct Coverage {
    pub(super) rules: IgnoreRules,
    /// The device of the watched directory: no other is entered.
    pub(super) device: u64,
    /// A file in it that is left out: the tape that is being written.
    pub(super) tape: Option<Box<[u8]>>,
}

/// One look.
pub(super) struct Walk<'a> {
    pub(super) coverage: &'a Coverage,
    pub(super) watcher: Option<&'a mut Watcher>,
    pub(super) idle: &'a Idle,
    pub(super) found: Differences,
}

impl Walk<'_> {
    /// Looks at all of a directory that is known.
    pub(super) fn directory(
        &mut self,
        at: &OwnedFd,
        path: &mut Vec<u8>,
        known: &mut KnownDirectory,
    ) {
        // Before its names are read: what comes later is heard of. One that was watched
        // before may be another under its old name.
        if let Some(watcher) = &mut self.watcher {
            watcher.add(path);
        }
        // What cannot be listed is as it was, as far as anybody can see.
        let Ok(names) = disk::names(at) else { return };
        let mut there = 0;
        for name in &names {
            self.name(at, path, name, known);
            // What is new here is not among them yet.
            there += usize::from(known.entries.contains_key(name));
        }
        if there < known.entries.len() {
            let names: BTreeSet<&[u8]> = names.iter().map(|name| &**name).collect();
            let entries = &mut known.entries;
            let gone = entries.extract_if(.., |name, _| !names.contains(&**name));
            let gone: Vec<_> = gone.collect();
            for (name, known) in gone {
                self.gone(path, &name, known);
            }
        }
        let entries = known.entries.iter_mut();
        let mut below: Vec<(&[u8], &mut KnownDirectory)> = entries
            .filter_map(|(name, known)| match known {
                Known::Directory(below) => Some((&**name, below)),
                _ => None,
            })
            .collect();
        self.directories(at, path, &mut below);
    }

    /// Looks at directories in one, with another thread if there is much to look at.
    fn directories(
        &mut self,
        at: &OwnedFd,
        path: &mut Vec<u8>,
        below: &mut [(&[u8], &mut KnownDirectory)],
    ) {
        let entries = below.iter().map(|(_, below)| below.entries.len());
        // One queue hears of all that is watched, in the order in which it was.
        let is_alone = self.watcher.is_some() || below.len() < 2;
        if is_alone || entries.sum::<usize>() < MANY || !self.idle.take() {
            for (name, below) in below {
                if let Ok(opened) = disk::open_directory(at, name) {
                    let len = path.len();
                    push(path, name);
                    self.directory(&opened, path, below);
                    path.truncate(len);
                }
            }
            return;
        }
        let (mine, others) = below.split_at_mut(below.len() / 2);
        let mut other = Walk {
            watcher: None,
            found: Differences::default(),
            ..*self
        };
        let mut other_path = path.clone();
        let has_help = thread::scope(|scope| {
            let look = || {
                other.directories(at, &mut other_path, others);
                other.idle.give_back();
                other.found
            };
            let other = thread::Builder::new().spawn_scoped(scope, look);
            self.directories(at, path, mine);
            match other.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(found)) => self.found.append(found),
                Ok(Err(panicked)) => panic::resume_unwind(panicked),
                // The system gives no further thread.
                Err(_) => return false,
            }
            true
        });
        if !has_help {
            self.directories(at, path, others);
            self.idle.give_back();
        }
    }

    /// Looks at one name in a directory that is known, and at all below it.
    pub(super) fn entry(
        &mut self,
        at: &OwnedFd,
        path: &mut Vec<u8>,
        name: &[u8],
        directory: &mut KnownDirectory,
    ) {
        self.name(at, path, name, directory);
        if let Some(Known::Directory(below)) = directory.entries.get_mut(name) {
            self.directories(at, path, &mut [(name, below)]);
        }
    }

    /// Looks at one name in a directory that is known.
    fn name(
        &mut self,
        at: &OwnedFd,
        path: &mut Vec<u8>,
        name: &[u8],
        directory: &mut KnownDirectory,
    ) {
        let seen = match disk::look(at, name) {
            Ok(seen) => seen,
            Err(Errno::NOENT) => {
                if let Some(known) = directory.entries.remove(name) {
                    self.gone(path, name, known);
                }
                return;
            }
            Err(_) => return,
        };
        let len = path.len();
        push(path, name);
        match (directory.entries.get_mut(name), seen.sort) {
            (Some(Known::File(file)), Sort::File) => {
                if file.stat != seen.stat || file.mode != seen.mode || !file.is_settled {
                    self.found.touched.push((path.clone(), seen));
                }
            }
            (Some(Known::Link { stat, .. }), Sort::Link) => {
                if *stat != seen.stat {
                    self.found.touched.push((path.clone(), seen));
                }
            }
            (Some(Known::Directory(below)), Sort::Directory) => {
                if below.mode != seen.mode {
                    below.mode = seen.mode;
                    self.found.modes.push((path.clone(), seen.mode));
                }
                below.stat = seen.stat;
            }
            (Some(Known::Left(Left::Special(known))), Sort::Special(sort)) if *known == sort => {}
            // A name that was left out stays so, whatever stands there.
            (Some(Known::Left(left)), _) if !matches!(left, Left::Special(_)) => {}
            (Some(_), _) => {
                if let Some(known) = directory.entries.remove(name) {
                    self.found.gone.push((path.clone(), known));
                }
                self.came(path, name, seen, directory);
            }
            (None, _) => self.came(path, name, seen, directory),
        }
        path.truncate(len);
    }

    fn came(&mut self, path: &[u8], name: &[u8], seen: Seen, directory: &mut KnownDirectory) {
        match self.left(path, name, &seen) {
            Some(left) => {
                directory.entries.insert(name.into(), Known::Left(left));
                self.found.left.push((path.to_vec(), left));
            }
            None => self.found.came.push((path.to_vec(), seen)),
        }
    }

    /// Why an entry is not covered, if it is not.
    fn left(&self, path: &[u8], name: &[u8], seen: &Seen) -> Option<Left> {
        let is_directory = seen.sort == Sort::Directory;
        let depth = memchr::memchr_iter(b'/', path).count() + 1;
        if matches!(name, b".git" | b".jukebox") || self.coverage.tape.as_deref() == Some(path) {
            Some(Left::Own)
        } else if let Sort::Special(sort) = seen.sort {
            Some(Left::Special(sort))
        } else if self.coverage.rules.names(path, is_directory) {
            Some(Left::Ignored)
        } else if is_directory && seen.stat.device != self.coverage.device {
            Some(Left::OtherDevice)
        } else if depth > MAX_DEPTH || path.len() > TapePath::MAX_LEN / 2 {
            Some(Left::TooDeep)
        } else {
            None
        }
    }

    fn gone(&mut self, path: &[u8], name: &[u8], known: Known) {
        let mut path = path.to_vec();
        push(&mut path, name);
        self.found.gone.push((path, known));
    }
}
