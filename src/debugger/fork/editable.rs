//! What of a step can be altered, and the events that lead to it.

use std::collections::{BTreeSet, HashSet};
use std::io;

use super::super::{Debugger, ReadError, Spot};
use crate::model::{BlockKind, Body, Event, Kind, ModelBlock, Seq, StepKind, StepNumber};
use crate::replay::ToolFields;
use crate::replay::document::{self, Output};
use crate::replay::fork::Place;

/// How far back calls are looked for that have no result yet, in events.
const FARTHEST: u32 = 4096;
/// Calls of which the fields are looked at, on either side of a step.
const MOST_CALLS: usize = 200;
/// Steps in which they are looked for, on either side.
const MOST_STEPS: u32 = 2000;

/// An output that can be replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Editable {
    /// What the tape holds.
    pub output: Output,
    /// The step.
    pub step: StepNumber,
    /// The event whose place the edit takes.
    pub seq: Seq,
    pub(in crate::debugger) first: u32,
}

/// A step has no output that could be replaced.
#[derive(Debug, thiserror::Error)]
pub enum EditRefused {
    /// There is no step.
    #[error("this place is before the first step, where nothing was said or done")]
    NoStep,
    /// It is of a sort that gives nothing.
    #[error(
        "step {0} is no prompt, no model's turn and no tool call, and gives nothing to replace"
    )]
    NoOutput(StepNumber),
    /// The tape ends before it gave anything.
    #[error("step {0} has no {1} on the tape yet")]
    Pending(StepNumber, &'static str),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<io::Error> for EditRefused {
    fn from(error: io::Error) -> Self {
        Self::Read(error.into())
    }
}

impl Debugger {
    /// What of a step can be replaced. Costs the reading of the step, and of the calls that
    /// follow an answer which does not name its own.
    pub fn editable(&self, at: Spot) -> Result<Editable, EditRefused> {
        let line = self.line_of(at);
        let index = &self.tape.index;
        let step = index.step_on(line, at.step).ok_or(EditRefused::NoStep)?;
        let kind = index.steps.get(step).map(|entry| entry.kind);
        let (wanted, noun) = match kind {
            Some(StepKind::Model) => (Kind::ModelResponse, "response"),
            Some(StepKind::Tool) => (Kind::ToolResult, "result"),
            Some(StepKind::Prompt) => (Kind::Prompt, "prompt"),
            _ => return Err(EditRefused::NoOutput(at.step)),
        };
        let events = self.events_of(step).filter(|(_, kind)| *kind == wanted);
        let mut positions = events.map(|(position, _)| position);
        let first = positions.next();
        let first = first.ok_or(EditRefused::Pending(at.step, noun))?;
        let output = match self.tape.event(first)?.body {
            Body::ModelResponse { mut blocks, .. } => {
                for position in positions {
                    if let Body::ModelResponse { blocks: more, .. } =
                        self.tape.event(position)?.body
                    {
                        blocks.extend(more);
                    }
                }
                if !blocks.iter().any(|block| block.kind == BlockKind::ToolCall) {
                    blocks.extend(self.calls_after(line, at.step)?);
                }
                Output::Response(blocks)
            }
            Body::ToolResult {
                outcome,
                exit,
                output,
                attachments,
                detail,
                ..
            } => Output::Result {
                outcome,
                exit,
                output,
                attachments,
                detail,
            },
            Body::Prompt {
                role,
                text,
                attachments,
            } => Output::Prompt {
                role,
                text,
                attachments,
            },
            _ => return Err(EditRefused::NoOutput(at.step)),
        };
        Ok(Editable {
            output,
            step: at.step,
            seq: index.events.seq(first),
            first,
        })
    }

    /// The document in which an output is edited.
    pub fn edit_document(&self, at: Spot, editable: &Editable) -> String {
        let mut remarks = vec![
            format!(
                "The {} of step {} of {}. What is changed here takes its place in a fork.",
                editable.output.noun(),
                editable.step,
                self.name
            ),
            "Lines with # above the first section are remarks. Nothing changed, or no section \
             left: no fork is made."
                .to_owned(),
        ];
        if let Output::Response(_) = editable.output {
            let fields = self.tool_fields(at).lines();
            if !fields.is_empty() {
                remarks.push(
                    "Tools that were called, and what each took ([…]: not always):".to_owned(),
                );
                remarks.extend(fields.into_iter().map(|line| format!("  {line}")));
            }
        }
        document::write(&editable.output, &remarks)
    }

    /// The calls that follow an answer up to the next one of its agent: what it asked for,
    /// where the answer itself does not say it.
    fn calls_after(&self, line: u16, answer: StepNumber) -> Result<Vec<ModelBlock>, ReadError> {
        let index = &self.tape.index;
        let entry = |number: u32| {
            let step = index.step_on(line, StepNumber(number))?;
            index.steps.get(step)
        };
        let agent = entry(answer.0).map(|entry| entry.lane.agent);
        let mut calls = Vec::new();
        for number in answer.0 + 1..=self.steps_on(line) {
            let Some(entry) = entry(number) else { break };
            if Some(entry.lane.agent) != agent {
                continue;
            }
            match entry.kind {
                StepKind::Tool => {}
                StepKind::Model | StepKind::Prompt | StepKind::Transaction | StepKind::Gap => break,
                StepKind::Outside | StepKind::Other => continue,
            }
            let event = self.tape.event(entry.opened)?;
            if let Body::ToolCall { name, arguments } = event.body {
                calls.push(ModelBlock {
                    kind: BlockKind::ToolCall,
                    text: name,
                    call: event.head.call,
                    data: arguments,
                });
            }
        }
        Ok(calls)
    }

    /// What the calls around a step say of the tools.
    pub fn tool_fields(&self, at: Spot) -> ToolFields {
        let mut fields = ToolFields::default();
        let line = self.line_of(at);
        let (step, last) = (at.step.0, self.steps_on(line));
        let before = (step.saturating_sub(MOST_STEPS)..=step).rev();
        let behind = step + 1..last.min(step + MOST_STEPS) + 1;
        self.take_fields(line, before, &mut fields);
        self.take_fields(line, behind, &mut fields);
        fields
    }

    fn take_fields(&self, line: u16, numbers: impl Iterator<Item = u32>, fields: &mut ToolFields) {
        let index = &self.tape.index;
        let steps = numbers.filter_map(|number| index.step_on(line, StepNumber(number)));
        let entries = steps.filter_map(|step| index.steps.get(step));
        let calls = entries.filter(|entry| entry.kind == StepKind::Tool);
        for entry in calls.take(MOST_CALLS) {
            if let Ok(Event {
                body: Body::ToolCall { name, arguments },
                ..
            }) = self.tape.event(entry.opened)
            {
                fields.take(&name, &arguments);
            }
        }
    }

    /// The place before an event, as those before it leave it.
    pub(super) fn place_before(&self, first: u32, at: Spot) -> io::Result<Place> {
        let index = &self.tape.index;
        let step = index.step_on(self.line_of(at), at.step);
        let opened = step.and_then(|step| index.steps.get(step));
        let head = match opened {
            Some(entry) => self.tape.event(entry.opened)?.head,
            None => crate::model::Head::default(),
        };
        let line = self.line_of(at);
        let mut place = Place {
            branch: head.branch,
            agent: head.agent,
            txn: head.txn,
            t: first
                .checked_sub(1)
                .and_then(|last| index.events.get(last))
                .map_or(0, |event| event.t),
            open: Vec::new(),
            asked: BTreeSet::new(),
        };
        let mut returned: HashSet<String> = HashSet::new();
        let nearest = first.saturating_sub(FARTHEST);
        for position in (nearest..first).rev() {
            let wanted = match index.events.kind(position) {
                Some(Kind::Prompt) => break,
                Some(kind) => {
                    matches!(
                        kind,
                        Kind::ToolCall | Kind::ToolResult | Kind::ModelResponse | Kind::AgentStart
                    ) || kind.is_file_change()
                }
                None => false,
            };
            if !wanted || !self.is_on(line, position) {
                continue;
            }
            let event = self.tape.event(position)?;
            match (&event.body, &event.head.call) {
                (Body::ModelResponse { blocks, .. }, _) => {
                    let calls = blocks.iter().filter_map(|block| block.call.clone());
                    place.asked.extend(calls);
                }
                (Body::ToolResult { .. }, Some(call)) => drop(returned.insert(call.clone())),
                (Body::ToolCall { .. } | Body::File(_) | Body::AgentStart { .. }, Some(call))
                    if !returned.contains(call) =>
                {
                    place.open.push(event);
                }
                _ => {}
            }
        }
        place.open.reverse();
        Ok(place)
    }
}
