//! Forks of real transcripts, where they are at hand: whatever a transcript lacks, a fork of it
//! is made, says how each answer came about, and why it ended.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]
#![expect(clippy::print_stdout, reason = "a test says what it looked at")]

#[path = "support/transcripts.rs"]
mod transcripts;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jukebox::debugger::{
    Altered, CheckoutOptions, Debugger, Editable, ForkEdit, ForkOptions, ForkThen, OpenOptions,
    Places, Source, Spot, StepOutput, WorkbenchConfig,
};
use jukebox::model::{BlockKind, Place, StepNumber, Target, Via};
use serde_json::Value;
use transcripts::{claude_code, files};

/// How many answers of forks came about in these ways.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Counts {
    rerun: usize,
    recorded: usize,
    unknown: usize,
}

struct World {
    place: tempfile::TempDir,
}

impl World {
    fn open(&self, transcript: &Path, base: Option<&Path>) -> Debugger {
        let options = OpenOptions {
            base: base.map(|base| base.to_str().unwrap().to_owned()),
            places: Places {
                state: Some(self.place.path().join("state")),
                imports: Some(self.place.path().join("data/imports")),
                ..Places::default()
            },
            ..OpenOptions::default()
        };
        Debugger::open(Source::Path(transcript.to_owned()), &options).unwrap()
    }

    fn options(&self, out: PathBuf) -> ForkOptions {
        ForkOptions {
            out: Some(out),
            then: ForkThen::Stop,
            volatile: Vec::new(),
            workbench: WorkbenchConfig {
                place: self.place.path().to_owned(),
                program: env!("CARGO_BIN_EXE_jukebox").into(),
                home: None,
                hidden: Vec::new(),
                environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
                root: None,
                keeps_directory: false,
                timeout: Duration::from_secs(2),
            },
            redacting: None,
        }
    }

    /// Forks a run at a step, and looks at what came of it.
    fn fork(&self, run: &Debugger, edit: &ForkEdit, counts: &mut Counts) {
        let out = self.place.path().join("fork.jsonl");
        let made = run.fork(edit, &self.options(out.clone()), &|| false, &mut |_, _| {});
        let made = made.unwrap();
        assert_eq!(made.steps[0].via, Via::Edit);
        let count = |via| made.steps.iter().filter(|step| step.via == via).count();
        counts.rerun += count(Via::Rerun);
        counts.recorded += count(Via::Recorded);
        counts.unknown += count(Via::Unknown);
        // What is not known is the last of all, and it is said why.
        let unknown = made.steps.iter().position(|step| step.via == Via::Unknown);
        assert!(unknown.is_none_or(|at| at + 1 == made.steps.len()));
        assert!(!made.stopped.to_string().is_empty());
        assert!(made.steps.iter().all(|step| step.row.is_some()));
        std::fs::remove_file(out).unwrap();
    }
}

/// The first and the last step at which something can be altered, and between them the middle
/// one of the answers that edit a file, or else an answer with a call.
fn places(run: &Debugger) -> Vec<(Spot, Editable)> {
    let last = run.locate(&Place::END).unwrap().step.0;
    let editable = |number: u32| {
        let target = Target::Step(StepNumber(number));
        let branch = None;
        let spot = run.locate(&Place { branch, target }).ok()?;
        Some((spot, run.editable(spot).ok()?))
    };
    let calling = |tools: &[&str]| {
        let is_it = |(_, editable): &(Spot, Editable)| match &editable.output {
            StepOutput::Response(blocks) => blocks.iter().any(|block| {
                let is_call = block.kind == BlockKind::ToolCall;
                is_call && (tools.is_empty() || tools.contains(&block.text.as_str()))
            }),
            _ => false,
        };
        let found = (1..=last).filter_map(editable).filter(is_it);
        let mut found: Vec<(Spot, Editable)> = found.collect();
        (!found.is_empty()).then(|| found.swap_remove(found.len() / 2))
    };
    let first = (1..=last).find_map(editable);
    let edits = ["Write", "Edit", "MultiEdit"];
    let middle = calling(&edits).or_else(|| calling(&[]));
    let end = (1..=last).rev().find_map(editable);
    [first, middle, end].into_iter().flatten().collect()
}

/// Something else in the place of what a step gave: its words, and what its calls write or run.
fn altered(output: &StepOutput) -> StepOutput {
    let mut output = output.clone();
    match &mut output {
        StepOutput::Prompt { text, .. } => text.push_str(" And else?"),
        StepOutput::Result { output, .. } => output.push_str("\nelse"),
        StepOutput::Response(blocks) => {
            for block in blocks {
                match block.kind {
                    BlockKind::Text => block.text.push_str(" Or else."),
                    BlockKind::ToolCall => {
                        for field in ["content", "new_string", "command"] {
                            if let Some(Value::String(text)) = block.data.get_mut(field) {
                                text.push_str(" # else");
                            }
                        }
                    }
                    BlockKind::Thinking | BlockKind::Other => {}
                }
            }
        }
    }
    output
}

#[test]
fn forks_of_real_transcripts_are_made_with_and_without_a_base() {
    let (mut without, mut with) = (Counts::default(), Counts::default());
    for transcript in claude_code() {
        let world = World {
            place: tempfile::tempdir().unwrap(),
        };
        let run = world.open(&transcript, None);
        forks(&world, &run, &mut without);
        // The files as they are known in the end: many are so only from the middle on.
        let base = world.place.path().join("base");
        let end = run.locate(&Place::END).unwrap().cursor;
        let written = run.checkout(end, &base, CheckoutOptions::default(), &mut |_| {
            ControlFlow::Continue(())
        });
        drop(written.unwrap());
        if base.is_dir() && !files(&base, "").is_empty() {
            forks(&world, &world.open(&transcript, Some(&base)), &mut with);
        } else {
            forks(&world, &run, &mut with);
        }
    }
    println!("without a base {without:?}, with one {with:?}");
    // A base makes more of the files known, and never less.
    assert!(with.rerun >= without.rerun, "{without:?} {with:?}");
    assert!(with.unknown <= without.unknown, "{without:?} {with:?}");
    assert!(without.rerun > 0 || claude_code().is_empty(), "{without:?}");
}

/// Forks a run at all of its places.
fn forks(world: &World, run: &Debugger, counts: &mut Counts) {
    for (at, editable) in places(run) {
        let edited = altered(&editable.output);
        let what = Altered::Output {
            editable: Box::new(editable),
            edited,
        };
        world.fork(run, &ForkEdit { at, what }, counts);
    }
}
