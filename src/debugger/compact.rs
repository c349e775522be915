//! A smaller tape that says the same.

use std::path::Path;

use super::Debugger;
use crate::tape;

pub use crate::tape::{CompactError, CompactOptions, Compacted};

impl Debugger {
    /// Writes the tape again, smaller, to a new file. The old one is left alone. Costs several
    /// passes over both: the new one is verified and compared with the old one.
    pub fn compact(&self, out: &Path, options: &CompactOptions) -> Result<Compacted, CompactError> {
        tape::compact(&self.tape, out, options)
    }
}
