//! What became of a transaction, in words that every shell shares: how it ended; or why it did
//! not do what it was asked for, what is safe, and what to type next.
//!
//! With which code a command ends, and how the words look, is not decided here.

use std::path::Path;

use crate::effects::Sent;
use crate::sandbox::SandboxError;
use crate::tape::RecordError;
use crate::text::{SafeText, human};
use crate::transaction::hold::{HoldError, LookUpError};
use crate::transaction::{Committed, Fingerprint, OpenTransactionError, TransactionError};

impl Committed {
    /// What became of a commit, in one line.
    pub fn in_words(&self, directory: &Path) -> String {
        let directory = directory.display();
        if self.id.is_none() {
            return format!("nothing had to change in {directory}");
        }
        let paths = human::plural(self.changed as u64, "path", "paths");
        format!("{paths} changed in {directory}")
    }
}

impl Fingerprint {
    /// What a path is, in a few words.
    pub fn in_words(&self) -> String {
        let with_mode = |words: String, mode: &Option<u32>| match mode {
            Some(mode) => format!("{words}, mode {mode:o}"),
            None => words,
        };
        match self {
            Self::Absent => "not there".to_owned(),
            Self::File { hash, len, mode } => {
                let words = format!("a file {}", hash.short());
                let words = match len {
                    Some(len) => format!("{words} of {}", human::size(*len)),
                    None => words,
                };
                with_mode(words, mode)
            }
            Self::Directory { mode } => with_mode("a directory".to_owned(), mode),
            Self::Link(target) => {
                format!("a link to {}", SafeText::from_bytes(target).as_str())
            }
            Self::Other => "neither a file, a directory nor a link".to_owned(),
            Self::Unread => "a file that nobody had read".to_owned(),
        }
    }
}

impl Sent {
    /// What became of an outbox, in one line.
    pub fn in_words(&self) -> String {
        let mut line = match self.sent.as_slice() {
            [] => "nothing was sent".to_owned(),
            numbers => format!("sent: {}", listed(numbers)),
        };
        if let Some(stopped) = &self.stopped {
            line = format!(
                "{line}; stopped at effect {}: {}",
                stopped.number, stopped.reason
            );
        }
        if !self.waiting.is_empty() {
            line = format!("{line}; waiting: {}", listed(&self.waiting));
        }
        line
    }
}

fn listed(numbers: &[u32]) -> String {
    let effects: Vec<String> = numbers.iter().map(|it| format!("effect {it}")).collect();
    effects.join(", ")
}

impl TransactionError {
    /// The error in one line, with what is safe and what to do next.
    pub fn advised(&self) -> String {
        let next = match self {
            Self::Open { .. } => "; nothing was written: name a directory",
            Self::Unsupported => "; nothing was written: `jukebox checkout` writes a new directory",
            Self::Locked => "; nothing was written: try again when it is done",
            Self::State => "; nothing was written: move it away",
            Self::Refused { .. } | Self::Conflicts(_) => "; nothing was written",
            Self::Prepare(_) => "; none of its files was changed",
            Self::TakenBack(_) => "; the files are as before",
            Self::Interrupted(_) => {
                "; old and new files are kept: `jukebox txn recover --dir DIR` goes on"
            }
            Self::Damaged => {
                "; nothing was touched: the old files are in `.jukebox/displaced`, the new ones in \
                 `.jukebox/staged`"
            }
            Self::NothingToUndo => "",
        };
        format!("{self}{next}")
    }
}

impl OpenTransactionError {
    /// The error in one line, with what is safe and what to do next.
    pub fn advised(&self) -> String {
        match self {
            Self::Transaction(error) => error.advised(),
            Self::Missing(_) => format!("{self}; nothing was run (`jukebox doctor` says more)"),
            Self::InDoubt(effects) => {
                let first = effects.first().copied().unwrap_or_default();
                format!(
                    "{self}; nothing was written, and the transaction is still open: `jukebox txn \
                     effect ID --settle {first}=done` says that it was done"
                )
            }
            Self::CutOff => format!(
                "{self}; nothing was done: `jukebox txn recover --dir DIR` finishes it first"
            ),
            Self::Record(RecordError::Stopped(_)) => format!(
                "{self}; nothing more is run or committed: `jukebox txn diff ID` shows what was \
                 changed, `jukebox txn rollback ID` ends it"
            ),
            Self::Untold(_) => format!("{self}; the workspace is as it was"),
            Self::Sandbox(SandboxError::Lost) => format!(
                "{self}, and the transaction abandoned: `jukebox txn recover ID` with --salvage NEW \
                 copies out what it had written, with --drop removes it"
            ),
            _ => self.to_string(),
        }
    }
}

impl LookUpError {
    /// The error in one line, with what to do next.
    pub fn advised(&self) -> String {
        match self {
            Self::Io { .. } => self.to_string(),
            Self::None(_) | Self::Several(..) => format!("{self}; `jukebox txn status` lists them"),
        }
    }
}

impl HoldError {
    /// The error in one line, with what is safe and what to do next.
    pub fn advised(&self) -> String {
        match self {
            Self::LookUp(error) => error.advised(),
            Self::Open(error) => error.advised(),
            Self::Abandoned(id) => format!(
                "{self}, and its workspace is untouched: `jukebox txn recover {id}` with --salvage \
                 NEW copies out what it had written, with --drop removes it"
            ),
            Self::Committed(id) => format!("{self}: `jukebox txn undo {id}` takes it back"),
            Self::RolledBack(_) => format!("{self}: its workspace is as it was"),
            Self::CutOff(id) => format!(
                "{self}; old and new files are kept: `jukebox txn recover {id}` finishes it"
            ),
            Self::Unclear(id) => format!(
                "{self}; nothing was done: `jukebox txn recover {id}` with --salvage NEW copies out \
                 what it had written, with --drop says that it was not committed"
            ),
            Self::Attended(_) => format!(
                "{self}; nothing was done: it commits or rolls back itself when its command has \
                 ended, as it was told or as it is answered"
            ),
            Self::Busy => format!("{self}; nothing was done: try again when it has ended"),
            Self::Lost => format!("{self}; `jukebox txn status` says what has become of it"),
            Self::Words(_) | Self::Talk(_) | Self::Output(_) => self.to_string(),
        }
    }
}
