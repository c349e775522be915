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
    let mut put = |field: &str, text: String| {
        fields.insert(field.to_owned(), Value::String(text));
    };
    put("name", stream.to_owned());
    put("dir", "in".to_owned());
    let text = String::from_utf8_lossy(bytes);
    let is_exact = matches!(text, Cow::Borrowed(_));
    put("data", text.into_owned());
    if !is_exact {
        put("data_raw", BASE64.encode(bytes));
    }
    Event::new(Body::Other {
        kind: Kind::StreamFrame.as_str().to_owned(),
        fields,
    })
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
