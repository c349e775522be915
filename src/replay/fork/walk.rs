//! The parent's events behind the fork, in order, looked at before they are taken.

use std::collections::VecDeque;
use std::io;

use crate::model::{Body, Event, FileChange, Scope};
use crate::tape::is_of_stream;

type Events<'a> = Box<dyn Iterator<Item = io::Result<Event>> + 'a>;

/// What is left of the parent.
pub(super) struct Walk<'a> {
    events: Events<'a>,
    front: VecDeque<Event>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(events: Events<'a>) -> Self {
        Self {
            events,
            front: VecDeque::new(),
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        match self.front.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.events.next().transpose(),
        }
    }

    /// The next event, which stays.
    pub(super) fn peek(&mut self) -> io::Result<Option<&Event>> {
        if self.front.is_empty()
            && let Some(event) = self.events.next().transpose()?
        {
            self.front.push_back(event);
        }
        Ok(self.front.front())
    }

    /// Takes what is left of a turn of an agent: up to what the agent is asked or says next.
    /// Further parts of the answer with the id `call` are of the same turn.
    pub(super) fn turn(
        &mut self,
        agent: Option<&str>,
        call: Option<&str>,
    ) -> io::Result<VecDeque<Event>> {
        let mut turn = VecDeque::new();
        while let Some(event) = self.peek()? {
            let is_own = event.head.agent.as_deref() == agent;
            let ends = match &event.body {
                Body::ModelRequest { .. } => is_own,
                Body::ModelResponse { .. } => {
                    is_own && (call.is_none() || event.head.call.as_deref() != call)
                }
                body => is_edge(body),
            };
            if ends {
                break;
            }
            turn.extend(self.next()?);
        }
        Ok(turn)
    }
}

/// Whether no turn goes on behind it.
const fn is_edge(body: &Body) -> bool {
    matches!(
        body,
        Body::Prompt { .. }
            | Body::End { .. }
            | Body::Gap { .. }
            | Body::TxnBegin
            | Body::TxnCommit
            | Body::TxnSavepoint { .. }
            | Body::TxnRollback { .. }
    )
}

/// What the tape holds of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    /// Its id in the parent.
    pub(super) call: Option<String>,
    /// What it did to files, what it showed of them, and other events of it, in order.
    pub(super) events: Vec<Event>,
    /// Its result.
    pub(super) result: Option<Event>,
    /// It did something outside the files.
    pub(super) has_effects: bool,
    /// Another agent worked for it.
    pub(super) has_agents: bool,
}

impl Recorded {
    /// Nothing of this call yet.
    pub(super) fn of(call: &Event) -> Self {
        Self {
            call: call.head.call.clone(),
            ..Self::default()
        }
    }

    /// Takes an event of the call.
    pub(super) fn take(&mut self, event: Event) {
        match &event.body {
            Body::ToolResult { .. } => self.result = Some(event),
            Body::AgentStart { .. } => self.has_agents = true,
            Body::Other { kind, .. } => {
                self.has_effects |= kind.starts_with("effect.") || is_of_stream(&event);
                self.events.push(event);
            }
            _ => self.events.push(event),
        }
    }

    /// What the call did to files.
    pub(super) fn changes(&self) -> Vec<FileChange> {
        let changes = self.events.iter().filter_map(|event| match &event.body {
            Body::File(change) => Some(change.clone()),
            _ => None,
        });
        changes.collect()
    }

    /// Files that it may have written unseen.
    pub(super) fn suspects(&self) -> impl Iterator<Item = &Scope> {
        self.events.iter().filter_map(|event| match &event.body {
            Body::Suspect { scope, .. } => Some(scope),
            _ => None,
        })
    }
}
