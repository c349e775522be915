//! How well a file at a cursor is known.

use std::fmt;

/// How well a file at a cursor is known. Derived at lookup, never stored.
///
/// The order of the variants is from best known to least known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// A recorded write, a snapshot, a whole-file read, or an edit whose base was exact.
    Exact,
    /// The hash is known; the bytes were not kept.
    Unstored,
    /// Placeholders of the redactor stand in the content.
    Redacted,
    /// Known once, but something may have written the file since.
    Uncertain,
    /// Only some line ranges are known.
    Partial,
    /// The file is not there.
    Absent,
    /// The file was named, and never seen.
    Unknown,
}

impl Certainty {
    /// The word for this certainty, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Unstored => "unstored",
            Self::Redacted => "redacted",
            Self::Uncertain => "uncertain",
            Self::Partial => "partial",
            Self::Absent => "absent",
            Self::Unknown => "unknown",
        }
    }

    /// One character that marks the certainty beside a path; a space when exact.
    pub const fn sign(self) -> char {
        match self {
            Self::Exact => ' ',
            Self::Unstored => '#',
            Self::Redacted => '*',
            Self::Uncertain => '?',
            Self::Partial => '~',
            Self::Absent => '-',
            Self::Unknown => '!',
        }
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
