//! What a hook's record is on a tape. Pure: one record, one event.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Delivery;
use crate::import::claude_code::{returned, title_of_call, title_of_words};
use crate::model::{Body, Event, Outcome};

/// The field of an event that holds what of its record the event does not say.
pub(super) const HOOK: &str = "hook";
/// In it: the id of the delivery, and of a model's turn the record of the transcript.
pub(super) const ID: &str = "id";
pub(super) const RECORD: &str = "record";
/// The name of the records that are kept as they are.
const FORMAT: &str = "claude-code-hook";

/// What is said once, in the header.
const IN_HEADER: [&str; 2] = ["session_id", "transcript_path"];

/// What a call and its result say.
const OF_CALL: [&str; 5] = [
    "tool_name",
    "tool_input",
    "tool_use_id",
    "tool_response",
    "error",
];

/// An event with the fields of its record that it does not say.
fn event(body: Body, delivery: &Delivery, said: &[&str]) -> Event {
    let mut event = Event::new(body);
    event.head.agent = delivery.agent().map(str::to_owned);
    let fields = delivery.record.iter();
    let left = fields.filter(|(name, _)| {
        let name = name.as_str();
        !said.contains(&name) && !IN_HEADER.contains(&name) && name != "agent_id"
    });
    let left = left.map(|(name, value)| (name.clone(), value.clone()));
    let mut hook: Map<String, Value> = left.collect();
    hook.insert(ID.to_owned(), delivery.id.clone().into());
    event.extra.insert(HOOK.to_owned(), hook.into());
    event
}

/// A prompt.
pub(super) fn prompt(delivery: &Delivery) -> Event {
    let text = delivery.text("prompt").to_owned();
    let title = title_of_words(&text);
    let body = Body::Prompt {
        role: "user".to_owned(),
        text,
        attachments: Vec::new(),
    };
    event(body, delivery, &["prompt"]).titled(title)
}

/// What a record tells beside its own event: it is not told by it.
fn aside(mut event: Event) -> Event {
    event.extra.clear();
    event
}

/// The call of a record that has one. It may be told by its result alone.
pub(super) fn call(delivery: &Delivery, id: &str, root: &str) -> Event {
    let name = match delivery.text("tool_name") {
        "" => "unknown tool",
        name => name,
    };
    let arguments = delivery
        .record
        .get("tool_input")
        .cloned()
        .unwrap_or_default();
    let title = title_of_call(name, &arguments, root);
    let body = Body::ToolCall {
        name: name.to_owned(),
        arguments,
    };
    let call = event(body, delivery, &OF_CALL).in_call(id).titled(title);
    match delivery.event() {
        "PreToolUse" => call,
        _ => aside(call),
    }
}

/// The result that a record tells.
pub(super) fn result(delivery: &Delivery, id: &str) -> Event {
    let null = Value::Null;
    let response = delivery.record.get("tool_response");
    let error = delivery.record.get("error");
    let mut body = returned(response.or(error).unwrap_or(&null));
    if let Body::ToolResult {
        outcome, output, ..
    } = &mut body
    {
        let is_interrupted = delivery.record.get("is_interrupt") == Some(&Value::Bool(true));
        match delivery.event() {
            "PermissionDenied" => {
                *outcome = Outcome::Refused;
                if output.is_empty() {
                    delivery.text("reason").clone_into(output);
                }
            }
            "PostToolUseFailure" if is_interrupted => *outcome = Outcome::Interrupted,
            "PostToolUseFailure" if *outcome == Outcome::Ok => *outcome = Outcome::Failed,
            _ => {}
        }
    }
    event(body, delivery, &OF_CALL).in_call(id)
}

/// A call is over, and nobody told how it ended.
pub(super) fn untold(call: &str, agent: Option<&str>) -> Event {
    let mut event = Event::new(Body::ToolResult {
        outcome: Outcome::None,
        exit: None,
        output: String::new(),
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    });
    event.head.agent = agent.map(str::to_owned);
    event
        .in_call(call)
        .titled("nobody told how this call ended")
}

/// A sub-agent begins.
pub(super) fn agent_start(delivery: &Delivery, agent: &str, call: Option<String>) -> Event {
    let name = match delivery.text("agent_type") {
        "" => "sub-agent",
        name => name,
    };
    let body = Body::AgentStart {
        name: name.to_owned(),
    };
    let mut event = event(body, delivery, &["agent_type"]);
    event.head.agent = Some(agent.to_owned());
    event.head.call = call;
    match delivery.event() {
        "SubagentStart" => event,
        _ => aside(event),
    }
}

/// A sub-agent ends.
pub(super) fn agent_end(delivery: &Delivery) -> Event {
    let body = Body::AgentEnd {
        outcome: Outcome::Ok,
    };
    event(body, delivery, &["agent_type"])
}

/// A record that is no event of its own, kept as it is.
pub(super) fn raw(delivery: &Delivery) -> Event {
    let text = Value::Object(delivery.record.clone()).to_string();
    let body = Body::Raw {
        format: FORMAT.to_owned(),
        bytes: Arc::from(text.into_bytes()),
    };
    let mut event = Event::new(body).titled(title_of_words(delivery.event()));
    event.head.agent = delivery.agent().map(str::to_owned);
    let id = (ID.to_owned(), Value::from(delivery.id.clone()));
    let hook: Map<String, Value> = std::iter::once(id).collect();
    event.extra.insert(HOOK.to_owned(), hook.into());
    event
}
