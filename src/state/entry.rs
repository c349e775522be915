//! An entry of the version table, and what a lookup makes of it.

use crate::model::{Certainty, EntryKind};
use crate::tape::BlobId;

/// What became of a path at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The event.
    pub(super) position: u32,
    /// A blob's number, or the event that holds the known lines or the link's text.
    pub(super) payload: u32,
    pub(super) bits: u32,
}

const MODE: u32 = 0o7777;
const HAS_MODE: u32 = 1 << 12;
const SORT_SHIFT: u32 = 13;
const KNOWN_SHIFT: u32 = 15;
const OUTSIDE: u32 = 1 << 18;
const OBSERVED: u32 = 1 << 19;
const REDACTED: u32 = 1 << 20;
const UNDONE: u32 = 1 << 21;

/// What is known of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentRef {
    /// Nothing.
    Unknown,
    /// A blob; its bytes may or may not have been kept.
    Blob(BlobId),
    /// Some lines, told by the event at this position.
    Lines(u32),
    /// The text of a link, told by the event at this position.
    Target(u32),
}

/// A file at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// What sort of thing it is, or was last known to be.
    pub kind: EntryKind,
    /// How well it is known.
    pub certainty: Certainty,
    /// Permission bits, where known.
    pub mode: Option<u32>,
    /// What is known of its content.
    pub content: ContentRef,
    /// The event that made it so, or showed it.
    pub since: u32,
    /// The event that made it uncertain.
    pub suspect: Option<u32>,
    /// Nobody's call made it so.
    pub is_outside: bool,
    /// It was only seen, not made, by the event.
    pub is_observed: bool,
}

impl FileState {
    /// A directory of which nothing is known but that it is there.
    pub const fn directory() -> Self {
        Self {
            kind: EntryKind::Directory,
            certainty: Certainty::Exact,
            mode: None,
            content: ContentRef::Unknown,
            since: 0,
            suspect: None,
            is_outside: false,
            is_observed: true,
        }
    }
}

impl Entry {
    /// A bit that no entry has: the log marks rows with it.
    pub(super) const ELSEWHERE: u32 = 1 << 31;

    /// Whether it leads to a content.
    pub(super) const fn has_payload(self) -> bool {
        (self.bits >> KNOWN_SHIFT) & 7 != 0
    }

    pub(super) fn absent(position: u32) -> Self {
        Self {
            position,
            payload: 0,
            bits: 0,
        }
    }

    pub(super) fn new(position: u32, kind: EntryKind, content: ContentRef) -> Self {
        let sort = match kind {
            EntryKind::File => 1,
            EntryKind::Directory => 2,
            EntryKind::Link => 3,
        };
        let (known, payload) = match content {
            ContentRef::Unknown => (0, 0),
            ContentRef::Blob(id) => (1, id.0),
            ContentRef::Lines(at) => (2, at),
            ContentRef::Target(at) => (3, at),
        };
        Self {
            position,
            payload,
            bits: (sort << SORT_SHIFT) | (known << KNOWN_SHIFT),
        }
    }

    pub(super) const fn with_mode(mut self, mode: Option<u32>) -> Self {
        if let Some(mode) = mode {
            self.bits = (self.bits & !MODE) | HAS_MODE | (mode & MODE);
        }
        self
    }

    /// The same of a path, told by another event.
    pub(super) const fn at(mut self, position: u32) -> Self {
        self.position = position;
        self.undone_if(false)
    }

    pub(super) const fn outside_if(self, is: bool) -> Self {
        self.flag(OUTSIDE, is)
    }

    pub(super) const fn observed_if(self, is: bool) -> Self {
        self.flag(OBSERVED, is)
    }

    pub(super) const fn redacted_if(self, is: bool) -> Self {
        self.flag(REDACTED, is)
    }

    pub(super) const fn undone_if(self, is: bool) -> Self {
        self.flag(UNDONE, is)
    }

    const fn flag(mut self, flag: u32, is: bool) -> Self {
        if is {
            self.bits |= flag;
        } else {
            self.bits &= !flag;
        }
        self
    }

    /// What sort of thing it is; `None`: it is not there.
    pub(super) const fn kind(self) -> Option<EntryKind> {
        match (self.bits >> SORT_SHIFT) & 3 {
            1 => Some(EntryKind::File),
            2 => Some(EntryKind::Directory),
            3 => Some(EntryKind::Link),
            _ => None,
        }
    }

    pub(super) const fn content(self) -> ContentRef {
        match (self.bits >> KNOWN_SHIFT) & 7 {
            1 => ContentRef::Blob(BlobId(self.payload)),
            2 => ContentRef::Lines(self.payload),
            3 => ContentRef::Target(self.payload),
            _ => ContentRef::Unknown,
        }
    }

    pub(super) const fn mode(self) -> Option<u32> {
        if self.bits & HAS_MODE == 0 {
            return None;
        }
        Some(self.bits & MODE)
    }

    pub(super) const fn is_outside(self) -> bool {
        self.bits & OUTSIDE != 0
    }

    pub(super) const fn is_observed(self) -> bool {
        self.bits & OBSERVED != 0
    }

    /// Whether a file was seen as it may have been all along.
    pub(super) const fn shows_the_past(self) -> bool {
        self.is_observed() && !self.is_outside() && self.kind().is_some()
    }

    /// Whether it is a change, not only a look that found what was known.
    pub(super) const fn is_version(self) -> bool {
        !self.is_observed() || self.is_outside()
    }

    pub(super) const fn is_redacted(self) -> bool {
        self.bits & REDACTED != 0
    }

    /// Whether a transaction took back all that it had done here: a commit brings nothing of it.
    pub(super) const fn is_undone(self) -> bool {
        self.bits & UNDONE != 0
    }

    /// Whether two entries say the same of a path, whenever and however it came about.
    pub(super) fn says_same(self, other: Self) -> bool {
        let meaning = !(OUTSIDE | OBSERVED | UNDONE);
        self.payload == other.payload && self.bits & meaning == other.bits & meaning
    }

    /// Whether the content is known not to be the same: both known, and different.
    pub(super) fn contradicts(self, other: Self) -> bool {
        if self.kind() != other.kind() {
            return true;
        }
        match (self.content(), other.content()) {
            (ContentRef::Blob(one), ContentRef::Blob(two)) => one != two,
            _ => false,
        }
    }
}
