//! The sub-agents of a run: which steps are whose, so that they can be folded.

use super::{AgentRow, Debugger};
use crate::model::StepNumber;
use crate::tape::AgentEntry;
use crate::text::SafeText;

impl Debugger {
    /// The sub-agents with steps on a line. Costs a look at each stretch of their steps, and
    /// for each agent a read of two lines.
    pub fn agents(&self, line: u16) -> Vec<AgentRow> {
        let agents = self.tape.index.agents.iter().enumerate().skip(1);
        agents
            .filter_map(|(id, agent)| self.agent_row(line, id as u16, agent))
            .collect()
    }

    fn agent_row(&self, line: u16, id: u16, agent: &AgentEntry) -> Option<AgentRow> {
        let index = &self.tape.index;
        let mut row = AgentRow {
            id,
            parent: agent.parent,
            name: SafeText::line(&self.sort_of_agent(agent)),
            call: self.call_of_agent(line, agent),
            stretches: Vec::new(),
            failed: 0,
            duration: 0,
        };
        for stretch in agent.stretches() {
            // On a line that left this one, only what it inherited.
            let Some(last) = self.last_on(line, stretch.line) else {
                continue;
            };
            let (first, last) = (stretch.first.0, stretch.last.0.min(last));
            if first > last {
                continue;
            }
            row.stretches.push((first, last));
            let steps = index.stretches(line, first..last + 1);
            row.failed += steps
                .map(|steps| index.steps.total(steps).failures)
                .sum::<u32>();
        }
        row.stretches.sort_unstable();
        let (first, last) = (row.stretches.first()?.0, row.stretches.last()?.1);
        let time = |number: u32, is_end: bool| {
            let step = index.step_on(line, StepNumber(number))?;
            let entry = index.steps.get(step)?;
            let position = if is_end { entry.last } else { entry.opened };
            index.events.get(position).map(|event| event.t)
        };
        let times = time(first, false).zip(time(last, true));
        row.duration = times.map_or(0, |(start, end)| end.saturating_sub(start));
        Some(row)
    }

    /// The last step of another line that is one of this line, too.
    fn last_on(&self, line: u16, other: u16) -> Option<u32> {
        let branches = &self.tape.index.branches;
        let (mut line, mut last) = (line, u32::MAX);
        while line != other {
            let branch = branches.get(usize::from(line))?;
            last = last.min(branch.inherited);
            line = branch.parent?.0;
        }
        Some(last)
    }

    /// What sort of agent it is, as its start says; else its id.
    pub(super) fn sort_of_agent(&self, agent: &AgentEntry) -> String {
        let named = agent.start.and_then(|start| {
            let told = self
                .tape
                .with_head(start, |head| Some(head.name?.decode().into_owned()));
            told.ok()?.ok()?
        });
        match named {
            Some(name) if !name.is_empty() => name,
            _ => agent.name.clone(),
        }
    }

    /// The step of the call that started it, where that is told.
    fn call_of_agent(&self, line: u16, agent: &AgentEntry) -> Option<StepNumber> {
        let index = &self.tape.index;
        let step = index.events.get(agent.start?)?.step?;
        let is_its_own = index.steps.get(step)?.lane.agent != agent.parent;
        let number = index.number_of(step).filter(|_| !is_its_own)?;
        (index.step_on(line, number) == Some(step)).then_some(number)
    }
}
