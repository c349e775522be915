//! Checking a tape: what the index saw on its way.

use super::{Debugger, ReadError};
use crate::model::Problem;

/// What checking a tape found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Events on the tape.
    pub events: u64,
    /// Steps on all its branches, each counted once.
    pub steps: u64,
    /// What is wrong, in the order of lines.
    pub problems: Vec<Problem>,
}

impl Debugger {
    /// Checks the tape.
    pub fn verify(&self) -> Result<Verified, ReadError> {
        Ok(Verified {
            events: u64::from(self.tape.index.events.len()),
            steps: u64::from(self.tape.index.steps.len()),
            problems: self.problems(),
        })
    }
}
