//! Sub-agents: who started them, and which steps are theirs.

use crate::model::StepNumber;

/// An agent.
#[derive(Clone, Debug, Default)]
pub struct AgentEntry {
    /// Its id, as events carry it; empty for the main agent.
    pub name: String,
    /// The agent that started it.
    pub parent: u16,
    /// The event that says that it begins, if one does.
    pub start: Option<u32>,
    /// Its steps; of the main agent, none are listed.
    stretches: Vec<AgentStretch>,
}

/// Steps of an agent that follow one another on a line, with none of another in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentStretch {
    /// The line that numbers them.
    pub line: u16,
    /// The first one.
    pub first: StepNumber,
    /// The last one.
    pub last: StepNumber,
}

impl AgentEntry {
    pub(super) fn new(name: String, parent: u16) -> Self {
        Self {
            name,
            parent,
            ..Self::default()
        }
    }

    /// Its steps, in the order of their numbers on each line.
    pub fn stretches(&self) -> &[AgentStretch] {
        &self.stretches
    }

    pub(super) fn push_step(&mut self, line: u16, number: StepNumber) {
        match self.stretches.last_mut() {
            Some(last) if last.line == line && last.last.0 + 1 == number.0 => last.last = number,
            _ => self.stretches.push(AgentStretch {
                line,
                first: number,
                last: number,
            }),
        }
    }
}
