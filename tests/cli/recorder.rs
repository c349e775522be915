//! A recorder that runs, what is said to it, and what it wrote.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::world::World;

/// A recorder that runs.
pub(crate) struct Recorder {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) answers: BufReader<ChildStdout>,
}

impl Recorder {
    pub(crate) fn start(world: &World, arguments: &str) -> Self {
        let mut program = world.program();
        let words = arguments.split_whitespace();
        Self::spawn(program.args(["record", "--stdin"]).args(words))
    }

    /// One that is started by another command.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        Self {
            input: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }

    /// Says an event, and waits for the answer.
    pub(crate) fn say(&mut self, event: Value) -> Value {
        self.write(format!("{event}\n").as_bytes());
        self.answer()
    }

    pub(crate) fn call(&mut self, id: &str, args: Value) {
        let call = json!({"kind": "tool.call", "call": id, "name": "bash", "args": args});
        assert!(self.say(call)["seq"].is_u64());
    }

    /// Ends a call; how many changes were found.
    pub(crate) fn result(&mut self, id: &str) -> u64 {
        let result = json!({"kind": "tool.result", "call": id, "output": ""});
        self.say(result)["changes"].as_u64().unwrap()
    }

    /// Ends the input; the code that the program ends with.
    pub(crate) fn end(mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

/// The events of a tape.
pub(crate) fn events(world: &World, tape: &str) -> Vec<Value> {
    let text = fs::read_to_string(world.path(tape)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What the events between a call and its result say of files: kind, path, and whose it is.
pub(crate) fn changes(world: &World, tape: &str) -> String {
    let mut text = String::new();
    for event in events(world, tape) {
        let kind = event["kind"].as_str().unwrap();
        if !kind.starts_with("fs.") {
            continue;
        }
        let _ = write!(
            text,
            "{} {}",
            kind.trim_start_matches("fs."),
            event["path"].as_str().unwrap()
        );
        for (field, sign) in [("from", "<-"), ("target", "->"), ("by", "")] {
            if let Some(word) = event[field].as_str() {
                let _ = write!(text, " {sign}{word}");
            }
        }
        if kind == "fs.chmod" {
            let _ = write!(text, " {}", event["mode"].as_str().unwrap());
        }
        if let Some(call) = event["call"].as_str() {
            let _ = write!(text, " [{call}]");
        }
        if let Some(candidates) = event.get("candidates") {
            let _ = write!(text, " {candidates}");
        }
        text.push('\n');
    }
    text
}

#[track_caller]
pub(crate) fn check_whole(world: &World, tape: &str) {
    let run = world.run(&["verify", tape]);
    assert_eq!(run.code(), 0, "{}", run.stdout());
}

/// The last state of a tape, checked out, is the directory as it is.
#[track_caller]
pub(crate) fn check_same_tree(world: &World, tape: &str, directory: &str) {
    let copy = format!("{directory}-copy");
    let run = world.run(&["checkout", tape, &copy]);
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(tree(&world.path(&copy)), tree(&world.path(directory)));
}

/// Every path below a directory, with its sort, mode and content.
fn tree(directory: &Path) -> Vec<(OsString, u32, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in fs::read_dir(&at).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(directory).unwrap().as_os_str().to_owned();
            let seen = entry.metadata().unwrap();
            let mode = seen.permissions().mode() & 0o777;
            if seen.is_symlink() {
                rows.push((
                    name,
                    mode,
                    fs::read_link(&path).unwrap().into_os_string().into_vec(),
                ));
            } else if seen.is_dir() {
                rows.push((name, mode, b"(directory)".to_vec()));
                pending.push(path);
            } else {
                rows.push((name, mode, fs::read(&path).unwrap()));
            }
        }
    }
    rows.sort();
    rows
}
