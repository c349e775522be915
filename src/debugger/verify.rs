//! Checking a run: the whole of its tape, and of a transcript what its import found.

use super::{Debugger, ReadError};
use crate::model::{ProblemKind, Tell};
use crate::tape;

pub use crate::tape::{Verified, VerifyStats};

impl Debugger {
    /// Checks everything that can be checked: order, chain, contents, snapshots against
    /// events, secrets. Costs a read of the whole tape. If `tell` breaks it off, what was
    /// found is not [complete](Verified::is_complete).
    pub fn verify(&self, tell: &mut Tell<'_>) -> Result<Verified, ReadError> {
        let mut found = tape::verify(self.tape.bytes.clone(), tell)?;
        if !self.transcript_problems.is_empty() {
            // What could not be read of a transcript is a gap of its tape.
            found
                .problems
                .retain(|problem| problem.kind != ProblemKind::RecordedGap);
            found.problems.splice(..0, self.transcript_problems.clone());
        }
        found.problems.splice(..0, self.parent_problems.clone());
        Ok(found)
    }
}
