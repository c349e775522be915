//! Which sub-agents are folded, and what rows that leaves of the timeline.
//!
//! A folded agent is one row: it stands where its first step stands, for that step, for all
//! its others, and for those of the agents that it started. Steps keep their numbers. What
//! is done for a key is a search among the stretches of folded steps, however long they are.

use std::collections::{BTreeMap, BTreeSet};

use super::held::Ticket;
use super::search::Search;
use crate::debugger::AgentRow;
use crate::text::SafeText;

/// The folded agents of a branch.
#[derive(Debug, Default)]
pub(super) struct Folding {
    /// The agents that a person folded, by the index's numbers: what is worth keeping.
    folded: BTreeSet<u16>,
    /// A person has folded or unfolded one since the run was opened.
    is_by_hand: bool,
    /// The agents that are one row each.
    folds: Vec<Fold>,
    /// Which of them has its row at which step.
    at: BTreeMap<u32, usize>,
    /// The steps that have no row, in order.
    hidden: Vec<Hidden>,
    /// The first step of each agent that is not hidden in a fold.
    firsts: BTreeMap<u32, u16>,
    /// The search whose hits were counted, and how many steps it had.
    counted: Option<(Ticket, usize)>,
}

/// An agent that is one row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fold {
    /// The agent.
    pub(super) agent: u16,
    /// What sort of agent it is.
    pub(super) name: SafeText,
    /// Its first step, at which the row stands.
    pub(super) first: u32,
    /// Its steps and those of the agents that it started.
    pub(super) steps: u32,
    /// How many of them failed, were refused or interrupted.
    pub(super) failed: u32,
    /// How long it took, in microseconds.
    pub(super) duration: u64,
    /// How many of them have a hit.
    pub(super) hits: usize,
}

/// Steps that follow one another and have no row.
#[derive(Clone, Copy, Debug)]
struct Hidden {
    first: u32,
    last: u32,
    /// How many steps have no row before these.
    before: u32,
    /// The fold that they are in.
    fold: usize,
}

impl Folding {
    /// Takes in which agents there are.
    pub(super) fn set_agents(&mut self, agents: &[AgentRow]) {
        let by_id: BTreeMap<u16, &AgentRow> = agents.iter().map(|row| (row.id, row)).collect();
        // The outermost fold around an agent.
        let fold_of = |row: &AgentRow| {
            let parents = std::iter::successors(Some(row.id), |id| {
                let parent = by_id.get(id)?.parent;
                (parent != 0 && parent != *id).then_some(parent)
            });
            let is_folded = |id: &u16| self.folded.contains(id) && by_id.contains_key(id);
            parents.take(MAX_DEPTH).filter(is_folded).last()
        };
        let mut members: BTreeMap<u16, Vec<&AgentRow>> = BTreeMap::new();
        self.firsts.clear();
        for row in agents {
            match (fold_of(row), row.stretches.first()) {
                (Some(fold), _) => members.entry(fold).or_default().push(row),
                (None, Some((first, _))) => drop(self.firsts.insert(*first, row.id)),
                (None, None) => {}
            }
        }
        self.folds.clear();
        self.at.clear();
        self.hidden.clear();
        for (agent, members) in members {
            self.add_fold(agent, &members, by_id.get(&agent).copied());
        }
        self.hidden.sort_unstable_by_key(|hidden| hidden.first);
        let mut before = 0;
        for hidden in &mut self.hidden {
            hidden.before = before;
            before += hidden.last - hidden.first + 1;
        }
        self.counted = None;
    }

    fn add_fold(&mut self, agent: u16, members: &[&AgentRow], row: Option<&AgentRow>) {
        let stretches = members.iter().flat_map(|row| row.stretches.iter().copied());
        let first = stretches.clone().map(|(first, _)| first).min();
        let (Some(first), Some(row)) = (first, row) else {
            return;
        };
        let fold = self.folds.len();
        self.at.insert(first, fold);
        self.folds.push(Fold {
            agent,
            name: row.name.clone(),
            first,
            steps: stretches
                .clone()
                .map(|(first, last)| last - first + 1)
                .sum(),
            failed: members.iter().map(|row| row.failed).sum(),
            duration: row.duration,
            hits: 0,
        });
        for (from, to) in stretches {
            let from = if from == first { from + 1 } else { from };
            if from <= to {
                self.hidden.push(Hidden {
                    first: from,
                    last: to,
                    before: 0,
                    fold,
                });
            }
        }
    }

    /// The agents that a person folded.
    pub(super) fn folded(&self) -> &BTreeSet<u16> {
        &self.folded
    }

    /// Folds agents as they were left, unless some were folded or unfolded since.
    pub(super) fn fold_as(&mut self, folded: &BTreeSet<u16>, agents: &[AgentRow]) {
        if !self.is_by_hand && self.folded != *folded {
            self.folded.clone_from(folded);
            self.set_agents(agents);
        }
    }

    /// Folds an agent, or unfolds it.
    pub(super) fn toggle(&mut self, agent: u16, agents: &[AgentRow]) {
        self.is_by_hand = true;
        if !self.folded.remove(&agent) {
            self.folded.insert(agent);
        }
        self.set_agents(agents);
    }

    /// Folds these agents and no others.
    pub(super) fn fold_only(&mut self, folded: BTreeSet<u16>, agents: &[AgentRow]) {
        self.is_by_hand = true;
        self.folded = folded;
        self.set_agents(agents);
    }

    /// Whether all of these are folded.
    pub(super) fn has_folded(&self, agents: &BTreeSet<u16>) -> bool {
        agents.is_subset(&self.folded)
    }

    /// Forgets all agents: they are of another file.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether every step has a row.
    pub(super) fn is_empty(&self) -> bool {
        self.folds.is_empty()
    }

    /// How many agents are one row each.
    pub(super) fn len(&self) -> usize {
        self.folds.len()
    }

    /// The row of the last of so many steps; row 0 is the place before the first one.
    pub(super) fn last_row(&self, steps: u32) -> u32 {
        let count = self.hidden_at(steps).map_or(0, |hidden| {
            hidden.before + hidden.last.min(steps) + 1 - hidden.first
        });
        steps - count
    }

    /// The row in which a step is seen: its own, or that of its fold.
    pub(super) fn row_of(&self, step: u32) -> u32 {
        match self.hidden_at(step) {
            Some(hidden) if step <= hidden.last => {
                let first = self.folds.get(hidden.fold).map_or(step, |fold| fold.first);
                self.own_row(first)
            }
            _ => self.own_row(step),
        }
    }

    fn own_row(&self, step: u32) -> u32 {
        let hidden = self.hidden_at(step);
        step - hidden.map_or(0, |hidden| hidden.before + hidden.last + 1 - hidden.first)
    }

    /// The last stretch without rows that begins at or before a step.
    fn hidden_at(&self, step: u32) -> Option<&Hidden> {
        let after = self.hidden.partition_point(|hidden| hidden.first <= step);
        self.hidden.get(after.checked_sub(1)?)
    }

    /// The step of a row; of a fold, its first one.
    pub(super) fn step_at(&self, row: u32) -> u32 {
        let after = self
            .hidden
            .partition_point(|hidden| hidden.first - hidden.before <= row);
        let hidden = after.checked_sub(1).and_then(|at| self.hidden.get(at));
        row + hidden.map_or(0, |hidden| hidden.before + hidden.last + 1 - hidden.first)
    }

    /// The fold whose row stands at a step.
    pub(super) fn fold_at(&self, step: u32) -> Option<&Fold> {
        self.folds.get(*self.at.get(&step)?)
    }

    /// The agent whose first step this is, where its steps have rows.
    pub(super) fn opens_at(&self, step: u32) -> bool {
        self.firsts.contains_key(&step)
    }

    /// Counts in which steps of the folds there are hits, unless that is known.
    pub(super) fn count_hits(&mut self, search: Option<&Search>) {
        let key = search.map(|search| (search.ticket, search.steps().len()));
        if self.counted == key && (key.is_some() || self.folds.iter().all(|fold| fold.hits == 0)) {
            return;
        }
        self.counted = key;
        let steps = search.map_or(&[][..], Search::steps);
        let hits = |first: u32, last: u32| {
            steps.partition_point(|step| *step <= last)
                - steps.partition_point(|step| *step < first)
        };
        for fold in &mut self.folds {
            fold.hits = hits(fold.first, fold.first);
        }
        for hidden in &self.hidden {
            if let Some(fold) = self.folds.get_mut(hidden.fold) {
                fold.hits += hits(hidden.first, hidden.last);
            }
        }
    }
}

/// Agents nested deeper than this are folded by themselves.
const MAX_DEPTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: u16, parent: u16, stretches: &[(u32, u32)]) -> AgentRow {
        AgentRow {
            id,
            parent,
            name: SafeText::line("explore"),
            call: None,
            stretches: stretches.to_vec(),
            failed: 1,
            duration: 0,
        }
    }

    /// The steps that have rows, of 20.
    fn rows(folding: &Folding) -> Vec<u32> {
        (0..=folding.last_row(20))
            .map(|row| folding.step_at(row))
            .collect()
    }

    #[test]
    fn a_folded_agent_is_one_row_with_all_that_it_started() {
        let agents = [
            agent(1, 0, &[(3, 4), (7, 9)]),
            agent(2, 1, &[(5, 6)]),
            agent(3, 0, &[(12, 12), (14, 15)]),
        ];
        let mut folding = Folding::default();
        folding.set_agents(&agents);
        assert_eq!(rows(&folding), (0..=20).collect::<Vec<_>>());
        folding.toggle(2, &agents);
        let expected: Vec<u32> = (0..=20).filter(|step| *step != 6).collect();
        assert_eq!(rows(&folding), expected);
        folding.toggle(1, &agents);
        folding.toggle(3, &agents);
        let expected = [0, 1, 2, 3, 10, 11, 12, 13, 16, 17, 18, 19, 20];
        assert_eq!(rows(&folding), expected);
        for (row, step) in (0..).zip(expected) {
            assert_eq!(folding.row_of(step), row, "step {step}");
        }
        assert_eq!(folding.row_of(6), 3);
        assert_eq!(folding.row_of(15), 6);
        let fold = folding.fold_at(3).unwrap();
        assert_eq!((fold.steps, fold.failed), (7, 2));
        folding.toggle(1, &agents);
        assert_eq!(folding.fold_at(5).map(|fold| fold.steps), Some(2));
        // The run grew: what was folded stays so.
        let mut grown = agents;
        grown[2].stretches.push((17, 20));
        folding.set_agents(&grown);
        let fold = folding.fold_at(12).unwrap();
        assert_eq!((fold.steps, folding.row_of(19)), (7, folding.row_of(12)));
    }
}
