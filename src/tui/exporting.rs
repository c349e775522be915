//! A test case in the making: what of a failed call is to be kept, how and where, and what
//! became of it.
//!
//! Nothing is written before a clear yes to what is shown. Here is the state alone: what keys do
//! to it is in `update`, what it says in `overlay`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::held::Ticket;
use super::job::{CaseOffered, Keep, NoCase};
use crate::debugger::{CaseFiles, CaseForm, ExportedCase, Shrinking, Spot, Uncertain};
use crate::model::Progress;
use crate::text::SafeText;

/// How long it may take to look for the smallest set of files: what is offered.
pub(super) const BUDGETS: [Duration; 4] = [
    Duration::from_secs(10),
    Duration::from_mins(1),
    Duration::from_mins(5),
    Duration::from_mins(30),
];
/// Without a word of a person, so long.
const BUDGET: Duration = Duration::from_mins(1);

/// A test case that is being made.
#[derive(Debug)]
pub(super) struct Exporting {
    /// The step.
    pub(super) at: Spot,
    /// What it is wrapped in.
    pub(super) form: CaseForm,
    /// Which files it holds.
    pub(super) files: CaseFiles,
    /// What becomes of it where something is not known.
    pub(super) uncertain: Uncertain,
    /// What is to be so of a file after the call, and is not, as it was typed; without it, the
    /// call is not to fail.
    pub(super) check: Option<String>,
    /// How long it may take to make its files few.
    pub(super) budget: Duration,
    /// Where it goes, if a person said so.
    pub(super) directory: Option<PathBuf>,
    /// The wish that keys change.
    pub(super) chosen: Wish,
    /// How far it is.
    pub(super) stage: Stage,
    /// Why it was not written, the last time.
    pub(super) mistake: Option<SafeText>,
}

/// How far a test case is.
#[derive(Debug)]
pub(super) enum Stage {
    /// What it would hold is being found out.
    Preparing(Ticket),
    /// That is shown.
    Shown(Arc<CaseOffered>),
    /// Its files are being made fewer.
    Shrinking(Search),
    /// It is being written.
    Writing(Ticket, Arc<CaseOffered>, Option<Progress>),
    /// It was.
    Written(Box<ExportedCase>),
    /// The step makes none.
    None(NoCase),
}

/// A search for the smallest set of files.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) ticket: Ticket,
    /// The case with all of its files.
    pub(super) offered: Arc<CaseOffered>,
    /// How far it is.
    pub(super) told: Option<Shrinking>,
    /// A person has enough: what there is has to fail twice more.
    pub(super) is_enough: bool,
}

/// What a person may choose of a test case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wish {
    /// What it is wrapped in.
    #[default]
    Form,
    /// Which files it holds.
    Files,
    /// How long it may take to make them few.
    Budget,
    /// Where it goes.
    Directory,
    /// Whether it is written although something is not known.
    Uncertain,
    /// What is to be so after the call.
    Check,
}

impl Exporting {
    /// Nothing is known of it yet.
    pub(super) fn new(at: Spot, ticket: Ticket) -> Self {
        Self {
            at,
            form: CaseForm::default(),
            files: CaseFiles::default(),
            uncertain: Uncertain::default(),
            check: None,
            budget: BUDGET,
            directory: None,
            chosen: Wish::default(),
            stage: Stage::Preparing(ticket),
            mistake: None,
        }
    }

    /// Whether an answer is waited for.
    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Preparing(_)) || self.is_under_way()
    }

    /// Whether something is run or written, with the sheet or without.
    pub(super) const fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Shrinking(_) | Stage::Writing(..))
    }

    /// What of the step is kept, as it is chosen now.
    pub(super) fn keep(&self) -> Keep {
        match &self.check {
            _ if self.form.is_evaluation() => Keep::Turn,
            Some(check) => Keep::Checked(self.files, check.clone()),
            None => Keep::Call(self.files),
        }
    }

    /// The files that are offered: what is left of them is not tried by a check.
    pub(super) const fn file_choices(&self) -> &'static [CaseFiles] {
        match self.check {
            None => &CaseFiles::ALL,
            Some(_) => &[CaseFiles::Needed, CaseFiles::Touched, CaseFiles::All],
        }
    }

    /// What is shown to be said yes to, if something is.
    pub(super) const fn shown(&self) -> Option<&Arc<CaseOffered>> {
        match &self.stage {
            Stage::Shown(offered) => Some(offered),
            _ => None,
        }
    }

    /// The wishes that make a difference, in the order in which they stand there.
    pub(super) fn wishes(&self) -> Vec<Wish> {
        let has_files = !self.form.is_evaluation();
        let (has_doubts, has_check) = match &self.stage {
            // Of a turn of a model, the call that is kept stands elsewhere.
            Stage::Shown(offered) => {
                let is_call = offered.step() == self.at.step;
                (!offered.doubts().is_empty(), has_files && is_call)
            }
            Stage::Preparing(_) => (false, self.check.is_some()),
            // What the step makes otherwise.
            Stage::None(none) => {
                let has_form = none.has_evaluation || self.form.is_evaluation();
                let form = has_form.then_some(Wish::Form);
                let check = (none.is_call && has_files).then_some(Wish::Check);
                return form.into_iter().chain(check).collect();
            }
            Stage::Shrinking(_) | Stage::Writing(..) | Stage::Written(_) => return Vec::new(),
        };
        let all = [
            (Wish::Form, true),
            (Wish::Files, has_files),
            (Wish::Budget, self.shrinks()),
            (Wish::Directory, true),
            (Wish::Uncertain, has_doubts),
            (Wish::Check, has_check),
        ];
        let there = all.into_iter().filter(|(_, is_there)| *is_there);
        there.map(|(wish, _)| wish).collect()
    }

    /// The forms that are offered: nothing is lost by them that took its time.
    pub(super) fn forms(&self) -> &'static [CaseForm] {
        match &self.stage {
            Stage::Shown(offered) if offered.cut().is_some() => &CaseForm::OF_CASE,
            // What makes no case makes none in another wrapping.
            Stage::None(_) => &[CaseForm::Case, CaseForm::Promptfoo],
            _ => &CaseForm::ALL,
        }
    }

    /// Whether a yes has its files made fewer, and writes nothing yet.
    pub(super) fn shrinks(&self) -> bool {
        let can_shrink = self.shown().is_some_and(|offered| offered.can_shrink());
        self.files == CaseFiles::Minimal && can_shrink
    }

    /// Where it goes.
    pub(super) fn directory<'a>(&'a self, offered: &'a CaseOffered) -> &'a Path {
        self.directory.as_deref().unwrap_or(&offered.directory)
    }

    /// Whether a yes does something: all of it is known, or it is wanted as it is.
    pub(super) fn is_ready(&self) -> bool {
        let offered = self.shown();
        let is_known = offered.is_some_and(|offered| offered.doubts().is_empty());
        is_known || offered.is_some() && self.uncertain == Uncertain::Told
    }
}

/// The member of a list that stands behind another one, round and round.
pub(super) fn next_of<T: Copy + PartialEq>(all: &[T], here: T, delta: i64) -> T {
    let at = all.iter().position(|one| *one == here).unwrap_or(0);
    let count = i64::try_from(all.len()).unwrap_or(1).max(1);
    let there = i64::try_from(at).unwrap_or(0).saturating_add(delta);
    let there = usize::try_from(there.rem_euclid(count)).unwrap_or(0);
    all.get(there).copied().unwrap_or(here)
}
