//! Going on with the tape of a session: what of it the next records depend on.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use super::events::{HOOK, ID, RECORD};
use crate::model::{Body, Event, Header, Kind};
use crate::tape::{RecordError, Recorder, RecorderOptions, Tape, TapeBytes};

/// What a tape says that the next records depend on.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) header: Header,
    /// Records of hooks that are on it.
    pub(super) deliveries: HashSet<String>,
    /// Records of the transcript that are on it.
    pub(super) turns: HashSet<String>,
    /// Its calls, and whether they have a result.
    pub(super) calls: HashMap<String, bool>,
    /// The calls without one.
    pub(super) open: Vec<Event>,
    /// The agents that began and did not end.
    pub(super) agents: Vec<String>,
}

/// Opens a tape to go on with.
pub(super) fn resume(
    path: &Path,
    options: RecorderOptions,
) -> Result<(Recorder, Before), RecordError> {
    let recorder = Recorder::resume(path, options)?;
    let before = read(recorder.bytes()).map_err(RecordError::Write)?;
    Ok((recorder, before))
}

fn read(bytes: TapeBytes) -> std::io::Result<Before> {
    let tape = Tape::read(bytes, &mut ())?;
    let mut before = Before {
        header: tape.header()?,
        ..Before::default()
    };
    for position in 0..tape.index.events.len() {
        let says_something = matches!(
            tape.index.events.kind(position),
            Some(
                Kind::Prompt
                    | Kind::ModelResponse
                    | Kind::ToolCall
                    | Kind::ToolResult
                    | Kind::AgentStart
                    | Kind::AgentEnd
                    | Kind::Raw
            )
        );
        if says_something && let Ok(event) = tape.event(position) {
            before.take(event);
        }
    }
    Ok(before)
}

impl Before {
    fn take(&mut self, event: Event) {
        let hook = event.extra.get(HOOK).and_then(Value::as_object);
        let text = |name: &str| Some(hook?.get(name)?.as_str()?.to_owned());
        self.deliveries.extend(text(ID));
        self.turns.extend(text(RECORD));
        let call = event.head.call.clone();
        match (&event.body, call, &event.head.agent) {
            (Body::ToolCall { .. }, Some(call), _) => {
                self.calls.insert(call, false);
                self.open.push(event);
            }
            (Body::ToolResult { .. }, Some(call), _) => {
                self.open
                    .retain(|open| open.head.call.as_ref() != Some(&call));
                self.calls.insert(call, true);
            }
            (Body::AgentStart { .. }, _, Some(agent)) => self.agents.push(agent.clone()),
            (Body::AgentEnd { .. }, _, Some(agent)) => self.agents.retain(|open| open != agent),
            _ => {}
        }
    }
}
