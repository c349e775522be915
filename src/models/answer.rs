//! A model's answer, put together from the bytes of a body as they come.
//!
//! [`Assembly`] takes chunks, however they are cut, and knows when the answer is complete, which
//! may be before its body ends. [`Answer`] is what a tape says of it. Total: whatever comes is an
//! answer, a failed one, or an interrupted one with what there was of it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::api::Dialect;
use super::body::Decoder;
use super::draft::Draft;
use super::mend::{Mended, mend};
use super::sse::{EventReader, ServerEvent};
use super::{chat, messages, responses};
use crate::model::{BlockKind, Body, Micros, ModelBlock, Outcome, Usage};

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The model that answered, by its own word.
    pub model: Option<String>,
    /// Its blocks, in order.
    pub blocks: Vec<ModelBlock>,
    /// Why it stopped.
    pub stop: Option<String>,
    /// Tokens, where they were told.
    pub usage: Option<Usage>,
    /// Whether it is an answer, an error, or was cut off.
    pub outcome: Outcome,
}

impl Answer {
    /// It, as an event of a tape.
    pub fn into_body(self, duration: Option<Micros>) -> Body {
        Body::ModelResponse {
            model: self.model,
            blocks: self.blocks,
            stop: self.stop,
            usage: self.usage,
            outcome: self.outcome,
            duration,
        }
    }
}

/// An answer on its way.
#[derive(Debug)]
pub struct Assembly {
    dialect: Dialect,
    is_refusal: bool,
    decoder: Decoder,
    form: Form,
    draft: Draft,
    undecoded: Option<String>,
}

/// How the body is written.
#[derive(Debug)]
enum Form {
    Stream(EventReader),
    Document(Vec<u8>),
}

impl Assembly {
    /// An answer with this status and these headers begins.
    pub fn new(dialect: Dialect, status: u16, headers: &[(String, String)]) -> Self {
        let header = |name: &str| {
            let found = headers
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value.as_str())
        };
        let kind = header("content-type").split(';').next().unwrap_or_default();
        let is_stream = kind.trim().eq_ignore_ascii_case("text/event-stream");
        Self {
            dialect,
            is_refusal: status >= 400,
            decoder: Decoder::new(header("content-encoding")),
            form: if is_stream {
                Form::Stream(EventReader::default())
            } else {
                Form::Document(Vec::new())
            },
            draft: Draft::default(),
            undecoded: None,
        }
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.undecoded.is_some() {
            return;
        }
        let decoded = match self.decoder.push(bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                self.undecoded = Some(error.to_string());
                return;
            }
        };
        match &mut self.form {
            Form::Document(document) => document.extend(decoded),
            Form::Stream(reader) => {
                let (dialect, draft) = (self.dialect, &mut self.draft);
                reader.push(&decoded, &mut |event| take(dialect, draft, &event));
            }
        }
    }

    /// Whether the answer is complete, though its body may go on: an agent that reads it knows
    /// what to do next.
    pub fn is_over(&self) -> bool {
        self.draft.is_over
    }

    /// Whether it comes as a stream of events.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.form, Form::Stream(_))
    }

    /// The answer. `is_cut`: the body did not come to its end.
    pub fn finish(mut self, is_cut: bool) -> Answer {
        let mut unfinished = Vec::new();
        let is_stream = self.is_stream();
        match self.form {
            Form::Stream(reader) => {
                if let Some(Mended {
                    value,
                    unfinished: half,
                }) = reader.rest().and_then(|rest| mend(&rest))
                {
                    event_of(self.dialect, &mut self.draft, "", &value);
                    unfinished = half;
                }
            }
            Form::Document(document) => match serde_json::from_slice::<Value>(&document) {
                Ok(document) => whole(self.dialect, &mut self.draft, &document),
                Err(_) if is_cut => {
                    if let Some(mended) = mend(&document) {
                        whole(self.dialect, &mut self.draft, &mended.value);
                        unfinished = mended.unfinished;
                    }
                }
                Err(_) if document.is_empty() => {}
                Err(_) => {
                    let text = String::from_utf8_lossy(&document).into_owned();
                    self.draft.fail(json!(text));
                }
            },
        }
        // A stream ends by saying why; one that only ceases was cut off before us.
        let ceased = is_stream && self.draft.stop.is_none();
        let is_cut = !self.draft.is_over && (is_cut || ceased);
        let mut answer = self.draft.finish();
        let is_unread = self.undecoded.is_some();
        if let Some(why) = self.undecoded {
            let text = format!("the body could not be read: {why}");
            answer.blocks.push(other("unread", json!(text)));
        }
        if is_cut {
            answer.blocks.push(cut_block(&unfinished));
        }
        answer.outcome = match answer.outcome {
            Outcome::Failed => Outcome::Failed,
            _ if self.is_refusal => Outcome::Failed,
            _ if is_cut => Outcome::Interrupted,
            _ if is_unread => Outcome::None,
            outcome => outcome,
        };
        answer
    }
}

/// Says that the answer was cut off, and in the middle of which character.
fn cut_block(unfinished: &[u8]) -> ModelBlock {
    let mut said = "the answer was cut off here".to_owned();
    if !unfinished.is_empty() {
        said.push_str(", in the middle of a character:");
        for byte in unfinished {
            // Writing to a string does not fail.
            let _ = write!(said, " {byte:02x}");
        }
    }
    other("cut", json!(said))
}

/// A block that says something of the answer.
pub(super) fn other(word: &str, data: Value) -> ModelBlock {
    ModelBlock {
        kind: BlockKind::Other,
        text: word.to_owned(),
        call: None,
        data,
    }
}

fn take(dialect: Dialect, draft: &mut Draft, event: &ServerEvent) {
    if event.data == "[DONE]" {
        draft.is_over = true;
        return;
    }
    match serde_json::from_str::<Value>(&event.data) {
        Ok(data) => event_of(dialect, draft, &event.name, &data),
        Err(_) if event.name == "error" => draft.fail(json!(event.data)),
        Err(_) => {}
    }
}

fn event_of(dialect: Dialect, draft: &mut Draft, name: &str, data: &Value) {
    let kind = data.get("type").and_then(Value::as_str).unwrap_or(name);
    let error = data.get("error").filter(|error| !error.is_null());
    if kind == "error" || name == "error" || (error.is_some() && data.get("type").is_none()) {
        draft.fail(error.unwrap_or(data).clone());
        return;
    }
    match dialect {
        Dialect::Messages => messages::event(draft, kind, data),
        Dialect::ChatCompletions => chat::event(draft, data),
        Dialect::Responses => responses::event(draft, kind, data),
    }
}

fn whole(dialect: Dialect, draft: &mut Draft, document: &Value) {
    if let Some(error) = document.get("error").filter(|error| !error.is_null()) {
        draft.fail(error.clone());
        return;
    }
    match dialect {
        Dialect::Messages => messages::whole(draft, document),
        Dialect::ChatCompletions => chat::whole(draft, document),
        Dialect::Responses => responses::whole(draft, document),
    }
}
