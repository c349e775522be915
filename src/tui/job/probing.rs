//! What happens while the step that broke it is looked for. Plain data, for replies.

use super::Answered;
use crate::debugger::{Bisection, ProbeRow, Spot};

/// A word about a search for the step that broke it.
#[derive(Clone, Debug)]
pub enum BisectStep {
    /// There are so many different trees.
    Trees(usize),
    /// This one is asked about now.
    Asks(Spot),
    /// It was.
    Answered(ProbeRow),
    /// That was all.
    Ended(Answered<Box<Bisection>>),
}
