//! `jukebox record -- CMD`, for real: what becomes of the workspace, what stands on the tape,
//! and what is left behind, which is nothing.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::recorder::{check_whole, events};
use super::world::{Run, World, program_of_machine};

/// The tape of these runs: outside the workspace, which is the working directory.
const TAPE: &str = "../run.jsonl";

/// A world in which sandboxes can be had; `None`, and a word about it: this machine has none.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(super) fn world() -> Option<World> {
    let world = World::new(&[]);
    let doctor = world.type_in("doctor");
    if doctor.code() == 4 {
        eprintln!(
            "skipped: this machine allows no sandbox\n{}",
            doctor.stdout()
        );
        return None;
    }
    Some(world)
}

/// Records a shell's script to its end.
fn record(world: &World, flags: &str, script: &str) -> Run {
    Run::new(begin(world, flags, script).wait_with_output().unwrap())
}

/// Records a shell's script, whose input is held.
fn begin(world: &World, flags: &str, script: &str) -> Child {
    let mut program = world.program();
    program
        .args(["record", "-o", TAPE])
        .args(flags.split_whitespace())
        .args(["--", "/bin/sh", "-c", script])
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    if !script.contains("read ") {
        drop(child.stdin.take());
    }
    child
}

fn say(child: &mut Child, line: &str) {
    let input = child.stdin.as_mut().unwrap();
    writeln!(input, "{line}").unwrap();
}

/// Waits until the tape that grows holds this.
#[track_caller]
fn wait_for(world: &World, child: &mut Child, text: &str) {
    loop {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before {text}");
        let tape = fs::read_to_string(world.path(TAPE)).unwrap_or_default();
        if tape.contains(text) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn kinds(world: &World) -> Vec<String> {
    let kinds = events(world, TAPE).into_iter();
    let kinds = kinds.map(|event| event["kind"].as_str().unwrap().to_owned());
    kinds.collect()
}

fn one(world: &World, kind: &str) -> Value {
    let mut found = events(world, TAPE).into_iter();
    found.find(|event| event["kind"] == kind).unwrap()
}

/// A path, its mode, its time and its content.
type Row = (PathBuf, u32, (i64, i64), Vec<u8>);

/// Every path of the workspace but those of Jukebox.
fn tree(directory: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_name() == ".jukebox" {
            continue;
        }
        let (path, seen) = (entry.path(), entry.metadata().unwrap());
        let bytes = if seen.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        if seen.is_dir() {
            rows.extend(tree(&path));
        }
        rows.push((path, seen.mode(), (seen.mtime(), seen.mtime_nsec()), bytes));
    }
    rows.sort();
    rows
}

/// No process with this word among its arguments, which no other test has in its own, no mount
/// below the world, no layers.
#[track_caller]
fn check_nothing_left(world: &World, word: &str) {
    for process in fs::read_dir("/proc").unwrap().map(Result::unwrap) {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).into_owned();
        assert!(!command.contains(word), "{command}");
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = world.path("").to_string_lossy().into_owned();
    assert!(!mounts.contains(place.trim_end_matches('/')), "{mounts}");
    let sandboxes = world.path(".jukebox/sandboxes");
    assert_eq!(fs::read_dir(sandboxes).unwrap().count(), 0);
    let status = world.type_in("txn status --json").stdout();
    assert!(!status.contains("abandoned"), "{status}");
}

#[test]
fn a_command_is_recorded_and_committed() {
    let Some(world) = world() else { return };
    world.put("old", "old\n");
    world.put("gone", "gone\n");
    world.put("sub/kept", "kept\n");
    let script = "echo said; echo aloud >&2; echo new > sub/new; rm gone; chmod 755 old; exit 3";
    let run = record(&world, "--commit", script);
    assert_eq!(run.code(), 3, "the command's own code\n{}", run.stderr());
    assert_eq!(run.stdout(), "said\n");
    assert!(run.stderr().contains("aloud\n"), "{}", run.stderr());
    assert!(
        run.stderr().contains("sandbox: overlay"),
        "{}",
        run.stderr()
    );
    assert_eq!(fs::read(world.path("sub/new")).unwrap(), b"new\n");
    assert!(!world.path("gone").exists());
    let mode = fs::metadata(world.path("old")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o755);
    check_whole(&world, TAPE);
    let kinds = kinds(&world);
    let place = |kind: &str| kinds.iter().position(|it| it == kind).unwrap();
    let order = [
        "tape",
        "snapshot",
        "prompt",
        "txn.begin",
        "tool.call",
        "stream.frame",
    ];
    let order = order
        .into_iter()
        .chain(["fs.write", "tool.result", "txn.commit", "end"]);
    assert!(order.map(place).is_sorted(), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "snapshot").count(), 2);
    let result = one(&world, "tool.result");
    assert_eq!(result["exit"], 3);
    assert_eq!(result["outcome"], "failed");
    assert!(result["output"].as_str().unwrap().contains("said\n"));
    assert_eq!(one(&world, "end")["outcome"], "failed");
    assert!(
        one(&world, "tape")["covers"]["sandbox"]
            .as_str()
            .unwrap()
            .contains("overlay")
    );
    assert_eq!(world.run(&["cat", TAPE, "sub/new"]).stdout(), "new\n");
    assert_eq!(world.run(&["cat", TAPE, "gone"]).code(), 1);
    check_nothing_left(&world, "sub/new; rm gone");
}

#[test]
fn a_roll_back_leaves_the_workspace_as_it_was_and_the_tape_tells_it_all() {
    let Some(world) = world() else { return };
    world.put("sub/a", "before\n");
    fs::set_permissions(world.path("sub/a"), Permissions::from_mode(0o640)).unwrap();
    let before = tree(&world.path(""));
    let run = record(
        &world,
        "--rollback",
        "echo after > sub/a; mkdir d; mv sub d/; ln -s x l",
    );
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(tree(&world.path("")), before);
    check_whole(&world, TAPE);
    let at = |place: &str, path: &str| world.run(&["cat", &format!("{TAPE}@{place}"), path]);
    assert_eq!(
        at("3", "d/sub/a").stdout(),
        "after\n",
        "inside, at the call"
    );
    assert_eq!(at("-1", "sub/a").stdout(), "before\n", "in the end");
    check_nothing_left(&world, "ln -s x l");
}

#[test]
fn the_tape_in_the_workspace_is_seen_by_nobody_in_it() {
    let Some(world) = world() else { return };
    let mut program = world.program();
    let script = "ls -A; cat run.jsonl; rm -rf ./*; ls -A";
    program.args([
        "record",
        "--rollback",
        "-o",
        "run.jsonl",
        "--",
        "/bin/sh",
        "-c",
        script,
    ]);
    let run = Run::new(program.env("PATH", "/usr/bin:/bin").output().unwrap());
    assert_eq!(run.stdout(), "", "{}", run.stderr());
    check_whole(&world, "run.jsonl");
    let changes = events(&world, "run.jsonl").into_iter();
    let mut changes = changes.filter(|event| event["kind"].as_str().unwrap().starts_with("fs."));
    assert_eq!(changes.next(), None);
}

#[test]
fn without_a_name_the_tape_lies_where_no_command_looks() {
    let Some(world) = world() else { return };
    for _ in 0..2 {
        let run = world.type_in("record --rollback -- /bin/true");
        assert_eq!(run.code(), 0, "{}", run.stderr());
        assert!(run.stderr().contains("recording to .jukebox/tapes/run-"));
    }
    let tapes = fs::read_dir(world.path(".jukebox/tapes")).unwrap();
    assert_eq!(tapes.count(), 2, "none was written over");
}

#[test]
fn what_nobody_can_be_asked_about_is_not_run() {
    let world = World::new(&[]);
    let run = record(&world, "", "echo x > made");
    assert_eq!(run.code(), 2);
    assert!(run.stderr().contains("--commit"), "{}", run.stderr());
    assert!(!world.path("made").exists() && !world.path(TAPE).exists());
    fs::write(world.path(TAPE), "mine").unwrap();
    let run = record(&world, "--commit", "echo x > made");
    assert_eq!(run.code(), 3, "{}", run.stderr());
    assert_eq!(fs::read(world.path(TAPE)).unwrap(), b"mine");
}

#[test]
fn the_inside_of_a_long_command_can_be_looked_at_while_it_runs() {
    let Some(world) = world() else { return };
    let script = "echo begun; echo one > a; read x; echo two > a; rm a; echo $x > b; read x";
    let mut child = begin(&world, "--rollback", script);
    wait_for(&world, &mut child, "\"data\":\"begun");
    wait_for(&world, &mut child, "\"text\":\"one");
    assert_eq!(world.run(&["cat", TAPE, "a"]).stdout(), "one\n");
    say(&mut child, "three");
    wait_for(&world, &mut child, "\"text\":\"three");
    assert_eq!(world.run(&["cat", TAPE, "a"]).code(), 1);
    say(&mut child, "");
    let run = Run::new(child.wait_with_output().unwrap());
    assert_eq!(run.code(), 0, "{}", run.stderr());
    check_whole(&world, TAPE);
    let written = one(&world, "fs.write")["seq"].as_u64().unwrap();
    let result = one(&world, "tool.result")["seq"].as_u64().unwrap();
    assert!(written < result);
    let inside = format!("{TAPE}@seq:{written}");
    assert_eq!(world.run(&["cat", &inside, "a"]).stdout(), "one\n");
}

#[test]
fn a_command_that_is_killed_is_recorded_as_far_as_it_went() {
    let Some(world) = world() else { return };
    let run = record(
        &world,
        "--commit",
        "echo said; echo quarter > a; kill -9 $$",
    );
    assert_eq!(run.code(), 137, "{}", run.stderr());
    assert!(!world.path("a").exists(), "it did not come to its own end");
    check_whole(&world, TAPE);
    let result = one(&world, "tool.result");
    assert_eq!(result["detail"]["signal"], 9);
    assert_eq!(result["output"], "said\n");
    assert_eq!(
        world.run(&["cat", &format!("{TAPE}@3"), "a"]).stdout(),
        "quarter\n"
    );
    check_nothing_left(&world, "echo quarter");
}

#[test]
fn a_signal_before_the_command_has_begun_commits_nothing() {
    let Some(world) = world() else { return };
    for _ in 0..5 {
        let mut child = begin(&world, "--commit", "echo half > a");
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("recording to"), "{line}");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let code = child.wait().unwrap().code();
        said.read_to_string(&mut line).unwrap();
        // Where it came too late, it was not heeded.
        let expected = if world.path("a").exists() { 0 } else { 130 };
        assert_eq!(code, Some(expected), "{line}");
        check_whole(&world, TAPE);
        check_nothing_left(&world, "echo half");
        fs::remove_file(world.path(TAPE)).unwrap();
        let _was_committed = fs::remove_file(world.path("a"));
    }
}

#[test]
fn a_command_out_of_time_is_ended_with_all_it_started() {
    let Some(world) = world() else { return };
    let script = "setsid sleep 27182817 & echo late > a; sleep 27182818";
    let run = record(&world, "--commit --timeout 1", script);
    assert_eq!(run.code(), 143, "{}", run.stderr());
    assert!(!world.path("a").exists());
    check_whole(&world, TAPE);
    assert_eq!(one(&world, "tool.result")["outcome"], "interrupted");
    assert_eq!(one(&world, "end")["outcome"], "interrupted");
    check_nothing_left(&world, "2718281");
}

#[test]
fn daemons_end_with_the_command_and_what_they_did_is_told() {
    let Some(world) = world() else { return };
    let script = "(trap '' TERM HUP; setsid sh -c 'echo d > daemon; exec sleep 31536019') & \
                  while ! test -e daemon; do :; done; exit 0";
    let run = record(&world, "--commit", script);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(fs::read(world.path("daemon")).unwrap(), b"d\n");
    check_whole(&world, TAPE);
    assert_eq!(world.run(&["cat", TAPE, "daemon"]).stdout(), "d\n");
    check_nothing_left(&world, "31536019");
}

#[test]
fn far_more_output_than_is_kept_comes_through_and_is_counted() {
    const SAID: u64 = 1 << 28;
    const KEPT: u64 = 16 << 20;
    let Some(world) = world() else { return };
    let mut child = begin(
        &world,
        "--rollback",
        &format!("yes jukebox | head -c {SAID}"),
    );
    let (mut output, mut buffer, mut heard) = (child.stdout.take().unwrap(), vec![0; 1 << 20], 0);
    loop {
        match output.read(&mut buffer).unwrap() {
            0 => break,
            got => heard += got as u64,
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(heard, SAID);
    check_whole(&world, TAPE);
    let result = one(&world, "tool.result");
    assert_eq!(result["output"].as_str().unwrap().len() as u64, KEPT);
    assert_eq!(result["detail"]["dropped"], SAID - KEPT);
    let size = fs::metadata(world.path(TAPE)).unwrap().len();
    assert!(size < 2 * KEPT, "{size}");
}

#[test]
fn bytes_and_escapes_come_through_and_reach_no_terminal_from_the_tape() {
    let Some(world) = world() else { return };
    let run = record(
        &world,
        "--rollback",
        r"printf '\033]0;title\007\377\376\000'",
    );
    assert_eq!(
        run.bytes()[0],
        b"\x1b]0;title\x07\xff\xfe\0",
        "as if it had been run"
    );
    check_whole(&world, TAPE);
    assert_eq!(
        one(&world, "stream.frame")["data_raw"],
        "G10wO3RpdGxlB//+AA=="
    );
    let shown = world.run(&["show", &format!("{TAPE}@3")]);
    assert_eq!(shown.code(), 0);
    assert!(
        !shown.stdout().contains(['\x1b', '\x07', '\0']),
        "{}",
        shown.stdout()
    );
}

#[test]
fn a_conflict_writes_nothing_and_what_the_command_wrote_can_be_salvaged() {
    let Some(world) = world() else { return };
    world.put("a", "base\n");
    let mut child = begin(&world, "--commit", "echo ours > ./a; echo more > b; read x");
    wait_for(&world, &mut child, "\"text\":\"more");
    world.put("a", "theirs\n");
    say(&mut child, "");
    let run = Run::new(child.wait_with_output().unwrap());
    assert_eq!(run.code(), 3, "{}", run.stderr());
    assert_eq!(fs::read(world.path("a")).unwrap(), b"theirs\n");
    assert!(!world.path("b").exists());
    let said = run.stderr();
    let id = said.split("txn recover ").nth(1).unwrap();
    let id = id.split('`').next().unwrap();
    let salvaged = world.run(&["txn", "recover", id, "--salvage", "../salvaged"]);
    assert_eq!(salvaged.code(), 0, "{}", salvaged.stderr());
    assert_eq!(fs::read(world.path("../salvaged/a")).unwrap(), b"ours\n");
    assert_eq!(world.run(&["txn", "recover", id, "--drop"]).code(), 0);
    check_nothing_left(&world, "echo ours > ./a");
}

#[test]
fn what_cannot_be_run_ends_as_shells_do() {
    let Some(world) = world() else { return };
    world.put("plain", "no program");
    for (program, code) in [("/nowhere/at/all", 127), ("./plain", 126)] {
        let _ = fs::remove_file(world.path(TAPE));
        let run = world.run(&["record", "-o", TAPE, "--commit", "--", program]);
        assert_eq!(run.code(), code, "{}", run.stderr());
        check_whole(&world, TAPE);
        assert_eq!(one(&world, "tool.result")["exit"], code);
    }
    check_nothing_left(&world, "/nowhere/at/all");
}

#[test]
fn only_named_variables_are_handed_over() {
    let Some(world) = world() else { return };
    let mut program = world.program();
    program.args([
        "record",
        "-o",
        TAPE,
        "--rollback",
        "--env",
        "MINE",
        "--",
        "/usr/bin/env",
    ]);
    program.env("MINE", "1").env("SECRET_TOKEN", "2");
    let run = Run::new(program.output().unwrap());
    assert!(run.stdout().contains("MINE=1\n"), "{}", run.stdout());
    assert!(!run.stdout().contains("SECRET"), "{}", run.stdout());
}

#[test]
fn without_a_sandbox_it_is_said_and_nothing_is_taken_back() {
    let world = World::new(&[]);
    let run = record(&world, "--unsafe-no-sandbox --commit", "echo x > made");
    assert_eq!(run.code(), 2, "there is nothing to commit");
    let mut child = begin(
        &world,
        "--unsafe-no-sandbox",
        "echo one > made; read x; echo x > b",
    );
    wait_for(&world, &mut child, "\"text\":\"one");
    say(&mut child, "");
    let run = Run::new(child.wait_with_output().unwrap());
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert!(run.stderr().contains("NO SANDBOX"), "{}", run.stderr());
    assert_eq!(fs::read(world.path("made")).unwrap(), b"one\n");
    check_whole(&world, TAPE);
    assert!(
        one(&world, "note")["text"]
            .as_str()
            .unwrap()
            .contains("NO SANDBOX")
    );
    assert_eq!(
        one(&world, "tape")["covers"]["sandbox"],
        json!("none: nothing is guarded")
    );
    assert_eq!(world.run(&["cat", TAPE, "b"]).stdout(), "x\n");
}

/// Runs a shell's script in a directory of 3 MB; `$0` is the program. `None`, and a word about
/// it: nothing can be mounted here.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn on_a_small_disk(world: &World, script: &str) -> Option<Run> {
    const NO_MOUNT: i32 = 99;
    let unshare = program_of_machine("unshare")?;
    let script = format!("mount -t tmpfs -o size=3m small . || exit 99; cd \"$PWD\"; {script}");
    let mut command = std::process::Command::new(unshare);
    world.settle(&mut command);
    command.args(["-rm", "/bin/sh", "-c", &script]);
    command.arg(env!("CARGO_BIN_EXE_jukebox"));
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let run = Run::new(command.output().unwrap());
    if run.code() == NO_MOUNT || run.stderr().contains("unshare") {
        eprintln!("skipped: nothing can be mounted here: {}", run.stderr());
        return None;
    }
    Some(run)
}

#[test]
fn a_full_disk_ends_the_command_and_leaves_the_workspace_as_it_was() {
    let Some(world) = world() else { return };
    let script = "echo base > a; $0 record -o ../run.jsonl --commit -- \
        sh -c 'echo x > b; head -c 9000000 /dev/zero > big; echo on'; code=$?; cat a; ls; exit $code";
    let Some(run) = on_a_small_disk(&world, script) else {
        return;
    };
    assert_eq!(run.code(), 125, "{}", run.stderr());
    assert_eq!(run.stdout(), "on\nbase\na\n", "{}", run.stderr());
    assert!(run.stderr().contains("No space left"), "{}", run.stderr());
    assert!(run.stderr().contains("txn recover"), "{}", run.stderr());
    check_whole(&world, TAPE);
}

#[test]
fn a_transaction_whose_tape_is_full_says_what_can_still_be_done() {
    let Some(world) = world() else { return };
    let script = "echo base > a; id=$($0 txn begin --dir .)
        $0 txn exec $id -- sh -c 'echo ours > a; head -c 2000000 /dev/urandom > big'; echo $?
        $0 txn commit $id --yes > /dev/null; echo $?; cat a
        $0 txn diff $id | grep -c ours
        $0 txn rollback $id; echo $?; ls; ls .jukebox/sandboxes";
    let Some(run) = on_a_small_disk(&world, script) else {
        return;
    };
    assert_eq!(run.stdout(), "125\n4\nbase\n1\n1\na\n", "{}", run.stderr());
    for said in [
        "`jukebox txn diff ID`",
        "rolled back",
        "the workspace is as it was",
    ] {
        assert!(run.stderr().contains(said), "{}", run.stderr());
    }
}
