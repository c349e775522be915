//! What a request for a model's turn says: which model, what is new in it, and what came of
//! the tools that were called before.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::api::Dialect;
use super::draft::text;
use crate::model::Outcome;

/// So many requests are remembered to find the one that another goes on from.
const REMEMBERED: usize = 8;

/// A field that marks how far a cache reaches. It moves from request to request, and says
/// nothing of the conversation.
const CACHE_MARK: &str = "cache_control";

/// What a tool returned, as a request tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    /// The call.
    pub(super) call: String,
    /// The words of it.
    pub(super) output: String,
    /// Whether it failed, as far as that is told.
    pub(super) outcome: Outcome,
}

/// The model that is asked.
pub(super) fn model_of(document: &Value) -> Option<&str> {
    text(document, "model")
}

/// What tools returned, in the order of the conversation.
pub(super) fn returned(dialect: Dialect, document: &Value) -> Vec<Returned> {
    let turns = turns(dialect, document).unwrap_or_default();
    let one = |turn: &Value, call: &str, output: &str| {
        Some(Returned {
            call: text(turn, call)?.to_owned(),
            output: words(turn.get(output)?),
            outcome: match turn.get("is_error") {
                Some(Value::Bool(true)) => Outcome::Failed,
                _ => Outcome::Ok,
            },
        })
    };
    let of_turn = |turn: &Value| -> Vec<Returned> {
        match dialect {
            Dialect::Messages => {
                let content = turn.get("content").and_then(Value::as_array);
                let results = content.into_iter().flatten();
                let results = results.filter(|block| text(block, "type") == Some("tool_result"));
                let result = |block: &Value| {
                    let mut block = block.clone();
                    // A tool that said nothing has no content.
                    if let Some(block) = block.as_object_mut() {
                        block.entry("content").or_insert_with(|| "".into());
                    }
                    one(&block, "tool_use_id", "content")
                };
                results.filter_map(result).collect()
            }
            Dialect::ChatCompletions if text(turn, "role") == Some("tool") => {
                one(turn, "tool_call_id", "content").into_iter().collect()
            }
            Dialect::Responses
                if matches!(
                    text(turn, "type"),
                    Some("function_call_output" | "custom_tool_call_output")
                ) =>
            {
                one(turn, "call_id", "output").into_iter().collect()
            }
            _ => Vec::new(),
        }
    };
    turns.iter().flat_map(of_turn).collect()
}

/// The words of a content: a text, or a list of blocks.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match text(block, "text") {
                Some(text) => text.to_owned(),
                None => format!("[{}]", text(block, "type").unwrap_or("block")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn turns(dialect: Dialect, document: &Value) -> Option<&[Value]> {
    let turns = document.get(dialect.conversation())?.as_array()?;
    Some(turns.as_slice())
}

/// The requests before, to say what is new in the next one.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    known: VecDeque<(Dialect, Value)>,
}

impl Conversations {
    /// What is new in a request since the one that it goes on from: fields that differ, and
    /// of the conversation the turns behind what was there. All of it where it goes on from
    /// none.
    pub(super) fn added(&mut self, dialect: Dialect, document: &Value) -> Value {
        let shared = |(other, before): &&(Dialect, Value)| {
            let (old, new) = (turns(dialect, before)?, turns(dialect, document)?);
            let goes_on = *other == dialect
                && !old.is_empty()
                && old.len() <= new.len()
                && old.iter().zip(new).all(|(old, new)| is_same(old, new));
            goes_on.then_some(old.len())
        };
        let best = self
            .known
            .iter()
            .filter_map(|one| Some((shared(&one)?, &one.1)));
        let best = best.max_by_key(|(shared, _)| *shared);
        let added = match (best, document.as_object()) {
            (Some((shared, before)), Some(fields)) => news(dialect, shared, before, fields),
            _ => document.clone(),
        };
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back((dialect, document.clone()));
        added
    }
}

fn news(dialect: Dialect, shared: usize, before: &Value, fields: &Map<String, Value>) -> Value {
    let mut added = Map::new();
    for (name, value) in fields {
        if name == dialect.conversation() {
            let behind = value.as_array().and_then(|turns| turns.get(shared..));
            added.insert(name.clone(), behind.unwrap_or_default().into());
        } else if before.get(name).is_none_or(|old| !is_same(old, value)) {
            added.insert(name.clone(), value.clone());
        }
    }
    added.into()
}

/// Whether two values say the same, marks of caches aside.
fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let count = |fields: &Map<String, Value>| {
                fields.len() - usize::from(fields.contains_key(CACHE_MARK))
            };
            count(one) == count(two)
                && one
                    .iter()
                    .filter(|(name, _)| *name != CACHE_MARK)
                    .all(|(name, value)| two.get(name).is_some_and(|other| is_same(value, other)))
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (one, two) => one == two,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_new_is_added() {
        let mut conversations = Conversations::default();
        let mut added = |document: Value| conversations.added(Dialect::Messages, &document);
        let first = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
        assert_eq!(added(first.clone()), first);
        let second = json!({"model": "m", "messages": [
            {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]});
        let news = json!({"messages": [{"role": "assistant", "content": "b"}]});
        assert_eq!(added(second), news);
        let other = json!({"model": "n", "messages": [{"role": "user", "content": "else"}]});
        assert_eq!(added(other.clone()), other, "it goes on from none");
        let third = json!({"model": "n", "messages": [
            {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"}]});
        let news = json!({"model": "n", "messages": [{"role": "user", "content": "c"}]});
        assert_eq!(
            added(third),
            news,
            "it goes on from the longest that it begins with"
        );
    }

    #[test]
    fn a_mark_of_a_cache_that_moves_is_nothing_new() {
        let mut conversations = Conversations::default();
        let turn = |mark: bool| {
            let mut block = json!({"type": "text", "text": "a"});
            if mark {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
            json!({"role": "user", "content": [block]})
        };
        conversations.added(Dialect::Messages, &json!({"messages": [turn(true)]}));
        let next = json!({"messages": [turn(false), turn(true)]});
        let added = conversations.added(Dialect::Messages, &next);
        assert_eq!(added, json!({"messages": [turn(true)]}));
    }

    #[test]
    fn results_of_tools_are_found_in_every_dialect() {
        let check = |dialect, document: Value, expected: &[(&str, &str, Outcome)]| {
            let found = returned(dialect, &document);
            let found: Vec<_> = found
                .iter()
                .map(|one| (one.call.as_str(), one.output.as_str(), one.outcome))
                .collect();
            assert_eq!(found, expected);
        };
        check(
            Dialect::Messages,
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [
                    {"type": "text", "text": "one"}, {"type": "image"}]},
                {"type": "tool_result", "tool_use_id": "t2", "is_error": true}]}]}),
            &[
                ("t1", "one\n[image]", Outcome::Ok),
                ("t2", "", Outcome::Failed),
            ],
        );
        check(
            Dialect::ChatCompletions,
            json!({"messages": [{"role": "tool", "tool_call_id": "c", "content": "out"}]}),
            &[("c", "out", Outcome::Ok)],
        );
        check(
            Dialect::Responses,
            json!({"input": [{"type": "function_call_output", "call_id": "c", "output": "out"}]}),
            &[("c", "out", Outcome::Ok)],
        );
        check(Dialect::Responses, json!({"input": "only words"}), &[]);
    }
}
