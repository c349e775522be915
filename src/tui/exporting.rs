//! A test case in the making: what of a failed call is to be kept, how and where, and what
//! became of it.
//!
//! Nothing is written before a clear yes to what is shown. Here is the state alone: what keys do
//! to it is in `update`, what it says in `overlay`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::held::Ticket;
use super::job::{CaseOffered, NoCase};
use crate::debugger::{CaseFiles, CaseForm, ExportedCase, Spot, Uncertain};
use crate::model::Progress;
use crate::text::{SafeText, command_line};

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
    /// It is being written.
    Writing(Ticket, Arc<CaseOffered>, Option<Progress>),
    /// It was.
    Written(Box<ExportedCase>),
    /// The step makes none.
    None(NoCase),
}

/// What a person may choose of a test case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wish {
    /// What it is wrapped in.
    #[default]
    Form,
    /// Which files it holds.
    Files,
    /// Where it goes.
    Directory,
    /// Whether it is written although something is not known.
    Uncertain,
}

impl Exporting {
    /// Nothing is known of it yet.
    pub(super) fn new(at: Spot, ticket: Ticket) -> Self {
        Self {
            at,
            form: CaseForm::default(),
            files: CaseFiles::default(),
            uncertain: Uncertain::default(),
            directory: None,
            chosen: Wish::default(),
            stage: Stage::Preparing(ticket),
            mistake: None,
        }
    }

    /// Whether an answer is waited for.
    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Preparing(_) | Stage::Writing(..))
    }

    /// What is shown to be said yes to, if something is.
    pub(super) const fn shown(&self) -> Option<&Arc<CaseOffered>> {
        match &self.stage {
            Stage::Shown(offered) => Some(offered),
            _ => None,
        }
    }

    /// The wishes that make a difference, in the order in which they stand there.
    pub(super) fn wishes(&self) -> &'static [Wish] {
        match &self.stage {
            Stage::Shown(offered) if !offered.offer.doubts.is_empty() => {
                &[Wish::Form, Wish::Files, Wish::Directory, Wish::Uncertain]
            }
            Stage::Preparing(_) | Stage::Shown(_) => &[Wish::Form, Wish::Files, Wish::Directory],
            Stage::Writing(..) | Stage::Written(_) | Stage::None(_) => &[],
        }
    }

    /// Where it goes.
    pub(super) fn directory<'a>(&'a self, offered: &'a CaseOffered) -> &'a Path {
        self.directory.as_deref().unwrap_or(&offered.directory)
    }

    /// Whether a yes writes it: all of it is known, or it is wanted as it is.
    pub(super) fn is_ready(&self) -> bool {
        let offered = self.shown();
        let is_known = offered.is_some_and(|offered| offered.offer.doubts.is_empty());
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

/// What makes a case again.
pub(super) fn case_command(directory: &Path) -> SafeText {
    let directory = directory.to_string_lossy();
    SafeText::line(&command_line(["jukebox", "test", &*directory]))
}
