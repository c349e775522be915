//! What an abandoned transaction had written: copied out into a new directory, or dropped.
//!
//! Neither touches the workspace outside `.jukebox`, and nobody goes on with the transaction.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::registry::{Entry, HeldState, Registry};
use crate::model::{Body, Event, Outcome, TapePath};
use crate::sandbox::{self, Abandoned, Change, ChangeSet, SandboxError};
use crate::tape::{RecordError, Recorder, RecorderOptions};

/// What was copied out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// How many files, directories and links were written.
    pub written: usize,
    /// What the transaction had deleted.
    pub deleted: Vec<TapePath>,
    /// What was made and is no file, directory or link, each with its sort.
    pub left: Vec<(PathBuf, &'static str)>,
}

/// An abandoned transaction was not salvaged or dropped.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// Somebody holds it, or it was committed.
    #[error("the transaction `{0}` is {1}, not abandoned")]
    NotAbandoned(String, &'static str),
    /// There is something in the directory.
    #[error("`{}` is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The layers cannot be read or removed.
    #[error(transparent)]
    Layers(#[from] SandboxError),
    /// A file cannot be written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Copies what an abandoned transaction had written to a new or an empty directory.
pub fn salvage(registry: &Registry, entry: &Entry, to: &Path) -> Result<Salvaged, SalvageError> {
    check(registry, entry)?;
    match DirBuilder::new().mode(0o700).create(to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut entries = fs::read_dir(to).map_err(io_at(to))?;
            if entries.next().is_some() {
                return Err(SalvageError::NotEmpty(to.to_owned()));
            }
        }
        made => made.map_err(io_at(to))?,
    }
    let set = match layers_of(entry)? {
        Some(abandoned) => abandoned.change_set(entry.workspace())?,
        None => ChangeSet::default(),
    };
    let mut salvaged = Salvaged {
        left: set.refused,
        ..Salvaged::default()
    };
    let mut modes = Vec::new();
    for (path, change) in set.changes {
        let place = to.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
        // Directories that nothing was done to but in them are in no change set of a copy.
        if let Some(above) = place.parent().filter(|_| change != Change::Deleted) {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(above);
            made.map_err(io_at(above))?;
        }
        match change {
            Change::Deleted => {
                salvaged.deleted.push(path);
                continue;
            }
            Change::Directory { mode, .. } => {
                let made = DirBuilder::new().mode(0o700).create(&place);
                made.map_err(io_at(&place))?;
                modes.push((place, mode));
            }
            Change::Link(target) => {
                let target = Path::new(std::ffi::OsStr::from_bytes(&target));
                std::os::unix::fs::symlink(target, &place).map_err(io_at(&place))?;
            }
            Change::File { mode, content, .. } => {
                let copy = || {
                    let mut file = File::create_new(&place)?;
                    io::copy(&mut sandbox::open(&content)?, &mut file)?;
                    file.set_permissions(Permissions::from_mode(mode & 0o777))
                };
                copy().map_err(io_at(&place))?;
            }
        }
        salvaged.written += 1;
    }
    // The deepest first: one may forbid what is below it.
    for (place, mode) in modes.into_iter().rev() {
        let mode = Permissions::from_mode(mode & 0o777);
        fs::set_permissions(&place, mode).map_err(io_at(&place))?;
    }
    Ok(salvaged)
}

impl Registry {
    /// Removes all that an abandoned transaction left but its tape, which then says that it
    /// was rolled back.
    pub fn drop_abandoned(&self, entry: &Entry) -> Result<(), SalvageError> {
        check(self, entry)?;
        if let Some(abandoned) = layers_of(entry)? {
            let path = abandoned.path().to_owned();
            abandoned.remove().map_err(io_at(&path))?;
        }
        let _ = fs::remove_file(&entry.socket);
        // A tape that is gone or full needs to say nothing.
        let _ = end_tape(entry);
        self.forget(&entry.id);
        Ok(())
    }
}

/// The layers of its sandbox, if they are still there.
pub(super) fn layers_of(entry: &Entry) -> Result<Option<Abandoned>, SalvageError> {
    let path = Path::new(&entry.layers);
    let Some(sandboxes) = path.parent() else {
        return Ok(None);
    };
    let found = Abandoned::find(sandboxes).map_err(io_at(sandboxes))?;
    Ok(found.into_iter().find(|it| it.path() == path))
}

fn check(registry: &Registry, entry: &Entry) -> Result<(), SalvageError> {
    match registry.state(entry) {
        HeldState::Abandoned | HeldState::Unclear => Ok(()),
        state => Err(SalvageError::NotAbandoned(entry.id.clone(), state.as_str())),
    }
}

fn end_tape(entry: &Entry) -> Result<(), RecordError> {
    let mut recorder = Recorder::resume(entry.tape(), RecorderOptions::default())?;
    let mut end = Event::new(Body::TxnRollback { to: None });
    end.head.txn = Some(entry.id.clone());
    recorder.append(end)?;
    recorder.close(Outcome::Interrupted).map(|_| ())
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SalvageError {
    let path = path.to_owned();
    move |source| SalvageError::Io { path, source }
}
