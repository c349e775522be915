//! Committing: stage, barrier, journal, settle, barrier, done.
//!
//! Up to the journal's rename nothing in the tree has changed, and a crash leaves names in
//! `.jukebox` that recovery clears. From then on the commit is decided: it is finished now
//! or by a recovery, or taken back where the disk allows neither.

use std::io::{self, ErrorKind, Read};

use serde::{Deserialize, Serialize};

use super::error::TransactionError;
use super::fs::Fs;
use super::history;
use super::journal::{Change, Entry, Journal};
use super::layout;
use super::plan::Conflict;
use super::prepare::{After, Draft, Prepared};
use super::settle::{KindGuard, Toward, settle};
use crate::model::BlobHash;

/// A commit that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Its number in this workspace. `None`: everything was already as wanted.
    pub id: Option<u64>,
    /// How many paths it changed.
    pub changed: usize,
    /// What somebody else wrote while it was applied: theirs stands, ours is kept.
    pub late: Vec<Conflict>,
}

/// Commits what was prepared.
pub(super) fn commit(
    fs: &dyn Fs,
    prepared: &Prepared,
    guard: KindGuard,
) -> Result<Committed, TransactionError> {
    if prepared.drafts.is_empty() {
        return Ok(Committed {
            id: None,
            changed: 0,
            late: Vec::new(),
        });
    }
    let staged = stage(fs, prepared).and_then(|journal| {
        if journal.is_ok() {
            fs.barrier()?;
        }
        Ok(journal)
    });
    let journal = match staged {
        Ok(Ok(journal)) => journal,
        Ok(Err(conflict)) => {
            history::clear(fs).map_err(TransactionError::Prepare)?;
            return Err(TransactionError::Conflicts(vec![conflict]));
        }
        Err(error) => {
            // What cannot be cleared now is cleared by the next recovery.
            let _ = history::clear(fs);
            return Err(TransactionError::Prepare(error));
        }
    };
    match decide(fs, &journal) {
        Err(Undecided::Not(error)) => {
            let _ = history::clear(fs);
            Err(TransactionError::Prepare(error))
        }
        Err(Undecided::Perhaps(error)) => take_back(fs, &journal, guard, error),
        Ok(()) => complete(fs, &journal, guard),
    }
}

/// Finishes a commit that is decided, from wherever it stands; takes it back if that fails.
pub(super) fn complete(
    fs: &dyn Fs,
    journal: &Journal,
    guard: KindGuard,
) -> Result<Committed, TransactionError> {
    let late = match settle(fs, journal, Toward::After, guard) {
        Ok(late) => late,
        Err(error) => return take_back(fs, journal, guard, error),
    };
    finish(fs, journal).map_err(TransactionError::Interrupted)?;
    // The commit is done; what is left over is cleared by the next recovery if not now.
    let _ = history::clear(fs);
    let is_change = |change: &&Change| !change.is_only_passed();
    Ok(Committed {
        id: Some(journal.id),
        changed: journal.changes.iter().filter(is_change).count(),
        late,
    })
}

/// Makes the tree what it was, for this reason.
fn take_back(
    fs: &dyn Fs,
    journal: &Journal,
    guard: KindGuard,
    reason: io::Error,
) -> Result<Committed, TransactionError> {
    let taken_back = settle(fs, journal, Toward::Before, guard).and_then(|_| {
        fs.barrier()?;
        remove_if_there(fs, layout::COMMIT)?;
        fs.sync(layout::STATE)
    });
    if taken_back.is_err() {
        return Err(TransactionError::Interrupted(reason));
    }
    let _ = history::clear(fs);
    Err(TransactionError::TakenBack(reason))
}

/// Gives everything of both sides a second name in `.jukebox`; what somebody changed since
/// it was checked.
fn stage(fs: &dyn Fs, prepared: &Prepared) -> io::Result<Result<Journal, Conflict>> {
    make_state(fs)?;
    let id = history::next_id(fs)?;
    fs.make_directory(&layout::displaced(id))?;
    let mut changes = Vec::new();
    for (number, draft) in prepared.drafts.iter().enumerate() {
        if !displace(fs, draft, &layout::displaced_file(id, number))? {
            return Ok(Err(Conflict {
                path: draft.path.clone(),
                base: draft.before.fingerprint(),
                ours: draft.after.fingerprint(),
                theirs: super::Fingerprint::take(fs, draft.path.as_bytes())?.0,
                kept: None,
            }));
        }
        changes.push(Change {
            path: draft.path.clone(),
            before: draft.before.clone(),
            after: supply(fs, &draft.after, &layout::staged(number))?,
        });
    }
    Ok(Ok(Journal {
        id,
        undoes: prepared.undoes,
        transaction: prepared.transaction.clone(),
        changes,
    }))
}

/// `.jukebox` and what must be in it. Another process may be making it, too.
pub(super) fn make_state(fs: &dyn Fs) -> io::Result<()> {
    let directories = [
        layout::STATE,
        layout::STAGED,
        layout::ASIDE,
        layout::DISPLACED,
    ];
    for directory in directories {
        if fs.look(directory)?.is_none() {
            unless_there(fs.make_directory(directory))?;
        }
    }
    if fs.look(layout::IGNORE)?.is_none() {
        unless_there(fs.create(layout::IGNORE, &mut &b"*\n"[..], 0o600))?;
    }
    Ok(())
}

fn unless_there(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Gives what a change takes away a second name; `false`: it is no longer what was checked.
fn displace(fs: &dyn Fs, draft: &Draft, to: &[u8]) -> io::Result<bool> {
    let path = draft.path.as_bytes();
    if !draft.before.is_leaf() {
        let kind = fs.look(path)?.map(|node| node.kind);
        return Ok(kind == draft.before.kind());
    }
    match fs.add_name(path, to) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        // The file system has no second names, or not for this user or file.
        Err(_) => copy(fs, draft, to)?,
    }
    let (now, was) = (fs.look(path)?, draft.node);
    Ok(match (now, was) {
        (Some(now), Some(was)) => now == was,
        _ => false,
    })
}

fn copy(fs: &dyn Fs, draft: &Draft, to: &[u8]) -> io::Result<()> {
    match &draft.before {
        Entry::File { mode, mtime, .. } => {
            fs.create(to, &mut fs.open(draft.path.as_bytes())?, *mode)?;
            fs.set_mtime(to, *mtime)
        }
        Entry::Link(target) => fs.make_link(to, target),
        Entry::Absent | Entry::Directory { .. } => Ok(()),
    }
}

/// Puts what a change brings where it can be taken from, and says what it is.
fn supply(fs: &dyn Fs, after: &After, to: &[u8]) -> io::Result<Entry> {
    Ok(match after {
        After::Absent => Entry::Absent,
        After::Directory { mode, mtime } => Entry::Directory {
            mode: *mode,
            mtime: *mtime,
        },
        After::Link(target) => {
            fs.make_link(to, target)?;
            Entry::Link(target.clone())
        }
        After::File {
            content,
            hash,
            mode,
            mtime,
            ..
        } => {
            let mut reader = Hashing {
                reader: content.reader(),
                hasher: blake3::Hasher::new(),
            };
            fs.create(to, &mut reader, *mode)?;
            let staged = BlobHash::from_digest(*reader.hasher.finalize().as_bytes());
            if staged != *hash {
                return Err(io::Error::other(OtherBytes));
            }
            if let Some(mtime) = mtime {
                fs.set_mtime(to, *mtime)?;
            }
            let node = fs.look(to)?.ok_or(ErrorKind::NotFound)?;
            Entry::File {
                mode: *mode,
                mtime: node.mtime,
                len: node.len,
                hash: staged,
            }
        }
        After::Displaced { at, entry } => {
            fs.add_name(at, to)?;
            entry.clone()
        }
    })
}

/// A file to be committed does not hold what it was read to hold before.
#[derive(Debug, thiserror::Error)]
#[error("what was to be committed changed while it was read")]
pub(super) struct OtherBytes;

/// Hashes what is read, on its way.
struct Hashing<R> {
    reader: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

enum Undecided {
    /// The journal has no name that counts.
    Not(io::Error),
    /// It may have.
    Perhaps(io::Error),
}

/// Writes the journal. When it has its name, the commit is decided.
fn decide(fs: &dyn Fs, journal: &Journal) -> Result<(), Undecided> {
    let written = remove_if_there(fs, layout::COMMIT_TMP)
        .and_then(|()| fs.create(layout::COMMIT_TMP, &mut journal.encode().as_slice(), 0o600))
        .and_then(|()| fs.sync(layout::COMMIT_TMP));
    written.map_err(Undecided::Not)?;
    fs.replace(layout::COMMIT_TMP, layout::COMMIT)
        .and_then(|()| fs.sync(layout::STATE))
        .map_err(Undecided::Perhaps)
}

/// Lets the journal count no more, once all that it decided will survive a crash. It stays
/// beside what it displaced.
fn finish(fs: &dyn Fs, journal: &Journal) -> io::Result<()> {
    let kept = layout::below(&layout::displaced(journal.id), layout::JOURNAL);
    unless_there(fs.add_name(layout::COMMIT, &kept))?;
    fs.barrier()?;
    fs.remove(layout::COMMIT)?;
    fs.sync(layout::STATE)
}

pub(super) fn remove_if_there(fs: &dyn Fs, path: &[u8]) -> io::Result<()> {
    match fs.remove(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
