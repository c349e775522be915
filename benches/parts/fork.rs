//! What it costs to begin a fork of a long run, by where it begins.

use std::fs;
use std::time::Duration;

use jukebox::debugger::{
    Altered, Debugger, ForkEdit, ForkOptions, ForkThen, OpenOptions, Source, StepOutput,
    WorkbenchConfig,
};
use jukebox::model::{Place, StepNumber, Target};

use crate::beside::within;
use crate::tapes::Shape;
use crate::{Result, Scratch};

/// A tenth of the tape of ten million steps.
const SCALE: f64 = 0.1;
/// So long a person waits for something that follows a key.
const GIVEN: Duration = Duration::from_secs(1);
/// Steps that are looked at for one that can be altered.
const NEAR: u32 = 100;

pub(crate) fn run() -> Result {
    let scratch = Scratch::new("fork");
    Shape::Steps.write(&scratch.0, SCALE, 1)?;
    let run = Debugger::open(Source::Path(scratch.0.clone()), &OpenOptions::default())?;
    let summary = run.summary();
    let steps = summary.branches.first().map_or(0, |branch| branch.steps);
    for (words, step) in [
        ("at its first step", 1),
        ("in its middle", steps / 2),
        ("at its last step", steps.saturating_sub(NEAR)),
    ] {
        let edit = altered(&run, step)?;
        let out = Scratch::new("fork.out");
        let options = ForkOptions {
            out: Some(out.0.clone()),
            then: ForkThen::Stop,
            volatile: Vec::new(),
            workbench: WorkbenchConfig {
                place: std::env::temp_dir(),
                program: env!("CARGO_BIN_EXE_jukebox").into(),
                home: None,
                hidden: Vec::new(),
                environment: Vec::new(),
                root: None,
                keeps_directory: false,
                timeout: GIVEN,
            },
            redacting: None,
        };
        let work = || {
            let made = run
                .fork(&edit, &options, &|| false, &mut |_, _| {})
                .map(|made| made.steps.len());
            let _gone = fs::remove_file(&out.0);
            made
        };
        work()?;
        let what = format!("a fork of {steps} steps, {words}");
        within(&what, (1, "fork"), work, "a second", GIVEN);
    }
    Ok(())
}

/// Something else in the place of what the first step from here on gave.
fn altered(run: &Debugger, from: u32) -> Result<ForkEdit> {
    for step in from..from + NEAR {
        let target = Target::Step(StepNumber(step));
        let at = run.locate(&Place {
            branch: None,
            target,
        })?;
        let Ok(editable) = run.editable(at) else {
            continue;
        };
        let edited = match editable.output.clone() {
            StepOutput::Prompt {
                role, attachments, ..
            } => StepOutput::Prompt {
                role,
                text: "something else".to_owned(),
                attachments,
            },
            StepOutput::Response(_) => StepOutput::Response(Vec::new()),
            StepOutput::Result {
                outcome,
                exit,
                attachments,
                detail,
                ..
            } => StepOutput::Result {
                outcome,
                exit,
                output: "something else".to_owned(),
                attachments,
                detail,
            },
        };
        let what = Altered::Output {
            editable: Box::new(editable),
            edited,
        };
        return Ok(ForkEdit { at, what });
    }
    Err("the tape has no step that could be altered there".into())
}
