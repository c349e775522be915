//! Streams of a tape over HTTP: a client with other ids is answered frame by frame, and what it
//! says and hears goes on the new tape.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::wire::{Message, Running, Written};

/// A tape with these frames of streams to `files`.
fn tape(frames: &[Value]) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("recorded.jsonl");
    let mut text = json!({"seq": 0, "kind": "tape", "format": 1, "id": "t"}).to_string() + "\n";
    for (number, frame) in frames.iter().enumerate() {
        let mut line = frame.clone();
        line["seq"] = (number + 1).into();
        line["kind"] = "stream.frame".into();
        line["name"] = "files".into();
        text.extend([line.to_string().as_str(), "\n"]);
    }
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn out(data: &Value) -> Value {
    json!({"dir": "out", "data": data})
}

fn told(data: &Value) -> Value {
    json!({"dir": "in", "data": data})
}

fn ask(id: impl Into<Value>, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method})
}

fn answer(id: impl Into<Value>, result: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

fn note(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// A client of the stream to `files`.
struct Client<'a> {
    running: &'a Running,
    session: Option<String>,
}

impl<'a> Client<'a> {
    fn of(running: &'a Running) -> Self {
        Self {
            running,
            session: None,
        }
    }

    fn send(&self, method: &str, body: &str) -> BufReader<TcpStream> {
        let session = self.session.as_deref();
        self.running.to_stream((method, "files"), session, body)
    }

    fn say(&mut self, frame: &Value) -> Message {
        let message = Message::read(&mut self.send("POST", &frame.to_string()));
        let session = message.header("mcp-session-id").map(str::to_owned);
        self.session = session.or(self.session.take());
        message
    }
}

/// What comes, up to the line with these words.
fn until(source: &mut BufReader<TcpStream>, words: &str) -> String {
    let mut heard = String::new();
    while !heard.contains(words) {
        assert!(source.read_line(&mut heard).unwrap() > 0, "{heard}");
    }
    heard
}

/// Who said what on the new tape.
fn frames(written: &Written) -> Vec<(String, Value)> {
    let text = written.text();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let frames = lines.filter(|line: &Value| line["kind"] == "stream.frame");
    let frame = |line: Value| {
        assert_eq!(
            (&line["name"], &line["connection"]),
            (&json!("files"), &json!(1))
        );
        (
            line["dir"].as_str().unwrap().to_owned(),
            line["data"].clone(),
        )
    };
    frames.map(frame).collect()
}

#[test]
fn a_client_is_answered_with_its_own_ids_and_both_sides_are_recorded() {
    let (_directory, path) = tape(&[
        out(&ask(1, "initialize")),
        told(&answer(1, "hello")),
        out(&note("initialized")),
        out(&ask(2, "call")),
        told(&note("working")),
        told(&ask(1, "who are you")),
        out(&answer(1, "me")),
        told(&answer(2, "done")),
    ]);
    let running = Running::replaying(&path);
    let mut client = Client::of(&running);
    let first = client.say(&ask("a", "initialize"));
    assert_eq!(
        (first.status(), first.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(first.body(), answer("a", "hello").to_string());
    assert_eq!(client.say(&note("initialized")).status(), 202);
    // The answer to the call waits for what the client says meanwhile.
    let mut call = client.send("POST", &ask("b", "call").to_string());
    until(&mut call, "who are you");
    assert_eq!(client.say(&answer(1, "me")).status(), 202);
    let rest = until(&mut call, "done");
    assert!(rest.contains(&answer("b", "done").to_string()), "{rest}");
    assert_eq!(Message::read(&mut client.send("DELETE", "")).status(), 200);

    let (written, report) = running.end();
    assert_eq!(report.divergences, []);
    let streams = report.streams;
    assert_eq!(
        (streams.recorded, streams.opened, streams.awaited),
        (1, 1, 0)
    );
    let frames = frames(&written);
    let said: Vec<(&str, Value)> = frames
        .iter()
        .map(|(side, data)| (&**side, data.clone()))
        .collect();
    assert_eq!(
        said,
        [
            ("out", ask("a", "initialize")),
            ("in", answer("a", "hello")),
            ("out", note("initialized")),
            ("out", ask("b", "call")),
            ("in", note("working")),
            ("in", ask(1, "who are you")),
            ("out", answer(1, "me")),
            ("in", answer("b", "done")),
            ("out", Value::Null),
        ]
    );
    // So that the run can be made again from the new tape.
    let again = Running::replaying(&written.path);
    let first = Client::of(&again).say(&ask(5, "initialize"));
    assert_eq!(first.body(), answer(5, "hello").to_string());
    again.end();
}

#[test]
fn what_was_not_recorded_ends_the_stream_and_is_told() {
    let (_directory, path) = tape(&[
        out(&ask(1, "initialize")),
        told(&answer(1, "hello")),
        out(&ask(2, "call")),
        told(&answer(2, "done")),
    ]);
    let running = Running::replaying(&path);
    let mut client = Client::of(&running);
    assert_eq!(client.say(&ask(1, "initialize")).status(), 200);
    let other = client.say(&ask(2, "call somebody else"));
    assert_eq!(other.status(), 400);
    let why = "the client's frame is not the one in event 3: /method: recorded \"call\", replayed \
               \"call somebody else\"";
    let body: Value = serde_json::from_str(&other.body()).unwrap();
    let message = body["error"]["message"].as_str().unwrap();
    assert_eq!(
        message,
        format!("jukebox: the tape has no answer to this: {why}")
    );
    // It is over, though this would have been right.
    assert_eq!(client.say(&ask(2, "call")).status(), 400);
    let mut second = Client::of(&running);
    let none = second.say(&ask(1, "initialize"));
    assert!(
        none.body()
            .contains("the one stream to files that was recorded was opened already")
    );
    let stranger = Client {
        session: Some("9-9".to_owned()),
        running: &running,
    };
    let body = ask(1, "initialize").to_string();
    assert_eq!(
        Message::read(&mut stranger.send("POST", &body)).status(),
        404
    );

    let (written, report) = running.end();
    let first = &report.divergences[0];
    assert_eq!((&*first.asked, &*first.why), ("a frame to files", why));
    assert_eq!(first.miss.as_ref().unwrap().path, "/method");
    assert_eq!((report.divergences.len(), report.streams.awaited), (3, 1));
    assert_eq!(frames(&written).len(), 2);
}

#[test]
fn who_listens_hears_what_nobody_asked_for() {
    let (_directory, path) = tape(&[
        told(&note("first")),
        out(&note("go")),
        told(&note("second")),
        json!({"dir": "in", "end": "complete"}),
    ]);
    let running = Running::replaying(&path);
    let mut listens = Client::of(&running).send("GET", "");
    let head = until(&mut listens, "first");
    let session = head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "));
    let mut client = Client {
        session: session.map(str::to_owned),
        running: &running,
    };
    assert_eq!(client.say(&note("go")).status(), 202);
    // The service has said all, and so what it said ends.
    let rest: Vec<String> = listens
        .lines()
        .map(Result::unwrap)
        .take_while(|line| line != "0")
        .collect();
    assert!(
        rest.contains(&format!("data: {}", note("second"))),
        "{rest:?}"
    );
    let (_, report) = running.end();
    assert_eq!((report.divergences.len(), report.streams.awaited), (0, 0));
}
