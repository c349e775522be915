//! An answer that is being put together, whatever dialect it comes in.

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer::{Answer, other};
use crate::model::{BlockKind, ModelBlock, Outcome, Usage};

/// Which block a piece belongs to: one number, or two where blocks have parts.
pub(super) type Key = (u64, u64);

/// What has come of an answer.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) model: Option<String>,
    pub(super) stop: Option<String>,
    pub(super) usage: Option<Usage>,
    /// It is complete.
    pub(super) is_over: bool,
    parts: BTreeMap<Key, Part>,
    error: Option<Value>,
}

/// A block that is being put together.
#[derive(Debug)]
pub(super) struct Part {
    kind: BlockKind,
    /// The words; of a tool call, its name; of another block, its word.
    pub(super) text: String,
    pub(super) call: Option<String>,
    /// Of a tool call, its arguments as they were written.
    pub(super) arguments: String,
    /// The arguments or the block, where they came whole.
    pub(super) data: Value,
}

impl Draft {
    /// The block of this key, which begins here if there is none.
    pub(super) fn part(&mut self, key: Key, kind: BlockKind) -> &mut Part {
        self.parts.entry(key).or_insert_with(|| Part {
            kind,
            text: String::new(),
            call: None,
            arguments: String::new(),
            data: Value::Null,
        })
    }

    /// The block of this key, begun anew.
    pub(super) fn begin(&mut self, key: Key, kind: BlockKind) -> &mut Part {
        self.parts.remove(&key);
        self.part(key, kind)
    }

    /// Forgets the blocks: all of them come again.
    pub(super) fn clear(&mut self) {
        self.parts.clear();
    }

    /// It is no answer but an error, though words may have come before.
    pub(super) fn fail(&mut self, error: Value) {
        self.error.get_or_insert(error);
        self.is_over = true;
    }

    /// Adds what is told of tokens: what is told later counts.
    pub(super) fn count(&mut self, told: &[(&str, Slot)], usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let counted = self.usage.get_or_insert_default();
        for (pointer, slot) in told {
            if let Some(tokens) = usage.pointer(pointer).and_then(Value::as_u64) {
                *slot(counted) = tokens;
            }
        }
    }

    pub(super) fn finish(self) -> Answer {
        let is_error = self.error.is_some();
        let mut blocks: Vec<ModelBlock> = self.parts.into_values().map(Part::finish).collect();
        // A block that began and never held a word says nothing.
        blocks.retain(|block| {
            !(matches!(block.kind, BlockKind::Text | BlockKind::Thinking)
                && block.text.is_empty()
                && block.data.is_null())
        });
        blocks.extend(self.error.map(|error| other("error", error)));
        Answer {
            model: self.model,
            blocks,
            stop: self.stop,
            usage: self.usage,
            outcome: if is_error {
                Outcome::Failed
            } else {
                Outcome::Ok
            },
        }
    }
}

/// Where a number of tokens is kept.
pub(super) type Slot = fn(&mut Usage) -> &mut u64;

impl Part {
    fn finish(self) -> ModelBlock {
        let data = match self.kind {
            BlockKind::ToolCall if !self.arguments.is_empty() => {
                // Arguments that are no JSON are kept as they were written.
                serde_json::from_str(&self.arguments).unwrap_or(Value::String(self.arguments))
            }
            BlockKind::ToolCall if self.data.is_null() => Value::Object(serde_json::Map::new()),
            _ => self.data,
        };
        ModelBlock {
            kind: self.kind,
            text: self.text,
            call: self.call,
            data,
        }
    }
}

/// A text of an object.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str()
}

/// A number of an object; without one, 0.
pub(super) fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or_default()
}
