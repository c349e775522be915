//! Who wrote the lines of a file of many versions, beside reading the last one.

use std::fmt::Write as _;

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::model::{Body, Event, FileChange, Header, Outcome, Place, TapePath};
use jukebox::tape::{Recorder, RecorderOptions, SyncPolicy};

use crate::beside::beside;
use crate::{Result, Scratch};

const LINES: usize = 10_000;
const VERSIONS: usize = 1_000;

pub(crate) fn run() -> Result {
    let scratch = Scratch::new("blamed.jsonl");
    let path = TapePath::new("src/large.rs")?;
    let options = RecorderOptions {
        sync: SyncPolicy::None,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::create(&scratch.0, Header::default(), options)?;
    let mut lines: Vec<String> = (0..LINES)
        .map(|line| format!("    let value_{line} = compute({line});\n"))
        .collect();
    for version in 0..VERSIONS {
        let call = format!("c{version}");
        let body = Body::ToolCall {
            name: "Edit".to_owned(),
            arguments: serde_json::Value::Null,
        };
        recorder.append(Event::new(body).in_call(&call))?;
        // Three lines in a row become two or four, somewhere else each time.
        let at = version * 7919 % (lines.len() - 3);
        let new = (0..2 + version % 3).map(|line| {
            let mut text = String::new();
            let _ = writeln!(text, "    // {version}.{line}: written anew");
            text
        });
        lines.splice(at..at + 3, new);
        let change = FileChange::write(path.clone(), lines.concat().as_bytes());
        recorder.append(Event::new(Body::File(change)).in_call(&call))?;
    }
    recorder.close(Outcome::Ok)?;
    let run = Debugger::open(Source::Path(scratch.0.clone()), &OpenOptions::default())?;
    let end = run.locate(&Place::END)?.cursor;
    let told = run.blame(end, &path)?;
    if told.lines.len() != lines.len() {
        return Err("not every line was told of".into());
    }
    let what = format!("{LINES} lines, {VERSIONS} versions");
    let blame = || run.blame(end, &path);
    let read = || run.file(end, &path);
    beside(&what, (1, "a file"), blame, "reading the last one", read);
    Ok(())
}
