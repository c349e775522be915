//! The line that says how far a long command has come, and Ctrl-C in the middle of it.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};

use serde_json::json;

use super::pty::Pty;
use super::{PATIENCE, PROGRAM, SIZE, World, tapes};

/// Enough to take a while wherever this runs.
const MANY: usize = 120_000;
/// The same, for what looks at each line with all care.
const FEWER: usize = 30_000;

impl World {
    /// The program with these words, the tape among them, in a terminal.
    fn command(&self, words: &[&str]) -> Pty {
        let home = self.directory.path().to_str().unwrap();
        let path = std::env::var("PATH").unwrap();
        let environment = [("HOME", home), ("PATH", &path), ("TERM", "xterm-256color")];
        Pty::spawn(SIZE, [&[PROGRAM], words].concat(), &environment).unwrap()
    }
}

fn wait_for(pty: &mut Pty, words: &str) {
    let is_there = |screen: &vt100::Screen| screen.contents().contains(words);
    let shown = pty.wait_for(PATIENCE * 3, is_there).unwrap();
    assert!(shown, "{words}: {}", pty.screen().contents());
}

fn end(pty: &mut Pty) -> ExitStatus {
    let status = pty.wait(PATIENCE * 3).unwrap();
    status.expect("the program goes on and on")
}

/// Presses Ctrl-C once the line is there; what is left on the terminal.
fn interrupt(pty: &mut Pty, line: &str) -> String {
    wait_for(pty, line);
    pty.send(b"\x03").unwrap();
    let status = end(pty);
    let is_interrupted = status.code() == Some(130) || status.signal() == Some(2);
    assert!(is_interrupted, "{status:?}");
    // The terminal's own echo may stand where the line was taken away.
    let left = pty.screen().contents().replace("^C", "");
    assert!(!left.contains(line), "{left}");
    left
}

#[test]
fn a_long_command_says_how_far_it_is_and_leaves_no_trace_of_it() {
    let world = World::new(tapes::prompts(FEWER));
    let tape = world.tape.to_str().unwrap();
    let mut pty = world.command(&["verify", tape]);
    wait_for(&mut pty, "verify run.jsonl  ");
    wait_for(&mut pty, " % ");
    assert!(end(&mut pty).success());
    let left = pty.screen().contents();
    assert_eq!(left.trim(), "30001 events, 30000 steps: 0 problems");

    let piped = Command::new(PROGRAM)
        .args(["verify", tape])
        .output()
        .unwrap();
    assert!(piped.stderr.is_empty(), "{}", piped.stderr.escape_ascii());
}

#[test]
fn who_only_reads_is_interrupted_without_a_word() {
    let world = World::new(tapes::prompts(MANY));
    let tape = world.tape.to_str().unwrap();
    let mut pty = world.command(&["verify", tape]);
    assert_eq!(interrupt(&mut pty, "verify run.jsonl  ").trim(), "");
    let mut pty = world.command(&["search", tape, "no such words"]);
    assert_eq!(interrupt(&mut pty, "search run.jsonl  ").trim(), "");
}

#[test]
fn who_writes_leaves_nothing_half_written() {
    let world = World::new(tapes::prompts(MANY));
    let new = world.directory.path().join("new.jsonl");
    let tape = world.tape.to_str().unwrap();
    let mut pty = world.command(&["compact", tape, "-o", new.to_str().unwrap()]);
    let left = interrupt(&mut pty, "compact run.jsonl  ");
    assert!(
        left.contains("nothing was written, and the old tape is untouched"),
        "{left}"
    );
    assert!(!new.exists());

    let session = world.directory.path().join("session.jsonl");
    fs::write(&session, transcript()).unwrap();
    let words = [
        "import",
        session.to_str().unwrap(),
        "-o",
        new.to_str().unwrap(),
    ];
    let mut pty = world.command(&words);
    let left = interrupt(&mut pty, "import session.jsonl  ");
    assert!(
        left.contains("the import was stopped; nothing was written"),
        "{left}"
    );
    assert!(!new.exists());
}

#[test]
fn a_checkout_that_is_interrupted_says_what_is_there() {
    let header = r#"{"seq":0,"t":0,"kind":"tape","format":1,"id":"t"}"#.to_owned();
    let file = |seq: usize| {
        json!({"seq": seq, "t": seq, "kind": "fs.write", "path": format!("{}/{seq}", seq % 100),
            "enc": "text", "text": format!("content {seq}\n")})
        .to_string()
    };
    let lines: Vec<String> = std::iter::once(header)
        .chain((1..60_000).map(file))
        .collect();
    let world = World::new(lines.join("\n") + "\n");
    let new = world.directory.path().join("tree");
    let (tape, new) = (world.tape.to_str().unwrap(), new.to_str().unwrap());
    let mut pty = world.command(&["checkout", tape, new]);
    let left = interrupt(&mut pty, "write tree  ");
    assert!(
        left.contains("they are still there, and nothing else was touched"),
        "{left}"
    );
    assert!(Path::new(new).is_dir());
}

fn transcript() -> String {
    let record = |number: usize| {
        let parent = format!("u{}", number - 1);
        json!({"parentUuid": parent, "uuid": format!("u{number}"), "type": "user",
            "sessionId": "s", "cwd": "/w", "version": "2.1.0",
            "timestamp": "2026-01-01T10:00:01.000Z",
            "message": {"role": "user", "content": format!("prompt {number}")}})
        .to_string()
    };
    let lines: Vec<String> = (1..MANY).map(record).collect();
    lines.join("\n") + "\n"
}

#[test]
fn a_large_run_is_shown_while_it_is_read_and_in_the_end_where_it_was_asked_for() {
    let world = World::new(tapes::prompts(MANY));
    let place = format!("{}@100000", world.tape.display());
    let mut pty = world.command(&["open", &place]);
    wait_for(&mut pty, "step 100000/120000");
    pty.send(b"q").unwrap();
    assert!(end(&mut pty).success());
}

#[test]
fn a_large_run_that_is_chosen_is_shown_while_it_is_read() {
    let world = World::new(tapes::prompts(MANY));
    let tape = world.tape.to_str().unwrap();
    // Without a cache, it is read anew each time.
    fs::write(world.directory.path().join(".cache"), "").unwrap();
    let mut pty = world.command(&["open", tape]);
    wait_for(&mut pty, "step 120000/120000");
    pty.send(b"q").unwrap();
    assert!(end(&mut pty).success());
    let mut pty = world.command(&[]);
    wait_for(&mut pty, "Open a run");
    wait_for(&mut pty, "run.jsonl");
    pty.send(b"\r").unwrap();
    wait_for(&mut pty, "reading ");
    wait_for(&mut pty, "step 1/");
    wait_for(&mut pty, "step 120000/120000");
    pty.send(b"q").unwrap();
    assert!(end(&mut pty).success());
}
