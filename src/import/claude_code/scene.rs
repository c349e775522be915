//! Where a record plays: whose it is, on which branch, when, and seen from which directory.

use std::sync::Arc;

use crate::model::{LineHash, Micros};

use super::lineage::BranchId;

/// A sub-agent, by its place in [`Agents`](super::agents::Agents).
pub(super) type AgentId = usize;

/// Where a record plays.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    /// The sub-agent; `None` is the main agent.
    pub(super) agent: Option<AgentId>,
    pub(super) branch: BranchId,
    pub(super) t: Option<Micros>,
    /// The record, if it has an id.
    pub(super) record: Option<LineHash>,
    /// The directory that relative paths are seen from.
    pub(super) cwd: Arc<str>,
}
