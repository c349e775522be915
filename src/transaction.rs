//! Transactions: changes to a real workspace, all of them or none, even if the power goes.
//!
//! A [`Plan`] says what paths are to be, and what they were when it was made. Committing it
//! goes through these steps; each may be the last that happens.
//!
//! 1. *Check.* Every path of the plan is what it was, or already what it is to be; else it
//!    is a [`Conflict`], and nothing is written. Bytes and permission bits count, times do
//!    not.
//! 2. *Stage.* What is to be is written into `.jukebox/staged`, and what will go gets a second
//!    name in `.jukebox/displaced`. Then a barrier: all this is on the disk.
//! 3. *Decide.* The journal is written, synced, and renamed to `.jukebox/commit`. From here on
//!    the commit will be finished, by a recovery if need be.
//! 4. *Settle.* Deletions, the children first; directories, from the top down; then each
//!    file or link is exchanged with what stands in its place, and what came out is looked
//!    at: if somebody wrote it meanwhile, the exchange is taken back, theirs stands, and
//!    ours is kept in `.jukebox/conflicts`. Then modes and times of directories.
//! 5. *Finish.* A second barrier, and the journal's name goes.
//!
//! Settling can be done again from any point, and in the other direction: where the disk
//! does not let it be finished, it is taken back. [`Workspace::recover`] does the one or the
//! other, and can be cut off as well. A damaged journal stops everything and touches nothing.
//! What a commit displaced serves [`Workspace::undo`], which is a commit itself.
//!
//! A plan may be anybody's: that of a step which is put back, or that of a [`Transaction`].
//! That is a sandbox in which commands run, with a base to compare with and a tape that tells
//! what happens: until it is committed, nothing of the workspace changes. It belongs to one
//! process; [`hold`] keeps one open between the commands of a shell.
//!
//! Committing a plan writes nothing outside the workspace, follows no link, and knows no run.
//!
//! # Limits
//!
//! * All or nothing holds across crashes, not for who looks on: for some milliseconds readers
//!   can see some files of a commit and not yet others. Each file is old or new, never half.
//! * Who has a file open keeps the old one. Hard links of a replaced file are split from it.
//! * Other writers are noticed, not locked out. Who writes into an open file at the moment it
//!   is replaced writes into the displaced one, which is kept.
//! * Parts of a workspace on other devices are refused, as are FIFOs, sockets and devices.
//! * Owners, extended attributes and access lists of new files are the system's choice;
//!   setuid, setgid and sticky bits are not set on them. What is put back is the very
//!   file that was there, with all it had; where the system gave it no second name, a copy.
//! * A file system that cannot exchange two names is found out when it first has to, and the
//!   commit is taken back.
//! * A transaction says where it writes, and not what it reads: with [`Isolation::Writes`] what
//!   others change may be read half before and half after. A file whose times alone its calls
//!   changed is committed with the times that it had, and a file that they moved is told as
//!   one that goes and one that comes.
//! * What could not be put back is not taken away: a FIFO, a socket, a device, or a file that
//!   who commits may not read refuses the whole commit, by its name.
//! * A commit that a crash cut off after it was decided is finished by the next recovery. The
//!   tape of its transaction is told by whoever looks after the transaction, not by the recovery:
//!   the journal names the transaction, and that is how long it can be found out.
//! * The time of the workspace directory itself is not put back: `.jukebox` lies in it.

mod account;
mod base;
pub mod beside;
pub mod call;
mod commit;
mod error;
mod fs;
mod history;
pub mod hold;
mod journal;
mod layout;
mod live;
mod looks;
mod open;
mod outcome;
mod plan;
mod prepare;
mod settle;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use commit::Committed;
pub use error::TransactionError;
pub use fs::Time;
pub use history::{Done, Pending, Status, Verdict};
pub use open::{Begin, EffectCall, Ended, Isolation, OpenTransactionError, Proposed, Transaction};
pub use plan::{Conflict, Fingerprint, Operation, Plan, Supply, Want};

use crate::model::TapePath;
use fs::Fs;
use prepare::Prepared;
use settle::KindGuard;

/// So long a commit waits for another process that is at it: most take milliseconds, and what
/// waits has nobody else to try again for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks whether the other one is done.
const LOOK: Duration = Duration::from_millis(10);

/// A directory in which changes are committed.
pub struct Workspace {
    fs: Box<dyn Fs>,
    guard: KindGuard,
    is_locked: bool,
    patience: Duration,
}

/// What a commit would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// The paths it changes, sorted.
    pub changes: Vec<Previewed>,
    /// What forbids it.
    pub conflicts: Vec<Conflict>,
}

/// A path that a commit would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previewed {
    /// The path.
    pub path: TapePath,
    /// What it is.
    pub before: Fingerprint,
    /// What it would be.
    pub after: Fingerprint,
}

/// What a recovery found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing was cut off.
    Nothing,
    /// A commit was cut off before it was decided. The tree was never touched; what had been
    /// staged is gone.
    RolledBack,
    /// A commit was cut off after it was decided, and is finished now.
    Finished(Committed),
}

impl Workspace {
    /// Opens a directory. Nothing is written, and nothing is locked.
    #[cfg(target_os = "linux")]
    pub fn open(directory: &Path) -> Result<Self, TransactionError> {
        use rustix::io::Errno;
        let disk =
            fs::Disk::open(directory).map_err(|source| match Errno::from_io_error(&source) {
                Some(Errno::NOSYS | Errno::PERM) => TransactionError::Unsupported,
                _ => TransactionError::Open {
                    path: directory.into(),
                    source,
                },
            })?;
        Ok(Self::on(Box::new(disk), KindGuard::On))
    }

    /// Opens a directory; not on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn open(_directory: &Path) -> Result<Self, TransactionError> {
        Err(TransactionError::Unsupported)
    }

    fn on(fs: Box<dyn Fs>, guard: KindGuard) -> Self {
        Self {
            fs,
            guard,
            is_locked: false,
            patience: PATIENCE,
        }
    }

    /// What a path is. Reads the file.
    pub fn look(&self, path: &TapePath) -> Result<Fingerprint, TransactionError> {
        if path.is_outside() || layout::is_state(path) {
            return Ok(Fingerprint::Absent);
        }
        let found = Fingerprint::take(&*self.fs, path.as_bytes());
        Ok(found.map_err(TransactionError::Prepare)?.0)
    }

    /// What committing a plan would do. Nothing is written.
    pub fn preview(&self, plan: &Plan) -> Result<Preview, TransactionError> {
        Ok(preview(prepare::prepare(&*self.fs, plan)?))
    }

    /// What undoing the last commit would do. Nothing is written.
    pub fn preview_undo(&self) -> Result<Preview, TransactionError> {
        Ok(preview(self.prepare_undo()?))
    }

    /// Commits a plan. What an earlier commit left is recovered first.
    pub fn commit(&mut self, plan: &Plan) -> Result<Committed, TransactionError> {
        self.lock()?;
        self.recover()?;
        let prepared = prepare::prepare(&*self.fs, plan)?;
        self.commit_prepared(&prepared)
    }

    /// Takes back the last commit that was not taken back yet: every path it changed becomes
    /// what it was, unless somebody changed one since; then nothing is written.
    pub fn undo(&mut self) -> Result<Committed, TransactionError> {
        self.lock()?;
        self.recover()?;
        let prepared = self.prepare_undo()?;
        self.commit_prepared(&prepared)
    }

    /// Finishes a commit that was cut off, or clears what it left.
    pub fn recover(&mut self) -> Result<Recovery, TransactionError> {
        let fs = &*self.fs;
        let found = fs.look(layout::STATE).map_err(TransactionError::Prepare)?;
        if found.is_none() {
            return Ok(Recovery::Nothing);
        }
        self.lock()?;
        let fs = &*self.fs;
        match history::pending(fs)? {
            Some(journal) => Ok(Recovery::Finished(commit::complete(
                fs, &journal, self.guard,
            )?)),
            None if history::clear(fs).map_err(TransactionError::Prepare)? => {
                Ok(Recovery::RolledBack)
            }
            None => Ok(Recovery::Nothing),
        }
    }

    /// What `.jukebox` says. Nothing is written.
    pub fn status(&self) -> Result<Status, TransactionError> {
        history::status(&*self.fs)
    }

    /// What the journals tell of the commit of a transaction, which could not have a lower
    /// number than `from`; `None`: it is not known to have tried. Nothing is written.
    pub fn verdict(
        &self,
        transaction: &str,
        from: Option<u64>,
    ) -> Result<Verdict, TransactionError> {
        history::verdict(&*self.fs, transaction, from)
    }

    /// Whether the commit of a transaction was undone, as far as the journals remember.
    pub fn is_undone(&self, transaction: &str) -> Result<bool, TransactionError> {
        history::is_undone(&*self.fs, transaction)
    }

    /// The number that the next commit cannot be below.
    pub fn next_commit(&self) -> Result<u64, TransactionError> {
        history::next_id(&*self.fs).map_err(TransactionError::Prepare)
    }

    fn prepare_undo(&self) -> Result<Prepared, TransactionError> {
        let last = history::last_to_undo(&*self.fs).map_err(TransactionError::Prepare)?;
        let last = last.ok_or(TransactionError::NothingToUndo)?;
        prepare::prepare_undo(&*self.fs, &last).map_err(TransactionError::Prepare)
    }

    fn commit_prepared(&self, prepared: &Prepared) -> Result<Committed, TransactionError> {
        if !prepared.conflicts.is_empty() {
            return Err(TransactionError::Conflicts(prepared.conflicts.clone()));
        }
        commit::commit(&*self.fs, prepared, self.guard)
    }

    /// Locks the workspace. Somebody else's commit is waited for, but not for ever.
    fn lock(&mut self) -> Result<(), TransactionError> {
        if self.is_locked {
            return Ok(());
        }
        let is_usable =
            |found: Option<fs::Node>| found.is_none_or(|node| node.kind == fs::Kind::Directory);
        let found = self.fs.look(layout::STATE);
        if !is_usable(found.map_err(TransactionError::Prepare)?) {
            return Err(TransactionError::State);
        }
        commit::make_state(&*self.fs).map_err(TransactionError::Prepare)?;
        let began = Instant::now();
        loop {
            let taken = self.fs.lock(layout::LOCK);
            self.is_locked = taken.map_err(TransactionError::Prepare)?;
            if self.is_locked {
                return Ok(());
            }
            if began.elapsed() >= self.patience {
                return Err(TransactionError::Locked);
            }
            thread::sleep(LOOK);
        }
    }
}

fn preview(prepared: Prepared) -> Preview {
    let mut changes = Vec::new();
    for draft in prepared.drafts {
        let before = draft.before.fingerprint();
        let after = draft.after.fingerprint();
        if before != after {
            changes.push(Previewed {
                path: draft.path,
                before,
                after,
            });
        }
    }
    Preview {
        changes,
        conflicts: prepared.conflicts,
    }
}

#[cfg(test)]
mod tests;
