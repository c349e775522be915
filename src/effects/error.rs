//! Why an effect was not made, or what came of it is not known.

use std::io;
use std::path::PathBuf;

use crate::tape::RecordError;
use crate::text::SafeText;

/// Why an effect was not made. Unless it says otherwise, nothing was done outside.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    /// Nobody declared it.
    #[error("no effect `{name}` is declared in {}", file.display())]
    Undeclared {
        /// What was asked for.
        name: SafeText,
        /// The configuration.
        file: PathBuf,
    },
    /// The arguments do not fit its command.
    #[error("the arguments do not fit the effect `{name}`: {reason}")]
    Arguments {
        /// The effect.
        name: SafeText,
        /// Why.
        reason: String,
    },
    /// The request is too large to be kept.
    #[error("a request has at most {most} bytes")]
    TooLarge {
        /// How many it may have.
        most: usize,
    },
    /// The key is none.
    #[error(
        "a key has 1 to 200 visible ASCII characters and does not end in `{}`",
        super::make::COMPENSATION
    )]
    Key,
    /// The key stands for another request.
    #[error("the key {key} stands for another request, that of effect {number}")]
    KeyReused {
        /// The key.
        key: SafeText,
        /// The effect it stands for.
        number: u32,
    },
    /// The key stands for an effect that was taken back.
    #[error("the key {key} stands for effect {number}, which was taken back")]
    TakenBack {
        /// The key.
        key: SafeText,
        /// The effect it stands for.
        number: u32,
    },
    /// It waits, and is wanted at once.
    #[error("the key {key} stands for effect {number}, which waits for the commit")]
    Waits {
        /// The key.
        key: SafeText,
        /// The effect it stands for.
        number: u32,
    },
    /// Nobody knows whether it was made.
    #[error(
        "effect {number}, {name}, is in doubt: it was begun, and nothing says whether it was done"
    )]
    InDoubt {
        /// The effect.
        number: u32,
        /// What it is called.
        name: SafeText,
    },
    /// It is not in doubt, and does not wait.
    #[error("there is nothing to settle about effect {number}: {state}")]
    Settled {
        /// The effect.
        number: u32,
        /// What became of it.
        state: &'static str,
    },
    /// There is no such effect.
    #[error("there is no effect {0}")]
    NoEffect(u32),
    /// Its command must have no network, and would have one.
    #[error("this machine cannot keep a command from the network ({0})")]
    Network(#[source] io::Error),
    /// The intent could not be recorded, so nothing was begun.
    #[error("the intent could not be recorded: {0}")]
    Intent(#[source] RecordError),
    /// The command ran, and its result could not be recorded: the effect is in doubt.
    #[error("effect {number} was made, and its result could not be recorded: {source}")]
    Unrecorded {
        /// The effect.
        number: u32,
        /// Why.
        source: RecordError,
    },
    /// Of what was recorded, only placeholders are left.
    #[error(
        "effect {0} held a secret, which is not on the tape, and nothing is made from a \
         placeholder: make it yourself, and settle what became of it"
    )]
    Redacted(u32),
    /// What was recorded cannot be read.
    #[error("what was recorded of effect {number} cannot be read: {source}")]
    Read {
        /// The effect.
        number: u32,
        /// Why.
        source: io::Error,
    },
}

impl EffectError {
    /// What was recorded is none of what it should be.
    pub(super) fn unreadable(number: u32) -> Self {
        let source = io::Error::from(io::ErrorKind::InvalidData);
        Self::Read { number, source }
    }

    /// Whether nothing more can be recorded, so that nothing more may be made.
    pub(super) const fn is_of_the_tape(&self) -> bool {
        matches!(self, Self::Intent(_) | Self::Unrecorded { .. })
    }
}
