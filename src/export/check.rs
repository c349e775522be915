//! A case, made again: whether its failure is still there.

use std::collections::BTreeMap;

use super::case::{Case, CaseFile, CaseItem};
use super::directory::Contents;
use super::placeholders::{HOME, ROOT};
use crate::capture::IgnoreRules;
use crate::model::{Outcome, TapePath};
use crate::replay::workbench::{
    Answer, Call, Tree, Words, Workbench, WorkbenchConfig, WorkbenchError,
};
use crate::replay::{CallContent, Leaf, Predicate, Volatile, leaves_of_answer};
use crate::tools::{Asked, Refusal};

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
    let contents = Contents::default();
    let mut bench = Bench::new(case, config, &contents);
    bench.check(&case.files, is_stopped)
}

/// A case, made again on one set of files after the other. Each costs what differs between
/// them, and the call.
pub(super) struct Bench<'a> {
    case: &'a Case,
    call: Call,
    contents: &'a Contents,
    workbench: Workbench<'a>,
    /// What was expected to be said, with paths of this machine.
    said: Option<String>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(case: &'a Case, config: &WorkbenchConfig, contents: &'a Contents) -> Self {
        let home = config.home.as_ref().and_then(|home| home.to_str());
        // What files say of a home is said of this one: a function of files knows no other.
        let runs = matches!(Asked::of(&case.tool, &case.arguments), Asked::Run(_));
        let home = home.filter(|_| runs).unwrap_or(HOME);
        let fill = |text: &str| case.placeholders.fill(text, ROOT, home);
        let call = Call {
            name: case.tool.clone(),
            arguments: case.placeholders.fill_in(&case.arguments, ROOT, home),
            time: None,
        };
        let config = WorkbenchConfig {
            root: Some(ROOT.to_owned()),
            keeps_directory: false,
            ..config.clone()
        };
        let tree = Tree::new(Vec::new(), case.is_whole, contents);
        let mut bench = Workbench::new(config, tree);
        bench.set_session(case.session.clone());
        if !case.directory.is_empty() {
            bench.enter(&fill(&case.directory));
        }
        Self {
            case,
            call,
            contents,
            workbench: bench,
            said: case.expected.output.as_deref().map(fill),
        }
    }

    /// What was expected to be said.
    pub(super) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// The answer on these files; or why there is none.
    pub(super) fn answer(
        &mut self,
        files: &BTreeMap<TapePath, CaseFile>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Result<Answer, String>, WorkbenchError> {
        let entries = self.contents.entries(files);
        self.workbench.make(entries, self.case.is_whole);
        let answer = match self.workbench.answer(&self.call, is_stopped)? {
            Ok(answer) => answer,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let seen = self.workbench.seen_at().map(|seen| seen.to_string_lossy());
        if seen.is_some_and(|seen| seen != ROOT) {
            let why = format!("nothing can be shown at {ROOT} on this machine");
            return Ok(Err(why));
        }
        Ok(Ok(answer))
    }

    /// What an answer came to, on these files.
    pub(super) fn content(
        &self,
        files: &BTreeMap<TapePath, CaseFile>,
        answer: &Answer,
    ) -> CallContent {
        let rules = rules_of(self.case, files);
        let is_left_out = |path: &TapePath| {
            let is_git = || path.components().any(|name| name == b".git");
            self.case.left_out.git && is_git() || rules.leave_out(path)
        };
        CallContent::of_answer(answer, self.workbench.tree(), &is_left_out)
    }

    /// Makes the case on these files.
    pub(super) fn check(
        &mut self,
        files: &BTreeMap<TapePath, CaseFile>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Checked, WorkbenchError> {
        let answer = match self.answer(files, is_stopped)? {
            Ok(answer) => answer,
            Err(why) => return Ok(Checked::inconclusive(why)),
        };
        let content = self.content(files, &answer);
        let verdict = if let Some(check) = &self.case.check {
            self.workbench.apply(&answer.changes);
            asked(check, self.workbench.tree())
        } else {
            let leaves = self.leaves(&answer, content.clone());
            verdict(self.case, &answer, leaves)
        };
        let content = Some(content);
        Ok(Checked { verdict, content })
    }

    fn leaves(&self, answer: &Answer, mut content: CallContent) -> Vec<Leaf> {
        let mut expected = self.case.expected.clone();
        expected.output.clone_from(&self.said);
        if answer.words == Words::Own {
            // Of words that differ from version to version, the reason counts.
            let told = expected.output.as_deref().and_then(Refusal::told_by);
            let both = told.zip(answer.refusal);
            let word = |refusal: Refusal| refusal.as_str().to_owned();
            expected.output = both.map(|(told, _)| word(told));
            content.output = both.map(|(_, made)| word(made));
        }
        let volatile = Volatile::new(Some(ROOT)).only(&self.case.volatile);
        leaves_of_answer(
            (&expected, &volatile),
            answer,
            (content, &volatile),
            self.case.is_trimmed,
        )
    }
}

/// What a question about a file comes to, after the call.
fn asked(check: &Predicate, tree: &Tree<'_>) -> CaseVerdict {
    match check.is_so(tree) {
        Some(true) => CaseVerdict::Fixed,
        Some(false) => CaseVerdict::Reproduces,
        None => CaseVerdict::Inconclusive(format!(
            "what {} holds then is not known",
            check.path.to_text()
        )),
    }
}

fn verdict(case: &Case, answer: &Answer, leaves: Vec<Leaf>) -> CaseVerdict {
    if leaves.is_empty() {
        return CaseVerdict::Reproduces;
    }
    if answer.outcome == Outcome::Ok {
        return CaseVerdict::Fixed;
    }
    if let Some(why) = lacks_program(case, answer) {
        return CaseVerdict::Inconclusive(why);
    }
    if answer.needs_network {
        return CaseVerdict::Inconclusive("it wanted the network, and there is none".to_owned());
    }
    CaseVerdict::Changed(leaves)
}

/// Why a call could not be made here, where a program of it is missing, and was not in the run.
pub(super) fn lacks_program(case: &Case, answer: &Answer) -> Option<String> {
    let exit = answer.exit.filter(|exit| NO_PROGRAM.contains(exit))?;
    if case.expected.exit == Some(exit) {
        return None;
    }
    let said = missing(&answer.output);
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    Some(format!("a program is not here{said}"))
}

/// The line that says that a program is missing; or the first that says anything.
fn missing(output: &str) -> Option<&str> {
    let lines = || output.lines().map(str::trim);
    let tells = |line: &&str| {
        ["not found", "No such file", "denied"]
            .iter()
            .any(|it| line.contains(it))
    };
    lines()
        .find(tells)
        .or_else(|| lines().find(|line| !line.is_empty()))
}

/// What the files called `.gitignore` name, where that was left out of the record.
fn rules_of(case: &Case, files: &BTreeMap<TapePath, CaseFile>) -> IgnoreRules {
    let mut rules = IgnoreRules::default();
    if !case.left_out.ignored {
        return rules;
    }
    for (path, file) in files {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_of_a_missing_program_is_told() {
        let check = |output: &str, expected| assert_eq!(missing(output), expected, "{output:?}");
        check(
            "\n> app build\n\nsh: 1: next: not found\n",
            Some("sh: 1: next: not found"),
        );
        check("\n  hm\n", Some("hm"));
        check("\n \n", None);
    }
}
