//! What calls of the parent did outside the files: the answers to the same requests in a fork.
//!
//! A request is the tool and its arguments. It is answered as it was recorded, in order of use:
//! of equal requests one after the other, each gets its own answer. One that was never made has
//! none, and none is sent. What a call did to files besides is proven by nothing here: such an
//! answer is not given.

use std::collections::BTreeSet;

use super::calls::is_same_call;
use super::walk::Recorded;
use crate::model::{Body, Event};

/// A recorded call that did something outside the files: its events, its `tool.call` first.
#[derive(Clone, Debug)]
pub struct OutwardCall {
    /// The call.
    pub call: Event,
    /// What stands on the tape of it behind that, in order.
    pub events: Vec<Event>,
}

/// The recorded answers that no call of the fork got yet.
#[derive(Debug, Default)]
pub(super) struct Outward {
    /// The tools that they are of, those that got one among them.
    tools: BTreeSet<String>,
    calls: Vec<(Event, Recorded)>,
}

impl Outward {
    pub(super) fn new(calls: Vec<OutwardCall>) -> Self {
        let calls = calls.into_iter().map(|outward| {
            let mut recorded = Recorded::of(&outward.call);
            for event in outward.events {
                recorded.take(event);
            }
            (outward.call, recorded)
        });
        let calls = calls.filter(|(_, recorded)| recorded.has_effects);
        let calls: Vec<(Event, Recorded)> = calls.collect();
        let tools = calls.iter().filter_map(|(call, _)| match &call.body {
            Body::ToolCall { name, .. } => Some(name.clone()),
            _ => None,
        });
        Self {
            tools: tools.collect(),
            calls,
        }
    }

    /// The next answer to a call that asks for this.
    pub(super) fn take(&mut self, asked: &Body) -> Option<Recorded> {
        let at = self.calls.iter().position(|(call, recorded)| {
            let is_whole = recorded.result.is_some() && !recorded.has_agents;
            let is_outward_alone =
                recorded.changes().is_empty() && recorded.suspects().next().is_none();
            is_whole && is_outward_alone && is_same_call(&call.body, asked)
        })?;
        Some(self.calls.remove(at).1)
    }

    /// The answer to this call of the parent was given.
    pub(super) fn use_up(&mut self, call: Option<&str>) {
        let is_it = |(known, _): &(Event, Recorded)| known.head.call.as_deref() == call;
        self.calls.retain(|known| call.is_none() || !is_it(known));
    }

    /// Whether calls of a tool did something outside the files.
    pub(super) fn is_of(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// Whether the answer to this call of the parent was not given yet.
    pub(super) fn has(&self, call: Option<&str>) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|(known, _)| known.head.call.as_deref() == call)
    }
}
