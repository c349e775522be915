//! Streams of a tape, opened again by a client that makes up other ids: what it hears is what the
//! service would have said to it, and nothing once it says something else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use jukebox::model::{Frame, JSON_FRAMES};
use jukebox::replay::request::VolatileParts;
use jukebox::replay::stream::{OddFrame, Stream, Streams};
use jukebox::tape::{Tape, TapeBytes};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The streams of a tape with these frames.
fn read(frames: &[Value], volatile: &[&str]) -> Result<Streams, OddFrame> {
    let mut lines = vec![json!({"seq": 0, "kind": "tape", "format": 1, "id": "t"})];
    for frame in frames {
        let mut line = frame.clone();
        line["seq"] = lines.len().into();
        line["kind"] = "stream.frame".into();
        lines.push(line);
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = lines.join("\n") + "\n";
    let tape = Tape::read(TapeBytes::Memory(text.into_bytes().into()), &mut ()).unwrap();
    let parts = VolatileParts::read(volatile.iter().copied(), None, None).unwrap();
    let mut streams = Streams::new(parts);
    for position in 0..tape.index.events.len() {
        let event = tape.event(position).unwrap();
        streams.take(tape.index.events.seq(position), &event)?;
    }
    Ok(streams)
}

fn out(data: Value) -> Value {
    json!({"name": "files", "dir": "out", "data": data})
}

fn told(data: Value) -> Value {
    json!({"name": "files", "dir": "in", "data": data})
}

/// The only stream of these frames.
fn stream(frames: &[Value], volatile: &[&str]) -> Stream {
    read(frames, volatile)
        .unwrap()
        .open("files", JSON_FRAMES)
        .unwrap()
}

fn say(stream: &mut Stream, data: &Value) -> Vec<Value> {
    values(stream.hear(data.to_string().as_bytes()).unwrap())
}

fn values(frames: Vec<Frame>) -> Vec<Value> {
    let value = |frame| match frame {
        Frame::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => json!(format!("{other:?}")),
    };
    frames.into_iter().map(value).collect()
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn result(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

fn notice(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[test]
fn a_client_hears_its_own_ids_and_those_of_the_service_as_they_were() {
    let progress = |token: Value| {
        notice(
            "notifications/progress",
            json!({"progressToken": token, "progress": 1}),
        )
    };
    let call = |token: Value| json!({"name": "read", "_meta": {"progressToken": token}});
    let mut stream = stream(
        &[
            out(request(1, "tools/call", call(json!(1)))),
            // The service's own first request has the same number.
            told(request(1, "roots/list", json!({}))),
            told(progress(json!(1))),
            out(result(1, json!({"roots": []}))),
            told(result(1, json!({"id": 1, "session": "s-1"}))),
            out(request(2, "close", json!({"session": "s-1"}))),
        ],
        &[],
    );
    assert_eq!(stream.greet(), []);
    let heard = say(&mut stream, &request("a-7", "tools/call", call(json!("p"))));
    assert_eq!(
        heard,
        [request(1, "roots/list", json!({})), progress(json!("p"))]
    );
    let heard = say(&mut stream, &result(1, json!({"roots": []})));
    // What only looks like an id is a part of what is said.
    assert_eq!(heard, [result("a-7", json!({"id": 1, "session": "s-1"}))]);
    assert_eq!(stream.awaited(), 1);
    assert_eq!(
        say(&mut stream, &request(9, "close", json!({"session": "s-1"}))),
        [Value::Null; 0]
    );
    assert_eq!(stream.awaited(), 0);
}

#[test]
fn what_is_not_the_recorded_frame_stops_the_stream_and_says_where() {
    let frames = [
        out(request(
            1,
            "tools/call",
            json!({"name": "issue", "arguments": {"issue_id": 5, "of": "me"}}),
        )),
        told(result(1, json!("five"))),
        out(request(2, "tools/list", json!({}))),
        told(result(2, json!([]))),
    ];
    let asks = |arguments: Value| {
        request(
            1,
            "tools/call",
            json!({"name": "issue", "arguments": arguments}),
        )
    };
    // An id that names something is no id that the client made up.
    let mut poisoned = stream(&frames, &[]);
    let other = asks(json!({"issue_id": 6, "of": "you"})).to_string();
    let miss = poisoned.hear(other.as_bytes()).unwrap_err();
    assert_eq!(
        miss.to_string(),
        "the client's frame is not the one in event 1: /params/arguments/issue_id: recorded 5, \
         replayed 6; /params/arguments/of: recorded \"me\", replayed \"you\""
    );
    let right = asks(json!({"issue_id": 5, "of": "me"})).to_string();
    assert_eq!(poisoned.hear(right.as_bytes()).unwrap_err(), miss);
    assert_eq!(poisoned.close(), []);
    // What comes later answers nothing now, however often it is asked for.
    let mut early = stream(&frames, &[]);
    let list = request(1, "tools/list", json!({})).to_string();
    assert!(early.hear(list.as_bytes()).is_err());
    // More than all of it.
    let mut over = stream(&frames, &[]);
    assert_eq!(
        say(&mut over, &asks(json!({"issue_id": 5, "of": "me"}))).len(),
        1
    );
    assert_eq!(
        say(&mut over, &request(3, "tools/list", json!({}))).len(),
        1
    );
    let miss = over.hear(list.as_bytes()).unwrap_err();
    assert_eq!(miss.to_string(), "the client says more than was recorded");
}

#[test]
fn no_id_stands_for_two() {
    let frames = [
        out(request(1, "a", json!({}))),
        out(request(2, "b", json!({}))),
        told(result(2, json!("b"))),
        told(result(1, json!("a"))),
    ];
    let mut stream = stream(&frames, &[]);
    assert_eq!(
        say(&mut stream, &request(2, "a", json!({}))),
        [Value::Null; 0]
    );
    let twice = request(2, "b", json!({})).to_string();
    let miss = stream.hear(twice.as_bytes()).unwrap_err();
    assert_eq!(miss.leaves[0].path, "/id");
    assert_eq!(
        miss.leaves[0].replayed.as_deref(),
        Some("2, which stands for another one")
    );
}

#[test]
fn what_was_named_volatile_differs_and_is_told_as_it_is_now() {
    let asks = |nonce: &str| request(1, "open", json!({"nonce": nonce, "when": "now"}));
    let frames = [
        out(asks("n-1")),
        told(result(1, json!({"nonce": "n-1", "of": "n-1 and more"}))),
    ];
    let mut strict = stream(&frames, &[]);
    assert!(strict.hear(asks("n-2").to_string().as_bytes()).is_err());
    let mut lenient = stream(&frames, &["/params/nonce"]);
    let heard = say(&mut lenient, &asks("n-2"));
    assert_eq!(
        heard,
        [result(1, json!({"nonce": "n-2", "of": "n-1 and more"}))]
    );
}

#[test]
fn streams_are_opened_in_the_order_in_which_they_were_recorded() {
    let frame = |connection: u8, dir: &str, data: &str| json!({"name": "files", "connection": connection, "dir": dir, "data": data});
    let mut frames = vec![
        frame(1, "in", "hello 1"),
        frame(2, "in", "hello 2"),
        frame(2, "out", "a word\n"),
        frame(1, "out", "another"),
        frame(2, "in", "  to the letter  "),
        json!({"name": "other", "protocol": "lines", "dir": "in", "data_raw": "/w=="}),
        json!({"name": "files", "connection": 2, "dir": "in", "end": "cut", "why": "gone"}),
        json!({"name": "stdout", "dir": "in", "data": "no stream"}),
    ];
    let mut streams = read(&frames, &[]).unwrap();
    assert_eq!(
        streams.counts().into_iter().collect::<Vec<_>>(),
        [("files", (2, 0)), ("other", (1, 0))]
    );
    let mut first = streams.open("files", JSON_FRAMES).unwrap();
    let mut second = streams.open("files", JSON_FRAMES).unwrap();
    assert_eq!((first.ordinal(), second.ordinal()), (1, 2));
    assert_eq!(values(first.greet()), ["hello 1"]);
    assert_eq!(values(second.greet()), ["hello 2"]);
    let heard = second.hear(b"a word\n").unwrap();
    let end = Frame::End(Some("gone".to_owned()));
    assert_eq!(heard, [Frame::Text("  to the letter  ".to_owned()), end]);
    assert!(first.hear(b"a word\n").is_err());
    let error = |streams: &mut Streams, address, protocol| {
        streams
            .open(address, protocol)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(&mut streams, "files", JSON_FRAMES),
        "all 2 streams to files that were recorded were opened already"
    );
    assert_eq!(
        error(&mut streams, "other", JSON_FRAMES),
        "no stream to other over json was recorded"
    );
    let mut bytes = streams.open("other", "lines").unwrap();
    assert_eq!(bytes.greet(), [Frame::Bytes(vec![0xff])]);

    for odd in [
        json!({"name": "files", "dir": "up", "data": 1}),
        json!({"name": "files", "dir": "in"}),
        json!({"name": "files", "dir": "in", "data_raw": "?"}),
        json!({"name": "files", "dir": "in", "end": "perhaps"}),
        json!({"name": "files", "dir": "in", "data": "s", "later": 1}),
    ] {
        frames.push(odd.clone());
        assert!(read(&frames, &[]).is_err(), "{odd}");
        frames.pop();
    }
}

/// What happens next in a conversation: which of its sides says what.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// The client asks; with a token of progress, or without.
    Ask(bool),
    Note,
    /// The service answers the request that waits at this place.
    Answer(usize),
    Progress(usize),
    ServiceAsks,
    /// The client answers the service.
    Reply(usize),
    ServiceNotes,
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => any::<bool>().prop_map(Move::Ask),
        1 => Just(Move::Note),
        3 => any::<usize>().prop_map(Move::Answer),
        1 => any::<usize>().prop_map(Move::Progress),
        1 => Just(Move::ServiceAsks),
        1 => any::<usize>().prop_map(Move::Reply),
        1 => Just(Move::ServiceNotes),
    ]
}

/// A conversation in which the client calls its n-th request `ids[n]`: who says each frame, and
/// the frame.
fn conversation(moves: &[Move], ids: &[Value]) -> Vec<(bool, Value)> {
    let (mut asked, mut service_asked) = (0, 0);
    let (mut open, mut running, mut service_open) = (Vec::new(), Vec::new(), Vec::new());
    let mut frames = Vec::new();
    for (number, next) in moves.iter().enumerate() {
        let words = json!({"number": number, "id": number, "text": format!("of {number}")});
        let take = |open: &mut Vec<usize>, at: usize| {
            (!open.is_empty()).then(|| open.remove(at % open.len()))
        };
        let frame = match *next {
            Move::Ask(has_token) => {
                let id = &ids[asked];
                let mut params = words;
                if has_token {
                    params["_meta"] = json!({"progressToken": id});
                    running.push(asked);
                }
                open.push(asked);
                asked += 1;
                (true, request(id.clone(), "ask", params))
            }
            Move::Note => (true, notice("note", words)),
            Move::Answer(at) => {
                let Some(which) = take(&mut open, at) else {
                    continue;
                };
                running.retain(|other| *other != which);
                (false, result(ids[which].clone(), words))
            }
            Move::Progress(at) if !running.is_empty() => {
                let token = &ids[running[at % running.len()]];
                let params = json!({"progressToken": token, "progress": number});
                (false, notice("notifications/progress", params))
            }
            Move::Progress(_) => continue,
            Move::ServiceAsks => {
                service_open.push(service_asked);
                service_asked += 1;
                (false, request(service_asked, "sample", words))
            }
            Move::Reply(at) => {
                let Some(which) = take(&mut service_open, at) else {
                    continue;
                };
                (true, result(which + 1, words))
            }
            Move::ServiceNotes => (false, notice("note", words)),
        };
        frames.push(frame);
    }
    frames
}

/// Ids that are all different, of both sorts; many of them stand on the tape for other requests.
fn any_ids(count: usize) -> impl Strategy<Value = Vec<Value>> {
    let numbers: Vec<u32> = (0..u32::try_from(count).unwrap())
        .map(|id| id + 2)
        .collect();
    (Just(numbers).prop_shuffle(), any::<u64>()).prop_map(|(numbers, sorts)| {
        let id = |number: u32| match sorts >> (number % 64) & 1 {
            0 => json!(number),
            _ => json!(number.to_string()),
        };
        numbers.into_iter().map(id).collect()
    })
}

const MOST_MOVES: usize = 24;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_conversation_is_the_same_with_other_ids(
        moves in prop::collection::vec(any_move(), 1..MOST_MOVES),
        ids in any_ids(MOST_MOVES),
        swaps in any::<u64>(),
        poison in any::<prop::sample::Index>(),
    ) {
        let recorded: Vec<Value> = (1..=MOST_MOVES).map(|id| json!(id)).collect();
        let frames: Vec<Value> = conversation(&moves, &recorded)
            .into_iter()
            .map(|(is_client, frame)| if is_client { out(frame) } else { told(frame) })
            .collect();
        let mut now = conversation(&moves, &ids);
        let expected: Vec<Value> = now.iter().filter(|(is_client, _)| !is_client).map(|it| it.1.clone()).collect();
        // What the client says at one go may come in another order.
        for at in 1..now.len() {
            if now[at - 1].0 && now[at].0 && swaps >> at & 1 == 1 {
                now.swap(at - 1, at);
            }
        }
        let said: Vec<Value> = now.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        prop_assume!(!frames.is_empty());

        let mut whole = stream(&frames, &[]);
        let mut heard = values(whole.greet());
        for frame in &said {
            heard.extend(say(&mut whole, frame));
        }
        prop_assert_eq!(&heard, &expected);
        prop_assert_eq!(whole.awaited(), 0);

        // One other word, and nothing more is told.
        prop_assume!(!said.is_empty());
        let poisoned = poison.index(said.len());
        let mut stopped = stream(&frames, &[]);
        let mut heard = values(stopped.greet());
        for (number, frame) in said.iter().enumerate() {
            if number < poisoned {
                heard.extend(say(&mut stopped, frame));
                continue;
            }
            let mut frame = frame.clone();
            if number == poisoned {
                let part = if frame.get("params").is_some() { "params" } else { "result" };
                frame[part]["text"] = "something else".into();
            }
            let miss = stopped.hear(frame.to_string().as_bytes()).unwrap_err();
            prop_assert!(!miss.leaves.is_empty(), "{}", miss);
        }
        prop_assert!(expected.starts_with(&heard));
        prop_assert_eq!(stopped.close(), []);
    }
}
