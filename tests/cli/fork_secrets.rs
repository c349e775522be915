//! Secrets in forks: what a fork adds is written without them, under the numbers of its parent.

use std::fs;

use serde_json::{Value, json};

use super::recorder::{Recorder, check_whole, events};
use super::world::{Run, World};

/// Made up, in the manner of real ones.
const FIRST: &str = "Zk3-fake/9f+QxT7.r2LmW8uYv0c";
const SECOND: &str = "Pq8-fake/2d+WzR5.k7NbV3xHs1e";
const THIRD: &str = "Mt6-fake/4h+LyC9.p1JgD5wKa8f";

fn fork(world: &World, words: &str) -> Run {
    let mut program = world.program();
    let secrets = [("A_TOKEN", FIRST), ("B_TOKEN", SECOND), ("C_TOKEN", THIRD)];
    program.envs(secrets).arg("fork");
    program.args(words.split_whitespace());
    Run::new(program.output().unwrap())
}

#[test]
fn what_a_fork_adds_is_written_without_secrets_and_under_its_parents_numbers() {
    let world = World::new(&[]);
    let secrets = [("A_TOKEN", FIRST), ("B_TOKEN", SECOND)];
    let mut program = world.program();
    program
        .envs(secrets)
        .args(["record", "--stdin", "-o", "run.jsonl"]);
    let mut recorder = Recorder::spawn(&mut program);
    for event in [
        json!({"kind": "prompt", "name": "user", "text": format!("use {FIRST}")}),
        json!({"kind": "model.response", "blocks": [{"type": "text", "text": "what for?"}]}),
        // Behind the fork another one is met first.
        json!({"kind": "prompt", "name": "user", "text": format!("and {SECOND}")}),
    ] {
        recorder.say(event);
    }
    recorder.end();
    world.put(
        "said.txt",
        format!("I write {THIRD}, {SECOND} and {FIRST}.\n"),
    );
    let made = fork(&world, "run.jsonl@2 --response said.txt -o new.jsonl");
    assert_eq!(made.code(), 0, "{}", made.stderr());
    let text = fs::read_to_string(world.path("new.jsonl")).unwrap();
    for secret in [FIRST, SECOND, THIRD] {
        assert!(!text.contains(secret), "{text}");
    }
    let told = events(&world, "new.jsonl");
    let said = told.iter().find(|event| event["via"] == "edit").unwrap();
    // One number for one secret, whichever of the two tapes it was met on first.
    assert_eq!(
        said["blocks"][0]["text"],
        "I write [REDACTED:3], [REDACTED:2] and [REDACTED:1]."
    );
    let fresh = said["placeholders"].as_array().unwrap().iter();
    let fresh: Vec<&Value> = fresh.map(|told| &told[0]).collect();
    assert_eq!(fresh, [&json!(3), &json!(2)]);
    assert_eq!(told[0]["edit"]["title"], "I write …");
    check_whole(&world, "new.jsonl");

    // A parent that was redacted later tells of all its placeholders in its header.
    world.put(
        "plain.jsonl",
        format!(
            "{}\n{}\n{}\n",
            json!({"seq": 0, "kind": "tape", "format": 1, "id": "x"}),
            json!({"seq": 1, "kind": "prompt", "name": "user", "text": format!("use {FIRST}")}),
            json!({"seq": 2, "kind": "model.response", "call": "m", "outcome": "ok",
                "blocks": [{"type": "text", "text": "yes"}]}),
        ),
    );
    let mut program = world.program();
    program.env("A_TOKEN", FIRST);
    program.args(["redact", "plain.jsonl", "-o", "clean.jsonl"]);
    assert!(program.output().unwrap().status.success());
    let made = fork(&world, "clean.jsonl@2 --response said.txt -o other.jsonl");
    assert_eq!(made.code(), 0, "{}", made.stderr());
    let told = events(&world, "other.jsonl");
    let said = told.iter().find(|event| event["via"] == "edit").unwrap();
    let text = said["blocks"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("and [REDACTED:1]."), "{text}");
    assert!(!text.starts_with("I write [REDACTED:1]"), "{text}");
}
