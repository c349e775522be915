//! What may be asked about a test case of a step, and what comes back.
//!
//! Nothing here works. Of all that is asked, [`ExportJob::Write`] alone writes anything.

use std::path::PathBuf;
use std::sync::Arc;

use super::Answered;
use crate::debugger::{
    CaseFiles, CaseForm, CaseOffer, ExportedCase, PreparedCase, Spot, Uncertain,
};
use crate::model::{Progress, StepNumber};
use crate::text::SafeText;

/// Something to find out or to do about a test case.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportJob {
    /// What a case of a step would hold.
    Prepare {
        /// Which step.
        at: Spot,
        /// Which files it holds.
        files: CaseFiles,
    },
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

/// The answer to an [`ExportJob`].
#[derive(Clone, Debug)]
pub enum ExportAnswer {
    /// To [`ExportJob::Prepare`].
    Prepared(Result<Arc<CaseOffered>, NoCase>),
    /// To [`ExportJob::Write`], before it is written: how far that is.
    Wrote(Progress),
    /// To [`ExportJob::Write`]: what was written, or why nothing was.
    Written(Answered<Box<ExportedCase>>),
}

/// A case that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOffered {
    /// The case.
    pub case: PreparedCase,
    /// What it would hold.
    pub offer: CaseOffer,
    /// Where it goes if nobody says otherwise.
    pub directory: PathBuf,
}

/// Why a step makes no case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCase {
    /// Why.
    pub why: SafeText,
    /// The next step behind it that failed.
    pub next: Option<StepNumber>,
    /// The last step before it that failed.
    pub before: Option<StepNumber>,
}
