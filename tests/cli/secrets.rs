//! One secret in many places and encodings: what is recorded, listed, and taken out again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::agent::Agent;
use super::commands;
use super::recorder::{Recorder, check_whole, events};
use super::traces::{KEY, escaped, hex, percent, traces, traces_below};
use super::world::{Run, World};

/// Says a run with the secret everywhere.
fn say_everything(recorder: &mut Recorder) {
    let mut say = |event: Value| {
        let answer = recorder.say(event);
        assert!(answer["seq"].is_u64(), "{answer}");
    };
    say(json!({"kind": "prompt", "text": format!("use {KEY}")}));
    say(json!({"kind": "model.request", "added": {"headers": {
        "Authorization": format!("Bearer {KEY}"), "x-API-key": KEY,
        "Set-Cookie": format!("sid={KEY}; HttpOnly"),
    }}}));
    let (first, second) = KEY.split_at(9);
    say(json!({"kind": "model.response", "blocks": [
        {"type": "text", "text": format!("it is {first}")},
        {"type": "text", "text": format!("{second}.")},
    ]}));
    let nested = json!({"k": json!({ "k": KEY }).to_string()}).to_string();
    say(
        json!({"kind": "tool.call", "call": "c1", "name": "bash", "args": {
            "command": format!("curl -H 'X-Api-Key: {KEY}'"), "nested": nested,
            "sse": [first, second],
        }}),
    );
    for part in [format!("data: {first}"), second.to_owned(), "\n".to_owned()] {
        say(json!({"kind": "stream.frame", "call": "c1", "name": "stdout", "data": part}));
    }
    say(json!({"kind": "stream.frame", "call": "c1", "name": "stderr", "data": "the end"}));
    let path = format!("out/{}/x", KEY.replace('/', "%2F"));
    say(json!({"kind": "fs.write", "call": "c1", "path": path, "text": format!("K={KEY}\n")}));
    say(json!({"kind": "fs.symlink", "call": "c1", "path": "link", "target": format!("to/{KEY}")}));
    let shifted = ["", "a", "ab"].map(|before| STANDARD.encode(format!("{before}{KEY}!")));
    let output = [hex(KEY), percent(KEY), escaped(KEY), shifted.join(" ")].join(" ");
    say(
        json!({"kind": "tool.result", "call": "c1", "output": output, "title": format!("got {KEY}")}),
    );
    say(json!({"kind": "raw", "name": "x", "text": format!("{{\"a\":\"{}\"}}", escaped(KEY))}));
    say(json!({"kind": "note", "text": format!("https://u:{}@host.example/", percent(KEY))}));
}

#[test]
fn a_damaged_tape_loses_its_secrets_too() {
    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let world = World::new(&[]);
    let tape = concat!(env!("CARGO_MANIFEST_DIR"), "/demo-tapes/damaged.jsonl");
    let leaky = fs::read_to_string(tape).unwrap();
    let leaky = leaky.replacen("friendlier", TOKEN, 1);
    fs::write(world.path("run.jsonl"), leaky).unwrap();
    let run = world.run(&["redact", "run.jsonl", "-o", "new.jsonl"]);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let left_out = "1 line could not be read, and what they held was left out";
    assert!(run.stdout().contains(left_out), "{}", run.stdout());
    let new = fs::read_to_string(world.path("new.jsonl")).unwrap();
    assert!(!new.contains(TOKEN) && new.contains("[REDACTED:1]"));
    let rows = |tape| world.run(&["log", tape, "--json"]).stdout().lines().count();
    assert_eq!(rows("run.jsonl"), rows("new.jsonl"));
}

#[test]
fn a_secret_of_the_environment_reaches_no_disk_in_any_encoding() {
    let world = World::new(&[]);
    fs::create_dir(world.path("w")).unwrap();
    fs::write(world.path("w/.env"), format!("KEY={KEY}\n")).unwrap();
    fs::write(world.path("w/plain"), "nothing\n").unwrap();
    let mut program = world.program();
    program.env("SERVICE_API_KEY", KEY);
    program.args(["record", "--stdin", "--watch", "w", "-o", "run.jsonl"]);
    let mut recorder = Recorder::spawn(&mut program);
    say_everything(&mut recorder);
    recorder.call("c2", json!({"command": "write it"}));
    fs::write(world.path("w/new"), format!("{KEY} again")).unwrap();
    assert_eq!(recorder.result("c2"), 1);
    assert_eq!(recorder.result("c2"), 0, "the watcher knows what it wrote");
    assert_eq!(recorder.end(), 0);
    fs::remove_dir_all(world.path("w")).unwrap();
    check_whole(&world, "run.jsonl");
    let log = world.type_in("log run.jsonl").stdout();
    assert!(log.contains("[REDACTED:1]"), "{log}");
    assert_eq!(traces_below(&world.path("")), Vec::<String>::new());

    let text = fs::read_to_string(world.path("run.jsonl")).unwrap();
    assert!(
        !text.contains("[REDACTED:2]"),
        "one secret, one placeholder"
    );
    let all = events(&world, "run.jsonl");
    let told = all
        .iter()
        .filter(|event| event.get("placeholders").is_some());
    assert_eq!(told.count(), 1, "where it was needed first");
    let streamed = |name: &str| -> String {
        let frames = all.iter().filter(|event| event["kind"] == "stream.frame");
        let frames = frames.filter(|event| event["name"] == name);
        frames
            .map(|event| event["data"].as_str().unwrap())
            .collect()
    };
    assert_eq!(streamed("stdout"), "data: [REDACTED:1]\n");
    assert_eq!(
        streamed("stderr"),
        "the end",
        "what waited for more stands there"
    );
    let tree = world.type_in("tree run.jsonl --json").stdout();
    let certainty = |path: &str| {
        let rows = tree
            .lines()
            .map(|row| serde_json::from_str::<Value>(row).unwrap());
        let mut rows = rows.filter(|row| row["path"] == path);
        rows.next().unwrap()["certainty"].clone()
    };
    assert_eq!(certainty(".env"), "redacted");
    assert_eq!(certainty("new"), "redacted");
    assert_eq!(certainty("plain"), "exact");
    assert_eq!(
        world.type_in("cat run.jsonl .env").stdout(),
        "KEY=[REDACTED:1]\n"
    );
}

#[test]
fn a_tape_with_secrets_is_listed_and_written_again_without_them() {
    let world = World::new(&[]);
    let mut recorder = Recorder::start(&world, "--keep-secrets -o old.jsonl");
    say_everything(&mut recorder);
    assert_eq!(recorder.end(), 0);
    let before = fs::read(world.path("old.jsonl")).unwrap();
    assert!(!traces(&before).is_empty());
    world.put("jukebox.toml", format!("[redact]\nvalues = ['{KEY}']\n"));

    let listed = world.type_in("verify old.jsonl --secrets --config jukebox.toml");
    assert_eq!(listed.code(), 1, "{}", listed.stderr());
    assert_eq!(
        traces(listed.stdout().as_bytes()),
        Vec::<String>::new(),
        "never what it says"
    );
    for field in [
        "prompt",
        "request",
        "response",
        "arguments",
        "output",
        "path",
        "target",
        "contents",
        "record",
        "note",
        "title",
    ] {
        assert!(
            listed.stdout().contains(field),
            "{field}: {}",
            listed.stdout()
        );
    }

    let done = world.type_in("redact old.jsonl -o new.jsonl --config jukebox.toml --json");
    assert_eq!(done.code(), 0, "{}", done.stderr());
    assert!(
        done.stderr().contains("hold the secrets still"),
        "{}",
        done.stderr()
    );
    let object: Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(object["placeholders"], 1, "{object}");
    assert_eq!(
        fs::read(world.path("old.jsonl")).unwrap(),
        before,
        "left alone"
    );
    let after = fs::read(world.path("new.jsonl")).unwrap();
    assert_eq!(traces(&after), Vec::<String>::new());
    let mode = fs::metadata(world.path("new.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    check_whole(&world, "new.jsonl");
    let clean = world.type_in("verify new.jsonl --secrets --config jukebox.toml");
    assert_eq!((clean.code(), clean.stdout().trim()), (0, "0 secrets"));
    let numbers = |tape: &str| -> Vec<Value> {
        let all = events(&world, tape);
        all.iter()
            .map(|event| json!([event["seq"], event["step"], event["kind"]]))
            .collect()
    };
    assert_eq!(numbers("old.jsonl"), numbers("new.jsonl"));
    let tree = world.type_in("tree new.jsonl").stdout();
    assert!(tree.contains("[REDACTED:1]"), "{tree}");
}

#[test]
fn a_pattern_of_the_user_finds_what_nobody_knew() {
    let world = World::new(&[]);
    let mut recorder = Recorder::start(&world, "--keep-secrets -o old.jsonl");
    say_everything(&mut recorder);
    assert_eq!(recorder.end(), 0);
    world.put(
        "jukebox.toml",
        "[redact]\npatterns = ['Zk3-fake/[A-Za-z0-9+.]{19}']\n",
    );
    let done = world.type_in("redact old.jsonl -o new.jsonl --config jukebox.toml");
    assert_eq!(done.code(), 0, "{}", done.stderr());
    let after = fs::read(world.path("new.jsonl")).unwrap();
    assert_eq!(traces(&after), Vec::<String>::new());
}

#[test]
fn a_mistake_in_the_rules_is_told_with_its_place_and_nothing_is_written() {
    let world = World::new(&["run.jsonl"]);
    world.put("jukebox.toml", "[redact]\npatterns = ['ok', '(']\n");
    let run = world.type_in("redact run.jsonl -o new.jsonl --config jukebox.toml");
    assert_eq!(run.code(), 2);
    let said = run.stderr();
    assert!(
        said.contains("jukebox.toml, line 2, column 19: `(` is no pattern"),
        "{said}"
    );
    assert!(!world.path("new.jsonl").exists());
}

/// Has the user declare the secret.
fn declare(world: &World) {
    let declared = format!("[redact]\nvalues = ['{KEY}']\n");
    world.put("../home/config/jukebox/jukebox.toml", declared);
}

#[test]
fn hooks_leave_a_secret_in_no_file() {
    let world = World::new(&[]);
    declare(&world);
    let agent = Agent::new(&world, "one");
    agent.hook("UserPromptSubmit", json!({"prompt": format!("use {KEY}")}));
    agent.says(
        "r1",
        "m1",
        json!({"type": "text", "text": format!("{KEY} it is")}),
    );
    agent.call("c1", "Bash", json!({"command": format!("login {KEY}")}));
    agent.write("a.txt", &format!("KEY={KEY}\n"));
    agent.result("c1");
    agent.end();
    agent.wait_for_recorder();
    let tape = fs::read_to_string(agent.tape()).unwrap();
    for said in [
        "use [REDACTED:1]",
        "[REDACTED:1] it is",
        "login [REDACTED:1]",
        "KEY=[REDACTED:1]",
    ] {
        assert!(tape.contains(said), "{said}: {tape}");
    }
    for kept in ["../home/data", "../home/state", "../run"] {
        assert_eq!(traces_below(&world.path(kept)), Vec::<String>::new());
    }
}

#[test]
fn a_command_gets_a_secret_through_and_leaves_it_in_no_file_of_ours() {
    let Some(world) = commands::world() else {
        return;
    };
    declare(&world);
    let script = format!("echo '{KEY}' > made; echo 'it is {KEY}'");
    let mut program = world.program();
    program.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    program.args(["record", "--commit", "--", "/bin/sh", "-c", &script]);
    let run = Run::new(program.output().unwrap());
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(run.stdout(), format!("it is {KEY}\n"));
    let made = fs::read_to_string(world.path("made")).unwrap();
    assert_eq!(made, format!("{KEY}\n"));
    for kept in [".jukebox", "../home/state"] {
        assert_eq!(traces_below(&world.path(kept)), Vec::<String>::new());
    }
    let tapes = fs::read_dir(world.path(".jukebox/tapes")).unwrap();
    let tapes: Vec<_> = tapes.map(|tape| tape.unwrap().path()).collect();
    assert_eq!(tapes.len(), 1);
    let tape = fs::read_to_string(&tapes[0]).unwrap();
    assert!(tape.contains("it is [REDACTED:1]"), "{tape}");
}
