//! What a fork writes: events of its own, and those of its parent with the contents that only
//! the parent holds.

use serde_json::json;

use super::engine::{Engine, has_calls};
use super::{Answered, ForkError, Report, Stopped, Then};
use crate::model::{
    BlobHash, BlockKind, Body, Content, Event, FileChange, ModelBlock, Outcome, Seq, Via,
};
use crate::replay::document::Output;
use crate::replay::request::Miss;

impl Engine<'_> {
    /// An event of the fork's own, in the lane of its edit.
    pub(super) fn own(&self, body: Body) -> Event {
        self.in_lane(Event::new(body), self.place.agent.as_ref())
    }

    /// An event of an agent, in the lane of the edit.
    pub(super) fn in_lane(&self, mut event: Event, agent: Option<&String>) -> Event {
        event.head.branch.clone_from(&self.place.branch);
        event.head.txn.clone_from(&self.place.txn);
        event.head.agent = agent.cloned();
        event
    }

    /// Writes an event of the parent, with the contents that only the parent holds.
    pub(super) fn copy(&mut self, mut event: Event, via: Option<Via>) -> Result<(), ForkError> {
        if let Body::Prompt { attachments, .. } | Body::ToolResult { attachments, .. } = &event.body
        {
            for hash in attachments.clone() {
                self.carry(&hash)?;
            }
        }
        if let Body::ModelRequest {
            request: Some(hash),
            ..
        } = event.body
        {
            self.carry(&hash)?;
        }
        if let Body::File(change) = event.body {
            event.body = Body::File(self.carried(change));
        }
        event.head.via = via;
        match via {
            Some(_) => self.answer_with(event, None),
            None => self.put(event).map(drop),
        }
    }

    /// A change with its content, if that is known.
    pub(super) fn carried(&self, mut change: FileChange) -> FileChange {
        if let Content::Blob {
            hash,
            len,
            redacted,
        } = change.content
        {
            change.content = match self.blobs.blob(&hash) {
                Ok(bytes) if !redacted => Content::Bytes(bytes),
                _ => Content::Unstored {
                    hash: Some(hash),
                    len: Some(len),
                },
            };
        }
        change
    }

    /// Puts a content on the tape that an event will name.
    pub(super) fn carry(&mut self, hash: &BlobHash) -> Result<(), ForkError> {
        if !self.recorder.holds(hash)
            && let Ok(bytes) = self.blobs.blob(hash)
        {
            self.put(Event::new(Body::Blob(Content::Bytes(bytes))))?;
        }
        Ok(())
    }

    /// Writes an event that answers, and tells of it.
    pub(super) fn answer_with(
        &mut self,
        event: Event,
        miss: Option<Miss>,
    ) -> Result<(), ForkError> {
        let via = event.head.via.unwrap_or(Via::Unknown);
        let seq = self.put(event)?;
        let answered = Answered { seq, via, miss };
        self.is_broken_off |= (self.tell)(&answered).is_break();
        self.report.answers.push(answered);
        Ok(())
    }

    pub(super) fn put(&mut self, event: Event) -> Result<Seq, ForkError> {
        self.put_like(event, None)
    }

    /// Writes an event whose content is much like another one.
    pub(super) fn put_like(
        &mut self,
        mut event: Event,
        like: Option<BlobHash>,
    ) -> Result<Seq, ForkError> {
        if let Body::ToolResult { duration, .. } | Body::ModelResponse { duration, .. } =
            &event.body
        {
            self.t += duration.unwrap_or(0);
        }
        event.head.seq = None;
        event.head.step = None;
        event.head.t = Some(self.t);
        if let Then::Speaker(speaker) = &mut self.then {
            speaker.hear(&event);
        }
        Ok(match like {
            Some(like) => self.recorder.append_like(event, like)?,
            None => self.recorder.append(event)?,
        })
    }

    /// Says on the tape why the fork ended, and waits until it is on disk.
    pub(super) fn end(mut self) -> Result<Report, ForkError> {
        let outcome = match self.report.stopped {
            Stopped::TurnEnded | Stopped::EndOfTape(_) => Outcome::Ok,
            Stopped::BrokenOff => Outcome::Interrupted,
            _ => Outcome::Pending,
        };
        let why = self.report.stopped.to_string();
        self.put(Event::new(Body::End { outcome }).titled(why))?;
        self.recorder.sync()?;
        Ok(self.report)
    }
}

/// A response. Why it stopped is kept where it can still be true.
pub(super) fn response(
    model: Option<String>,
    blocks: Vec<ModelBlock>,
    stop: Option<String>,
) -> Body {
    let stop = stop.map(|stop| match (stop.as_str(), has_calls(&blocks)) {
        ("end_turn", true) => "tool_use".to_owned(),
        ("tool_use", false) => "end_turn".to_owned(),
        _ => stop,
    });
    Body::ModelResponse {
        model,
        blocks,
        stop,
        usage: None,
        outcome: Outcome::Ok,
        duration: None,
    }
}

pub(super) fn named(noun: &str, miss: Miss) -> Miss {
    Miss {
        path: format!("{noun}{}", miss.path),
        ..miss
    }
}

/// An output as the model reads it, as JSON: without the ids of calls.
pub(super) fn value(output: &Output) -> Vec<u8> {
    let value = match output {
        Output::Response(blocks) => blocks
            .iter()
            .map(|block| match block.kind {
                BlockKind::ToolCall => json!({"call": block.text, "args": block.data}),
                BlockKind::Other => block.data.clone(),
                BlockKind::Text => json!({"text": block.text}),
                BlockKind::Thinking => json!({"thinking": block.text}),
            })
            .collect(),
        Output::Result {
            outcome,
            exit,
            output,
            attachments,
            detail,
        } => json!({
            "outcome": outcome.as_str(),
            "exit": exit,
            "output": output,
            "attachments": attachments,
            "detail": detail,
        }),
        Output::Prompt {
            role,
            text,
            attachments,
        } => json!({"role": role, "text": text, "attachments": attachments}),
    };
    value.to_string().into_bytes()
}

/// Whether events of this sort belong to the call that they name.
pub(super) fn is_of_calls(body: &Body) -> bool {
    matches!(
        body,
        Body::File(_) | Body::Suspect { .. } | Body::Other { .. } | Body::Note { .. }
    )
}
