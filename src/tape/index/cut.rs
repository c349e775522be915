//! What the index of a tape says of the events before a place, for a tape that goes on
//! otherwise from there: a fork knows what it shares by the index of its parent.
//!
//! An index can be cut where nothing in it depends on what comes behind: at the opening of a
//! step before which every other one is whole, where numbers and lines go on as they should.
//! Most tapes have such places all over. What cannot be told any more of an earlier place is
//! no guess: there, or in all of the tape, is no place to cut. Growing from there, a cut index
//! is the one that is made of the lines themselves. Nothing is read here.

use std::collections::HashSet;

use super::calls::Returned;
use super::enter::{tells_the_current_line, transaction_key};
use super::steps::StepFlags;
use super::{BranchEntry, BranchKind, Index, TransactionEntry, TransactionState};
use crate::model::{Head, Kind};

/// A place to cut an index, and what the lines before it say that it does not hold.
#[derive(Clone, Debug)]
pub(in crate::tape) struct Cut {
    /// How many events are before it.
    pub(in crate::tape) len: u32,
    /// The line of the last of them that tells the current line.
    pub(in crate::tape) current_line: u16,
    /// The calls that had returned and still found their step, the last one last.
    pub(in crate::tape) returned: Vec<Returned>,
    /// The first byte behind the header's line.
    pub(in crate::tape) start: u64,
    /// By how many bytes what stands from there on stands elsewhere in the fork, modulo 2^64.
    pub(in crate::tape) moved: u64,
}

impl Index {
    /// Where it can be cut, with at most so many events before: how many there are. The last
    /// place comes first.
    pub(in crate::tape) fn places_to_cut(&self, most: u32) -> impl Iterator<Item = u32> {
        let is_told_apart =
            !self.is_crowded && !self.has_ended_twice && !self.grouper.is_ambiguous();
        let steps = if is_told_apart {
            self.steps.opened_before(most.saturating_add(1))
        } else {
            0
        };
        let opened = |step| self.steps.get(step).map(|step| step.opened);
        let places = self.steps.quiet(steps).filter_map(opened);
        places.filter(|position| self.events.goes_on_at(*position))
    }

    /// How many of the last calls that have returned still find their step.
    pub(in crate::tape) const fn returned_that_count() -> usize {
        super::calls::RETURNED
    }

    /// The last event before a place that tells the current line, and that line, unless only
    /// the event itself says.
    pub(in crate::tape) fn current_line_before(&self, len: u32) -> Option<(u32, Option<u16>)> {
        let tells = |position: &u32| {
            let kind = self.events.kind(*position);
            kind.is_some_and(tells_the_current_line)
        };
        let position = (0..len).rev().find(tells)?;
        let step = self.events.get(position).and_then(|event| event.step);
        let lane = step.and_then(|step| self.steps.lane(step));
        Some((position, lane.map(|lane| lane.line)))
    }

    /// The line with this name, as events carry it.
    pub(in crate::tape) fn line_known_as(&self, name: &str) -> Option<u16> {
        match name {
            "main" => Some(0),
            name => self.branch_numbers.get(name.as_bytes()).copied(),
        }
    }

    /// The branch whose files an event with this head sees, if it is known.
    pub(in crate::tape) fn branch_of(&self, head: &Head) -> Option<u16> {
        let transaction = head.txn.as_deref().map(transaction_key);
        let transaction = transaction.and_then(|key| self.branch_numbers.get(key.as_slice()));
        match transaction {
            Some(branch) => Some(*branch),
            None => self.line_known_as(head.branch.as_deref().unwrap_or("main")),
        }
    }

    /// What it says of the events before a [place to cut](Self::places_to_cut). `header` is
    /// the index of another header line, which stands in the place of this tape's; `None`
    /// where the events behind it would not be the same.
    pub(in crate::tape) fn cut(&self, cut: Cut, header: Self) -> Option<Self> {
        if !self.goes_on_behind(&header) {
            return None;
        }
        let Cut {
            len,
            current_line,
            returned,
            start,
            moved,
        } = cut;
        let events = self.events.cut(len, moved);
        let count = self.steps.opened_before(len);
        let named = |branch: &&BranchEntry| branch.named_at < len;
        let branches = self.branches.iter().take_while(named);
        let branches: Vec<BranchEntry> = branches.map(|branch| branch.cut(count)).collect();
        let steps_on = |line: u16| {
            let branch = branches.get(usize::from(line));
            branch.map_or(0, BranchEntry::steps)
        };
        let agents = self.agents.iter().take_while(|agent| agent.named_at < len);
        let agents: Vec<_> = agents.map(|agent| agent.cut(len, steps_on)).collect();
        let begun = self.transactions.iter().take_while(|it| it.begin < len);
        let stop = self.events.get(len).map_or(0, |event| event.offset);
        let mut problems = header.problems;
        let shared = |offset| (start..stop).contains(&offset);
        let before = self.problems.iter().filter(|it| shared(it.offset)).cloned();
        problems.extend(before.map(|mut problem| {
            problem.offset = problem.offset.wrapping_add(moved);
            problem
        }));
        let among = |count: usize| move |number: &u16| usize::from(*number) < count;
        let (is_branch, is_agent) = (among(branches.len()), among(agents.len()));
        let branch_numbers = self.branch_numbers.iter().filter(|(_, it)| is_branch(it));
        let agent_numbers = self.agent_numbers.iter().filter(|(_, it)| is_agent(it));
        let snapshots = self.snapshots.partition_point(|at| *at < len);
        let last = len.checked_sub(1).and_then(|last| events.get(last));
        let steps = self.steps.cut(count);
        let mut index = Self {
            grouper: self.grouper.cut(&steps, &events, returned),
            transactions: begun.map(|transaction| transaction.cut(len)).collect(),
            snapshots: self.snapshots.get(..snapshots).unwrap_or_default().to_vec(),
            blobs: self.blobs.cut(len),
            branch_numbers: branch_numbers.map(|(k, v)| (k.clone(), *v)).collect(),
            agent_numbers: agent_numbers.map(|(k, v)| (k.clone(), *v)).collect(),
            last_t: last.map_or(0, |event| event.t),
            kept_from: self.kept_from,
            current_line,
            events,
            steps,
            branches,
            agents,
            problems,
            ..Self::default()
        };
        index.forget_later_branches(self);
        Some(index)
    }

    /// Whether events behind another header mean what they do behind this tape's own.
    fn goes_on_behind(&self, header: &Self) -> bool {
        let (own, other) = (self.events.get(0), header.events.get(0));
        let are_alike = own.zip(other).is_some_and(|(own, other)| {
            own.kind == Kind::Tape && own == other && self.events.seq(0) == header.events.seq(0)
        });
        let inherited = |index: &Self| index.branches.first().map(|main| main.inherited);
        let names_none = |index: &Self| {
            let branches = index.branches.iter().skip(1).map(|branch| branch.named_at);
            let agents = index.agents.iter().skip(1).map(|agent| agent.named_at);
            branches.chain(agents).all(|position| position > 0)
        };
        are_alike
            && header.events.len() == 1
            && self.events.line(0) == 1
            && self.kept_from == header.kept_from
            && inherited(self) == inherited(header)
            && names_none(self)
            && names_none(header)
    }

    /// Takes back from steps that branches leave there which `whole` names later.
    fn forget_later_branches(&mut self, whole: &Self) {
        let known = self.branches.len();
        let left_by = |branch: &BranchEntry| {
            let (_, left) = branch.parent.filter(|_| branch.kind == BranchKind::Line)?;
            whole.events.get(left.checked_sub(1)?)?.step
        };
        let later: HashSet<u32> = whole
            .branches
            .iter()
            .skip(known)
            .filter_map(left_by)
            .collect();
        if later.is_empty() {
            return;
        }
        let still: HashSet<u32> = self.branches.iter().filter_map(left_by).collect();
        for step in later.difference(&still) {
            let Some(entry) = self.steps.get(*step) else {
                continue;
            };
            let says_so = |position| {
                self.events.kind(position) == Some(Kind::Branch)
                    && self
                        .events
                        .get(position)
                        .is_some_and(|it| it.step == Some(*step))
            };
            if !(entry.opened..=entry.last).any(says_so) {
                self.steps.unflag(*step, StepFlags::BRANCHES);
            }
        }
    }
}

impl TransactionEntry {
    /// The transaction as it was after so many events.
    fn cut(&self, len: u32) -> Self {
        match self.end {
            Some(end) if end >= len => Self {
                end: None,
                state: TransactionState::Open,
                ..self.clone()
            },
            _ => self.clone(),
        }
    }
}
