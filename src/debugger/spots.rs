//! Places on the timeline: from what a person says to a spot, and from one spot to the next.

use std::ops::Range;

use super::{Debugger, Spot};
use crate::model::{Cursor, Kind, Place, StepKind, StepNumber, Target};
use crate::tape::{BranchKind, Lane, StepFlags, StepTotal};

/// Which way along a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the end.
    Forward,
    /// Towards the start.
    Back,
}

/// A place cannot be found in this run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// There is no such branch.
    #[error("no branch is named `{0}`; branches: {1}")]
    NoBranch(String, String),
    /// The step lies past the end.
    #[error("the branch has {steps} steps; step {wanted} is past its end")]
    PastEnd {
        /// The step asked for.
        wanted: u32,
        /// The steps there are.
        steps: u32,
    },
    /// The step lies before the start.
    #[error("the branch has {steps} steps; @-{back} is before its start")]
    BeforeStart {
        /// The step asked for, counted from the end.
        back: u32,
        /// The steps there are.
        steps: u32,
    },
    /// Nothing failed.
    #[error("no step failed")]
    NothingFailed,
    /// There is no such event.
    #[error("the tape has no event {0}")]
    NoEvent(u64),
    /// No place that is there was given this name.
    #[error("no mark is named `{0}`")]
    NoMark(String),
}

impl Debugger {
    /// The spot of a place. Of a mark, costs the reading of the small file that keeps it.
    pub fn locate(&self, place: &Place) -> Result<Spot, LocateError> {
        let index = &self.tape.index;
        let line = match &place.branch {
            None => index.current_line,
            Some(name) => index.line_named(name).ok_or_else(|| {
                let lines = index
                    .branches
                    .iter()
                    .filter(|branch| branch.kind == BranchKind::Line);
                let names: Vec<&str> = lines.map(|branch| branch.name.as_str()).collect();
                LocateError::NoBranch(name.clone(), names.join(", "))
            })?,
        };
        let steps = self.steps_on(line);
        match &place.target {
            Target::End => Ok(self.end(line)),
            Target::Step(number) if number.0 <= steps => Ok(self.spot(line, *number)),
            Target::Step(number) => Err(LocateError::PastEnd {
                wanted: number.0,
                steps,
            }),
            Target::FromEnd(back) => match (steps + 1).checked_sub(*back) {
                Some(number) => Ok(self.spot(line, StepNumber(number))),
                None => Err(LocateError::BeforeStart { back: *back, steps }),
            },
            Target::FirstFailure => {
                let start = self.spot(line, StepNumber(0));
                self.next_failure(start, Direction::Forward)
                    .ok_or(LocateError::NothingFailed)
            }
            Target::Seq(seq) => {
                let position = index.events.position(*seq);
                let position = position.ok_or(LocateError::NoEvent(seq.0))?;
                Ok(self.after_event(None, position))
            }
            Target::Time(t) => Ok(match index.events.at_time(*t) {
                Some(position) => self.after_event(None, position),
                None => self.spot(line, StepNumber(0)),
            }),
            Target::Mark(name) => {
                let spot = self.marks().remove(name);
                spot.ok_or_else(|| LocateError::NoMark(name.clone()))
            }
        }
    }

    /// The spot at a step, the nearest one where there is no such step.
    pub fn spot(&self, line: u16, number: StepNumber) -> Spot {
        let number = StepNumber(number.0.min(self.steps_on(line)));
        match self.tape.index.step_on(line, number) {
            Some(step) => self.settled(line, number, step),
            None => self.start(line),
        }
    }

    /// The spot behind the last event of a line.
    pub(super) fn end(&self, line: u16) -> Spot {
        let last = self.spot(line, StepNumber(self.steps_on(line)));
        let index = &self.tape.index;
        if line != index.current_line {
            return last;
        }
        // What came late belongs to the end of the tape, too.
        Spot {
            cursor: Cursor {
                position: index.events.len(),
                branch: self.open_view(last.cursor.branch, line),
            },
            ..last
        }
    }

    /// A transaction's branch while it is open, its line after it ended.
    fn open_view(&self, view: u16, line: u16) -> u16 {
        match self.tape.index.transaction_on(view) {
            Some(transaction) if transaction.end.is_none() => view,
            _ => line,
        }
    }

    /// The spot before the first step of a line.
    fn start(&self, line: u16) -> Spot {
        let index = &self.tape.index;
        let first = index
            .step_on(line, StepNumber(1))
            .and_then(|step| index.steps.get(step));
        Spot {
            step: StepNumber(0),
            cursor: Cursor {
                position: first.map_or(index.events.len(), |step| step.opened),
                branch: line,
            },
        }
    }

    fn settled(&self, line: u16, number: StepNumber, step: u32) -> Spot {
        let entry = self.tape.index.steps.get(step);
        Spot {
            step: number,
            cursor: entry.map_or(Cursor::default(), |entry| Cursor {
                position: entry.settled + 1,
                branch: self.view_after(entry.settled, entry.lane, line),
            }),
        }
    }

    /// Whose files are seen after an event, by who follows `line`: those of the step's
    /// transaction, or once that ended those of the line.
    fn view_after(&self, position: u32, lane: Lane, line: u16) -> u16 {
        let view = lane.view;
        if view == lane.line {
            return line;
        }
        match self.tape.index.transaction_on(view) {
            Some(transaction) if transaction.end.is_some_and(|end| end <= position) => line,
            _ => view,
        }
    }

    /// The state that a spot is compared with: what its step began with, or, between the
    /// events of a step, what the event began with.
    pub fn spot_before(&self, spot: Spot) -> Spot {
        let line = self.line_of(spot);
        let step = self.tape.index.step_on(line, spot.step);
        let Some(entry) = step.and_then(|step| self.tape.index.steps.get(step)) else {
            return spot;
        };
        let is_whole_step = spot.cursor.position > entry.settled;
        let position = if is_whole_step {
            entry.opened
        } else {
            spot.cursor.position.saturating_sub(1)
        };
        Spot {
            step: StepNumber(spot.step.0.saturating_sub(u32::from(is_whole_step))),
            cursor: Cursor {
                position,
                branch: self.view_after(position, entry.lane, line),
            },
        }
    }

    /// The spot so many events further along the line; negative goes back.
    pub fn step_event(&self, spot: Spot, delta: i64) -> Spot {
        let line = self.line_of(spot);
        let mut at = spot;
        for _ in 0..delta.unsigned_abs() {
            match self.neighbour(line, at.cursor.position, delta > 0) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// The nearest spot behind another event of the line.
    fn neighbour(&self, line: u16, position: u32, is_forward: bool) -> Option<Spot> {
        let mut position = position;
        loop {
            position = if is_forward {
                position
                    .checked_add(1)
                    .filter(|next| *next <= self.tape.index.events.len())?
            } else {
                position.checked_sub(1).filter(|before| *before > 0)?
            };
            if self.is_on(line, position - 1) {
                return Some(self.after_event(Some(line), position - 1));
            }
        }
    }

    /// The spot just behind an event, on the line that is followed or on its own.
    pub(super) fn after_event(&self, line: Option<u16>, position: u32) -> Spot {
        let index = &self.tape.index;
        let step = index.events.get(position).and_then(|event| event.step);
        let entry = step.and_then(|step| Some((step, index.steps.get(step)?)));
        let Some((step, entry)) = entry else {
            let line = line.unwrap_or(0);
            return Spot {
                step: index.step_at(line, position + 1),
                cursor: Cursor {
                    position: position + 1,
                    branch: line,
                },
            };
        };
        let line = line.unwrap_or(entry.lane.line);
        Spot {
            step: index.number_of(step).unwrap_or_default(),
            cursor: Cursor {
                position: position + 1,
                branch: self.view_after(position, entry.lane, line),
            },
        }
    }

    /// Whether an event lies on a line or on what the line inherited.
    pub(super) fn is_on(&self, line: u16, position: u32) -> bool {
        let index = &self.tape.index;
        let Some(step) = index.events.get(position).and_then(|event| event.step) else {
            return true;
        };
        let Some(own) = index.steps.get(step).map(|entry| entry.lane.line) else {
            return false;
        };
        let (mut line, mut limit) = (line, u32::MAX);
        loop {
            if line == own {
                return position < limit;
            }
            match index
                .branches
                .get(usize::from(line))
                .and_then(|branch| branch.parent)
            {
                Some((parent, left)) => (line, limit) = (parent, limit.min(left)),
                None => return false,
            }
        }
    }

    /// The next step along the line that failed, was refused or interrupted.
    pub fn next_failure(&self, from: Spot, direction: Direction) -> Option<Spot> {
        let may_hold = |total: &StepTotal| total.failures > 0;
        self.next_step_where(from, direction, may_hold, |step| {
            self.tape.index.steps.outcome(step).is_failure()
        })
    }

    /// The next snapshot or transaction edge along the line.
    pub fn next_edge(&self, from: Spot, direction: Direction) -> Option<Spot> {
        let may_hold = |total: &StepTotal| {
            total.has_kind(StepKind::Transaction) || total.flags.has(StepFlags::SNAPSHOT)
        };
        self.next_step_where(from, direction, may_hold, |step| {
            self.tape.index.steps.get(step).is_some_and(|entry| {
                entry.kind == StepKind::Transaction || entry.flags.has(StepFlags::SNAPSHOT)
            })
        })
    }

    /// The settled spot of the step in which an event changed a file, as a line shows it.
    pub(super) fn spot_of_change(&self, line: u16, position: u32) -> Spot {
        let index = &self.tape.index;
        let step = index.events.get(position).and_then(|event| event.step);
        match step.and_then(|step| Some((step, index.number_of(step)?))) {
            Some((step, number)) => self.settled(line, number, step),
            None => self.spot(line, index.step_at(line, position + 1)),
        }
    }

    /// The next step that is wanted, of those whose block may hold one.
    fn next_step_where(
        &self,
        from: Spot,
        direction: Direction,
        may_hold: impl Fn(&StepTotal) -> bool,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Option<Spot> {
        let line = self.line_of(from);
        let index = &self.tape.index;
        let steps_in = |numbers: Range<u32>| {
            index
                .stretches(line, numbers)
                .flat_map(|stretch| index.steps.blocks(stretch))
                .filter(|(_, total)| may_hold(total))
                .flat_map(|(part, _)| part)
        };
        let step = match direction {
            Direction::Forward => {
                steps_in(from.step.0 + 1..self.steps_on(line) + 1).find(|step| is_wanted(*step))
            }
            Direction::Back => steps_in(1..from.step.0).rfind(|step| is_wanted(*step)),
        }?;
        Some(self.settled(line, index.number_of(step)?, step))
    }

    /// The line that a spot's steps are numbered on.
    pub fn line_of(&self, spot: Spot) -> u16 {
        self.line_of_branch(spot.cursor.branch)
    }

    pub(super) fn line_of_branch(&self, branch: u16) -> u16 {
        let mut line = branch;
        while let Some(branch) = self.tape.index.branches.get(usize::from(line))
            && branch.kind == BranchKind::Transaction
            && let Some((parent, _)) = branch.parent
        {
            line = parent;
        }
        line
    }

    pub(super) fn steps_on(&self, line: u16) -> u32 {
        let branch = self.tape.index.branches.get(usize::from(line));
        branch.map_or(0, crate::tape::BranchEntry::steps)
    }

    /// The events of a step, in order, wherever they stand. Costs a look at each event from
    /// its first to its last, those of others between them, too.
    pub(super) fn events_of(&self, step: u32) -> impl Iterator<Item = (u32, Kind)> {
        let entry = self.tape.index.steps.get(step);
        let range = entry.map_or(0..0, |entry| entry.opened..entry.last + 1);
        self.events_in(step, range)
    }

    /// The events of a step that a row of the timeline looks at: those near its first one,
    /// and the last. What a row says must not cost more because a call did a great many
    /// things, or others did while it ran.
    pub(super) fn telling_events_of(&self, step: u32) -> impl Iterator<Item = (u32, Kind)> {
        const NEAR: u32 = 4096;
        let entry = self.tape.index.steps.get(step);
        let (first, last) = entry.map_or((0..0, 0..0), |entry| {
            let near = entry.last.min(entry.opened.saturating_add(NEAR));
            (entry.opened..near, entry.last..entry.last + 1)
        });
        self.events_in(step, first.chain(last))
    }

    fn events_in(
        &self,
        step: u32,
        positions: impl Iterator<Item = u32>,
    ) -> impl Iterator<Item = (u32, Kind)> {
        positions.filter_map(move |position| {
            let event = self.tape.index.events.get(position)?;
            (event.step == Some(step)).then_some((position, event.kind))
        })
    }
}
