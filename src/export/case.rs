//! A case: the call, the files that it needs, and what came of it.
//!
//! Plain data. Texts that may name the place of the recording hold placeholders instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::minimal::Cut;
use super::placeholders::Placeholders;
use crate::model::TapePath;
use crate::replay::workbench::Session;
use crate::replay::{CallContent, Predicate, VolatileSort};

/// A call that failed, to be made again.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// A slug.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, with placeholders.
    pub arguments: Value,
    /// Where the shell is, with placeholders: below the workspace, or an absolute path.
    pub directory: String,
    /// The words that stand for paths of the recording.
    pub placeholders: Placeholders,
    /// What came of it, with placeholders in its output.
    pub expected: CallContent,
    /// Both streams stand in the output one after the other, without blank lines around them.
    pub is_trimmed: bool,
    /// What of the output does not count.
    pub volatile: Vec<VolatileSort>,
    /// What is to be so after the call, and was not. Without it, the call is to succeed.
    pub check: Option<Predicate>,
    /// What its agent had read, where the tool went by that.
    pub session: Session,
    /// The workspace before the call.
    pub files: BTreeMap<TapePath, CaseFile>,
    /// Whether what is not among the files is known not to be there.
    pub is_whole: bool,
    /// What is not looked at.
    pub left_out: LeftOut,
    /// What was not known.
    pub doubts: Vec<String>,
    /// What to know of it besides.
    pub remarks: Vec<String>,
    /// What was taken out of it, or put elsewhere.
    pub altered: Altered,
    /// Of a smallest set of files: what was left out.
    pub cut: Option<Cut>,
}

/// What of a recording is not in a case as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Altered {
    /// Secrets for which placeholders stand.
    pub secrets: u32,
    /// Files in which paths of the recording are others.
    pub moved: u32,
}

/// A file of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFile {
    /// Permission bits, where they are known.
    pub mode: Option<u32>,
    /// What it is.
    pub item: CaseItem,
}

/// What a file of a case is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseItem {
    /// A file with these bytes.
    File(Arc<[u8]>),
    /// A directory.
    Directory,
    /// A link with this text.
    Link(Vec<u8>),
    /// Nothing, as the call itself said.
    Nothing,
    /// Something of which nothing is known but that it is there, as the call itself said.
    Unknown,
}

impl CaseFile {
    /// A path of which only this is known.
    pub const fn of(item: CaseItem) -> Self {
        Self { mode: None, item }
    }
}

impl CaseItem {
    /// Whether it is a file or a link.
    pub const fn is_leaf(&self) -> bool {
        matches!(self, Self::File(_) | Self::Link(_))
    }
}

/// What of the workspace is not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// What is called `.git`.
    pub git: bool,
    /// What a `.gitignore` among the files names.
    pub ignored: bool,
}
