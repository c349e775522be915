//! What was found out about a machine, and about a sandbox on it. Plain types.

use super::config::Backend;
use super::error::Guarantee;

/// What a machine allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The best backend that it allows, of those that guard anything.
    pub backend: Option<Backend>,
    /// What was looked at.
    pub findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub what: Guarantee,
    /// Whether it is there.
    pub verdict: Tested,
}

/// Whether a thing is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tested {
    /// It is, and was seen to hold; more about it.
    Holds(String),
    /// It is not.
    Missing {
        /// Why.
        cause: String,
        /// What to do about it.
        cure: String,
        /// Whether the overlay can do without.
        is_needed: bool,
    },
    /// It could not be looked at, since something before it is missing.
    Unknown,
}

/// How a sandbox is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The level of Landlock; 0: the kernel has none.
    pub landlock: u32,
    /// Whether the home directory can be written, into a layer that is thrown away.
    pub has_home: bool,
}
