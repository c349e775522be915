//! The tree of forks while it is shown: the tape that the run left, and all that left it or the
//! run; which of them is chosen, and what is to be done with that one.
//!
//! Here is the state alone. What keys do to it is in `update`, what it says in `overlay`; where
//! tapes lie, and what may be done to one, is the façade's business.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::held::Ticket;
use super::job::Answered;
use crate::debugger::{ForkAccount, ForkRow};
use crate::text::SafeText;

/// The tree, while it is shown.
#[derive(Debug)]
pub(super) struct ForkTree {
    /// The tapes, each behind the one it left.
    pub(super) rows: Vec<ForkRow>,
    /// What became of the forks, by their ids, as far as that is told.
    pub(super) accounts: BTreeMap<String, Answered<ForkAccount>>,
    /// By which the rows and the accounts are known.
    asked: Ticket,
    /// The id of the tape that is chosen; without it, the run itself is.
    pub(super) chosen: Option<String>,
    /// How far it is.
    pub(super) stage: Stage,
    /// What was done last.
    pub(super) remark: Option<SafeText>,
}

/// How far the tree is, or what is being done in it.
#[derive(Debug)]
pub(super) enum Stage {
    /// The tapes are being looked for.
    Looking,
    /// They are listed.
    Listed,
    /// Whether the chosen fork is to be deleted is asked.
    Asked,
    /// It is being renamed or deleted.
    Changing(Ticket, Change),
    /// What was wanted cannot be done, and why.
    Refused(Refusal),
}

/// What is being done to a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It gets another name.
    Rename,
    /// It is deleted.
    Delete,
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What is not done.
    pub(super) what: SafeText,
    /// Why, a line each.
    pub(super) why: Vec<SafeText>,
    /// What to do now.
    pub(super) next: SafeText,
}

/// A run that is being opened, to take the place of the one on the screen.
#[derive(Debug)]
pub(super) struct OpeningRun {
    /// By which it is known.
    pub(super) ticket: Ticket,
    /// What it is called.
    pub(super) name: SafeText,
    /// Of a tape of the tree, the id of the run that is left for it.
    pub(super) from: Option<String>,
    /// The file of the run that it is held against when it is open.
    pub(super) beside: Option<PathBuf>,
}

impl ForkTree {
    /// A tree that is being looked for.
    pub(super) const fn new(asked: Ticket) -> Self {
        Self {
            rows: Vec::new(),
            accounts: BTreeMap::new(),
            asked,
            chosen: None,
            stage: Stage::Looking,
            remark: None,
        }
    }

    /// The tapes are being looked for anew; what is shown stays meanwhile.
    pub(super) fn ask_anew(&mut self, asked: Ticket) {
        self.asked = asked;
        self.stage = Stage::Looking;
    }

    /// Whether a reply is to what was asked.
    pub(super) fn is_asked(&self, generation: u64) -> bool {
        self.asked.is_for(generation)
    }

    /// Takes the tapes in. Where nothing is chosen yet, `from` is, if it is one of them.
    pub(super) fn take(&mut self, rows: Vec<ForkRow>, from: Option<&String>) {
        self.accounts
            .retain(|id, _| rows.iter().any(|row| row.id == *id));
        self.rows = rows;
        let is_listed = |id: &&String| self.rows.iter().any(|row| row.id == **id);
        let chosen = self.chosen.as_ref().filter(is_listed);
        self.chosen = chosen.or(from.filter(is_listed)).cloned();
        if let Stage::Looking = self.stage {
            self.stage = Stage::Listed;
        }
    }

    /// Whether an answer is waited for.
    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Looking | Stage::Changing(..))
    }

    /// The index of the tape that is chosen.
    pub(super) fn chosen_index(&self) -> Option<usize> {
        let is_chosen = |row: &ForkRow| Some(&row.id) == self.chosen.as_ref();
        let chosen = self.rows.iter().position(is_chosen);
        chosen.or_else(|| self.rows.iter().position(|row| row.is_this))
    }

    /// The tape that is chosen.
    pub(super) fn chosen_row(&self) -> Option<&ForkRow> {
        self.rows.get(self.chosen_index()?)
    }

    /// The run that is on the screen.
    pub(super) fn this(&self) -> Option<&ForkRow> {
        self.rows.iter().find(|row| row.is_this)
    }

    /// The tape that one left.
    pub(super) fn parent_of(&self, index: usize) -> Option<&ForkRow> {
        let depth = self.rows.get(index)?.depth.checked_sub(1)?;
        let above = self.rows.get(..index)?;
        above.iter().rfind(|row| row.depth == depth)
    }

    /// The forks of one that are there, and theirs.
    pub(super) fn forks_of(&self, index: usize) -> impl Iterator<Item = &ForkRow> {
        let depth = self.rows.get(index).map_or(u16::MAX, |row| row.depth);
        let below = self.rows.get(index + 1..).unwrap_or_default().iter();
        below
            .take_while(move |row| row.depth > depth)
            .filter(|row| row.is_there())
    }
}

/// The name of a tape's file; where nobody knows it, its title.
pub(super) fn file_name(row: &ForkRow) -> SafeText {
    row.path.as_deref().map_or(row.title.clone(), name_of)
}

/// The name of a file, made safe.
pub(super) fn name_of(path: &Path) -> SafeText {
    SafeText::from_bytes(path.file_name().unwrap_or(path.as_os_str()).as_bytes())
}
