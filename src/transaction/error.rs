//! Why a transaction was not committed, and what became of the workspace.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::commit::OtherBytes;
use super::plan::Conflict;
use crate::text::SafeText;

/// Why nothing was committed, undone or recovered.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    /// The directory could not be opened. Nothing was touched.
    #[error("`{}` cannot be opened: {source}", path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// This system lacks a call that keeps writes inside the workspace.
    #[error("this system cannot keep writes inside a directory (openat2 is missing or forbidden)")]
    Unsupported,
    /// Another process commits or recovers here.
    #[error("another process is changing this workspace")]
    Locked,
    /// `.jukebox` is there, and is no directory.
    #[error("`.jukebox` in the workspace is no directory")]
    State,
    /// What the plan wants cannot be committed. Nothing was touched.
    #[error("{} cannot be committed: {reason}", .path)]
    Refused {
        /// The path.
        path: SafeText,
        /// Why.
        reason: String,
    },
    /// Somebody else changed these paths. Nothing was touched.
    #[error("{} changed by somebody else", paths(.0))]
    Conflicts(Vec<Conflict>),
    /// The workspace could not be read or prepared. Nothing of it was changed.
    #[error("the workspace could not be prepared: {}", in_words(.0))]
    Prepare(#[source] io::Error),
    /// It could not be committed whole, and was taken back.
    #[error("the changes could not be made, and were taken back: {0}")]
    TakenBack(#[source] io::Error),
    /// It could be neither finished nor taken back yet. The journal knows how.
    #[error("the changes could be neither finished nor taken back: {0}")]
    Interrupted(#[source] io::Error),
    /// The journal is damaged, and nothing was touched.
    #[error("the journal `.jukebox/commit` is damaged")]
    Damaged,
    /// There is no commit that could be undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
}

impl TransactionError {
    /// Whether a file of the plan held other bytes than the plan says.
    pub(super) fn is_of_other_bytes(&self) -> bool {
        let Self::Prepare(error) = self else {
            return false;
        };
        error
            .get_ref()
            .is_some_and(<dyn std::error::Error + Send + Sync>::is::<OtherBytes>)
    }
}

/// What hinders that the workspace is read; most of it the system says well enough.
fn in_words(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::XDEV) => "what was changed lies in a mount inside of it, where nothing is \
                              committed; name a directory without mounts"
            .to_owned(),
        _ => error.to_string(),
    }
}

fn paths(conflicts: &[Conflict]) -> String {
    match conflicts {
        [_] => "1 path was".to_owned(),
        conflicts => format!("{} paths were", conflicts.len()),
    }
}
