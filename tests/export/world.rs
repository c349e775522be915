//! A place in which failed calls are exported and made again, by the program as people call it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jukebox::model::{Body, Event, FileChange, FileOp, Header, Outcome, SnapshotReason, TapePath};
use jukebox::tape::{Recorder, RecorderOptions};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{self, Run};

/// A directory with a home and a place for temporary files.
pub(crate) struct World {
    pub(crate) place: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let place = tempfile::Builder::new().prefix("export-").tempdir();
        let world = Self {
            place: place.unwrap(),
        };
        for name in ["home", "tmp"] {
            fs::create_dir(world.path(name)).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn settle(&self, command: &mut Command) {
        program::settle(command, self.place.path());
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        program::run(program::program(words, self.place.path()))
    }

    /// Makes cases again: the code and the report; `None`: this machine has no sandbox.
    pub(crate) fn test(&self, words: &[&str]) -> Option<(i32, Value)> {
        let run = self.run(&[&["test", "--json"], words].concat());
        if run.code == 4 {
            println!("skipped: {}", run.error);
            return None;
        }
        let report = serde_json::from_str(&run.output);
        assert!(report.is_ok(), "{}{}", run.output, run.error);
        Some((run.code, report.unwrap()))
    }
}

pub(crate) fn verdicts(report: &Value) -> Vec<&str> {
    let rows = report["rows"].as_array().unwrap().iter();
    rows.map(|row| row["verdict"].as_str().unwrap()).collect()
}

pub(crate) fn demo(name: &str) -> String {
    let demos = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-tapes");
    demos.join(name).to_str().unwrap().to_owned()
}

/// Every file below a directory, with its bytes.
pub(crate) fn all_of(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(place) = left.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A call that is told, and what came of it.
pub(crate) struct Told<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: Value,
    pub(crate) said: &'a str,
    pub(crate) exit: Option<i32>,
    pub(crate) outcome: Outcome,
}

/// A tape by hand: files, then events, then one call on them.
pub(crate) fn tape(
    world: &World,
    files: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)],
    before: &[Event],
    told: &Told<'_>,
) {
    let events = [before, &call("c", told)].concat();
    tape_by(world, header(), files, &events);
}

/// Of a run in a directory of somebody's home.
pub(crate) fn header() -> Header {
    Header {
        root: Some("/home/nobody-here/app".to_owned()),
        ..Header::default()
    }
}

/// A tape by hand with this header: files, then events.
pub(crate) fn tape_by(
    world: &World,
    header: Header,
    files: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)],
    events: &[Event],
) {
    let tape = world.path("run.jsonl");
    let _ = fs::remove_file(&tape);
    let mut recorder = Recorder::create(&tape, header, RecorderOptions::default()).unwrap();
    for (name, bytes) in files {
        let seen = FileChange {
            op: FileOp::Observe,
            mode: Some(0o644),
            ..FileChange::write(TapePath::new(name).unwrap(), bytes.as_ref())
        };
        recorder.append(Event::new(Body::File(seen))).unwrap();
    }
    recorder.snapshot(SnapshotReason::Start).unwrap();
    for event in events {
        recorder.append(event.clone()).unwrap();
    }
    recorder.close(Outcome::Failed).unwrap();
}

/// The events of a call.
pub(crate) fn call(id: &str, told: &Told<'_>) -> [Event; 2] {
    let call = Body::ToolCall {
        name: told.name.to_owned(),
        arguments: told.arguments.clone(),
    };
    let result = Body::ToolResult {
        outcome: told.outcome,
        exit: told.exit,
        output: told.said.to_owned(),
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    };
    [call, result].map(|body| Event::new(body).in_call(id))
}

/// A tape by hand: files, and one call on them that failed.
pub(crate) fn tape_of(
    world: &World,
    files: &[(&str, &[u8])],
    name: &str,
    arguments: &Value,
    said: &str,
) {
    let told = Told {
        name,
        arguments: arguments.clone(),
        said,
        exit: None,
        outcome: Outcome::Failed,
    };
    tape(world, files, &[], &told);
}

/// A command that ended with a code.
pub(crate) fn ran<'a>(command: &str, said: &'a str, exit: i32) -> Told<'a> {
    Told {
        name: "Bash",
        arguments: serde_json::json!({ "command": command }),
        said,
        exit: Some(exit),
        outcome: if exit == 0 {
            Outcome::Ok
        } else {
            Outcome::Failed
        },
    }
}

/// Exports the failed call of the tape into `case`, and reads the manifest.
pub(crate) fn exported(world: &World, words: &[&str]) -> Value {
    exported_as(world, "case", words)
}

/// Exports the failed call of the tape, and reads the manifest.
pub(crate) fn exported_as(world: &World, case: &str, words: &[&str]) -> Value {
    let start = ["export", "run.jsonl@fail", "-o", case];
    let run = world.run(&[&start[..], words].concat());
    assert_eq!(run.code, 0, "{}", run.error);
    let manifest = fs::read(world.path(case).join("case.json")).unwrap();
    serde_json::from_slice(&manifest).unwrap()
}
