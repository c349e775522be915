//! Decoding an event, beside skipping over the same JSON.

use std::sync::Arc;

use jukebox::model::{Body, Event, Header, Kind, Outcome};
use jukebox::tape::{Tape, TapeBytes, build};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::Result;
use crate::beside::beside;

const SKIPPING: &str = "serde_json, ignoring all";

pub(crate) fn run() -> Result {
    let sizes = [(200, "200 B"), (1 << 20, "1 MB"), (20 << 20, "20 MB")];
    let texts = [
        ("plain", "the quick brown fox jumps over the lazy dog; "),
        ("hard", "\"größe\"\t\\\u{1b}[31m…\n"),
    ];
    for (bytes, words) in sizes {
        for (sort, text) in texts {
            let output = text.repeat(bytes / text.len() + 1);
            let tape = tape_with(output)?;
            let position = (0..tape.index.events.len())
                .find(|at| tape.index.events.kind(*at) == Some(Kind::ToolResult))
                .ok_or("the result is not on the tape")?;
            let record = tape.record(position)?;
            let skip = || serde_json::from_slice::<IgnoredAny>(&record);
            let event = || tape.event(position);
            let each = (1, "an event");
            beside(
                &format!("event of {words}, {sort}"),
                each,
                event,
                SKIPPING,
                skip,
            );
            if bytes > 200 {
                let head = || tape.with_head(position, |head| head.len);
                let copy = || record.get(..1024).map(<[u8]>::to_vec);
                let what = format!("its head alone, {sort}");
                beside(&what, (1, "a head"), head, "a copy of its first KB", copy);
            }
        }
    }
    Ok(())
}

fn tape_with(output: String) -> Result<Tape> {
    let call = Body::ToolCall {
        name: "Bash".to_owned(),
        arguments: Value::Null,
    };
    let result = Body::ToolResult {
        outcome: Outcome::Ok,
        exit: Some(0),
        output,
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    };
    let events = [call, result].map(|body| Event::new(body).in_call("c1"));
    let bytes: Arc<[u8]> = build(Header::default(), events)?.into();
    Ok(Tape::read(TapeBytes::Memory(bytes), &mut ())?)
}
