//! What this machine allows of the sandbox, and the helper that the program becomes for it.

pub use crate::sandbox::{Backend, Finding, Guarantee, HELPER_VERB, Probe, Tested};
pub use crate::sandbox::{probe as probe_sandbox, serve as serve_sandbox};
