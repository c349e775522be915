//! A failed call of a run, as a test case in a directory of its own.
//!
//! Nothing is run: an edit or a read is answered as the function of files that it is, so that it
//! is known that the case reproduces; of a command, `jukebox test` says it.

mod prepared;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::replay::{CallRecord, Verdict};
use super::{Debugger, Spot};
use crate::checkout::{Entry, Item};
use crate::export::{
    Case, CaseFile, CaseItem, CaseVerdict, LeftOut, Placeholders, Recorded, Touched, check, slug,
};
use crate::model::{
    BlobHash, Certainty, Cursor, Outcome, Progress, StepKind, StepNumber, TapePath, Tell, Unit,
};
use crate::replay::VolatileSort;
use crate::replay::workbench::{Tree, Workbench, WorkbenchConfig};
use crate::tape::{BlobError, BlobSource};
use crate::text::SafeText;
use crate::tools::{Asked, Refusal};

pub use self::prepared::{CaseOffer, PreparedCase};
pub use crate::export::Form as CaseForm;

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
}

impl CaseFiles {
    /// Every choice, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Needed, Self::Touched, Self::All];

    /// The choice in a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Touched => "touched",
            Self::All => "all",
        }
    }

    /// What it means, in a few words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Needed => "those that are touched; for a command, which may read any file, all",
            Self::Touched => "those that the call or its output names, or that it changed",
            Self::All => "all of the workspace",
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

/// Why there is no case. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The step is no failed call, and none follows from it.
    #[error("step {0} is no tool call that failed")]
    NotFailed(StepNumber),
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
    },
    /// It was answered, and not with the failure that was recorded.
    #[error("step {0} does not fail like this on its files: {1}")]
    NotReproduced(StepNumber, SafeText),
    /// It could not be written.
    #[error(transparent)]
    Case(#[from] crate::export::CaseError),
}

/// A case that was written.
#[derive(Clone, Debug)]
pub struct ExportedCase {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// The step.
    pub step: StepNumber,
    /// The tool.
    pub tool: SafeText,
    /// How many files and links it holds.
    pub files: usize,
    /// What was not known.
    pub doubts: Vec<SafeText>,
}

/// No run: a case brings its own contents.
struct Nothing;

impl BlobSource for Nothing {
    fn blob(&self, hash: &BlobHash) -> Result<std::sync::Arc<[u8]>, BlobError> {
        Err(BlobError::Missing(*hash))
    }
}

impl Debugger {
    /// Writes the failed call of a step as a case: the step's own, or of a step of a model, the
    /// first one that it asked for. Costs a read of each file that the case holds. Without a
    /// directory, one below `here` that is called like the case.
    pub fn export_case(
        &self,
        spot: Spot,
        options: CaseOptions,
        directory: Option<&Path>,
        here: &Path,
    ) -> Result<ExportedCase, ExportError> {
        let mut tell = |_: Progress| ControlFlow::Continue(());
        let prepared = self.prepare_case(spot, options.files, &mut tell)?;
        let place = directory.map_or_else(|| here.join(prepared.name()), Path::to_owned);
        prepared.write((options.form, options.uncertain), &place, &mut tell)
    }

    /// The failed call of a step, as a case. Of an edit or a read it is not asked yet whether it
    /// fails again.
    fn case(
        &self,
        spot: Spot,
        wanted: CaseFiles,
        tell: &mut Tell<'_>,
    ) -> Result<PreparedCase, ExportError> {
        let line = self.line_of(spot);
        let not_failed = || ExportError::NotFailed(spot.step);
        let (number, step) = self.failed_call(line, spot.step).ok_or_else(not_failed)?;
        let record = self.recorded_call(step);
        match record.why_not() {
            Some(Verdict::NotAttempted(why)) => return Err(ExportError::NotMade(number, why)),
            Some(_) => return Err(not_failed()),
            None if record.outcome != Some(Outcome::Failed) => return Err(not_failed()),
            None => {}
        }
        let not_made = |why: &str| ExportError::NotMade(number, SafeText::line(why));
        let asked = Asked::of(&record.call.name, &record.call.arguments);
        if let Asked::Unknown(why) = asked {
            return Err(not_made(&why.to_string()));
        }
        if matches!(record.refusal(), Some(Refusal::Unread | Refusal::Stale)) {
            let why = "it was refused for what the agent had done before, not for the files";
            return Err(not_made(why));
        }
        let runs = matches!(asked, Asked::Run(_));
        let Some(entry) = self.tape.index.steps.get(step) else {
            return Err(not_failed());
        };
        let before = Cursor {
            position: entry.opened + 1,
            branch: entry.lane.view,
        };
        let mut doubts = self.doubts(step, &record, before, runs);
        let is_whole = self.state.is_whole(before);
        let wanted = (wanted, runs);
        let (files, others) = self.case_files(step, &record, before, wanted, &mut doubts, tell)?;
        let mut expected = record.content();
        if record.is_cut {
            expected.output = None;
        }
        let is_seen = !record.is_suspect && !self.is_doubted(step);
        expected.files = is_seen.then(|| self.files_after(step));
        if let Some(files) = &mut expected.files {
            files.retain(|path, _| !path.is_outside());
        }
        let directory = self.directory_before(line, number);
        let paths = Recorded::new(self.header.root.as_deref());
        let row = self.row(line, number);
        let named = row.map(|row| row.title).unwrap_or_default();
        let title = named.as_str();
        let output = expected.output.clone().unwrap_or_default();
        let words = Placeholders::new(&[&output, &directory, title], &record.call.arguments);
        expected.output = expected.output.map(|output| words.hide(&output, &paths));
        let covers = &self.header.covers;
        let ignored = covers.get("ignored").and_then(Value::as_str);
        let title = words.hide(title, &paths);
        let case = Case {
            name: slug(&format!("step-{number}-{}-{title}", record.call.name)),
            tool: record.call.name.clone(),
            arguments: words.hide_in(&record.call.arguments, &paths),
            directory: words.hide(&directory, &paths),
            placeholders: words,
            expected,
            is_trimmed: self.keeps_directory(),
            volatile: VolatileSort::ALL.to_vec(),
            files,
            // A command sees the files of the case, and there are no others.
            is_whole: is_whole || runs,
            left_out: LeftOut {
                git: covers.contains_key("repositories"),
                ignored: ignored.is_some_and(|words| words.starts_with("by ")),
            },
            doubts,
        };
        let run = Path::new(self.name.as_str()).file_stem();
        let run = run.map(|run| run.to_string_lossy().into_owned());
        Ok(PreparedCase {
            step: number,
            title: named,
            run: run.unwrap_or_default(),
            case,
            is_function: !runs,
            others,
        })
    }

    /// The failed call that is meant by a step: itself, or the first one that a model asked for
    /// there and that failed.
    fn failed_call(&self, line: u16, number: StepNumber) -> Option<(StepNumber, u32)> {
        let index = &self.tape.index;
        let at = |number: StepNumber| {
            let step = index.step_on(line, number)?;
            Some((step, index.steps.get(step)?))
        };
        let (step, entry) = at(number)?;
        match entry.kind {
            StepKind::Tool => return Some((number, step)),
            StepKind::Model => {}
            _ => return None,
        }
        let following = (number.0 + 1..).map(StepNumber);
        let calls = following.map_while(|number| {
            let (step, entry) = at(number)?;
            let is_next_turn = matches!(entry.kind, StepKind::Model | StepKind::Prompt);
            (!is_next_turn).then_some((number, step, entry))
        });
        let mut failed = calls.filter(|(_, _, entry)| {
            entry.kind == StepKind::Tool && entry.outcome == Outcome::Failed
        });
        failed.next().map(|(number, step, _)| (number, step))
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

    /// The files that a case of a call holds, and how many there are beside them.
    fn case_files(
        &self,
        step: u32,
        record: &CallRecord,
        before: Cursor,
        (wanted, runs): (CaseFiles, bool),
        doubts: &mut Vec<String>,
        tell: &mut Tell<'_>,
    ) -> Result<(BTreeMap<TapePath, CaseFile>, usize), ExportError> {
        let all = wanted == CaseFiles::All || wanted == CaseFiles::Needed && runs;
        let mut touched = Touched::default();
        touched.take_value(&record.call.arguments);
        touched.take(&record.output);
        let changed = self.files_after(step);
        let is_wanted = |path: &TapePath| {
            let is_rules = runs && path.name() == b".gitignore";
            all || is_rules || changed.contains_key(path) || touched.names(path)
        };
        let mut files = BTreeMap::new();
        let mut directories = BTreeMap::new();
        let entries = self.entries(before);
        let of = entries.len() as u64;
        let mut others = 0;
        for (done, entry) in (0..).zip(entries) {
            let unit = Unit::Entries;
            if tell(Progress { done, of, unit }).is_break() {
                return Err(crate::export::CaseError::Stopped.into());
            }
            if entry.path.is_outside() {
                continue;
            }
            let is_wanted = is_wanted(&entry.path);
            if !is_wanted && !matches!(entry.item, Item::Directory) {
                others += 1;
                continue;
            }
            match self.case_file(&entry) {
                Ok(file) if file.item == CaseItem::Directory && !is_wanted => {
                    directories.insert(entry.path, file);
                }
                Ok(file) if is_wanted => {
                    files.insert(entry.path, file);
                }
                Err(why) if is_wanted => doubts.push(why),
                Ok(_) | Err(_) => {}
            }
        }
        // What lies above a file of the case is as it was.
        let mut above: Vec<TapePath> = files.keys().filter_map(TapePath::parent).collect();
        while let Some(path) = above.pop() {
            if let Some(file) = directories.remove(&path) {
                above.extend(path.parent());
                files.insert(path, file);
            }
        }
        Ok((files, others))
    }

    fn case_file(&self, entry: &Entry) -> Result<CaseFile, String> {
        let path = entry.path.to_text();
        let item = match &entry.item {
            Item::Directory => CaseItem::Directory,
            _ if entry.certainty != Certainty::Exact => {
                return Err(format!("{path} is {} here", entry.certainty));
            }
            Item::Link(target) => CaseItem::Link(target.clone()),
            Item::File(None) => return Err(format!("the content of {path} is not known")),
            Item::File(Some(hash)) => match self.tape.blob(hash) {
                Ok(bytes) => CaseItem::File(bytes),
                Err(why) => return Err(format!("{path}: {why}")),
            },
        };
        let mode = entry.mode;
        Ok(CaseFile { mode, item })
    }

    /// Where the shell is before a call, as an absolute path of the run.
    fn directory_before(&self, line: u16, number: StepNumber) -> String {
        let config = WorkbenchConfig {
            root: self.header.root.clone(),
            keeps_directory: self.keeps_directory(),
            ..nothing_runs()
        };
        let has_root = config.root.is_some();
        let mut bench = Workbench::new(config, Tree::new(Vec::new(), true, &Nothing));
        let start = bench.directory().to_owned();
        let index = &self.tape.index;
        let earlier = (1..number.0).map(StepNumber);
        let steps = earlier.filter(|_| self.keeps_directory());
        for step in steps.filter_map(|number| index.step_on(line, number)) {
            let entry = index.steps.get(step);
            if entry.is_some_and(|entry| entry.kind == StepKind::Tool) {
                bench.follow(&self.recorded_call(step).call);
            }
        }
        // Where that is nobody knows: a case has it at the top of its files.
        let is_start = bench.directory() == start;
        if is_start && !has_root {
            String::new()
        } else {
            bench.directory().to_owned()
        }
    }
}

/// What happened, to be read by people.
fn report(case: &Case) -> String {
    let mut text = String::from("# A tool call that failed\n\n");
    let _ = writeln!(text, "{}", fenced("The tool", &case.tool));
    let arguments = serde_json::to_string_pretty(&case.arguments).unwrap_or_default();
    let _ = writeln!(text, "{}", fenced("What it was given", &arguments));
    let _ = writeln!(
        text,
        "It {}{}.\n",
        case.expected.outcome,
        case.expected
            .exit
            .map_or_else(String::new, |exit| format!(", with exit code {exit}"))
    );
    let output = case.expected.output.as_deref().unwrap_or_default();
    let _ = writeln!(text, "{}", fenced("What it said", output));
    let files: Vec<String> = case.files.keys().map(TapePath::to_text).collect();
    let _ = writeln!(
        text,
        "{}",
        fenced("The files before it, in `files/`", &files.join("\n"))
    );
    if !case.doubts.is_empty() {
        let doubts = case.doubts.join("\n");
        let _ = writeln!(text, "{}", fenced("What is not known", &doubts));
    }
    text.push_str("To see it again: `jukebox test .` in this directory.\n");
    text
}

/// A text of a tape in Markdown: made safe, in a fence that nothing in it can close.
fn fenced(title: &str, text: &str) -> String {
    let lines: Vec<SafeText> = SafeText::lines(text);
    let mut longest = 0;
    let mut run = 0;
    for character in lines.iter().flat_map(|line| line.as_str().chars()) {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(3.max(longest + 1));
    let mut block = format!("## {title}\n\n{fence}text\n");
    for line in &lines {
        block.push_str(line.as_str());
        block.push('\n');
    }
    block.push_str(&fence);
    block.push('\n');
    block
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
