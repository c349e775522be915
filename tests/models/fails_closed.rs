//! Tapes that must answer nothing: each with its own word, and before anything is served.

use jukebox::models::{Api, Recorded, RecordedError};
use jukebox::replay::request::VolatileParts;
use jukebox::tape::{Tape, TapeBytes};

use super::wire::{Endpoint, Running, answer};

/// A tape with two exchanges, line by line.
fn lines() -> Vec<String> {
    let head = "200 OK\r\ncontent-type: application/json";
    let body: &[u8] = br#"{"model":"m","stop_reason":"end_turn","content":[]}"#;
    let endpoint = Endpoint::saying(vec![
        answer(head, &[body], true),
        answer(head, &[body], true),
    ]);
    let running = Running::recording(&endpoint.address);
    for turn in 0..2 {
        let asked = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{turn}"}}]}}"#);
        running.ask(Api::Anthropic, "POST", "/v1/messages", &asked);
    }
    let (written, _) = running.end();
    written
        .text()
        .lines()
        .map(|line| format!("{line}\n"))
        .collect()
}

fn read(tape: &str) -> Result<Recorded, RecordedError> {
    let bytes = TapeBytes::Memory(tape.as_bytes().to_vec().into());
    let tape = Tape::read(bytes, &mut ()).unwrap();
    Recorded::read(&tape, VolatileParts::default())
}

fn joined(events: &[serde_json::Value]) -> String {
    let line = |event: &serde_json::Value| format!("{event}\n");
    events.iter().map(line).collect()
}

#[track_caller]
fn check(tape: &str, expected: &str) {
    let error = read(tape).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_is_damaged_answers_nothing() {
    let lines = lines();
    assert_eq!(read(&lines.concat()).unwrap().counts(), (2, 0));
    check("", "no header");
    check("not a tape\n", "no header");
    check(&lines[0], "no exchange with a model");
    check(&lines.concat().trim_end().replace("\"end\"", ""), "damaged");
    let without = |word: &str| {
        let at = lines.iter().position(|line| line.contains(word)).unwrap();
        let mut rest = lines.clone();
        rest.remove(at);
        rest.concat()
    };
    check(&without("\"kind\":\"blob\""), "damaged");
    check(&without("\"status\":200"), "damaged");
    let twice = lines
        .iter()
        .position(|line| line.contains("\"status\":200"))
        .unwrap();
    let mut repeated = lines.clone();
    repeated[twice] = repeated[twice].replace("200", "201");
    repeated.insert(twice, lines[twice].clone());
    check(&repeated.concat(), "damaged");
    let future = lines[0].replace("\"format\":1", "\"format\":9");
    assert!(read(&format!("{future}{}", lines[1..].concat())).is_err());
}

#[test]
fn a_request_whose_bytes_are_not_there_answers_nothing() {
    // Damage that no chain of lines shows, for the tape was written so.
    let lines = lines();
    let plain = |line: &String| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        event.as_object_mut().unwrap().remove("prev");
        event
    };
    let mut events: Vec<_> = lines.iter().map(plain).collect();
    let blob = events
        .iter_mut()
        .find(|event| event["kind"] == "blob")
        .unwrap();
    blob["text"] = "other bytes".into();
    let tape = joined(&events);
    check(&tape, "is not whole");
    for (word, data) in [
        ("complete", serde_json::json!({"end": "perhaps"})),
        (
            "status",
            serde_json::json!({"status": 70000, "headers": []}),
        ),
    ] {
        let mut events: Vec<_> = lines.iter().map(plain).collect();
        let odd = events
            .iter_mut()
            .find(|event| event["data"].to_string().contains(word))
            .unwrap();
        odd["data"] = data;
        let tape = joined(&events);
        check(&tape, "is not whole");
    }
}

#[test]
fn a_tape_that_was_cut_answers_as_far_as_it_goes() {
    let lines = lines();
    let last = lines
        .iter()
        .rposition(|line| line.contains("\"complete\""))
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.jsonl");
    std::fs::write(&path, lines[..last].concat()).unwrap();
    let running = Running::replaying(&path);
    let asked = |turn: &str| {
        let asked = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{turn}"}}]}}"#);
        running.ask(Api::Anthropic, "POST", "/v1/messages", &asked)
    };
    assert!(asked("0").is_whole);
    assert!(!asked("1").is_whole, "nobody knows how it went on");
    assert_eq!(asked("2").status(), 400);
    running.end();
}
