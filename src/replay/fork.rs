//! A fork: the run again from one step on, with one output altered.
//!
//! What comes after the edit is the tape's where that is certain, is computed where it can
//! be, and ends where nobody knows. Each answer says how it came about
//! ([`Via`]):
//!
//! * **A call** takes the recorded answer if it is the recorded call and whatever it could see
//!   is as it was: of a tool that looks at one path that path, of a command all files. Else
//!   the tool runs again on the fork's files ([`ToolResponder`]); what nobody can run is not
//!   answered.
//! * **A call that did something outside the files** is never made again. The same request gets
//!   its recorded answer, in order of use ([`OutwardCall`]); any other is not answered. What a
//!   tape holds of a long connection is part of the answer of its call: nobody in a fork could
//!   send a frame of their own.
//! * **The model** gives the recorded answer if its request is the recorded one. A request is
//!   the conversation so far: it is the same as long as every prompt, answer and result that
//!   the agent saw since the fork is ([`request`](super::request)). From the first that
//!   differs on, the run's later answers answer other requests, and none of them is taken: the
//!   fork stops, or somebody else speaks ([`Speaker`]), or the person asked for stale answers.
//! * **Nobody's changes** that the tape holds behind the edit are left out: what happens in a
//!   fork is what follows from it.
//!
//! So nothing before the edit runs again, and nothing behind it comes in but what is proven
//! the same. The parent is read through the events that are handed in; nothing here writes to
//! it, opens a file, or connects to anything.

mod calls;
mod engine;
mod outward;
mod script;
mod speaking;
mod unlike;
mod walk;
mod writing;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::time::Duration;

use serde_json::Value;

pub use engine::run;
pub use outward::OutwardCall;
pub use script::{Line, Script, ScriptError};

use super::document::Output;
use super::request::{Miss, VolatileParts};
use crate::model::{BlobHash, Event, FileChange, Micros, Outcome, Seq, TapePath, Via};
use crate::tape::{BlobSource, RecordError, Recorder};

/// Answers calls of tools where the tape does not, on the files of the fork.
pub trait ToolResponder {
    /// What a call can see, and so what its answer depends on.
    fn sees(&self, tool: &str, arguments: &Value) -> Sees;

    /// Answers a call, and keeps the changes that it made.
    fn answer(&mut self, tool: &str, arguments: &Value) -> ToolAnswer;

    /// Takes in a change that somebody else made.
    fn take_in(&mut self, change: &FileChange);
}

/// What a call can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sees {
    /// These paths and what lies below them.
    Paths(Vec<TapePath>),
    /// All files.
    Files,
    /// More than the files: a person, a network, another agent.
    World,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAnswer {
    /// The tool ran.
    Ran(Ran),
    /// Nobody can answer it, for this reason.
    NotAttempted(String),
}

/// What a tool did when it ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code of its command.
    pub exit: Option<i32>,
    /// What the model sees of it.
    pub output: String,
    /// What it did to files, in order.
    pub changes: Vec<FileChange>,
    /// How long it ran, in microseconds.
    pub duration: Option<Micros>,
    /// It failed for want of the network, which is no answer to what would have happened.
    pub needs_network: bool,
    /// The order of the lines that it says is not the tool's own, which nobody knows.
    pub has_any_order: bool,
}

/// Speaks where the run's own words are no answer: a script, or a model.
pub trait Speaker {
    /// Hears an event of the fork, as it is written.
    fn hear(&mut self, _event: &Event) {}

    /// Is to speak as the model of this agent: what the tape says of the question, which is on
    /// disk before it is answered; or why there will be no answer. `blobs` are the contents of
    /// the parent.
    fn ask(&mut self, agent: Option<&str>, blobs: &dyn BlobSource) -> Result<Question, Stopped>;

    /// Answers what was asked.
    fn respond(&mut self) -> Result<Turn, Stopped>;

    /// Gives the next words of another sort, or says why there are none.
    fn next(&mut self, wanted: Wanted) -> Result<Line, String>;

    /// Whether the words that come next are of this sort.
    fn has(&self, wanted: Wanted) -> bool;

    /// How its words are labelled.
    fn via(&self) -> Via;
}

/// What a model is asked.
#[derive(Debug, Default)]
pub struct Question {
    /// Its events, in order.
    pub events: Vec<Event>,
    /// A content that the contents among them are much like.
    pub like: Option<BlobHash>,
}

/// What a model answered.
#[derive(Debug)]
pub struct Turn {
    /// Its events, in order. The answer is a `model.response` among them.
    pub events: Vec<Event>,
    /// Why nothing follows from it; `None`: its calls are made.
    pub stopped: Option<Stopped>,
}

/// A sort of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// What the model says.
    Response,
    /// What a tool returns.
    Result,
    /// What the user asks.
    Prompt,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Response => "response",
            Self::Result => "result",
            Self::Prompt => "prompt",
        })
    }
}

/// How a fork goes on behind its edit.
pub enum Then<'a> {
    /// What the edit asks for is done; where the model must speak, the fork ends.
    Stop,
    /// Somebody speaks.
    Speaker(&'a mut dyn Speaker),
    /// The run's own answers are taken, though they answer other requests.
    AssumeRecorded,
}

/// What is put in the place of what the parent holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An output.
    Output {
        /// What the parent holds.
        original: Output,
        /// What stands in its place.
        edited: Output,
    },
    /// A file, changed by hand.
    File(FileChange),
}

/// The place at which a fork leaves its parent, as the events before it leave it.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The branch, the agent and the transaction of the step.
    pub branch: Option<String>,
    /// Whose step it is.
    pub agent: Option<String>,
    /// The open transaction.
    pub txn: Option<String>,
    /// The time there, in microseconds since the run began.
    pub t: u64,
    /// The events of the calls that have no result yet, in order.
    pub open: Vec<Event>,
    /// The ids of calls that answers before it asked for.
    pub asked: BTreeSet<String>,
}

/// A fork that is about to be made.
pub struct Fork<'a> {
    /// The edit.
    pub change: Change,
    /// Where it is.
    pub place: Place,
    /// The parent's events from there on, along its branch.
    pub rest: Box<dyn Iterator<Item = io::Result<Event>> + 'a>,
    /// The parent's contents.
    pub blobs: &'a dyn BlobSource,
    /// Where the fork is written; its header is there.
    pub recorder: Recorder,
    /// What answers calls.
    pub tools: &'a mut dyn ToolResponder,
    /// What comes behind the edit.
    pub then: Then<'a>,
    /// What may differ in results that mean the same.
    pub volatile: VolatileParts,
    /// The parent's calls from there on that did something outside the files, in order.
    pub outward: Vec<OutwardCall>,
    /// Told of each answer as it is there; a break ends the fork.
    pub tell: &'a mut dyn FnMut(&Answered) -> std::ops::ControlFlow<()>,
}

/// A fork could not be made to its end. What it holds so far stays.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// It could not be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The parent could not be read.
    #[error("the parent could not be read: {0}")]
    Read(#[from] io::Error),
}

/// What became of a fork.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its answers, in order.
    pub answers: Vec<Answered>,
    /// Why it ended.
    pub stopped: Stopped,
    /// Changes of the parent that were nobody's, and were left out.
    pub left_out: usize,
}

/// An answer in a fork.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The number of its event.
    pub seq: Seq,
    /// How it came about.
    pub via: Via,
    /// Where it differs from what the tape holds in its place, if something stands there.
    pub miss: Option<Miss>,
}

/// Why a fork ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stopped {
    /// The model must speak, and its request is not the recorded one: this differs first.
    ModelMustSpeak(Option<Miss>),
    /// The agent said its last word; a person would speak.
    TurnEnded,
    /// A call that nobody could answer.
    NotAnswered {
        /// The tool.
        tool: String,
        /// Why.
        why: String,
    },
    /// A tool that needs the network, which it did not have.
    NeedsNetwork(String),
    /// Whoever speaks had nothing that fits.
    NothingToSay(String),
    /// A model could not be asked, for this reason.
    NotAsked(String),
    /// A model was asked, and gave no answer that could be gone on from.
    NoAnswer(String),
    /// A model was asked so often, which is as often as it may be.
    MostTurns(u32),
    /// The parent ends here, or is not readable from here on.
    EndOfTape(&'static str),
    /// The parent begins or ends a transaction here.
    TransactionEdge,
    /// An agent was ended, since its time was up.
    TimeUp(Duration),
    /// It was broken off.
    BrokenOff,
}

impl Stopped {
    /// A word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::ModelMustSpeak(_) => "model",
            Self::TurnEnded => "turn-ended",
            Self::NotAnswered { .. } => "not-answered",
            Self::NeedsNetwork(_) => "needs-network",
            Self::NothingToSay(_) => "script",
            Self::NotAsked(_) => "not-asked",
            Self::NoAnswer(_) => "no-answer",
            Self::MostTurns(_) => "max-turns",
            Self::EndOfTape(_) => "end-of-tape",
            Self::TransactionEdge => "transaction",
            Self::TimeUp(_) => "time-up",
            Self::BrokenOff => "broken-off",
        }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ModelMustSpeak(None) => f.write_str("the model must speak here"),
            Self::ModelMustSpeak(Some(miss)) => {
                write!(
                    f,
                    "the model must speak here: it is asked something else ({})",
                    miss.path
                )
            }
            Self::TurnEnded => f.write_str("the agent has said its last word"),
            Self::NotAnswered { tool, why } => write!(f, "nobody can answer {tool}: {why}"),
            Self::NeedsNetwork(tool) => {
                write!(f, "{tool} needs the network, which no tool has in a fork")
            }
            Self::NothingToSay(why) | Self::NotAsked(why) | Self::NoAnswer(why) => f.write_str(why),
            Self::MostTurns(count) => {
                write!(f, "the model was asked {count} times, and may not be again")
            }
            Self::EndOfTape(why) => f.write_str(why),
            Self::TransactionEdge => {
                f.write_str("the run begins or ends a transaction here, which a fork does not")
            }
            Self::TimeUp(limit) => write!(f, "the agent was ended after {} s", limit.as_secs()),
            Self::BrokenOff => f.write_str("it was broken off"),
        }
    }
}
