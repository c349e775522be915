//! What the commands of a sandbox changed: its layers, read and folded into one.
//!
//! A layer says it all by itself: a character device 0:0 is a deletion; a directory with
//! `user.overlay.opaque=y` stands alone, whatever was below it; a directory without shows
//! what is below through; everything else is new content. A newer layer changes what the
//! older ones left.
//!
//! Only layers are read, and nothing in them is changed but the modes of what its own owner
//! may not read, for as long as it takes to open it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;

use super::error::SandboxError;
use crate::model::{STATE_DIRECTORY, TapePath};

/// What a workspace is to become, path by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// Sorted by path, so that a directory stands before what it holds. A path at most once.
    pub changes: Vec<(TapePath, Change)>,
    /// What was made and is no file, directory or link, or has a path that no tape holds;
    /// each with the name of its sort, such as `socket`.
    pub refused: Vec<(PathBuf, &'static str)>,
}

/// What a path is to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing, and all below it neither.
    Deleted,
    /// A directory.
    Directory {
        /// Permission bits.
        mode: u32,
        /// What becomes of what the path held before.
        below: Below,
    },
    /// A file.
    File {
        /// Permission bits.
        mode: u32,
        /// How many bytes it has.
        len: u64,
        /// When it was last changed: seconds since 1970, and nanoseconds.
        mtime: (i64, u32),
        /// Where its bytes lie. [`open`] opens them whatever its mode is.
        content: PathBuf,
    },
    /// A link with this text.
    Link(Vec<u8>),
}

/// What becomes of what a directory held before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// It is still there, as far as nothing else is said; below a new directory, nothing is.
    Kept,
    /// It is gone, whatever it was; only what follows is there.
    Replaced,
}

/// What changed since a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// These paths alone: what each of them is to become, or that nothing is to become of it
    /// any more. One that is no file, directory or link is told as one that is not changed.
    Paths(Vec<(TapePath, Option<Change>)>),
    /// Perhaps everything. [`Changes::read`](super::Changes::read) tells what there is.
    All,
}

impl ChangeSet {
    /// What the layers in these directories say, the oldest first, of the workspace `base`.
    /// Of the base nothing is asked but whether a path is there. Of a path that was `unseen`,
    /// it is no change that it is not there.
    ///
    /// Commands may be running: what goes while it is looked at is gone.
    pub(super) fn of_layers(
        uppers: &[PathBuf],
        base: &Path,
        unseen: &[PathBuf],
    ) -> Result<Self, SandboxError> {
        Ok(Fold::of_layers(uppers, base, unseen)?.finish())
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.refused.is_empty()
    }
}

/// Opens the bytes of a file in a layer. Neither its mode nor those of the directories above
/// forbid that to their own owner.
///
/// Commands may be running, who put something else in its place: no link is followed, nothing
/// but a file is opened, and what is no file any more is not there.
pub fn open(content: &Path) -> io::Result<File> {
    reach(content, || {
        let _lent = lend(content, READ_FILE)?;
        // A FIFO is not waited for.
        let file = open_there(content, OFlags::RDONLY | OFlags::NONBLOCK)?;
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    })
}

/// Opens what lies at a path, and follows no link on the way.
fn open_there(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open_without_links(path, flags) {
        Ok(file) => Ok(file.into()),
        Err(Errno::LOOP) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = rustix::fs::ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve) {
        // A kernel that is too old for a commit reads all the same.
        Err(Errno::NOSYS) => rustix::fs::open(path, flags, Mode::empty()),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, flags, Mode::empty())
}

/// The text of a link, in the same way.
pub(super) fn read_link(link: &Path) -> io::Result<Vec<u8>> {
    let target = reach(link, || match fs::read_link(link) {
        // It is no link any more.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(io::ErrorKind::NotFound.into())
        }
        read => read,
    })?;
    Ok(target.into_os_string().into_encoded_bytes())
}

/// The names in a directory.
pub(super) fn list(directory: &Path) -> io::Result<Vec<OsString>> {
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name());
    fs::read_dir(directory)?.map(name).collect()
}

/// What layers say of a path.
#[derive(Debug)]
pub(super) enum Known {
    Change(Change),
    Refused(&'static str),
}

/// What layers say, folded into one.
#[derive(Debug, Default)]
pub(super) struct Fold {
    /// By path below the workspace: its bytes put a directory before what it holds.
    paths: BTreeMap<Vec<u8>, Known>,
}

impl Fold {
    /// What the layers in these directories say, the oldest first.
    pub(super) fn of_layers(
        uppers: &[PathBuf],
        base: &Path,
        unseen: &[PathBuf],
    ) -> Result<Self, SandboxError> {
        let mut folding = Folding {
            base,
            unseen,
            paths: BTreeMap::new(),
        };
        for upper in uppers {
            // Below it anything may go while it is looked at; where it is not there itself, it
            // is somewhere else, and nobody can tell what it says.
            fs::symlink_metadata(upper).map_err(SandboxError::layer(upper))?;
            folding.layer(upper, Path::new(""))?;
        }
        Ok(Self {
            paths: folding.paths,
        })
    }

    /// What they say of a path.
    pub(super) fn get(&self, path: &Path) -> Option<&Known> {
        self.paths.get(path.as_os_str().as_bytes())
    }

    /// Whether they say anything of what is below a path.
    pub(super) fn has_below(&self, path: &Path) -> bool {
        let (first, end) = below(path.as_os_str().as_bytes());
        self.paths.range(first..end).next().is_some()
    }

    fn finish(self) -> ChangeSet {
        let mut set = ChangeSet::default();
        for (path, known) in self.paths {
            match (TapePath::new(&path), known) {
                (Ok(path), Known::Change(change)) => set.changes.push((path, change)),
                (Ok(_), Known::Refused(name)) => set.refused.push((to_path(&path), name)),
                (Err(_), _) => set.refused.push((to_path(&path), "path too long")),
            }
        }
        set
    }
}

/// What lies below a path sorts from the one to before the other.
fn below(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    ([path, b"/"].concat(), [path, &[b'/' + 1]].concat())
}

struct Folding<'a> {
    base: &'a Path,
    unseen: &'a [PathBuf],
    paths: BTreeMap<Vec<u8>, Known>,
}

impl Folding<'_> {
    /// Takes in the directory `below` of a layer.
    fn layer(&mut self, upper: &Path, below: &Path) -> Result<(), SandboxError> {
        let directory = upper.join(below);
        let lent = there(lend(&directory, READ_DIRECTORY));
        let Some(_lent) = lent.map_err(SandboxError::layer(&directory))? else {
            return Ok(());
        };
        let names = there(list(&directory)).map_err(SandboxError::layer(&directory))?;
        for name in names.unwrap_or_default() {
            let path = below.join(name);
            if path == Path::new(STATE_DIRECTORY) {
                continue;
            }
            let content = upper.join(&path);
            let found = there(fs::symlink_metadata(&content));
            let Some(found) = found.map_err(SandboxError::layer(&content))? else {
                continue;
            };
            let entered = there(self.entry(upper, &path, &found));
            let entered = entered.map_err(SandboxError::layer(&content))?;
            if entered.is_some() && found.is_dir() {
                self.layer(upper, &path)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, upper: &Path, path: &Path, found: &Metadata) -> io::Result<()> {
        let content = upper.join(path);
        let mode = found.mode() & 0o7777;
        let kind = found.file_type();
        let key = path.as_os_str().as_bytes().to_vec();
        let known = if is_whiteout(found) {
            self.forget_below(&key);
            let is_unseen = self.unseen.iter().any(|unseen| unseen == path);
            if is_unseen || !is_there(&self.base.join(path)) {
                self.paths.remove(&key);
                return Ok(());
            }
            Known::Change(Change::Deleted)
        } else if kind.is_dir() {
            let is_opaque = {
                let _lent = lend(&content, READ_FILE)?;
                is_opaque(&content)?
            };
            let before = self.paths.get(&key);
            let below = match before {
                _ if is_opaque => Below::Replaced,
                Some(Known::Change(Change::Directory { below, .. })) => *below,
                Some(_) => Below::Replaced,
                None => Below::Kept,
            };
            if is_opaque {
                self.forget_below(&key);
            }
            Known::Change(Change::Directory { mode, below })
        } else {
            self.forget_below(&key);
            if kind.is_file() {
                Known::Change(Change::File {
                    mode,
                    len: found.len(),
                    mtime: (found.mtime(), found.mtime_nsec() as u32),
                    content,
                })
            } else if kind.is_symlink() {
                Known::Change(Change::Link(read_link(&content)?))
            } else {
                Known::Refused(name_of(found))
            }
        };
        self.paths.insert(key, known);
        Ok(())
    }

    fn forget_below(&mut self, path: &[u8]) {
        let (first, end) = below(path);
        let below: Vec<Vec<u8>> = self
            .paths
            .range(first..end)
            .map(|(path, _)| path.clone())
            .collect();
        for path in below {
            self.paths.remove(&path);
        }
    }
}

fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// The longest tick of a clock that file systems have.
const TICK: Duration = Duration::from_millis(20);

/// Whether something that changed at a time, in seconds since 1970 and nanoseconds, could have
/// changed once more before `now` without being told from what it was by its stat.
pub fn is_fresh((seconds, nanos): (i64, u32), now: SystemTime) -> bool {
    let since = u64::try_from(seconds).ok();
    let changed = since.and_then(|since| UNIX_EPOCH.checked_add(Duration::new(since, nanos)));
    // Where the clock was set back, nobody knows.
    changed.is_some_and(|changed| {
        now.duration_since(changed)
            .map_or(true, |passed| passed < TICK)
    })
}

/// What was asked of a path; `None`: it is gone, or no directory leads to it any more.
pub(super) fn there<T>(asked: io::Result<T>) -> io::Result<Option<T>> {
    match asked {
        Err(error) if is_gone(&error) => Ok(None),
        asked => asked.map(Some),
    }
}

/// Whether something could not be done about a path since it is gone.
pub fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn is_whiteout(found: &Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == 0
}

pub(super) fn is_opaque(directory: &Path) -> io::Result<bool> {
    let mut value = [0; 1];
    match rustix::fs::lgetxattr(directory, "user.overlay.opaque", &mut value) {
        Ok(len) => Ok(len == 1 && value == *b"y"),
        Err(Errno::NODATA | Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn name_of(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_fifo() {
        "FIFO"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

/// What the owner of a file needs to read it.
pub(super) const READ_FILE: u32 = 0o400;
/// What the owner of a directory needs to walk it.
pub(super) const READ_DIRECTORY: u32 = 0o500;

/// A mode that forbids too much, until it is put back.
#[must_use]
pub(super) struct Lent<'a> {
    path: &'a Path,
    mode: u32,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // Whoever could change it can change it back.
        let _ = set_mode(self.path, self.mode);
    }
}

/// Lends the owner of a file or a directory rights that its mode denies.
pub(super) fn lend(path: &Path, rights: u32) -> io::Result<Option<Lent<'_>>> {
    let mut access = Access::READ_OK;
    if rights & 0o100 != 0 {
        access |= Access::EXEC_OK;
    }
    match rustix::fs::access(path, access) {
        Ok(()) => return Ok(None),
        Err(Errno::ACCESS) => {}
        Err(error) => return Err(error.into()),
    }
    let found = fs::symlink_metadata(path)?;
    let mode = found.mode() & 0o7777;
    // A link lends nothing: what it leads to may be anybody's.
    if !found.is_symlink() {
        set_mode(path, mode | rights)?;
    }
    Ok(Some(Lent { path, mode }))
}

/// Sets the permission bits of what lies at a path, and of nothing that a link leads to.
#[cfg(target_os = "linux")]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    // One that may not be opened is reached by its descriptor.
    let file = open_there(path, OFlags::PATH)?;
    if file.metadata()?.is_symlink() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::set_permissions(name, fs::Permissions::from_mode(mode))
}

/// Sets the permission bits of what lies at a path.
#[cfg(not(target_os = "linux"))]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Does something with a path; where a directory above forbids that, once more with rights
/// lent there.
fn reach<T>(path: &Path, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        done => return done,
    }
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    let mut lent = Vec::new();
    // From the top: what lies in a closed directory cannot even be looked at.
    for directory in above
        .into_iter()
        .rev()
        .filter(|path| !path.as_os_str().is_empty())
    {
        let is_open = rustix::fs::access(directory, Access::EXEC_OK).is_ok();
        if !is_open {
            lent.extend(lend(directory, READ_DIRECTORY)?);
        }
    }
    let done = act();
    // The lowest is put back first, while there is still a way to it.
    while lent.pop().is_some() {}
    done
}
