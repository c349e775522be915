//! Frames of an exchange over HTTP: what was asked, and what came back, piece by piece.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::stream::{frame_event, later_in};
use crate::model::{BlobHash, Body, Event, HttpFrame, Kind};

/// The name of such frames.
pub const HTTP: &str = "http";

/// The event of a frame; the exchange is its call.
pub fn http_event(call: &str, frame: &HttpFrame) -> Event {
    let (direction, data, body) = match frame {
        HttpFrame::Chunk(bytes) => return frame_event(HTTP, bytes).in_call(call),
        HttpFrame::Request {
            api,
            method,
            path,
            headers,
            body,
        } => {
            let data =
                json!({"api": api, "method": method, "path": path, "headers": pairs(headers)});
            ("out", data, *body)
        }
        HttpFrame::Answer { status, headers } => {
            let data = json!({"status": status, "headers": pairs(headers)});
            ("in", data, None)
        }
        HttpFrame::End { cut: None } => ("in", json!({"end": "complete"}), None),
        HttpFrame::End { cut: Some(why) } => ("in", json!({"end": "cut", "why": why}), None),
    };
    let mut fields = Map::new();
    fields.insert("name".to_owned(), HTTP.into());
    fields.insert("dir".to_owned(), direction.into());
    if let Some(body) = body {
        fields.insert("body".to_owned(), body.to_string().into());
    }
    fields.insert("data".to_owned(), data);
    let kind = Kind::StreamFrame.as_str().to_owned();
    Event::new(Body::Other { kind, fields }).in_call(call)
}

/// The frame that an event holds; `None` if it is of no exchange, or holds none that can be
/// read.
pub fn http_frame(event: &Event) -> Option<HttpFrame> {
    let Body::Other { kind, fields } = &event.body else {
        return None;
    };
    if Kind::parse(kind.as_bytes()) != Kind::StreamFrame || fields.get("name")? != HTTP {
        return None;
    }
    let data = match fields.get("data")? {
        Value::String(text) => {
            let bytes = match fields.get("data_raw") {
                Some(raw) => BASE64.decode(raw.as_str()?).ok()?,
                None => text.clone().into_bytes(),
            };
            return Some(HttpFrame::Chunk(bytes));
        }
        data => data,
    };
    let text = |field: &str| Some(data.get(field)?.as_str()?.to_owned());
    if fields.get("dir")? == "out" {
        return Some(HttpFrame::Request {
            api: text("api")?,
            method: text("method")?,
            path: text("path")?,
            headers: headers(data)?,
            body: match fields.get("body") {
                Some(hash) => Some(hash.as_str()?.parse::<BlobHash>().ok()?),
                None => None,
            },
        });
    }
    if let Some(status) = data.get("status") {
        return Some(HttpFrame::Answer {
            status: u16::try_from(status.as_u64()?).ok()?,
            headers: headers(data)?,
        });
    }
    match data.get("end")?.as_str()? {
        "complete" => Some(HttpFrame::End { cut: None }),
        "cut" => Some(HttpFrame::End {
            cut: Some(text("why").unwrap_or_default()),
        }),
        _ => None,
    }
}

/// How many bytes of a frame stand in a later one.
pub fn later_of(event: &Event) -> usize {
    match &event.body {
        Body::Other { fields, .. } => later_in(fields),
        _ => 0,
    }
}

fn pairs(headers: &[(String, String)]) -> Value {
    let pair = |(name, value): &(String, String)| json!([name, value]);
    headers.iter().map(pair).collect()
}

fn headers(data: &Value) -> Option<Vec<(String, String)>> {
    let pair = |pair: &Value| {
        let text = |at: usize| Some(pair.get(at)?.as_str()?.to_owned());
        Some((text(0)?, text(1)?))
    };
    data.get("headers")?.as_array()?.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let frames = [
            HttpFrame::Request {
                api: "anthropic".to_owned(),
                method: "POST".to_owned(),
                path: "/v1/messages?beta=true".to_owned(),
                headers: headers.clone(),
                body: Some(BlobHash::of(b"{}")),
            },
            HttpFrame::Request {
                api: "openai".to_owned(),
                method: "GET".to_owned(),
                path: "/models".to_owned(),
                headers: Vec::new(),
                body: None,
            },
            HttpFrame::Answer {
                status: 529,
                headers,
            },
            HttpFrame::Chunk(b"data: Gr\xc3".to_vec()),
            HttpFrame::Chunk(b"{\"end\":\"complete\"}".to_vec()),
            HttpFrame::Chunk(Vec::new()),
            HttpFrame::End { cut: None },
            HttpFrame::End {
                cut: Some("the other side hung up".to_owned()),
            },
        ];
        for frame in frames {
            let event = http_event("m1", &frame);
            assert_eq!(event.head.call.as_deref(), Some("m1"));
            assert_eq!(http_frame(&event), Some(frame));
        }
    }

    #[test]
    fn what_is_no_frame_of_an_exchange_is_none() {
        assert_eq!(http_frame(&frame_event("stdout", b"x")), None);
        let mut broken = http_event("m1", &HttpFrame::End { cut: None });
        let Body::Other { fields, .. } = &mut broken.body else {
            unreachable!("a frame is of such a kind");
        };
        fields.insert("data".to_owned(), json!({"end": "perhaps"}));
        assert_eq!(http_frame(&broken), None);
    }
}
