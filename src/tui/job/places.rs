//! Places of a run as the screen knows them, and moves from one to another. Plain data.

use crate::debugger::{Direction, Spot};
use crate::model::{Place, StepNumber, TapePath};

/// A place of the playhead: a spot, and the branch whose numbers its step has.
///
/// The two differ inside a transaction: there the files are those of the transaction, and
/// the numbers those of the branch around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The branch that numbers the steps.
    pub branch: u16,
    /// The step, and the event after which files are looked at.
    pub spot: Spot,
}

/// A step of the right run: the one that stands beside a step of the left one, or the last
/// one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counterpart {
    /// The branch that numbers it.
    pub branch: u16,
    /// Its number; 0 is before the first one.
    pub step: StepNumber,
}

/// A move of the playhead that needs the tape.
#[derive(Clone, Debug, PartialEq)]
pub enum Jump {
    /// To a place that a person named. Marks are resolved before.
    Place(Place),
    /// To the end of a step.
    Step {
        /// The branch that numbers it.
        branch: u16,
        /// Its number; too large a one means the last.
        step: StepNumber,
    },
    /// Event by event.
    Event {
        /// From where.
        from: Spot,
        /// How many, negative for earlier ones.
        delta: i64,
    },
    /// From landmark to landmark.
    Landmark {
        /// What to stop at.
        landmark: Landmark,
        /// From where.
        from: Spot,
        /// Which way.
        direction: Direction,
        /// How many of them, at least 1.
        count: u32,
    },
}

/// What a move can stop at.
#[derive(Clone, Debug, PartialEq)]
pub enum Landmark {
    /// A step that failed, was refused or interrupted.
    Failure,
    /// A step that changed this file.
    Version(TapePath),
    /// A snapshot, or an edge of a transaction.
    Edge,
}

/// What a difference is measured from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The state that the step began with.
    StepStart,
    /// This place.
    Spot(Spot),
}
