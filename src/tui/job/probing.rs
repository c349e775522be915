//! What happens while the step that broke it is looked for. Plain data, for replies.

use super::Answered;
use crate::debugger::{Bisection, ProbeRow, Spot};

/// A word about a search for the step that broke it.
#[derive(Clone, Debug)]
pub enum BisectStep {
    /// About so many times it will be asked.
    Looks(u64),
    /// This one is asked about now.
    Asks(Spot),
    /// It was.
    Answered(ProbeRow),
    /// That was all.
    Ended(Answered<Box<Bisection>>),
}
