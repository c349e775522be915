//! The conversation of a run: what was said and done, a turn for each step.
//!
//! A turn costs a read of the lines that open its step and of what was said in it. What a
//! tool was given and returned is read only where the whole turn is wanted.

use std::collections::BTreeSet;
use std::ops::Range;

use super::detail::sections_of;
use super::{Debugger, Section, StepRow};
use crate::model::{BlockKind, Body, Event, Kind, StepKind, StepNumber};
use crate::text::SafeText;

/// A step, as a part of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The row of the timeline.
    pub row: StepRow,
    /// What was said in it, in order; of a tool call that is not wanted whole, nothing.
    pub spoken: Vec<Spoken>,
}

/// Something that was said in a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// What sort of thing.
    pub sort: Utterance,
    /// Its lines.
    pub lines: Vec<SafeText>,
    /// Lines behind these that were left out.
    pub omitted: usize,
}

/// A sort of thing that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Utterance {
    /// Words for somebody else.
    Words,
    /// Words for itself.
    Thinking,
    /// Something else, with its name: a call, an output, usage.
    Other(SafeText),
}

/// Lines of an utterance in a turn that is not wanted whole.
const FEW_LINES: usize = 4;
/// Bytes of a line in such a turn: more than any screen shows of it.
const FEW_BYTES: usize = 2 << 10;
/// Lines of a turn that is wanted whole.
const MAX_LINES: usize = 2000;
/// A record longer than this is not decoded for a turn that is not wanted whole.
const MAX_DECODED: u64 = 1 << 20;
/// Events of a step that are read.
const MAX_EVENTS: usize = 200;

impl Debugger {
    /// The turns of these steps of a line; whole those that `whole` names. Of an event at
    /// `until` or behind it, nothing is told.
    pub fn conversation(
        &self,
        line: u16,
        steps: Range<u32>,
        whole: &BTreeSet<u32>,
        until: Option<u32>,
    ) -> Vec<Turn> {
        let rows = self.timeline(line, steps).into_iter();
        rows.map(|row| {
            let is_whole = whole.contains(&row.number.0);
            let step = self.tape.index.step_on(line, row.number);
            let spoken = step.map_or(Vec::new(), |step| self.spoken(step, &row, is_whole, until));
            Turn { row, spoken }
        })
        .collect()
    }

    fn spoken(&self, step: u32, row: &StepRow, is_whole: bool, until: Option<u32>) -> Vec<Spoken> {
        let mut spoken = Vec::new();
        let is_told = |position: &u32| until.is_none_or(|until| *position < until);
        let events = self.telling_events_of(step).take(MAX_EVENTS);
        for (position, kind) in events.filter(|(position, _)| is_told(position)) {
            let is_said = matches!(kind, Kind::Prompt | Kind::ModelResponse | Kind::Note);
            let is_short = || {
                let len = self.tape.record_len(position);
                len.is_ok_and(|len| len <= MAX_DECODED)
            };
            let is_wanted = is_whole || (is_said && row.kind != StepKind::Tool && is_short());
            if is_wanted && let Ok(event) = self.tape.event(position) {
                add(&event, is_whole, &mut spoken);
            }
        }
        spoken
    }
}

fn add(event: &Event, is_whole: bool, spoken: &mut Vec<Spoken>) {
    if !is_whole {
        match &event.body {
            Body::Prompt { text, .. } => spoken.push(begun(Utterance::Words, text)),
            Body::ModelResponse { blocks, .. } => {
                let said = blocks.iter().filter_map(|block| match block.kind {
                    BlockKind::Text => Some(begun(Utterance::Words, &block.text)),
                    BlockKind::Thinking => Some(begun(Utterance::Thinking, &block.text)),
                    BlockKind::ToolCall | BlockKind::Other => None,
                });
                spoken.extend(said);
            }
            _ => {}
        }
        return;
    }
    let told: usize = spoken.iter().map(|spoken| spoken.lines.len()).sum();
    let mut room = MAX_LINES.saturating_sub(told);
    for section in sections_of(event) {
        let mut section = whole(section);
        let left = section.lines.len().saturating_sub(room);
        section.lines.truncate(room);
        section.omitted += left;
        room -= section.lines.len();
        spoken.push(section);
    }
}

fn whole(section: Section) -> Spoken {
    let sort = match section.name.as_str() {
        "response" => Utterance::Words,
        "thinking" => Utterance::Thinking,
        name if name.starts_with("prompt") => Utterance::Words,
        _ => Utterance::Other(section.name),
    };
    Spoken {
        sort,
        lines: section.lines,
        omitted: section.omitted,
    }
}

/// The first lines of a text, and how many more there are.
fn begun(sort: Utterance, text: &str) -> Spoken {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let start = |line: &str| {
        let end = line.char_indices().map(|(at, _)| at);
        let end = end.take_while(|at| *at <= FEW_BYTES).last().unwrap_or(0);
        match line.split_at_checked(end) {
            Some((start, _)) if line.len() > FEW_BYTES => SafeText::line(start),
            _ => SafeText::line(line),
        }
    };
    let first = lines.by_ref().take(FEW_LINES).map(start).collect();
    Spoken {
        sort,
        lines: first,
        omitted: lines.count(),
    }
}

impl Turn {
    /// The number of its step.
    pub fn number(&self) -> StepNumber {
        self.row.number
    }
}
