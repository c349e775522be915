//! A run and its forks, for views of them: what a fork may hold stands in one of them, so that
//! nothing has to be run for a picture.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::model::{
    BlockKind, Body, Edit, EditOf, Event, ModelBlock, Outcome, Seq, StepNumber, Via,
};
use jukebox::tape::{RecorderOptions, Untimed};
use serde_json::{Value, json};

/// The run, and the forks that lie beside it.
#[derive(Debug)]
pub(crate) struct Family {
    /// The run.
    pub run: PathBuf,
    /// A fork of it at step 16, with answers of every sort.
    pub checked: PathBuf,
    /// A fork of it at step 18, of which nothing is known but the edit.
    pub passed: PathBuf,
    /// A fork of the first one.
    pub again: PathBuf,
}

impl Family {
    /// Makes them in a directory, from a copy of the bug hunt.
    pub(crate) fn build(directory: &Path) -> Result<Self, Box<dyn Error>> {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-tapes/bug-hunt.jsonl");
        let run = directory.join("run.jsonl");
        fs::copy(demo, &run)?;
        let checked = fork(&run, Edited::response(16, 41), "script", checked())?;
        let passed = fork(&run, Edited::result(18, 46), "stop", [passed()])?;
        let again = fork(
            &checked,
            Edited::response(16, 41),
            "stop",
            [says("I ask first: which one is right?", Via::Edit)],
        )?;
        Ok(Self {
            run,
            checked,
            passed,
            again,
        })
    }
}

/// Where a fork differs: the step, and the event whose place its first one takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edited {
    of: EditOf,
    step: u32,
    seq: u64,
}

impl Edited {
    /// Another response of the model.
    pub(crate) const fn response(step: u32, seq: u64) -> Self {
        let of = EditOf::Response;
        Self { of, step, seq }
    }

    /// Another result of a call.
    pub(crate) const fn result(step: u32, seq: u64) -> Self {
        let of = EditOf::Result;
        Self { of, step, seq }
    }
}

/// Makes a fork of a tape beside it. Its title is that of its first event.
pub(crate) fn fork(
    tape: &Path,
    edited: Edited,
    then: &str,
    events: impl IntoIterator<Item = Event>,
) -> Result<PathBuf, Box<dyn Error>> {
    let run = Debugger::open(Source::Path(tape.to_owned()), &OpenOptions::default())?;
    let mut events = events.into_iter();
    let first = events.next().ok_or("a fork has an event of its own")?;
    let edit = Edit {
        of: edited.of,
        step: StepNumber(edited.step),
        branch: None,
        seq: Some(Seq(edited.seq)),
        path: None,
        title: first.head.title.clone().unwrap_or_default(),
        then: Some(then.to_owned()),
    };
    let options = RecorderOptions {
        untimed: Untimed::AsBefore,
        ..RecorderOptions::default()
    };
    let mut begun = run.begin_fork(Seq(edited.seq - 1), edit, None, options)?;
    for event in [first].into_iter().chain(events) {
        begun.recorder.append(event)?;
    }
    Ok(begun.path)
}

/// The model says this.
pub(crate) fn says(words: &str, via: Via) -> Event {
    let body = Body::ModelResponse {
        model: None,
        blocks: vec![ModelBlock {
            kind: BlockKind::Text,
            text: words.to_owned(),
            call: None,
            data: Value::Null,
        }],
        stop: None,
        usage: None,
        outcome: Outcome::Ok,
        duration: None,
    };
    labelled(Event::new(body).in_call(words).titled(words), Some(via))
}

fn labelled(mut event: Event, via: Option<Via>) -> Event {
    event.head.via = via;
    event
}

/// A call, and what it returned; nothing where nobody could answer.
fn called(tool: &str, title: &str, via: Via) -> Vec<Event> {
    let is_answered = via != Via::Unknown;
    let call = Body::ToolCall {
        name: tool.to_owned(),
        arguments: json!({}),
    };
    let call = Event::new(call).in_call(title).titled(title);
    let mut events = vec![labelled(call, (!is_answered).then_some(via))];
    if is_answered {
        events.push(labelled(returned("done").in_call(title), Some(via)));
    }
    events
}

fn returned(output: &str) -> Event {
    Event::new(Body::ToolResult {
        outcome: Outcome::Ok,
        exit: Some(0),
        output: output.to_owned(),
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    })
}

/// What the first fork holds: an answer of every sort, and one that nobody gave.
fn checked() -> Vec<Event> {
    let mut events = vec![says(
        "I check the whole cart before I change it.",
        Via::Edit,
    )];
    events.extend(called("Write", "notes/today.md", Via::Rerun));
    events.extend(called("Bash", "sh tests/run.sh", Via::Recorded));
    events.push(says("The discount comes after the shipping.", Via::Script));
    events.extend(called("Bash", "cat data/large.csv", Via::Stale));
    events.push(says("I look that up.", Via::Live));
    events.extend(called(
        "WebFetch",
        "https://example.org/rules",
        Via::Unknown,
    ));
    let end = Body::End {
        outcome: Outcome::None,
    };
    let why = "nobody can answer WebFetch: no tool has the network";
    events.push(Event::new(end).titled(why));
    events
}

/// What the second fork holds: the tests passed.
fn passed() -> Event {
    let event = returned("ok. 12 passed").in_call("call-10");
    labelled(event.titled("ok. 12 passed"), Some(Via::Edit))
}
