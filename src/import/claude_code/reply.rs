//! One answer of the model, put together from the records it was written as.
//!
//! A record holds one block; the records of one answer share their message's id. They
//! become one event as long as nothing else comes between; what comes later is a further
//! part of the same call. The tokens of the last record count.

use crate::model::{BlockKind, Body, Event, LineHash, ModelBlock, Outcome, Usage};

use super::calls::Call;
use super::record::{Block, Message, Raw, Record, Tokens};
use super::scene::Scene;
use super::title;

/// Blocks that are known, though nothing is done with them.
const KNOWN: &[&str] = &[
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "image",
    "document",
    "container_upload",
    "code_execution_tool_result",
    "mcp_tool_result",
];

/// An answer that is still being put together.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) scene: Scene,
    /// Tells the answer from others: the message's id.
    call: Option<String>,
    model: Option<String>,
    blocks: Vec<ModelBlock>,
    stop: Option<String>,
    usage: Option<Usage>,
    outcome: Outcome,
    /// The records it was read from.
    pub(super) records: Vec<LineHash>,
    /// Blocks that are not understood, as they stood.
    pub(super) raw: Vec<String>,
    /// Calls that are written as soon as the answer is.
    pub(super) calls: Vec<Call>,
}

/// What a record adds to an answer.
pub(super) struct Part {
    pub(super) calls: Vec<Call>,
    /// The types of the blocks that are not understood.
    pub(super) not_understood: Vec<String>,
}

impl Reply {
    /// An answer to which nothing was said yet. `call` tells it from others.
    pub(super) fn new(scene: Scene, call: Option<String>) -> Self {
        Self {
            scene,
            call,
            model: None,
            blocks: Vec::new(),
            stop: None,
            usage: None,
            outcome: Outcome::Ok,
            records: Vec::new(),
            raw: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Whether a record of this call belongs to the same answer.
    pub(super) fn goes_on_with(&self, scene: &Scene, call: Option<&str>) -> bool {
        call.is_some()
            && self.call.as_deref() == call
            && self.scene.agent == scene.agent
            && self.scene.branch == scene.branch
    }

    /// Takes what a record adds.
    pub(super) fn push(
        &mut self,
        record: &Record<'_>,
        message: &Message<'_>,
        scene: &Scene,
    ) -> Part {
        let mut part = Part {
            calls: Vec::new(),
            not_understood: Vec::new(),
        };
        self.records.extend(scene.record);
        self.model = message.model.get().map(str::to_owned).or(self.model.take());
        self.stop = message
            .stop_reason
            .get()
            .map(str::to_owned)
            .or(self.stop.take());
        if message.usage.0.is_some() {
            let tokens: Tokens = message.usage.read();
            self.usage = Some(Usage {
                input: tokens.input.0.unwrap_or_default(),
                output: tokens.output.0.unwrap_or_default(),
                cache_read: tokens.cache_read.0.unwrap_or_default(),
                cache_write: tokens.cache_write.0.unwrap_or_default(),
            });
        }
        if record.is_api_error_message.0 {
            self.outcome = Outcome::Failed;
        }
        if let Some(items) = message.content.items() {
            for item in items {
                self.push_block(item, scene, &mut part);
            }
        } else {
            let text = message.content.string().or_else(|| record.message.string());
            let other = || {
                message
                    .content
                    .text()
                    .or(record.message.text())
                    .unwrap_or_default()
            };
            let text = text.map_or_else(|| other().to_owned(), std::borrow::Cow::into_owned);
            self.blocks.push(block(BlockKind::Text, text));
        }
        part
    }

    fn push_block(&mut self, item: Raw<'_>, scene: &Scene, part: &mut Part) {
        let read: Block<'_> = item.read();
        match read.kind.or_empty() {
            "text" => self
                .blocks
                .push(block(BlockKind::Text, read.text.or_empty().to_owned())),
            "thinking" => {
                let text = read.thinking.or_empty().to_owned();
                self.blocks.push(block(BlockKind::Thinking, text));
            }
            "tool_use" => {
                let call = Call::new(scene.clone(), &read);
                self.blocks.push(ModelBlock {
                    kind: BlockKind::ToolCall,
                    text: call.name.clone(),
                    call: Some(call.id.clone()),
                    data: call.arguments.clone(),
                });
                part.calls.push(call);
            }
            kind => {
                self.blocks.push(ModelBlock {
                    kind: BlockKind::Other,
                    text: kind.to_owned(),
                    call: None,
                    data: item.value(),
                });
                if !KNOWN.contains(&kind) {
                    self.raw.push(item.text().unwrap_or_default().to_owned());
                    part.not_understood.push(kind.to_owned());
                }
            }
        }
    }

    /// The event, with all that was taken so far.
    pub(super) fn event(&mut self) -> Event {
        let title = title::response(&self.blocks);
        let mut event = Event::new(Body::ModelResponse {
            model: self.model.take(),
            blocks: std::mem::take(&mut self.blocks),
            stop: self.stop.take(),
            usage: self.usage.take(),
            outcome: self.outcome,
            duration: None,
        });
        event.head.call = self.call.take();
        event.head.title = Some(title);
        event
    }
}

fn block(kind: BlockKind, text: String) -> ModelBlock {
    ModelBlock {
        kind,
        text,
        call: None,
        data: serde_json::Value::Null,
    }
}
