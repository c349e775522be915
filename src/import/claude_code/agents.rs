//! Sub-agents: which records are theirs, and which call started them.
//!
//! Over the years their records stood in the main file, in progress records, and in files
//! of their own. Whatever the layout, an agent has an id, and mostly a call.

use std::collections::HashMap;

use crate::model::LineHash;

use super::calls::Call;
use super::effects::text;
use super::scene::AgentId;

/// The sub-agents of a run.
#[derive(Debug, Default)]
pub(super) struct Agents {
    all: Vec<Agent>,
    by_name: HashMap<String, AgentId>,
    /// Whose a record of the main file is, where records of sub-agents stand in it.
    inline: HashMap<LineHash, AgentId>,
    /// Calls that start agents, and what they ask for.
    starts: Vec<Start>,
    /// Agents that have a file of their own, and the calls that started them.
    filed: HashMap<String, Option<String>>,
}

/// A sub-agent.
#[derive(Debug)]
pub(super) struct Agent {
    /// Its id, as events carry it.
    pub(super) id: String,
    /// The call that started it.
    pub(super) call: Option<String>,
    /// Its records stand in the main file.
    pub(super) is_inline: bool,
    pub(super) is_over: bool,
}

/// A call that starts a sub-agent.
#[derive(Debug)]
struct Start {
    call: String,
    sort: String,
    prompt: String,
    is_matched: bool,
}

impl Agents {
    /// An agent.
    pub(super) fn get(&self, agent: AgentId) -> Option<&Agent> {
        self.all.get(agent)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Says that an agent has a file of its own, and which call started it.
    pub(super) fn expect(&mut self, id: &str, call: Option<&str>) {
        self.filed.insert(id.to_owned(), call.map(str::to_owned));
    }

    /// Whether an agent has a file of its own.
    pub(super) fn is_filed(&self, id: &str) -> bool {
        self.filed.contains_key(id)
    }

    /// Remembers a call that starts an agent.
    pub(super) fn put_start(&mut self, call: &Call) {
        self.starts.push(Start {
            call: call.id.clone(),
            sort: text(&call.arguments, "subagent_type")
                .unwrap_or_default()
                .to_owned(),
            prompt: text(&call.arguments, "prompt")
                .unwrap_or_default()
                .to_owned(),
            is_matched: false,
        });
    }

    /// The agent with this id; a new one, with what sort it is, if it was not seen before.
    pub(super) fn named(&mut self, id: &str, call: Option<&str>) -> (AgentId, Option<String>) {
        if let Some(agent) = self.by_name.get(id) {
            return (*agent, None);
        }
        let filed = self.filed.get(id).cloned().flatten();
        let call = call.map(str::to_owned).or(filed);
        let is_asked = |start: &&mut Start| Some(&start.call) == call.as_ref();
        let start = self.starts.iter_mut().find(is_asked);
        let sort = start.map(|start| {
            start.is_matched = true;
            start.sort.clone()
        });
        let agent = self.all.len();
        self.all.push(Agent {
            id: id.to_owned(),
            call,
            is_inline: false,
            is_over: false,
        });
        self.by_name.insert(id.to_owned(), agent);
        (agent, Some(sort.unwrap_or_default()))
    }

    /// The agent whose record below this one stands in the main file.
    pub(super) fn inline(&self, parent: Option<LineHash>) -> Option<AgentId> {
        parent.and_then(|parent| self.inline.get(&parent)).copied()
    }

    /// Remembers whose a record of the main file is.
    pub(super) fn put_inline(&mut self, record: LineHash, agent: AgentId) {
        self.inline.insert(record, agent);
        if let Some(agent) = self.all.get_mut(agent) {
            agent.is_inline = true;
        }
    }

    /// The call that asked for this, and was not matched with an agent yet; or else the
    /// first such call at all.
    pub(super) fn call_asking(&self, prompt: &str) -> Option<String> {
        let mut open = self.starts.iter().filter(|start| !start.is_matched);
        let found = open.clone().find(|start| start.prompt == prompt);
        found
            .or_else(|| open.next())
            .map(|start| start.call.clone())
    }

    /// The agents that a call started and that are not over.
    pub(super) fn started_by(&self, call: &str) -> Vec<AgentId> {
        let is_meant = |agent: &Agent| agent.call.as_deref() == Some(call) && !agent.is_over;
        (0..self.all.len())
            .filter(|at| self.all.get(*at).is_some_and(is_meant))
            .collect()
    }

    /// The agents that are not over.
    pub(super) fn open(&self) -> Vec<AgentId> {
        (0..self.all.len())
            .filter(|at| self.all.get(*at).is_some_and(|agent| !agent.is_over))
            .collect()
    }

    /// The agent is over.
    pub(super) fn end(&mut self, agent: AgentId) {
        if let Some(agent) = self.all.get_mut(agent) {
            agent.is_over = true;
        }
    }

    /// Whether a call has an agent whose records were seen.
    pub(super) fn has_of(&self, call: &str) -> bool {
        self.all
            .iter()
            .any(|agent| agent.call.as_deref() == Some(call))
    }

    /// The agent with this id, if it was seen.
    pub(super) fn id_of(&self, id: &str) -> Option<AgentId> {
        self.by_name.get(id).copied()
    }
}
