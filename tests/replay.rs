//! Runs, recorded for real and made again: what reproduces is found to, and what does not is
//! found where it differs.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use jukebox::model::{Body, Event, Header, Outcome, SnapshotReason};
use jukebox::tape::{Recorder, RecorderOptions};
use program::Run;
use serde_json::{Value, json};
use tempfile::TempDir;

const TAPE: &str = "run.jsonl";

/// A directory with a workspace, a home, and a place for temporary files in it.
struct World {
    place: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::Builder::new()
            .prefix("replay-")
            .tempdir()
            .unwrap();
        let world = Self { place };
        for name in ["work", "home", "tmp"] {
            fs::create_dir(world.path(name)).unwrap();
        }
        for (name, text) in files {
            let path = world.path("work").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn program(&self, words: &[&str]) -> Command {
        program::program(words, self.place.path())
    }

    fn run(&self, words: &[&str]) -> Run {
        program::run(self.program(words))
    }

    /// Records a script that runs in the workspace. Whether there is a sandbox to do so.
    fn record(&self, script: &str) -> bool {
        let words = ["record", "-o", TAPE, "--dir", "work", "--rollback", "--"];
        let run = self.run(&[&words[..], &["sh", "-c", script]].concat());
        if run.code == 4 || run.error.contains("jukebox doctor") {
            println!("skipped: {}", run.error);
            return false;
        }
        true
    }

    /// Makes the run again, and gives the code and the report.
    fn replay(&self, more: &[&str]) -> (i32, Value) {
        let run = self.run(&[&["replay", TAPE, "--json"], more].concat());
        let report = serde_json::from_str(&run.output);
        assert!(report.is_ok(), "{}{}", run.output, run.error);
        // Whatever became of it, nothing is left of it.
        assert_eq!(fs::read_dir(self.path("tmp")).unwrap().count(), 0);
        (run.code, report.unwrap())
    }
}

/// The places at which the calls of a report differ.
fn leaves(report: &Value) -> Vec<&str> {
    let rows = report["rows"].as_array().unwrap().iter();
    let leaves = rows.flat_map(|row| row["leaves"].as_array().unwrap());
    leaves.map(|leaf| leaf["where"].as_str().unwrap()).collect()
}

fn reasons(report: &Value) -> Vec<&str> {
    let rows = report["rows"].as_array().unwrap().iter();
    let reasons = rows.flat_map(|row| row["reasons"].as_array().unwrap());
    reasons.map(|reason| reason.as_str().unwrap()).collect()
}

#[test]
fn a_run_that_reproduces_wholly_says_so() {
    let world = World::new(&[("a", "1\n"), ("d/b", "2\n"), ("gone/c", "3\n")]);
    let script = "cat a d/b; echo oops >&2; pwd; echo new > made; echo more >> a; rm -r gone; \
                  chmod 750 d/b; ln -s a link; mkdir empty; exit 3";
    if !world.record(script) {
        return;
    }
    let (code, report) = world.replay(&[]);
    assert_eq!((code, leaves(&report)), (0, vec![]), "{report:#}");
    assert_eq!(report["calls"], 1);
    assert_eq!(
        (&report["percent"], &report["reproduced"]),
        (&json!(100), &json!(1))
    );
    assert_eq!(report["rows"][0]["how"], "ran");
    // The workspace is neither needed nor touched.
    fs::remove_dir_all(world.path("work")).unwrap();
    let run = world.run(&["replay", TAPE]);
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(
        run.output
            .starts_with("1 of 1 tool call made again (100 %)\n"),
        "{}",
        run.output
    );
    assert!(
        run.output.ends_with("The run reproduces wholly.\n"),
        "{}",
        run.output
    );
    assert!(!world.path("work").exists());
}

#[test]
fn what_asks_the_clock_differs_where_it_prints_it() {
    let world = World::new(&[]);
    if !world.record("echo start; date +%s.%N; date +%s.%N > stamp") {
        return;
    }
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 1);
    assert_eq!(leaves(&report), ["output, line 2", "files.stamp, line 1"]);
    assert_eq!(reasons(&report), ["a clock"]);
}

#[test]
fn a_time_of_day_counts_unless_it_is_said_not_to() {
    let world = World::new(&[]);
    // The same second twice would be no difference.
    if !world.record("echo at $(date +%H:%M:%S)") {
        return;
    }
    std::thread::sleep(Duration::from_secs(1));
    let (code, report) = world.replay(&[]);
    assert_eq!((code, leaves(&report)), (1, vec!["output, line 1"]));
    assert_eq!(reasons(&report), ["a clock"]);
    let (code, _) = world.replay(&["--volatile", "times"]);
    assert_eq!(code, 0);
}

#[test]
fn what_is_drawn_by_chance_differs_where_it_is_written() {
    let world = World::new(&[("kept", "as it is\n")]);
    let draw = "od -An -N8 -tx8 /dev/urandom";
    if !world.record(&format!(
        "echo drawn; {draw} > out; cat kept; echo $({draw})"
    )) {
        return;
    }
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 1);
    assert_eq!(leaves(&report), ["output, line 3", "files.out, line 1"]);
    assert_eq!(reasons(&report), ["an id or a number drawn by chance"]);
}

#[test]
fn lines_in_another_order_differ_and_say_so() {
    let world = World::new(&[]);
    if !world.record("shuf -i 1-200") {
        return;
    }
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 1);
    assert_eq!(leaves(&report).len(), 1);
    assert!(leaves(&report)[0].starts_with("output, line "));
    assert_eq!(reasons(&report), ["the order of a directory or of a hash"]);
}

#[test]
fn what_was_read_from_standard_input_is_named_as_a_reason() {
    let world = World::new(&[("a", "1\n")]);
    if !world.record("true") {
        return;
    }
    fs::remove_file(world.path(TAPE)).unwrap();
    let words = "record -o run.jsonl --dir work --rollback -- sort";
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = world.program(&words);
    fs::write(world.path("list"), "b\na\n").unwrap();
    command.stdin(fs::File::open(world.path("list")).unwrap());
    assert_eq!(program::run(command).output, "a\nb\n");
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 1);
    assert_eq!(reasons(&report), ["standard input, which no tape holds"]);
}

#[test]
fn a_tape_that_ends_inside_a_step_raises_no_alarm() {
    let world = World::new(&[("a", "1\n")]);
    if !world.record("cat a; echo x > b") {
        return;
    }
    let text = fs::read_to_string(world.path(TAPE)).unwrap();
    let is_before = |line: &&str| !line.contains(r#""kind":"tool.result""#);
    let kept: String = text.split_inclusive('\n').take_while(is_before).collect();
    assert!(kept.len() < text.len());
    fs::write(world.path(TAPE), kept).unwrap();
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 0);
    assert_eq!((&report["calls"], &report["open"]), (&json!(0), &json!(1)));
    assert_eq!(report["rows"][0]["verdict"], "open");
}

#[test]
fn a_call_that_talked_to_a_service_is_not_made_again() {
    let world = World::new(&[]);
    let text = [
        r#"{"seq":0,"kind":"tape","format":1,"id":"t","root":"/nobody-has/this"}"#,
        r#"{"seq":1,"kind":"tool.call","call":"c","name":"Bash","args":{"command":"ask files"}}"#,
        r#"{"seq":2,"kind":"stream.frame","call":"c","name":"stdout","dir":"in","data":"wait\n"}"#,
        r#"{"seq":3,"kind":"stream.frame","call":"c","name":"files","dir":"out","data":"who?"}"#,
        r#"{"seq":4,"kind":"tool.result","call":"c","outcome":"ok","exit":0,"output":"wait\nme\n"}"#,
        "",
    ];
    fs::write(world.path(TAPE), text.join("\n")).unwrap();
    let (code, report) = world.replay(&[]);
    assert_eq!(
        (code, &report["not_attempted"]),
        (1, &json!(1)),
        "{report:#}"
    );
    let why = report["rows"][0]["why"].as_str().unwrap();
    assert!(why.contains("outside the files"), "{why}");
}

/// A tape by hand: each call with its outcome and its output, on one file.
fn tape_of(world: &World, calls: &[(&str, Value, Outcome, &str)]) {
    tape_listing(world, &[], calls);
}

/// The same, with parts that its header calls volatile.
fn tape_listing(world: &World, volatile: &[&str], calls: &[(&str, Value, Outcome, &str)]) {
    let mut header = Header {
        root: Some("/nobody-has/this".to_owned()),
        ..Header::default()
    };
    header.covers.insert("volatile".to_owned(), volatile.into());
    let tape = world.path(TAPE);
    let mut recorder = Recorder::create(&tape, header, RecorderOptions::default()).unwrap();
    let path = jukebox::model::TapePath::new("a.txt").unwrap();
    let seen = jukebox::model::FileChange {
        op: jukebox::model::FileOp::Observe,
        mode: Some(0o644),
        ..jukebox::model::FileChange::write(path, b"one\ntwo\n".as_slice())
    };
    recorder.append(Event::new(Body::File(seen))).unwrap();
    recorder.snapshot(SnapshotReason::Start).unwrap();
    for (number, (name, arguments, outcome, output)) in calls.iter().enumerate() {
        let id = format!("c{number}");
        let call = Body::ToolCall {
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        };
        recorder.append(Event::new(call).in_call(&*id)).unwrap();
        let result = Body::ToolResult {
            outcome: *outcome,
            exit: None,
            output: (*output).to_owned(),
            duration: None,
            attachments: Vec::new(),
            detail: Value::Null,
        };
        recorder.append(Event::new(result).in_call(&*id)).unwrap();
    }
    recorder.close(Outcome::Ok).unwrap();
}

#[test]
fn what_is_not_attempted_says_why() {
    let world = World::new(&[]);
    let read = json!({"path": "a.txt"});
    tape_of(
        &world,
        &[
            ("Read", read.clone(), Outcome::Ok, "one\ntwo\n"),
            ("Read", read.clone(), Outcome::Refused, "no"),
            ("Read", read.clone(), Outcome::Interrupted, ""),
            ("WebFetch", json!({}), Outcome::Ok, "page"),
            ("Frobnicate", json!({}), Outcome::Ok, "frobnicated"),
            ("Read", read, Outcome::Ok, "one\n2\n"),
        ],
    );
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 1);
    let rows = report["rows"].as_array().unwrap();
    let whys: Vec<&str> = rows.iter().filter_map(|row| row["why"].as_str()).collect();
    let expected = [
        "it was refused, and never ran",
        "it was interrupted: what it would have said is not known",
        "it asks a service, and nothing is sent",
        "it is not known what this tool does",
    ];
    assert_eq!(whys, expected);
    assert_eq!(
        (&report["attempted"], &report["percent"]),
        (&json!(2), &json!(33))
    );
    assert_eq!(leaves(&report), ["output, line 2"]);
    // Some of it only.
    let (code, report) = world.replay(&["--from", "1", "--to", "1"]);
    assert_eq!((code, &report["calls"]), (0, &json!(1)));
    let (code, report) = world.replay(&["--from", "@-1"]);
    assert_eq!((code, &report["calls"]), (1, &json!(1)));
    let run = world.run(&["replay", TAPE, "--from", "3", "--to", "2"]);
    assert_eq!(run.code, 2);
    assert!(
        run.error.contains("step 3 comes after step 2"),
        "{}",
        run.error
    );
}

#[test]
fn a_search_is_answered_from_the_files_and_its_order_is_nobodys() {
    let world = World::new(&[]);
    let root = "/nobody-has/this";
    let both = format!("Found 2 files\n{root}/b.txt\n{root}/a.txt");
    let grep = json!({"pattern": "^o", "output_mode": "content"});
    tape_of(
        &world,
        &[
            (
                "Write",
                json!({"file_path": "b.txt", "content": "one"}),
                Outcome::Ok,
                "",
            ),
            (
                "Grep",
                json!({"pattern": "one"}),
                Outcome::Ok,
                "Found 1 file\na.txt",
            ),
            ("Grep", grep.clone(), Outcome::Ok, "a.txt:1:one"),
            ("Grep", grep, Outcome::Ok, "a.txt:1:on"),
            ("Grep", json!({"pattern": "one|two"}), Outcome::Ok, &both),
            ("LS", json!({"path": root}), Outcome::Ok, "- a.txt"),
        ],
    );
    // What the first call wrote stands on no tape: the files are as they were recorded.
    let (code, report) = world.replay(&["--from", "2"]);
    let rows = report["rows"].as_array().unwrap();
    let verdicts: Vec<&str> = rows
        .iter()
        .map(|row| row["verdict"].as_str().unwrap())
        .collect();
    let expected = [
        "reproduced",
        "reproduced",
        "differs",
        "differs",
        "not-attempted",
    ];
    assert_eq!((code, verdicts), (1, expected.to_vec()), "{report:#}");
}

#[test]
fn what_the_tape_or_a_person_calls_volatile_is_not_compared_and_named() {
    let world = World::new(&[]);
    let read = json!({"path": "a.txt"});
    let calls = [
        ("Read", read.clone(), Outcome::Ok, "one\n2\n"),
        ("Read", read, Outcome::Ok, "one\ntwo\n"),
    ];
    tape_of(&world, &calls);
    let (code, report) = world.replay(&[]);
    assert_eq!((code, leaves(&report)), (1, vec!["output, line 2"]));
    assert_eq!(report["volatile"], json!(["durations"]));
    let (code, report) = world.replay(&["--volatile", "/output,ids"]);
    assert_eq!((code, &report["volatile"]), (0, &json!(["/output", "ids"])));
    // The same, as whoever recorded it listed it.
    fs::remove_file(world.path(TAPE)).unwrap();
    tape_listing(&world, &["/output"], &calls);
    let (code, report) = world.replay(&[]);
    assert_eq!(
        (code, &report["volatile"]),
        (0, &json!(["/output", "durations"]))
    );
    let said = world.run(&["replay", TAPE]).output;
    assert!(said.contains("Not compared: /output, durations."), "{said}");
    let (code, report) = world.replay(&["--volatile", "none"]);
    assert_eq!((code, &report["volatile"]), (1, &json!([])));
    let run = world.run(&["replay", TAPE, "--volatile", "dates"]);
    assert_eq!(run.code, 2, "{}", run.error);
}

#[test]
fn an_edit_is_held_against_the_files_that_were_recorded() {
    let world = World::new(&[]);
    let edit = |old: &str| json!({"path": "a.txt", "old_string": old, "new_string": "2"});
    tape_of(
        &world,
        &[
            // It was recorded that nothing became of it.
            ("Edit", edit("two"), Outcome::Ok, "edited"),
            ("Edit", edit("three"), Outcome::Failed, "in whatever words"),
            ("Edit", edit("three"), Outcome::Ok, "edited"),
        ],
    );
    let (code, report) = world.replay(&[]);
    assert_eq!(code, 1);
    assert_eq!(leaves(&report), ["files.a.txt", "outcome"]);
    assert_eq!(report["rows"][1]["verdict"], "reproduced");
    assert_eq!(
        report["rows"][1]["aside"],
        json!(["output: its words are the tool's own"])
    );
}

#[test]
fn each_call_is_made_on_the_files_before_it() {
    let world = World::new(&[("a", "0\n")]);
    let script = "echo $(( $(cat a) + 1 )) | tee b; mv b a";
    let begin = world.run(&["txn", "begin", "--dir", "work"]);
    if begin.code == 4 {
        println!("skipped: {}", begin.error);
        return;
    }
    let id = begin.output.trim().to_owned();
    let tape = format!("work/.jukebox/tapes/{id}.jsonl");
    let tape = tape.as_str();
    for expected in ["1\n", "2\n", "3\n"] {
        let run = world.run(&["txn", "exec", &id, "--", "sh", "-c", script]);
        assert_eq!(run.output, expected, "{}", run.error);
    }
    assert_eq!(world.run(&["txn", "commit", &id, "--yes"]).code, 0);
    let run = world.run(&["replay", tape, "--json"]);
    let report: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!((run.code, leaves(&report)), (0, vec![]), "{report:#}");
    assert_eq!(report["reproduced"], 3);
    // The last one alone needs none of those before it.
    let run = world.run(&["replay", tape, "--json", "--from", "@-1"]);
    assert_eq!(run.code, 0, "{}", run.output);
}

#[test]
fn what_the_tape_leaves_out_is_no_difference() {
    let world = World::new(&[(".gitignore", "build/\n*.log\n"), ("a", "1\n")]);
    if !world
        .record("mkdir build; date +%N > build/x; date +%N > y.log; mkdir .git; date +%N > .git/z")
    {
        return;
    }
    let (code, report) = world.replay(&[]);
    assert_eq!((code, leaves(&report)), (0, vec![]), "{report:#}");
    assert_eq!(report["left_out"], json!([".git", "what .gitignore names"]));
}

#[test]
fn the_demos_reproduce() {
    let world = World::new(&[]);
    let demos = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("demo-tapes");
    for name in ["bug-hunt", "rolled-back"] {
        fs::copy(demos.join(format!("{name}.jsonl")), world.path(TAPE)).unwrap();
        let run = world.run(&["replay", TAPE]);
        if run.code == 4 {
            println!("skipped: {}", run.error);
            return;
        }
        assert_eq!(run.code, 0, "{name}: {}{}", run.output, run.error);
    }
    // Of a damaged one, what the damage took is not held against anybody.
    fs::copy(demos.join("damaged.jsonl"), world.path(TAPE)).unwrap();
    let (_, report) = world.replay(&[]);
    assert_eq!(leaves(&report), Vec::<&str>::new(), "{report:#}");
}

#[test]
fn commands_are_told_when_their_call_was_recorded() {
    let world = World::new(&[]);
    if !world.record("echo $SOURCE_DATE_EPOCH") {
        return;
    }
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let told = |words: &str| {
        let seconds: u64 = words.parse().unwrap();
        assert!(seconds <= now && now - seconds < 600, "{words} {now}");
    };
    let (_, report) = world.replay(&[]);
    told(report["rows"][0]["leaves"][0]["replayed"].as_str().unwrap());
    // A program that makes others believe in a time is used where there is one.
    let directory = world.path("home/bin");
    fs::create_dir(&directory).unwrap();
    let script = "#!/bin/sh\necho ${1#@}\nshift\nexec \"$@\"\n";
    fs::write(directory.join("faketime"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(directory.join("faketime"), mode).unwrap();
    let path = format!("{}:/usr/bin:/bin", directory.display());
    let mut replay = world.program(&["replay", TAPE, "--json"]);
    let output = replay.env("PATH", path).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["clock"], "faketime");
    let leaf = &report["rows"][0]["leaves"][0];
    told(leaf["replayed"].as_str().unwrap());
}

/// A replay in the middle of a command, and how to see whether that still runs; `None`, and a
/// word about it: this machine has no sandbox.
fn begin_endless(world: &World, number: u32) -> Option<(Child, impl Fn() -> bool)> {
    let second = format!("{}", number + std::process::id());
    let arguments = json!({ "command": format!("sleep {second}") });
    tape_of(world, &[("Bash", arguments, Outcome::Ok, "")]);
    let mut child = world.program(&["replay", TAPE]).spawn().unwrap();
    let sleeps = move || {
        fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            words
                .split(|byte| *byte == 0)
                .any(|word| word == second.as_bytes())
        })
    };
    for _ in 0..600 {
        if sleeps() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    if let Some(status) = child.try_wait().unwrap() {
        assert_eq!(status.code(), Some(4));
        println!("skipped: this machine has no sandbox");
        return None;
    }
    Some((child, sleeps))
}

#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    let world = World::new(&[]);
    let Some((mut child, sleeps)) = begin_endless(&world, 300_000) else {
        return;
    };
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!sleeps());
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}

#[test]
fn what_is_left_of_one_that_was_killed_goes_with_the_next() {
    let world = World::new(&[]);
    let Some((mut child, sleeps)) = begin_endless(&world, 700_000) else {
        return;
    };
    child.kill().unwrap();
    child.wait().unwrap();
    while sleeps() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 1);
    let (_, report) = world.replay(&["--timeout", "1"]);
    assert_eq!(report["not_attempted"], 1);
}
