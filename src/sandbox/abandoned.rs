//! Sandboxes whose owner is gone: what their commands wrote is still there, to be looked at,
//! taken over or thrown away. Nothing is done to one that has an owner.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::change_set::ChangeSet;
use super::copy::Origin;
use super::error::SandboxError;
use super::layers;
use crate::checkout::remove_tree;

/// The layers of a sandbox that nobody owns any more. As long as this is there, nobody else
/// finds them.
#[derive(Debug)]
pub struct Abandoned {
    path: PathBuf,
    _lock: File,
}

impl Abandoned {
    /// Those in a directory of sandboxes; none where there is no such directory.
    pub fn find(directory: &Path) -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            found.extend(Self::take(entry?.path()));
        }
        found.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(found)
    }

    /// Throws those away in which no command was ever run.
    pub(super) fn sweep(directory: &Path) -> io::Result<()> {
        let found = Self::find(directory)?.into_iter();
        for unused in found.filter(|it| layers::is_unused(&it.path)) {
            unused.remove()?;
        }
        Ok(())
    }

    /// `None`: it has an owner, or is no sandbox.
    fn take(path: PathBuf) -> Option<Self> {
        let lock = File::open(path.join(layers::LOCK)).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self { path, _lock: lock })
    }

    /// Where the layers lie.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What its commands changed in the workspace. Of one that was copied and went while it was
    /// rolled back to a savepoint, nobody can tell.
    pub fn change_set(&self, workspace: &Path) -> Result<ChangeSet, SandboxError> {
        let stack = layers::read_stack(&self.path).map_err(SandboxError::layer(&self.path))?;
        if let Some(tree) = layers::copied(&self.path, &stack) {
            return Origin::read(&self.path)?.change_set(&tree);
        }
        ChangeSet::of_layers(&layers::uppers(&self.path, &stack), workspace, &[])
    }

    /// Throws it away.
    pub fn remove(self) -> io::Result<()> {
        remove_tree(&self.path)
    }
}
