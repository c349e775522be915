//! Where to look: the system says in which directories something happened since it was asked
//! last.
//!
//! The kernel's queue is read when it is wanted, in the thread that wants it, so what was
//! done before is in it: there is no other thread to wait for. It only ever says where to
//! look, never what is there. Where it cannot be had, and when it lost something, all is
//! looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What may have changed.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Names by the directory that they are in.
    pub(super) names: BTreeMap<Box<[u8]>, BTreeSet<Box<[u8]>>>,
    /// Anything: something was lost.
    pub(super) is_all: bool,
}

impl Dirty {
    /// Anything may have changed.
    pub(super) fn all() -> Self {
        Self {
            is_all: true,
            ..Self::default()
        }
    }
}

/// A watch over a tree of directories. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Watcher {
    #[cfg(target_os = "linux")]
    queue: linux::Queue,
    root: PathBuf,
    /// A directory could not be watched: from here on nothing that is heard is enough.
    is_blind: bool,
}

#[cfg(target_os = "linux")]
mod linux {
    //! The queue of inotify.

    use std::collections::HashMap;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::Dirty;
    use crate::capture::known::{push, split};

    /// Bytes of events that are read at once.
    const ROOM: usize = 1 << 15;

    #[derive(Debug)]
    pub(super) struct Queue {
        inotify: OwnedFd,
        /// The path of each watched directory, by its number. It may have been moved since.
        paths: HashMap<i32, Box<[u8]>>,
    }

    impl Queue {
        pub(super) fn new() -> Option<Self> {
            let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
            Some(Self {
                inotify: inotify::init(flags).ok()?,
                paths: HashMap::new(),
            })
        }

        pub(super) fn add(&mut self, directory: &Path, path: &[u8]) -> Result<(), Errno> {
            let flags = WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW
                | WatchFlags::EXCL_UNLINK;
            let number = inotify::add_watch(&self.inotify, directory, flags)?;
            self.paths.insert(number, path.into());
            Ok(())
        }

        pub(super) fn drain(&mut self) -> Dirty {
            let mut dirty = Dirty::default();
            let mut room = vec![MaybeUninit::uninit(); ROOM];
            let mut reader = inotify::Reader::new(&self.inotify, &mut room);
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(Errno::WOULDBLOCK) => return dirty,
                    Err(_) => {
                        dirty.is_all = true;
                        return dirty;
                    }
                };
                let what = event.events();
                if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                    dirty.is_all = true;
                } else if what.contains(ReadFlags::IGNORED) {
                    self.paths.remove(&event.wd());
                } else if let Some(path) = self.paths.get(&event.wd()) {
                    match event.file_name() {
                        Some(name) => dirty.add(path, name.to_bytes()),
                        // The directory's own mode: it is looked at where it lies.
                        None => dirty.add_whole(path),
                    }
                }
            }
        }
    }

    impl Dirty {
        /// A name in a directory.
        fn add(&mut self, directory: &[u8], name: &[u8]) {
            let names = self.names.entry(directory.into()).or_default();
            names.insert(name.into());
        }

        /// A directory itself.
        fn add_whole(&mut self, path: &[u8]) {
            let (above, name) = split(path);
            if !name.is_empty() {
                self.add(above, name);
            }
        }
    }

    /// The path of a directory below the root, as the system wants it.
    pub(super) fn absolute(root: &Path, path: &[u8]) -> std::path::PathBuf {
        use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
        let mut bytes = root.as_os_str().as_bytes().to_vec();
        if !path.is_empty() {
            push(&mut bytes, path);
        }
        std::ffi::OsString::from_vec(bytes).into()
    }
}

#[cfg(target_os = "linux")]
impl Watcher {
    /// A watch over nothing yet; `None` where the system has none to give.
    pub(super) fn new(root: PathBuf) -> Option<Self> {
        Some(Self {
            queue: linux::Queue::new()?,
            root,
            is_blind: false,
        })
    }

    /// Watches a directory, too: what happens in it from here on is heard of.
    pub(super) fn add(&mut self, path: &[u8]) {
        let directory = linux::absolute(&self.root, path);
        match self.queue.add(&directory, path) {
            // It is gone again: the one above it has heard.
            Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
            Err(_) => self.is_blind = true,
        }
    }

    /// Whether everything that happens is heard of.
    pub(super) const fn hears_all(&self) -> bool {
        !self.is_blind
    }

    /// What may have changed since it was asked last.
    pub(super) fn drain(&mut self) -> Dirty {
        self.queue.drain()
    }
}

#[cfg(not(target_os = "linux"))]
impl Watcher {
    pub(super) fn new(_: PathBuf) -> Option<Self> {
        None
    }

    pub(super) fn add(&mut self, _: &[u8]) {
        self.is_blind = true;
    }

    pub(super) const fn hears_all(&self) -> bool {
        false
    }

    pub(super) fn drain(&mut self) -> Dirty {
        Dirty::all()
    }
}
