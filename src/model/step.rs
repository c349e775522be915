//! What a person thinks of as one move.

/// The sort of a step, from the event that opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StepKind {
    /// A message of a user or of the system.
    Prompt,
    /// A turn of the model: its request and its response.
    Model,
    /// A tool call with its result, its file changes and its effects.
    Tool,
    /// A file that differs from what the events say, and no call explains it.
    Outside,
    /// A begin, savepoint, commit or rollback of a transaction.
    Transaction,
    /// A stretch of the run that is known to be missing, or a line that cannot be read.
    Gap,
    /// Anything else that found no open step: a note, a raw record, a snapshot at the start.
    Other,
}

impl StepKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 7] = [
        Self::Prompt,
        Self::Model,
        Self::Tool,
        Self::Outside,
        Self::Transaction,
        Self::Gap,
        Self::Other,
    ];

    /// The fixed word of this kind, as printed by `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Outside => "outside",
            Self::Transaction => "transaction",
            Self::Gap => "gap",
            Self::Other => "other",
        }
    }

    /// The sign of the timeline.
    pub const fn sign(self) -> char {
        match self {
            Self::Prompt => '›',
            Self::Model => '◆',
            Self::Tool => '$',
            Self::Outside => '≠',
            Self::Transaction => '┃',
            Self::Gap => '░',
            Self::Other => '·',
        }
    }
}
