//! What could not be read, where, and why. A row in a report, never an abort.

use std::fmt;
use std::sync::Arc;

/// The sort of a problem, with a fixed word for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The last line has no newline: it may still be being written.
    TornTail,
    /// A line holds NUL bytes, as a file does after a crash of the machine.
    NulBytes,
    /// Two or more records stand on one line.
    GluedRecords,
    /// The line is not valid UTF-8; the invalid bytes were replaced.
    InvalidUtf8,
    /// A string holds half of a surrogate pair; it was replaced.
    LoneSurrogate,
    /// The line is not JSON.
    NotJson,
    /// The line is JSON, but no object.
    NotAnObject,
    /// A field is missing or of another type than the format says.
    BadField,
    /// The first line is no header, or of an unknown format number.
    BadHeader,
    /// One or more events are missing: `seq` jumps.
    MissingSeq,
    /// An event stands twice, with the same bytes; the repeat is ignored.
    RepeatedSeq,
    /// Two different events have one number.
    ConflictingSeq,
    /// `prev` is not the hash of the line before.
    BrokenChain,
    /// Stored bytes do not hash to their name.
    BadHash,
    /// A blob is named and nowhere stored.
    MissingBlob,
    /// A snapshot and the events before it disagree.
    SnapshotDiffers,
    /// The recorded pre-image of a change is not what the events say.
    BaseDiffers,
    /// A result without a call, or a reference to something that is not on the tape.
    BrokenReference,
    /// A record whose type is not understood; it was kept.
    NotUnderstood,
    /// A part of the run that should have been a file of its own was not found.
    MissingPart,
    /// The recorder itself said that events are missing.
    RecordedGap,
    /// Text that looks like a secret.
    LeakedSecret,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: [Self; 22] = [
        Self::TornTail,
        Self::NulBytes,
        Self::GluedRecords,
        Self::InvalidUtf8,
        Self::LoneSurrogate,
        Self::NotJson,
        Self::NotAnObject,
        Self::BadField,
        Self::BadHeader,
        Self::MissingSeq,
        Self::RepeatedSeq,
        Self::ConflictingSeq,
        Self::BrokenChain,
        Self::BadHash,
        Self::MissingBlob,
        Self::SnapshotDiffers,
        Self::BaseDiffers,
        Self::BrokenReference,
        Self::NotUnderstood,
        Self::MissingPart,
        Self::RecordedGap,
        Self::LeakedSecret,
    ];

    /// The fixed word of this kind, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TornTail => "torn-tail",
            Self::NulBytes => "nul-bytes",
            Self::GluedRecords => "glued-records",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::LoneSurrogate => "lone-surrogate",
            Self::NotJson => "not-json",
            Self::NotAnObject => "not-an-object",
            Self::BadField => "bad-field",
            Self::BadHeader => "bad-header",
            Self::MissingSeq => "missing-seq",
            Self::RepeatedSeq => "repeated-seq",
            Self::ConflictingSeq => "conflicting-seq",
            Self::BrokenChain => "broken-chain",
            Self::BadHash => "bad-hash",
            Self::MissingBlob => "missing-blob",
            Self::SnapshotDiffers => "snapshot-differs",
            Self::BaseDiffers => "base-differs",
            Self::BrokenReference => "broken-reference",
            Self::NotUnderstood => "not-understood",
            Self::MissingPart => "missing-part",
            Self::RecordedGap => "recorded-gap",
            Self::LeakedSecret => "leaked-secret",
        }
    }

    /// The kind of a word; `None` for a word that this version does not know.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether events may have been lost here, so that files are uncertain from here on.
    pub const fn loses_events(self) -> bool {
        matches!(
            self,
            Self::NulBytes
                | Self::NotJson
                | Self::NotAnObject
                | Self::MissingSeq
                | Self::ConflictingSeq
                | Self::RecordedGap
        )
    }
}

/// One thing that is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: u64,
    /// The offset of the first byte concerned, in bytes from the start of the file.
    pub offset: u64,
    /// The sort.
    pub kind: ProblemKind,
    /// One sentence for a person. It may quote the file: sanitise before printing.
    pub message: String,
    /// The file, where it is not the one that was opened: of a fork, that of a parent.
    pub file: Option<Arc<str>>,
}

impl Problem {
    /// A problem of the file that was opened.
    pub fn new(line: u64, offset: u64, kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            line,
            offset,
            kind,
            message: message.into(),
            file: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}, ")?;
        }
        write!(
            f,
            "line {} (byte {}): {}",
            self.line, self.offset, self.message
        )
    }
}
