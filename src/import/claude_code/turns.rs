//! What a transcript adds to a run that is recorded while it happens: the model's turns, and
//! results that nobody else told. Line by line, without the rest of an import.

use std::sync::Arc;

use super::calls::Call;
use super::record::{Message, Record};
use super::reply::Reply;
use super::results::Outcomes;
use super::scene::Scene;
use super::words::UserWords;
use crate::model::{Body, Event, WallTime};

/// What one record says.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The record's own id.
    pub id: Option<String>,
    /// When it was written.
    pub time: Option<WallTime>,
    /// A part of an answer of the model; parts of one answer share their `call`.
    pub response: Option<Event>,
    /// The calls that it asks for.
    pub asks: Vec<String>,
    /// Results of calls, each with its call's id.
    pub results: Vec<Event>,
}

impl Turn {
    /// Reads a line; `None` for one that is no record, or says nothing of all this.
    pub fn read(line: &[u8]) -> Option<Self> {
        let record: Record<'_> = serde_json::from_slice(line).ok()?;
        let mut turn = Self {
            id: record.uuid.get().map(str::to_owned),
            time: record.timestamp.get().and_then(WallTime::parse),
            ..Self::default()
        };
        match record.kind.or_empty() {
            "assistant" => turn.answer(&record),
            "user" => {
                let words = UserWords::read(&record);
                let results = words.results.iter();
                turn.results = results
                    .map(|block| {
                        let found = Outcomes::read(block, record.tool_use_result);
                        let body = Body::ToolResult {
                            outcome: found.outcome,
                            exit: found.exit,
                            output: found.output,
                            duration: found.duration,
                            attachments: Vec::new(),
                            detail: found.detail,
                        };
                        Event::new(body).in_call(block.tool_use_id.or_empty())
                    })
                    .collect();
            }
            _ => return None,
        }
        Some(turn)
    }

    fn answer(&mut self, record: &Record<'_>) {
        let message: Message<'_> = record.message.read();
        let scene = Scene {
            agent: None,
            branch: 0,
            t: None,
            record: None,
            cwd: Arc::from(""),
        };
        let mut reply = Reply::new(scene.clone(), message.id.get().map(str::to_owned));
        let part = reply.push(record, &message, &scene);
        self.asks = part.calls.into_iter().map(|call: Call| call.id).collect();
        self.response = Some(reply.event());
    }
}

/// What a hook is told that a call returned, as a result: `response` is the same object that
/// a transcript holds beside the result.
pub fn returned(response: &serde_json::Value) -> Body {
    super::results::of_response(response)
}

/// The title of a call on the timeline.
pub fn title_of_call(name: &str, arguments: &serde_json::Value, root: &str) -> String {
    super::title::call(name, arguments, root)
}

/// The title of words on the timeline.
pub fn title_of_words(words: &str) -> String {
    super::title::cut(words)
}
