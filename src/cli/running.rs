//! A command that runs while the screen follows its tape: what the screen hears of it, and
//! what it can ask.
//!
//! The screen neither runs the command nor waits for it; it is told once, when it is over.

use std::fmt;
use std::sync::mpsc::Receiver;

use crate::text::SafeText;

/// A command that runs while the screen is shown.
pub struct RunningCommand {
    /// Tells how it ended, once.
    pub end: Receiver<CommandEnd>,
    /// Asks it to end, as Ctrl-C does where the terminal makes a signal of it.
    pub stop: Box<dyn Fn() + Send>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// In a few words, such as `ended with 1`.
    pub fact: SafeText,
    /// In a sentence, with what becomes of its changes once the screen is closed.
    pub words: SafeText,
    /// Whether it says itself that all went well.
    pub is_well: bool,
}

impl fmt::Debug for RunningCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RunningCommand")
    }
}
