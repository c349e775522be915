//! Calls that wait for their results.
//!
//! A call is written when its result is there, because the result may show that a file was
//! changed outside *before* it, and that stands before it on the timeline. A call whose
//! result does not come in time is written all the same, and goes on waiting.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::{Body, Event};

use super::record::{Block, Returned};
use super::scene::{AgentId, Scene};
use super::title;

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) scene: Scene,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) is_written: bool,
}

impl Call {
    /// The call of a block.
    pub(super) fn new(scene: Scene, block: &Block<'_>) -> Self {
        Self {
            scene,
            id: block.id.or_empty().to_owned(),
            name: block.name.get().unwrap_or("unknown tool").to_owned(),
            arguments: block.input.value(),
            is_written: false,
        }
    }

    /// The call of a result that has none: what the tool was is told by what it returned.
    pub(super) fn of_orphan(scene: Scene, id: &str, returned: &Returned<'_>) -> Self {
        let is_file = returned.file_path.get().is_some();
        let name = match () {
            () if returned.file.0.is_some() => "Read",
            () if returned.edits.0.is_some() => "MultiEdit",
            () if is_file && returned.old_string.get().is_some() => "Edit",
            () if is_file && returned.content.get().is_some() => "Write",
            () => "unknown tool",
        };
        Self {
            scene,
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: Value::Null,
            is_written: true,
        }
    }

    /// Whether it starts a sub-agent.
    pub(super) fn starts_agent(&self) -> bool {
        matches!(self.name.as_str(), "Task" | "Agent")
    }

    /// The event.
    pub(super) fn event(&self, root: &str) -> Event {
        let body = Body::ToolCall {
            name: self.name.clone(),
            arguments: self.arguments.clone(),
        };
        Event::new(body)
            .in_call(self.id.clone())
            .titled(title::call(&self.name, &self.arguments, root))
    }
}

/// Whose calls are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of the main agent.
    Main,
    /// Those of all agents.
    All,
}

/// The calls that wait.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: Vec<Call>,
    /// The ids of results that came before their calls.
    early: HashSet<String>,
}

impl Calls {
    /// Takes a call that waits for its result.
    pub(super) fn put(&mut self, call: Call) {
        self.waiting.push(call);
    }

    /// The call that a result answers: the first of this id, before all of the same agent.
    pub(super) fn take(&mut self, id: &str, agent: Option<AgentId>) -> Option<Call> {
        let is_same = |call: &Call| call.id == id;
        let own = |call: &Call| is_same(call) && call.scene.agent == agent;
        let at = self.waiting.iter().position(own);
        let at = at.or_else(|| self.waiting.iter().position(is_same))?;
        Some(self.waiting.remove(at))
    }

    /// Remembers that a result came without a call.
    pub(super) fn put_early(&mut self, id: &str) {
        self.early.insert(id.to_owned());
    }

    /// Whether the result of a call came before it.
    pub(super) fn take_early(&mut self, id: &str) -> bool {
        self.early.remove(id)
    }

    /// The waiting calls that are not written yet; they count as written from now on.
    pub(super) fn take_unwritten(&mut self, whose: Whose) -> Vec<Call> {
        let is_meant = |call: &&mut Call| {
            let is_theirs = whose == Whose::All || call.scene.agent.is_none();
            !call.is_written && is_theirs
        };
        let mut calls = Vec::new();
        for call in self.waiting.iter_mut().filter(is_meant) {
            call.is_written = true;
            calls.push(call.clone());
        }
        calls
    }

    /// Whether a call waits for its result.
    pub(super) fn has(&self, id: &str) -> bool {
        self.waiting.iter().any(|call| call.id == id)
    }

    /// No call waits any longer.
    pub(super) fn take_all(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.waiting)
    }
}
