//! Where what lies in `.jukebox`: names only, nothing is opened here.
//!
//! ```text
//! .jukebox/.gitignore             `*`
//! .jukebox/lock                   held by the process that commits or recovers
//! .jukebox/commit                 the journal, while a commit is being applied
//! .jukebox/commit.tmp             the journal before it counts
//! .jukebox/staged/N               what the N-th change puts
//! .jukebox/aside/N                what is on its way into the tree, or out of it
//! .jukebox/displaced/ID/N         what the N-th change of commit ID took away
//! .jukebox/displaced/ID/journal   the journal of ID; it is here when ID is done
//! .jukebox/conflicts/ID/N         what could not be put, since somebody was there first
//! .jukebox/conflicts/ID/N.theirs  what somebody put, where a third was there as well
//! .jukebox/tapes/ID.jsonl         the tape of transaction ID, which nobody removes
//! .jukebox/sandboxes              what commands wrote in a sandbox; the sandbox's own
//! ```

use crate::model::{STATE_DIRECTORY, TapePath};

/// The directory that belongs to no change set.
pub(super) const STATE: &[u8] = STATE_DIRECTORY.as_bytes();
pub(super) const IGNORE: &[u8] = b".jukebox/.gitignore";
pub(super) const LOCK: &[u8] = b".jukebox/lock";
pub(super) const COMMIT: &[u8] = b".jukebox/commit";
pub(super) const COMMIT_TMP: &[u8] = b".jukebox/commit.tmp";
pub(super) const STAGED: &[u8] = b".jukebox/staged";
pub(super) const ASIDE: &[u8] = b".jukebox/aside";
pub(super) const DISPLACED: &[u8] = b".jukebox/displaced";
pub(super) const CONFLICTS: &[u8] = b".jukebox/conflicts";
/// The journal's name among what it displaced.
pub(super) const JOURNAL: &[u8] = b"journal";

/// A name in a directory.
pub(super) fn below(directory: &[u8], name: impl AsRef<[u8]>) -> Vec<u8> {
    if directory.is_empty() {
        return name.as_ref().to_vec();
    }
    [directory, b"/", name.as_ref()].concat()
}

pub(super) fn staged(change: usize) -> Vec<u8> {
    below(STAGED, change.to_string())
}

pub(super) fn aside(change: usize) -> Vec<u8> {
    below(ASIDE, change.to_string())
}

pub(super) fn displaced(id: u64) -> Vec<u8> {
    below(DISPLACED, id.to_string())
}

pub(super) fn displaced_file(id: u64, change: usize) -> Vec<u8> {
    below(&displaced(id), change.to_string())
}

pub(super) fn conflicts(id: u64) -> Vec<u8> {
    below(CONFLICTS, id.to_string())
}

/// Whether a path is that of the directory, or lies in it.
pub(super) fn is_state(path: &TapePath) -> bool {
    path.components().next() == Some(STATE)
}

/// The numbers that name what is in a directory.
pub(super) fn number(name: &[u8]) -> Option<u64> {
    str::from_utf8(name).ok()?.parse().ok()
}
