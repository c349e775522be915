//! Our own faults: a panic gives the terminal back before anything is said of it.
//!
//! What is said, and that it is made safe, is the business of the hook that was there
//! before. In debug builds a fault can be had on purpose, so that tests see what a panic
//! leaves behind.

use std::panic;

use super::terminal;

/// From now on a panic of any thread gives the terminal back, is reported, and told of.
pub(super) fn watch(tell: impl Fn() + Send + Sync + 'static) {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        terminal::leave();
        report(panic);
        tell();
    }));
}

/// A fault on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drill {
    /// While a frame is drawn.
    Draw,
    /// In a thread of the worker.
    Worker,
}

impl Drill {
    /// The drill that `JUKEBOX_DRILL` asks for: `draw` or `worker`. None in a release.
    pub(super) fn from_environment() -> Option<Self> {
        if !cfg!(debug_assertions) {
            return None;
        }
        match std::env::var("JUKEBOX_DRILL").as_deref() {
            Ok("draw") => Some(Self::Draw),
            Ok("worker") => Some(Self::Worker),
            _ => None,
        }
    }

    /// Panics, where `here` is what was asked for. The words try to fool the terminal.
    pub(super) fn at(asked: Option<Self>, here: Self) {
        assert_ne!(
            asked,
            Some(here),
            "a drill \x1b]0;in the {here:?}\x07\x1b[31m"
        );
    }
}
