//! Effects: what calls do outside the file tree, as plain data.
//!
//! An effect is known by its key. What was asked is an intent, which stands on the tape before
//! anything is done; what came of it is a result with the same key.

use std::fmt;
use std::sync::Arc;

use super::{BlobHash, Micros, Outcome};

/// What may be done with an effect once it was asked for: whether it may be made again, and
/// whether it can be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EffectClass {
    /// It touches nothing outside at all.
    Pure,
    /// It only looks at what is outside.
    Read,
    /// Made twice with the same key, it is done once.
    Idempotent,
    /// Another call takes it back.
    Compensable,
    /// Nothing takes it back. What nobody declared is of this class.
    #[default]
    Irreversible,
}

impl EffectClass {
    /// Every class, the most harmless first.
    pub const ALL: [Self; 5] = [
        Self::Pure,
        Self::Read,
        Self::Idempotent,
        Self::Compensable,
        Self::Irreversible,
    ];

    /// The word for this class, in a declaration and on a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Compensable => "compensable",
            Self::Irreversible => "irreversible",
        }
    }

    /// The class of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == word)
    }

    /// Whether it may be made again with the same key, where nobody knows if it was made.
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Self::Pure | Self::Read | Self::Idempotent)
    }

    /// Whether it changes something outside.
    pub const fn changes_something(self) -> bool {
        !matches!(self, Self::Pure | Self::Read)
    }
}

impl fmt::Display for EffectClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an effect event says.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectEvent {
    /// An effect is about to be made, or waits for a commit.
    Intent(EffectIntent),
    /// An effect is about to be taken back.
    Compensate(EffectCompensation),
    /// What came of the one or the other.
    Result(EffectResult),
}

/// An effect is about to be made, or waits for a commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectIntent {
    /// What was declared under this name.
    pub name: String,
    /// What the other side knows it by, if it is made again.
    pub key: String,
    /// What was declared of it.
    pub class: EffectClass,
    /// What it was asked with.
    pub request: EffectRequest,
    /// It is made when its transaction commits, and not yet.
    pub waits: bool,
    /// The hash of the configuration that declares it.
    pub configuration: Option<BlobHash>,
}

/// What an effect was asked with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectRequest {
    /// Arguments of its command.
    pub arguments: Vec<String>,
    /// What its command reads.
    pub body: Arc<[u8]>,
}

/// An effect is about to be taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectCompensation {
    /// What the effect is called.
    pub name: String,
    /// The compensation's own key.
    pub key: String,
    /// The key of the effect.
    pub of: String,
    /// The hash of the configuration that says how.
    pub configuration: Option<BlobHash>,
}

/// What came of an effect, or of a compensation.
///
/// [`Outcome::Interrupted`] says that its command was stopped before it could tell: it may be
/// done. [`Outcome::Refused`] says that it is not made, by decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectResult {
    /// Whose result.
    pub key: String,
    /// Whether it is done.
    pub outcome: Outcome,
    /// The exit code of its command.
    pub exit: Option<i32>,
    /// How long that took.
    pub duration: Option<Micros>,
    /// What it answered: all that was handed on.
    pub output: Arc<[u8]>,
    /// Bytes of the answer that were neither kept nor handed on.
    pub omitted: u64,
    /// What its command complained of.
    pub complaint: String,
    /// How it is known, where no command said so.
    pub remark: Option<String>,
}
