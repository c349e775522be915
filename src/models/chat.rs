//! Answers of OpenAI's Chat Completions: chunks with deltas of the first choice, then `[DONE]`;
//! or one document.

use serde_json::Value;

use super::draft::{Draft, Slot, number, text};
use crate::model::BlockKind;

/// Where tokens are told. Those from a cache are among the others.
const TOKENS: [(&str, Slot); 3] = [
    ("/prompt_tokens", |usage| &mut usage.input),
    ("/completion_tokens", |usage| &mut usage.output),
    ("/prompt_tokens_details/cached_tokens", |usage| {
        &mut usage.cache_read
    }),
];

const THINKING: u64 = 0;
const WORDS: u64 = 1;
const REFUSAL: u64 = 2;
const CALLS: u64 = 3;

/// Takes a chunk.
pub(super) fn event(draft: &mut Draft, data: &Value) {
    take(draft, data, "delta");
}

/// Takes a whole answer.
pub(super) fn whole(draft: &mut Draft, document: &Value) {
    take(draft, document, "message");
    draft.is_over = draft.stop.is_some();
}

fn take(draft: &mut Draft, data: &Value, message: &str) {
    if let Some(model) = text(data, "model") {
        draft.model = Some(model.to_owned());
    }
    count(draft, data.get("usage"));
    let choices = data.get("choices").and_then(Value::as_array);
    // Further choices stand in the frames: an agent that asks for one goes on from the first.
    let is_first = |choice: &&Value| number(choice, "index") == 0;
    for choice in choices.into_iter().flatten().filter(is_first) {
        if let Some(message) = choice.get(message) {
            piece(draft, message);
        }
        if let Some(stop) = text(choice, "finish_reason") {
            draft.stop = Some(stop.to_owned());
        }
    }
}

fn count(draft: &mut Draft, usage: Option<&Value>) {
    let Some(told) = usage.filter(|usage| usage.is_object()) else {
        return;
    };
    draft.count(&TOKENS, Some(told));
    if let Some(usage) = &mut draft.usage {
        usage.input = usage.input.saturating_sub(usage.cache_read);
    }
}

fn piece(draft: &mut Draft, message: &Value) {
    let words = [
        ("reasoning_content", THINKING, BlockKind::Thinking),
        ("content", WORDS, BlockKind::Text),
        ("refusal", REFUSAL, BlockKind::Text),
    ];
    for (field, place, kind) in words {
        if let Some(words) = text(message, field) {
            draft.part((place, 0), kind).text.push_str(words);
        }
    }
    let calls = message.get("tool_calls").and_then(Value::as_array);
    for (at, call) in calls.into_iter().flatten().enumerate() {
        let index = call.get("index").and_then(Value::as_u64);
        let key = (CALLS, index.unwrap_or(at as u64));
        let part = draft.part(key, BlockKind::ToolCall);
        if let Some(id) = text(call, "id").filter(|id| !id.is_empty()) {
            part.call = Some(id.to_owned());
        }
        for (place, input) in [("function", "arguments"), ("custom", "input")] {
            let Some(called) = call.get(place) else {
                continue;
            };
            part.text.push_str(text(called, "name").unwrap_or_default());
            part.arguments
                .push_str(text(called, input).unwrap_or_default());
        }
    }
}
