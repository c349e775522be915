//! The sub-agents of a session: which of them began, and by which calls.

use std::collections::{HashMap, HashSet};

/// The sub-agents so far.
#[derive(Debug, Default)]
pub(super) struct Agents {
    begun: HashSet<String>,
    /// Calls that may start one and have not, with the agent that made them.
    starting: Vec<(String, Option<String>)>,
    /// Which agent made a call that is open.
    of_call: HashMap<String, Option<String>>,
}

impl Agents {
    /// Takes note of a call.
    pub(super) fn called(&mut self, call: &str, tool: &str, agent: Option<&str>) {
        let agent = agent.map(str::to_owned);
        if matches!(tool, "Task" | "Agent") {
            self.starting.push((call.to_owned(), agent.clone()));
        }
        self.of_call.insert(call.to_owned(), agent);
    }

    /// A call is over: it starts no agent any more.
    pub(super) fn returned(&mut self, call: &str) {
        self.starting.retain(|(starting, _)| starting != call);
        self.of_call.remove(call);
    }

    /// The agent that made a call which is open.
    pub(super) fn of_call(&self, call: &str) -> Option<&str> {
        self.of_call.get(call)?.as_deref()
    }

    /// Whether an agent begins now.
    pub(super) fn begins(&mut self, agent: &str) -> bool {
        self.begun.insert(agent.to_owned())
    }

    /// The call that started an agent which begins now: the one that waited longest.
    pub(super) fn starter(&mut self) -> Option<String> {
        let is_there = !self.starting.is_empty();
        is_there.then(|| self.starting.remove(0).0)
    }

    /// Whether an agent ends that had begun. It may begin again.
    pub(super) fn ends(&mut self, agent: &str) -> bool {
        self.begun.remove(agent)
    }
}
