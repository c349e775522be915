//! Streams: text that comes in frames, cut wherever it was when it was read.
//!
//! What may be the beginning of a secret at the end of a frame waits for the next frame of
//! the same stream, or for the event that ends it; every frame stays an event of its own, and
//! says how many of its bytes came later, so that borders that mean something are found again.

use std::collections::BTreeMap;

use crate::model::{Body, Event, Head, Kind};
use crate::redact::Redaction;
use crate::tape::wire::v1::{frame_bytes, later_in, put_frame_bytes, put_later};

/// The end of a stream's text that waits.
#[derive(Debug)]
struct Held {
    /// The frame it was in.
    frame: Event,
    bytes: Vec<u8>,
}

/// What waits, by call and stream.
#[derive(Debug, Default)]
pub(super) struct Streams {
    held: BTreeMap<Name, Held>,
}

/// A stream: its call, its agent, what it is called, and the direction.
pub(in crate::tape) type Name = [Option<String>; 4];

/// The stream that an event is a frame of.
pub(in crate::tape) fn stream_of(event: &Event) -> Option<Name> {
    let Body::Other { kind, fields } = &event.body else {
        return None;
    };
    let field = |field: &str| Some(fields.get(field)?.as_str()?.to_owned());
    (Kind::parse(kind.as_bytes()) == Kind::StreamFrame).then(|| {
        let Head { call, agent, .. } = &event.head;
        [call.clone(), agent.clone(), field("name"), field("dir")]
    })
}

impl Streams {
    /// Puts what waited before the text of a frame, and lets what may be the beginning of a
    /// secret wait, unless nothing more comes. The secrets in the rest are left for whoever
    /// takes them out of any event.
    pub(super) fn frame(&mut self, event: &mut Event, texts: &mut Redaction, is_last: bool) {
        let Some(name) = stream_of(event) else { return };
        let Body::Other { fields, .. } = &mut event.body else {
            return;
        };
        let Some(new) = frame_bytes(fields) else {
            return;
        };
        let held = self.held.remove(&name);
        let has_held = held.is_some();
        let mut bytes = held.map_or_else(Vec::new, |held| held.bytes);
        bytes.extend_from_slice(&new);
        let end = if is_last {
            bytes.len()
        } else {
            texts.settled(&bytes)
        };
        let rest = bytes.split_off(end);
        let without = texts.bytes(&bytes);
        if has_held || !rest.is_empty() || without.is_some() {
            put_frame_bytes(fields, without.as_deref().unwrap_or(&bytes));
        }
        put_later(fields, later_in(fields) + rest.len().min(new.len()));
        if !rest.is_empty() {
            let frame = event.clone();
            self.held.insert(name, Held { frame, bytes: rest });
        }
    }

    /// What waits and belongs before an event that ends its stream: the result of its call, a
    /// frame that is no text, or the end of the run.
    pub(super) fn due_before(&mut self, event: &Event) -> Vec<Event> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let without_text = stream_of(event).filter(|_| match &event.body {
            Body::Other { fields, .. } => frame_bytes(fields).is_none(),
            _ => false,
        });
        let ends = |frame: &Event| match &event.body {
            Body::End { .. } => true,
            Body::ToolResult { .. } | Body::ModelResponse { .. } => {
                frame.head.call == event.head.call
            }
            Body::Other { kind, .. } => {
                Kind::parse(kind.as_bytes()) == Kind::EffectResult
                    && frame.head.call == event.head.call
            }
            _ => false,
        };
        let due = self.held.extract_if(.., |name, held| {
            ends(&held.frame) || without_text.as_ref() == Some(name)
        });
        due.map(|(_, held)| {
            let mut frame = held.frame;
            frame.extra.clear();
            if let Body::Other { fields, .. } = &mut frame.body {
                put_frame_bytes(fields, &held.bytes);
                put_later(fields, 0);
            }
            frame
        })
        .collect()
    }
}
