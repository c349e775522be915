//! The commits of a workspace: the one that was cut off, and those that can be taken back.
//!
//! What a commit displaced is kept until it is undone, or until newer commits need the
//! room. Nothing here touches the tree itself.

use std::collections::BTreeSet;
use std::io;

use super::commit::remove_if_there;
use super::error::TransactionError;
use super::fs::{Fs, Kind};
use super::journal::{Entry, Journal};
use super::layout;

/// Commits whose displaced files are kept at most.
const MOST_COMMITS: usize = 16;
/// Bytes of displaced files that are kept at most, beside those of the last commit.
const MOST_BYTES: u64 = 1 << 30;

/// What `.jukebox` says of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The commit that was cut off.
    pub pending: Pending,
    /// The commits that are done and still known, oldest first.
    pub done: Vec<Done>,
}

/// A commit that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// There is none.
    Nothing,
    /// This many paths are to be changed, and some may be already.
    Commit(usize),
    /// Its journal is damaged.
    Damaged,
}

/// A commit that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its number.
    pub id: u64,
    /// How many paths it changed.
    pub changed: usize,
    /// Bytes of the files that it displaced.
    pub bytes: u64,
    /// The commit that it took back.
    pub undoes: Option<u64>,
    /// The transaction that it committed, or whose commit it took back.
    pub transaction: Option<String>,
}

/// What the journals of a workspace tell of the commit of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done, under this number; it may have been undone since.
    Committed(u64),
    /// It was decided, and cut off: a recovery finishes it.
    CutOff,
    /// It was never decided: the files are as if it had not been tried.
    NotCommitted,
    /// Nobody can tell any more: later commits took the place of what was known.
    Forgotten,
}

/// What the journals tell of a transaction whose commit could not have a lower number than
/// `from`; without one, of a transaction that is not known to have tried.
pub(super) fn verdict(
    fs: &dyn Fs,
    transaction: &str,
    from: Option<u64>,
) -> Result<Verdict, TransactionError> {
    let is_its = |journal: &Journal| journal.transaction.as_deref() == Some(transaction);
    let number = |journal: &Journal| journal.undoes.unwrap_or(journal.id);
    if let Some(journal) = pending(fs)?.filter(is_its) {
        // An undo that was cut off is one of a commit that was done.
        return Ok(match journal.undoes {
            Some(undone) => Verdict::Committed(undone),
            None => Verdict::CutOff,
        });
    }
    let done = done(fs).map_err(TransactionError::Prepare)?;
    if let Some(journal) = done.iter().find(|journal| is_its(journal)) {
        return Ok(Verdict::Committed(number(journal)));
    }
    let next = next_id(fs).map_err(TransactionError::Prepare)?;
    let Some(from) = from else {
        return Ok(Verdict::NotCommitted);
    };
    let known: BTreeSet<u64> = done.iter().map(|journal| journal.id).collect();
    // The last number may be that of a commit that was never decided.
    let is_known = |id: u64| known.contains(&id) || id + 1 == next;
    Ok(if from <= next && (from..next).all(is_known) {
        Verdict::NotCommitted
    } else {
        Verdict::Forgotten
    })
}

/// Whether the commit of a transaction is known to have been taken back.
pub(super) fn is_undone(fs: &dyn Fs, transaction: &str) -> Result<bool, TransactionError> {
    let done = done(fs).map_err(TransactionError::Prepare)?;
    Ok(done.iter().any(|journal| {
        journal.undoes.is_some() && journal.transaction.as_deref() == Some(transaction)
    }))
}

/// The journal that counts, if any.
pub(super) fn pending(fs: &dyn Fs) -> Result<Option<Journal>, TransactionError> {
    let found = fs.look(layout::STATE).map_err(TransactionError::Prepare)?;
    match found.map(|node| node.kind) {
        None => return Ok(None),
        Some(Kind::Directory) => {}
        Some(_) => return Err(TransactionError::State),
    }
    let bytes = read_if_there(fs, layout::COMMIT).map_err(TransactionError::Prepare)?;
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    match Journal::decode(&bytes) {
        Some(journal) => Ok(Some(journal)),
        None => Err(TransactionError::Damaged),
    }
}

/// The journals of the commits that are done, oldest first.
pub(super) fn done(fs: &dyn Fs) -> io::Result<Vec<Journal>> {
    let mut journals = Vec::new();
    for id in ids(fs, layout::DISPLACED)? {
        let path = layout::below(&layout::displaced(id), layout::JOURNAL);
        let journal = read_if_there(fs, &path)?.and_then(|bytes| Journal::decode(&bytes));
        journals.extend(journal.filter(|journal| journal.id == id));
    }
    Ok(journals)
}

/// The last commit that was not taken back, and takes none back.
pub(super) fn last_to_undo(fs: &dyn Fs) -> io::Result<Option<Journal>> {
    let done = done(fs)?;
    let undone: BTreeSet<u64> = done.iter().filter_map(|journal| journal.undoes).collect();
    let mut done = done.into_iter().rev();
    Ok(done.find(|journal| journal.undoes.is_none() && !undone.contains(&journal.id)))
}

pub(super) fn status(fs: &dyn Fs) -> Result<Status, TransactionError> {
    let pending = match pending(fs) {
        Ok(None) => Pending::Nothing,
        Ok(Some(journal)) => Pending::Commit(changed(&journal)),
        Err(TransactionError::Damaged) => Pending::Damaged,
        Err(error) => return Err(error),
    };
    let done = done(fs).map_err(TransactionError::Prepare)?;
    let done = done.iter().map(|journal| Done {
        id: journal.id,
        changed: changed(journal),
        bytes: displaced_bytes(journal),
        undoes: journal.undoes,
        transaction: journal.transaction.clone(),
    });
    Ok(Status {
        pending,
        done: done.collect(),
    })
}

/// Clears what belongs to no commit that is decided. Only called when none is pending.
pub(super) fn clear(fs: &dyn Fs) -> io::Result<bool> {
    let mut has_cleared = false;
    if fs.look(layout::COMMIT_TMP)?.is_some() {
        remove_if_there(fs, layout::COMMIT_TMP)?;
        has_cleared = true;
    }
    for directory in [layout::STAGED, layout::ASIDE] {
        has_cleared |= empty(fs, directory)?;
    }
    let done = done(fs)?;
    let kept = kept(&done);
    for id in ids(fs, layout::DISPLACED)? {
        if !kept.contains(&id) {
            let directory = layout::displaced(id);
            // The journal goes last: a directory without one was never committed.
            empty(fs, &directory)?;
            fs.remove_directory(&directory)?;
            has_cleared = true;
        }
    }
    Ok(has_cleared)
}

/// The commits whose displaced files are kept.
fn kept(done: &[Journal]) -> BTreeSet<u64> {
    let undone: BTreeSet<u64> = done.iter().filter_map(|journal| journal.undoes).collect();
    let mut kept = BTreeSet::new();
    let mut bytes = 0;
    for journal in done.iter().rev() {
        if undone.contains(&journal.id) {
            continue;
        }
        bytes += displaced_bytes(journal);
        let is_first = kept.is_empty();
        if !is_first && (kept.len() >= MOST_COMMITS || bytes > MOST_BYTES) {
            break;
        }
        kept.insert(journal.id);
    }
    kept
}

/// The number of the next commit: greater than any that left a name.
pub(super) fn next_id(fs: &dyn Fs) -> io::Result<u64> {
    let displaced = ids(fs, layout::DISPLACED)?;
    let conflicts = ids(fs, layout::CONFLICTS)?;
    let last = displaced.last().max(conflicts.last());
    Ok(last.map_or(1, |last| last.saturating_add(1)))
}

fn changed(journal: &Journal) -> usize {
    let changes = journal.changes.iter();
    changes.filter(|change| !change.is_only_passed()).count()
}

fn displaced_bytes(journal: &Journal) -> u64 {
    let bytes = journal.changes.iter().map(|change| match change.before {
        Entry::File { len, .. } => len,
        _ => 0,
    });
    bytes.fold(0, u64::saturating_add)
}

fn ids(fs: &dyn Fs, directory: &[u8]) -> io::Result<Vec<u64>> {
    let names = fs.list(directory)?;
    let mut ids: Vec<u64> = names
        .iter()
        .filter_map(|name| layout::number(name))
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Empties a directory of files, the journal last; whether there was anything.
fn empty(fs: &dyn Fs, directory: &[u8]) -> io::Result<bool> {
    let mut names = fs.list(directory)?;
    names.sort_by_key(|name| name == layout::JOURNAL);
    for name in &names {
        remove_if_there(fs, &layout::below(directory, name))?;
    }
    Ok(!names.is_empty())
}

fn read_if_there(fs: &dyn Fs, path: &[u8]) -> io::Result<Option<Vec<u8>>> {
    if fs.look(path)?.is_none() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    fs.open(path)?.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
