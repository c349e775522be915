//! How far the worker is with what takes long: reading a run, and searching it.
//!
//! Plain data, for replies. What it looks like is said elsewhere.

use crate::model;
use crate::text::SafeText;

/// How far the reading of a run is that is shown already.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// How much of it was read.
    pub progress: model::Progress,
    /// Whether it goes on.
    pub state: ReadingState,
}

/// Whether the reading of a run goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadingState {
    /// It goes on.
    Running,
    /// It was stopped, and can go on.
    Stopped,
    /// All of it was read.
    Whole,
    /// The rest cannot be read, and why.
    Failed(SafeText),
}

/// How far a search is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// More may come; how many of the steps were looked at.
    Running(model::Progress),
    /// That was all.
    Finished,
    /// There are more hits than anybody looks at.
    Full,
    /// It ended, and why.
    Failed(SafeText),
}
