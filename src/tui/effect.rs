//! What the screen asks of the world: the only way [`App`](super::app::App) has to act.

use super::job::{OpenedRun, Request};
use super::terminal::Mouse;
use crate::text::SafeText;

/// Something to be done outside the state of the screen, in the order given.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Hand this to the worker.
    Request(Request),
    /// From now on requests are about this run.
    Show(OpenedRun),
    /// Write the bytes to a temporary file and open it in `$EDITOR`.
    OpenEditor {
        /// The content, exact.
        bytes: Vec<u8>,
        /// A name for the file: one component of letters, digits, `.`, `_` and `-`.
        name: String,
        /// The line to show, from 1.
        line: usize,
    },
    /// Give a text to `$EDITOR`, and tell what it is when that has ended.
    EditText {
        /// The text.
        text: String,
        /// The line to show, from 1.
        line: usize,
    },
    /// Put these lines on the clipboard.
    Copy(Vec<SafeText>),
    /// Give the mouse to the terminal, or take it.
    Mouse(Mouse),
    /// Leave the terminal clean and stop, as Ctrl-Z asks.
    Suspend,
    /// Forget what the terminal shows and draw everything anew.
    Redraw,
    /// Ask the command to end that runs while the screen is shown.
    StopCommand,
    /// End, all is well.
    Quit,
    /// End, with this reason, made safe.
    Fail(SafeText),
}
