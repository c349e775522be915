//! What happens to the files of a real directory, found out by looking.
//!
//! A [`Capture`] watches a directory for a recorder: it knows the tree as it was last seen,
//! and each [`look`](Capture::look) tells what has become of it since, as the operations of a
//! tape. A [`Session`] is a recorder with captures: it looks around each call, so that what
//! a call changed stands between the call and its result.
//!
//! ```text
//! inotify ─► where to look ─┐
//! nothing to hear it from ──┴► walk ─► gone, came, touched ─► settle ─► renames, writes, … ─► Recorder
//!                                stat against what was known    reading and hashing
//! ```
//!
//! Nothing is written but the tape, nothing is run, no link is followed, and no file but a
//! regular one is opened. What a file held is known from reading it, never from its times
//! alone while those could hide a write: a file that was read within two seconds of its last
//! change is read again when it is looked at again.
//!
//! What cannot be seen is said in [`Capture::covers`], which belongs in the tape's header.

mod attribution;
mod covers;
mod disk;
mod ignore;
mod known;
mod resume;
mod session;
mod settle;
mod walk;
mod watcher;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use attribution::CallTrace;
pub use ignore::IgnoreRules;
pub use session::{Appended, Session};

use crate::model::{BlobHash, FileChange, TapePath};
use crate::tape::{Directory, FileNode, Node};
use covers::Survey;
use disk::{Held, Seen, Sort};
use known::{Known, KnownDirectory, KnownFile, push, split};
use settle::{Settle, Tell};
use walk::{Coverage, Differences, Idle, Walk};
use watcher::{Dirty, Watcher};

/// How much of a file is taken in, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Bytes of a file that are kept; of a larger one only the hash is.
    pub keep: u64,
    /// Bytes of a file that are hashed; of a larger one only the size is known.
    pub hash: u64,
    /// Bytes that are kept of all files that are there when the watch begins.
    pub start: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            keep: 16 << 20,
            hash: crate::tape::MAX_BLOB,
            start: 512 << 20,
        }
    }
}

/// How a directory is watched.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    /// How much of a file is taken in.
    pub caps: Caps,
    /// Whether `.gitignore` files decide what is left out.
    pub ignore: IgnorePolicy,
    /// Whether the system is asked to tell where something happens.
    pub hearing: Hearing,
    /// The tape that is being written: it is left out if it lies in the directory.
    pub tape: Option<PathBuf>,
}

/// Whether `.gitignore` files decide what is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IgnorePolicy {
    /// Those that are there when the watch begins, for all of the run.
    #[default]
    AtStart,
    /// Nothing is left out on their account.
    Nothing,
}

/// Whether the system is asked to tell where something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hearing {
    /// Where it can.
    #[default]
    Asked,
    /// Every look is one at everything.
    Never,
}

/// A directory cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be watched: {source}", .path.display())]
pub struct CaptureError {
    /// The directory.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Something that a look found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A change, of which nobody said yet whose it is.
    Change(FileChange),
    /// Something came that is neither file, directory nor link, and is not covered.
    Special {
        /// Where.
        path: TapePath,
        /// What, in words.
        sort: &'static str,
    },
}

/// Something that was there when the watch began.
#[derive(Clone, Debug, PartialEq)]
pub enum Stood {
    /// A file.
    File {
        /// Permission bits.
        mode: u32,
        /// The hash of its content, where it could be read.
        hash: Option<BlobHash>,
        /// Its length.
        len: u64,
        /// Its bytes, where they are to be kept.
        bytes: Option<Arc<[u8]>>,
    },
    /// A symbolic link with this text.
    Link(Vec<u8>),
    /// A directory with these permission bits.
    Directory(u32),
}

impl Stood {
    /// It, as a snapshot names it.
    pub fn node(&self) -> Node {
        match self {
            Self::Directory(mode) => {
                let mut directory = Directory::default();
                directory.mode = Some(*mode);
                Node::Directory(Arc::new(directory))
            }
            Self::Link(target) => Node::Link(target.as_slice().into()),
            Self::File {
                mode, hash, len, ..
            } => Node::File(FileNode {
                mode: Some(*mode),
                hash: *hash,
                len: Some(*len),
                is_proven: hash.is_some(),
            }),
        }
    }
}

/// A watch over a directory. Writes nothing.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    root: OwnedFd,
    options: CaptureOptions,
    /// What stands before the paths as a tape calls them.
    prefix: Option<TapePath>,
    coverage: Coverage,
    watcher: Option<Watcher>,
    idle: Idle,
    known: KnownDirectory,
    survey: Survey,
}

impl Capture {
    /// Begins to watch the workspace: looks at every entry of it, and reads none.
    pub fn workspace(path: &Path, options: CaptureOptions) -> Result<Self, CaptureError> {
        Self::begin(path, None, options)
    }

    /// Begins to watch a directory outside the workspace: its paths are absolute.
    pub fn outside(path: &Path, options: CaptureOptions) -> Result<Self, CaptureError> {
        let failed = |source| CaptureError {
            path: path.to_owned(),
            source,
        };
        let absolute = path.canonicalize().map_err(failed)?;
        let prefix = TapePath::new(absolute.as_os_str().as_bytes());
        let prefix = prefix.map_err(|error| failed(io::Error::other(error)))?;
        Self::begin(path, Some(prefix), options)
    }

    fn begin(
        path: &Path,
        prefix: Option<TapePath>,
        options: CaptureOptions,
    ) -> Result<Self, CaptureError> {
        let failed = |source| CaptureError {
            path: path.to_owned(),
            source,
        };
        let path = path.canonicalize().map_err(failed)?;
        let root = disk::open_root(&path).map_err(failed)?;
        let seen = disk::look(&root, b".").map_err(|errno| failed(errno.into()))?;
        let tape = options.tape.as_deref().and_then(|tape| {
            let tape = tape.parent()?.canonicalize().ok()?.join(tape.file_name()?);
            let below = tape.strip_prefix(&path).ok()?;
            Some(below.as_os_str().as_bytes().into())
        });
        let mut capture = Self {
            watcher: match options.hearing {
                Hearing::Asked => Watcher::new(path.clone()),
                Hearing::Never => None,
            },
            idle: Idle::all(),
            known: KnownDirectory::new(seen.stat, seen.mode),
            coverage: Coverage {
                rules: IgnoreRules::default(),
                device: seen.stat.device,
                tape,
            },
            survey: Survey::default(),
            path,
            root,
            options,
            prefix,
        };
        capture.take_in(seen);
        Ok(capture)
    }

    /// Takes in the tree as it stands.
    fn take_in(&mut self, root: Seen) {
        let mut left = Vec::new();
        let mut pending = vec![(Vec::new(), root)];
        while let Some((path, seen)) = pending.pop() {
            let known = match seen.sort {
                Sort::Directory => {
                    let mut below = KnownDirectory::new(seen.stat, seen.mode);
                    if let Ok(opened) = disk::open_beneath(&self.root, &path) {
                        if self.options.ignore == IgnorePolicy::AtStart {
                            self.coverage.rules.read(&opened, &path);
                        }
                        let mut walk = Walk {
                            coverage: &self.coverage,
                            watcher: self.watcher.as_mut(),
                            idle: &self.idle,
                            found: Differences::default(),
                        };
                        walk.directory(&opened, &mut path.clone(), &mut below);
                        pending.append(&mut walk.found.came);
                        left.append(&mut walk.found.left);
                    }
                    Known::Directory(below)
                }
                Sort::Link => {
                    let (above, name) = split(&path);
                    let opened = disk::open_beneath(&self.root, above);
                    let Ok(target) = opened.and_then(|at| disk::target(at, name)) else {
                        continue;
                    };
                    let stat = seen.stat;
                    Known::Link { target, stat }
                }
                Sort::File | Sort::Special(_) => Known::File(KnownFile {
                    stat: seen.stat,
                    mode: seen.mode,
                    hash: None,
                    is_settled: false,
                }),
            };
            match known {
                Known::Directory(below) if path.is_empty() => self.known = below,
                known => self.known.put(&path, known),
            }
        }
        self.survey = Survey::of(&self.root, &self.known, &left, &self.options.caps);
    }

    /// Reads what stands there, and tells it: directories before what is in them. To be
    /// called once, before the first look.
    pub fn start<E>(
        &mut self,
        tell: &mut dyn FnMut(TapePath, Stood) -> Result<(), E>,
    ) -> Result<(), E> {
        let empty = KnownDirectory::new(self.known.stat, self.known.mode);
        let mut known = std::mem::replace(&mut self.known, empty);
        let mut left = self.options.caps.start;
        let done = self.read_below(&self.root, &mut known, &mut Vec::new(), &mut left, tell);
        self.known = known;
        done
    }

    fn read_below<E>(
        &self,
        at: &OwnedFd,
        known: &mut KnownDirectory,
        path: &mut Vec<u8>,
        left: &mut u64,
        tell: &mut dyn FnMut(TapePath, Stood) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut gone = Vec::new();
        for (name, known) in &mut known.entries {
            let len = path.len();
            push(path, name);
            let Some(place) = self.place(path) else {
                path.truncate(len);
                continue;
            };
            match known {
                Known::Directory(below) => {
                    tell(place, Stood::Directory(below.mode))?;
                    if let Ok(opened) = disk::open_directory(at, name) {
                        self.read_below(&opened, below, path, left, tell)?;
                    }
                }
                Known::Link { target, .. } => tell(place, Stood::Link(target.clone()))?,
                Known::File(file) => {
                    let caps = &self.options.caps;
                    let keep = caps.keep.min(*left);
                    if let Some(reading) = disk::read(at, name, caps, keep) {
                        *file = reading.known();
                        let bytes = match reading.held {
                            Held::Bytes(bytes, _) => Some(bytes),
                            Held::Hash(_) | Held::Nothing(_) => None,
                        };
                        *left -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                        let stood = Stood::File {
                            mode: file.mode,
                            hash: file.hash,
                            len: file.stat.size,
                            bytes,
                        };
                        tell(place, stood)?;
                    } else {
                        gone.push(name.clone());
                    }
                }
                Known::Left(_) => {}
            }
            path.truncate(len);
        }
        // Never told of, so nobody need be told that they are gone.
        for name in gone {
            known.entries.remove(&name);
        }
        Ok(())
    }

    /// Tells what has changed since the last look, in an order in which it can be done.
    ///
    /// Where the system tells where to look, only there; else, and where it lost something,
    /// everywhere.
    pub fn look<E>(&mut self, tell: Tell<'_, E>) -> Result<(), E> {
        if self.is_replaced() {
            return self.look_everywhere(tell);
        }
        let dirty = match &mut self.watcher {
            Some(watcher) if watcher.hears_all() => watcher.drain(),
            _ => Dirty::all(),
        };
        if dirty.is_all {
            return self.look_everywhere(tell);
        }
        let mut walk = Walk {
            coverage: &self.coverage,
            watcher: self.watcher.as_mut(),
            idle: &self.idle,
            found: Differences::default(),
        };
        for (directory, names) in dirty.names {
            let known = self.known.directory_mut(&directory);
            // What is new, or gone again, the directory above it was told of.
            let Some(known) = known else { continue };
            let Ok(opened) = disk::open_beneath(&self.root, &directory) else {
                continue;
            };
            let mut path = directory.to_vec();
            for name in names {
                walk.entry(&opened, &mut path, &name, known);
            }
        }
        walk.found.forget_repeated();
        let has_shared = Self::settle(
            &self.root,
            &mut self.known,
            &self.options,
            self.prefix.as_ref(),
            walk,
            tell,
        )?;
        // Of a file with several names, the system tells only of the one that was used.
        if has_shared {
            self.look_everywhere(tell)?;
        }
        Ok(())
    }

    /// Tells what has changed since the last look, by looking at every entry.
    pub fn look_everywhere<E>(&mut self, tell: Tell<'_, E>) -> Result<(), E> {
        if self.is_replaced()
            && let Ok(root) = disk::open_root(&self.path)
            && let Ok(seen) = disk::look(&root, b".")
        {
            self.root = root;
            self.coverage.device = seen.stat.device;
            self.known.stat = seen.stat;
            self.watcher = self.watcher.take().and(Watcher::new(self.path.clone()));
        }
        // What was heard so far is seen now. Half an ear is none.
        self.watcher.take_if(|watcher| !watcher.hears_all());
        if let Some(watcher) = &mut self.watcher {
            watcher.drain();
        }
        let mut walk = Walk {
            coverage: &self.coverage,
            watcher: self.watcher.as_mut(),
            idle: &self.idle,
            found: Differences::default(),
        };
        walk.directory(&self.root, &mut Vec::new(), &mut self.known);
        Self::settle(
            &self.root,
            &mut self.known,
            &self.options,
            self.prefix.as_ref(),
            walk,
            tell,
        )?;
        Ok(())
    }

    /// Whether another directory lies under the path by now: nothing is heard of it.
    fn is_replaced(&self) -> bool {
        let seen = disk::look(rustix::fs::CWD, self.path.as_os_str().as_bytes());
        seen.is_ok_and(|seen| {
            seen.sort == Sort::Directory && !seen.stat.is_same_inode(&self.known.stat)
        })
    }

    fn settle<E>(
        root: &OwnedFd,
        known: &mut KnownDirectory,
        options: &CaptureOptions,
        prefix: Option<&TapePath>,
        walk: Walk<'_>,
        tell: Tell<'_, E>,
    ) -> Result<bool, E> {
        let settle = Settle {
            root,
            known,
            caps: &options.caps,
            name: &|path| place(prefix, path),
        };
        settle.settle(walk, tell)
    }

    /// The directory, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory is the workspace, so that its paths are relative.
    pub const fn is_workspace(&self) -> bool {
        self.prefix.is_none()
    }

    /// Whether an entry of the workspace is left out: a repository's own, or named by the
    /// ignore rules, or below one that is.
    pub fn leaves_out(&self, path: &TapePath, is_directory: bool) -> bool {
        let bytes = path.as_bytes();
        let is_own = |name: &[u8]| matches!(name, b".git" | b".jukebox");
        let mut ends = memchr::memchr_iter(b'/', bytes).chain([bytes.len()]);
        path.components().any(is_own)
            || ends.any(|end| {
                let above = bytes.get(..end).unwrap_or_default();
                let is_directory = is_directory || end < bytes.len();
                self.coverage.rules.names(above, is_directory)
            })
    }

    fn place(&self, path: &[u8]) -> Option<TapePath> {
        place(self.prefix.as_ref(), path)
    }
}

/// Whether a directory holds more than any run's workspace: it is the root, or is or holds
/// the home directory. One that is not there holds nothing.
pub fn holds_home(directory: &Path, home: Option<&Path>) -> bool {
    let Ok(directory) = directory.canonicalize() else {
        return false;
    };
    let home = home.and_then(|home| home.canonicalize().ok());
    let holds_home = home.is_some_and(|home| home.starts_with(&directory));
    holds_home || directory.parent().is_none()
}

/// A path as a tape calls it; `None` for one that none may hold.
fn place(prefix: Option<&TapePath>, path: &[u8]) -> Option<TapePath> {
    match prefix {
        Some(prefix) => prefix.join(path).ok(),
        None => TapePath::new(path).ok(),
    }
}
