//! What an agent has read: some programs refuse an edit of a file that their agent never read,
//! or that is not what it read.
//!
//! Only what is told here counts. Of a file of which nothing is told, nothing is refused.

use std::collections::BTreeMap;

use crate::model::{BlobHash, TapePath};
use crate::tools::Refusal;

/// What an agent has read, by the files of which that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session(BTreeMap<TapePath, Seen>);

/// What an agent has seen of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it never read it.
    Never,
    /// It read these bytes, and nothing since.
    As(BlobHash),
}

impl Session {
    /// Says what it has seen of a file.
    pub fn tell(&mut self, path: TapePath, seen: Seen) {
        self.0.insert(path, seen);
    }

    /// The files of which it is told.
    pub fn iter(&self) -> impl Iterator<Item = (&TapePath, Seen)> {
        self.0.iter().map(|(path, seen)| (path, *seen))
    }

    /// Whether nothing is told.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Why a tool of this name leaves a file alone that is there, if it does. `bytes`: what
    /// it holds, where that is known.
    pub(super) fn refusal(
        &self,
        tool: &str,
        path: &TapePath,
        bytes: Option<&[u8]>,
    ) -> Option<Refusal> {
        if !matches!(tool, "Write" | "Edit" | "MultiEdit") {
            return None;
        }
        match (self.0.get(path)?, bytes) {
            (Seen::Never, _) => Some(Refusal::Unread),
            (Seen::As(hash), Some(bytes)) => {
                (BlobHash::of(bytes) != *hash).then_some(Refusal::Stale)
            }
            (Seen::As(_), None) => None,
        }
    }
}
