//! Exchanges that are recorded without their secrets: nothing of one is on the tape, wherever
//! the pieces of an answer were cut, and where there was none, the pieces are as they were.

use std::sync::Arc;

use jukebox::model::{Header, HttpFrame};
use jukebox::models::{Api, Found, Recorded};
use jukebox::redact::{Redactor, Rules};
use jukebox::replay::request::VolatileParts;
use jukebox::tape::{Recorder, RecorderOptions, Redacting, Tape, http_event};

/// A secret that nothing but the rules knows.
const SECRET: &str = "violet-mountain-42";

/// What is recorded of an answer in these pieces: the tape, and the pieces that it answers with.
fn recorded(pieces: &[&str]) -> (String, Vec<String>) {
    let rules = Rules {
        known: vec![SECRET.as_bytes().to_vec()],
        ..Rules::default()
    };
    let options = RecorderOptions {
        redacting: Some(Redacting {
            redactor: Arc::new(Redactor::new(&rules).unwrap()),
            key: [7; 32],
        }),
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::in_memory(Header::default(), options).unwrap();
    let request = HttpFrame::Request {
        api: "anthropic".to_owned(),
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        headers: Vec::new(),
        body: None,
    };
    let head = HttpFrame::Answer {
        status: 200,
        headers: Vec::new(),
    };
    let chunks = pieces
        .iter()
        .map(|piece| HttpFrame::Chunk(piece.as_bytes().to_vec()));
    let end = HttpFrame::End { cut: None };
    for frame in [request, head].into_iter().chain(chunks).chain([end]) {
        recorder.append(http_event("m1", &frame)).unwrap();
    }
    let bytes = recorder.bytes();
    let text = bytes
        .read_exact_at(0, bytes.len().unwrap() as usize)
        .unwrap();
    let tape = Tape::read(bytes, &mut ()).unwrap();
    let mut answers = Recorded::read(&tape, VolatileParts::default()).unwrap();
    let found = answers.reply(Api::Anthropic, ("POST", "/v1/messages"), b"");
    let Ok(Found::Recorded(reply)) = found else {
        unreachable!("the one request is answered");
    };
    let chunks = reply.chunks.iter();
    let chunks = chunks.map(|chunk| String::from_utf8(chunk.to_vec()).unwrap());
    (String::from_utf8(text).unwrap(), chunks.collect())
}

#[test]
fn pieces_without_a_secret_are_answered_as_they_came() {
    for pieces in [
        // Each may be the beginning of something.
        &[
            "data: violet-mount",
            "ains are high",
            " and abcdef0123456789",
            "0",
        ][..],
        &["a", "b", "c", "violet-", "m"],
        &["violet-mountain-4", "1 is none"],
        &["alone"],
    ] {
        let (_, answered) = recorded(pieces);
        assert_eq!(answered, pieces);
    }
}

#[test]
fn a_secret_that_pieces_cut_is_not_on_the_tape() {
    let text = format!("say {SECRET} again");
    for first in 1..text.len() {
        for second in [first + 1, text.len() - 1] {
            let Some(rest) = text.get(second..).filter(|_| second > first) else {
                continue;
            };
            let pieces = [&text[..first], &text[first..second], rest];
            let (tape, answered) = recorded(&pieces);
            let whole = answered.concat();
            assert_eq!(whole, "say [REDACTED:1] again", "{pieces:?}");
            assert!(!tape.contains("mountain"), "{pieces:?}: {tape}");
        }
    }
}
