//! A step beside the last one like it, path by path: what a tool was given, beside what the
//! same tool was given before; what the model answered, beside what it answered before.
//!
//! What a step is compared with is looked for among a bounded number of steps. What a call
//! printed is no structure, and stands in no such comparison.

use serde_json::{Value, json};

use super::requests::difference;
use super::{Debugger, ReadError, Spot};
use crate::model::{Body, Kind, StepKind, StepNumber};
use crate::text::{JsonChange, SafeText};

/// Steps that one like another is looked for in, at most.
const FARTHEST: u32 = 2000;

/// A step beside one like it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LikeView {
    /// The step that it is compared with; `None` where there is none like it.
    pub before: Option<StepNumber>,
    /// How they differ, path by path.
    pub changes: Vec<JsonChange>,
    /// What to know of it, one sentence each.
    pub remarks: Vec<SafeText>,
}

impl Debugger {
    /// A call or an answer, compared with the last one like it: of the same agent, and the
    /// same tool. With a base, it is looked for from that place back, else from the step
    /// before. Costs the reading of both, and at most some 200 ms for their comparison.
    pub fn like(&self, at: Spot, base: Option<Spot>) -> Result<LikeView, ReadError> {
        let line = self.line_of(at);
        let mut view = LikeView::default();
        let Some(new) = self.structure(line, at.step)? else {
            view.say("neither a call nor an answer: there is nothing to compare by paths");
            return Ok(view);
        };
        let (base_line, last) = match base {
            Some(base) => (self.line_of(base), base.step.0),
            None => (line, at.step.0.saturating_sub(1)),
        };
        let Some(before) = self.last_like((line, at.step), (base_line, last)) else {
            view.say("no call of this tool, or no answer, stands before it");
            return Ok(view);
        };
        view.before = Some(before);
        let Some(old) = self.structure(base_line, before)? else {
            return Ok(view);
        };
        match difference(&old.to_string(), &new.to_string()) {
            Some(changes) if changes.is_empty() => view.say("the same, value by value"),
            Some(changes) => view.changes = changes,
            None => view.say("too much to be compared"),
        }
        Ok(view)
    }

    /// The last step up to number `last` that is of the agent, the kind and the tool of a step.
    fn last_like(
        &self,
        (line, like): (u16, StepNumber),
        (base_line, last): (u16, u32),
    ) -> Option<StepNumber> {
        let index = &self.tape.index;
        let entry = |line: u16, number: u32| {
            let step = index.step_on(line, StepNumber(number))?;
            Some((step, index.steps.get(step)?))
        };
        let (step, wanted) = entry(line, like.0)?;
        let tool = self.heading(step, wanted).actor;
        let is_like = |number: &u32| {
            (base_line, *number) != (line, like.0)
                && entry(base_line, *number).is_some_and(|(step, entry)| {
                    entry.kind == wanted.kind
                        && entry.lane.agent == wanted.lane.agent
                        && (entry.kind == StepKind::Model
                            || self.heading(step, entry).actor == tool)
                })
        };
        let nearest = last.saturating_sub(FARTHEST).max(1);
        let found = (nearest..=last).rev().find(is_like);
        found.map(StepNumber)
    }

    /// What of a step is structure: the arguments of a call, the blocks of an answer.
    fn structure(&self, line: u16, number: StepNumber) -> Result<Option<Value>, ReadError> {
        let Some(step) = self.tape.index.step_on(line, number) else {
            return Ok(None);
        };
        match self.tape.index.steps.get(step).map(|entry| entry.kind) {
            Some(StepKind::Model) => self.blocks_of(step).map(Some),
            Some(StepKind::Tool) => {
                let mut events = self.telling_events_of(step);
                let call = events.find(|(_, kind)| *kind == Kind::ToolCall);
                let Some((position, _)) = call else {
                    return Ok(None);
                };
                Ok(match self.tape.event(position)?.body {
                    Body::ToolCall { arguments, .. } => Some(json!({ "arguments": arguments })),
                    _ => None,
                })
            }
            _ => Ok(None),
        }
    }
}

impl LikeView {
    fn say(&mut self, words: &'static str) {
        self.remarks.push(SafeText::literal(words));
    }
}
