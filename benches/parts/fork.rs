//! What it costs to make a fork of a long run and to open one, by where it begins; and what a
//! fork of a large tape weighs.
//!
//! The run is open when a fork of it is made, as it is on the screen: its tape is in the page
//! cache, and its index in memory. A fork is opened with its parent's index in the cache of the
//! user's, and with none: then its parent is read as far as they are the same.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jukebox::debugger::{
    Altered, Debugger, ForkEdit, ForkOptions, ForkThen, IndexCache, OpenOptions, Places, Source,
    StepOutput, WorkbenchConfig,
};
use jukebox::model::{Place, StepNumber, Target};

use crate::beside::{beside, within};
use crate::tapes::Shape;
use crate::{Result, Scratch};

/// A hundredth and a tenth of the tape of ten million steps.
const SCALES: [f64; 2] = [0.01, 0.1];
/// Of the large tape, enough to tell.
const WEIGHED: f64 = 0.1;
/// So long a person waits for something that follows a key.
const GIVEN: Duration = Duration::from_secs(1);
/// Steps that are looked at for one that can be altered.
const NEAR: u32 = 100;
/// So long it may take to keep an index.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn run() -> Result {
    for scale in SCALES {
        timed(scale)?;
    }
    weighed()
}

fn timed(scale: f64) -> Result {
    let (scratch, out) = (Scratch::new("fork"), Scratch::new("fork.out"));
    Shape::Steps.write(&scratch.0, scale, 1)?;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let cache = IndexCache::new(directory.path().to_owned(), "bench").for_tapes_from(1);
    let open = |path: &Path, cache: Option<IndexCache>| {
        let options = OpenOptions {
            places: Places {
                cache,
                ..Places::default()
            },
            ..OpenOptions::default()
        };
        Debugger::open(Source::Path(path.to_owned()), &options)
    };
    let run = open(&scratch.0, Some(cache.clone()))?;
    cache.finish(PATIENCE);
    let steps = steps_of(&run);
    for (words, step) in [
        ("at its first step", 1),
        ("in its middle", steps / 2),
        ("at its last step", steps.saturating_sub(NEAR)),
    ] {
        let (edit, options) = (altered(&run, step)?, options(&out.0));
        let fork = || {
            let made = run.fork(&edit, &options, &|| false, &mut |_, _| {});
            made.map(|made| made.steps.len())
        };
        let work = || {
            let _gone = fs::remove_file(&out.0);
            fork()
        };
        work()?;
        let what = format!("a fork of {steps} steps, {words}");
        within(&what, (1, "fork"), work, "a second", GIVEN);
        let reopen = |cache| open(&out.0, cache).map(|fork| steps_of(&fork));
        reopen(None)?;
        beside(
            &format!("{what}, opened"),
            (1, "fork"),
            || reopen(Some(cache.clone())),
            "without a cache",
            || reopen(None),
        );
    }
    Ok(())
}

/// What a fork weighs beside what it tells itself.
fn weighed() -> Result {
    let (scratch, out) = (Scratch::new("fork.big"), Scratch::new("fork.out"));
    Shape::Big.write(&scratch.0, WEIGHED, 1)?;
    let run = Debugger::open(Source::Path(scratch.0.clone()), &OpenOptions::default())?;
    let parent = fs::metadata(&scratch.0)?.len();
    let edit = altered(&run, steps_of(&run) / 2)?;
    run.fork(&edit, &options(&out.0), &|| false, &mut |_, _| {})?;
    let fork = fs::read(&out.0)?;
    let header = fork.iter().position(|byte| *byte == b'\n');
    let header = header.map_or(fork.len(), |end| end + 1);
    println!(
        "  a fork of a tape of {parent} bytes: {} bytes of its own events, and {header} of its header",
        fork.len() - header
    );
    Ok(())
}

fn steps_of(run: &Debugger) -> u32 {
    let summary = run.summary();
    summary.branches.first().map_or(0, |branch| branch.steps)
}

fn options(out: &Path) -> ForkOptions {
    ForkOptions {
        out: Some(out.to_owned()),
        then: ForkThen::Stop,
        volatile: Vec::new(),
        redacting: None,
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
    }
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
