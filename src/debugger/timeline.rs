//! The run as rows: the summary, the timeline, the strip.
//!
//! A row costs a read of the line that opened its step, so only the wanted ones are made.

use std::ops::Range;

use super::parents::short_name;
use super::{
    BranchRow, Debugger, ForkOf, StepRow, StripCell, Summary, TransactionEdge, TransactionMark,
};
use crate::model::{Kind, StepKind, StepNumber};
use crate::tape::{BranchKind, StepEntry, StepFlags, StepTotal, TransactionState};
use crate::text::{SafeText, json_hides};

impl Debugger {
    /// What the head of the screen says.
    pub fn summary(&self) -> Summary {
        let index = &self.tape.index;
        let lines = index
            .branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| branch.kind == BranchKind::Line);
        let branches = lines
            .map(|(id, branch)| BranchRow {
                id: id as u16,
                name: SafeText::line(&branch.name),
                parent: branch
                    .parent
                    .map(|(parent, _)| (parent, StepNumber(branch.inherited))),
                steps: branch.steps(),
                failed: self.failed_on(id as u16),
            })
            .collect();
        let events = index.events.len();
        let last = events
            .checked_sub(1)
            .and_then(|last| index.events.get(last));
        Summary {
            name: SafeText::line(&self.name),
            agent: SafeText::line(self.header.agent.as_deref().unwrap_or_default()),
            branches,
            current: index.current_line,
            events,
            duration: last.map_or(0, |event| event.t),
            bytes: self.tape.end.offset + self.tape.end.torn,
            problems: self.transcript_problems.len()
                + self.parent_problems.len()
                + self.tape.problem_count(),
            has_effects: self.has_effects(),
            has_transactions: self.has_transactions(),
            fork: self.fork_of(),
            notices: self
                .notices
                .iter()
                .map(|notice| SafeText::line(notice))
                .collect(),
        }
    }

    fn fork_of(&self) -> Option<ForkOf> {
        let link = self.header.parent.as_ref()?;
        let edit = self.header.edit.as_ref();
        let parent = match self.ancestors.first() {
            Some(parent) => SafeText::line(&short_name(&parent.path)),
            None => SafeText::line(&format!("tape {}", link.id)),
        };
        Some(ForkOf {
            parent,
            step: edit.map(|edit| edit.step),
            title: SafeText::line(edit.map_or("", |edit| &edit.title)),
        })
    }

    fn failed_on(&self, line: u16) -> u32 {
        let index = &self.tape.index;
        let stretches = index.stretches(line, 1..self.steps_on(line) + 1);
        stretches
            .map(|steps| index.steps.total(steps).failures)
            .sum()
    }

    /// Rows of the timeline of a line: step numbers from 1; what is out of range is left out.
    pub fn timeline(&self, line: u16, steps: Range<u32>) -> Vec<StepRow> {
        (steps.start.max(1)..steps.end.min(self.steps_on(line) + 1))
            .filter_map(|number| {
                let mut row = self.row(line, StepNumber(number))?;
                row.has_hidden |= self.hides_something(line, row.number);
                Some(row)
            })
            .collect()
    }

    /// Whether characters that nobody sees stand in the first lines of a step.
    fn hides_something(&self, line: u16, number: StepNumber) -> bool {
        let step = self.tape.index.step_on(line, number);
        let events = step
            .into_iter()
            .flat_map(|step| self.telling_events_of(step));
        let mut starts = events
            .take(LOOKED_THROUGH)
            .filter_map(|(position, _)| self.tape.start_of_record(position, START).ok());
        starts.any(|start| json_hides(&start))
    }

    /// One row of the timeline. Of hidden characters, only those in its title count.
    pub fn row(&self, line: u16, number: StepNumber) -> Option<StepRow> {
        let index = &self.tape.index;
        let step = index.step_on(line, number)?;
        let entry = index.steps.get(step)?;
        let opened = index.events.get(entry.opened)?;
        let (mut file_events, mut ended) = (0, None);
        for (position, kind) in self.telling_events_of(step) {
            file_events += u32::from(kind.is_file_change());
            if matches!(kind, Kind::ToolResult | Kind::ModelResponse) && position > entry.opened {
                ended = index.events.get(position).map(|event| event.t);
            }
        }
        let heading = self.heading(step, entry);
        let has_hidden = heading.title.has_hidden() || heading.actor.has_hidden();
        Some(StepRow {
            number,
            spot: self.spot(line, number),
            seq: index.events.seq(entry.opened),
            kind: entry.kind,
            outcome: entry.outcome,
            title: heading.title,
            actor: heading.actor,
            t: opened.t,
            duration: heading.duration.or_else(|| ended?.checked_sub(opened.t)),
            agent: match entry.lane.agent {
                0 => None,
                agent => index
                    .agents
                    .get(usize::from(agent))
                    .map(|entry| SafeText::line(&entry.name)),
            },
            depth: self.depth_of(entry.lane.agent),
            file_events,
            is_suspect: entry.flags.has(StepFlags::SUSPECT),
            has_outside_change: entry.flags.has(StepFlags::OUTSIDE),
            has_branches: entry.flags.has(StepFlags::BRANCHES),
            has_problem: entry.flags.has(StepFlags::PROBLEM),
            has_hidden,
            via: index.steps.via(step),
            transaction: self.transaction_mark(entry),
        })
    }

    fn depth_of(&self, agent: u16) -> u8 {
        let agents = &self.tape.index.agents;
        let (mut agent, mut depth) = (agent, 0);
        while agent != 0 && depth < MAX_DEPTH {
            depth += 1;
            agent = agents
                .get(usize::from(agent))
                .map_or(0, |entry| entry.parent);
        }
        depth
    }

    fn transaction_mark(&self, entry: StepEntry) -> Option<TransactionMark> {
        if !entry.flags.has(StepFlags::TRANSACTION) {
            return None;
        }
        let index = &self.tape.index;
        let transaction = index.transaction_on(entry.lane.view)?;
        let edge = if transaction.begin == entry.opened {
            TransactionEdge::Begin
        } else if transaction.end == Some(entry.opened) {
            TransactionEdge::End
        } else {
            TransactionEdge::Inside
        };
        Some(TransactionMark {
            edge,
            is_rolled_back: transaction.state == TransactionState::RolledBack,
            is_open: transaction.state == TransactionState::Open,
        })
    }

    /// The whole line in so many columns.
    pub fn strip(&self, line: u16, columns: u16) -> Vec<StripCell> {
        let total = u64::from(self.steps_on(line));
        let columns = u64::from(columns);
        let cell = |column: u64| {
            let first = (total * column / columns.max(1)) as u32 + 1;
            let last = (total * (column + 1) / columns.max(1)) as u32;
            self.strip_cell(line, first, last.max(first))
        };
        (0..columns.min(columns * total)).map(cell).collect()
    }

    fn strip_cell(&self, line: u16, first: u32, last: u32) -> StripCell {
        let index = &self.tape.index;
        let mut total = StepTotal::default();
        for steps in index.stretches(line, first..last + 1) {
            total.add(&index.steps.total(steps));
        }
        StripCell {
            steps: (first, last),
            events: u32::try_from(total.events).unwrap_or(u32::MAX),
            file_events: total.with_files,
            has_failure: total.failures > 0,
            has_gap: total.has_kind(StepKind::Gap),
            has_outside_change: total.flags.has(StepFlags::OUTSIDE),
            has_branches: total.flags.has(StepFlags::BRANCHES),
        }
    }
}

/// Lines of a step that are looked through for what nobody sees.
const LOOKED_THROUGH: usize = 8;
/// Bytes of each.
const START: usize = 64 << 10;

/// Agents nested deeper than this are drawn as if they were not.
const MAX_DEPTH: u8 = 16;
