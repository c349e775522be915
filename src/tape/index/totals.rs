//! What stretches of steps hold, kept for each block of them: nothing that is asked of a
//! whole run walks over its steps one by one.

use std::ops::Range;

use super::steps::{StepEntry, StepFlags, Steps};
use crate::model::{Outcome, StepKind};
use crate::tape::cache::{Reader, Writer};

/// Steps in a block.
pub(super) const BLOCK: u32 = 128;

/// What a stretch of steps holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTotal {
    /// Events, from each step's first to its last before the next one of its agent.
    pub events: u64,
    /// Steps that failed, were refused or interrupted.
    pub failures: u32,
    /// Steps with file events.
    pub with_files: u32,
    /// What is known of any of them.
    pub flags: StepFlags,
    /// Their sorts, a bit for each.
    kinds: u8,
    /// The last event of any of them.
    pub(super) last: u32,
}

impl Steps {
    /// What these steps hold.
    pub fn total(&self, steps: Range<u32>) -> StepTotal {
        let mut total = StepTotal::default();
        for (part, block) in self.blocks(steps) {
            if part.len() == BLOCK as usize {
                total.add(block);
            } else {
                part.filter_map(|step| self.get(step))
                    .for_each(|step| total.add(&StepTotal::of(step)));
            }
        }
        total
    }

    /// These steps in parts, each with the total of the block that it is a part of: where
    /// a block holds nothing that is wanted, its steps need not be looked at.
    pub fn blocks(
        &self,
        steps: Range<u32>,
    ) -> impl DoubleEndedIterator<Item = (Range<u32>, &StepTotal)> {
        let end = steps.end.min(self.len());
        let numbers = steps.start / BLOCK..end.div_ceil(BLOCK);
        numbers.filter_map(move |number| {
            let from = steps.start.max(number * BLOCK);
            let to = end.min((number + 1).saturating_mul(BLOCK));
            Some((from..to, self.totals.get(number as usize)?))
        })
    }
}

impl StepTotal {
    /// Whether any of them is of this sort.
    pub const fn has_kind(&self, kind: StepKind) -> bool {
        self.kinds & (1 << kind as u8) != 0
    }

    /// What a step holds that was just opened.
    pub(super) const fn opened(kind: StepKind, outcome: Outcome, at: u32) -> Self {
        Self {
            last: at,
            events: 1,
            failures: outcome.is_failure() as u32,
            with_files: 0,
            flags: StepFlags(0),
            kinds: 1 << kind as u8,
        }
    }

    pub(super) fn of(step: StepEntry) -> Self {
        Self {
            events: u64::from(step.settled - step.opened) + 1,
            with_files: u32::from(step.flags.has(StepFlags::FILES)),
            flags: step.flags,
            ..Self::opened(step.kind, step.outcome, step.last)
        }
    }

    /// Adds what other steps hold.
    pub const fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.failures += other.failures;
        self.with_files += other.with_files;
        self.flags.0 |= other.flags.0;
        self.kinds |= other.kinds;
        if other.last > self.last {
            self.last = other.last;
        }
    }

    pub(super) fn write_all(totals: &[Self], out: &mut Writer<'_>) {
        let events: Vec<u64> = totals.iter().map(|total| total.events).collect();
        let counts: Vec<[u32; 3]> = totals
            .iter()
            .map(|total| [total.failures, total.with_files, total.last])
            .collect();
        let bits: Vec<[u16; 2]> = totals
            .iter()
            .map(|total| [total.flags.0, u16::from(total.kinds)])
            .collect();
        out.column(&events);
        out.column(&counts);
        out.column(&bits);
    }

    pub(super) fn read_all(from: &mut Reader) -> Vec<Self> {
        let events = from.column::<u64>();
        let counts = from.column::<[u32; 3]>();
        let bits = from.column::<[u16; 2]>();
        from.require(events.len() == counts.len() && events.len() == bits.len());
        let columns = events.iter().zip(counts.iter()).zip(bits.iter());
        let total = |((events, [failures, with_files, last]), [flags, kinds]): (
            (&u64, &[u32; 3]),
            &[u16; 2],
        )| {
            Self {
                events: *events,
                failures: *failures,
                with_files: *with_files,
                flags: StepFlags(*flags),
                kinds: *kinds as u8,
                last: *last,
            }
        };
        columns.map(total).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::steps::Lane;
    use super::*;

    #[test]
    fn the_last_event_of_a_step_is_the_last_of_those_that_came_late() {
        let mut steps = Steps::default();
        steps.push(0, StepKind::Tool, Outcome::Pending, Lane::default());
        for position in [9, 5] {
            steps.come_late(0, position);
        }
        assert_eq!(steps.get(0).map(|step| step.last), Some(9));
        assert_eq!(steps.total(0..1).last, 9);
    }

    fn change() -> impl Strategy<Value = (u8, u32, u32)> {
        (0..4_u8, 0..600_u32, 0..200_000_u32)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn totals_are_those_of_the_steps_one_by_one(
            changes in prop::collection::vec(change(), 0..200),
            from in 0..600_u32,
            len in 0..600_u32,
        ) {
            let mut steps = Steps::default();
            for opened in 0..500 {
                let kind = StepKind::ALL[opened as usize % 7];
                steps.push(opened, kind, Outcome::Pending, Lane::default());
            }
            for (what, step, value) in changes {
                match what {
                    3 if step < 500 => steps.come_late(step, value + 500),
                    0 => steps.set_outcome(step, Outcome::ALL[value as usize % 6]),
                    1 => steps.flag(step, StepFlags(1 << (value % 9))),
                    _ => {
                        let settled = steps.get(step).map_or(0, |step| step.settled);
                        steps.settle(step, settled + value);
                    }
                }
            }
            let mut expected = StepTotal::default();
            for step in (from..from + len).filter_map(|step| steps.get(step)) {
                expected.add(&StepTotal::of(step));
            }
            prop_assert_eq!(steps.total(from..from + len), expected);
        }
    }
}
