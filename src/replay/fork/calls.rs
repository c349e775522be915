//! How a call of a fork is answered: as recorded, by running the tool, by whoever speaks, or not
//! at all.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::engine::{Engine, Flow, Open};
use super::walk::Recorded;
use super::writing::named;
use super::{ForkError, Line, Ran, Sees, Stopped, Then, ToolAnswer, Wanted};
use crate::model::{BlockKind, Body, Event, Head, Micros, ModelBlock, Outcome, Via};
use crate::replay::request::{self, Miss, VolatileParts};

impl Engine<'_> {
    /// Makes the calls of an answer, in order. `turn` is what the parent holds of the turn in
    /// whose place the answer stands.
    pub(super) fn calls(
        &mut self,
        agent: Option<&String>,
        blocks: &[ModelBlock],
        mut turn: VecDeque<Event>,
    ) -> Flow {
        for block in blocks {
            if block.kind != BlockKind::ToolCall {
                continue;
            }
            let body = Body::ToolCall {
                name: block.text.clone(),
                arguments: block.data.clone(),
            };
            let mut event = self.own(body.clone());
            event.head.agent = agent.cloned();
            event.head.call.clone_from(&block.call);
            let mut open = Open::new(event);
            let is_same = |event: &Event| {
                event.head.agent.as_ref() == agent && is_same_call(&event.body, &body)
            };
            if let Some(at) = turn.iter().position(is_same) {
                self.pass_over(turn.drain(..at));
                if let Some(found) = turn.pop_front() {
                    open.event.head.title.clone_from(&found.head.title);
                    turn = take_call(&mut open.recorded, &found, turn);
                }
            }
            if let Some(stopped) = self.answer(open, false)? {
                return Ok(Some(stopped));
            }
            if self.is_broken_off {
                return Ok(Some(Stopped::BrokenOff));
            }
        }
        self.pass_over(turn);
        Ok(None)
    }

    /// Answers a call: as recorded, by running it, or not at all. `is_same_request`: all that
    /// led to it is as it was recorded.
    pub(super) fn answer(&mut self, open: Open, is_same_request: bool) -> Flow {
        if self.can_take(&open, is_same_request) {
            self.outward.use_up(open.recorded.call.as_deref());
            self.take_recorded(open, Via::Recorded)?;
            return Ok(None);
        }
        let (tool, arguments) = open.asked();
        let tool = tool.to_owned();
        let is_outward = self.tools.sees(&tool, arguments) == Sees::World;
        if is_outward && let Some(recorded) = self.outward.take(&open.event.body) {
            self.take_outward(open, recorded)?;
            return Ok(None);
        }
        let (_, arguments) = open.asked();
        let answer = if open.recorded.has_effects {
            let why = "it did something outside the files, which is not done again; only the \
                       same request has an answer";
            ToolAnswer::NotAttempted(why.to_owned())
        } else if is_outward && self.outward.is_of(&tool) {
            let why = "it asks for something outside the files that was not recorded, or no more \
                       often; nothing is sent";
            ToolAnswer::NotAttempted(why.to_owned())
        } else if open.recorded.has_agents {
            ToolAnswer::NotAttempted("another agent worked for it".to_owned())
        } else if open.has_begun {
            ToolAnswer::NotAttempted("it had begun to change files before the fork".to_owned())
        } else {
            self.tools.answer(&tool, arguments)
        };
        match answer {
            ToolAnswer::Ran(ran) => {
                let needs_network = ran.needs_network;
                self.take_ran(open, ran)?;
                Ok(needs_network.then_some(Stopped::NeedsNetwork(tool)))
            }
            ToolAnswer::NotAttempted(_) if self.assumes() && open.recorded.result.is_some() => {
                self.take_recorded(open, Via::Stale)?;
                Ok(None)
            }
            ToolAnswer::NotAttempted(why) => self.ask_speaker(open, tool, why),
        }
    }

    /// Whether the recorded answer is the answer: it is to this call, and all that the call
    /// could see is as it was.
    pub(super) fn can_take(&self, open: &Open, is_same_request: bool) -> bool {
        let Some(result) = &open.recorded.result else {
            return false;
        };
        let (tool, arguments) = open.asked();
        let is_of_person = matches!(
            result.body,
            Body::ToolResult {
                outcome: Outcome::Refused | Outcome::Interrupted,
                ..
            }
        );
        let call = open.recorded.call.as_deref();
        if open.recorded.has_effects && call.is_some() && !self.outward.has(call) {
            // The same was asked before, and has that answer.
            return false;
        }
        if open.recorded.has_agents {
            // It said what the agents that worked for it came to, and they were followed.
            return is_same_request && self.conversation.is_empty();
        }
        let sees = if is_of_person || open.recorded.has_effects {
            Sees::World
        } else {
            self.tools.sees(tool, arguments)
        };
        match sees {
            Sees::Paths(paths) => {
                let changed = open.recorded.changes();
                let changed = changed.iter().map(|change| &change.path);
                !paths.is_empty()
                    && !paths
                        .iter()
                        .chain(changed)
                        .any(|path| self.unlike.has(path))
            }
            Sees::Files => self.unlike.is_empty(),
            Sees::World => is_same_request && self.unlike.is_empty(),
        }
    }

    /// Takes what the parent holds of a call.
    pub(super) fn take_recorded(&mut self, open: Open, via: Via) -> Result<(), ForkError> {
        let call = open.event.head.call.clone();
        if !open.is_written {
            self.put(open.event)?;
        }
        let changes = open.recorded.changes();
        self.unlike.two_sided(&changes, &changes);
        for mut event in open.recorded.events {
            event.head.call.clone_from(&call);
            if let Body::File(change) = &event.body {
                self.tools.take_in(&self.carried(change.clone()));
            }
            self.copy(event, None)?;
        }
        let Some(mut result) = open.recorded.result else {
            return Ok(());
        };
        result.head.call = call;
        self.copy(result, Some(via))
    }

    /// Takes what the parent holds of another call that asked for the same.
    fn take_outward(&mut self, mut open: Open, recorded: Recorded) -> Result<(), ForkError> {
        self.unlike.one_sided(&open.recorded.changes());
        for scope in open.recorded.suspects() {
            self.unlike.suspect(scope);
        }
        let agent = open.event.head.agent.clone();
        let miss = match (&open.recorded.result, &recorded.result) {
            (Some(old), Some(new)) => self.result_miss(&old.body, &new.body),
            _ => None,
        };
        self.differ(agent, miss.as_ref());
        open.recorded = recorded;
        self.take_recorded(open, Via::Recorded)
    }

    /// Takes what a tool did when it ran.
    pub(super) fn take_ran(&mut self, open: Open, mut ran: Ran) -> Result<(), ForkError> {
        let mut has_other_order = ran.has_any_order && ran.output.lines().nth(1).is_some();
        if has_other_order
            && let Some(Body::ToolResult { output, .. }) =
                open.recorded.result.as_ref().map(|event| &event.body)
            && is_same_lines(output, &ran.output)
        {
            ran.output.clone_from(output);
            has_other_order = false;
        }
        let of_call = open.event.head.clone();
        let agent = of_call.agent.clone();
        if !open.is_written {
            self.put(open.event)?;
        }
        self.unlike
            .two_sided(&open.recorded.changes(), &ran.changes);
        for scope in open.recorded.suspects() {
            self.unlike.suspect(scope);
        }
        for change in ran.changes {
            let mut event = Event::new(Body::File(change));
            event.head = lane(&of_call);
            self.put(event)?;
        }
        if has_other_order {
            let text = "its lines are in the order of their names; the tool's own is by times, \
                        which no tape holds";
            let mut note = Event::new(Body::Note {
                text: text.to_owned(),
            });
            note.head = lane(&of_call);
            self.put(note)?;
        }
        let body = result(ran.outcome, ran.exit, ran.output, ran.duration);
        let miss = open
            .recorded
            .result
            .and_then(|old| self.result_miss(&old.body, &body));
        self.differ(agent, miss.as_ref());
        let mut event = Event::new(body);
        event.head = lane(&of_call);
        event.head.via = Some(Via::Rerun);
        self.answer_with(event, miss)
    }

    /// Has whoever speaks answer a call, if they have something.
    pub(super) fn ask_speaker(&mut self, mut open: Open, tool: String, why: String) -> Flow {
        let said = match &mut self.then {
            Then::Speaker(speaker) if speaker.has(Wanted::Result) => {
                let via = speaker.via();
                speaker.next(Wanted::Result).ok().map(|line| (line, via))
            }
            _ => None,
        };
        let Some((
            Line::Result {
                outcome,
                exit,
                output,
            },
            via,
        )) = said
        else {
            open.event.head.via = Some(Via::Unknown);
            if !open.is_written {
                self.answer_with(open.event, None)?;
            }
            return Ok(Some(Stopped::NotAnswered { tool, why }));
        };
        let of_call = open.event.head.clone();
        if !open.is_written {
            self.put(open.event)?;
        }
        self.unlike.one_sided(&open.recorded.changes());
        for scope in open.recorded.suspects() {
            self.unlike.suspect(scope);
        }
        let body = result(outcome, exit, output, None);
        let miss = open
            .recorded
            .result
            .and_then(|old| self.result_miss(&old.body, &body));
        self.differ(of_call.agent.clone(), miss.as_ref());
        let mut event = Event::new(body);
        event.head = lane(&of_call);
        event.head.via = Some(via);
        self.answer_with(event, miss)?;
        Ok(None)
    }

    pub(super) fn result_miss(&self, old: &Body, new: &Body) -> Option<Miss> {
        let miss = request::miss(&result_value(old), &result_value(new), &self.volatile)?;
        Some(named("result", miss))
    }

    /// Gives an id to each call that has none.
    pub(super) fn name_calls(&mut self, blocks: &mut [ModelBlock]) {
        for block in blocks {
            if block.kind == BlockKind::ToolCall && block.call.is_none() {
                self.new_calls += 1;
                // Numbers of events are given once on a tape and its forks.
                block.call = Some(format!(
                    "fork-{}-{}",
                    self.recorder.next_seq().0,
                    self.new_calls
                ));
            }
        }
    }
}

/// Whether two texts have the same lines, in whatever order.
fn is_same_lines(one: &str, two: &str) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    sorted(one) == sorted(two)
}

/// Takes what a turn holds of a call; the rest of the turn.
pub(super) fn take_call(
    recorded: &mut Recorded,
    call: &Event,
    turn: VecDeque<Event>,
) -> VecDeque<Event> {
    let mut rest = VecDeque::new();
    for event in turn {
        if recorded.result.is_some() {
            rest.push_back(event);
        } else if event.head.call.is_some() && event.head.call == call.head.call {
            recorded.take(event);
        } else {
            recorded.has_agents |= event.head.agent != call.head.agent;
            rest.push_back(event);
        }
    }
    rest
}

/// Whether two calls ask for the same.
pub(super) fn is_same_call(one: &Body, two: &Body) -> bool {
    let asked = |body: &Body| match body {
        Body::ToolCall { name, arguments } => {
            Some(json!({"name": name, "arguments": arguments}).to_string())
        }
        _ => None,
    };
    let (Some(one), Some(two)) = (asked(one), asked(two)) else {
        return false;
    };
    request::miss(one.as_bytes(), two.as_bytes(), &VolatileParts::default()).is_none()
}

/// The head of an event that belongs to a call.
pub(super) fn lane(call: &Head) -> Head {
    Head {
        title: None,
        via: None,
        ..call.clone()
    }
}

pub(super) fn result(
    outcome: Outcome,
    exit: Option<i32>,
    output: String,
    duration: Option<Micros>,
) -> Body {
    Body::ToolResult {
        outcome,
        exit,
        output,
        duration,
        attachments: Vec::new(),
        detail: Value::Null,
    }
}

/// A result as the model reads it, as JSON.
pub(super) fn result_value(body: &Body) -> Vec<u8> {
    let Body::ToolResult {
        outcome,
        exit,
        output,
        ..
    } = body
    else {
        return Vec::new();
    };
    let value = json!({"outcome": outcome.as_str(), "exit": exit, "output": output});
    value.to_string().into_bytes()
}
