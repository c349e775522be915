//! What models say and are asked in the three dialects, as an endpoint of theirs puts it.

use serde_json::{Value, json};

use super::endpoint::answer;

/// How a run and its model speak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Api {
    Messages,
    Chat,
    Responses,
}

pub(super) const APIS: [Api; 3] = [Api::Messages, Api::Chat, Api::Responses];

/// A call: its id, the tool, its arguments.
pub(super) type Call<'a> = (&'a str, &'a str, Value);

impl Api {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }

    pub(super) const fn company(self) -> &'static str {
        match self {
            Self::Messages => "anthropic",
            Self::Chat | Self::Responses => "openai",
        }
    }

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages?beta=true",
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
        }
    }

    pub(super) const fn conversation(self) -> &'static str {
        match self {
            Self::Messages | Self::Chat => "messages",
            Self::Responses => "input",
        }
    }

    pub(super) fn request(self, turns: &Value) -> Value {
        let mut request = json!({"model": "old", "stream": true, "temperature": 0.5,
            "tools": [{"name": "Write"}], "max_tokens": 99});
        request[self.conversation()] = turns.clone();
        request
    }

    /// What a model says, as one document.
    pub(super) fn document(self, words: &str, calls: &[Call<'_>]) -> Value {
        match self {
            Self::Messages => {
                let mut content = vec![json!({"type": "text", "text": words})];
                if !calls.is_empty() {
                    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s1"});
                    content.insert(0, thought);
                }
                content.extend(calls.iter().map(|(id, name, input)| {
                    json!({"type": "tool_use", "id": id, "name": name, "input": input})
                }));
                let stop = if calls.is_empty() {
                    "end_turn"
                } else {
                    "tool_use"
                };
                json!({"type": "message", "role": "assistant", "model": "m-live",
                    "content": content, "stop_reason": stop})
            }
            Self::Chat => {
                let calls: Vec<Value> = calls
                    .iter()
                    .map(|(id, name, input)| {
                        json!({"id": id, "type": "function", "function":
                            {"name": name, "arguments": input.to_string()}})
                    })
                    .collect();
                let stop = if calls.is_empty() {
                    "stop"
                } else {
                    "tool_calls"
                };
                let mut message = json!({"role": "assistant", "content": words});
                if !calls.is_empty() {
                    message["tool_calls"] = calls.into();
                }
                json!({"model": "m-live", "choices": [
                    {"index": 0, "message": message, "finish_reason": stop}]})
            }
            Self::Responses => {
                let mut output = vec![json!({"type": "message", "id": "msg_1",
                    "role": "assistant", "content": [{"type": "output_text", "text": words}]})];
                output.extend(calls.iter().map(|(id, name, input)| {
                    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name,
                        "arguments": input.to_string()})
                }));
                json!({"status": "completed", "model": "m-live", "output": output})
            }
        }
    }

    /// The same, as a stream of events.
    fn stream(self, words: &str, calls: &[Call<'_>]) -> String {
        let document = self.document(words, calls);
        let events = match self {
            Self::Messages => {
                let mut events = vec![json!({"type": "message_start", "message": {"content": []}})];
                let blocks = document["content"].as_array().unwrap();
                for (index, block) in blocks.iter().enumerate() {
                    events.push(json!({"type": "content_block_start", "index": index,
                        "content_block": block}));
                }
                events.push(json!({"type": "message_delta", "delta":
                    {"stop_reason": document["stop_reason"]}}));
                events.push(json!({"type": "message_stop"}));
                events
            }
            Self::Chat => {
                let choice = &document["choices"][0];
                vec![json!({"choices": [{"index": 0, "delta": choice["message"],
                    "finish_reason": choice["finish_reason"]}]})]
            }
            Self::Responses => vec![json!({"type": "response.completed", "response": document})],
        };
        let event = |event: &Value| format!("data: {event}\n\n");
        events.iter().map(event).collect()
    }
}

pub(super) fn write(id: &'static str, path: &str, text: &str) -> Call<'static> {
    let arguments = json!({"file_path": format!("/work/{path}"), "content": text});
    (id, "Write", arguments)
}

/// An answer of a model over HTTP, in small pieces.
pub(super) fn told(api: Api, is_stream: bool, words: &str, calls: &[Call<'_>]) -> Vec<Vec<u8>> {
    let (kind, body) = if is_stream {
        ("text/event-stream", api.stream(words, calls))
    } else {
        ("application/json", api.document(words, calls).to_string())
    };
    let head = format!("200 OK\r\ncontent-type: {kind}");
    let pieces: Vec<&[u8]> = body.as_bytes().chunks(29).collect();
    answer(&head, &pieces, true)
}
