//! How an event is entered into the tables of the index.

use super::events::{EventEntry, Origin, Standing};
use super::grouper::{Grouped, flags_of};
use super::pass::Indexed;
use super::steps::{Lane, StepFlags};
use super::{
    AgentEntry, BlobId, BranchEntry, BranchKind, Index, TransactionEntry, TransactionState,
};
use crate::model::{BlobHash, Kind, Seq, StepNumber};
use crate::tape::wire::RawHead;

impl Index {
    /// Enters an event of the tape behind those that are there.
    pub(in crate::tape) fn push(
        &mut self,
        head: &RawHead<'_>,
        kind: Kind,
        at: Standing,
        seq: u64,
        implied_blob: Option<BlobHash>,
    ) -> Indexed {
        let seq = (seq, Origin::Recorded);
        self.enter(head, kind, at, seq, implied_blob)
    }

    pub(super) fn enter(
        &mut self,
        head: &RawHead<'_>,
        kind: Kind,
        at: Standing,
        (seq, origin): (u64, Origin),
        implied_blob: Option<BlobHash>,
    ) -> Indexed {
        let position = self.events.len();
        let lane = self.lane(head, kind, position);
        // What stands there for later events only is of no step.
        let grouped = if seq < self.kept_from {
            Grouped::default()
        } else {
            self.grouper
                .group(&mut self.steps, head, kind, position, lane)
        };
        self.last_was_orphan = grouped.is_orphan;
        if let Some(step) = grouped.step {
            if grouped.opens
                && let Some(branch) = self.branches.get_mut(usize::from(lane.line))
            {
                branch.push_step(step);
                let number = StepNumber(branch.steps());
                if let Some(agent) = self.sub_agent_mut(lane.agent) {
                    agent.push_step(lane.line, number);
                }
            }
            self.steps.flag(step, flags_of(kind, head, lane));
            if let Some(via) = head.via {
                self.steps.came_about(step, via);
            }
        }
        self.last_t = head.t.unwrap_or(self.last_t);
        self.events.push(
            EventEntry {
                offset: at.offset,
                t: self.last_t,
                kind,
                step: grouped.step,
            },
            at.line,
            Seq(seq),
            origin,
        );
        if tells_the_current_line(kind) {
            self.current_line = lane.line;
        }
        if kind == Kind::Snapshot {
            self.snapshots.push(position);
        }
        self.end_transaction(head, kind, position);
        Indexed {
            position,
            kind,
            step: grouped.step,
            view: lane.view,
            blob: self.blob(head, kind, position, implied_blob),
        }
    }

    /// The line, agent and view of an event; new ones are entered.
    fn lane(&mut self, head: &RawHead<'_>, kind: Kind, position: u32) -> Lane {
        let line = match head.branch {
            None => 0,
            Some(name) => self.line(&name.decode(), head, kind, position),
        };
        let agent = match head.agent {
            None => 0,
            Some(name) => self.agent(&name.decode(), head, kind, position),
        };
        if kind == Kind::AgentStart
            && let Some(entry) = self.sub_agent_mut(agent)
        {
            entry.start.get_or_insert(position);
        }
        let view = match head.txn {
            None => line,
            Some(name) => self.transaction(&name.decode(), line, position),
        };
        let lane = Lane { line, agent, view };
        if self.steps.has_room_for(lane) {
            lane
        } else {
            self.is_crowded = true;
            Lane::default()
        }
    }

    /// The number for one more of something, or the last one that there is.
    fn next_number(&mut self, count: usize) -> u16 {
        match u16::try_from(count) {
            Ok(number) if number < u16::MAX => number,
            _ => {
                self.is_crowded = true;
                u16::MAX - 1
            }
        }
    }

    fn line(&mut self, name: &str, head: &RawHead<'_>, kind: Kind, position: u32) -> u16 {
        if name == "main" {
            return 0;
        }
        if let Some(line) = self.branch_numbers.get(name.as_bytes()) {
            return *line;
        }
        // A branch that nobody announced leaves its parent where it is first seen.
        let (parent, left) = match (kind, head.at) {
            (Kind::Branch, Some(at)) => {
                let parent = head.from.and_then(|from| {
                    let name = from.decode();
                    self.branch_numbers.get(name.as_bytes()).copied()
                });
                let left = self.events.position(Seq(at)).map_or(position, |at| at + 1);
                (parent.unwrap_or(0), left)
            }
            _ => (0, position),
        };
        let inherited = self.step_at(parent, left).0;
        if let Some(step) = left.checked_sub(1).and_then(|at| self.events.get(at)?.step) {
            self.steps.flag(step, StepFlags::BRANCHES);
        }
        self.enter_branch(
            name,
            name.as_bytes(),
            BranchKind::Line,
            (parent, left),
            (position, inherited),
        )
    }

    fn agent(&mut self, name: &str, head: &RawHead<'_>, kind: Kind, position: u32) -> u16 {
        if let Some(agent) = self.agent_numbers.get(name.as_bytes()) {
            return *agent;
        }
        let agent = self.next_number(self.agents.len());
        if usize::from(agent) < self.agents.len() {
            return agent;
        }
        let caller = match (kind, head.call) {
            (Kind::AgentStart, Some(call)) => self.grouper.agent_of_call(call, &self.steps),
            _ => None,
        };
        let entry = AgentEntry::new(name.to_owned(), caller.unwrap_or(0), position);
        self.agents.push(entry);
        self.agent_numbers.insert(name.as_bytes().into(), agent);
        agent
    }

    fn sub_agent_mut(&mut self, agent: u16) -> Option<&mut AgentEntry> {
        self.agents
            .get_mut(usize::from(agent))
            .filter(|_| agent > 0)
    }

    fn transaction(&mut self, name: &str, line: u16, position: u32) -> u16 {
        let key = transaction_key(name);
        if let Some(branch) = self.branch_numbers.get(key.as_slice()) {
            return *branch;
        }
        let count = self.branches.len();
        let kind = BranchKind::Transaction;
        let branch = self.enter_branch(name, &key, kind, (line, position), (position, 0));
        if self.branches.len() == count {
            return branch;
        }
        self.transactions.push(TransactionEntry {
            branch,
            begin: position,
            end: None,
            state: TransactionState::Open,
        });
        branch
    }

    fn enter_branch(
        &mut self,
        name: &str,
        key: &[u8],
        kind: BranchKind,
        parent: (u16, u32),
        (named_at, inherited): (u32, u32),
    ) -> u16 {
        let branch = self.next_number(self.branches.len());
        if usize::from(branch) < self.branches.len() {
            return branch;
        }
        let name = name.to_owned();
        self.branches.push(BranchEntry::new(
            name,
            kind,
            Some(parent),
            named_at,
            inherited,
        ));
        self.branch_numbers.insert(key.into(), branch);
        branch
    }

    fn end_transaction(&mut self, head: &RawHead<'_>, kind: Kind, position: u32) {
        let state = match kind {
            Kind::TxnCommit => TransactionState::Committed,
            Kind::TxnRollback if head.to.is_none() => TransactionState::RolledBack,
            _ => return,
        };
        let Some(txn) = head.txn else { return };
        let key = transaction_key(&txn.decode());
        let Some(branch) = self.branch_numbers.get(key.as_slice()).copied() else {
            return;
        };
        let known = self
            .transactions
            .binary_search_by_key(&branch, |entry| entry.branch);
        if let Some(entry) = known.ok().and_then(|at| self.transactions.get_mut(at)) {
            self.has_ended_twice |= entry.end.is_some();
            entry.end = Some(position);
            entry.state = state;
        }
    }

    fn blob(
        &mut self,
        head: &RawHead<'_>,
        kind: Kind,
        position: u32,
        implied: Option<BlobHash>,
    ) -> Option<BlobId> {
        if !(kind.is_file_change() || matches!(kind, Kind::FsObserve | Kind::Blob)) {
            return None;
        }
        let (prefix, is_here) = if let Some(hash) = implied {
            (hash.prefix(), true)
        } else {
            let prefix = BlobHash::prefix_in(head.blob?.as_inside())?;
            (prefix, head.enc.carries_blob())
        };
        let id = self.blobs.name(prefix, position);
        if is_here {
            self.blobs.store(id, position);
        }
        Some(id)
    }
}

/// Whether the run itself goes on with such an event; the others are about the tape, and
/// stand on whatever line their writer thinks of.
pub(super) const fn tells_the_current_line(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Tape
            | Kind::Raw
            | Kind::Note
            | Kind::Gap
            | Kind::Blob
            | Kind::Snapshot
            | Kind::End
            | Kind::Unknown
    )
}

/// Transactions and lines have names of their own: a byte that is in no text keeps them apart.
pub(super) fn transaction_key(name: &str) -> Vec<u8> {
    [b"\xff", name.as_bytes()].concat()
}
