//! A command whose tape is followed while it runs: how far it is, and what a person who wants
//! to leave was told.

use crate::cli::CommandEnd;

/// A command that was started with the screen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Command {
    /// How far it is.
    pub(super) stage: Stage,
    /// Whether a person who wants to leave was told that it runs.
    pub(super) warned: Warned,
}

/// How far a command is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stage {
    /// It runs.
    Running,
    /// It was asked to end, and has not yet.
    Ending,
    /// It is over.
    Over(CommandEnd),
}

/// When a person was told that the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warned {
    /// Not lately.
    No,
    /// By this key.
    Now,
    /// By the key before this one.
    Before,
}

impl Command {
    /// One that has just been started.
    pub(super) const fn started() -> Self {
        Self {
            stage: Stage::Running,
            warned: Warned::No,
        }
    }

    /// Whether it is over.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over(_))
    }

    /// Another key is pressed.
    pub(super) fn hear_key(&mut self) {
        self.warned = match self.warned {
            Warned::Now => Warned::Before,
            Warned::Before | Warned::No => Warned::No,
        };
    }
}
