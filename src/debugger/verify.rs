//! Checking a run: the whole of its tape, and of a transcript what its import found.

use std::ops::ControlFlow;

use super::{Debugger, ReadError};
use crate::model::ProblemKind;
use crate::tape;

pub use crate::tape::{Verified, VerifyStats};

impl Debugger {
    /// Checks everything that can be checked: order, chain, contents, snapshots against
    /// events, secrets. Costs a read of the whole tape.
    pub fn verify(&self) -> Result<Verified, ReadError> {
        let to_the_end = &mut |_| ControlFlow::Continue(());
        let mut found = tape::verify(self.tape.bytes.clone(), to_the_end)?;
        if !self.transcript_problems.is_empty() {
            // What could not be read of a transcript is a gap of its tape.
            found
                .problems
                .retain(|problem| problem.kind != ProblemKind::RecordedGap);
            found.problems.splice(..0, self.transcript_problems.clone());
        }
        Ok(found)
    }
}
