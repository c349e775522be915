//! Numbers with a meaning: they are not mixed up by accident.

use std::fmt;

/// The number of an event on its tape: dense, from 0 (the header).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a step on its branch, from 1. 0 is the place before the first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepNumber(pub u32);

impl fmt::Display for StepNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in a run from which files are looked at: after an event, on a branch.
///
/// `position` counts the events that have happened, in the order of lines, so 0 is
/// the empty world before the header. `branch` is the index's number of the branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// How many events have happened.
    pub position: u32,
    /// The branch whose files are meant; 0 is the main line.
    pub branch: u16,
}
