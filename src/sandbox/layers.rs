//! The layers of a sandbox on disk: a directory of its own, which nobody else opens.
//!
//! ```text
//! ID/lock          held while the sandbox is there
//! ID/unused        an empty file, there until the first command is run
//! ID/stack         the numbers of the layers that count, the lowest first
//! ID/nothing       an empty file, shown in place of what is hidden
//! ID/root          where the helper puts the tree that commands see; empty for all others
//! ID/base          where it puts what lies below all layers; likewise
//! ID/home/upper    what commands wrote below the home directory: thrown away
//! ID/home/work
//! ID/N/upper       what commands wrote since the N-th savepoint
//! ID/N/work        the kernel's; `work/work` in it lets nobody in
//! ID/N/tree        instead, where the workspace is copied: the copy
//! ID/origin        and what it was copied from, as JSON; not there while that changes
//! ```
//!
//! Where nobody holds the lock, the sandbox was cut off. One that is still unused holds nothing
//! that anybody could miss, and goes when the next one is made beside it; any other stays until
//! somebody asks for its end.
//!
//! Numbers only grow: the kernel refuses a layer that was once mounted in a hurry.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, Uid, flock, mknodat};

use super::abandoned::Abandoned;
use super::error::SandboxError;
use crate::checkout::remove_tree;
use crate::model::STATE_DIRECTORY;

/// Below [`STATE_DIRECTORY`].
const SANDBOXES: &str = "sandboxes";
/// Names in the directory of a sandbox.
pub(super) const LOCK: &str = "lock";
const STACK: &str = "stack";
const UNUSED: &str = "unused";

/// The directory of a sandbox's layers. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Layers {
    path: PathBuf,
    /// Numbers of the layers that count, the lowest first.
    stack: Vec<u32>,
    next: u32,
    /// What looks as if it was not there, below the workspace.
    unseen: Vec<PathBuf>,
    is_kept: bool,
    is_used: bool,
    _lock: File,
}

impl Layers {
    /// Makes the directory below `parent`, or below the workspace's own.
    pub(super) fn create(
        workspace: &Path,
        parent: Option<&Path>,
        unseen: &[PathBuf],
    ) -> Result<Self, SandboxError> {
        let parent = match parent {
            Some(parent) => parent.to_owned(),
            None => own_directory(workspace)?,
        };
        // No link is followed to what lies in it.
        let parent = fs::canonicalize(&parent).map_err(SandboxError::layer(&parent))?;
        // Whoever cannot remove what others left can work beside it.
        let _ = Abandoned::sweep(&parent);
        let made = tempfile::Builder::new().prefix("").tempdir_in(&parent);
        let directory = made.map_err(SandboxError::layer(&parent))?;
        let path = directory.path().to_owned();
        let prepare = || {
            // Nobody sees it under its name and not held.
            let new = path.join("lock.new");
            let lock = File::create_new(&new)?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            File::create_new(path.join(UNUSED))?;
            fs::rename(new, path.join(LOCK))?;
            let nothing = File::create_new(path.join("nothing"))?;
            nothing.set_permissions(fs::Permissions::from_mode(0o444))?;
            for name in ["root", "base", "home"] {
                fs::create_dir(path.join(name))?;
            }
            Ok(lock)
        };
        let lock = prepare().map_err(SandboxError::layer(&path))?;
        Ok(Self {
            path: directory.keep(),
            stack: Vec::new(),
            next: 0,
            unseen: unseen.to_vec(),
            is_kept: false,
            is_used: false,
            _lock: lock,
        })
    }

    /// From now on somebody may miss what is in them.
    pub(super) fn use_them(&mut self) -> Result<(), SandboxError> {
        if !self.is_used {
            let path = self.path.join(UNUSED);
            fs::remove_file(&path).map_err(SandboxError::layer(&path))?;
            self.is_used = true;
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn stack(&self) -> &[u32] {
        &self.stack
    }

    /// The directories that hold what was written, the oldest first.
    pub(super) fn uppers(&self) -> Vec<PathBuf> {
        uppers(&self.path, &self.stack)
    }

    /// What looks as if it was not there, below the workspace.
    pub(super) fn unseen(&self) -> &[PathBuf] {
        &self.unseen
    }

    /// The home directory's layer: an overlay's root has the mode and the owner of its upper
    /// directory.
    pub(super) fn add_home(&self, home: &Path) -> Result<(), SandboxError> {
        let path = self.path.join("home");
        make_layer(&path, home).map_err(SandboxError::layer(path))
    }

    /// A new layer on top. It does not count yet.
    pub(super) fn add_upper(&mut self, workspace: &Path) -> Result<u32, SandboxError> {
        let number = self.next;
        let path = self.path.join(number.to_string());
        let make = || {
            fs::create_dir(&path)?;
            make_layer(&path, workspace)?;
            // The layers lie in what they cover: the state directory looks deleted to all who
            // look from inside, so that no walk runs into them.
            white_out(&path.join("upper").join(STATE_DIRECTORY))?;
            // What the first layer takes away, no later one shows again.
            if number == 0 {
                for unseen in &self.unseen {
                    take_away(&path.join("upper"), workspace, unseen)?;
                }
            }
            Ok(())
        };
        make().map_err(SandboxError::layer(&path))?;
        self.next += 1;
        Ok(number)
    }

    /// The place for a new copy. It does not count yet.
    pub(super) fn add_tree(&mut self) -> Result<(u32, PathBuf), SandboxError> {
        let number = self.next;
        let path = self.path.join(number.to_string());
        fs::create_dir(&path).map_err(SandboxError::layer(&path))?;
        self.next += 1;
        Ok((number, path.join("tree")))
    }

    /// The layers that count from now on; what else there is goes.
    pub(super) fn settle(&mut self, stack: Vec<u32>) -> Result<(), SandboxError> {
        // Written before anything goes: whoever finds the layers later must not miss one.
        write_stack(&self.path, &stack).map_err(SandboxError::layer(&self.path))?;
        for number in (0..self.next).filter(|number| !stack.contains(number)) {
            let path = self.path.join(number.to_string());
            if path.exists() {
                // What cannot go now goes with the rest.
                let _ = remove_tree(&path);
            }
        }
        self.stack = stack;
        Ok(())
    }

    /// Leaves the directory on disk.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for Layers {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = remove_tree(&self.path);
        }
    }
}

/// The directories that hold what was written, the oldest first.
pub(super) fn uppers(path: &Path, stack: &[u32]) -> Vec<PathBuf> {
    let upper = |number: &u32| path.join(number.to_string()).join("upper");
    stack.iter().map(upper).collect()
}

/// Where the copy of a workspace lies, if these are layers of one.
pub(super) fn copied(path: &Path, stack: &[u32]) -> Option<PathBuf> {
    let tree = path.join(stack.first()?.to_string()).join("tree");
    tree.is_dir().then_some(tree)
}

fn write_stack(path: &Path, stack: &[u32]) -> io::Result<()> {
    let lines: Vec<String> = stack.iter().map(u32::to_string).collect();
    let new = path.join("stack.new");
    fs::write(&new, lines.join("\n"))?;
    fs::rename(new, path.join(STACK))
}

/// Whether no command was ever run in the sandbox of these layers.
pub(super) fn is_unused(path: &Path) -> bool {
    path.join(UNUSED).exists()
}

/// The layers that count in a directory of layers.
pub(super) fn read_stack(path: &Path) -> io::Result<Vec<u32>> {
    let lines = fs::read_to_string(path.join(STACK))?;
    let numbers = lines.lines().map(str::parse).collect::<Result<_, _>>();
    numbers.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Where the sandboxes over a workspace lie where nobody says otherwise.
pub fn sandboxes_of(workspace: &Path) -> PathBuf {
    workspace.join(STATE_DIRECTORY).join(SANDBOXES)
}

/// The directory for sandboxes in a workspace, made if need be, and never a change in the
/// eyes of git.
fn own_directory(workspace: &Path) -> Result<PathBuf, SandboxError> {
    let state = workspace.join(STATE_DIRECTORY);
    let path = sandboxes_of(workspace);
    let make = || {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&state)?;
        let ignore = state.join(".gitignore");
        if !ignore.exists() {
            fs::write(ignore, "*\n")?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&path)
    };
    let made = make();
    made.map_err(SandboxError::layer(&path))?;
    Ok(path)
}

/// `upper` and `work` below `path`, for a lower directory.
fn make_layer(path: &Path, lower: &Path) -> io::Result<()> {
    fs::create_dir(path.join("work"))?;
    make_like(&path.join("upper"), &fs::metadata(lower)?)
}

/// Makes a directory of a layer with the mode and, where that is allowed, the owner of the
/// one that it lies over.
fn make_like(upper: &Path, lower: &fs::Metadata) -> io::Result<()> {
    fs::create_dir(upper)?;
    if fs::metadata(upper)?.uid() != lower.uid() {
        let owner = Some(Uid::from_raw(lower.uid()));
        let group = Some(rustix::fs::Gid::from_raw(lower.gid()));
        // Who may not give files away is nobody else's owner, inside neither.
        let _ = rustix::fs::chownat(CWD, upper, owner, group, AtFlags::empty());
    }
    fs::set_permissions(upper, fs::Permissions::from_mode(lower.mode() & 0o7777))
}

/// Lets a path of the workspace look as if nothing was there. Where no directory holds it,
/// nothing is.
fn take_away(upper: &Path, workspace: &Path, path: &Path) -> io::Result<()> {
    let (mut layer, mut lower) = (upper.to_owned(), workspace.to_owned());
    for directory in path.parent().into_iter().flat_map(Path::components) {
        layer.push(directory);
        lower.push(directory);
        match fs::symlink_metadata(&lower) {
            Ok(found) if found.is_dir() && layer.exists() => {}
            Ok(found) if found.is_dir() => make_like(&layer, &found)?,
            _ => return Ok(()),
        }
    }
    white_out(&upper.join(path))
}

/// What the kernel takes for a deletion.
fn white_out(path: &Path) -> io::Result<()> {
    let nothing = rustix::fs::makedev(0, 0);
    let sort = FileType::CharacterDevice;
    Ok(mknodat(CWD, path, sort, Mode::empty(), nothing)?)
}
