//! A diff is a patch: `git apply` makes the second tree of the first, whatever is in them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::world::{Run, World, program_of_machine};

const HEADER: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#;

/// Each path at step 1 and at step 2: modes, links, binary files, odd names and odd lines.
const EVENTS: [&str; 21] = [
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
    r#"{"kind":"prompt","text":"two"}"#,
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
    tape(&world, "second.jsonl", EVENTS.split_at(10).0);
    check_patch(&world, &git, "run.jsonl@1", "@2");
    check_patch(&world, &git, "run.jsonl@2", "@1");
    check_patch(&world, &git, "run.jsonl@2", "second.jsonl");
    check_patch(&world, &git, "second.jsonl@0", "run.jsonl@2");
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
