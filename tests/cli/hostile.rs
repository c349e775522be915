//! Nothing of a tape, a path or an argument reaches a terminal as more than text: not from
//! standard output, not from standard error, not through a pipe either.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::hostile_tape::{PAYLOADS, is_hostile, tape};
use super::world::{Run, World};

/// What a terminal would obey or nobody see, with what stands around it.
fn trouble(bytes: &[u8], is_bad: fn(char) -> bool) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let bad = |character: char| {
        (is_bad(character) && !matches!(character, '\n' | '\t'))
            || character == char::REPLACEMENT_CHARACTER && !bytes.contains(&0xef)
    };
    let at = text.chars().position(bad)?;
    let around: String = text.chars().skip(at.saturating_sub(60)).take(80).collect();
    Some(format!("{around:?}"))
}

#[track_caller]
fn check(run: &Run, what: &str) {
    // In a pipe, a difference holds every letter of a file, for `git apply`; what a terminal
    // obeys it holds in armour.
    let is_bad = if what.starts_with("diff") {
        char::is_control
    } else {
        is_hostile
    };
    for bytes in run.bytes() {
        assert_eq!(trouble(bytes, is_bad), None, "{what}");
    }
}

/// A transcript whose prompts, tools and paths are payloads.
fn session() -> String {
    let line = |(number, payload): (usize, &&str)| {
        r#"{"parentUuid":null,"uuid":"u#","type":"assistant","sessionId":"s%","cwd":"/w%","version":"%","gitBranch":"%","timestamp":"2026-01-01T10:00:01.000Z","message":{"id":"m#","role":"assistant","model":"%","content":[{"type":"text","text":"%"},{"type":"tool_use","id":"t#%","name":"Write%","input":{"file_path":"/w/%","content":"%","%":"%"}}]}}"#
            .replace('#', &number.to_string())
            .replace('%', payload)
            + "\n"
    };
    let lines = PAYLOADS.iter().enumerate().map(line);
    lines.collect()
}

#[test]
fn no_command_prints_what_a_terminal_obeys() {
    let world = World::new(&[]);
    world.put("run.jsonl", tape(&PAYLOADS));
    world.put("other.jsonl", tape(&PAYLOADS[3..]));
    world.put("session.jsonl", session());
    for words in [
        "log run.jsonl",
        "log run.jsonl --all",
        "log run.jsonl --json",
        "tree run.jsonl",
        "tree run.jsonl --json",
        "tree run.jsonl --strict",
        "diff run.jsonl",
        "diff run.jsonl --json",
        "diff run.jsonl@1 @-1 --response",
        "compare run.jsonl other.jsonl",
        "compare run.jsonl other.jsonl@2",
        "compare run.jsonl other.jsonl --json",
        "checkout run.jsonl out",
        "checkout run.jsonl json --json",
        "search run.jsonl echo",
        "search run.jsonl owned --json",
        "verify run.jsonl",
        "verify run.jsonl --json",
        "effects run.jsonl",
        "effects run.jsonl --json",
        "show run.jsonl --effects",
        "stats run.jsonl",
        "stats run.jsonl --json",
        "import session.jsonl -o imported.jsonl",
        "log session.jsonl",
        "compact run.jsonl -o compacted.jsonl",
        "open run.jsonl",
    ] {
        let run = world.type_in(words);
        check(&run, words);
        let said: usize = run.bytes().map(<[u8]>::len).iter().sum();
        assert!(said > 0 && run.code() < 3, "{words}: {}", run.code());
    }
    let steps = world.type_in("log run.jsonl --branch main").stdout();
    let steps = steps.lines().count();
    assert!(steps > PAYLOADS.len());
    for step in (1..=steps).step_by(7) {
        check(
            &world.type_in(&format!("show run.jsonl@main:{step}")),
            "show",
        );
        let run = world.type_in(&format!("show run.jsonl@main:{step} --json"));
        check(&run, "show --json");
    }
}

#[test]
fn a_picture_of_the_screen_holds_only_text() {
    let world = World::new(&[]);
    world.put("run.jsonl", tape(&PAYLOADS));
    for keys in ["g", "gllllll", "e", "2j<enter>", "g3l3", "/echo<enter>n"] {
        let run = world.run(&[
            "open",
            "run.jsonl@main:end",
            "--frame",
            "out.txt",
            "--keys",
            keys,
        ]);
        assert_eq!(run.code(), 0, "{keys}: {}", run.stderr());
        check(&run, keys);
        let picture = std::fs::read(world.path("out.txt")).unwrap();
        assert_eq!(trouble(&picture, is_hostile), None, "{keys}");
    }
}

#[test]
fn what_could_not_be_shown_stays_readable() {
    let world = World::new(&[]);
    world.put("run.jsonl", tape(&PAYLOADS));
    let log = world.type_in("log run.jsonl --branch main").stdout();
    assert!(log.contains("^[]52;c;aGVsbG8=^G"), "{log}");
    assert!(log.contains("rm -rf /^H^H^H^H^H^H^H^Hecho ok"));
    assert!(log.contains("real line^Mfake line"));
}

#[test]
fn hostile_names_and_arguments_are_only_text() {
    let world = World::new(&[]);
    let name = OsStr::from_bytes(b"run\x1b]0;owned\x07\xff\xc2\x9b31m.jsonl");
    world.put(name, tape(&PAYLOADS));
    let words = |words: &[&str], name: &OsStr| {
        let mut all: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        all.push(name);
        world.run(&all)
    };
    for verb in ["log", "tree", "verify", "open", "diff"] {
        let run = words(&[verb], name);
        check(&run, verb);
        assert!(run.code() < 3);
    }
    let missing = OsStr::from_bytes(b"\x1b[2Jgone\x07\xff");
    for before in [
        &["log"][..],
        &["--help"],
        &["log", "--help"],
        &["log", "--no-such-flag"],
        &["diff", "gone"],
        &["log", "--branch"],
        &["log", "x", "--color"],
        &[],
    ] {
        check(&words(before, missing), &format!("{before:?}"));
    }
    let place = OsStr::from_bytes(b"gone@\x1b[2J\x07");
    check(&words(&["show"], place), "a place");
    let flag = OsStr::from_bytes(b"--\x1b]0;x\x07");
    check(&words(&["log"], flag), "a flag");
}
