//! A command that is recorded is a transaction, too: whoever runs it, and whatever guards it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::who::{self, as_root_and_as_user};
use super::world::{Ran, World};

as_root_and_as_user!(
    what_a_recorded_command_did_is_committed_or_never_was,
    a_recorded_command_that_is_broken_off_is_rolled_back,
    a_running_command_is_committed_by_nobody_else,
);

/// Begins to record a script, which first says that it runs; waits for that.
fn begin(world: &World, script: &str) -> Child {
    let script = format!("echo runs; {script}");
    let mut command = world.command(who::program());
    command
        .args(["record", "--dir", "W", "-o", "run.jsonl", "--commit"])
        .args(["--", "/bin/sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "runs\n");
    child
}

fn what_a_recorded_command_did_is_committed_or_never_was() {
    for backend in ["overlay", "copy"] {
        let world = World::new(&[("a", "A"), ("d/b", "B")]);
        let before = world.tree();
        let record = |end: &str| {
            let tape = format!("{backend}{end}.jsonl");
            let mut command = world.command(who::program());
            command.args(["record", "--dir", "W", "--backend", backend, end]);
            command.args(["-o", &tape, "--", "/bin/sh", "-c"]);
            let ran = Ran::of(command.arg("echo more >> a; rm -r d; echo said; exit 7"));
            assert_eq!((ran.code, &*ran.out), (7, "said\n"), "{}", ran.err);
            let mut verify = world.command(who::program());
            assert_eq!(Ran::of(verify.args(["verify", &tape])).code, 0);
        };
        record("--rollback");
        assert_eq!(world.tree(), before, "{backend}");
        record("--commit");
        assert_eq!(world.read("a"), "Amore\n", "{backend}");
        assert!(!world.workspace().join("d").exists(), "{backend}");
        assert_eq!(world.txn("undo --dir W --yes").code, 0);
        assert_eq!(world.tree(), before, "{backend}");
        world.nothing_is_left();
    }
}

fn a_recorded_command_that_is_broken_off_is_rolled_back() {
    let world = World::new(&[("a", "A")]);
    let before = world.tree();
    // It takes two seconds until one that does not hear is killed.
    let child = begin(&world, "trap '' TERM; echo b > a; sleep 600; sleep 600");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(world.tree(), before);
    world.nothing_is_left();
}

fn a_running_command_is_committed_by_nobody_else() {
    let world = World::new(&[("a", "A")]);
    let child = begin(&world, "echo b > a; cat");
    let status = world.txn("status --dir W --json");
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    let row = &status["transactions"][0];
    assert_eq!(row["state"], "open");
    let id = row["id"].as_str().unwrap();
    for verb in ["commit --yes", "rollback", "savepoint", "diff"] {
        let name = if verb == "savepoint" { "s" } else { "" };
        let refused = world.txn(&format!("{verb} {id} {name}"));
        assert_eq!((refused.code, &*refused.out), (3, ""), "{}", refused.err);
        assert!(refused.err.contains("`jukebox record` that runs"));
        assert!(refused.err.contains("nothing was done"), "{}", refused.err);
    }
    assert_eq!(world.read("a"), "A");
    // Its input ends, and so does it.
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(world.read("a"), "b\n");
    world.nothing_is_left();
}
