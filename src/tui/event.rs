//! Everything that can happen to the screen: one closed list.
//!
//! An event is plain data. Nothing here reads a terminal or a clock.

use crossterm::event::{KeyEvent, MouseEvent};

use super::job::Reply;
use crate::cli::CommandEnd;
use crate::text::SafeText;

/// Something that happened, in the order it happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key went down, repeats, or went up.
    Key(KeyEvent),
    /// The mouse moved, or a button or the wheel did.
    Mouse(MouseEvent),
    /// Text was pasted. It may hold anything.
    Paste(String),
    /// The screen has this size now. The first event of all: nothing is asked for before it.
    Resize {
        /// Columns; 0 after a hangup.
        columns: u16,
        /// Rows.
        rows: u16,
    },
    /// The text that was given to the user's editor came back.
    TextEdited(String),
    /// The worker has an answer.
    Reply(Reply),
    /// The worker's thread panicked; the message is made safe.
    WorkerFailed(SafeText),
    /// An effect could not be carried out, for this reason, made safe.
    EffectFailed(SafeText),
    /// The command that ran while the screen was shown is over.
    CommandEnded(CommandEnd),
    /// The followed file was written, moved or removed.
    TapeMayHaveChanged,
    /// A tenth of a second has passed. Sent only while [`App::wants_tick`](super::app::App::wants_tick).
    Tick,
    /// The terminal has the keyboard again.
    FocusGained,
    /// The terminal lost the keyboard.
    FocusLost,
    /// The screen closes, whatever the reason: the last event of all.
    Closing,
}
