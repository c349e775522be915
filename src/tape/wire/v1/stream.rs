//! Frames of long connections, and of what a command writes while it runs.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use crate::model::{Body, Event, Kind};

/// The event of bytes that came from a stream. What is no UTF-8 is told lossily, and exactly
/// beside it.
pub fn frame_event(stream: &str, bytes: &[u8]) -> Event {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), stream.into());
    fields.insert("dir".to_owned(), "in".into());
    put_frame_bytes(&mut fields, bytes);
    Event::new(Body::Other {
        kind: Kind::StreamFrame.as_str().to_owned(),
        fields,
    })
}

/// Puts bytes into the fields of a frame.
pub fn put_frame_bytes(fields: &mut Map<String, Value>, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let is_exact = matches!(text, Cow::Borrowed(_));
    fields.insert("data".to_owned(), text.into_owned().into());
    if is_exact {
        fields.remove("data_raw");
    } else {
        fields.insert("data_raw".to_owned(), BASE64.encode(bytes).into());
    }
}

/// The bytes of a frame; `None` if its data is no text.
pub fn frame_bytes(fields: &Map<String, Value>) -> Option<Vec<u8>> {
    let raw = fields.get("data_raw").and_then(Value::as_str);
    match raw.and_then(|raw| BASE64.decode(raw).ok()) {
        Some(bytes) => Some(bytes),
        None => Some(fields.get("data")?.as_str()?.as_bytes().to_vec()),
    }
}

/// Says that so many bytes of a frame stand in a later one; 0: none do.
pub fn put_later(fields: &mut Map<String, Value>, bytes: usize) {
    if bytes > 0 {
        fields.insert("later".to_owned(), bytes.into());
    } else {
        fields.remove("later");
    }
}

/// How many bytes of a frame stand in a later one.
pub fn later_in(fields: &Map<String, Value>) -> usize {
    let bytes = fields.get("later").and_then(Value::as_u64);
    bytes
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(0)
}

/// The text of a frame and the stream it came from; `None` if the event is none, or its data
/// is no text.
pub fn frame_of(event: &Event) -> Option<(&str, &str)> {
    match &event.body {
        Body::Other { kind, fields } if Kind::parse(kind.as_bytes()) == Kind::StreamFrame => {
            let text = |field: &str| fields.get(field)?.as_str();
            Some((text("name").unwrap_or_default(), text("data")?))
        }
        _ => None,
    }
}
