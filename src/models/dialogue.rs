//! A conversation between an agent and a model, as its last request and what came since; and the
//! request that goes on from there. Sends nothing.
//!
//! The next request is the last one, with the model's answer to it and what its calls returned
//! behind it, in the dialect in which it was made. Everything else stays as it was asked: tools,
//! system prompt, temperature. What a dialect cannot be told is an error, and never left out.

use serde_json::{Map, Value, json};

use super::api::{Api, Dialect};
use super::draft::text;
use super::spoken;
use crate::model::{BlobHash, BlockKind, Body, Event, HttpFrame, ModelBlock, Outcome};
use crate::tape::http_frame;

/// So many conversations are remembered: agents speak with several models at once.
const REMEMBERED: usize = 16;

/// The conversations of a run, as events tell of them.
#[derive(Debug, Default)]
pub(super) struct Dialogues {
    /// The one that was heard of last stands last.
    known: Vec<Dialogue>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Dialogue {
    agent: Option<String>,
    /// The call of the model's turn.
    pub(super) call: String,
    pub(super) asked: Asked,
    /// What the model answered; `None`: nothing yet.
    blocks: Option<Vec<ModelBlock>>,
    /// What its calls returned.
    results: Vec<(String, Returned)>,
    /// What a user said behind that.
    prompts: Vec<Prompt>,
}

/// The last request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) dialect: Dialect,
    /// With its query.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: BlobHash,
}

#[derive(Clone, Debug)]
struct Returned {
    outcome: Outcome,
    output: String,
    has_attachments: bool,
}

#[derive(Clone, Debug)]
struct Prompt {
    role: String,
    text: String,
    has_attachments: bool,
}

/// What of a request is another than it was.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    /// The model that is asked.
    pub(super) model: &'a str,
    /// Tokens of an answer at most.
    pub(super) max_tokens: Option<u64>,
    /// Whether the answer comes as a stream.
    pub(super) is_stream: bool,
}

/// A request that is to be made.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) body: Value,
    /// The model is not to think, as it was in the last request: its turn has calls, and no
    /// thought that it would know for its own.
    pub(super) is_without_thinking: bool,
}

impl Dialogues {
    /// Hears an event of the run.
    pub(super) fn hear(&mut self, event: &Event) {
        match (&event.body, &event.head.call) {
            (Body::Other { .. }, Some(call)) => {
                let Some(HttpFrame::Request {
                    api,
                    method,
                    path,
                    headers,
                    body: Some(body),
                }) = http_frame(event)
                else {
                    return;
                };
                let api = Api::parse(&api);
                let Some(dialect) = api.and_then(|api| Dialect::of(api, &method, &path)) else {
                    return;
                };
                if self.known.len() == REMEMBERED {
                    self.known.remove(0);
                }
                self.known.push(Dialogue {
                    agent: event.head.agent.clone(),
                    call: call.clone(),
                    asked: Asked {
                        dialect,
                        path,
                        headers,
                        body,
                    },
                    blocks: None,
                    results: Vec::new(),
                    prompts: Vec::new(),
                });
            }
            (Body::ModelResponse { blocks, .. }, Some(call)) => {
                if let Some(dialogue) = self.last_where(|one| one.call == *call) {
                    dialogue
                        .blocks
                        .get_or_insert_default()
                        .extend_from_slice(blocks);
                }
            }
            (
                Body::ToolResult {
                    outcome,
                    output,
                    attachments,
                    ..
                },
                Some(call),
            ) => {
                if let Some(dialogue) = self.last_where(|one| one.has_called(call)) {
                    let returned = Returned {
                        outcome: *outcome,
                        output: output.clone(),
                        has_attachments: !attachments.is_empty(),
                    };
                    dialogue.results.push((call.clone(), returned));
                }
            }
            (
                Body::Prompt {
                    role,
                    text,
                    attachments,
                },
                _,
            ) => {
                let agent = &event.head.agent;
                if let Some(dialogue) = self.last_where(|one| one.agent == *agent) {
                    dialogue.prompts.push(Prompt {
                        role: role.clone(),
                        text: text.clone(),
                        has_attachments: !attachments.is_empty(),
                    });
                }
            }
            _ => {}
        }
    }

    /// The conversation of an agent that was heard of last, if the model has answered in it.
    pub(super) fn current(&self, agent: Option<&str>) -> Option<&Dialogue> {
        let mut backwards = self.known.iter().rev();
        backwards.find(|one| one.agent.as_deref() == agent && one.blocks.is_some())
    }

    /// The conversation of an agent that was heard of last.
    pub(super) fn last(&self, agent: Option<&str>) -> Option<&Dialogue> {
        let mut backwards = self.known.iter().rev();
        backwards.find(|one| one.agent.as_deref() == agent)
    }

    /// The last one of which this is true, which is from then on the last.
    fn last_where(&mut self, is_it: impl Fn(&Dialogue) -> bool) -> Option<&mut Dialogue> {
        let at = self.known.iter().rposition(is_it)?;
        let dialogue = self.known.remove(at);
        self.known.push(dialogue);
        self.known.last_mut()
    }
}

impl Dialogue {
    fn has_called(&self, call: &str) -> bool {
        let mut calls = self.calls();
        calls.any(|block| block.call.as_deref() == Some(call))
    }

    fn calls(&self) -> impl Iterator<Item = &ModelBlock> {
        let blocks = self.blocks.iter().flatten();
        blocks.filter(|block| block.kind == BlockKind::ToolCall)
    }

    /// The request that goes on from `last`, which is the body of the last one. `own`: the
    /// model's answer as the endpoint itself put it, where it is the endpoint's own.
    pub(super) fn next(
        &self,
        last: &Value,
        own: Option<&[Value]>,
        wish: &Wish<'_>,
    ) -> Result<Request, String> {
        let dialect = self.asked.dialect;
        let mut fields = last
            .as_object()
            .cloned()
            .ok_or("the last request is no JSON object")?;
        let customs = custom_tools(&fields);
        let customs: Vec<&str> = customs.iter().map(String::as_str).collect();
        let said = match own {
            Some(own) => own.to_vec(),
            None => spoken::turn(
                dialect,
                self.blocks.as_deref().unwrap_or_default(),
                &customs,
            ),
        };
        let mut behind = said;
        behind.extend(self.results(&customs)?);
        behind.extend(self.prompts()?);
        let field = dialect.conversation();
        let turns = fields.entry(field).or_insert_with(|| json!([]));
        if let Value::String(words) = turns {
            // Responses take a single prompt as a text.
            *turns = json!([{"role": "user", "content": words}]);
        }
        let turns = turns
            .as_array_mut()
            .ok_or_else(|| format!("the last request holds no conversation in `{field}`"))?;
        turns.extend(behind);
        let is_without_thinking = dialect == Dialect::Messages
            && own.is_none()
            && self.calls().next().is_some()
            && think_no_more(&mut fields);
        wish.put(dialect, &mut fields);
        Ok(Request {
            body: fields.into(),
            is_without_thinking,
        })
    }

    /// What the calls returned, in the order in which they were made.
    fn results(&self, customs: &[&str]) -> Result<Vec<Value>, String> {
        let mut told = Vec::new();
        for block in self.calls() {
            let (name, call) = (&block.text, block.call.as_deref().unwrap_or_default());
            let returned = self.results.iter().rev().find(|(of, _)| of == call);
            let (_, returned) = returned.ok_or_else(|| {
                format!("what {name} returned is not known, and a model is told of every call")
            })?;
            if returned.has_attachments {
                return Err(format!("{name} returned more than text, which is not sent"));
            }
            let output = returned.output.as_str();
            let is_error = returned.outcome != Outcome::Ok;
            told.push(match self.asked.dialect {
                Dialect::Messages => json!({"type": "tool_result", "tool_use_id": call,
                    "content": output, "is_error": is_error}),
                Dialect::ChatCompletions => {
                    json!({"role": "tool", "tool_call_id": call, "content": output})
                }
                Dialect::Responses => {
                    let kind = if customs.contains(&name.as_str()) {
                        "custom_tool_call_output"
                    } else {
                        "function_call_output"
                    };
                    json!({"type": kind, "call_id": call, "output": output})
                }
            });
        }
        if self.asked.dialect == Dialect::Messages && !told.is_empty() {
            told = vec![json!({"role": "user", "content": told})];
        }
        Ok(told)
    }

    fn prompts(&self) -> Result<Vec<Value>, String> {
        let message = |prompt: &Prompt| {
            if prompt.role != "user" || prompt.has_attachments {
                return Err("a prompt that is no text of the user is not sent".to_owned());
            }
            Ok(json!({"role": "user", "content": prompt.text}))
        };
        self.prompts.iter().map(message).collect()
    }
}

/// The tools that take a text and no JSON.
fn custom_tools(fields: &Map<String, Value>) -> Vec<String> {
    let tools = fields.get("tools").and_then(Value::as_array);
    let customs = tools.into_iter().flatten().filter_map(|tool| {
        (text(tool, "type") == Some("custom")).then_some(())?;
        // Responses name a tool itself; Chat Completions what is inside.
        text(tool, "name").or_else(|| text(tool.get("custom")?, "name"))
    });
    customs.map(str::to_owned).collect()
}

/// Asks for no thoughts any more; whether they were asked for.
fn think_no_more(fields: &mut Map<String, Value>) -> bool {
    let is_asked = fields
        .get("thinking")
        .is_some_and(|thinking| text(thinking, "type") != Some("disabled"));
    if !is_asked {
        return false;
    }
    fields.remove("thinking");
    let edits = fields
        .get_mut("context_management")
        .and_then(|management| management.get_mut("edits")?.as_array_mut());
    if let Some(edits) = edits {
        let is_of_thoughts = |edit: &Value| {
            text(edit, "type").is_some_and(|kind| kind.starts_with("clear_thinking"))
        };
        edits.retain(|edit| !is_of_thoughts(edit));
    }
    true
}

impl Wish<'_> {
    fn put(&self, dialect: Dialect, fields: &mut Map<String, Value>) {
        fields.insert("model".to_owned(), self.model.into());
        fields.insert("stream".to_owned(), self.is_stream.into());
        if !self.is_stream {
            fields.remove("stream_options");
        }
        if let Some(most) = self.max_tokens {
            let field = match dialect {
                Dialect::Responses => "max_output_tokens",
                Dialect::ChatCompletions if fields.contains_key("max_completion_tokens") => {
                    "max_completion_tokens"
                }
                Dialect::Messages | Dialect::ChatCompletions => "max_tokens",
            };
            fields.insert(field.to_owned(), most.into());
        }
    }
}
