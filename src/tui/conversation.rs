//! The conversation in lines of a given width: a few for each turn, or all of it.
//!
//! The worker makes them; the screen shows the turns around the one that is chosen.

use std::collections::BTreeSet;

use crate::debugger::{Spoken, Turn, Utterance};
use crate::model::{Outcome, StepKind};
use crate::text::{SafeText, human, width};

/// A turn in lines.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnLines {
    /// The number of its step.
    pub number: u32,
    /// Its lines; one at least.
    pub lines: Vec<TurnLine>,
    /// How deep the agent is nested whose turn it is.
    pub depth: u8,
}

/// A line of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnLine {
    /// What it is.
    pub tone: TurnTone,
    /// Its text.
    pub text: SafeText,
}

/// What a line of a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnTone {
    /// A person or the system speaks.
    Person,
    /// The model speaks.
    Model,
    /// The model thinks.
    Thinking,
    /// A tool is called.
    Call,
    /// A tool is called, and fails.
    Failed,
    /// Something to be careful with: a gap, an outside change.
    Warning,
    /// Something beside the conversation, or beside the words.
    Aside,
    /// What a call was given, or returned.
    Text,
}

/// Lines of an utterance, where the turn is not shown whole.
const FEW_LINES: usize = 3;

/// Lines of a turn at most.
const MAX_LINES: usize = 4000;

/// Sets a turn in lines of at most `columns`; whole, if it is one of those.
pub fn lines(turn: &Turn, whole: &BTreeSet<u32>, columns: usize) -> TurnLines {
    let number = turn.number().0;
    let is_whole = whole.contains(&number);
    let columns = columns.saturating_sub(2 * usize::from(turn.row.depth.min(8)));
    let mut setter = Setter {
        columns: columns.max(12),
        is_whole,
        lines: Vec::new(),
    };
    setter.set(turn);
    setter.lines.truncate(MAX_LINES);
    TurnLines {
        number,
        lines: setter.lines,
        depth: turn.row.depth,
    }
}

struct Setter {
    columns: usize,
    is_whole: bool,
    lines: Vec<TurnLine>,
}

impl Setter {
    fn set(&mut self, turn: &Turn) {
        let tone = tone(turn);
        let is_said = matches!(turn.row.kind, StepKind::Prompt | StepKind::Model);
        if !is_said {
            self.push(tone, heading(turn));
        } else if turn.row.actor.as_str() != "user" && turn.row.kind == StepKind::Prompt {
            let mut who = turn.row.actor.clone();
            who.push(&SafeText::literal(":"));
            self.push(tone, who);
        }
        for spoken in &turn.spoken {
            self.add(spoken, tone);
        }
        if self.lines.is_empty() {
            self.push(TurnTone::Aside, turn.row.title.clone());
        }
    }

    fn add(&mut self, spoken: &Spoken, tone: TurnTone) {
        match &spoken.sort {
            Utterance::Thinking if !self.is_whole => {
                let count = spoken.lines.len() + spoken.omitted;
                let count = human::plural(count as u64, "line", "lines");
                let words = match spoken.lines.first() {
                    Some(first) if !first.is_empty() => format!("thinks, {count}: {first}"),
                    _ => "thinks; what, was not recorded".to_owned(),
                };
                self.push(TurnTone::Thinking, SafeText::line(&words));
            }
            Utterance::Thinking => self.wrap(spoken, TurnTone::Thinking),
            Utterance::Words => self.wrap(spoken, tone),
            Utterance::Other(name) => {
                let mut heading = SafeText::literal("─ ");
                heading.push(name);
                self.push(TurnTone::Aside, heading);
                self.wrap(spoken, TurnTone::Text);
            }
        }
    }

    fn wrap(&mut self, spoken: &Spoken, tone: TurnTone) {
        let wrapped = spoken
            .lines
            .iter()
            .flat_map(|line| width::wrap(line, self.columns));
        let mut lines: Vec<SafeText> = wrapped.take(MAX_LINES).collect();
        let mut omitted = spoken.omitted;
        if !self.is_whole && lines.len() > FEW_LINES {
            omitted += lines.len() - FEW_LINES;
            lines.truncate(FEW_LINES);
        }
        for line in lines {
            self.lines.push(TurnLine { tone, text: line });
        }
        if omitted > 0 {
            let more = human::plural(omitted as u64, "more line", "more lines");
            let words = SafeText::line(&format!("… {more}"));
            self.push(TurnTone::Aside, words);
        }
    }

    /// A line that is cut where it is too long.
    fn push(&mut self, tone: TurnTone, text: SafeText) {
        let text = width::fit(&text, self.columns);
        self.lines.push(TurnLine { tone, text });
    }
}

/// What a call or something beside the conversation is called.
fn heading(turn: &Turn) -> SafeText {
    let row = &turn.row;
    let mut heading = match row.outcome {
        Outcome::Failed | Outcome::Refused | Outcome::Interrupted => {
            SafeText::line(&format!("{} ", row.outcome.sign()))
        }
        _ => SafeText::default(),
    };
    let is_named = row.title.as_str().starts_with(row.actor.as_str());
    if !is_named {
        heading.push(&row.actor);
        heading.push(&SafeText::literal(" "));
    }
    heading.push(&row.title);
    heading
}

fn tone(turn: &Turn) -> TurnTone {
    match turn.row.kind {
        StepKind::Prompt => TurnTone::Person,
        StepKind::Model => TurnTone::Model,
        StepKind::Tool if turn.row.outcome.is_failure() => TurnTone::Failed,
        StepKind::Tool => TurnTone::Call,
        StepKind::Outside | StepKind::Gap => TurnTone::Warning,
        StepKind::Transaction | StepKind::Other => TurnTone::Aside,
    }
}
