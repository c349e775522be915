//! The transactions of a user: small files in the state directory, and locks that tell who is
//! still there.
//!
//! An entry is written whole or not at all. Reading one takes no lock, and trying the lock of
//! a holder takes it for an instant only where there is none any more.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::super::Workspace;
use super::aftermath;

/// Committed transactions that are remembered, so that they can be undone by their ids.
const REMEMBERED: usize = 64;

/// A transaction, as the registry knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its id.
    pub id: String,
    workspace: OsString,
    tape: OsString,
    pub(super) socket: OsString,
    pub(super) layers: OsString,
    /// When it began: seconds since 1970.
    pub began: u64,
    pub(super) stage: Stage,
    /// The number that its commit could not be below, once one was tried.
    #[serde(default)]
    pub(super) next_commit: Option<u64>,
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Open,
    Committing,
    /// By the commit of this number; `None`: nothing had to change.
    Committed(Option<u64>),
}

/// What has become of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldState {
    /// Its holder answers.
    Open,
    /// Its holder is committing it.
    Committing,
    /// Its holder is gone, and nothing of it was committed.
    Abandoned,
    /// Its holder is gone, and its commit was decided, but not finished: a recovery of the
    /// workspace does that.
    CutOff,
    /// Its holder is gone, and nobody can tell any more whether it was committed.
    Unclear,
    /// It was committed, by the commit of this number.
    Committed(Option<u64>),
}

impl HeldState {
    /// The fixed word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Committing => "committing",
            Self::Abandoned => "abandoned",
            Self::CutOff => "cut-off",
            Self::Unclear => "unclear",
            Self::Committed(_) => "committed",
        }
    }
}

/// There is no one transaction of this id.
#[derive(Debug, thiserror::Error)]
pub enum LookUpError {
    /// There is none.
    #[error("there is no transaction `{0}`")]
    None(String),
    /// There are several.
    #[error("`{0}` could be any of {1} transactions")]
    Several(String, usize),
    /// Where they are written down cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The transactions of a user.
#[derive(Clone, Debug)]
pub struct Registry {
    directory: PathBuf,
}

impl Registry {
    /// Those in a state directory, which need not be there yet.
    pub fn new(state: &Path) -> Self {
        Self {
            directory: state.join("transactions"),
        }
    }

    /// All of them, the oldest first.
    pub fn entries(&self) -> Result<Vec<Entry>, LookUpError> {
        let mut entries = Vec::new();
        let listed = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
            listed => listed.map_err(io_at(&self.directory))?,
        };
        for entry in listed {
            let path = entry.map_err(io_at(&self.directory))?.path().join("entry");
            // One that is damaged, or being removed, is none.
            let bytes = fs::read(&path).unwrap_or_default();
            entries.extend(serde_json::from_slice::<Entry>(&bytes));
        }
        entries.sort_by(|one, two| (one.began, &one.id).cmp(&(two.began, &two.id)));
        Ok(entries)
    }

    /// The one whose id begins so.
    pub fn find(&self, id: &str) -> Result<Entry, LookUpError> {
        let mut found = self.entries()?;
        if let Some(exact) = found.iter().position(|entry| entry.id == id) {
            return Ok(found.swap_remove(exact));
        }
        found.retain(|entry| !id.is_empty() && entry.id.starts_with(id));
        match (found.len(), found.pop()) {
            (1, Some(entry)) => Ok(entry),
            (0, _) | (_, None) => Err(LookUpError::None(id.to_owned())),
            (several, _) => Err(LookUpError::Several(id.to_owned(), several)),
        }
    }

    /// What has become of one. Of one that nobody holds, the journals of its workspace are read.
    pub fn state(&self, entry: &Entry) -> HeldState {
        if let Stage::Committed(commit) = entry.stage {
            return HeldState::Committed(commit);
        }
        let lock = File::open(self.of(&entry.id).join("lock"));
        let is_held = lock.is_ok_and(|lock| {
            let taken = flock(&lock, FlockOperation::NonBlockingLockShared);
            taken.is_err()
        });
        match entry.stage {
            _ if !is_held => aftermath::state_of(entry),
            Stage::Committing => HeldState::Committing,
            _ => HeldState::Open,
        }
    }

    /// The one on this tape; the latest, where there was one before on a file of that name.
    pub fn of_tape(&self, tape: &Path) -> Result<Option<Entry>, LookUpError> {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let tape = real(tape);
        let entries = self.entries()?.into_iter();
        Ok(entries.rev().find(|entry| real(entry.tape()) == tape))
    }

    /// Writes one down. It is on disk, since what is decided next may depend on it.
    pub(super) fn put(&self, entry: &Entry) -> Result<(), LookUpError> {
        let path = self.of(&entry.id).join("entry");
        let write = || {
            let bytes = serde_json::to_vec(entry)?;
            let new = path.with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(self.of(&entry.id))?.sync_all()
        };
        write().map_err(io_at(&path))
    }

    /// The place for a new one, and the lock of its holder.
    pub(super) fn hold(&self, id: &str) -> Result<File, LookUpError> {
        let path = self.of(id);
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&path);
        made.map_err(io_at(&path))?;
        let lock = File::create(path.join("lock")).map_err(io_at(&path))?;
        let taken = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        taken.map_err(|error| io_at(&path)(error.into()))?;
        Ok(lock)
    }

    /// Writes down a transaction that this process holds by itself and answers to nobody
    /// about, so that it is found as an abandoned one, should the process be killed.
    pub fn note(
        &self,
        id: &str,
        [workspace, tape, layers]: [&Path; 3],
        began: u64,
    ) -> Result<Noted, LookUpError> {
        let lock = self.hold(id)?;
        let entry = Entry::new(id, [workspace, tape, Path::new(""), layers], began);
        self.put(&entry)?;
        Ok(Noted {
            registry: self.clone(),
            entry,
            _lock: lock,
        })
    }

    /// Forgets one, and those that were committed long ago.
    pub fn forget(&self, id: &str) {
        // What cannot be removed now is abandoned, and can be dropped.
        let _ = fs::remove_dir_all(self.of(id));
    }

    /// Forgets those that were committed before many others.
    pub(super) fn forget_old(&self) {
        let entries = self.entries().unwrap_or_default();
        let is_committed = |entry: &&Entry| matches!(entry.stage, Stage::Committed(_));
        let committed = entries.iter().filter(is_committed).rev();
        for entry in committed.skip(REMEMBERED) {
            self.forget(&entry.id);
        }
    }

    fn of(&self, id: &str) -> PathBuf {
        self.directory.join(id)
    }
}

/// A transaction that was written down. Dropped, it is abandoned.
#[derive(Debug)]
pub struct Noted {
    registry: Registry,
    entry: Entry,
    _lock: File,
}

impl Noted {
    /// It has ended, and nothing is left of it.
    pub fn forget(self) {
        self.registry.forget(&self.entry.id);
    }

    /// It is about to be committed.
    pub fn commits(&mut self) -> Result<(), LookUpError> {
        self.entry.commits();
        self.registry.put(&self.entry)
    }

    /// It was committed, and somebody has to look after its tape.
    pub fn is_committed(mut self, commit: Option<u64>) -> Result<(), LookUpError> {
        self.entry.stage = Stage::Committed(commit);
        self.registry.put(&self.entry)
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.entry.id
    }
}

impl Entry {
    pub(super) fn new(id: &str, [workspace, tape, socket, layers]: [&Path; 4], began: u64) -> Self {
        Self {
            id: id.to_owned(),
            workspace: workspace.into(),
            tape: tape.into(),
            socket: socket.into(),
            layers: layers.into(),
            began,
            stage: Stage::Open,
            next_commit: None,
        }
    }

    /// Whether its holder, or somebody after it, wrote down that it was committed.
    pub fn is_known_as_committed(&self) -> bool {
        matches!(self.stage, Stage::Committed(_))
    }

    /// A commit is about to be tried.
    pub(super) fn commits(&mut self) {
        self.stage = Stage::Committing;
        let next = Workspace::open(self.workspace()).and_then(|it| it.next_commit());
        // Where that cannot be looked at, nothing is committed either.
        self.next_commit = next.ok();
    }

    /// Whether it belongs to a command that answers to nobody about it.
    pub fn is_attended(&self) -> bool {
        self.socket.is_empty()
    }

    /// The workspace.
    pub fn workspace(&self) -> &Path {
        Path::new(&self.workspace)
    }

    /// Its tape.
    pub fn tape(&self) -> &Path {
        Path::new(&self.tape)
    }
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> LookUpError {
    let path = path.to_owned();
    move |source| LookUpError::Io { path, source }
}
