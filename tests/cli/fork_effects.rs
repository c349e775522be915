//! What calls of a run did outside the files, asked for again in a fork: the same request gets
//! its recorded answer, each its own, and any other gets none.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::recorder::events;
use super::what_if::{called, fork, returned, said, tape, vias, wrote};
use super::world::World;

fn post(id: &str, to: &str) -> Value {
    called(id, "post", json!({ "to": to }))
}

/// A call that posted something, under this key.
fn posted(id: &str, to: &str, key: &str) -> Vec<Value> {
    vec![
        post(id, to),
        json!({"kind": "effect.intent", "call": id, "name": "post", "key": key,
            "class": "irreversible", "args": [to]}),
        json!({"kind": "effect.result", "call": id, "key": key, "outcome": "ok",
            "output": key}),
        returned(id, key),
    ]
}

/// A is written, then something is posted twice in the same words, and somebody is listened to.
fn world() -> World {
    let world = World::new(&[]);
    let file = json!({"file_path": "/work/f", "content": "A"});
    let mut run = vec![
        json!({"kind": "prompt", "name": "user", "text": "go"}),
        said("m1", "use A", &[("c1", "Write", file.clone())]),
        called("c1", "Write", file),
        wrote("c1", "f", "A"),
        returned("c1", "written"),
        said("m2", "post", &[("c2", "post", json!({"to": "x"}))]),
    ];
    run.extend(posted("c2", "x", "k1"));
    run.push(said("m3", "again", &[("c3", "post", json!({"to": "x"}))]));
    run.extend(posted("c3", "x", "k2"));
    run.extend([
        said("m4", "hear", &[("c4", "listen", json!({"at": "wss"}))]),
        called("c4", "listen", json!({"at": "wss"})),
        json!({"kind": "stream.frame", "call": "c4", "name": "ws", "dir": "out", "data": "hi"}),
        json!({"kind": "stream.frame", "call": "c4", "name": "ws", "dir": "in", "data": "ho"}),
        returned("c4", "ho"),
        said("m5", "done", &[]),
    ]);
    tape(&world, &run);
    world
}

/// Forks where A is written: B is, and these calls are made. What they returned, and the fork.
fn forked(world: &World, calls: &[(&str, Value)]) -> (Vec<String>, Value) {
    let mut document =
        "== call Write\n{\"file_path\": \"/work/f\", \"content\": \"B\"}\n".to_owned();
    for (tool, arguments) in calls {
        let _ = write!(document, "\n== call {tool}\n{arguments}\n");
    }
    world.put("b.txt", document);
    let fork = fork(world, "@2 --response b.txt -o b.jsonl");
    let results = events(world, "b.jsonl").into_iter();
    let results = results.filter(|event| event["kind"] == "tool.result");
    let output = |event: Value| event["output"].as_str().unwrap().to_owned();
    (results.skip(1).map(output).collect(), fork)
}

#[test]
fn the_same_request_gets_its_own_answer_and_no_more_than_there_are() {
    let world = world();
    let x = || ("post", json!({"to": "x"}));
    let (results, fork) = forked(&world, &[x(), x(), x()]);
    assert_eq!(results, ["k1", "k2"], "{fork:#}");
    assert_eq!(
        vias(&fork),
        ["edit", "rerun", "recorded", "recorded", "unknown"]
    );
    assert_eq!(fork["stopped"]["why"], "not-answered");
    let message = fork["stopped"]["message"].as_str().unwrap();
    assert!(message.contains("nothing is sent"), "{message}");
    // What the answers did is told with them, under the fork's own calls.
    let told = events(&world, "b.jsonl");
    let keys: Vec<&Value> = told
        .iter()
        .filter(|event| event["kind"] == "effect.intent")
        .inspect(|event| assert!(event["call"].as_str().unwrap().starts_with("fork-")))
        .map(|event| &event["key"])
        .collect();
    assert_eq!(keys, ["k1", "k2"]);
    assert_eq!(world.type_in("verify b.jsonl").code(), 0);
}

#[test]
fn another_request_is_not_answered_by_one_that_is_like_it() {
    let world = world();
    let (results, fork) = forked(&world, &[("post", json!({"to": "y"}))]);
    assert_eq!(results, Vec::<String>::new());
    assert_eq!(vias(&fork), ["edit", "rerun", "unknown"], "{fork:#}");
}

#[test]
fn a_long_connection_is_part_of_the_answer_of_its_call() {
    let world = world();
    let listen = ("listen", json!({"at": "wss"}));
    let (results, fork) = forked(&world, std::slice::from_ref(&listen));
    assert_eq!(results, ["ho"], "{fork:#}");
    let frames = events(&world, "b.jsonl").into_iter();
    let frames = frames.filter(|event| event["kind"] == "stream.frame");
    let (mut sent, mut heard) = (String::new(), String::new());
    for frame in frames {
        let side = if frame["dir"] == "out" {
            &mut sent
        } else {
            &mut heard
        };
        side.push_str(frame["data"].as_str().unwrap());
    }
    assert_eq!((sent.as_str(), heard.as_str()), ("hi", "ho"));
    let (_, again) = forked_again(&world, &[listen.clone(), listen]);
    assert_eq!(vias(&again), ["edit", "rerun", "recorded", "unknown"]);
}

fn forked_again(world: &World, calls: &[(&str, Value)]) -> (Vec<String>, Value) {
    std::fs::remove_file(world.path("b.jsonl")).unwrap();
    forked(world, calls)
}
