//! What goes between an agent and an endpoint: handed on, recorded, and answered again.

use std::io::Write as _;
use std::net::TcpListener;

use jukebox::model::{BlockKind, Body, HttpFrame, Kind, Outcome};
use jukebox::models::Api;
use jukebox::tape::http_frame;
use serde_json::{Value, json};

use super::wire::{Endpoint, Running, Written, answer};

const STREAM: &str =
    "200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: r1\r\nset-cookie: s=1";
const ASKED: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;

/// A streamed answer of Messages with these words.
fn said(words: &str) -> String {
    let start = json!({"type": "message_start", "message": {"model": "m", "content": []}});
    let delta = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": words}});
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let events = [start, delta, stop, json!({"type": "message_stop"})];
    let event = |event: &Value| format!("data: {event}\n\n");
    events.iter().map(event).collect()
}

fn pieces(bytes: &[u8], size: usize) -> Vec<&[u8]> {
    bytes.chunks(size).collect()
}

fn ask(running: &Running) -> super::wire::Message {
    running.ask(Api::Anthropic, "POST", "/v1/messages?beta=true", ASKED)
}

/// The bodies of the frames of all exchanges, and how each ended.
fn frames(written: &Written) -> Vec<HttpFrame> {
    written.events().iter().filter_map(http_frame).collect()
}

fn texts(body: &Body) -> Vec<(BlockKind, String)> {
    let Body::ModelResponse { blocks, .. } = body else {
        return Vec::new();
    };
    let blocks = blocks.iter();
    blocks
        .map(|block| (block.kind, block.text.clone()))
        .collect()
}

/// Asks once through an endpoint that says this, and once of the tape that came of it; the
/// tape, which both wrote alike.
fn check_again(answer: Vec<Vec<u8>>) -> (super::wire::Message, Written) {
    let endpoint = Endpoint::saying(vec![answer]);
    let running = Running::recording(&endpoint.address);
    let first = ask(&running);
    let (written, report) = running.end();
    assert_eq!(report.answered, 1);
    let running = Running::replaying(&written.path);
    let again = ask(&running);
    let (replayed, report) = running.end();
    assert_eq!((report.answered, report.recorded), (1, 1));
    assert_eq!(report.divergences, []);
    let cookies = |message: &super::wire::Message| {
        let mut message = message.clone();
        message.headers.retain(|(name, _)| name != "set-cookie");
        message.headers.sort();
        message
    };
    assert_eq!(cookies(&again), cookies(&first));
    assert_eq!(again.header("set-cookie"), None);
    assert_eq!(frames(&replayed), frames(&written));
    assert_eq!(endpoint.asked.lock().unwrap().len(), 1);
    (first, written)
}

#[test]
fn a_stream_is_the_same_in_the_same_pieces() {
    let body = said("Grüße 😀");
    for size in [1, 13, 64, 4096] {
        let chunks = pieces(body.as_bytes(), size);
        let (first, written) = check_again(answer(STREAM, &chunks, true));
        assert_eq!(first.chunks, chunks, "in pieces of {size}");
        assert!(first.is_whole);
        let responses = written.responses();
        let expected = [(BlockKind::Text, "Grüße 😀".to_owned())];
        assert_eq!(texts(&responses[0]), expected);
        assert_eq!(responses.len(), 1);
    }
}

#[test]
fn a_compressed_stream_stays_compressed() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(said("Grüße 😀").as_bytes()).unwrap();
    let body = gzip.finish().unwrap();
    let head = format!("{STREAM}\r\ncontent-encoding: gzip");
    let (first, written) = check_again(answer(&head, &pieces(&body, 17), true));
    assert_eq!(first.chunks.concat(), body);
    assert_eq!(first.header("content-encoding"), Some("gzip"));
    assert_eq!(
        texts(&written.responses()[0]),
        [(BlockKind::Text, "Grüße 😀".to_owned())]
    );
}

#[test]
fn a_cut_stream_is_a_cut_stream_again() {
    let body = said("Grüße 😀");
    let end = body.find('😀').unwrap() + 1;
    let chunks = pieces(&body.as_bytes()[..end], 40);
    let (first, written) = check_again(answer(STREAM, &chunks, false));
    assert!(!first.is_whole, "the connection broke");
    assert_eq!(first.chunks, chunks, "and not before all that came");
    let Body::ModelResponse { outcome, .. } = &written.responses()[0] else {
        unreachable!("only responses are given");
    };
    assert_eq!(*outcome, Outcome::Interrupted);
    assert_eq!(
        texts(&written.responses()[0])[0],
        (BlockKind::Text, "Grüße ".to_owned())
    );
    let last = frames(&written).pop().unwrap();
    assert!(matches!(last, HttpFrame::End { cut: Some(_) }), "{last:?}");
}

#[test]
fn errors_are_answers_too() {
    let stream =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    let (first, written) = check_again(answer(STREAM, &[stream.as_bytes()], true));
    assert_eq!(first.status(), 200);
    let outcome = |written: &Written| match written.responses().remove(0) {
        Body::ModelResponse { outcome, .. } => outcome,
        _ => Outcome::None,
    };
    assert_eq!(outcome(&written), Outcome::Failed);
    let head = "529 Overloaded\r\ncontent-type: application/json\r\nretry-after: 1";
    let (first, written) = check_again(answer(head, &[b"{\"error\":{\"type\":\"x\"}}"], true));
    assert_eq!(
        (first.status(), first.header("retry-after")),
        (529, Some("1"))
    );
    assert_eq!(outcome(&written), Outcome::Failed);
}

#[test]
fn keys_go_through_and_are_not_kept() {
    let endpoint = Endpoint::saying(vec![answer(STREAM, &[said("Hi").as_bytes()], true)]);
    let running = Running::recording(&endpoint.address);
    let secret = "s3cr3t-of-somebody";
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("x-api-key", secret),
        ("cookie", secret),
        ("accept-encoding", "br, gzip"),
        ("anthropic-version", "2023-06-01"),
    ];
    let path = ("POST", "/v1/messages");
    let first = running.ask_with(Api::Anthropic, path, &headers, ASKED);
    assert_eq!(
        first.header("set-cookie"),
        Some("s=1"),
        "an agent has its own cookies"
    );
    let (written, _) = running.end();
    let asked = endpoint.asked.lock().unwrap()[0].clone();
    assert_eq!(asked.first, "POST /v1/messages HTTP/1.1\r\n");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    assert_eq!(asked.header("x-api-key"), Some(secret));
    assert_eq!(asked.header("accept-encoding"), Some("gzip"));
    assert_eq!(
        asked.header("host"),
        endpoint.address.strip_prefix("http://")
    );
    assert_eq!(asked.body(), ASKED);
    let text = written.text();
    assert!(text.contains("2023-06-01"));
    assert!(!text.contains(secret), "{text}");
    assert!(!text.contains("s=1"), "{text}");
}

#[test]
fn equal_requests_get_their_own_answers_and_no_more() {
    let say = |words: &str| answer(STREAM, &[said(words).as_bytes()], true);
    let endpoint = Endpoint::saying(vec![say("one"), say("two")]);
    let running = Running::recording(&endpoint.address);
    let first = [ask(&running).body(), ask(&running).body()];
    let (written, _) = running.end();
    let running = Running::replaying(&written.path);
    // What is written otherwise and says the same is the same.
    let spaced = ASKED.replace(':', " : ");
    let path = "/v1/messages?beta=true";
    let again = [
        ask(&running).body(),
        running.ask(Api::Anthropic, "POST", path, &spaced).body(),
    ];
    assert_eq!(again, first);
    assert_ne!(again[0], again[1]);
    let third = ask(&running);
    assert_eq!(third.status(), 400);
    assert_eq!(third.header("x-should-retry"), Some("false"));
    let (_, report) = running.end();
    let why: Vec<_> = report
        .divergences
        .iter()
        .map(|it| it.why.as_str())
        .collect();
    assert_eq!(why, ["it was made more often than it was recorded"]);
}

#[test]
fn a_request_that_was_not_recorded_is_told_where_it_differs() {
    let endpoint = Endpoint::saying(vec![answer(STREAM, &[said("Hi").as_bytes()], true)]);
    let running = Running::recording(&endpoint.address);
    ask(&running);
    let (written, _) = running.end();
    let running = Running::replaying(&written.path);
    let changed = ASKED.replace("Hi", "Ho");
    let path = "/v1/messages?beta=true";
    let missed = running.ask(Api::Anthropic, "POST", path, &changed);
    assert_eq!(missed.status(), 400);
    assert!(
        missed.body().contains("/messages/0/content"),
        "{}",
        missed.body()
    );
    let other = running.ask(Api::Anthropic, "GET", "/v1/models", "");
    assert!(
        other.body().contains("no such request was recorded"),
        "{}",
        other.body()
    );
    let nowhere = running.ask(Api::OpenAi, "POST", "/responses", ASKED);
    assert_eq!(nowhere.status(), 400);
    assert_eq!(
        ask(&running).status(),
        200,
        "what was recorded is still answered"
    );
    let (_, report) = running.end();
    assert_eq!((report.answered, report.divergences.len()), (1, 3));
}

#[test]
fn a_document_and_other_requests_are_handed_on_as_they_are() {
    let document = r#"{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"content":"Hi"}}]}"#;
    let length = |body: &str| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
        vec![format!("{head}: {}\r\n\r\n{body}", body.len()).into_bytes()]
    };
    let empty = b"HTTP/1.1 204 No Content\r\ncontent-encoding: gzip\r\n\r\n".to_vec();
    let endpoint = Endpoint::saying(vec![length(document), length("[1]"), vec![empty]]);
    let running = Running::recording(&format!("{}/v1", endpoint.address));
    let all = |running: &Running| {
        [
            running.ask(Api::OpenAi, "POST", "/chat/completions", ASKED),
            running.ask(Api::OpenAi, "GET", "/models?limit=2", ""),
            running.ask(Api::OpenAi, "DELETE", "/files/1", ""),
        ]
    };
    let first = all(&running);
    let (written, _) = running.end();
    assert_eq!(first[0].body(), document);
    assert_eq!(first[1].body(), "[1]");
    assert_eq!((first[2].status(), first[2].chunks.len()), (204, 0));
    let asked = endpoint.asked.lock().unwrap().clone();
    assert_eq!(asked[0].first, "POST /v1/chat/completions HTTP/1.1\r\n");
    assert_eq!(asked[1].first, "GET /v1/models?limit=2 HTTP/1.1\r\n");
    assert_eq!(
        texts(&written.responses()[0]),
        [(BlockKind::Text, "Hi".to_owned())]
    );
    assert_eq!(written.responses().len(), 1, "only a turn is one");
    let running = Running::replaying(&written.path);
    assert_eq!(all(&running), first);
    running.end();
}

#[test]
fn who_cannot_be_reached_is_not_reached_again() {
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let running = Running::recording(&address);
    let first = ask(&running);
    assert_eq!(first.status(), 502);
    let (written, report) = running.end();
    assert_eq!(report.answered, 0);
    let running = Running::replaying(&written.path);
    let again = ask(&running);
    assert_eq!(
        (again.status(), again.body()),
        (first.status(), first.body())
    );
    running.end();
}

#[test]
fn tools_that_a_model_calls_are_calls_of_the_tape() {
    let call = |id: &str| {
        json!({"model": "m", "stop_reason": "tool_use", "content": [
            {"type": "tool_use", "id": id, "name": "write", "input": {"path": "a"}}]})
        .to_string()
    };
    let json_answer = |body: &str| {
        answer(
            "200 OK\r\ncontent-type: application/json",
            &[body.as_bytes()],
            true,
        )
    };
    let endpoint = Endpoint::saying(vec![json_answer(&call("t1")), json_answer(&call("t2"))]);
    let running = Running::recording(&endpoint.address);
    ask(&running);
    let padding = "x".repeat(4000);
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "done"});
    let turns = json!([{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "write", "input": {"path": "a"}}]},
        {"role": "user", "content": [result, {"type": "text", "text": padding}]}]);
    let next = json!({"model": "m", "stream": true, "messages": turns}).to_string();
    running.ask(Api::Anthropic, "POST", "/v1/messages", &next);
    let longer = next.replace("]}]}", "]},{\"role\":\"user\",\"content\":\"more\"}]}");
    let answered = running.ask(Api::Anthropic, "POST", "/v1/messages", &longer);
    assert_eq!(
        answered.status(),
        502,
        "the endpoint has nothing more to say"
    );
    let (written, _) = running.end();
    let events = written.events();
    let told: Vec<(Kind, &str)> = events
        .iter()
        .filter(|event| {
            matches!(
                event.kind(),
                Kind::ModelRequest | Kind::ModelResponse | Kind::ToolCall | Kind::ToolResult
            )
        })
        .map(|event| (event.kind(), event.head.call.as_deref().unwrap()))
        .collect();
    let expected = [
        (Kind::ModelRequest, "m1"),
        (Kind::ModelResponse, "m1"),
        (Kind::ToolCall, "t1"),
        (Kind::ToolResult, "t1"),
        (Kind::ModelRequest, "m2"),
        (Kind::ModelResponse, "m2"),
        (Kind::ToolCall, "t2"),
        (Kind::ModelRequest, "m3"),
    ];
    assert_eq!(told, expected);
    let added = events.iter().filter_map(|event| match &event.body {
        Body::ModelRequest { added, .. } => Some(added["messages"].as_array().unwrap().len()),
        _ => None,
    });
    assert_eq!(added.collect::<Vec<_>>(), [1, 2, 1], "only what is new");
    let text = written.text();
    let whole = text.matches(&padding).count();
    assert_eq!(whole, 2, "once in the request, once in what is new in it");
}
