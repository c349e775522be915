//! The files of a case as people and other sources change them: they may be written, scripts may be
//! run, and what a call did to files is expected of what the case holds.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use jukebox::model::{Body, Event, FileChange, FileOp, TapePath};
use serde_json::{Value, json};

use super::world::{World, call, exported, header, ran, tape, tape_by, verdicts};

/// A token that says itself what it is.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn mode(world: &World, path: &str) -> u32 {
    let found = fs::metadata(world.path(path)).unwrap();
    found.permissions().mode()
}

fn path(path: &str) -> TapePath {
    TapePath::new(path).unwrap()
}

#[test]
fn what_a_case_holds_may_be_edited_and_its_script_be_run() {
    let world = World::new();
    let kept = FileChange {
        mode: Some(0o400),
        ..FileChange::write(path("a"), &b"x"[..])
    };
    let kept = [Event::new(Body::File(kept))];
    tape(&world, &[("b", "x")], &kept, &ran("exit 1", "", 1));
    let manifest = exported(&world, &["--as", "sh"]);
    // The mode is that of the run when it is made again, and not before.
    assert_eq!(manifest["files"][0]["mode"], "400");
    assert_eq!(mode(&world, "case/files/a") & 0o600, 0o600);
    assert_eq!(mode(&world, "case/test.sh") & 0o100, 0o100);
}

#[test]
fn sources_bring_their_modes_and_take_the_place_of_directories() {
    let world = World::new();
    let script = "test -f d && sh -c ./run.sh";
    let files = [("d/a", "x"), ("run.sh", "exit 0\n")];
    tape(&world, &files, &[], &ran(script, "", 1));
    exported(&world, &[]);
    let Some((_, report)) = world.test(&["case"]) else {
        return;
    };
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    world.put("other/d", "a file");
    world.put("other/run.sh", "#!/bin/sh\nexit 0\n");
    let run = |bits| {
        let permissions = Permissions::from_mode(bits);
        fs::set_permissions(world.path("other/run.sh"), permissions).unwrap();
        let (_, report) = world.test(&["case", "--with", "other"]).unwrap();
        verdicts(&report)[0].to_owned()
    };
    assert_eq!(run(0o644), "inconclusive");
    assert_eq!(run(0o755), "fixed");
}

#[test]
fn what_a_call_wrote_is_expected_as_the_case_has_it() {
    let world = World::new();
    let script = format!("echo {TOKEN} > out; echo x > /tmp/x; exit 1");
    let written = FileChange {
        mode: Some(0o644),
        ..FileChange::write(path("out"), format!("{TOKEN}\n").as_bytes())
    };
    let outside = FileChange::write(path("/tmp/x"), &b"x\n"[..]);
    let changes = [written, outside].map(|change| Event::new(Body::File(change)).in_call("c"));
    let [asked, answered] = call("c", &ran(&script, "", 1));
    let events = [&[asked][..], &changes, &[answered]].concat();
    let before = FileChange {
        op: FileOp::Observe,
        ..FileChange::write(path("/tmp/y"), &b"y\n"[..])
    };
    let events = [&[Event::new(Body::File(before))][..], &events].concat();
    tape_by(&world, header(), &[("a", "x")], &events);
    let manifest = exported(&world, &[]);
    let after = manifest["expected"]["files"].as_array().unwrap();
    let paths: Vec<&Value> = after.iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["out"]);
    // What lies elsewhere is no file of the case.
    let held = manifest["files"].as_array().unwrap().iter();
    let held: Vec<&Value> = held.map(|file| &file["path"]).collect();
    assert_eq!(held, ["a"]);
    if let Some((_, report)) = world.test(&["case"]) {
        assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    }
}

#[test]
fn what_was_not_kept_of_an_output_does_not_count() {
    let world = World::new();
    let [asked, mut answered] = call("c", &ran("echo all of it; exit 1", "it", 1));
    if let Body::ToolResult { detail, .. } = &mut answered.body {
        *detail = json!({"dropped": 7});
    }
    tape_by(&world, header(), &[("a", "x")], &[asked, answered]);
    let run = world.run(&["export", "run.jsonl@fail", "-o", "case"]);
    assert_eq!(run.code, 2, "{}", run.output);
    let why = "not all that it said was kept";
    assert!(run.error.contains(why), "{}", run.error);
    let manifest = exported(&world, &["--allow-uncertain"]);
    assert_eq!(manifest["expected"]["output"], false);
    assert_eq!(manifest["doubts"], json!([why]));
    assert!(!world.path("case/output.txt").exists());
    if let Some((_, report)) = world.test(&["case"]) {
        assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    }
}
