//! The runs that were opened before, the latest first: one small file in the user's state
//! directory. What is no entry in it is left out of the list.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::state_file::{Fields, StateFile};
use super::{Debugger, Places};
use crate::model::{StepKind, StepNumber, WallTime};

/// A run that was opened before.
#[derive(Clone, Debug, PartialEq)]
pub struct RecentRun {
    /// Its file.
    pub path: PathBuf,
    /// When it was open last.
    pub opened: WallTime,
    /// The agent, such as `claude-code 2.1`, as the tape says it.
    pub agent: String,
    /// What its first prompt says, as the tape says it.
    pub words: String,
    /// The steps of the branch that was looked at.
    pub steps: u32,
    /// Those of them that failed.
    pub failed: u32,
    /// The step at which it was left.
    pub step: u32,
}

/// Runs that are kept in the list at most.
const MOST: usize = 200;

/// Steps among which the first prompt is looked for.
const FIRST_STEPS: u32 = 8;

const FILE: &str = "recent.json";
const RUNS: &str = "runs";

impl Places {
    /// The runs that were opened before, the latest first. Costs the reading of one small
    /// file; what cannot be read there counts for nothing.
    pub fn recent(&self) -> Vec<RecentRun> {
        let Some(directory) = &self.state else {
            return Vec::new();
        };
        let fields = StateFile::new(directory, FILE).read();
        let runs = fields.get(RUNS).and_then(Value::as_array);
        let mut runs: Vec<RecentRun> = runs
            .into_iter()
            .flatten()
            .filter_map(|run| of_fields(run.as_object()?))
            .collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.opened));
        runs.truncate(MOST);
        runs
    }

    /// A file has another name now: the list says so, where it names it.
    pub(super) fn note_renamed(&self, from: &Path, to: &Path) -> io::Result<()> {
        let Some(directory) = &self.state else {
            return Ok(());
        };
        StateFile::new(directory, FILE).change(|fields| {
            let runs = fields.get_mut(RUNS).and_then(Value::as_array_mut);
            for run in runs.into_iter().flatten().filter_map(Value::as_object_mut) {
                if path_of(run).is_some_and(|path| path == from) {
                    run.remove("path_base64");
                    run.extend(path_fields(to));
                }
            }
        })
    }
}

impl Debugger {
    /// Puts the run at the top of the list, as left at this step of a line. A run that came
    /// from no file, or to a user without a state directory, is in no list.
    pub fn remember(&self, line: u16, step: StepNumber, now: WallTime) -> io::Result<()> {
        let (Some(origin), Some(directory)) = (&self.origin, &self.places.state) else {
            return Ok(());
        };
        let summary = self.summary();
        let branch = summary.branches.iter().find(|branch| branch.id == line);
        let rows = self.timeline(0, 1..FIRST_STEPS + 1);
        let mut prompts = rows.iter().filter(|row| row.kind == StepKind::Prompt);
        let run = RecentRun {
            path: self.places.lasting(origin.path()),
            opened: now,
            agent: self.header.agent.clone().unwrap_or_default(),
            words: prompts
                .next()
                .map_or_else(String::new, |row| row.title.to_string()),
            steps: branch.map_or(0, |branch| branch.steps),
            failed: branch.map_or(0, |branch| branch.failed),
            step: step.0,
        };
        StateFile::new(directory, FILE).change(|fields| {
            let before = match fields.remove(RUNS) {
                Some(Value::Array(runs)) => runs,
                _ => Vec::new(),
            };
            let is_other = |entry: &Value| {
                let path = entry.as_object().and_then(path_of);
                path.is_some_and(|path| path != run.path)
            };
            let others = before.into_iter().filter(is_other);
            let runs = std::iter::once(to_fields(&run).into()).chain(others);
            fields.insert(RUNS.into(), runs.take(MOST).collect());
        })
    }
}

fn of_fields(fields: &Fields) -> Option<RecentRun> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let number = |name: &str| {
        let number = fields.get(name).and_then(Value::as_u64);
        number.map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    Some(RecentRun {
        path: path_of(fields)?,
        opened: WallTime::parse(text("opened")?)?,
        agent: text("agent").unwrap_or_default().to_owned(),
        words: text("words").unwrap_or_default().to_owned(),
        steps: number("steps"),
        failed: number("failed"),
        step: number("step"),
    })
}

fn to_fields(run: &RecentRun) -> Fields {
    let mut fields = path_fields(&run.path);
    let more: [(&str, Value); 6] = [
        ("opened", run.opened.to_string().into()),
        ("agent", run.agent.clone().into()),
        ("words", run.words.clone().into()),
        ("steps", run.steps.into()),
        ("failed", run.failed.into()),
        ("step", run.step.into()),
    ];
    fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
    fields
}

/// A path whose bytes are no text stands there as they are, too.
pub(super) fn path_fields(path: &Path) -> Fields {
    use std::os::unix::ffi::OsStrExt as _;
    let mut fields = Fields::new();
    fields.insert("path".into(), path.to_string_lossy().into());
    if path.to_str().is_none() {
        let bytes = BASE64.encode(path.as_os_str().as_bytes());
        fields.insert("path_base64".into(), bytes.into());
    }
    fields
}

pub(super) fn path_of(fields: &Fields) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let bytes = match text("path_base64") {
        Some(bytes) => BASE64.decode(bytes).ok()?,
        None => text("path")?.into(),
    };
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}
