//! What may be asked about a test case of a step, and what comes back.
//!
//! Nothing here works. Of all that is asked, [`ExportJob::Write`] alone writes anything, and
//! [`ExportJob::Shrink`] alone runs anything.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Answered;
use crate::debugger::{
    CaseCut, CaseFiles, CaseForm, CaseOffer, EvaluationOffer, ExportedCase, PreparedCase,
    PreparedEvaluation, Shrinking, Spot, Uncertain,
};
use crate::model::{Progress, StepNumber};
use crate::text::SafeText;

/// Something to find out or to do about a test case.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportJob {
    /// What would be kept of a step.
    Prepare {
        /// Which step.
        at: Spot,
        /// What of it.
        keep: Keep,
    },
    /// Look for the smallest set of files on which the call fails in the same way.
    Shrink {
        /// As was shown.
        offered: Arc<CaseOffered>,
        /// How long that may take.
        budget: Duration,
    },
    /// The smallest set so far is small enough.
    Enough,
    /// Write it.
    Write {
        /// As was shown.
        offered: Arc<CaseOffered>,
        /// What it is wrapped in.
        form: CaseForm,
        /// What becomes of it where something is not known.
        uncertain: Uncertain,
        /// Where it goes.
        directory: PathBuf,
    },
    /// Stop what is being found out or done.
    Stop,
}

/// What of a step is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its failed call, with these files.
    Call(CaseFiles),
    /// Its call with these files, whatever came of it, and what is to be so of a file after it, as
    /// it was typed.
    Checked(CaseFiles, String),
    /// The turn of the model that asked for it.
    Turn,
}

/// The answer to an [`ExportJob`].
#[derive(Clone, Debug)]
pub enum ExportAnswer {
    /// To [`ExportJob::Prepare`].
    Prepared(Result<Arc<CaseOffered>, NoCase>),
    /// To [`ExportJob::Shrink`], before it is over: how far that is.
    Shrinks(Shrinking),
    /// To [`ExportJob::Shrink`]: the case with fewer files, or why there is none.
    Shrunk(Answered<Arc<CaseOffered>>),
    /// To [`ExportJob::Write`], before it is written: how far that is.
    Wrote(Progress),
    /// To [`ExportJob::Write`]: what was written, or why nothing was.
    Written(Answered<Box<ExportedCase>>),
}

/// A case that can be written, or an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOffered {
    /// What would be written.
    pub prepared: Prepared,
    /// Where it goes if nobody says otherwise.
    pub directory: PathBuf,
}

/// What would be written, and what it would hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// A case of a failed call.
    Case(Box<PreparedCase>, CaseOffer),
    /// An evaluation of a turn of the model.
    Evaluation(PreparedEvaluation, EvaluationOffer),
}

impl CaseOffered {
    /// The step that is kept.
    pub const fn step(&self) -> StepNumber {
        match &self.prepared {
            Prepared::Case(_, offer) => offer.step,
            Prepared::Evaluation(_, offer) => offer.step,
        }
    }

    /// What is not known of it.
    pub fn doubts(&self) -> &[SafeText] {
        match &self.prepared {
            Prepared::Case(_, offer) => &offer.doubts,
            Prepared::Evaluation(..) => &[],
        }
    }

    /// What was left out of its files, where that was found out.
    pub const fn cut(&self) -> Option<&CaseCut> {
        match &self.prepared {
            Prepared::Case(_, offer) => offer.cut.as_ref(),
            Prepared::Evaluation(..) => None,
        }
    }

    /// Whether its files can become fewer.
    pub fn can_shrink(&self) -> bool {
        let is_whole = self.cut().is_none();
        matches!(&self.prepared, Prepared::Case(case, _) if is_whole && case.can_shrink())
    }
}

/// Why a step makes no case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCase {
    /// Why.
    pub why: SafeText,
    /// The turn of the model there makes an evaluation.
    pub has_evaluation: bool,
    /// It is a tool call, and a check of its files may make a case of it.
    pub is_call: bool,
    /// The next step behind it that failed.
    pub next: Option<StepNumber>,
    /// The last step before it that failed.
    pub before: Option<StepNumber>,
}
