//! The index: where every event, step, branch and blob of a tape is, in a few bytes each.
//!
//! Built in one pass over the heads of the lines, and grown by the same pass when the tape
//! grows. It holds no content and no titles: those are read from the tape when they are
//! shown. What the events do to files is not known here; a [`IndexSink`] is told.

mod agents;
mod blob_table;
mod branches;
mod calls;
mod cut;
mod distances;
mod enter;
mod events;
mod grouper;
mod keep;
mod pass;
mod steps;
mod totals;

use std::collections::HashMap;
use std::ops::Range;

pub use agents::{AgentEntry, AgentStretch};
pub use blob_table::{BlobId, BlobTable};
pub use branches::{BranchEntry, BranchKind};
pub use events::{EventEntry, Events};
pub use pass::{Growth, IndexSink, Indexed};
pub use steps::{Lane, StepEntry, StepFlags, Steps};
pub use totals::StepTotal;

pub(super) use calls::Returned;
pub(super) use cut::Cut;
pub(super) use events::Standing;

use crate::model::{BlobHash, Problem, StepNumber};
use crate::tape::stitched::Dropped;
use grouper::Grouper;

/// How a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionState {
    /// Begun, and neither committed nor rolled back.
    Open,
    /// Its changes are its parent's.
    Committed,
    /// Its changes were undone.
    RolledBack,
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct TransactionEntry {
    /// The branch that its events are on.
    pub branch: u16,
    /// The event that began it.
    pub begin: u32,
    /// The event that ended it.
    pub end: Option<u32>,
    /// How it stands.
    pub state: TransactionState,
}

/// The index of a tape.
#[derive(Clone, Debug)]
pub struct Index {
    /// Events by position.
    pub events: Events,
    /// Steps in the order they were opened.
    pub steps: Steps,
    /// Branches in the order they appeared; the first is the main line.
    pub branches: Vec<BranchEntry>,
    /// Agents in the order they appeared; the first, without a name, is the main agent.
    pub agents: Vec<AgentEntry>,
    /// Transactions in the order they began.
    pub transactions: Vec<TransactionEntry>,
    /// The positions of snapshots.
    pub snapshots: Vec<u32>,
    /// Blobs.
    pub blobs: BlobTable,
    /// What is wrong with the tape, in the order of lines.
    pub problems: Vec<Problem>,
    /// The line that holds the last event.
    pub current_line: u16,
    grouper: Grouper,
    branch_numbers: HashMap<Box<[u8]>, u16>,
    agent_numbers: HashMap<Box<[u8]>, u16>,
    last_t: u64,
    /// The first event that was kept when a tape's history was dropped.
    kept_from: u64,
    last_was_orphan: bool,
    /// There are more branches or agents than can be told apart.
    is_crowded: bool,
    /// A transaction ended again behind its end.
    has_ended_twice: bool,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            events: Events::default(),
            steps: Steps::default(),
            branches: vec![BranchEntry::new(
                "main".to_owned(),
                BranchKind::Line,
                None,
                0,
                0,
            )],
            agents: vec![AgentEntry::default()],
            transactions: Vec::new(),
            snapshots: Vec::new(),
            blobs: BlobTable::default(),
            problems: Vec::new(),
            current_line: 0,
            grouper: Grouper::default(),
            branch_numbers: HashMap::new(),
            agent_numbers: HashMap::new(),
            last_t: 0,
            kept_from: 0,
            last_was_orphan: false,
            is_crowded: false,
            has_ended_twice: false,
        }
    }
}

impl Index {
    /// A part of the history was dropped, with so many steps of the main line.
    fn keep_from(&mut self, dropped: Dropped) {
        self.kept_from = dropped.kept_from;
        if let Some(main) = self.branches.first_mut() {
            main.inherited = dropped.steps;
        }
    }

    /// The index's number of the step with this number on a line.
    pub fn step_on(&self, line: u16, number: StepNumber) -> Option<u32> {
        let mut line = line;
        loop {
            let branch = self.branches.get(usize::from(line))?;
            if number.0 > branch.inherited {
                return branch.own_step(number);
            }
            line = branch.parent?.0;
        }
    }

    /// The steps with these numbers on a line, as the index numbers them, in order: a
    /// stretch ends where another line has steps in between.
    pub fn stretches(
        &self,
        line: u16,
        numbers: Range<u32>,
    ) -> impl DoubleEndedIterator<Item = Range<u32>> {
        let (mut line, mut rest) = (line, numbers);
        let mut parts = Vec::new();
        while let Some(branch) = self.branches.get(usize::from(line)) {
            let own_from = branch.inherited + 1;
            parts.push((branch, rest.start.max(own_from)..rest.end));
            rest.end = rest.end.min(own_from);
            match branch.parent {
                Some((parent, _)) if !rest.is_empty() => line = parent,
                _ => break,
            }
        }
        parts
            .into_iter()
            .rev()
            .flat_map(|(branch, numbers)| branch.own_stretches(numbers))
    }

    /// A transaction by its branch.
    pub fn transaction_on(&self, branch: u16) -> Option<&TransactionEntry> {
        // Each began with its branch.
        let found = self
            .transactions
            .binary_search_by_key(&branch, |entry| entry.branch);
        self.transactions.get(found.ok()?)
    }

    /// The number of a step on its own line.
    pub fn number_of(&self, step: u32) -> Option<StepNumber> {
        let lane = self.steps.get(step)?.lane;
        self.branches.get(usize::from(lane.line))?.number_of(step)
    }

    /// The line with this name.
    pub fn line_named(&self, name: &str) -> Option<u16> {
        self.branches
            .iter()
            .position(|branch| branch.name == name && branch.kind == BranchKind::Line)
            .map(|at| at as u16)
    }

    /// Notes that a step shows an outside change that no event of its own says.
    pub(crate) fn flag_outside(&mut self, step: u32) {
        self.steps.flag(step, StepFlags::OUTSIDE);
    }

    /// The number of a blob that the snapshot lists that is the last event.
    pub(crate) fn name_blob(&mut self, hash: &BlobHash) -> BlobId {
        let position = self.events.len().saturating_sub(1);
        self.blobs.list(hash.prefix(), position)
    }

    /// The step that was open on a line after `position` events: the last one on it that
    /// was opened before.
    pub fn step_at(&self, line: u16, position: u32) -> StepNumber {
        let step = self.steps.opened_before(position);
        let (mut line, mut step) = (line, step);
        loop {
            let Some(branch) = self.branches.get(usize::from(line)) else {
                return StepNumber(0);
            };
            let own = branch.own_before(step);
            match branch.parent {
                _ if own > 0 => return StepNumber(branch.inherited + own),
                Some((parent, left)) => {
                    line = parent;
                    step = step.min(self.steps.opened_before(left));
                }
                None => return StepNumber(0),
            }
        }
    }
}
