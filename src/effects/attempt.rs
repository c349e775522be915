//! One try: what begins is recorded, run, and what came of it is recorded, as a step that a
//! person sees on the timeline.

use std::ffi::OsString;
use std::io;

use serde_json::json;

use super::books::Books;
use super::command::{self, Ended, Exit, Invocation};
use super::declarations::{Declaration, Network};
use super::{EffectError, Entry, Log};
use crate::model::{Body, EffectEvent, EffectResult, Event, Outcome};
use crate::tape::effect_event;

/// Records that something begins, runs it, records what came of it.
pub(super) fn begin_and_end(
    books: &mut Books,
    tape: &mut dyn Log,
    number: u32,
    event: EffectEvent,
    invocation: &Invocation<'_>,
    step: &Step<'_>,
) -> Result<EffectResult, EffectError> {
    let (name, arguments) = match &event {
        EffectEvent::Intent(intent) => (&intent.name, intent.request.arguments.as_slice()),
        EffectEvent::Compensate(compensation) => (&compensation.name, &[][..]),
        EffectEvent::Result(result) => (&result.key, &[][..]),
    };
    let tries = books.ledger.entry(number).map_or(0, Entry::tries);
    let id = step.open(tape, number, tries + 1, name, arguments)?;
    let intent = step.of(effect_event(&event), &id);
    books.promise(tape, intent).map_err(EffectError::Intent)?;
    let ended = command::run(invocation);
    let result = result_of(invocation, ended);
    let event = step.of(effect_event(&EffectEvent::Result(result.clone())), &id);
    let recorded = books.promise(tape, event);
    recorded.map_err(|source| EffectError::Unrecorded { number, source })?;
    let output = String::from_utf8_lossy(&result.output);
    step.close(tape, &id, result.outcome, result.exit, &output);
    Ok(result)
}

fn result_of(invocation: &Invocation<'_>, ended: Ended) -> EffectResult {
    let (outcome, exit, remark) = match &ended.exit {
        Exit::Code(0) => (Outcome::Ok, Some(0), None),
        Exit::Code(code) if invocation.in_doubt.contains(code) => (
            Outcome::Interrupted,
            Some(*code),
            Some(format!(
                "its command ended with code {code}: it does not know"
            )),
        ),
        Exit::Code(code) => (Outcome::Failed, Some(*code), None),
        Exit::Killed(signal) => (
            Outcome::Interrupted,
            None,
            Some(format!("its command was killed by signal {signal}")),
        ),
        Exit::TimedOut => (
            Outcome::Interrupted,
            None,
            Some("its command ran out of time and was stopped".to_owned()),
        ),
        Exit::NotStarted(error) => {
            let code = match error.kind() {
                io::ErrorKind::NotFound => 127,
                _ => 126,
            };
            let remark = format!("its command did not start: {error}");
            (Outcome::Failed, Some(code), Some(remark))
        }
    };
    EffectResult {
        key: invocation.key.to_owned(),
        outcome,
        exit,
        duration: u64::try_from(ended.duration.as_micros()).ok(),
        output: ended.output.into(),
        omitted: ended.omitted,
        complaint: ended.complaint,
        remark,
    }
}

/// Why it is not done, as far as the command said.
pub(super) fn how_it_failed(result: &EffectResult) -> String {
    let complaint = result
        .complaint
        .lines()
        .rfind(|line| !line.trim().is_empty());
    match (&result.remark, complaint, result.exit) {
        (Some(remark), ..) => remark.clone(),
        (None, Some(complaint), _) => complaint.trim().to_owned(),
        (None, None, Some(exit)) => format!("its command ended with code {exit}"),
        (None, None, None) => result.outcome.as_str().to_owned(),
    }
}

/// Refuses to run with a network what must have none.
pub(super) fn network_of(
    declaration: &Declaration,
    environment: Option<&[(OsString, OsString)]>,
) -> Result<(), EffectError> {
    match declaration.network {
        Network::Any => Ok(()),
        Network::None => command::can_withhold_network(environment).map_err(EffectError::Network),
    }
}

/// The step on the tape that shows a try.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step<'a> {
    /// The tool call that it belongs to; without one, it has one of its own.
    pub(super) call: Option<&'a str>,
    pub(super) txn: Option<&'a str>,
    pub(super) title: &'a str,
}

impl Step<'_> {
    /// The call that it belongs to, begun if it is of its own.
    pub(super) fn open(
        &self,
        tape: &mut dyn Log,
        number: u32,
        tries: usize,
        name: &str,
        arguments: &[String],
    ) -> Result<String, EffectError> {
        if let Some(call) = self.call {
            return Ok(call.to_owned());
        }
        let id = format!("effect-{number}-{tries}");
        let call = Event::new(Body::ToolCall {
            name: name.to_owned(),
            arguments: json!({ "effect": number, "args": arguments }),
        });
        let mut call = self.of(call, &id);
        call.head.title = Some(match arguments {
            [] => self.title.to_owned(),
            arguments => format!("{} ({})", arguments.join(" "), self.title),
        });
        tape.append(call).map_err(EffectError::Intent)?;
        Ok(id)
    }

    /// Ends it, if it is of its own. The result of the effect is recorded by then: what shows
    /// it may be missing.
    pub(super) fn close(
        &self,
        tape: &mut dyn Log,
        id: &str,
        outcome: Outcome,
        exit: Option<i32>,
        output: &str,
    ) {
        if self.call.is_some() {
            return;
        }
        let result = Event::new(Body::ToolResult {
            outcome,
            exit,
            output: output.to_owned(),
            duration: None,
            attachments: Vec::new(),
            detail: serde_json::Value::Null,
        });
        let _ = tape.append(self.of(result, id));
    }

    /// The event, as one of this step.
    pub(super) fn of(&self, event: Event, id: &str) -> Event {
        let mut event = event.in_call(id);
        event.head.txn = self.txn.map(str::to_owned);
        event
    }
}
