//! Sub-agents: who started them, and which steps are theirs.

use crate::model::StepNumber;
use crate::tape::cache::{Keep, Reader, Writer};

/// An agent.
#[derive(Clone, Debug, Default)]
pub struct AgentEntry {
    /// Its id, as events carry it; empty for the main agent.
    pub name: String,
    /// The agent that started it.
    pub parent: u16,
    /// The event that says that it begins, if one does.
    pub start: Option<u32>,
    /// The event that named it first.
    pub(super) named_at: u32,
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
    pub(super) fn new(name: String, parent: u16, named_at: u32) -> Self {
        Self {
            name,
            parent,
            named_at,
            ..Self::default()
        }
    }

    /// The agent as it was after so many events, when each line had so many steps.
    pub(super) fn cut(&self, len: u32, steps_on: impl Fn(u16) -> u32) -> Self {
        let before = |stretch: &AgentStretch| {
            let last = StepNumber(stretch.last.0.min(steps_on(stretch.line)));
            (stretch.first <= last).then_some(AgentStretch { last, ..*stretch })
        };
        Self {
            name: self.name.clone(),
            start: self.start.filter(|start| *start < len),
            stretches: self.stretches.iter().filter_map(before).collect(),
            ..*self
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

impl Keep for Vec<AgentEntry> {
    fn write(&self, out: &mut Writer<'_>) {
        out.lists(self.iter().map(|agent| agent.name.as_bytes()));
        let row = |agent: &AgentEntry| {
            let [has_start, start] = agent.start.map_or([0; 2], |start| [1, start]);
            let stretches = agent.stretches.len() as u32;
            let parent = u32::from(agent.parent);
            [parent, has_start, start, agent.named_at, stretches]
        };
        out.column(&self.iter().map(row).collect::<Vec<_>>());
        let stretches = self.iter().flat_map(|agent| &agent.stretches);
        let row = |steps: &AgentStretch| [u32::from(steps.line), steps.first.0, steps.last.0];
        out.column(&stretches.map(row).collect::<Vec<_>>());
    }

    fn read(from: &mut Reader) -> Self {
        let names: Vec<Box<[u8]>> = from.lists().collect();
        let rows = from.column::<[u32; 5]>();
        let stretches = from.column::<[u32; 3]>();
        from.require(names.len() == rows.len());
        let mut stretches = stretches.iter().map(|[line, first, last]| AgentStretch {
            line: *line as u16,
            first: StepNumber(*first),
            last: StepNumber(*last),
        });
        let agent = |(name, row): (Box<[u8]>, &[u32; 5])| {
            let [parent, has_start, start, named_at, count] = *row;
            AgentEntry {
                name: String::from_utf8_lossy(&name).into_owned(),
                parent: parent as u16,
                start: (has_start == 1).then_some(start),
                named_at,
                stretches: stretches.by_ref().take(count as usize).collect(),
            }
        };
        names.into_iter().zip(rows.iter()).map(agent).collect()
    }
}
