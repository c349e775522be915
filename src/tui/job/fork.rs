//! What may be asked about a fork of the run, and what comes back.
//!
//! Nothing here works. Of all that is asked, [`ForkJob::Make`] alone runs or writes anything.

use std::path::PathBuf;
use std::sync::Arc;

use super::Answered;
use crate::debugger::{
    Editable, ForkEdit, ForkPlan, ForkThen, ForkedStep, MissRow, Script, Spot, Stopped,
};
use crate::model::Via;
use crate::text::SafeText;

/// Something to find out or to do about a fork.
#[derive(Clone, Debug, PartialEq)]
pub enum ForkJob {
    /// What a step gave, as a text that can be altered.
    Document {
        /// Which step.
        at: Spot,
    },
    /// What a fork with another output would do.
    Plan {
        /// Which step.
        at: Spot,
        /// What it gave.
        editable: Arc<Editable>,
        /// The text that stands for the other output.
        text: String,
    },
    /// The answers of a script.
    Script(PathBuf),
    /// Make it, and hold it against the run.
    Make {
        /// As was shown.
        edit: Arc<ForkEdit>,
        /// How it goes on behind the edit.
        then: ForkThen,
    },
    /// Stop what is being found out or done.
    Stop,
}

/// The answer to a [`ForkJob`].
#[derive(Clone, Debug)]
pub enum ForkAnswer {
    /// To [`ForkJob::Document`].
    Document(Answered<(Arc<Editable>, String)>),
    /// To [`ForkJob::Plan`].
    Plan(Result<Box<PlannedFork>, ForkUnread>),
    /// To [`ForkJob::Script`].
    Script(Answered<Script>),
    /// To [`ForkJob::Make`], before it is made: one more answer, and how it came about.
    Told(Via),
    /// To [`ForkJob::Make`].
    Made(Result<Box<ForkMade>, ForkUnmade>),
}

/// Why a text stands for no fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkUnread {
    /// It says what the step gave.
    Unchanged,
    /// It has a mistake.
    Mistake {
        /// The line, from 0.
        line: usize,
        /// What is wrong, and what was expected.
        what: SafeText,
    },
}

/// Why there is no fork to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkUnmade {
    /// What did not come about.
    pub what: &'static str,
    /// Why.
    pub why: SafeText,
    /// What to do now; empty where nothing is to be said.
    pub next: &'static str,
}

/// A fork, as it would be made.
#[derive(Clone, Debug)]
pub struct PlannedFork {
    /// The edit.
    pub edit: Arc<ForkEdit>,
    /// What would be done.
    pub plan: ForkPlan,
    /// What is odd about it, each with the line of the text, from 1, where it is known.
    pub remarks: Vec<(Option<usize>, SafeText)>,
    /// What may differ in requests and results that mean the same.
    pub volatile: Vec<SafeText>,
    /// Why this machine runs no command; `None`: it does.
    pub missing: Option<SafeText>,
}

/// A fork that was made.
#[derive(Clone, Debug)]
pub struct ForkMade {
    /// Its tape.
    pub path: SafeText,
    /// Its answers, in order.
    pub steps: Vec<ForkedStep>,
    /// How many came about in each way.
    pub shares: Vec<(Via, usize)>,
    /// Why it ended.
    pub stopped: Stopped,
    /// Where the request differs that nobody answered.
    pub miss: Option<MissRow>,
    /// Changes of the run that were nobody's, and were left out.
    pub left_out: usize,
}
