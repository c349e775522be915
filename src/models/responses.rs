//! Answers of OpenAI's Responses: items that are added, grow and are done, then one event with
//! the whole answer; or one document.

use serde_json::Value;

use super::draft::{Draft, Slot, number, text};
use crate::model::BlockKind;

/// Where tokens are told. Those from a cache are among the others.
const TOKENS: [(&str, Slot); 3] = [
    ("/input_tokens", |usage| &mut usage.input),
    ("/output_tokens", |usage| &mut usage.output),
    ("/input_tokens_details/cached_tokens", |usage| {
        &mut usage.cache_read
    }),
];

/// Takes an event of the stream.
pub(super) fn event(draft: &mut Draft, kind: &str, data: &Value) {
    let at = number(data, "output_index");
    let delta = text(data, "delta").unwrap_or_default();
    let mut add = |part, block| {
        let part = draft.part((at, part), block);
        match block {
            BlockKind::ToolCall => part.arguments.push_str(delta),
            _ => part.text.push_str(delta),
        }
    };
    match kind {
        "response.created" | "response.in_progress" => {
            if let Some(response) = data.get("response") {
                draft.model = text(response, "model").map(str::to_owned);
            }
        }
        "response.output_text.delta" | "response.refusal.delta" => {
            add(number(data, "content_index"), BlockKind::Text);
        }
        "response.reasoning_summary_text.delta" => {
            add(number(data, "summary_index"), BlockKind::Thinking);
        }
        "response.reasoning_text.delta" => {
            add(number(data, "content_index"), BlockKind::Thinking);
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            add(0, BlockKind::ToolCall);
        }
        "response.output_item.added" => {
            // Of the others, what comes says what they are.
            if let Some(call) = data.get("item").filter(|item| is_call(item)) {
                item(draft, at, call);
            }
        }
        "response.output_item.done" => {
            if let Some(done) = data.get("item") {
                item(draft, at, done);
            }
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            if let Some(response) = data.get("response") {
                whole(draft, response);
            }
            draft.is_over = true;
        }
        _ => {}
    }
}

fn is_call(item: &Value) -> bool {
    matches!(
        text(item, "type"),
        Some("function_call" | "custom_tool_call")
    )
}

fn item(draft: &mut Draft, at: u64, item: &Value) {
    let kind = text(item, "type").unwrap_or_default();
    let texts = |field: &str| {
        let parts = item.get(field).and_then(Value::as_array);
        parts.into_iter().flatten().enumerate()
    };
    match kind {
        "message" => {
            for (index, part) in texts("content") {
                let words = text(part, "text").or_else(|| text(part, "refusal"));
                let part = draft.begin((at, index as u64), BlockKind::Text);
                words.unwrap_or_default().clone_into(&mut part.text);
            }
        }
        "reasoning" => {
            let said = texts("summary").chain(texts("content"));
            for (index, (_, said)) in said.enumerate() {
                let part = draft.begin((at, index as u64), BlockKind::Thinking);
                text(said, "text")
                    .unwrap_or_default()
                    .clone_into(&mut part.text);
            }
        }
        "function_call" | "custom_tool_call" => {
            let part = draft.begin((at, 0), BlockKind::ToolCall);
            text(item, "name")
                .unwrap_or_default()
                .clone_into(&mut part.text);
            part.call = text(item, "call_id").map(str::to_owned);
            let given = text(item, "arguments").or_else(|| text(item, "input"));
            given.unwrap_or_default().clone_into(&mut part.arguments);
        }
        other => {
            let part = draft.begin((at, 0), BlockKind::Other);
            other.clone_into(&mut part.text);
            part.data = item.clone();
        }
    }
}

/// Takes a whole answer.
pub(super) fn whole(draft: &mut Draft, response: &Value) {
    draft.model = text(response, "model").map(str::to_owned);
    draft.count(&TOKENS, response.get("usage"));
    if let Some(usage) = &mut draft.usage {
        usage.input = usage.input.saturating_sub(usage.cache_read);
    }
    let output = response.get("output").and_then(Value::as_array);
    if let Some(output) = output.filter(|output| !output.is_empty()) {
        draft.clear();
        for (at, one) in output.iter().enumerate() {
            item(draft, at as u64, one);
        }
    }
    let status = text(response, "status").unwrap_or_default();
    let why = response.pointer("/incomplete_details/reason");
    draft.stop = why
        .and_then(Value::as_str)
        .or(Some(status).filter(|status| !status.is_empty()))
        .map(str::to_owned);
    draft.is_over = matches!(status, "completed" | "incomplete" | "failed");
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        draft.fail(error.clone());
    } else if status == "failed" {
        draft.fail(response.clone());
    }
}
