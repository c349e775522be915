//! What "failed" means, once for the whole program.

use std::fmt;

/// How a step ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum Outcome {
    /// Nothing that could succeed or fail: a prompt, a note.
    #[default]
    None,
    /// The call returned and did not report an error.
    Ok,
    /// The call returned an error, or its command a non-zero exit code.
    Failed,
    /// A person or a policy said no; the call did not run.
    Refused,
    /// The call began and was stopped before it returned.
    Interrupted,
    /// No result has been recorded yet.
    Pending,
}

impl Outcome {
    /// Every outcome, in the order of their codes.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Ok,
        Self::Failed,
        Self::Refused,
        Self::Interrupted,
        Self::Pending,
    ];

    /// The word for this outcome, as written on a tape.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
            Self::Pending => "pending",
        }
    }

    /// The outcome of a word on a tape; a word this version does not know is `None`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }

    /// Whether "next failure" stops here: failures and refusals, told apart by their sign.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Refused | Self::Interrupted)
    }

    /// The sign of the timeline; a space where there is nothing to say.
    pub const fn sign(self) -> char {
        match self {
            Self::None | Self::Ok => ' ',
            Self::Failed => '✗',
            Self::Refused => '⊘',
            Self::Interrupted => '‖',
            Self::Pending => '…',
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
