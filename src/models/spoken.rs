//! An answer in the words of a dialect, as if a model had said it: what a fork answers in the
//! place of what was recorded.
//!
//! The answer comes as a stream where the request asked for one, each event a chunk of its own,
//! and else as one document. What no answer of ours can hold, as the signature of a thought, is
//! empty; tokens are counted as none. Blocks that are neither words nor calls are said as they
//! were recorded, where the dialect has such blocks.
//!
//! The same words as a part of the next request are a [`turn`].

use serde_json::{Map, Value, json};

use super::api::Dialect;
use super::draft::text;
use super::recorded::RecordedReply;
use crate::model::{BlockKind, ModelBlock};

/// The id of what we say, where a dialect wants one.
const ID: &str = "edited";

/// The answer to a request that says these blocks.
pub(super) fn reply(dialect: Dialect, request: &[u8], blocks: &[ModelBlock]) -> RecordedReply {
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    let model = text(&request, "model").unwrap_or_default();
    let is_stream = request.get("stream") == Some(&Value::Bool(true));
    let said = Said { model, blocks };
    let document = match dialect {
        Dialect::Messages => said.message(),
        Dialect::ChatCompletions => said.completion(),
        Dialect::Responses => said.response(),
    };
    let (kind, chunks) = if is_stream {
        let events = match dialect {
            Dialect::Messages => message_events(document),
            Dialect::ChatCompletions => completion_events(document),
            Dialect::Responses => response_events(&document),
        };
        ("text/event-stream", events)
    } else {
        ("application/json", vec![document.to_string()])
    };
    let headers = vec![("content-type".to_owned(), kind.to_owned())];
    RecordedReply {
        head: Some((200, headers)),
        chunks: chunks
            .into_iter()
            .map(|chunk| chunk.into_bytes().into())
            .collect(),
        cut: None,
    }
}

/// What a request holds of an answer that said these blocks. Of thoughts there is nothing: an
/// endpoint takes back only those that it can prove to be its own.
pub(super) fn turn(dialect: Dialect, blocks: &[ModelBlock], customs: &[&str]) -> Vec<Value> {
    let is_said = |block: &&ModelBlock| block.kind != BlockKind::Thinking;
    let blocks: Vec<ModelBlock> = blocks.iter().filter(is_said).cloned().collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    let said = Said {
        model: "",
        blocks: &blocks,
    };
    let taken = |document: Value, pointer: &str| document.pointer(pointer).cloned();
    match dialect {
        Dialect::Messages => {
            let content = taken(said.message(), "/content").unwrap_or_default();
            vec![json!({"role": "assistant", "content": content})]
        }
        Dialect::ChatCompletions => {
            let mut message = taken(said.completion(), "/choices/0/message").unwrap_or_default();
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            for call in calls.into_iter().flatten() {
                let name = call.pointer("/function/name").and_then(Value::as_str);
                if name.is_some_and(|name| customs.contains(&name)) {
                    *call = json!({"id": call["id"], "type": "custom", "custom": {
                        "name": name, "input": call.pointer("/function/arguments")}});
                }
            }
            vec![message]
        }
        Dialect::Responses => {
            let items = taken(said.response(), "/output").unwrap_or_default();
            let items = items.as_array().cloned().unwrap_or_default().into_iter();
            let item = |mut item: Value| {
                let name = text(&item, "name").unwrap_or_default();
                if text(&item, "type") == Some("function_call") && customs.contains(&name) {
                    item = json!({"type": "custom_tool_call", "call_id": item["call_id"],
                        "name": name, "input": item["arguments"]});
                }
                if let Some(fields) = item.as_object_mut() {
                    // Ids that the endpoint did not give mean nothing to it.
                    fields.remove("id");
                    fields.remove("status");
                }
                item
            };
            items.map(item).collect()
        }
    }
}

struct Said<'a> {
    model: &'a str,
    blocks: &'a [ModelBlock],
}

impl Said<'_> {
    fn has_calls(&self) -> bool {
        let mut kinds = self.blocks.iter().map(|block| block.kind);
        kinds.any(|kind| kind == BlockKind::ToolCall)
    }

    /// The words of all blocks of a kind.
    fn words(&self, kind: BlockKind) -> Option<String> {
        let of_kind = self.blocks.iter().filter(|block| block.kind == kind);
        let words: Vec<&str> = of_kind.map(|block| block.text.as_str()).collect();
        (!words.is_empty()).then(|| words.join("\n"))
    }

    fn message(&self) -> Value {
        let block = |block: &ModelBlock| match block.kind {
            BlockKind::Text => json!({"type": "text", "text": block.text}),
            BlockKind::Thinking => {
                json!({"type": "thinking", "thinking": block.text, "signature": ""})
            }
            BlockKind::ToolCall => json!({"type": "tool_use", "id": block.call,
                "name": block.text, "input": block.data}),
            BlockKind::Other => block.data.clone(),
        };
        let blocks = self.blocks.iter().map(block).filter(Value::is_object);
        let stop = if self.has_calls() {
            "tool_use"
        } else {
            "end_turn"
        };
        json!({"id": ID, "type": "message", "role": "assistant", "model": self.model,
            "content": blocks.collect::<Vec<_>>(), "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 0, "output_tokens": 0}})
    }

    fn completion(&self) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), self.words(BlockKind::Text).into());
        if let Some(thought) = self.words(BlockKind::Thinking) {
            message.insert("reasoning_content".to_owned(), thought.into());
        }
        let calls = self.calls().map(|block| {
            json!({"id": block.call, "type": "function", "function":
                {"name": block.text, "arguments": arguments(block)}})
        });
        if self.has_calls() {
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        let stop = if self.has_calls() {
            "tool_calls"
        } else {
            "stop"
        };
        json!({"id": ID, "object": "chat.completion", "created": 0, "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": stop}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}})
    }

    fn calls(&self) -> impl Iterator<Item = &ModelBlock> {
        let blocks = self.blocks.iter();
        blocks.filter(|block| block.kind == BlockKind::ToolCall)
    }

    fn response(&self) -> Value {
        let item = |(at, block): (usize, &ModelBlock)| {
            let id = format!("{ID}_{at}");
            match block.kind {
                BlockKind::Text => json!({"type": "message", "id": id, "status": "completed",
                    "role": "assistant", "content": [
                        {"type": "output_text", "text": block.text, "annotations": []}]}),
                BlockKind::Thinking => json!({"type": "reasoning", "id": id,
                    "summary": [{"type": "summary_text", "text": block.text}]}),
                BlockKind::ToolCall => json!({"type": "function_call", "id": id,
                    "status": "completed", "call_id": block.call, "name": block.text,
                    "arguments": arguments(block)}),
                BlockKind::Other => block.data.clone(),
            }
        };
        let items = self.blocks.iter().enumerate().map(item);
        json!({"id": ID, "object": "response", "created_at": 0, "status": "completed",
            "model": self.model, "output": items.filter(Value::is_object).collect::<Vec<_>>(),
            "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}})
    }
}

/// The arguments of a call as a text. What is no JSON is kept as such a text already.
fn arguments(call: &ModelBlock) -> String {
    match &call.data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An event of a stream, with the name that its type is.
fn named(event: &Value) -> String {
    let name = text(event, "type").unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

fn message_events(mut message: Value) -> Vec<String> {
    let mut take = |field: &str| message.get_mut(field).map(Value::take).unwrap_or_default();
    let (content, stop) = (take("content"), take("stop_reason"));
    if let Some(fields) = message.as_object_mut() {
        fields.insert("content".to_owned(), json!([]));
    }
    let mut events = vec![json!({"type": "message_start", "message": message})];
    let blocks = content.as_array().into_iter().flatten();
    for (index, block) in blocks.enumerate() {
        let mut begun = block.clone();
        let mut cut = |field: &str, empty: Value| {
            let given = begun.get_mut(field);
            given.map(|given| std::mem::replace(given, empty))
        };
        let delta = match text(block, "type") {
            Some("text") => {
                cut("text", "".into()).map(|text| json!({"type": "text_delta", "text": text}))
            }
            Some("thinking") => cut("thinking", "".into())
                .map(|thought| json!({"type": "thinking_delta", "thinking": thought})),
            Some("tool_use") => cut("input", json!({})).map(
                |input| json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
            _ => None,
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        events.extend(
            delta.map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(
        json!({"type": "message_delta", "usage": {"output_tokens": 0},
        "delta": {"stop_reason": stop, "stop_sequence": null}}),
    );
    events.push(json!({"type": "message_stop"}));
    events.iter().map(named).collect()
}

fn completion_events(mut completion: Value) -> Vec<String> {
    let mut take = |pointer: &str| {
        let found = completion.pointer_mut(pointer);
        found.map(Value::take).unwrap_or_default()
    };
    let (mut message, stop) = (take("/choices/0/message"), take("/choices/0/finish_reason"));
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    for (index, call) in calls.into_iter().flatten().enumerate() {
        if let Some(call) = call.as_object_mut() {
            call.insert("index".to_owned(), index.into());
        }
    }
    let model = completion.get("model").cloned().unwrap_or_default();
    let chunk = |delta: &Value, stop: &Value| {
        let chunk = json!({"id": ID, "object": "chat.completion.chunk", "created": 0,
            "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]});
        format!("data: {chunk}\n\n")
    };
    vec![
        chunk(&message, &Value::Null),
        chunk(&json!({}), &stop),
        "data: [DONE]\n\n".to_owned(),
    ]
}

fn response_events(response: &Value) -> Vec<String> {
    let mut begun = response.clone();
    if let Some(fields) = begun.as_object_mut() {
        fields.insert("output".to_owned(), json!([]));
        fields.insert("status".to_owned(), "in_progress".into());
    }
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    let items = response.get("output").and_then(Value::as_array);
    for (at, item) in items.into_iter().flatten().enumerate() {
        let id = item.get("id").cloned().unwrap_or_default();
        let mut empty = item.clone();
        for (field, nothing) in [
            ("content", json!([])),
            ("summary", json!([])),
            ("arguments", "".into()),
        ] {
            if let Some(given) = empty.get_mut(field) {
                *given = nothing;
            }
        }
        events
            .push(json!({"type": "response.output_item.added", "output_index": at, "item": empty}));
        if let Some(words) = item.pointer("/content/0/text") {
            let place = json!({"output_index": at, "content_index": 0, "item_id": id});
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            events.push(with(&place, "response.content_part.added", "part", &part));
            events.push(with(&place, "response.output_text.delta", "delta", words));
            events.push(with(&place, "response.output_text.done", "text", words));
            let part = item.pointer("/content/0").cloned().unwrap_or_default();
            events.push(with(&place, "response.content_part.done", "part", &part));
        }
        if let Some(given) = item.get("arguments") {
            let place = json!({"output_index": at, "item_id": id});
            let name = "response.function_call_arguments.delta";
            events.push(with(&place, name, "delta", given));
            let name = "response.function_call_arguments.done";
            events.push(with(&place, name, "arguments", given));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": response}));
    for (number, event) in events.iter_mut().enumerate() {
        if let Some(fields) = event.as_object_mut() {
            fields.insert("sequence_number".to_owned(), number.into());
        }
    }
    events.iter().map(named).collect()
}

/// An event at a place, with one field more.
fn with(place: &Value, name: &str, field: &str, value: &Value) -> Value {
    let mut event = place.clone();
    if let Some(fields) = event.as_object_mut() {
        fields.insert("type".to_owned(), name.into());
        fields.insert(field.to_owned(), value.clone());
    }
    event
}

#[cfg(test)]
mod tests {
    use super::super::answer::Assembly;
    use super::*;
    use crate::model::Outcome;

    fn block(kind: BlockKind, text: &str, call: Option<&str>, data: Value) -> ModelBlock {
        ModelBlock {
            kind,
            text: text.to_owned(),
            call: call.map(str::to_owned),
            data,
        }
    }

    #[test]
    fn what_is_said_is_heard_in_every_dialect_and_form() {
        let blocks = [
            block(BlockKind::Thinking, "Hm: \u{1f914}", None, Value::Null),
            block(BlockKind::Text, "I write\n\nit.", None, Value::Null),
            block(
                BlockKind::ToolCall,
                "write",
                Some("t1"),
                json!({"path": "a"}),
            ),
            block(BlockKind::ToolCall, "look", Some("t2"), json!({})),
        ];
        for dialect in Dialect::ALL {
            for is_stream in [false, true] {
                let request = json!({"model": "m-1", "stream": is_stream}).to_string();
                let reply = reply(dialect, request.as_bytes(), &blocks);
                let (status, headers) = reply.head.unwrap();
                let mut heard = Assembly::new(dialect, status, &headers);
                for chunk in &reply.chunks {
                    assert!(!heard.is_over(), "{dialect:?}: more comes");
                    heard.push(chunk);
                }
                assert_eq!(heard.is_over(), is_stream, "{dialect:?}");
                let answer = heard.finish(false);
                assert_eq!(answer.outcome, Outcome::Ok, "{dialect:?} {is_stream}");
                assert_eq!(answer.blocks, blocks, "{dialect:?} {is_stream}");
                assert_eq!(answer.model.as_deref(), Some("m-1"), "{dialect:?}");
                assert!(answer.stop.is_some(), "{dialect:?}");
            }
        }
    }
}
