//! Recording from outside: lines go into a real process, and the tape is looked at as anybody
//! would look at it.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::recorder::{Recorder, changes, check_whole, events};
use super::world::{World, program_of_machine, project};

#[test]
fn lines_become_a_tape_and_each_is_answered() {
    let world = World::new(&[]);
    let mut recorder = Recorder::start(&world, "-o run.jsonl");
    let mut say = |event| recorder.say(event);
    assert_eq!(
        say(json!({"kind": "tape", "name": "my agent 1"})),
        json!({"seq": 0, "changes": 0})
    );
    say(json!({"kind": "prompt", "text": "Fix it."}));
    say(json!({"kind": "model.request", "name": "a-model", "call": "m1", "added": ["Fix it."]}));
    let usage = json!({"input_tokens": 5, "output_tokens": 2});
    let blocks = json!([{"type": "text", "text": "Yes."}]);
    say(json!({"kind": "model.response", "call": "m1", "blocks": blocks, "usage": usage}));
    say(json!({"kind": "tool.call", "call": "c1", "name": "write", "args": {"path": "a.txt"}}));
    say(json!({"kind": "fs.write", "call": "c1", "path": "a.txt", "text": "one\n", "mode": "644"}));
    let binary =
        json!({"kind": "fs.write", "call": "c1", "path": "b", "enc": "base64", "data": "/wD+"});
    say(binary);
    say(json!({"kind": "tool.result", "call": "c1", "output": "done", "exit": 0, "mine": [1]}));
    let end = say(json!({"kind": "end", "outcome": "ok"}));
    assert!(end["seq"].is_u64(), "{end}");
    assert_eq!(recorder.end(), 0);
    check_whole(&world, "run.jsonl");
    let events = events(&world, "run.jsonl");
    let last = events.last().unwrap();
    assert_eq!((&last["kind"], &last["seq"]), (&json!("end"), &end["seq"]));
    let result = events.iter().find(|event| event["kind"] == "tool.result");
    let result = result.unwrap();
    assert_eq!(result["outcome"], "ok", "from the exit code");
    assert_eq!(result["mine"], json!([1]), "what is unknown is kept");
    assert_eq!(world.type_in("cat run.jsonl a.txt").stdout(), "one\n");
    assert_eq!(world.type_in("cat run.jsonl b").bytes()[0], [0xff, 0, 0xfe]);
    let mode = fs::metadata(world.path("run.jsonl")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn a_wrong_line_is_told_with_its_place_and_costs_nothing_else() {
    let world = World::new(&[]);
    let mut recorder = Recorder::start(&world, "-o run.jsonl");
    let lines: [(&[u8], &str, usize); 18] = [
        (b"{\"kind\":\"tool.result\",\"call\":\"c0\",\"output\":\"\"}", "broken-reference", 0),
        (b"{\"kind\":\"fs.remove\",\"call\":\"c0\",\"path\":\"a\"}", "broken-reference", 0),
        (b"{\"kind\":\"txn.commit\",\"txn\":\"t0\"}", "broken-reference", 0),
        (b"", "not-an-object", 0),
        (b"[1]", "not-an-object", 0),
        (b"{\"kind\":\"note\" \"text\":1}", "not-json", 15),
        (b"{\"kind\":\"note\",\"text\":\"a\xff\"}", "invalid-utf8", 24),
        (b"{\"text\":\"a\"}", "bad-field", 0),
        (b"{\"kind\":\"frob\"}", "not-understood", 8),
        (b"{\"kind\":\"note\",\"text\":5}", "bad-field", 22),
        (b"{\"kind\":\"note\",\"text\":\"a\",\"t\":\"x\"}", "bad-field", 30),
        (b"{\"kind\":\"note\",\"text\":\"a\",\"text\":\"b\"}", "bad-field", 33),
        (b"{\"kind\":\"note\",\"text\":\"a\",\"via\":\"live\"}", "bad-field", 32),
        (b"{\"kind\":\"note\",\"text\":\"a\"} {}", "glued-records", 27),
        (b"{\"kind\":\"fs.write\",\"path\":\"../a\",\"text\":\"\"}", "bad-field", 26),
        (b"{\"kind\":\"fs.chmod\",\"path\":\"a\"}", "bad-field", 0),
        (b"{\"kind\":\"blob\",\"text\":\"a\",\"blob\":\"b3:0000000000000000000000000000000000000000000000000000000000000000\"}", "bad-hash", 33),
        (b"{\"kind\":\"fs.observe\",\"path\":\"a\",\"blob\":\"b3:0000000000000000000000000000000000000000000000000000000000000000\"}", "missing-blob", 0),
    ];
    let mut offset = 0;
    for (number, (line, kind, at)) in lines.iter().enumerate() {
        recorder.write(line);
        recorder.write(b"\n");
        let answer = recorder.answer();
        let text = String::from_utf8_lossy(line);
        assert_eq!(answer["kind"], *kind, "{text}: {answer}");
        assert_eq!(answer["line"], number + 1, "{text}");
        assert_eq!(answer["byte"], offset + at, "{text}: {answer}");
        assert!(!answer["error"].as_str().unwrap().is_empty());
        offset += line.len() + 1;
    }
    assert_eq!(
        recorder.say(json!({"kind": "note", "text": "on"}))["seq"],
        1
    );
    recorder.write(b"{\"kind\":\"note\",\"te");
    drop(recorder.input.take());
    let torn = recorder.answer();
    assert_eq!(
        (&torn["kind"], &torn["line"]),
        (&json!("torn-tail"), &json!(20))
    );
    assert_eq!(recorder.end(), 0);
    check_whole(&world, "run.jsonl");
    let kinds: Vec<Value> = events(&world, "run.jsonl")
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["tape", "note", "snapshot", "end"]);
}

#[test]
fn what_was_answered_is_there_however_it_is_killed() {
    let world = World::new(&[]);
    for round in 0..12 {
        let tape = format!("run{round}.jsonl");
        world.put(format!("w{round}/a"), "a");
        let mut recorder = Recorder::start(&world, &format!("-o {tape} --watch w{round}"));
        let mut input = recorder.input.take().unwrap();
        let file = world.path(format!("w{round}/a"));
        let writer = thread::spawn(move || {
            for number in 0.. {
                let call = json!({"kind": "tool.call", "call": number.to_string(), "name": "x", "args": {}});
                let result = json!({"kind": "tool.result", "call": number.to_string(), "output": "y".repeat(number * 97)});
                let Ok(()) = input.write_all(format!("{call}\n").as_bytes()) else {
                    return;
                };
                fs::write(&file, number.to_string()).unwrap();
                // Half a line at a time, so that it is killed inside of one, too.
                let result = format!("{result}\n");
                let (one, two) = result.split_at(result.len() / 2);
                if input
                    .write_all(one.as_bytes())
                    .and_then(|()| input.write_all(two.as_bytes()))
                    .is_err()
                {
                    return;
                }
            }
        });
        let mut answered = recorder.answer()["seq"].as_u64();
        for _ in 0..round * 3 {
            answered = recorder.answer()["seq"].as_u64().or(answered);
        }
        thread::sleep(Duration::from_micros(round * 700));
        recorder.child.kill().unwrap();
        let mut line = String::new();
        while recorder
            .answers
            .read_line(&mut line)
            .is_ok_and(|len| len > 0)
        {
            let answer: Option<Value> = serde_json::from_str(&line).ok();
            answered = answer
                .and_then(|answer| answer["seq"].as_u64())
                .or(answered);
            line.clear();
        }
        recorder.child.wait().unwrap();
        writer.join().unwrap();
        let run = world.run(&["verify", &tape, "--json"]);
        let report: Value = serde_json::from_str(&run.stdout()).unwrap();
        let problems = report["problems"].as_array().unwrap();
        let is_torn = |problem: &Value| problem["kind"] == "torn-tail";
        assert!(problems.iter().all(is_torn), "{problems:?}");
        let text = fs::read(world.path(&tape)).unwrap();
        let lines = text.split(|byte| *byte == b'\n').count() as u64 - 1;
        let answered = answered.unwrap();
        assert!(answered < lines, "round {round}: {answered} of {lines}");
    }
}

#[test]
fn a_signal_ends_the_tape_and_then_the_program() {
    let world = World::new(&[]);
    world.put("w/a", "a");
    for (signal, code) in [
        (rustix::process::Signal::TERM, 143),
        (rustix::process::Signal::INT, 130),
    ] {
        let tape = format!("run{code}.jsonl");
        let mut recorder = Recorder::start(&world, &format!("-o {tape} --watch w"));
        recorder.call("c1", json!({}));
        fs::write(world.path("w/a"), tape.as_bytes()).unwrap();
        let pid = rustix::process::Pid::from_child(&recorder.child);
        rustix::process::kill_process(pid, signal).unwrap();
        assert_eq!(recorder.child.wait().unwrap().code(), Some(code));
        check_whole(&world, &tape);
        let events = events(&world, &tape);
        assert_eq!(events.last().unwrap()["outcome"], "interrupted");
        assert_eq!(
            changes(&world, &tape),
            "write a [c1]\n",
            "what it had done so far"
        );
    }
}

#[test]
fn the_programs_of_the_documentation_record() {
    let (Some(python), Some(_)) = (program_of_machine("python3"), program_of_machine("mkfifo"))
    else {
        return;
    };
    for (page, language, shell) in [
        ("README.md", "python", python.as_path()),
        ("src/tape/STDIN.md", "sh", Path::new("/bin/sh")),
    ] {
        let world = World::new(&[]);
        let text = fs::read_to_string(project().join(page)).unwrap();
        let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap();
        let (script, _) = rest.split_once("```").unwrap();
        fs::create_dir(world.path("../bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_jukebox"), world.path("../bin/jukebox")).unwrap();
        let make = world.put("../bin/make", "#!/bin/sh\necho built > out.txt\n");
        fs::set_permissions(make, Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(shell);
        world.settle(&mut command);
        let machine = std::env::var("PATH").unwrap();
        let path = format!("{}:{machine}", world.path("../bin").display());
        let run = command
            .args(["-c", script])
            .env("PATH", path)
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        check_whole(&world, "run.jsonl");
        assert_eq!(
            changes(&world, "run.jsonl"),
            "write out.txt [1]\n",
            "{page}"
        );
    }
}

#[test]
fn a_full_disk_is_said_and_the_run_goes_on() {
    let world = World::new(&[]);
    let mut command = Command::new("sh");
    world.settle(&mut command);
    let program = env!("CARGO_BIN_EXE_jukebox");
    // No file may grow beyond 8 KiB.
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {program} record --stdin -o run.jsonl");
    let mut recorder = Recorder::spawn(command.args(["-c", &script]));
    let text = "x".repeat(3000);
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(recorder.say(json!({"kind": "note", "text": text})));
    }
    assert!(answers[0]["seq"].is_u64(), "{answers:?}");
    assert_eq!(answers[4]["kind"], "recorded-gap");
    // A smaller one finds room, and a gap says what is missing before it.
    assert!(recorder.say(json!({"kind": "note", "text": "small"}))["seq"].is_u64());
    assert_eq!(recorder.end(), 4);
    let kinds: Vec<Value> = events(&world, "run.jsonl")
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert!(kinds.contains(&json!("gap")), "{kinds:?}");
}
