//! Looking for the step that broke it, beside the time that the command takes by itself.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use jukebox::debugger::{
    Backend, BisectNews, BisectOptions, BisectOutcome, BisectScope, Debugger, OpenOptions,
    Predicate, ProbeCommand, Question, Sandboxing, Source, Test,
};
use jukebox::model::{Place, StepNumber, TapePath};
use serde_json::json;

use crate::beside::within;
use crate::{Result, Scratch};

const STEPS: usize = 100_000;
const BROKEN_FROM: usize = 61_803;
const FILES: usize = 1_000;
/// What the command takes.
const EACH: Duration = Duration::from_millis(10);

pub(crate) fn run() -> Result {
    let scratch = Scratch::new("bisected.jsonl");
    std::fs::write(&scratch.0, tape())?;
    let run = Debugger::open(Source::Path(scratch.0.clone()), &OpenOptions::default())?;
    let to = run.locate(&Place::END)?;
    let options = BisectOptions {
        from: run.spot(run.line_of(to), StepNumber(1)),
        to,
        scope: BisectScope::Edge,
    };
    let script = "sleep 0.01; grep -q fine state";
    let command = Question::Command(ProbeCommand {
        arguments: ["/bin/sh", "-c", script].map(Into::into).into(),
        backend: Backend::Overlay,
        sandboxing: Sandboxing {
            program: PathBuf::from(env!("CARGO_BIN_EXE_jukebox")),
            home: None,
            hidden: Vec::new(),
            temporary: std::env::temp_dir(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        },
        timeout: None,
    });
    let predicate = Question::Predicate(Predicate {
        path: TapePath::new("state")?,
        test: Test::grep("^fine$")?,
        is_negated: false,
    });
    let find = |question: &Question| -> Result<usize> {
        let tell = &mut |_: BisectNews<'_>| ControlFlow::Continue(());
        let found = run.bisect(&options, question, tell)?;
        match found.outcome {
            BisectOutcome::Found(first) if first.bad.step.0 as usize == BROKEN_FROM => {
                Ok(found.probes.len())
            }
            other => Err(format!("it was not found: {other:?}").into()),
        }
    };
    let looks = find(&command)?;
    find(&predicate)?;
    let theirs = EACH * u32::try_from(looks)?;
    let what = format!("{STEPS} steps, {FILES} files, {looks} runs of a command");
    let baseline = "the command's own time";
    within(&what, (1, "in all"), || find(&command), baseline, theirs);
    let what = format!("{STEPS} steps, a pattern in a file");
    within(&what, (1, "in all"), || find(&predicate), baseline, theirs);
    Ok(())
}

/// A run in which each step writes one of many files, and one breaks another.
fn tape() -> String {
    let mut tape = String::from("{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"t\"}\n");
    let mut seq = 0;
    let mut say = |mut event: serde_json::Value| {
        seq += 1;
        event["seq"] = seq.into();
        let _ = writeln!(tape, "{event}");
    };
    say(json!({"kind": "prompt", "name": "user", "text": "go"}));
    say(json!({"kind": "fs.write", "path": "state", "text": "fine\n"}));
    for step in 2..=STEPS {
        let call = format!("c{step}");
        say(json!({"kind": "tool.call", "call": call, "name": "Edit"}));
        if step == BROKEN_FROM {
            say(json!({"kind": "fs.write", "call": call, "path": "state", "text": "broken\n"}));
        } else {
            let path = format!("src/d{}/f{}", step % 10, step % FILES);
            let text = format!("{step}\n");
            say(json!({"kind": "fs.write", "call": call, "path": path, "text": text}));
        }
    }
    tape
}
