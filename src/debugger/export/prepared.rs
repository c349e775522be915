//! A failed call as the case that would be written: what it holds, what it leaves out, and what
//! is not known of it. What was looked at is what is written, wherever that is.
//!
//! Nothing here is written before somebody names a directory, and nothing is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{
    CaseCut, CaseForm, CaseMeans, ExportError, ExportedCase, Uncertain, report, reproduces,
};
use crate::debugger::{CaseFiles, Debugger, Spot};
use crate::export::{Case, CaseFile, CaseItem, Changed, slug, write};
use crate::model::{Outcome, StepNumber, TapePath, Tell};
use crate::text::SafeText;

/// Files that are told by name.
const MOST_NAMED: usize = 8;
/// Names that are tried before one that is taken is offered.
const MOST_NAMES: usize = 1000;

/// A failed call, ready to be written as a case.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedCase {
    pub(super) step: StepNumber,
    /// What the step is called.
    pub(super) title: SafeText,
    /// The name of the run, without what says that it is a tape.
    pub(super) run: String,
    pub(super) case: Case,
    /// The call does something to files and nothing else, so that it can be made without running
    /// anything.
    pub(super) is_function: bool,
    /// Files and links of the workspace that the case does not hold.
    pub(super) others: usize,
    /// The call is a command, and the tape does not show all files that it may have read.
    pub(super) lacks_files: bool,
    /// The later step in which the same call went well, and what files had become by then, where
    /// the smallest set of files is wanted.
    pub(super) mended: Option<(StepNumber, Changed)>,
    /// That step, if its files still mend the call on what is left.
    pub(super) turns_green: Option<StepNumber>,
}

/// What a case would hold, to be shown before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOffer {
    /// The step of the call.
    pub step: StepNumber,
    /// The tool.
    pub tool: SafeText,
    /// What the step is called.
    pub title: SafeText,
    /// How the call ended.
    pub outcome: Outcome,
    /// The code that it ended with.
    pub exit: Option<i32>,
    /// Lines of what it said, where its words count.
    pub output_lines: Option<usize>,
    /// Files and links that it holds.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// The first of them, with their bytes.
    pub named: Vec<(SafeText, u64)>,
    /// Files and links of the workspace that it does not hold.
    pub others: usize,
    /// What of the workspace is not looked at when it is made again.
    pub left_out: Vec<&'static str>,
    /// What is not known of it.
    pub doubts: Vec<SafeText>,
    /// What to know of it besides.
    pub remarks: Vec<SafeText>,
    /// Of a smallest set of files, what was left out.
    pub cut: Option<CaseCut>,
}

impl Debugger {
    /// Makes the failed call of a step ready to be written as a case: the step's own, or of a
    /// step of a model, the first one that it asked for. Costs a read of each file that the
    /// case holds, and writes and runs nothing.
    pub fn prepare_case(
        &self,
        spot: Spot,
        files: CaseFiles,
        means: &CaseMeans,
        tell: &mut Tell<'_>,
    ) -> Result<PreparedCase, ExportError> {
        let prepared = self.case(spot, files, means, tell)?;
        if prepared.case.doubts.is_empty() {
            prepared.holds_what_fails()?;
        }
        Ok(prepared)
    }
}

impl PreparedCase {
    /// What it would hold.
    pub fn offer(&self) -> CaseOffer {
        let case = &self.case;
        let leaves = case.files.iter().filter(|(_, file)| is_leaf(file));
        let sizes = leaves.map(|(path, file)| (path, size_of(file)));
        let sizes: Vec<(&TapePath, u64)> = sizes.collect();
        let named = sizes.iter().take(MOST_NAMED);
        let named = named.map(|(path, size)| (SafeText::from_bytes(path.as_bytes()), *size));
        let mut left_out = Vec::new();
        if case.left_out.git {
            left_out.push("what is called .git");
        }
        if case.left_out.ignored {
            left_out.push("what a .gitignore names");
        }
        let output = case.expected.output.as_deref();
        CaseOffer {
            step: self.step,
            tool: SafeText::line(&case.tool),
            title: self.title.clone(),
            outcome: case.expected.outcome,
            exit: case.expected.exit,
            output_lines: output.map(|output| output.lines().count()),
            files: sizes.len(),
            bytes: sizes.iter().map(|(_, size)| size).sum(),
            named: named.collect(),
            others: self.others,
            left_out,
            doubts: self.doubts(),
            remarks: self.remarks(),
            cut: self.cut(),
        }
    }

    /// Whether its files can become fewer: the call is a command, and that was not done yet.
    pub const fn can_shrink(&self) -> bool {
        !self.is_function && self.case.cut.is_none()
    }

    /// The name of the case: what its directory is called where nobody says otherwise.
    pub fn name(&self) -> &str {
        &self.case.name
    }

    /// A directory below `here` that is called like the run and the step, and is not there yet.
    pub fn free_directory(&self, here: &Path) -> PathBuf {
        free_directory(here, &format!("{} step {}", self.run, self.step))
    }

    fn doubts(&self) -> Vec<SafeText> {
        let doubts = self.case.doubts.iter();
        doubts.map(|doubt| SafeText::line(doubt)).collect()
    }

    fn remarks(&self) -> Vec<SafeText> {
        let remarks = self.case.remarks.iter();
        remarks.map(|remark| SafeText::line(remark)).collect()
    }

    fn cut(&self) -> Option<CaseCut> {
        let cut = self.case.cut.as_ref();
        cut.map(|cut| CaseCut::new(cut, self.turns_green))
    }

    /// Refuses a case of which something is not known.
    pub(super) fn is_certain(&self) -> Result<(), ExportError> {
        if self.case.doubts.is_empty() {
            return Ok(());
        }
        Err(ExportError::Uncertain {
            step: self.step,
            doubts: self.doubts(),
            lacks_files: self.lacks_files,
        })
    }

    /// Of an edit or a read: whether it fails on the files of the case, as it did.
    fn holds_what_fails(&self) -> Result<(), ExportError> {
        if self.is_function {
            reproduces(&self.case, self.step)?;
        }
        Ok(())
    }

    /// Writes it into a directory that is not there yet, or empty; the one above it is. It is
    /// there as a whole or not at all: a break of `tell` leaves nothing. One that is not known
    /// as a whole is written where that is wanted.
    pub fn write(
        &self,
        (form, uncertain): (CaseForm, Uncertain),
        directory: &Path,
        tell: &mut Tell<'_>,
    ) -> Result<ExportedCase, ExportError> {
        let case = &self.case;
        if !case.doubts.is_empty() {
            if uncertain == Uncertain::Refused {
                self.is_certain()?;
            }
            self.holds_what_fails()?;
        }
        let report = (form == CaseForm::Report).then(|| report(case));
        let more: Vec<(&str, Vec<u8>)> = report
            .into_iter()
            .map(|text| ("REPORT.md", text.into_bytes()))
            .collect();
        write(case, form, &more, directory, tell)?;
        Ok(ExportedCase {
            form,
            name: case.name.clone(),
            directory: directory.to_owned(),
            step: self.step,
            tool: SafeText::line(&case.tool),
            files: size_of_all(&case.files).0,
            doubts: self.doubts(),
            remarks: self.remarks(),
            secrets: case.altered.secrets,
            moved: case.altered.moved,
            cut: self.cut(),
        })
    }
}

/// A directory below `here` that is called like this, and is not there yet.
pub(super) fn free_directory(here: &Path, words: &str) -> PathBuf {
    let name = slug(words);
    let numbered = (2..MOST_NAMES).map(|number| format!("{name}-{number}"));
    let mut places = std::iter::once(name.clone())
        .chain(numbered)
        .map(|name| here.join(name));
    let is_free = |place: &PathBuf| fs::symlink_metadata(place).is_err();
    places.find(is_free).unwrap_or_else(|| here.join(name))
}

fn is_leaf(file: &CaseFile) -> bool {
    file.item.is_leaf()
}

/// How many files and links there are, and the bytes of them.
pub(super) fn size_of_all(files: &BTreeMap<TapePath, CaseFile>) -> (usize, u64) {
    let leaves = files.values().filter(|file| is_leaf(file));
    leaves.fold((0, 0), |(count, bytes), file| {
        (count + 1, bytes + size_of(file))
    })
}

fn size_of(file: &CaseFile) -> u64 {
    match &file.item {
        CaseItem::File(bytes) => bytes.len() as u64,
        CaseItem::Link(target) => target.len() as u64,
        CaseItem::Directory | CaseItem::Nothing | CaseItem::Unknown => 0,
    }
}
