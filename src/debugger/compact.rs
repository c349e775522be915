//! A smaller tape that says the same.

use std::path::Path;

use super::Debugger;
use crate::model::Tell;
use crate::tape;

pub use crate::tape::{CompactError, CompactOptions, Compacted};

impl Debugger {
    /// Writes the tape again, smaller, to a new file. The old one is left alone. Forks that are
    /// known to have left the old one take the new one for it. Costs several passes over both:
    /// the new one is verified and compared with the old one. A break of `tell` leaves nothing
    /// behind.
    pub fn compact(
        &self,
        out: &Path,
        options: &CompactOptions,
        tell: &mut Tell<'_>,
    ) -> Result<Compacted, CompactError> {
        let mut options = options.clone();
        options.fork_points.extend(self.fork_points());
        options.fork_points.sort_unstable();
        options.fork_points.dedup();
        tape::compact_telling(&self.tape, out, &options, tell)
    }
}
