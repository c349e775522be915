//! What the model was sent, compared with what it was sent before; and what it answered.
//!
//! A tape may hold whole requests, what was new in each, or only what the model answered.
//! Whole ones are compared path by path; of the others it is said what was recorded instead.
//! Nothing here guesses what was sent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::detail::{json_section, section};
use super::{Debugger, ReadError, RequestBasis, RequestView, Spot};
use crate::model::{BlobHash, BlockKind, Body, Kind, ModelBlock, StepKind, StepNumber};
use crate::tape::BlobSource as _;
use crate::text::{JsonChange, JsonChangeKind, JsonStep, SafeText, human, json_diff};

/// How long two requests are compared.
const BUDGET: Duration = Duration::from_millis(200);

/// A request is looked for in at most so many steps, so that no move costs more because the
/// run is longer.
const FARTHEST: u32 = 10_000;

/// Steps between two answers that are listed.
const MAX_BETWEEN: usize = 100;

/// A model's turn: its step, and its request as far as the tape holds it.
struct Turn {
    step: StepNumber,
    line: u16,
    request: Option<Request>,
}

struct Request {
    hash: Option<BlobHash>,
    whole: Option<Arc<[u8]>>,
    added: Value,
}

impl Debugger {
    /// The request that led to a place, compared with the one before of the same agent.
    /// Costs the reading of both, and at most some 200 ms for their comparison.
    pub fn request(&self, at: Spot) -> Result<RequestView, ReadError> {
        let Some(turn) = self.turn_at(at)? else {
            return Ok(RequestView::default());
        };
        let before = match turn.step.0.checked_sub(1) {
            Some(earlier) => self.turn_before(turn.line, turn.step, StepNumber(earlier))?,
            None => None,
        };
        let mut view = compared(before.as_ref(), &turn);
        if view.basis == RequestBasis::Nothing {
            let first = before.map_or(0, |before| before.step.0) + 1;
            view.sections = vec![self.recorded_between(turn.line, first, turn.step.0)];
        }
        Ok(view)
    }

    /// The request that led to a place of another run, or of this one, compared with the one
    /// that led to `from`. Costs as [`Debugger::request`].
    pub fn requests(&self, from: Spot, other: &Self, to: Spot) -> Result<RequestView, ReadError> {
        let Some(after) = other.turn_at(to)? else {
            return Ok(RequestView::default());
        };
        let before = self.turn_at(from)?;
        let mut view = compared(before.as_ref(), &after);
        // What was new in each says little of the two as wholes, and more than nothing.
        let news = before.as_ref().and_then(|before| before.request.as_ref());
        if view.basis == RequestBasis::Added
            && let Some((old, new)) = news.zip(after.request.as_ref())
            && let Some(changes) = difference(&old.added.to_string(), &new.added.to_string())
        {
            view.changes = changes;
            view.sections.clear();
            view.remarks = vec![SafeText::literal(
                "the tape holds what was new in each request, and that is compared",
            )];
        }
        Ok(view)
    }

    /// How the model's answers differ that led to two places, the second one of another run or
    /// of this one, path by path. `None` where one of them has none, or where they cannot be
    /// compared in some 200 ms. Numbers are compared as far as JSON readers commonly keep them.
    pub fn responses(
        &self,
        from: Spot,
        other: &Self,
        to: Spot,
    ) -> Result<Option<Vec<JsonChange>>, ReadError> {
        let before = self.response_at(from)?;
        let after = other.response_at(to)?;
        let changes = before
            .zip(after)
            .and_then(|(old, new)| difference(&old.to_string(), &new.to_string()));
        Ok(changes)
    }

    /// The blocks of an answer, whatever number of parts it came in.
    fn response_at(&self, at: Spot) -> Result<Option<Value>, ReadError> {
        let Some(turn) = self.turn_at(at)? else {
            return Ok(None);
        };
        let step = self.tape.index.step_on(turn.line, turn.step);
        step.map(|step| self.blocks_of(step)).transpose()
    }

    /// What the model answered in a step, as one value.
    pub(super) fn blocks_of(&self, step: u32) -> Result<Value, ReadError> {
        let mut blocks = Vec::new();
        for (position, kind) in self.telling_events_of(step) {
            if kind == Kind::ModelResponse
                && let Body::ModelResponse { blocks: part, .. } = self.tape.event(position)?.body
            {
                blocks.extend(part.into_iter().map(block));
            }
        }
        Ok(json!({ "blocks": blocks }))
    }

    /// The turn of the model that a place is in or after: of the agent whose step it is.
    fn turn_at(&self, at: Spot) -> Result<Option<Turn>, ReadError> {
        let line = self.line_of(at);
        self.turn_before(line, at.step, at.step)
    }

    /// The latest turn up to step `last`, of the agent of step `like`.
    fn turn_before(
        &self,
        line: u16,
        like: StepNumber,
        last: StepNumber,
    ) -> Result<Option<Turn>, ReadError> {
        let index = &self.tape.index;
        let entry = |number: u32| {
            let step = index.step_on(line, StepNumber(number))?;
            index.steps.get(step)
        };
        let Some(agent) = entry(like.0).map(|entry| entry.lane.agent) else {
            return Ok(None);
        };
        let nearest = last.0.saturating_sub(FARTHEST).max(1);
        let found = (nearest..=last.0).rev().find_map(|number| {
            let entry = entry(number)?;
            let is_turn = entry.kind == StepKind::Model && entry.lane.agent == agent;
            is_turn.then_some((number, entry.opened))
        });
        let Some((number, opened)) = found else {
            return Ok(None);
        };
        let request = match index.events.kind(opened) {
            Some(Kind::ModelRequest) => self.request_in(opened)?,
            _ => None,
        };
        Ok(Some(Turn {
            step: StepNumber(number),
            line,
            request,
        }))
    }

    fn request_in(&self, position: u32) -> Result<Option<Request>, ReadError> {
        let Body::ModelRequest { request, added, .. } = self.tape.event(position)?.body else {
            return Ok(None);
        };
        Ok(Some(Request {
            whole: request.and_then(|hash| self.tape.blob(&hash).ok()),
            hash: request,
            added,
        }))
    }

    /// What stands on the tape between two answers: what the second one answers to.
    fn recorded_between(&self, line: u16, first: u32, end: u32) -> super::Section {
        let numbers = (first..end).take(MAX_BETWEEN);
        let rows = numbers.filter_map(|number| self.row(line, StepNumber(number)));
        let lines = rows.map(|row| {
            let mut words = SafeText::line(&format!("{:>4}  ", row.number.0));
            words.push(&row.actor);
            words.push(&SafeText::literal("  "));
            words.push(&row.title);
            words
        });
        let mut listed = section("recorded since the answer before", lines.collect());
        listed.omitted += (end.saturating_sub(first) as usize).saturating_sub(MAX_BETWEEN);
        listed
    }
}

/// A block without its call id, which is another in every run.
fn block(block: ModelBlock) -> Value {
    match block.kind {
        BlockKind::Text => json!({"type": "text", "text": block.text}),
        BlockKind::Thinking => json!({"type": "thinking", "text": block.text}),
        BlockKind::ToolCall => {
            json!({"type": "tool_call", "name": block.text, "args": block.data})
        }
        BlockKind::Other => block.data,
    }
}

/// What is to be said of a turn's request beside another one's.
fn compared(before: Option<&Turn>, turn: &Turn) -> RequestView {
    let mut view = RequestView {
        step: Some(turn.step),
        before: before.map(|before| before.step),
        ..RequestView::default()
    };
    let Some(request) = &turn.request else {
        view.remarks.push(SafeText::literal(
            "the tape does not record what the model was sent",
        ));
        return view;
    };
    let earlier = before.and_then(|before| before.request.as_ref());
    if let (Some(old), Some(new)) = (earlier.and_then(|request| request.hash), request.hash)
        && old == new
    {
        view.basis = RequestBasis::Whole;
        view.remarks
            .push(SafeText::literal("the same request, byte for byte"));
        return view;
    }
    let old = earlier.and_then(|request| request.whole.as_deref());
    match (old, request.whole.as_deref()) {
        (Some(old), Some(new)) => {
            let [old, new] = [old, new].map(String::from_utf8_lossy);
            if let Some(changes) = difference(&old, &new) {
                view.basis = RequestBasis::Whole;
                view.remarks.extend(summary(&changes));
                view.changes = changes;
                return view;
            }
            view.remarks.push(SafeText::literal(
                "the requests are no JSON, or too large to be compared",
            ));
        }
        (None, Some(whole)) if before.is_none() => {
            view.remarks
                .push(SafeText::literal("the first request of this agent"));
            if let Ok(value) = serde_json::from_slice::<Value>(whole) {
                view.basis = RequestBasis::Whole;
                view.sections = vec![json_section("request", &value)];
                return view;
            }
        }
        (_, None) if request.hash.is_some() => view.remarks.push(SafeText::literal(
            "of the whole request only the hash is known",
        )),
        _ => {}
    }
    if !request.added.is_null() {
        view.basis = RequestBasis::Added;
        view.sections = vec![json_section("new in this request", &request.added)];
    }
    view
}

pub(super) fn difference(old: &str, new: &str) -> Option<Vec<JsonChange>> {
    json_diff::between(old, new, BUDGET)
}

/// How many changes lie in which part of the request: `messages: 2 added · system: 1 changed`.
fn summary(changes: &[JsonChange]) -> Option<SafeText> {
    const KINDS: [&str; 4] = ["added", "removed", "changed", "moved"];
    let mut parts: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for change in changes {
        let part = match change.path.0.first() {
            Some(JsonStep::Member { name, .. }) => name.clone(),
            _ => "request".to_owned(),
        };
        let kind = match change.kind {
            JsonChangeKind::Added => 0,
            JsonChangeKind::Removed => 1,
            JsonChangeKind::Changed | JsonChangeKind::Rewritten => 2,
            JsonChangeKind::Moved { .. } => 3,
        };
        if let Some(count) = parts.entry(part).or_default().get_mut(kind) {
            *count += 1;
        }
    }
    let mut words = String::new();
    for (part, counts) in parts {
        let between = if words.is_empty() { "" } else { " · " };
        let counts = counts.iter().zip(KINDS).filter(|(count, _)| **count > 0);
        let counts: Vec<String> = counts
            .map(|(count, kind)| format!("{} {kind}", human::count(*count as u64)))
            .collect();
        // Writing to a string does not fail.
        let _ = write!(words, "{between}{part}: {}", counts.join(", "));
    }
    (!words.is_empty()).then(|| SafeText::line(&words))
}
