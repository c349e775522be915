//! A diff is a patch: `git apply` makes the second tree of the first, whatever is in them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::world::{Run, World, program_of_machine};

const HEADER: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#;

/// Each path at step 1 and at step 2: modes, links, binary files, odd names and odd lines.
const EVENTS: [&str; 27] = [
    r#"{"kind":"prompt","text":"one"}"#,
    r#"{"kind":"fs.write","path":"text","mode":"644","text":"a\nb\nc\n"}"#,
    r#"{"kind":"fs.write","path":"mode","mode":"644","text":"same\n"}"#,
    r#"{"kind":"fs.write","path":"binary","mode":"644","text":"a\u0000b"}"#,
    r#"{"kind":"fs.write","path":"escape","mode":"644","text":"x\u001b[31m\n"}"#,
    r#"{"kind":"fs.write","path":"crlf","mode":"644","text":"a\r\nb\r\n"}"#,
    r#"{"kind":"fs.write","path":"becomes-link","mode":"644","text":"file"}"#,
    r#"{"kind":"fs.symlink","path":"becomes-file","target":"text"}"#,
    r#"{"kind":"fs.write","path":"gone","mode":"755","text":"\u0001gone"}"#,
    r#"{"kind":"fs.write","path":"dir/file","mode":"644","text":"no newline"}"#,
    r#"{"kind":"fs.write","path":"old name","mode":"755","text":"moved\n"}"#,
    r#"{"kind":"fs.write","path":"place","mode":"644","text":"into a directory of its name"}"#,
    r#"{"kind":"prompt","text":"two"}"#,
    r#"{"kind":"fs.rename","from":"old name","path":"new/name"}"#,
    r#"{"kind":"fs.chmod","path":"new/name","mode":"644"}"#,
    r#"{"kind":"fs.remove","path":"place"}"#,
    r#"{"kind":"fs.write","path":"place/inside","mode":"644","text":"into a directory of its name"}"#,
    r#"{"kind":"fs.write","path":"text","mode":"644","text":"a\nB\nc\nd"}"#,
    r#"{"kind":"fs.chmod","path":"mode","mode":"755"}"#,
    r#"{"kind":"fs.write","path":"binary","mode":"644","text":"a\u0000c\u0000"}"#,
    r#"{"kind":"fs.write","path":"escape","mode":"644","text":"x\u001b[32m\n\u0007"}"#,
    r#"{"kind":"fs.write","path":"crlf","mode":"644","text":"a\r\nB\r\n"}"#,
    r#"{"kind":"fs.symlink","path":"becomes-link","target":"dir/file"}"#,
    r#"{"kind":"fs.write","path":"becomes-file","mode":"644","text":""}"#,
    r#"{"kind":"fs.remove","path":"gone"}"#,
    r#"{"kind":"fs.write","path":"dir/file","mode":"644","text":"no newline here"}"#,
    r#"{"kind":"fs.write","path":"odd \u001b \u00fc\n\"name","mode":"644","text":"new\n"}"#,
];

fn tape(world: &World, name: &str, events: &[&str]) {
    let mut text = format!("{HEADER}\n");
    for (seq, event) in events.iter().enumerate() {
        let fields = event.strip_prefix('{').unwrap();
        let _ = writeln!(text, "{{\"seq\":{},{fields}", seq + 1);
    }
    world.put(name, text);
}

#[test]
fn git_apply_makes_the_second_tree_of_the_first() {
    let Some(git) = program_of_machine("git") else {
        return;
    };
    let world = World::new(&[]);
    tape(&world, "run.jsonl", &EVENTS);
    tape(&world, "second.jsonl", EVENTS.split_at(12).0);
    check_patch(&world, &git, "run.jsonl@1", "@2");
    check_patch(&world, &git, "run.jsonl@2", "@1");
    check_patch(&world, &git, "run.jsonl@2", "second.jsonl");
    check_patch(&world, &git, "second.jsonl@0", "run.jsonl@2");
}

#[test]
fn a_renamed_file_is_one_row_in_every_list() {
    let world = World::new(&[]);
    let events = [
        r#"{"kind":"fs.write","path":"old","text":"words\n"}"#,
        r#"{"kind":"prompt","text":"two"}"#,
        r#"{"kind":"fs.rename","from":"old","path":"new"}"#,
    ];
    tape(&world, "run.jsonl", &events);
    let patch = world.run(&["diff", "run.jsonl@1", "@2"]).stdout();
    assert_eq!(
        patch,
        "diff --git a/old b/new\nrename from old\nrename to new\n"
    );
    let rows = world.run(&["diff", "run.jsonl@1", "@2", "--json"]).stdout();
    assert_eq!(rows.lines().count(), 1, "{rows}");
    let row: serde_json::Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(
        [&row["change"], &row["from"], &row["path"]],
        ["R", "old", "new"]
    );
    let shown = world.run(&["show", "run.jsonl@2"]).stdout();
    assert!(shown.contains("R old → new\n"), "{shown}");
    assert!(!shown.contains("D old"), "{shown}");
}

#[test]
fn a_call_is_compared_with_the_last_one_of_its_tool() {
    let world = World::new(&[]);
    let events = [
        r#"{"kind":"tool.call","call":"a","name":"Grep","args":{"pattern":"one","limit":3}}"#,
        r#"{"kind":"tool.call","call":"b","name":"Read","args":{"path":"x"}}"#,
        r#"{"kind":"tool.call","call":"c","name":"Grep","args":{"pattern":"two","limit":3}}"#,
        r#"{"kind":"tool.call","call":"d","name":"Grep","args":{"pattern":"one","limit":3}}"#,
        r#"{"kind":"prompt","text":"thanks"}"#,
    ];
    tape(&world, "run.jsonl", &events);
    let alike = |words: &str| world.type_in(&format!("diff {words} --like"));
    let run = alike("run.jsonl@3");
    assert_eq!(run.code(), 1);
    let expected = "step 3, compared with step 1\n~ arguments.pattern  \"one\" → \"two\"\n";
    assert_eq!(run.stdout(), expected);
    let run = alike("run.jsonl@2 @4");
    assert_eq!(
        (run.code(), run.stdout().lines().count()),
        (0, 2),
        "{}",
        run.stdout()
    );
    assert!(run.stdout().starts_with("step 4, compared with step 1\n"));
    let row: serde_json::Value =
        serde_json::from_str(&alike("run.jsonl@4 --json").stdout()).unwrap();
    assert_eq!([&row["from"], &row["to"]], [3, 4]);
    assert!(alike("run.jsonl@2").stdout().contains("stands before it"));
    assert!(alike("run.jsonl@5").stdout().contains("nothing to compare"));
    assert_eq!(alike("run.jsonl@3 run.jsonl@4").code(), 2);
}

/// Checks out the first place, applies the diff to the second, and compares with the second
/// checked out.
fn check_patch(world: &World, git: &Path, from: &str, to: &str) {
    let (one, two) = (world.path("one"), world.path("two"));
    for directory in [&one, &two] {
        let _ = std::fs::remove_dir_all(directory);
    }
    let diff = world.run(&["diff", from, to]);
    assert_eq!(diff.code(), 1, "{from} {to}: {}", diff.stderr());
    assert!(!diff.stdout().contains(['\x1b', '\x07']), "{from} {to}");
    assert_eq!(world.run(&["checkout", from, "one"]).code(), 0);
    let second = match to.strip_prefix('@') {
        Some(place) => format!("run.jsonl@{place}"),
        None => to.to_owned(),
    };
    assert_eq!(world.run(&["checkout", &second, "two"]).code(), 0);

    let patch = world.put("patch", diff.bytes()[0]);
    let mut apply = Command::new(git);
    world.settle(&mut apply);
    let apply = apply
        .current_dir(&one)
        .args(["apply", "--whitespace=nowarn"]);
    let applied = Run::new(apply.arg(patch).output().unwrap());
    assert_eq!(applied.stderr(), "", "{from} {to}");

    let mut compare = Command::new(git);
    world.settle(&mut compare);
    let compare = compare.args(["diff", "--no-index", "--binary", "one", "two"]);
    let compared = Run::new(compare.stdout(Stdio::piped()).output().unwrap());
    assert_eq!(compared.stdout(), "", "{from} {to}");
}

/// A tape with three requests to the model, which holds as much of each as `keep` says.
fn asked(keep: &str) -> String {
    let requests = [
        r#"{"system":"be brief","messages":[{"role":"user","content":"one"}],"seed":12345678901234567890123}"#,
        r#"{"system":"be brief","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"1"}],"seed":12345678901234567890124}"#,
    ];
    let mut lines = format!("{HEADER}\n");
    let mut seq = 0;
    let mut put = |event: String| {
        seq += 1;
        let _ = writeln!(lines, "{{\"seq\":{seq},{event}}}");
    };
    put(r#""kind":"prompt","name":"user","text":"one""#.into());
    for (number, request) in requests.into_iter().enumerate() {
        let hash = blake3::hash(request.as_bytes()).to_hex();
        let text = serde_json::Value::from(request);
        let news = format!(r#""added":[{{"role":"user","n":{number}}}]"#);
        match keep {
            "whole" => {
                put(format!(
                    r#""kind":"blob","blob":"b3:{hash}","len":{},"enc":"text","text":{text}"#,
                    request.len()
                ));
                put(format!(
                    r#""kind":"model.request","call":"m{number}","blob":"b3:{hash}""#
                ));
            }
            "added" => put(format!(
                r#""kind":"model.request","call":"m{number}","blob":"b3:{hash}",{news}"#
            )),
            _ => {}
        }
        put(format!(
            r#""kind":"model.response","call":"m{number}","blocks":[{{"type":"text","text":"answer {number}"}},{{"type":"tool_call","name":"Edit","call":"c{number}","args":{{"path":"a","edits":[{{"new":"{number}"}}]}}}}]"#
        ));
        put(format!(
            r#""kind":"tool.call","name":"Edit","call":"c{number}","title":"edit a","args":{{}}"#
        ));
        put(format!(
            r#""kind":"tool.result","call":"c{number}","outcome":"ok","output":"done""#
        ));
    }
    lines
}

#[track_caller]
fn check_lines(run: &Run, code: i32, expected: &[&str]) {
    assert_eq!(run.code(), code, "{}", run.stderr());
    let text = run.stdout();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(lines, expected);
}

#[test]
fn a_request_is_compared_with_the_one_before_path_by_path() {
    let world = World::new(&[]);
    world.put("run.jsonl", asked("whole"));
    let expected = [
        "request of step 4, compared with that of step 2",
        "messages: 1 added · seed: 1 changed",
        "+ messages[1]",
        "  + {",
        "  +   \"role\": \"assistant\",",
        "  +   \"content\": \"1\"",
        "  + }",
        "~ seed  12345678901234567890123 → 12345678901234567890124",
    ];
    // The step after the answer is one the request led to.
    for place in ["run.jsonl@4", "run.jsonl@5", "run.jsonl"] {
        let run = world.type_in(&format!("diff {place} --request"));
        check_lines(&run, 1, &expected);
    }
    let run = world.type_in("diff run.jsonl@2 @4 --request");
    check_lines(&run, 1, &expected);
    let run = world.type_in("diff run.jsonl@4 @4 --request");
    check_lines(
        &run,
        0,
        &[
            "request of step 4, compared with that of step 4",
            "the same request, byte for byte",
        ],
    );
    let run = world.type_in("diff run.jsonl@4 --request --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(object["basis"], "whole");
    assert_eq!(object["changes"][1]["path"], "seed");
    assert_eq!(object["changes"][1]["after"], "12345678901234567890124");
}

#[test]
fn of_a_request_it_is_said_what_the_tape_holds() {
    let world = World::new(&[]);
    world.put("added.jsonl", asked("added"));
    world.put("answers.jsonl", asked("answers"));
    let run = world.type_in("diff added.jsonl@4 --request");
    check_lines(
        &run,
        1,
        &[
            "request of step 4, compared with that of step 2",
            "of the whole request only the hash is known",
            "",
            "new in this request",
            "[",
            "  {",
            "    \"role\": \"user\",",
            "    \"n\": 1",
            "  }",
            "]",
        ],
    );
    let run = world.type_in("diff added.jsonl@2 @4 --request");
    assert!(
        run.stdout().contains("~ [0].n  0 → 1\n"),
        "{}",
        run.stdout()
    );
    let run = world.type_in("diff answers.jsonl@4 --request");
    check_lines(
        &run,
        1,
        &[
            "request of step 4, compared with that of step 2",
            "the tape does not record what the model was sent",
            "",
            "recorded since the answer before",
            "   3  Edit  edit a",
        ],
    );
    let run = world.type_in("diff answers.jsonl@1 --request");
    assert_eq!((run.code(), run.stdout().as_str()), (1, ""));
    assert!(
        run.stderr().contains("the model had not been asked"),
        "{}",
        run.stderr()
    );
}

#[test]
fn responses_are_compared_path_by_path() {
    let world = World::new(&[]);
    world.put("run.jsonl", asked("answers"));
    let run = world.type_in("diff run.jsonl@2 @4 --response --paths");
    check_lines(
        &run,
        1,
        &[
            "~ blocks[0].text  \"answer 0\" → \"answer 1\"",
            "~ blocks[1].args.edits[0].new  \"0\" → \"1\"",
        ],
    );
    let run = world.type_in("diff run.jsonl@2 @4 --response --json");
    let object: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(object["changes"][1]["path"], "blocks[1].args.edits[0].new");
}
