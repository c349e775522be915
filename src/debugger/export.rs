//! A failed call of a run, as a test case in a directory of its own; or the turn of the model that
//! asked for it, as an evaluation.
//!
//! Nothing is run, unless the smallest set of files is asked for: an edit or a read is answered as
//! the function of files that it is, so that it is known that the case reproduces; of a command,
//! `jukebox test` says it.
//!
//! What is exported passes the redactor, and tells no path of the place of the recording.

mod directory;
mod evaluation;
mod files;
mod making;
mod prepared;
mod report;
mod smallest;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::bisect::Predicate;
use super::replay::{CallRecord, Verdict};
use super::{Debugger, Direction, Spot};
use crate::export::{Anonymous, Case, CaseVerdict, EVALUATION, Recorded, check};
use crate::model::{BlobHash, Cursor, Outcome, StepKind, StepNumber, Tell};
use crate::redact::{Redactor, RuleError, Rules};
use crate::replay::workbench::{WorkbenchConfig, WorkbenchError};
use crate::tape::{BlobError, BlobSource};
use crate::text::{SafeText, command_line};
use crate::tools::Asked;
use files::Settled;
use making::Making;
use report::report;

pub use self::evaluation::{EvaluationOffer, PreparedEvaluation};
pub use self::prepared::{CaseOffer, PreparedCase};
pub use self::smallest::{CaseCut, CutRow, Shrinking, WhileShrinking};
pub use crate::export::{Form as CaseForm, Kept as CaseKept, MinimalError};

/// How a case is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseOptions {
    /// Which files it holds.
    pub files: CaseFiles,
    /// What becomes of a call that is not known as a whole.
    pub uncertain: Uncertain,
    /// What it is wrapped in.
    pub form: CaseForm,
}

/// Which files of the workspace a case holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaseFiles {
    /// Those that are touched; for a command, which may read any file, all.
    #[default]
    Needed,
    /// Those that the call or its output names, or that it changed.
    Touched,
    /// All of the workspace.
    All,
    /// As few files, and as few lines of them, as it takes to fail in the same way. A command is
    /// run for that, many times, in the sandbox.
    Minimal,
}

impl CaseFiles {
    /// Every choice, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Needed, Self::Touched, Self::All, Self::Minimal];

    /// The choice in a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Touched => "touched",
            Self::All => "all",
            Self::Minimal => "minimal",
        }
    }

    /// What it means, in a few words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Needed => "those that are touched; for a command, which may read any file, all",
            Self::Touched => "those that the call or its output names, or that it changed",
            Self::All => "all of the workspace",
            Self::Minimal => {
                "as few as it takes to fail in the same way; a command is run for that"
            }
        }
    }
}

/// What becomes of a call that is not known as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uncertain {
    /// It is refused.
    #[default]
    Refused,
    /// It is exported, and the case says what is not known.
    Told,
}

/// What an export needs beside the run.
#[derive(Clone, Debug, Default)]
pub struct CaseMeans {
    /// What a secret is; without one, what says itself that it is.
    pub redactor: Option<Arc<Redactor>>,
    /// What is to be so after the call, and is not.
    pub check: Option<Predicate>,
    /// For [`CaseFiles::Minimal`]: where commands are run, and how long that may be tried.
    pub tries: Option<(WorkbenchConfig, Duration)>,
}

/// Why there is no case. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The step is no failed call, and none follows from it.
    #[error("step {step} is no tool call that failed{}", in_words(*outcome))]
    NotFailed {
        /// The step.
        step: StepNumber,
        /// How it ended.
        outcome: Outcome,
        /// The first call of the run that failed, if any did.
        first: Option<StepNumber>,
    },
    /// What is to be asked after the call is asked of a tool call.
    #[error("step {0} is no tool call")]
    NoCall(StepNumber),
    /// What is to be so after the call is so, or that is not known.
    #[error("after step {0}, {1}")]
    IsSo(StepNumber, &'static str),
    /// The call was not made, or not to its end.
    #[error("step {0} cannot be made again: {1}")]
    NotMade(StepNumber, SafeText),
    /// Something of it is not known.
    #[error("step {step} is not known as a whole: {}", doubts.first().map_or("", SafeText::as_str))]
    Uncertain {
        /// The step.
        step: StepNumber,
        /// What is not known.
        doubts: Vec<SafeText>,
        /// A command may have read files that the tape does not show.
        lacks_files: bool,
    },
    /// It was answered, and not with the failure that was recorded.
    #[error("step {0} does not fail like this on its files: {1}")]
    NotReproduced(StepNumber, SafeText),
    /// There is no smallest set of its files.
    #[error("step {0}: {1}")]
    NotMinimal(StepNumber, MinimalError),
    /// Nobody said where a command is run.
    #[error("step {0} is a command, and there is nowhere to run it")]
    NowhereToRun(StepNumber),
    /// The step is no turn of a model, and none asked for it.
    #[error("step {0} is no turn of a model, and none leads to it")]
    NoTurn(StepNumber),
    /// The turn of the model asked for nothing that failed.
    #[error("step {0} asked for no call that failed")]
    NothingToJudge(StepNumber),
    /// The tape cannot be read there.
    #[error(transparent)]
    Read(#[from] super::ReadError),
    /// What a secret is cannot be said.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The machine does not allow it, or whoever waits does not want to any more.
    #[error(transparent)]
    Workbench(#[from] WorkbenchError),
    /// It could not be written.
    #[error(transparent)]
    Case(#[from] crate::export::CaseError),
}

/// How a call ended that nobody can take for one that failed by itself; nothing of others.
fn in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Refused => ": it was refused, and never made",
        Outcome::Interrupted => ": it was interrupted",
        Outcome::Pending => ": it did not end",
        Outcome::None | Outcome::Ok | Outcome::Failed => "",
    }
}

/// A case that was written, or an evaluation.
#[derive(Clone, Debug)]
pub struct ExportedCase {
    /// What it is wrapped in.
    pub form: CaseForm,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// The step.
    pub step: StepNumber,
    /// The tool; of an evaluation, `model`.
    pub tool: SafeText,
    /// How many files and links it holds; of an evaluation, messages.
    pub files: usize,
    /// What was not known.
    pub doubts: Vec<SafeText>,
    /// What to know of it besides.
    pub remarks: Vec<SafeText>,
    /// Secrets that are placeholders in it.
    pub secrets: u32,
    /// Files in which paths of the recording are others.
    pub moved: u32,
    /// Of a smallest set of files, what was left out.
    pub cut: Option<CaseCut>,
}

impl ExportedCase {
    /// What a shell is given to run it.
    pub fn command(&self) -> SafeText {
        let line = if self.form.is_evaluation() {
            let config = self.directory.join(EVALUATION);
            command_line(["promptfoo", "eval", "-c", &*config.to_string_lossy()])
        } else {
            command_line(["jukebox", "test", &*self.directory.to_string_lossy()])
        };
        SafeText::line(&line)
    }
}

/// No run: a case brings its own contents.
struct Nothing;

impl BlobSource for Nothing {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        Err(BlobError::Missing(*hash))
    }
}

impl Debugger {
    /// Writes the failed call of a step as a case: the step's own, or of a step of a model, the
    /// first one that it asked for. Costs a read of each file that the case holds; for the
    /// smallest set of them, many runs of the command. Without a directory, one below `here`
    /// that is called like the case.
    pub fn export_case(
        &self,
        spot: Spot,
        options: CaseOptions,
        means: &CaseMeans,
        (directory, here): (Option<&Path>, &Path),
        tell: &mut Tell<'_>,
    ) -> Result<ExportedCase, ExportError> {
        if options.form.is_evaluation() {
            let prepared = self.prepare_evaluation(spot, means)?;
            let place = directory.map_or_else(|| here.join(prepared.name()), Path::to_owned);
            return prepared.write(&place);
        }
        let mut prepared = self.prepare_case(spot, options.files, means, tell)?;
        if options.uncertain == Uncertain::Refused {
            prepared.is_certain()?;
        }
        if options.files == CaseFiles::Minimal && prepared.can_shrink() {
            let Some((config, budget)) = &means.tries else {
                return Err(ExportError::NowhereToRun(prepared.step));
            };
            prepared.shrink(
                (config, *budget),
                &mut |shrinking| match tell(shrinking.progress()) {
                    ControlFlow::Continue(()) => WhileShrinking::GoOn,
                    ControlFlow::Break(()) => WhileShrinking::Stop,
                },
            )?;
        }
        let place = directory.map_or_else(|| here.join(prepared.name()), Path::to_owned);
        prepared.write((options.form, options.uncertain), &place, tell)
    }

    /// Whether a step is a tool call, which a check of its files makes a case of, whatever came
    /// of it. Reads no event.
    pub fn is_call(&self, spot: Spot) -> bool {
        let index = &self.tape.index;
        let step = index.step_on(self.line_of(spot), spot.step);
        let entry = step.and_then(|step| index.steps.get(step));
        entry.is_some_and(|entry| entry.kind == StepKind::Tool)
    }

    /// What takes secrets and places out of an export.
    fn anonymous(&self, means: &CaseMeans) -> Result<Anonymous<'_>, ExportError> {
        let redactor = match &means.redactor {
            Some(redactor) => Arc::clone(redactor),
            None => Arc::new(Redactor::new(&Rules::default())?),
        };
        let paths = Recorded::new(self.header.root.as_deref());
        Ok(Anonymous::new(redactor, paths))
    }

    /// The call of a step, as a case: one that failed, or after which something is not so. Of an
    /// edit or a read it is not asked yet whether it fails again.
    fn case(
        &self,
        spot: Spot,
        wanted: CaseFiles,
        means: &CaseMeans,
        tell: &mut Tell<'_>,
    ) -> Result<PreparedCase, ExportError> {
        let line = self.line_of(spot);
        let (number, step) = self.call_of_case(line, spot, means)?;
        let record = self.recorded_call(step);
        let not_failed = || self.not_failed(line, spot.step);
        match record.why_not() {
            Some(Verdict::NotAttempted(why)) => return Err(ExportError::NotMade(number, why)),
            Some(_) => return Err(not_failed()),
            None => {}
        }
        let not_made = |why: &str| ExportError::NotMade(number, SafeText::line(why));
        let asked = Asked::of(&record.call.name, &record.call.arguments);
        if let Asked::Unknown(why) = asked {
            return Err(not_made(&why.to_string()));
        }
        let directory = self.directory_before(line, number);
        let known = self.session_before((line, number), &record, &directory);
        let known = known.map_err(|why| not_made(&why))?;
        let runs = matches!(asked, Asked::Run(_));
        let Some(entry) = self.tape.index.steps.get(step) else {
            return Err(not_failed());
        };
        let before = Cursor {
            position: entry.opened + 1,
            branch: entry.lane.view,
        };
        let mut doubts = self.doubts(step, &record, before, runs);
        let is_minimal = wanted == CaseFiles::Minimal;
        let wanted = self.wanted(step, &record, &directory, wanted);
        let found = self.case_files(before, &wanted, tell)?;
        doubts.extend(found.doubts);
        let mut made = Making {
            run: self,
            number,
            step,
            record,
            session: known.session,
            remarks: known.remark.into_iter().collect(),
            anonymous: self.anonymous(means)?,
            doubts,
        };
        let files = made.files(found.files);
        let mut case = made.case(&directory, files);
        let mended = (is_minimal && runs).then(|| made.mended((line, before)));
        case.check.clone_from(&means.check);
        // A command sees the files of the case, and there are no others.
        case.is_whole = self.state.is_whole(before) || runs;
        if !found.settled.is_empty() {
            let holds = means.check.is_none() && reproduces(&case, number).is_ok();
            for Settled { doubt, remark } in found.settled {
                let (mut words, told) = if holds {
                    (remark, &mut case.remarks)
                } else {
                    (doubt, &mut case.doubts)
                };
                made.anonymous.text(&mut words);
                told.push(words);
            }
        }
        Ok(PreparedCase {
            step: number,
            title: made.title(),
            run: self.stem(),
            case,
            is_function: !runs,
            others: found.others,
            lacks_files: runs && !self.state.is_whole(before),
            mended: mended.flatten(),
            turns_green: None,
        })
    }

    /// The name of the run, without what says that it is a tape.
    fn stem(&self) -> String {
        let stem = Path::new(self.name.as_str()).file_stem();
        let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_default()
    }

    /// The call that a case is made of.
    fn call_of_case(
        &self,
        line: u16,
        spot: Spot,
        means: &CaseMeans,
    ) -> Result<(StepNumber, u32), ExportError> {
        let Some(check) = &means.check else {
            let found = self.failed_calls(line, spot.step).into_iter().next();
            return found.ok_or_else(|| self.not_failed(line, spot.step));
        };
        let step = self.tape.index.step_on(line, spot.step);
        let entry = step.and_then(|step| Some((step, self.tape.index.steps.get(step)?)));
        let Some((step, entry)) = entry.filter(|(_, entry)| entry.kind == StepKind::Tool) else {
            return Err(ExportError::NoCall(spot.step));
        };
        let after = Cursor {
            position: entry.last + 1,
            branch: entry.lane.view,
        };
        match self.holds(after, check) {
            Some(holds) if holds == check.is_negated => Ok((spot.step, step)),
            Some(_) => Err(ExportError::IsSo(spot.step, "it is as it should be")),
            None => Err(ExportError::IsSo(
                spot.step,
                "what the file holds is not known",
            )),
        }
    }

    fn not_failed(&self, line: u16, number: StepNumber) -> ExportError {
        let index = &self.tape.index;
        let entry = |number| index.steps.get(index.step_on(line, number)?);
        let failed = |spot: &Spot| {
            let entry = entry(spot.step);
            entry.is_some_and(|it| it.kind == StepKind::Tool && it.outcome == Outcome::Failed)
        };
        let next = |from| self.next_failure(from, Direction::Forward);
        let start = self.spot(line, StepNumber(0));
        let first = std::iter::successors(next(start), |spot| next(*spot)).find(failed);
        ExportError::NotFailed {
            step: number,
            outcome: entry(number).map_or(Outcome::None, |entry| entry.outcome),
            first: first.map(|spot| spot.step),
        }
    }

    /// The failed calls that are meant by a step: itself, or those that a model asked for there.
    fn failed_calls(&self, line: u16, number: StepNumber) -> Vec<(StepNumber, u32)> {
        let calls = self.calls_of(line, number).into_iter();
        let failed = calls.filter(|(_, _, outcome)| *outcome == Outcome::Failed);
        failed.map(|(number, step, _)| (number, step)).collect()
    }

    /// A call, or those that a model asked for in a turn, with their outcomes.
    fn calls_of(&self, line: u16, number: StepNumber) -> Vec<(StepNumber, u32, Outcome)> {
        let index = &self.tape.index;
        let at = |number: StepNumber| {
            let step = index.step_on(line, number)?;
            Some((number, step, index.steps.get(step)?))
        };
        let Some((_, step, turn)) = at(number) else {
            return Vec::new();
        };
        match turn.kind {
            StepKind::Tool => return vec![(number, step, turn.outcome)],
            StepKind::Model => {}
            _ => return Vec::new(),
        }
        let following = (number.0 + 1..).map(StepNumber).map_while(at);
        let own = following.filter(|(_, _, entry)| entry.lane.agent == turn.lane.agent);
        let calls = own
            .take_while(|(_, _, entry)| !matches!(entry.kind, StepKind::Model | StepKind::Prompt));
        let calls = calls.filter(|(_, _, entry)| entry.kind == StepKind::Tool);
        calls
            .map(|(number, step, entry)| (number, step, entry.outcome))
            .collect()
    }

    /// What is not known of a call.
    fn doubts(&self, step: u32, record: &CallRecord, before: Cursor, runs: bool) -> Vec<String> {
        let mut doubts = Vec::new();
        if record.is_cut {
            doubts.push("not all that it said was kept".to_owned());
        }
        if record.is_suspect || self.is_doubted(step) {
            doubts.push("what it did to files was not seen".to_owned());
        }
        if runs && !self.state.is_whole(before) {
            let why = "a command may read any file, and the tape does not show all of them";
            doubts.push(why.to_owned());
        }
        doubts
    }
}

/// Nothing that a workbench with this is asked runs anything.
fn nothing_runs() -> WorkbenchConfig {
    WorkbenchConfig {
        place: PathBuf::new(),
        program: PathBuf::new(),
        home: None,
        hidden: Vec::new(),
        environment: Vec::new(),
        root: None,
        keeps_directory: false,
        timeout: Duration::ZERO,
    }
}

/// Whether a call that is a function of files fails again as it did.
fn reproduces(case: &Case, number: StepNumber) -> Result<(), ExportError> {
    let not_made = |why: &str| ExportError::NotMade(number, SafeText::line(why));
    let checked = check(case, &nothing_runs(), &|| false);
    let checked = checked.map_err(|why| not_made(&why.to_string()))?;
    match checked.verdict {
        CaseVerdict::Reproduces => Ok(()),
        CaseVerdict::Fixed => {
            let why = SafeText::literal("it succeeds");
            Err(ExportError::NotReproduced(number, why))
        }
        CaseVerdict::Changed(leaves) => {
            let name = leaves.first().map_or("", |leaf| leaf.name.as_str());
            let why = SafeText::line(&format!("{name} differs"));
            Err(ExportError::NotReproduced(number, why))
        }
        CaseVerdict::Inconclusive(why) => Err(not_made(&why)),
    }
}
