//! What surrounds a call in its case: the directories above its files, where its shell was, what
//! nobody saw of it; and what a run of it makes of files that are too large, or of a network that
//! is not there.

use std::fs::{self, File};

use jukebox::model::{Body, Event, FileChange, FileOp, Header, Outcome, Scope, TapePath};
use serde_json::{Value, json};

use super::program::{program, run};
use super::world::{Told, World, call, exported, header, ran, tape, tape_by, verdicts};

#[test]
fn what_a_call_did_unseen_does_not_count() {
    let world = World::new();
    let [asked, answered] = call("c", &ran("echo x > out; exit 3", "", 3));
    let suspect = Event::new(Body::Suspect {
        scope: Scope::All,
        why: "a command".to_owned(),
    });
    let events = [asked, suspect.in_call("c"), answered];
    tape_by(&world, header(), &[("a", "x")], &events);
    let manifest = exported(&world, &["--allow-uncertain"]);
    assert_eq!(manifest["expected"]["files"], Value::Null);
    let doubts = manifest["doubts"].to_string();
    assert!(doubts.contains("what it did to files was not seen"));
    if let Some((_, report)) = world.test(&["case"]) {
        assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    }
}

#[test]
fn what_lies_above_a_file_is_as_it_was() {
    let world = World::new();
    let made = |path: &str, mode| {
        let path = TapePath::new(path).unwrap();
        let mode = Some(mode);
        let change = FileChange {
            mode,
            ..FileChange::new(FileOp::Mkdir, path)
        };
        Event::new(Body::File(change))
    };
    let before = [made("d", 0o750), made("d/e", 0o700), made("other", 0o700)];
    let edit = Told {
        name: "Edit",
        arguments: json!({
            "file_path": "/home/nobody-here/app/d/e/a",
            "old_string": "gone",
            "new_string": "",
        }),
        said: "String to replace not found in file.",
        exit: None,
        outcome: Outcome::Failed,
    };
    tape(&world, &[("d/e/a", "x")], &before, &edit);
    let manifest = exported(&world, &[]);
    let directory =
        |path: &str, mode: &str| json!({"path": path, "kind": "directory", "mode": mode});
    let expected = json!([
        directory("d", "750"),
        directory("d/e", "700"),
        {"path": "d/e/a", "kind": "file", "mode": "644"},
    ]);
    assert_eq!(manifest["files"], expected);
}

#[test]
fn a_shell_is_where_the_commands_before_it_went() {
    let world = World::new();
    let files = [("sub/a", "below\n"), ("a", "above\n")];
    let went = call("s", &ran("cd sub", "", 0));
    let failed = call("c", &ran("cat a; exit 1", "below", 1));
    let events = [went, failed].concat();
    let header = Header {
        agent: Some("claude-code 2.1".to_owned()),
        ..header()
    };
    tape_by(&world, header, &files, &events);
    let manifest = exported(&world, &[]);
    assert_eq!(manifest["directory"], "{root}/sub");
    if let Some((_, report)) = world.test(&["case"]) {
        assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    }
}

#[test]
fn what_wants_the_network_is_never_red_or_green() {
    let world = World::new();
    let failed = ran("cat said; exit 2", "FAIL: 3 is not 4\n", 2);
    tape(&world, &[("said", "FAIL: 3 is not 4\n")], &[], &failed);
    exported(&world, &[]);
    world.put(
        "other/said",
        "curl: (6) Could not resolve host: x.example\n",
    );
    let Some((code, report)) = world.test(&["case", "--with", "other"]) else {
        return;
    };
    assert_eq!((code, verdicts(&report)), (1, vec!["inconclusive"]));
    let why = report["rows"][0]["why"].as_str().unwrap();
    assert!(why.contains("it wanted the network"), "{report:#}");
    // Where that is what was recorded, it is what it does.
    let said = "curl: (6) Could not resolve host: x.example\n";
    fs::remove_dir_all(world.path("case")).unwrap();
    tape(
        &world,
        &[("said", said)],
        &[],
        &ran("cat said; exit 2", said, 2),
    );
    exported(&world, &[]);
    let (_, report) = world.test(&["case"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn a_program_that_was_missing_then_is_what_failed() {
    let world = World::new();
    let said = "sh: 1: no-such-program: not found\n";
    tape(
        &world,
        &[("said", said)],
        &[],
        &ran("cat said; exit 127", said, 127),
    );
    exported(&world, &[]);
    world.put("other/said", "sh: 1: another-program: not found\n");
    let Some((_, report)) = world.test(&["case"]) else {
        return;
    };
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    let (_, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!(verdicts(&report), ["changed"], "{report:#}");
}

#[test]
fn files_that_are_too_large_are_said_and_not_read() {
    let world = World::new();
    tape(&world, &[("a", "x")], &[], &ran("exit 1", "", 1));
    exported(&world, &[]);
    // It takes no room: a hole is all that is in it.
    let with_hole = |path: &str, size: u64| {
        world.put(path, "");
        let file = File::options().write(true).open(world.path(path));
        file.unwrap().set_len(size).unwrap();
    };
    with_hole("other/a", (1 << 30) + 1);
    let run = world.run(&["test", "case", "--with", "other"]);
    assert_eq!(run.code, 2, "{}", run.output);
    let why = "`other` holds more than a gigabyte";
    assert!(run.error.contains(why), "{}", run.error);
    with_hole("case/files/a", (256 << 20) + 1);
    let run = world.run(&["test", "case"]);
    assert_eq!(run.code, 2, "{}", run.output);
    assert!(run.error.contains("cannot be used"), "{}", run.error);
    assert!(run.error.contains("too large"), "{}", run.error);
}

#[test]
fn a_repository_of_the_workspace_does_not_count() {
    let world = World::new();
    let failed = ran("mkdir -p sub/.git; echo x > sub/.git/index; exit 1", "", 1);
    tape(&world, &[("sub/a", "x")], &[], &failed);
    exported(&world, &[]);
    let Some((_, report)) = world.test(&["case"]) else {
        return;
    };
    assert_eq!(verdicts(&report), ["changed"], "{report:#}");
    let path = world.path("case/case.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["left_out"] = json!(["git"]);
    fs::write(&path, manifest.to_string()).unwrap();
    let (_, report) = world.test(&["case"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    // Nor is one laid over it, nor what Jukebox keeps beside the sources.
    let failed = ran("ls -A; exit 1", "a\n", 1);
    fs::remove_dir_all(world.path("case")).unwrap();
    tape(&world, &[("a", "x")], &[], &failed);
    exported(&world, &[]);
    world.put("other/.git/config", "x");
    world.put("other/.jukebox/txn/x", "x");
    let (_, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn where_there_is_no_room_to_work_it_is_said_what_names_another_place() {
    let world = World::new();
    tape(&world, &[("a", "x")], &[], &ran("exit 1", "", 1));
    exported(&world, &[]);
    if world.test(&["case"]).is_none() {
        return;
    }
    let mut command = program(&["test", "case"], world.place.path());
    command.env("TMPDIR", "/nowhere");
    let told = run(command);
    assert_eq!(told.code, 4, "{}", told.output);
    let why = "`/nowhere`: entity not found; nothing real was touched: TMPDIR names another place";
    assert!(told.error.contains(why), "{}", told.error);
}
