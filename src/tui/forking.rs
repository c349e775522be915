//! A fork in the making, from what a step gave to what became of another output.
//!
//! What the step gave is a text ([`Draft`]) that a person alters; what a fork with it would do
//! is shown; a clear yes makes it; then it stands beside the run. Here is the state alone: what
//! keys do to it is in `update`, what it says in `overlay`.

use std::sync::Arc;

use super::draft::Draft;
use super::held::Ticket;
use super::job::{ForkMade, ForkUnmade, PlannedFork};
use crate::debugger::{Editable, ForkThen, Spot};
use crate::model::Via;

/// A fork that is being made.
#[derive(Debug)]
pub(super) struct Forking {
    /// The step.
    pub(super) at: Spot,
    /// What it gave, once that is known.
    pub(super) editable: Option<Arc<Editable>>,
    /// What stands in its place, once that is known.
    pub(super) draft: Option<Draft>,
    /// How it goes on behind the edit.
    pub(super) then: ForkThen,
    /// A script that is being read.
    pub(super) script: Option<Ticket>,
    /// How far it is.
    pub(super) stage: Stage,
}

/// How far a fork is.
#[derive(Debug)]
pub(super) enum Stage {
    /// What the step gave is being read.
    Reading(Ticket),
    /// It is being altered.
    Writing,
    /// What was written is being understood.
    Checking(Ticket),
    /// What the fork would do is shown.
    Shown(Box<PlannedFork>),
    /// It is being made; these are its answers by now.
    Running(Ticket, Vec<Via>),
    /// It was made.
    Made(Box<ForkMade>),
    /// It was not, and why.
    Failed(ForkUnmade),
}

impl Forking {
    /// Whether an answer is waited for.
    pub(super) const fn is_waiting(&self) -> bool {
        self.script.is_some()
            || matches!(
                self.stage,
                Stage::Reading(_) | Stage::Checking(_) | Stage::Running(..)
            )
    }
}
