//! A fork that the run's own agent goes on with: it runs again from its beginning, on the files
//! that it began with, and hears something else from its model once.
//!
//! Nothing can be shared with the run: what stands before the edit happened again, and is told
//! as it happened. The run is only read. The agent runs in the sandbox on files of its own; it
//! reaches no model but those that the user named, and those only behind the edit.

use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::begun::Begun;
use super::super::command::{CommandOptions, CommandRun, LeftRun};
use super::super::models::{OtherAnswer, Prepared};
use super::super::sandbox::Backend;
use super::super::{
    Cause, ChangeList, CheckoutError, CheckoutOptions, CommandError, Debugger, Divergence, Exit,
    ModelReport, OpenOptions, Said, Source, Upstream,
};
use super::{Altered, ForkEdit, ForkFailure, ForkOptions, Forked, ForkedStep, Stopped};
use crate::checkout::Scratch;
use crate::model::{BlockKind, Cursor, Kind, ModelBlock, Parent, Via};
use crate::replay::document::Output;
use crate::text::SafeText;
use crate::transaction::hold::Registry;

/// What the header of such a fork says of how it goes on.
const THEN: &str = "agent";

/// An agent that is run again.
#[derive(Debug)]
pub struct ForkAgent {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Real endpoints that answer it behind the edit; without one, nobody does.
    pub live: Vec<Upstream>,
    /// Where it is written down what can be salvaged.
    pub registry: Registry,
    /// The time: seconds since 1970.
    pub now: u64,
    /// After how long it is ended.
    pub timeout: Duration,
}

/// A fork that an agent went on with.
#[derive(Debug)]
pub struct AgentForked {
    /// The fork.
    pub forked: Forked,
    /// How the agent ended.
    pub exit: Exit,
    /// What became of its requests.
    pub models: ModelReport,
    /// How its files differed from the run's when it heard the edit.
    pub files: ChangeList,
    /// Files of the run's beginning that it did not have, each with why.
    pub missing: Vec<SafeText>,
}

/// Why an agent did not go on with a fork. No fork was kept.
#[derive(Debug, thiserror::Error)]
pub enum AgentFailure {
    /// Only what a model said can be said to the agent.
    #[error("an agent hears what a model says, and nothing else of it can be altered")]
    NoResponse,
    /// It cannot be given the files that the run began with.
    #[error("the files that the run began with: {0}")]
    Checkout(#[from] CheckoutError),
    /// It cannot be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// What it did could not be kept.
    #[error("what it did could not be told: {0}")]
    NotKept(String),
    /// It asked something else before it came to the edit.
    #[error("the agent did not come to the edit; it asked something else: {}: {}", .0.asked, .0.why)]
    Diverged(Box<Divergence>),
    /// It ended before it came to the edit.
    #[error("the agent ended with {} before it came to the edit", .0.status.code())]
    NotReached(Box<Exit>),
}

impl Debugger {
    /// Makes a fork in which the agent of the run goes on. What it writes goes to `sink` as it
    /// comes; a break asks it to end.
    pub fn fork_with_agent(
        &self,
        edit: &ForkEdit,
        options: &ForkOptions,
        agent: ForkAgent,
        sink: &mut dyn FnMut(Said<'_>) -> ControlFlow<()>,
    ) -> Result<AgentForked, ForkFailure> {
        let Altered::Output { editable, edited } = &edit.what else {
            return Err(AgentFailure::NoResponse.into());
        };
        let Output::Response(blocks) = edited else {
            return Err(AgentFailure::NoResponse.into());
        };
        let first = editable.first;
        let call = self.tape.event(first)?.head.call.unwrap_or_default();
        let blocks = with_ids(blocks, editable.seq.0);
        let place = &options.workbench.place;
        let directory = Scratch::lasting(place, "agent")?;
        let workspace = directory.path().join("tree");
        let start = (0..first)
            .find(|at| self.tape.index.events.kind(*at) == Some(Kind::ToolCall))
            .unwrap_or(first);
        let at = Cursor {
            position: start,
            ..edit.at.cursor
        };
        let written = self.checkout(at, &workspace, CheckoutOptions::default(), &mut |_| {
            ControlFlow::Continue(())
        });
        let report = written.map_err(AgentFailure::Checkout)?.report;
        let missing = report.skipped().filter_map(|row| {
            let why = row.skipped.as_ref()?;
            Some(SafeText::line(&format!("{}: {why}", row.path.to_text())))
        });
        let missing = missing.collect();
        fs::create_dir_all(&workspace)?;

        let root = self.header.root.as_deref().map(PathBuf::from);
        let seen = root.as_deref().unwrap_or(&workspace);
        let other = OtherAnswer {
            call: &call,
            blocks: &blocks,
            live: agent.live,
        };
        let tape = (&self.tape, Path::new(&self.name));
        let models = Prepared::fork(tape, other, &options.volatile, seen);
        let models = models.map_err(|error| AgentFailure::Command(error.into()))?;
        let described = self.described(edit, THEN, options.redacting.as_ref());
        let (link, parent) = self.whole_parent()?;
        let path = self.place_for_fork(&parent, options.out.as_deref())?;
        let left = LeftRun {
            parent: Parent {
                path: Some(self.hint_in(&path, &parent)),
                ..link
            },
            edit: described.clone(),
            seen_at: root,
        };
        let command = CommandOptions {
            workspace,
            tape: path.clone(),
            program: options.workbench.program.clone(),
            backend: Backend::Overlay,
            home: options.workbench.home.clone(),
            allows_home: false,
            hidden: options.workbench.hidden.clone(),
            registry: agent.registry,
            now: agent.now,
            arguments: agent.arguments,
            environment: options.workbench.environment.clone(),
            input: None,
            timeout: Some(agent.timeout),
            models: None,
            redacting: options.redacting.clone(),
        };
        let begun = Begun::at(path.clone());
        let mut run = CommandRun::begin_with(command, Some(models), Some(left))
            .map_err(AgentFailure::Command)?;
        let exit = run.exec(sink).map_err(AgentFailure::Command)?;
        let models = run.models().unwrap_or_default();
        if !models.is_edited {
            // Its tape is removed: nobody misses what could not be told on it.
            let _ = run.roll_back();
            return Err(match models.divergences.into_iter().next() {
                Some(divergence) => AgentFailure::Diverged(Box::new(divergence)),
                None => AgentFailure::NotReached(Box::new(exit)),
            }
            .into());
        }
        if let Err(kept) = run.commit() {
            let why = kept.why.to_string();
            return Err(AgentFailure::NotKept(why).into());
        }
        begun.keep();
        self.note_new_fork(&path, &parent);

        let open = OpenOptions {
            places: self.places().clone(),
            ..OpenOptions::default()
        };
        let run = Self::open(Source::Path(path.clone()), &open)?;
        let stopped = match exit.cause {
            _ if models.behind > 0 => Stopped::ModelMustSpeak(None),
            Cause::Itself => Stopped::TurnEnded,
            Cause::Timeout => Stopped::TimeUp(agent.timeout),
            Cause::Asked => Stopped::BrokenOff,
        };
        let files = self.files_at_edit(edit, first, &run);
        let steps = run.labelled_steps();
        let forked = Forked {
            path,
            edit: described,
            steps,
            stopped,
            left_out: 0,
            run,
        };
        Ok(AgentForked {
            forked,
            exit,
            models,
            files,
            missing,
        })
    }

    /// The steps that say how they came about.
    fn labelled_steps(&self) -> Vec<ForkedStep> {
        let index = &self.tape.index;
        let step = |number: u32| {
            let via = index.steps.via(number)?;
            let entry = index.steps.get(number)?;
            let seq = index.events.seq(entry.opened);
            Some(ForkedStep {
                row: self.row_of_event(seq),
                seq,
                via,
                miss: None,
            })
        };
        (0..index.steps.len()).filter_map(step).collect()
    }

    /// How the files of a fork, when its agent heard the edit, differ from the run's there.
    fn files_at_edit(&self, edit: &ForkEdit, first: u32, fork: &Self) -> ChangeList {
        let at = Cursor {
            position: first,
            ..edit.at.cursor
        };
        let steps = &fork.tape.index.steps;
        let edited = (0..steps.len()).find(|step| steps.via(*step) == Some(Via::Edit));
        let opened = edited.and_then(|step| steps.get(step));
        let opened = opened.map_or(0, |step| step.opened);
        let there = fork.after_event(None, opened).cursor;
        self.changes_against(at, (fork, there))
    }
}

/// The blocks, their calls with ids that no call of the run has.
fn with_ids(blocks: &[ModelBlock], seq: u64) -> Vec<ModelBlock> {
    let mut blocks = blocks.to_vec();
    let calls = blocks.iter_mut();
    let calls = calls.filter(|block| block.kind == BlockKind::ToolCall);
    for (number, block) in calls.enumerate() {
        let id = || format!("edited_{seq}_{number}");
        block.call.get_or_insert_with(id);
    }
    blocks
}

impl From<AgentFailure> for ForkFailure {
    fn from(error: AgentFailure) -> Self {
        Self::Agent(Box::new(error))
    }
}
