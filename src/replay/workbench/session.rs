//! What an agent has read: some programs refuse an edit of a file that their agent never read,
//! or that is not what it read. And how much of a file its tool shows.
//!
//! Only what is told here counts. Of a file of which nothing is told, nothing is refused.

use std::collections::BTreeMap;

use crate::model::{BlobHash, TapePath};
use crate::tools::Refusal;

/// What an agent has read, by the files of which that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    seen: BTreeMap<TapePath, Seen>,
    /// The bytes of the largest file that its tool shows as a whole, where that is told.
    largest: Option<u64>,
}

/// What an agent has seen of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it never read it.
    Never,
    /// It read these bytes, and nothing since.
    As(BlobHash),
}

impl Session {
    /// Nothing was read, and its tool shows files of so many bytes as a whole, where it is told.
    pub fn showing(largest: Option<u64>) -> Self {
        Self {
            largest,
            ..Self::default()
        }
    }

    /// The bytes of the largest file that its tool shows as a whole, where that is told.
    pub const fn largest(&self) -> Option<u64> {
        self.largest
    }

    /// Says what it has seen of a file.
    pub fn tell(&mut self, path: TapePath, seen: Seen) {
        self.seen.insert(path, seen);
    }

    /// The files of which it is told.
    pub fn iter(&self) -> impl Iterator<Item = (&TapePath, Seen)> {
        self.seen.iter().map(|(path, seen)| (path, *seen))
    }

    /// Whether nothing is told.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.largest.is_none()
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
        match (self.seen.get(path)?, bytes) {
            (Seen::Never, _) => Some(Refusal::Unread),
            (Seen::As(hash), Some(bytes)) => {
                (BlobHash::of(bytes) != *hash).then_some(Refusal::Stale)
            }
            (Seen::As(_), None) => None,
        }
    }
}
