//! A smaller tape that says the same.

use std::path::Path;

use super::Debugger;
use crate::model::Tell;
use crate::tape;

pub use crate::tape::{CompactError, CompactOptions, Compacted};

impl Debugger {
    /// Writes the tape again, smaller, to a new file. The old one is left alone. Costs several
    /// passes over both: the new one is verified and compared with the old one. A break of
    /// `tell` leaves nothing behind.
    pub fn compact(
        &self,
        out: &Path,
        options: &CompactOptions,
        tell: &mut Tell<'_>,
    ) -> Result<Compacted, CompactError> {
        tape::compact_telling(&self.tape, out, options, tell)
    }
}
