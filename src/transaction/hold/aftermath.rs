//! What became of a transaction whose holder is gone: the journals of its workspace know whether
//! its files were committed, and its tape is told what it could not be told before.
//!
//! Files are none of its business: a commit that was cut off is finished by
//! [`Workspace::recover`]. Nothing is sent or taken back here.

use std::fs;
use std::io;
use std::path::Path;

use super::super::{TransactionError, Verdict, Workspace};
use super::registry::{Entry, HeldState, LookUpError, Registry, Stage};
use super::salvage::{SalvageError, layers_of};
use crate::effects::{Declarations, Unfinished, UnfinishedError};
use crate::model::Outcome;
use crate::tape::{RecordError, Tape, TransactionState};

/// What a transaction that was committed left to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Its tape did not say that it was committed, and does now.
    pub is_new: bool,
    /// The effects that wait to be sent.
    pub waiting: Vec<u32>,
}

/// Nobody could be told that a transaction was committed.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// It was not.
    #[error("the transaction `{0}` is {1}")]
    NotCommitted(String, &'static str),
    /// Its tape cannot be read or written.
    #[error(transparent)]
    Tape(#[from] UnfinishedError),
    /// What it had written cannot be removed.
    #[error(transparent)]
    Layers(#[from] SalvageError),
    /// It cannot be written down.
    #[error(transparent)]
    LookUp(#[from] LookUpError),
}

/// What became of a transaction that nobody holds and that is not known to have ended.
pub(super) fn state_of(entry: &Entry) -> HeldState {
    let has_tried = entry.stage == Stage::Committing;
    let from = entry.next_commit.filter(|_| has_tried);
    let verdict = journals(entry.workspace(), &entry.id, from);
    match verdict {
        Ok(Verdict::Committed(commit)) => HeldState::Committed(Some(commit)),
        Ok(Verdict::CutOff) => HeldState::CutOff,
        _ if !has_tried => HeldState::Abandoned,
        // A commit that had nothing to change leaves no journal: the tape decides that one.
        _ if is_committed_on(entry.tape(), &entry.id) => HeldState::Committed(None),
        Ok(Verdict::NotCommitted) if from.is_some() => HeldState::Abandoned,
        Ok(_) | Err(_) => HeldState::Unclear,
    }
}

fn journals(workspace: &Path, id: &str, from: Option<u64>) -> Result<Verdict, TransactionError> {
    Workspace::open(workspace)?.verdict(id, from)
}

fn is_committed_on(tape: &Path, id: &str) -> bool {
    let Ok(tape) = Tape::open(tape, &mut ()) else {
        return false;
    };
    let branches = &tape.index.branches;
    tape.index.transactions.iter().any(|transaction| {
        let branch = branches.get(usize::from(transaction.branch));
        transaction.state == TransactionState::Committed
            && branch.is_some_and(|branch| branch.name == id)
    })
}

impl Registry {
    /// What became of a transaction that this tape tells no end of, of a workspace that the
    /// tape names: the journals there know it even where nothing else was written down.
    /// `None`: nobody knows anything.
    pub fn state_on_tape(
        &self,
        (tape, workspace): (&Path, Option<&Path>),
        id: &str,
    ) -> Result<Option<HeldState>, LookUpError> {
        if let Some(entry) = self.of_tape(tape)?.filter(|entry| entry.id == id) {
            return Ok(Some(self.state(&entry)));
        }
        let verdict = workspace.map(|workspace| journals(workspace, id, None));
        Ok(match verdict {
            Some(Ok(Verdict::Committed(commit))) => Some(HeldState::Committed(Some(commit))),
            Some(Ok(Verdict::CutOff)) => Some(HeldState::CutOff),
            _ => None,
        })
    }

    /// Tells the tape of a transaction that it was committed, where it does not say so, and
    /// removes what is left of its sandbox. Can be done again.
    pub fn tell_committed(&self, entry: &Entry) -> Result<Told, TellError> {
        let commit = match self.state(entry) {
            HeldState::Committed(commit) => commit,
            state => return Err(TellError::NotCommitted(entry.id.clone(), state.as_str())),
        };
        let told = tell(entry)?;
        if let Some(abandoned) = layers_of(entry)? {
            let path = abandoned.path().to_owned();
            let removed = abandoned.remove();
            removed.map_err(|source| SalvageError::Io { path, source })?;
        }
        if !entry.socket.is_empty() {
            let _ = fs::remove_file(&entry.socket);
        }
        let mut entry = entry.clone();
        entry.stage = Stage::Committed(commit);
        self.put(&entry)?;
        self.forget_old();
        Ok(told)
    }
}

fn tell(entry: &Entry) -> Result<Told, UnfinishedError> {
    let mut unfinished = match Unfinished::open(entry.tape(), Declarations::default(), None) {
        // Who removed it wants to know nothing of it.
        Err(UnfinishedError::Tape(RecordError::Open { source, .. }))
            if source.kind() == io::ErrorKind::NotFound =>
        {
            return Ok(Told::default());
        }
        unfinished => unfinished?,
    };
    let is_new = unfinished.is_open(&entry.id);
    if is_new {
        unfinished.tell_committed(&entry.id)?;
    }
    let waiting = unfinished.to_send().iter().map(|it| it.number).collect();
    if is_new {
        unfinished.close(Outcome::Interrupted)?;
    }
    Ok(Told { is_new, waiting })
}
