//! STAND-IN: following, still empty.

use super::{Debugger, ReadError};

/// What a look at the file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Nothing new.
    Unchanged,
    /// More events.
    Grew {
        /// How many.
        events: u32,
    },
    /// The file became shorter.
    Truncated,
    /// Another file stands there.
    Replaced,
    /// No file stands there.
    Gone,
    /// It stands there again.
    Back,
}

/// Watches the file until it is dropped.
#[derive(Debug)]
pub struct Watch;

impl Debugger {
    /// Reads on.
    pub fn refresh(&mut self) -> Result<Refresh, ReadError> {
        Ok(Refresh::Unchanged)
    }
    /// Watches.
    pub fn watch(&self, _notify: Box<dyn Fn() + Send>) -> Watch {
        Watch
    }
}
