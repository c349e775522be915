//! Where forks leave a run, so that its timeline can say so.

use std::collections::BTreeMap;

use super::known::Known;
use super::{ForkSearch, Presence, presence};
use crate::debugger::Debugger;
use crate::model::{Edit, Seq, StepNumber};

/// Where a fork leaves a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The last event that they share.
    pub seq: Seq,
    /// What was changed, and at which step; `None` where the fork does not say.
    pub edit: Option<Edit>,
}

/// The forks of a run, as its timeline shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkPoints {
    /// How many forks it has, wherever they leave it.
    pub forks: usize,
    /// The steps of a branch at which forks leave it, in order, and how many.
    pub steps: Vec<(StepNumber, u32)>,
}

impl ForkSearch {
    /// Where forks leave the run: those that are there. Costs a look at the files that may be
    /// some.
    pub fn points(&self) -> Vec<ForkPoint> {
        let known = self.relatives();
        let is_there = |id: &str, tape: &Known| presence(id, &tape.path) == Presence::There;
        let points = known.iter().filter_map(|(id, tape)| {
            let (parent, seq) = tape.parent.as_ref()?;
            let is_one = *parent == self.header.id && !parent.is_empty();
            (is_one && is_there(id, tape)).then(|| ForkPoint {
                seq: *seq,
                edit: tape.edit.clone(),
            })
        });
        points.collect()
    }

    /// The last events that forks share with the run, be they there or not.
    fn shared_ends(&self) -> Vec<Seq> {
        let known = self.relatives();
        let parents = known.values().filter_map(|tape| tape.parent.as_ref());
        let own = parents.filter(|(id, _)| *id == self.header.id);
        let mut ends: Vec<Seq> = own.map(|(_, seq)| *seq).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }
}

impl Debugger {
    /// The last events that forks share with the run, as far as they are known.
    pub(in crate::debugger) fn fork_points(&self) -> Vec<Seq> {
        self.fork_search().shared_ends()
    }

    /// At which steps of a branch these forks leave it.
    pub fn forks_on(&self, line: u16, points: &[ForkPoint]) -> ForkPoints {
        let index = &self.tape.index;
        let mut steps: BTreeMap<StepNumber, u32> = BTreeMap::new();
        for point in points {
            let number = self.step_left_at(point).and_then(|step| {
                let number = index.number_of(step)?;
                (index.step_on(line, number) == Some(step)).then_some(number)
            });
            if let Some(number) = number {
                *steps.entry(number).or_default() += 1;
            }
        }
        ForkPoints {
            forks: points.len(),
            steps: steps.into_iter().collect(),
        }
    }

    /// The step, of all branches, that a fork changed; else the last one that it shares.
    fn step_left_at(&self, point: &ForkPoint) -> Option<u32> {
        let index = &self.tape.index;
        let Some(edit) = &point.edit else {
            return index.events.get(index.events.position(point.seq)?)?.step;
        };
        let line = match &edit.branch {
            Some(name) => index.line_named(name)?,
            None => 0,
        };
        index.step_on(line, edit.step)
    }
}
