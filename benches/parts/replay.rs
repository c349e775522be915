//! What `jukebox replay` costs a tool call, beside running the same commands one after the other
//! in one sandbox.
//!
//! Each replayed command sees the files as the tape has them before it, is ended with all that it
//! leaves running, and is held against what was recorded: outcome, words, files. The plain ones
//! do the same work in the sandbox and are looked at by nobody. Of the commands, one half only
//! reads, and the other half leaves another file each time.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jukebox::debugger::{
    Debugger, OpenOptions, ReplayOptions, Source, VolatileParts, WorkbenchConfig,
};
use jukebox::model::{
    Body, Event, FileChange, FileOp, Header, Outcome, Place, SnapshotReason, StepNumber, TapePath,
};
use jukebox::sandbox::{Backend, Command, Config, Policy, Sandbox};
use jukebox::tape::{Recorder, RecorderOptions};
use serde_json::{Value, json};

use crate::beside::beside;
use crate::{Result, Scratch};

const CALLS: usize = 40;
const FILES: [usize; 2] = [20, 1000];
/// Where the recorded run had its workspace.
const ROOT: &str = "/workspace/of-a-run";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) fn run() -> Result {
    for files in FILES {
        timed(files)?;
    }
    Ok(())
}

/// Times calls on a workspace of so many files.
fn timed(files: usize) -> Result {
    let scratch = Scratch::new("replayed.jsonl");
    record(&scratch.0, files)?;
    let run = Debugger::open(Source::Path(scratch.0.clone()), &OpenOptions::default())?;
    let end = run.locate(&Place::END)?;
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let options = ReplayOptions {
        line: run.line_of(end),
        from: StepNumber(1),
        to: end.step,
        volatile: VolatileParts::default(),
        workbench: WorkbenchConfig {
            place: place.path().to_owned(),
            program: PathBuf::from(env!("CARGO_BIN_EXE_jukebox")),
            home: None,
            hidden: Vec::new(),
            environment: vec![("PATH".into(), PATH.into())],
            root: None,
            keeps_directory: false,
            timeout: Duration::from_mins(1),
        },
    };
    let replay = || run.replay(&options, &mut |_| ControlFlow::Continue(()));
    let found = replay()?;
    if found.attempted() != CALLS || !found.is_whole() {
        return Err(format!("it does not reproduce: {:?}", found.calls).into());
    }
    let workspace = place.path().join("workspace");
    for number in 0..files {
        let file = workspace.join(name(number));
        fs::create_dir_all(file.parent().unwrap_or(&workspace))?;
        fs::write(file, text(number))?;
    }
    plain(&workspace)?;
    let what = format!("{CALLS} calls on {files} files, made again");
    let amount = (CALLS as u64, "a call");
    beside(&what, amount, replay, "the commands in one sandbox", || {
        plain(&workspace).is_ok()
    });
    Ok(())
}

/// Runs the same commands in one sandbox.
fn plain(workspace: &Path) -> Result {
    let mut sandbox = Sandbox::start(&Config {
        workspace: workspace.to_owned(),
        seen_at: Some(ROOT.into()),
        helper: PathBuf::from(env!("CARGO_BIN_EXE_jukebox")),
        backend: Backend::Overlay,
        layers: None,
        policy: Policy::for_home(None),
    })?;
    for number in 0..CALLS {
        let mut command = Command::new(["bash", "-c", &script(number)]);
        command.environment = vec![("PATH".into(), PATH.into())];
        sandbox.exec(&command, &mut |_| ControlFlow::Continue(()))?;
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("src/d{}/f{number}", number % 10)
}

fn text(number: usize) -> String {
    format!("file {number}\n").repeat(20)
}

/// The command of a call.
fn script(number: usize) -> String {
    if number.is_multiple_of(2) {
        format!("grep -c file {}", name(number % 20))
    } else {
        format!("echo {number} > out-{number}")
    }
}

/// Records the run of these commands as it would go.
fn record(path: &Path, files: usize) -> Result {
    let header = Header {
        root: Some(ROOT.to_owned()),
        ..Header::default()
    };
    let mut recorder = Recorder::create(path, header, RecorderOptions::default())?;
    for number in 0..files {
        let file = written(&name(number), &text(number))?;
        let seen = FileChange {
            op: FileOp::Observe,
            ..file
        };
        recorder.append(Event::new(Body::File(seen)))?;
    }
    recorder.snapshot(SnapshotReason::Start)?;
    for number in 0..CALLS {
        let call = format!("c{number}");
        let asked = Body::ToolCall {
            name: "Bash".to_owned(),
            arguments: json!({"command": script(number)}),
        };
        recorder.append(Event::new(asked).in_call(&call))?;
        let is_reading = number.is_multiple_of(2);
        if !is_reading {
            let file = written(&format!("out-{number}"), &format!("{number}\n"))?;
            recorder.append(Event::new(Body::File(file)).in_call(&call))?;
        }
        let told = Body::ToolResult {
            outcome: Outcome::Ok,
            exit: Some(0),
            output: if is_reading { "20\n" } else { "" }.to_owned(),
            duration: None,
            attachments: Vec::new(),
            detail: Value::Null,
        };
        recorder.append(Event::new(told).in_call(&call))?;
    }
    recorder.close(Outcome::Ok)?;
    Ok(())
}

fn written(path: &str, text: &str) -> Result<FileChange> {
    let change = FileChange::write(TapePath::new(path)?, text.as_bytes());
    Ok(FileChange {
        mode: Some(0o644),
        ..change
    })
}
