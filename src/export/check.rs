//! A case, made again: whether its failure is still there.

use super::case::{Case, CaseItem};
use super::directory::tree_of;
use crate::capture::IgnoreRules;
use crate::model::{Outcome, TapePath};
use crate::replay::workbench::{
    Answer, Call, Tree, Words, Workbench, WorkbenchConfig, WorkbenchError,
};
use crate::replay::{CallContent, Leaf, Volatile, leaves_of_answer};

/// Where commands see the files of a case.
const ROOT: &str = "/workspace";
/// What stands for the home directory of somebody who has none.
const HOMELESS: &str = "/nonexistent";
/// What a shell says where there is no program of a name, or it cannot be run.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// What came of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseVerdict {
    /// It failed as it did.
    Reproduces,
    /// It succeeded.
    Fixed,
    /// It failed, and not as it did: where. What was expected stands on the left.
    Changed(Vec<Leaf>),
    /// Nothing can be said, and why.
    Inconclusive(String),
}

impl CaseVerdict {
    /// The fixed word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Reproduces => "reproduces",
            Self::Fixed => "fixed",
            Self::Changed(_) => "changed",
            Self::Inconclusive(_) => "inconclusive",
        }
    }
}

/// A case that was made again.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What came of it.
    pub verdict: CaseVerdict,
    /// What the call came to, with placeholders in its output; `None`: it was not made.
    pub content: Option<CallContent>,
}

impl Checked {
    fn inconclusive(why: impl Into<String>) -> Self {
        Self {
            verdict: CaseVerdict::Inconclusive(why.into()),
            content: None,
        }
    }
}

/// Makes a case again. It is given up when `is_stopped` says so.
pub fn check(
    case: &Case,
    config: &WorkbenchConfig,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Checked, WorkbenchError> {
    let home = config.home.as_ref().and_then(|home| home.to_str());
    let home = home.unwrap_or(HOMELESS);
    let fill = |text: &str| case.placeholders.fill(text, ROOT, home);
    let call = Call {
        name: case.tool.clone(),
        arguments: case.placeholders.fill_in(&case.arguments, ROOT, home),
        time: None,
    };
    let (entries, contents) = tree_of(case);
    let config = WorkbenchConfig {
        root: Some(ROOT.to_owned()),
        keeps_directory: false,
        ..config.clone()
    };
    let tree = Tree::new(entries, case.is_whole, &contents);
    let mut bench = Workbench::new(config, tree);
    if !case.directory.is_empty() {
        bench.enter(&fill(&case.directory));
    }
    let answer = match bench.answer(&call, is_stopped)? {
        Ok(answer) => answer,
        Err(why) => return Ok(Checked::inconclusive(why.to_string())),
    };
    let seen = bench.seen_at().map(|seen| seen.to_string_lossy());
    let seen = seen.as_deref().unwrap_or(ROOT);
    if seen != ROOT {
        let why = format!("nothing can be shown at {ROOT} on this machine");
        return Ok(Checked::inconclusive(why));
    }
    let rules = rules_of(case);
    let is_left_out = |path: &TapePath| {
        let is_git = || path.components().any(|name| name == b".git");
        case.left_out.git && is_git() || rules.leave_out(path)
    };
    let mut expected = case.expected.clone();
    expected.output = match answer.words {
        Words::Own => None,
        Words::Exact | Words::AnyOrder => expected.output.map(|output| fill(&output)),
    };
    let volatile = Volatile::new(Some(ROOT)).only(&case.volatile);
    let content = CallContent::of_answer(&answer, bench.tree(), &is_left_out);
    let leaves = leaves_of_answer(
        (&expected, &volatile),
        &answer,
        (content.clone(), &volatile),
        case.is_trimmed,
    );
    Ok(Checked {
        verdict: verdict(case, &answer, leaves),
        content: Some(content),
    })
}

fn verdict(case: &Case, answer: &Answer, leaves: Vec<Leaf>) -> CaseVerdict {
    if leaves.is_empty() {
        return CaseVerdict::Reproduces;
    }
    if answer.outcome == Outcome::Ok {
        return CaseVerdict::Fixed;
    }
    let is_without_program = answer.exit.is_some_and(|exit| NO_PROGRAM.contains(&exit));
    if is_without_program && answer.exit != case.expected.exit {
        let said = answer.output.lines().next().unwrap_or_default();
        return CaseVerdict::Inconclusive(format!("a program is not here: {said}"));
    }
    if answer.needs_network {
        return CaseVerdict::Inconclusive("it wanted the network, and there is none".to_owned());
    }
    CaseVerdict::Changed(leaves)
}

/// What the files called `.gitignore` name, where that was left out of the record.
fn rules_of(case: &Case) -> IgnoreRules {
    let mut rules = IgnoreRules::default();
    if !case.left_out.ignored {
        return rules;
    }
    for (path, file) in &case.files {
        if path.name() == b".gitignore"
            && let CaseItem::File(text) = &file.item
        {
            let above = path.parent();
            let above = above.as_ref().map_or(&b""[..], TapePath::as_bytes);
            rules.take(above, text);
        }
    }
    rules
}
