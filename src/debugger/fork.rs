//! A fork of a run: what of a step can be altered, what would follow from it, and the fork
//! itself, as a tape beside the run's own.
//!
//! The run is only read. Tools run in the sandbox on files of the fork's own, and nothing is
//! sent anywhere but to a model that the user named; what that means is said in
//! [`crate::replay::fork`].

mod agent;
mod bench;
mod editable;
mod model;
mod outward;
mod plan;

use std::io;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::begun::Begun;
use super::models::MODELS;
use super::{
    BeginForkError, BegunFork, Debugger, OpenError, Redacting, SecretSource, Spot, StepRow,
};
use crate::model::{Content, Edit, EditOf, Event, FileChange, FileOp, Seq, TapePath, Via};
use crate::replay::fork::{self as engine, Change, Fork, Then};
use crate::replay::workbench::WorkbenchConfig;
use crate::tape::{RecorderOptions, Untimed};
use crate::text::SafeText;

pub use crate::replay::document::{Document, DocumentError, Output, Reading};
pub use crate::replay::fork::{ForkError, Script, ScriptError, Stopped};
pub use crate::replay::request::{Miss, UnknownPart, VolatileParts};
pub use agent::{AgentFailure, AgentForked, ForkAgent};
pub use editable::{EditRefused, Editable};
pub use model::{Endpoint, EndpointError, FirstRequest, ForkModel, ModelRefused};
pub(super) use outward::FIRST_FRAMES;
pub use plan::{ForkPlan, PlannedCall, PlannedHow};

/// The key under which a header lists what may differ in requests and results.
const VOLATILE: &str = "volatile";

/// The one change that makes a fork differ.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkEdit {
    /// The step.
    pub at: Spot,
    /// What is changed.
    pub what: Altered,
}

/// What is changed at a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Altered {
    /// What it gave.
    Output {
        /// What the tape holds.
        editable: Box<Editable>,
        /// What stands in its place.
        edited: Output,
    },
    /// A file, behind it: these bytes, or none: it is removed.
    File(TapePath, Option<Vec<u8>>),
}

impl ForkEdit {
    /// The position of the parent's first event that the fork does not share.
    fn first_replaced(&self) -> u32 {
        match &self.what {
            Altered::Output { editable, .. } => editable.first,
            Altered::File(..) => self.at.cursor.position,
        }
    }
}

/// How a fork goes on behind its edit.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ForkThen {
    /// Where the model must speak, the fork ends.
    #[default]
    Stop,
    /// Answers that the user supplies, in order.
    Script(Script),
    /// The run's own answers, though they answer other requests.
    AssumeRecorded,
    /// A model that the user configured.
    Model(Box<ForkModel>),
}

impl ForkThen {
    /// A word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Script(_) => "script",
            Self::AssumeRecorded => "assume-recorded",
            Self::Model(_) => "model",
        }
    }
}

/// How a fork is made.
#[derive(Clone, Debug)]
pub struct ForkOptions {
    /// The fork's tape, a new file; `None`: one beside the run's, or among the user's own.
    pub out: Option<PathBuf>,
    /// How it goes on.
    pub then: ForkThen,
    /// What may differ in requests and results, beside what the tape itself says.
    pub volatile: Vec<String>,
    /// What calls are answered with. Where the run had its workspace is filled in.
    pub workbench: WorkbenchConfig,
    /// What is taken out before anything is written; `None`: nothing.
    pub redacting: Option<Redacting>,
}

/// What forks are made with, whatever the edit.
#[derive(Clone, Debug)]
pub struct ForkGround {
    /// What calls are answered with.
    pub workbench: WorkbenchConfig,
    /// Where it is said what is a secret.
    pub secrets: SecretSource,
}

/// A fork was not made. What was begun of it was removed again, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum ForkFailure {
    /// It could not be made to its end.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// What may differ is not named right.
    #[error(transparent)]
    Volatile(#[from] UnknownPart),
    /// The place has no event before it that could be shared.
    #[error("nothing stands before this place that a fork could share")]
    NothingBefore,
    /// It could not be begun.
    #[error(transparent)]
    Begin(#[from] BeginForkError),
    /// The model cannot go on with it.
    #[error(transparent)]
    Model(#[from] ModelRefused),
    /// The agent did not go on with it.
    #[error(transparent)]
    Agent(Box<AgentFailure>),
    /// What was made could not be opened.
    #[error("the fork was made, and cannot be opened: {0}")]
    Open(#[from] OpenError),
}

impl From<io::Error> for ForkFailure {
    fn from(error: io::Error) -> Self {
        Self::Fork(error.into())
    }
}

/// A fork that was made.
#[derive(Debug)]
pub struct Forked {
    /// Its tape.
    pub path: PathBuf,
    /// What makes it differ, as its header says it.
    pub edit: Edit,
    /// Its answers, in order.
    pub steps: Vec<ForkedStep>,
    /// Why it ended.
    pub stopped: Stopped,
    /// Changes of the parent that were nobody's, and were left out.
    pub left_out: usize,
    /// The fork, opened.
    pub run: Debugger,
}

/// An answer in a fork.
#[derive(Clone, Debug)]
pub struct ForkedStep {
    /// The row of its step.
    pub row: Option<StepRow>,
    /// The number of its event.
    pub seq: Seq,
    /// How it came about.
    pub via: Via,
    /// Where it differs from what the tape holds in its place.
    pub miss: Option<MissRow>,
}

/// A place at which an answer differs, safe to show.
#[derive(Clone, Debug)]
pub struct MissRow {
    /// Where.
    pub path: SafeText,
    /// What was recorded there.
    pub recorded: Option<SafeText>,
    /// What stands there now.
    pub replayed: Option<SafeText>,
}

impl From<Miss> for MissRow {
    fn from(miss: Miss) -> Self {
        let line = |text: String| SafeText::line(&text);
        Self {
            path: line(miss.path),
            recorded: miss.recorded.map(line),
            replayed: miss.replayed.map(line),
        }
    }
}

impl Forked {
    /// How many answers came about in each way, those of which there are any.
    pub fn shares(&self) -> Vec<(Via, usize)> {
        let count = |via: &Via| self.steps.iter().filter(|step| step.via == *via).count();
        let counts = Via::ALL.into_iter().map(|via| (via, count(&via)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

impl Debugger {
    /// Makes a fork. `is_stopped` breaks it off: what it holds by then stays. `told` hears of
    /// each answer, and how it came about, as soon as the fork holds it.
    ///
    /// Costs a copy of what is known of the events before the edit, and whatever runs.
    pub fn fork(
        &self,
        edit: &ForkEdit,
        options: &ForkOptions,
        is_stopped: &dyn Fn() -> bool,
        told: &mut dyn FnMut(Seq, Via),
    ) -> Result<Forked, ForkFailure> {
        let first = edit.first_replaced();
        let volatile = self.volatile_parts(&options.volatile)?;
        let described = self.described(edit, options.then.as_str(), options.redacting.as_ref());
        let mut live = match &options.then {
            ForkThen::Model(model) => {
                let live = self.live_model(edit, model, is_stopped)?;
                self.first_of(&live, edit, model)?;
                Some(live)
            }
            _ => None,
        };
        let last = first.checked_sub(1).ok_or(ForkFailure::NothingBefore)?;
        let shared = self.tape.index.events.seq(last);
        let recording = RecorderOptions {
            untimed: Untimed::AsBefore,
            redacting: options.redacting.clone(),
            ..RecorderOptions::default()
        };
        let out = options.out.as_deref();
        let mut covers = Map::new();
        if let ForkThen::Model(model) = &options.then {
            covers.insert(MODELS.to_owned(), model.told().into());
        }
        let BegunFork { mut recorder, path } =
            self.begin_fork_saying(shared, (described.clone(), covers), out, recording)?;
        let begun = Begun::at(path.clone());
        recorder.foresee(&self.tape, first)?;
        let mut script;
        let then = match (&options.then, &mut live) {
            (ForkThen::AssumeRecorded, _) => Then::AssumeRecorded,
            (ForkThen::Script(answers), _) => {
                script = answers.clone();
                Then::Speaker(&mut script)
            }
            (ForkThen::Model(_), Some(live)) => Then::Speaker(live),
            (ForkThen::Stop | ForkThen::Model(_), _) => Then::Stop,
        };
        let mut bench = self.bench(edit.at, first, options.workbench.clone(), is_stopped);
        let mut tell = |answered: &engine::Answered| {
            told(answered.seq, answered.via);
            if is_stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let report = engine::run(Fork {
            change: change(edit),
            place: self.place_before(first, edit.at)?,
            rest: Box::new(self.events_along(edit.at, first..self.tape.index.events.len())),
            blobs: &self.tape,
            recorder,
            tools: &mut bench,
            then,
            volatile,
            outward: self.outward_calls(edit.at, first)?,
            tell: &mut tell,
        })?;
        begun.keep();
        let run = self.open_fork(&path)?;
        let steps = report.answers.into_iter().map(|answered| ForkedStep {
            row: run.row_of_event(answered.seq),
            seq: answered.seq,
            via: answered.via,
            miss: answered.miss.map(MissRow::from),
        });
        let steps = steps.collect();
        Ok(Forked {
            path,
            edit: described,
            steps,
            stopped: report.stopped,
            left_out: report.left_out,
            run,
        })
    }

    /// What may differ in requests and results: what the tape says, and what was named.
    pub fn volatile_words(&self, named: &[String]) -> Vec<String> {
        let listed = self.header.covers.get(VOLATILE).and_then(Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(Value::as_str);
        listed
            .map(str::to_owned)
            .chain(named.iter().cloned())
            .collect()
    }

    /// The same, as parts of requests and results.
    pub fn volatile_parts(&self, named: &[String]) -> Result<VolatileParts, UnknownPart> {
        let words = self.volatile_words(named);
        let root = self.header.root.as_deref();
        VolatileParts::read(words.iter().map(String::as_str), root, root)
    }

    /// What a header says of a fork. Where secrets are taken out, it says none: those that
    /// stand on the parent are not known yet when a header is written.
    fn described(&self, edit: &ForkEdit, then: &str, redacting: Option<&Redacting>) -> Edit {
        let line = self.line_of(edit.at);
        let name = self.tape.index.branches.get(usize::from(line));
        let (of, seq, path, title) = match &edit.what {
            Altered::Output { editable, edited } => {
                let of = match edited {
                    Output::Response(_) => EditOf::Response,
                    Output::Result { .. } => EditOf::Result,
                    Output::Prompt { .. } => EditOf::Prompt,
                };
                (of, Some(editable.seq), None, title_of(edited, redacting))
            }
            Altered::File(path, bytes) => {
                let verb = if bytes.is_some() { "write" } else { "remove" };
                let named =
                    Some(path).filter(|path| secret_in(path.as_bytes(), redacting).is_none());
                let name = named.map_or_else(|| "a file".to_owned(), TapePath::to_text);
                (EditOf::File, None, named.cloned(), format!("{verb} {name}"))
            }
        };
        Edit {
            of,
            step: edit.at.step,
            branch: name.filter(|_| line > 0).map(|branch| branch.name.clone()),
            seq,
            path,
            title,
            then: Some(then.to_owned()),
        }
    }

    /// The row of the step that an event is in.
    fn row_of_event(&self, seq: Seq) -> Option<StepRow> {
        let position = self.tape.index.events.position(seq)?;
        let spot = self.after_event(None, position);
        self.row(self.line_of(spot), spot.step)
    }

    /// The events of a line at these positions, in order.
    fn events_along(
        &self,
        at: Spot,
        positions: Range<u32>,
    ) -> impl Iterator<Item = io::Result<Event>> {
        let line = self.line_of(at);
        positions
            .filter(move |position| self.is_on(line, *position))
            .map(|position| self.tape.event(position))
    }
}

fn change(edit: &ForkEdit) -> Change {
    match &edit.what {
        Altered::Output { editable, edited } => Change::Output {
            original: editable.output.clone(),
            edited: edited.clone(),
        },
        Altered::File(path, bytes) => Change::File(FileChange {
            outside: true,
            ..match bytes {
                Some(bytes) => FileChange {
                    content: Content::Bytes(bytes.as_slice().into()),
                    ..FileChange::new(FileOp::Write, path.clone())
                },
                None => FileChange::new(FileOp::Remove, path.clone()),
            }
        }),
    }
}

/// What an edit says, in a few words, up to the first secret.
fn title_of(edited: &Output, redacting: Option<&Redacting>) -> String {
    const LONGEST: usize = 80;
    let words = match edited {
        Output::Response(blocks) => blocks
            .iter()
            .map(|block| block.text.trim())
            .find(|words| !words.is_empty())
            .unwrap_or("nothing"),
        Output::Result { output, .. } => output.trim(),
        Output::Prompt { text, .. } => text.trim(),
    };
    let line = words.lines().next().unwrap_or_default();
    match secret_in(line.as_bytes(), redacting) {
        Some(at) => {
            let before = line.get(..at).unwrap_or_default();
            let before: String = before.chars().take(LONGEST - 1).collect();
            format!("{before}…")
        }
        None => line.chars().take(LONGEST).collect(),
    }
}

/// Where the first secret in a text begins.
fn secret_in(text: &[u8], redacting: Option<&Redacting>) -> Option<usize> {
    let secrets = redacting?.redactor.secrets(text);
    secrets.first().map(|secret| secret.range.start)
}
