//! Answers of Anthropic's Messages: `message_start`, blocks with their deltas, `message_delta`,
//! `message_stop`; or one document.

use serde_json::Value;

use super::draft::{Draft, Slot, number, text};
use crate::model::BlockKind;

/// Where tokens are told. Those of `message_delta` are totals.
const TOKENS: [(&str, Slot); 4] = [
    ("/input_tokens", |usage| &mut usage.input),
    ("/output_tokens", |usage| &mut usage.output),
    ("/cache_read_input_tokens", |usage| &mut usage.cache_read),
    ("/cache_creation_input_tokens", |usage| {
        &mut usage.cache_write
    }),
];

/// Takes an event of the stream.
pub(super) fn event(draft: &mut Draft, kind: &str, data: &Value) {
    let key = (number(data, "index"), 0);
    match kind {
        "message_start" => {
            if let Some(message) = data.get("message") {
                whole(draft, message);
                draft.is_over = false;
            }
        }
        "content_block_start" => {
            if let Some(content) = data.get("content_block") {
                block(draft, key.0, content);
            }
        }
        "content_block_delta" => {
            if let Some(piece) = data.get("delta") {
                delta(draft, key.0, piece);
            }
        }
        "message_delta" => {
            let stop = data
                .get("delta")
                .and_then(|delta| text(delta, "stop_reason"));
            draft.stop = stop.map(str::to_owned).or(draft.stop.take());
            draft.count(&TOKENS, data.get("usage"));
        }
        "message_stop" => draft.is_over = true,
        _ => {}
    }
}

fn delta(draft: &mut Draft, index: u64, delta: &Value) {
    let key = (index, 0);
    match text(delta, "type").unwrap_or_default() {
        "text_delta" => {
            let part = draft.part(key, BlockKind::Text);
            part.text.push_str(text(delta, "text").unwrap_or_default());
        }
        "thinking_delta" => {
            let part = draft.part(key, BlockKind::Thinking);
            part.text
                .push_str(text(delta, "thinking").unwrap_or_default());
        }
        "input_json_delta" => {
            let part = draft.part(key, BlockKind::ToolCall);
            part.arguments
                .push_str(text(delta, "partial_json").unwrap_or_default());
        }
        // Signatures and citations stand in the frames.
        _ => {}
    }
}

fn block(draft: &mut Draft, index: u64, block: &Value) {
    let key = (index, 0);
    let words = |field| text(block, field).unwrap_or_default().to_owned();
    match text(block, "type").unwrap_or_default() {
        "text" => draft.begin(key, BlockKind::Text).text = words("text"),
        "thinking" => draft.begin(key, BlockKind::Thinking).text = words("thinking"),
        "tool_use" => {
            let part = draft.begin(key, BlockKind::ToolCall);
            part.text = words("name");
            part.call = text(block, "id").map(str::to_owned);
            part.data = block.get("input").cloned().unwrap_or_default();
        }
        other => {
            let part = draft.begin(key, BlockKind::Other);
            other.clone_into(&mut part.text);
            part.data = block.clone();
        }
    }
}

/// Takes a whole message.
pub(super) fn whole(draft: &mut Draft, message: &Value) {
    draft.model = text(message, "model").map(str::to_owned);
    draft.stop = text(message, "stop_reason").map(str::to_owned);
    draft.count(&TOKENS, message.get("usage"));
    let content = message.get("content").and_then(Value::as_array);
    for (index, content) in content.into_iter().flatten().enumerate() {
        block(draft, index as u64, content);
    }
    draft.is_over = draft.stop.is_some();
}
