//! Frames of streams: what a run and a service said to each other over a long connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::exchange::HTTP;
use super::stream::{later_in, put_frame_bytes};
use crate::model::{Body, Event, Frame, FrameSide, JSON_FRAMES, Kind, StreamFrame};

/// Frames of these names are of no stream: what a call wrote, and what models were asked.
const OTHERS: [&str; 3] = ["stdout", "stderr", HTTP];

/// Whether an event is a frame of a stream.
pub fn is_of_stream(event: &Event) -> bool {
    fields_of(event).is_some()
}

/// The frame of a stream that an event holds, or why it cannot be read; `None`: it holds none.
pub fn stream_frame(event: &Event) -> Option<Result<StreamFrame, &'static str>> {
    fields_of(event).map(read)
}

fn fields_of(event: &Event) -> Option<&Map<String, Value>> {
    let Body::Other { fields, .. } = &event.body else {
        return None;
    };
    let name = fields.get("name").and_then(Value::as_str)?;
    let is_one = event.kind() == Kind::StreamFrame && !OTHERS.contains(&name);
    is_one.then_some(fields)
}

fn read(fields: &Map<String, Value>) -> Result<StreamFrame, &'static str> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if later_in(fields) > 0 {
        return Err("its end was held back for a secret that may begin there");
    }
    Ok(StreamFrame {
        address: text("name").unwrap_or_default().to_owned(),
        protocol: text("protocol").unwrap_or(JSON_FRAMES).to_owned(),
        connection: fields.get("connection").cloned(),
        side: match text("dir") {
            Some("out") => FrameSide::Client,
            Some("in") => FrameSide::Service,
            _ => return Err("it does not say who said it"),
        },
        said: said(fields).ok_or("it says nothing that can be read")?,
    })
}

fn said(fields: &Map<String, Value>) -> Option<Vec<Frame>> {
    let data = match (fields.get("data_raw"), fields.get("data")) {
        (Some(raw), _) => Some(Frame::Bytes(BASE64.decode(raw.as_str()?).ok()?)),
        (None, Some(Value::String(text))) => Some(Frame::Text(text.clone())),
        (None, Some(document)) => Some(Frame::Text(document.to_string())),
        (None, None) => None,
    };
    let why = || fields.get("why").and_then(Value::as_str);
    let end = match fields.get("end").map(Value::as_str) {
        None => None,
        Some(Some("complete")) => Some(Frame::End(None)),
        Some(Some("cut")) => {
            let why = why().unwrap_or("it was cut off");
            Some(Frame::End(Some(why.to_owned())))
        }
        Some(_) => return None,
    };
    let said: Vec<Frame> = data.into_iter().chain(end).collect();
    (!said.is_empty()).then_some(said)
}

/// The events that tell a frame of a stream, one for each thing that was said. A JSON document
/// is told as one where that says it to the letter.
pub fn stream_events(frame: &StreamFrame) -> impl Iterator<Item = Event> {
    frame.said.iter().map(|said| {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), frame.address.clone().into());
        if frame.protocol != JSON_FRAMES {
            fields.insert("protocol".to_owned(), frame.protocol.clone().into());
        }
        if let Some(connection) = &frame.connection {
            fields.insert("connection".to_owned(), connection.clone());
        }
        let direction = match frame.side {
            FrameSide::Client => "out",
            FrameSide::Service => "in",
        };
        fields.insert("dir".to_owned(), direction.into());
        match said {
            Frame::Text(text) => {
                let document = serde_json::from_str::<Value>(text).ok();
                let exact = document.filter(|it| !it.is_string() && format!("{it}") == *text);
                let data = exact.unwrap_or_else(|| text.clone().into());
                fields.insert("data".to_owned(), data);
            }
            Frame::Bytes(bytes) => put_frame_bytes(&mut fields, bytes),
            Frame::End(cut) => {
                let end = if cut.is_some() { "cut" } else { "complete" };
                fields.insert("end".to_owned(), end.into());
                if let Some(why) = cut {
                    fields.insert("why".to_owned(), why.clone().into());
                }
            }
        }
        let kind = Kind::StreamFrame.as_str().to_owned();
        Event::new(Body::Other { kind, fields })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        for said in [
            Frame::Text("{\"id\":1,\"a\":[null,1.0]}".to_owned()),
            Frame::Text("{ \"blanks\": 12345678901234567890123 }".to_owned()),
            Frame::Text("\"a string\"".to_owned()),
            Frame::Text("words".to_owned()),
            Frame::Text(String::new()),
            Frame::Bytes(vec![0xff, 0]),
            Frame::End(None),
            Frame::End(Some("gone".to_owned())),
        ] {
            let frame = StreamFrame {
                address: "files".to_owned(),
                protocol: JSON_FRAMES.to_owned(),
                connection: Some(2.into()),
                side: FrameSide::Service,
                said: vec![said],
            };
            let events: Vec<Event> = stream_events(&frame).collect();
            assert_eq!(stream_frame(&events[0]), Some(Ok(frame)));
        }
    }
}
