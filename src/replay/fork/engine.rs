//! How a fork goes on behind its edit: along the parent while that answers, by itself where
//! it does not.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::Value;

use super::outward::Outward;
use super::unlike::Unlike;
use super::walk::{Recorded, Walk};
use super::writing::{is_of_calls, named, response, value};
use super::{Answered, Change, Fork, ForkError, Place, Report, Stopped, Then, ToolResponder};
use crate::model::{BlockKind, Body, Event, FileOp, Kind, ModelBlock, Via};
use crate::replay::document::Output;
use crate::replay::request::{self, Miss, VolatileParts};
use crate::tape::{BlobSource, Recorder, http_frame};

/// Makes a fork to its end: writes what comes behind its header, and why it ended.
pub fn run(fork: Fork<'_>) -> Result<Report, ForkError> {
    let Fork {
        change,
        place,
        rest,
        blobs,
        recorder,
        tools,
        then,
        volatile,
        outward,
        tell,
    } = fork;
    let open = Open::of(&place.open);
    let mut place = place;
    let calls = open.iter().filter_map(|open| open.event.head.call.clone());
    place.asked.extend(calls);
    let mut engine = Engine {
        walk: Walk::new(rest),
        blobs,
        recorder,
        tools,
        then,
        volatile,
        tell,
        t: place.t,
        place,
        conversation: BTreeMap::new(),
        unlike: Unlike::default(),
        outward: Outward::new(outward),
        open,
        asked: Vec::new(),
        turn: None,
        new_calls: 0,
        report: Report {
            answers: Vec::new(),
            stopped: Stopped::BrokenOff,
            left_out: 0,
        },
        is_broken_off: false,
    };
    engine.report.stopped = engine.make(change)?;
    engine.end()
}

/// A call that has no answer yet.
pub(super) struct Open {
    /// Its `tool.call`.
    pub(super) event: Event,
    pub(super) is_written: bool,
    /// It changed files before the fork, where it stands.
    pub(super) has_begun: bool,
    pub(super) recorded: Recorded,
}

impl Open {
    pub(super) fn new(event: Event) -> Self {
        Self {
            recorded: Recorded::of(&event),
            event,
            is_written: false,
            has_begun: false,
        }
    }

    /// The calls that are open at the place of a fork, of their events there.
    fn of(events: &[Event]) -> Vec<Self> {
        let mut open: Vec<Self> = Vec::new();
        for event in events {
            if let Body::ToolCall { .. } = event.body {
                open.push(Self {
                    is_written: true,
                    ..Self::new(event.clone())
                });
            } else if let Some(call) = open.iter_mut().find(|open| open.is_call(event)) {
                call.has_begun |= event.kind().is_file_change();
                call.recorded.take(event.clone());
                // They stand on the tape already.
                call.recorded.events.clear();
            }
        }
        open
    }

    fn is_call(&self, event: &Event) -> bool {
        event.head.call.is_some() && self.event.head.call == event.head.call
    }

    pub(super) fn asked(&self) -> (&str, &Value) {
        match &self.event.body {
            Body::ToolCall { name, arguments } => (name, arguments),
            _ => ("", &Value::Null),
        }
    }
}

pub(super) struct Engine<'a> {
    pub(super) walk: Walk<'a>,
    pub(super) blobs: &'a dyn BlobSource,
    pub(super) recorder: Recorder,
    pub(super) tools: &'a mut dyn ToolResponder,
    pub(super) then: Then<'a>,
    pub(super) volatile: VolatileParts,
    pub(super) tell: &'a mut dyn FnMut(&Answered) -> ControlFlow<()>,
    pub(super) place: Place,
    /// The time of the next event: that of the fork, and what answers took since.
    pub(super) t: u64,
    /// The agents whose conversation is another than in the parent, and what differed first.
    pub(super) conversation: BTreeMap<Option<String>, Miss>,
    pub(super) unlike: Unlike,
    pub(super) outward: Outward,
    pub(super) open: Vec<Open>,
    /// A request of the parent, and what its exchange says, until its answer is taken.
    pub(super) asked: Vec<Event>,
    /// The call of the parent's turn that was taken last.
    pub(super) turn: Option<String>,
    pub(super) new_calls: u32,
    pub(super) report: Report,
    pub(super) is_broken_off: bool,
}

/// What to do next: go on, or stop for a reason.
pub(super) type Flow = Result<Option<Stopped>, ForkError>;

impl Engine<'_> {
    pub(super) fn make(&mut self, change: Change) -> Result<Stopped, ForkError> {
        match change {
            Change::File(change) => {
                let mut event = self.own(Body::File(change.clone()));
                event.head.via = Some(Via::Edit);
                self.answer_with(event, None)?;
                self.unlike.one_sided(std::slice::from_ref(&change));
                self.tools.take_in(&change);
                self.follow()
            }
            Change::Output { original, edited } => {
                let miss = self.output_miss(&original, &edited);
                let Some(old) = self.walk.next()? else {
                    return Ok(Stopped::EndOfTape("the run ends before the edit"));
                };
                let agent = old.head.agent.clone();
                self.differ(agent, miss.as_ref());
                self.replace(old, edited, miss)
            }
        }
    }

    /// Puts an edited output in the place of an event, and goes on from there.
    pub(super) fn replace(
        &mut self,
        old: Event,
        edited: Output,
        miss: Option<Miss>,
    ) -> Result<Stopped, ForkError> {
        let agent = old.head.agent.clone();
        let mut event = old.clone();
        event.extra.clear();
        event.head.title = None;
        event.head.via = Some(Via::Edit);
        match (old.body, edited) {
            (Body::ModelResponse { model, stop, .. }, Output::Response(mut blocks)) => {
                let call = old.head.call.as_deref();
                let turn = self.walk.turn(agent.as_deref(), call)?;
                self.name_calls(&mut blocks);
                event.body = response(model, blocks.clone(), stop);
                self.answer_with(event, miss)?;
                if let Some(stopped) = self.calls(agent.as_ref(), &blocks, turn)? {
                    return Ok(stopped);
                }
                self.go_on(agent, has_calls(&blocks))
            }
            (
                Body::ToolResult { duration, .. },
                Output::Result {
                    outcome,
                    exit,
                    output,
                    attachments,
                    detail,
                },
            ) => {
                self.open.retain(|open| !open.is_call(&event));
                event.body = Body::ToolResult {
                    outcome,
                    exit,
                    output,
                    duration,
                    attachments,
                    detail,
                };
                self.answer_with(event, miss)?;
                self.follow()
            }
            (
                Body::Prompt { .. },
                Output::Prompt {
                    role,
                    text,
                    attachments,
                },
            ) => {
                event.body = Body::Prompt {
                    role,
                    text,
                    attachments,
                };
                self.answer_with(event, miss)?;
                self.go_on(agent, true)
            }
            _ => Ok(Stopped::EndOfTape(
                "the edit does not fit what stands there",
            )),
        }
    }

    /// Goes along the parent as long as it answers.
    pub(super) fn follow(&mut self) -> Result<Stopped, ForkError> {
        while let Some(event) = self.walk.next()? {
            if self.is_broken_off {
                return Ok(Stopped::BrokenOff);
            }
            let agent = event.head.agent.clone();
            let of_call = self.open.iter().position(|open| open.is_call(&event));
            match (&event.body, of_call) {
                (Body::ToolCall { .. }, _) => {
                    let is_same = self.was_asked(&event) || !self.differs(agent.as_ref());
                    if !is_same && !self.assumes() {
                        // It may be the doing of an answer that nobody recorded.
                        return self.speak(agent, true);
                    }
                    self.open.push(Open::new(event));
                }
                (Body::ToolResult { .. }, Some(at)) => {
                    self.write_calls_before(at)?;
                    let mut open = self.open.remove(at);
                    open.recorded.take(event);
                    let is_same = self.was_asked(&open.event) || !self.differs(agent.as_ref());
                    if let Some(stopped) = self.answer(open, is_same)? {
                        return Ok(stopped);
                    }
                }
                (Body::AgentStart { .. } | Body::AgentEnd { .. }, _) => {
                    self.write_calls_before(self.open.len())?;
                    if let Some(open) = of_call.and_then(|at| self.open.get_mut(at)) {
                        open.recorded.has_agents = true;
                    }
                    self.copy(event, None)?;
                }
                (body, Some(at)) if is_of_calls(body) => {
                    if let Some(open) = self.open.get_mut(at) {
                        open.recorded.take(event);
                    }
                }
                (Body::Other { .. }, None) if self.is_exchange(&event) => {
                    if event.head.call == self.turn {
                        self.copy(event, None)?;
                    } else {
                        self.asked.push(event);
                    }
                }
                (Body::ModelRequest { .. }, _) => {
                    if !self.differs(agent.as_ref()) {
                        self.asked = vec![event];
                    } else if !self.assumes() {
                        return self.speak(agent, true);
                    }
                }
                (Body::ModelResponse { .. }, _) => {
                    let via = if !self.differs(agent.as_ref()) {
                        Via::Recorded
                    } else if self.assumes() {
                        Via::Stale
                    } else {
                        return self.speak(agent, true);
                    };
                    self.take_response(event, via)?;
                }
                (Body::Prompt { .. }, _) => {
                    let via = match self.conversation.keys().next().cloned() {
                        None => Via::Recorded,
                        Some(_) if self.assumes() => Via::Stale,
                        Some(agent) => return self.speak(agent, true),
                    };
                    self.copy(event, Some(via))?;
                }
                (Body::File(_) | Body::Suspect { .. }, _) => self.nobodys(event)?,
                (Body::Other { kind, .. }, _)
                    if kind.starts_with("input.") && self.conversation.is_empty() =>
                {
                    self.copy(event, None)?;
                }
                (
                    Body::TxnBegin
                    | Body::TxnCommit
                    | Body::TxnSavepoint { .. }
                    | Body::TxnRollback { .. },
                    _,
                ) => return Ok(Stopped::TransactionEdge),
                (Body::Gap { .. }, _) => {
                    return Ok(Stopped::EndOfTape("the tape has a gap here"));
                }
                (Body::End { .. }, _) => break,
                _ => {}
            }
        }
        Ok(Stopped::EndOfTape("the recorded run ends here"))
    }

    /// Takes an answer of the model as the parent holds it.
    pub(super) fn take_response(&mut self, event: Event, via: Via) -> Result<(), ForkError> {
        let asked = std::mem::take(&mut self.asked);
        let is_of_it = asked
            .first()
            .is_some_and(|asked| asked.head.agent == event.head.agent);
        self.turn = None;
        if is_of_it && via == Via::Recorded {
            self.turn.clone_from(&event.head.call);
            for event in asked {
                self.copy(event, None)?;
            }
        }
        if let Body::ModelResponse { blocks, .. } = &event.body
            && via == Via::Recorded
        {
            let calls = blocks.iter().filter_map(|block| block.call.clone());
            self.place.asked.extend(calls);
        }
        self.copy(event, Some(via))
    }

    /// Whether an event tells what an agent and its model said to each other in the turn that
    /// is taken.
    fn is_exchange(&self, event: &Event) -> bool {
        let asked = self.asked.first().map(|asked| &asked.head.call);
        let call = &event.head.call;
        let is_of_turn = call.is_some() && (asked == Some(call) || self.turn == *call);
        is_of_turn && http_frame(event).is_some()
    }

    /// A change of the parent that no call explains.
    pub(super) fn nobodys(&mut self, event: Event) -> Result<(), ForkError> {
        match &event.body {
            Body::File(change) if change.op == FileOp::Observe => Ok(()),
            Body::File(change) if self.assumes() => {
                self.tools.take_in(&self.carried(change.clone()));
                self.copy(event, None)
            }
            _ => {
                self.pass_over([event]);
                Ok(())
            }
        }
    }

    /// Goes on behind an answer whose calls were made, or that made none.
    pub(super) fn go_on(
        &mut self,
        agent: Option<String>,
        has_calls: bool,
    ) -> Result<Stopped, ForkError> {
        if !self.differs(agent.as_ref()) {
            return self.follow();
        }
        if !self.assumes() {
            return self.speak(agent, has_calls);
        }
        if has_calls {
            let next = self.walk.peek()?.map(Event::kind);
            return match next {
                Some(Kind::ModelRequest | Kind::ModelResponse) => self.follow(),
                _ => Ok(Stopped::EndOfTape("the recorded run holds no answer here")),
            };
        }
        if agent.is_some() {
            return Ok(Stopped::TurnEnded);
        }
        // What the run's model did beyond its own answer has no place here.
        while self
            .walk
            .peek()?
            .is_some_and(|next| next.kind() != Kind::Prompt)
        {
            let passed = self.walk.next()?;
            self.pass_over(passed);
        }
        match self.walk.peek()? {
            Some(_) => self.follow(),
            None => Ok(Stopped::TurnEnded),
        }
    }

    /// What the parent did and the fork does not.
    pub(super) fn pass_over(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            match event.body {
                Body::File(change) if change.op == FileOp::Observe => {}
                Body::File(change) => {
                    self.report.left_out += usize::from(event.head.call.is_none());
                    self.unlike.one_sided(&[change]);
                }
                Body::Suspect { scope, .. } => self.unlike.suspect(&scope),
                _ => {}
            }
        }
    }

    /// Whether an answer asked for a call that is the run's own in the fork, too.
    pub(super) fn was_asked(&self, call: &Event) -> bool {
        let call = call.head.call.as_ref();
        call.is_some_and(|call| self.place.asked.contains(call))
    }

    /// Takes that an agent saw something else than in the parent, if it did.
    pub(super) fn differ(&mut self, agent: Option<String>, miss: Option<&Miss>) {
        if let Some(miss) = miss {
            let first = self.conversation.entry(agent);
            first.or_insert_with(|| miss.clone());
        }
    }

    pub(super) fn differs(&self, agent: Option<&String>) -> bool {
        self.conversation.contains_key(&agent.cloned())
    }

    pub(super) fn assumes(&self) -> bool {
        matches!(self.then, Then::AssumeRecorded)
    }

    pub(super) fn output_miss(&self, old: &Output, new: &Output) -> Option<Miss> {
        let miss = request::miss(&value(old), &value(new), &self.volatile)?;
        Some(named(new.noun(), miss))
    }

    /// Writes the calls that wait, up to one of them.
    pub(super) fn write_calls_before(&mut self, end: usize) -> Result<(), ForkError> {
        for at in 0..end {
            if let Some(open) = self.open.get_mut(at)
                && !std::mem::replace(&mut open.is_written, true)
            {
                let event = open.event.clone();
                self.put(event)?;
            }
        }
        Ok(())
    }
}

pub(super) fn has_calls(blocks: &[ModelBlock]) -> bool {
    let mut blocks = blocks.iter();
    blocks.any(|block| block.kind == BlockKind::ToolCall)
}
