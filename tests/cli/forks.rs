//! Forks as files: found again with their parents, told apart from them, listed, renamed,
//! deleted, made whole.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use jukebox::debugger::{BegunFork, Debugger, OpenOptions, Places, Refresh, Source};
use jukebox::model::{Body, Edit, EditOf, Event, Outcome, Place, Seq, StepNumber, Via};
use jukebox::tape::RecorderOptions;
use serde_json::{Value, json};

use crate::world::World;

/// A world with a run and a fork of it: at step 5, the tests pass instead.
fn forked() -> World {
    let world = World::new(&["run.jsonl"]);
    fork(&world, "run.jsonl", 11, "The tests pass", &passes());
    world
}

fn passes() -> [Event; 2] {
    let result = Body::ToolResult {
        outcome: Outcome::Ok,
        exit: Some(0),
        output: "ok. 12 passed".to_owned(),
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    };
    [
        via(Event::new(result).in_call("c3").at(7_000_000), Via::Edit),
        via(asks("x1").at(7_100_000), Via::Unknown),
    ]
}

fn asks(call: &str) -> Event {
    let request = Body::ModelRequest {
        model: Some("model-x".to_owned()),
        request: None,
        added: json!([{"role": "user", "content": "12 passed"}]),
    };
    Event::new(request).in_call(call)
}

fn via(mut event: Event, via: Via) -> Event {
    event.head.via = Some(via);
    event
}

/// Forks a run behind an event, beside it.
fn fork(world: &World, parent: &str, seq: u64, title: &str, events: &[Event]) -> PathBuf {
    let mut begun = begin(world, parent, seq, title, None);
    for event in events {
        begun.recorder.append(event.clone()).unwrap();
    }
    begun.path
}

fn begin(world: &World, parent: &str, seq: u64, title: &str, out: Option<&Path>) -> BegunFork {
    let options = OpenOptions {
        places: Places {
            here: Some(world.path("")),
            ..Places::default()
        },
        ..OpenOptions::default()
    };
    let run = Debugger::open(Source::Path(world.path(parent)), &options).unwrap();
    let edit = Edit {
        of: EditOf::Result,
        step: StepNumber(5),
        branch: None,
        seq: Some(Seq(seq + 1)),
        path: None,
        title: title.to_owned(),
        then: None,
    };
    run.begin_fork(Seq(seq), edit, out, RecorderOptions::default())
        .unwrap()
}

fn log(world: &World, tape: &str) -> String {
    let run = world.type_in(&format!("log {tape}"));
    assert_eq!((run.code(), run.stderr()), (0, String::new()));
    run.stdout()
}

#[test]
fn a_fork_is_a_run_like_any_other() {
    let world = forked();
    let before = fs::read(world.path("run.jsonl")).unwrap();
    fork(&world, "run.fork-1.jsonl", 12, "Nobody is asked", &[]);
    world.check_golden(
        "forks",
        &[
            "log run.fork-1.jsonl",
            "show run.fork-1.jsonl@5",
            "cat run.fork-1.jsonl src/parse.rs",
            "diff run.fork-1.jsonl@3 @5",
            "compare run.jsonl run.fork-1.jsonl",
            "verify run.fork-1.jsonl",
            "forks run.jsonl",
            "forks run.fork-1.fork-1.jsonl",
            "log run.fork-1.fork-1.jsonl",
            "compact run.fork-1.jsonl -o whole.jsonl",
        ],
    );
    assert_eq!(fs::read(world.path("run.jsonl")).unwrap(), before);
    let lines = world.type_in("log run.fork-1.jsonl --json").stdout();
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let vias: Vec<&Value> = rows.iter().map(|row| &row["via"]).collect();
    let none = &Value::Null;
    assert_eq!(
        vias,
        [none, none, none, none, &json!("edit"), &json!("unknown")]
    );
}

#[test]
fn a_fork_without_its_parent_says_where_that_was_looked_for() {
    let world = forked();
    fs::create_dir(world.path("away")).unwrap();
    fs::rename(world.path("run.jsonl"), world.path("away/moved.jsonl")).unwrap();
    let run = world.type_in("log run.fork-1.jsonl");
    assert_eq!(run.code(), 0);
    assert!(run.stdout().contains("ok. 12 passed"), "{}", run.stdout());
    let said = run.stderr();
    for part in [
        "01890000-0000-7000-8000-000000000001",
        "at run.jsonl",
        format!("in {}", world.path("").display()).trim_end_matches('/'),
        "--parent FILE",
        "events 1 to 11 are missing",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let run = world.type_in("verify run.fork-1.jsonl");
    assert_eq!(run.code(), 1);
    assert!(
        run.stdout().starts_with("missing-part  line 1"),
        "{}",
        run.stdout()
    );

    let told = world.type_in("log run.fork-1.jsonl --parent away/moved.jsonl");
    assert_eq!((told.code(), told.stderr()), (0, String::new()));
    // It was seen there, and is found by itself from now on.
    assert_eq!(log(&world, "run.fork-1.jsonl"), told.stdout());
    let run = world.type_in("log run.fork-1.jsonl --parent nowhere.jsonl");
    assert_eq!(run.code(), 2);
    assert!(run.stderr().contains("nowhere.jsonl"), "{}", run.stderr());
}

#[test]
fn a_fork_finds_its_parent_under_another_name_beside_it_and_where_it_was() {
    let world = forked();
    let shown = log(&world, "run.fork-1.jsonl");
    fs::create_dir(world.path("far")).unwrap();
    fs::rename(world.path("run.fork-1.jsonl"), world.path("far/fork.jsonl")).unwrap();
    assert_eq!(log(&world, "far/fork.jsonl"), shown);
    fs::rename(world.path("run.jsonl"), world.path("far/other.jsonl")).unwrap();
    assert_eq!(log(&world, "far/fork.jsonl"), shown);
}

#[test]
fn a_parent_that_was_changed_is_not_taken_for_the_one_that_was_left() {
    let world = forked();
    let text = fs::read_to_string(world.path("run.jsonl")).unwrap();
    // What it says later is of no matter.
    let grown = format!("{text}{{\"seq\":38,\"kind\":\"note\",\"text\":\"on\"}}\n{{torn");
    world.put("run.jsonl", grown.replace("Try it another way.", "Try."));
    assert_eq!(world.type_in("verify run.fork-1.jsonl").code(), 0);
    world.put("run.jsonl", text.replace("a command ran", "no command ran"));
    let run = world.type_in("verify run.fork-1.jsonl");
    assert_eq!(run.code(), 1);
    let said = run.stdout();
    assert!(said.starts_with("broken-reference  line 1"), "{said}");
    assert!(said.contains("run.jsonl was changed: event 11"), "{said}");
    assert_eq!(world.type_in("log run.fork-1.jsonl").code(), 0);
}

#[test]
fn what_is_wrong_with_a_parent_is_told_in_its_file() {
    let world = forked();
    let text = fs::read_to_string(world.path("run.jsonl")).unwrap();
    world.put("run.jsonl", text.replacen("{\"seq\":4,", "{seq:4,", 1));
    let run = world.type_in("verify run.fork-1.jsonl --json");
    assert_eq!(run.code(), 1);
    let found: Value = serde_json::from_str(&run.stdout()).unwrap();
    let first = &found["problems"][0];
    assert_eq!(first["file"], "run.jsonl");
    assert_eq!(
        (&first["line"], &first["kind"]),
        (&json!(5), &json!("not-json"))
    );
    let offset = text.find("{\"seq\":4,").unwrap();
    assert_eq!(first["offset"], offset);
}

#[test]
fn forks_that_name_each_other_open() {
    let world = World::new(&[]);
    for (id, parent) in [("a", "b"), ("b", "a")] {
        let header = json!({"seq": 0, "kind": "tape", "format": 1, "id": id,
            "parent": {"id": parent, "seq": 1, "path": format!("{parent}.jsonl")}});
        let event = json!({"seq": 2, "kind": "note", "text": id});
        world.put(format!("{id}.jsonl"), format!("{header}\n{event}\n"));
    }
    assert_eq!(world.type_in("log a.jsonl").code(), 0);
    assert_eq!(world.type_in("verify a.jsonl").code(), 1);
    assert_eq!(world.type_in("forks a.jsonl").code(), 0);
}

#[test]
fn forks_are_listed_named_and_deleted() {
    let world = forked();
    fork(&world, "run.jsonl", 14, "Yes, remove it all", &[]);
    fork(&world, "run.fork-1.jsonl", 12, "Nobody is asked", &[]);
    let rows = |tape: &str| -> Vec<Value> {
        let listed = world.type_in(&format!("forks {tape} --json")).stdout();
        let lines = listed.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let seen = rows("run.fork-1.jsonl");
    let shape: Vec<(u64, bool, &str)> = seen
        .iter()
        .map(|row| {
            let title = row["title"].as_str().unwrap_or("-");
            (row["depth"].as_u64().unwrap(), row["this"] == true, title)
        })
        .collect();
    assert_eq!(
        shape,
        [
            (0, false, "-"),
            (1, true, "The tests pass"),
            (2, false, "Nobody is asked"),
            (1, false, "Yes, remove it all"),
        ]
    );
    assert_eq!(seen[2]["parent"], seen[1]["id"]);
    assert_eq!(seen[1]["seq"], 11);

    let named = world.run(&["forks", "run.fork-1.jsonl", "--name", "green\u{1b}[31m"]);
    assert_eq!(named.code(), 0);
    assert!(!named.stdout().contains('\u{1b}') && named.stdout().contains("green"));

    let refused = world.type_in("forks run.fork-1.jsonl --delete");
    assert_eq!(refused.code(), 3);
    assert!(
        refused.stderr().contains("run.fork-1.fork-1.jsonl"),
        "{}",
        refused.stderr()
    );
    assert_eq!(world.type_in("forks run.jsonl --delete").code(), 2);
    assert!(world.path("run.jsonl").exists() && world.path("run.fork-1.jsonl").exists());
    for fork in ["run.fork-1.fork-1.jsonl", "run.fork-1.jsonl"] {
        assert_eq!(world.type_in(&format!("forks {fork} --delete")).code(), 0);
        assert!(!world.path(fork).exists());
    }
    assert_eq!(rows("run.jsonl").len(), 2);
}

#[test]
fn a_fork_that_another_one_was_made_in_the_place_of_is_not_listed() {
    let world = forked();
    let listed = || world.type_in("forks run.jsonl").stdout();
    // Where it lies is known from now on.
    log(&world, "run.fork-1.jsonl");
    let before = listed();
    assert!(before.contains("The tests pass"), "{before}");
    fs::remove_file(world.path("run.fork-1.jsonl")).unwrap();
    fork(&world, "run.jsonl", 11, "The tests fail", &[]);
    let after = listed();
    assert!(after.contains("The tests fail"), "{after}");
    assert!(!after.contains("The tests pass"), "{after}");
    assert!(!after.contains("another tape"), "{after}");
}

#[test]
fn a_fork_gets_another_name_that_no_file_has() {
    let world = forked();
    let shown = log(&world, "run.fork-1.jsonl");
    fork(&world, "run.fork-1.jsonl", 12, "Nobody is asked", &[]);
    world.put("taken.jsonl", "mine");
    for (name, code) in [("taken", 3), ("a/b", 2), ("..", 2), ("\u{1b}[2J", 2)] {
        let refused = world.run(&["forks", "run.fork-1.jsonl", "--rename", name]);
        assert_eq!(refused.code(), code, "{name:?}: {}", refused.stderr());
        assert!(refused.stderr().contains("nothing was changed"));
        assert!(!refused.stderr().contains('\u{1b}'));
    }
    assert_eq!(fs::read(world.path("taken.jsonl")).unwrap(), b"mine");
    assert_eq!(world.type_in("forks run.jsonl --rename other").code(), 2);
    let done = world.type_in("forks run.fork-1.jsonl --rename green");
    assert_eq!((done.code(), done.stderr()), (0, String::new()));
    assert!(!world.path("run.fork-1.jsonl").exists());
    assert_eq!(log(&world, "green.jsonl"), shown);
    // Its forks know where it went, and so does the tree.
    let child = world.type_in("log run.fork-1.fork-1.jsonl");
    assert_eq!((child.code(), child.stderr()), (0, String::new()));
    let listed = world.type_in("forks run.jsonl").stdout();
    assert!(listed.contains("green.jsonl"), "{listed}");
    assert!(!listed.contains("not there"), "{listed}");
}

#[test]
fn the_list_says_how_the_answers_of_a_fork_came_about() {
    let world = forked();
    let listed = world.type_in("forks run.jsonl --json").stdout();
    let row: Value = serde_json::from_str(listed.lines().nth(1).unwrap()).unwrap();
    assert_eq!(row["answers"], json!({"edit": 1, "unknown": 1}));
    assert_eq!((&row["then"], &row["ended"]), (&Value::Null, &Value::Null));
    let root: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(root["answers"], Value::Null);
}

#[test]
fn a_fork_is_made_whole() {
    let world = forked();
    let shown = log(&world, "run.fork-1.jsonl");
    let refused = world.type_in("compact run.fork-1.jsonl -o whole.jsonl");
    assert_eq!(refused.code(), 2);
    assert!(
        refused.stderr().contains("--standalone"),
        "{}",
        refused.stderr()
    );
    let done = world.type_in("compact run.fork-1.jsonl -o whole.jsonl --standalone");
    assert_eq!((done.code(), done.stderr()), (0, String::new()));
    fs::remove_file(world.path("run.jsonl")).unwrap();
    fs::remove_file(world.path("run.fork-1.jsonl")).unwrap();
    assert_eq!(log(&world, "whole.jsonl"), shown);
    assert_eq!(world.type_in("verify whole.jsonl").code(), 0);
}

#[test]
fn a_parent_that_was_compacted_is_still_the_parent() {
    let world = forked();
    let shown = log(&world, "run.fork-1.jsonl");
    assert_eq!(world.type_in("compact run.jsonl -o new.jsonl").code(), 0);
    fs::rename(world.path("new.jsonl"), world.path("run.jsonl")).unwrap();
    assert_eq!(log(&world, "run.fork-1.jsonl"), shown);
    assert_eq!(world.type_in("verify run.fork-1.jsonl").code(), 0);
}

#[test]
fn a_fork_of_a_run_whose_history_was_dropped_keeps_its_numbers() {
    let world = World::new(&[]);
    let mut tape = json!({"seq": 0, "kind": "tape", "format": 1, "id": "t"}).to_string() + "\n";
    for call in 0..12 {
        let name = format!("c{call}");
        let asked = json!({"seq": 1 + 2 * call, "t": call, "kind": "tool.call", "call": name, "name": "Bash",
            "args": {"command": format!("echo {call}")}});
        let told = json!({"seq": 2 + 2 * call, "t": call, "kind": "tool.result", "call": name,
            "outcome": "ok", "output": format!("{call}")});
        let _ = writeln!(tape, "{asked}\n{told}");
    }
    world.put("long.jsonl", tape);
    let done = world.type_in("compact long.jsonl -o short.jsonl --keep-from @9");
    assert_eq!((done.code(), done.stderr()), (0, String::new()));
    fork(&world, "short.jsonl", 20, "Another", &[asks("x")]);
    let rows = log(&world, "short.fork-1.jsonl");
    let numbers: Vec<&str> = rows
        .lines()
        .filter_map(|row| row.split_whitespace().next())
        .collect();
    assert_eq!(numbers, ["9", "10", "11"], "{rows}");
    let verified = world.type_in("verify short.fork-1.jsonl");
    assert_eq!(verified.code(), 0, "{}", verified.stdout());
    let whole = world.type_in("compact short.fork-1.jsonl -o whole.jsonl --standalone");
    assert_eq!((whole.code(), whole.stderr()), (0, String::new()));
    assert_eq!(log(&world, "whole.jsonl"), rows);
}

#[test]
fn a_fork_is_followed_as_it_grows() {
    let world = World::new(&["run.jsonl"]);
    let mut begun = begin(&world, "run.jsonl", 11, "The tests pass", None);
    let options = OpenOptions::default();
    let mut run = Debugger::open(Source::Path(begun.path.clone()), &options).unwrap();
    let steps = run.locate(&Place::END).unwrap().step;
    for event in passes() {
        begun.recorder.append(event).unwrap();
    }
    assert_eq!(run.refresh().unwrap(), Refresh::Grew { events: 2 });
    assert_eq!(run.locate(&Place::END).unwrap().step.0, steps.0 + 1);
    assert_eq!(run.row(0, steps).unwrap().via, Some(Via::Edit));
    let refused = Debugger::open(Source::Path(world.path("run.jsonl")), &options).unwrap();
    let forks = refused.forks();
    assert_eq!(forks.len(), 2);
}

#[test]
fn a_fork_writes_over_no_file() {
    let world = forked();
    let before = fs::read(world.path("run.fork-1.jsonl")).unwrap();
    let second = fork(&world, "run.jsonl", 11, "Again", &[]);
    assert_eq!(
        second,
        world.path("run.fork-2.jsonl").canonicalize().unwrap()
    );
    assert_eq!(fs::read(world.path("run.fork-1.jsonl")).unwrap(), before);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(second).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_fork_on_the_screen_says_what_it_is() {
    let world = forked();
    let drawn = world.type_in("open run.fork-1.jsonl@5 --frame frame.txt --size 120x30");
    assert_eq!((drawn.code(), drawn.stderr()), (0, String::new()));
    let frame = fs::read_to_string(world.path("frame.txt")).unwrap();
    let first = frame.lines().next().unwrap();
    assert!(first.contains("fork of run.jsonl@5"), "{first}");
    assert!(frame.contains(" edited"), "{frame}");
    assert!(frame.contains(" not known"), "{frame}");
}
