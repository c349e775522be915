//! A step as a few numbers: equal ones mean equal steps.

use std::fmt;

use serde_json::{Map, Value};

use super::content::StepContent;
use super::volatile::{Volatile, Wording};
use crate::model::{Outcome, StepKind};

/// A step as a few numbers: 64 bits of BLAKE3 for each of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    sort: u64,
    asked: u64,
    answered: u64,
    files: u64,
    outcome: Outcome,
    is_open: bool,
}

/// The parts in which two steps of one sort differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts(u8);

impl Parts {
    /// What was asked.
    pub const ASKED: Self = Self(1);
    /// What came back.
    pub const ANSWERED: Self = Self(2);
    /// How it ended.
    pub const OUTCOME: Self = Self(4);
    /// What became of files.
    pub const FILES: Self = Self(8);

    /// Every part and its name, in the order in which they happen.
    pub const ALL: [(Self, &str); 4] = [
        (Self::ASKED, "asked"),
        (Self::ANSWERED, "answer"),
        (Self::OUTCOME, "outcome"),
        (Self::FILES, "files"),
    ];

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether these are among them.
    pub const fn has(self, parts: Self) -> bool {
        self.0 & parts.0 == parts.0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = Self::ALL.into_iter();
        named.filter_map(move |(part, name)| self.has(part).then_some(name))
    }

    fn set(&mut self, part: Self, is_set: bool) {
        self.0 |= if is_set { part.0 } else { 0 };
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        f.write_str(&names.join(", "))
    }
}

impl Fingerprint {
    /// The fingerprint of a step, `volatile` left out of account.
    pub fn of(content: &StepContent, volatile: &Volatile) -> Self {
        let mut form = String::new();
        let mut number = |fields: &Map<String, Value>, wording| {
            form.clear();
            write_object(fields, volatile, wording, &mut form);
            number_of(form.as_bytes())
        };
        let (asked, answered) = (
            number(&content.asked, Wording::Said),
            // Only what a tool printed takes as long as it takes: a model chooses its words.
            number(&content.answered, answer_wording(content)),
        );
        let files = number(&content.files, Wording::Said);
        let sort = format!("{} {}", content.kind.as_str(), content.actor);
        Self {
            sort: number_of(sort.as_bytes()),
            asked,
            answered,
            files,
            outcome: content.outcome,
            is_open: content.is_open,
        }
    }

    /// What sort of act it is.
    pub(super) const fn sort(&self) -> u64 {
        self.sort
    }

    /// The sort of act, and what was asked.
    pub(super) const fn request(&self) -> (u64, u64) {
        (self.sort, self.asked)
    }

    /// Everything but whether the tape ends inside the step.
    pub(super) const fn whole(&self) -> (u64, u64, u64, u64, Outcome) {
        (
            self.sort,
            self.asked,
            self.answered,
            self.files,
            self.outcome,
        )
    }

    /// The parts in which it differs from another of its sort. What a step has not come to
    /// yet is no difference.
    pub fn parts_unlike(&self, other: &Self) -> Parts {
        let mut parts = Parts::default();
        parts.set(Parts::ASKED, self.asked != other.asked);
        if !self.is_open && !other.is_open {
            parts.set(Parts::ANSWERED, self.answered != other.answered);
            parts.set(Parts::OUTCOME, self.outcome != other.outcome);
            parts.set(Parts::FILES, self.files != other.files);
        }
        parts
    }
}

/// How the answer of a step is worded.
pub(super) fn answer_wording(content: &StepContent) -> Wording {
    match content.kind {
        StepKind::Model => Wording::Said,
        _ => Wording::Printed,
    }
}

/// Whether two values are the same but for what is volatile in each.
pub(super) fn is_same(
    (left, left_volatile): (&Value, &Volatile),
    (right, right_volatile): (&Value, &Volatile),
    wording: Wording,
) -> bool {
    let form = |value, volatile| {
        let mut form = String::new();
        write(value, volatile, wording, &mut form);
        form
    };
    left == right || form(left, left_volatile) == form(right, right_volatile)
}

fn number_of(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk::<8>()
        .unwrap_or((&[0; 8], &[]));
    u64::from_be_bytes(*first)
}

/// A form in which equal values are equal texts, and different ones are not: each text comes
/// with its length, and the order of keys means nothing.
fn write(value: &Value, volatile: &Volatile, wording: Wording, into: &mut String) {
    match value {
        Value::String(text) => write_text(text, volatile, wording, into),
        Value::Array(values) => {
            into.push('[');
            for value in values {
                write(value, volatile, wording, into);
                into.push(',');
            }
            into.push(']');
        }
        Value::Object(fields) => write_object(fields, volatile, wording, into),
        scalar => into.push_str(&scalar.to_string()),
    }
}

fn write_object(
    fields: &Map<String, Value>,
    volatile: &Volatile,
    wording: Wording,
    into: &mut String,
) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    into.push('{');
    for (name, value) in sorted {
        write_text(name, volatile, wording, into);
        write(value, volatile, wording, into);
        into.push(',');
    }
    into.push('}');
}

fn write_text(text: &str, volatile: &Volatile, wording: Wording, into: &mut String) {
    let start = into.len();
    volatile.canonical(text, wording, into);
    let len = into.len() - start;
    into.insert_str(start, &format!("\"{len}:"));
}
