//! Two runs, or two branches of one, step by step.
//!
//! The run that is asked stands on the left. Which steps are alike is the business of
//! [`replay`]; here they are read.

use serde_json::{Map, Value};

use super::{Debugger, DiffView, ReadError, Spot};
use crate::model::{
    BlobHash, Body, Certainty, ChangeKind, Content, Event, Kind, Outcome, StepKind, StepNumber,
    TapePath,
};
use crate::replay::{self, Fingerprint, StepContent, Volatile};
use crate::state::{ContentRef, FileState};
use crate::text::{FileDiff, SafeText, diff};

pub use crate::replay::{Alignment, Pair, Parts, Relation, Stretch, Tally};

/// Leaves of two steps that are told; nobody reads more.
const MAX_LEAVES: usize = 100;

/// How often a long walk asks whether it is still wanted, in steps.
const PATIENCE: u32 = 256;

/// A place in two steps at which they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafRow {
    /// Where, such as `arguments.command`.
    pub name: SafeText,
    /// What stands there on the left; `None`: nothing.
    pub left: Option<SafeText>,
    /// What stands there on the right; `None`: nothing.
    pub right: Option<SafeText>,
}

impl Debugger {
    /// The steps up to a spot beside those of another run, or of another branch, up to a
    /// spot of its own. Costs the reading of both. `None` when `is_cancelled` says to stop.
    pub fn align(
        &self,
        left: Spot,
        (right_run, right): (&Self, Spot),
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<Alignment> {
        let left = self.fingerprints(left, is_cancelled)?;
        let right = right_run.fingerprints(right, is_cancelled)?;
        Some(Alignment::of(&left, &right, replay::BUDGET))
    }

    fn fingerprints(&self, to: Spot, is_cancelled: &dyn Fn() -> bool) -> Option<Vec<Fingerprint>> {
        let line = self.line_of(to);
        let (volatile, open_from) = (self.volatile(), self.open_from(line));
        let mut fingerprints = Vec::with_capacity(to.step.0 as usize);
        for number in 1..=to.step.0 {
            if number % PATIENCE == 0 && is_cancelled() {
                return None;
            }
            let content = self.step_content(line, StepNumber(number), open_from);
            fingerprints.push(Fingerprint::of(&content, &volatile));
        }
        Some(fingerprints)
    }

    fn volatile(&self) -> Volatile {
        Volatile::new(self.header.root.as_deref())
    }

    /// The first of the steps at the end of a line whose calls have no answer: there the tape
    /// ends, which is no difference.
    fn open_from(&self, line: u16) -> u32 {
        let index = &self.tape.index;
        let is_pending = |number: &u32| {
            let step = index.step_on(line, StepNumber(*number));
            step.is_some_and(|step| index.steps.outcome(step) == Outcome::Pending)
        };
        let last = self.steps_on(line);
        let open = (1..=last).rev().take_while(is_pending).count();
        last + 1 - open as u32
    }

    /// What a step comes to when it is held against another.
    fn step_content(&self, line: u16, number: StepNumber, open_from: u32) -> StepContent {
        let index = &self.tape.index;
        let found = index.step_on(line, number);
        let Some((step, entry)) = found.and_then(|step| Some((step, index.steps.get(step)?)))
        else {
            return StepContent::new(StepKind::Gap, Outcome::None);
        };
        let mut content = StepContent::new(entry.kind, entry.outcome);
        let mut has_files = false;
        for (position, kind) in self.events_of(step) {
            has_files |= kind.is_file_change() || kind == Kind::TxnRollback;
            if is_read(kind) {
                let lost = |error: std::io::Error| {
                    let why = error.to_string();
                    Event::new(Body::Gap { why })
                };
                content.add(self.tape.event(position).unwrap_or_else(lost));
            }
        }
        if has_files {
            content.files = self.files_of(step);
        }
        content.is_open = number.0 >= open_from;
        content
    }

    /// What a step made of each file it changed.
    fn files_of(&self, step: u32) -> Map<String, Value> {
        let told = self.changed_in(step).into_iter().map(|(path, change)| {
            let after = change.after.filter(|_| change.kind != ChangeKind::Removed);
            let words = after.map_or("removed".to_owned(), |file| {
                self.file_in_words(&file, &path)
            });
            (path.to_text(), Value::String(words))
        });
        told.collect()
    }

    /// A file in a few words: equal ones mean equal files.
    fn file_in_words(&self, file: &FileState, path: &TapePath) -> String {
        let content = match file.content {
            ContentRef::Blob(id) => match self.blob_head(id, file.since).0 {
                Some(hash) => format!("content {:016x}", hash.prefix()),
                None => format!("content {}", file.certainty),
            },
            ContentRef::Lines(position) => {
                let known = self.tape.event(position).map(|event| event.body);
                match known {
                    Ok(Body::File(change)) => match change.content {
                        Content::Lines(known) => {
                            let text = format!("{known:?}");
                            format!("lines {}", BlobHash::of(text.as_bytes()).short())
                        }
                        _ => "lines".to_owned(),
                    },
                    _ => "lines".to_owned(),
                }
            }
            ContentRef::Target(position) => {
                let target = self.link_target(position, path).unwrap_or_default();
                format!("link to {}", String::from_utf8_lossy(&target))
            }
            ContentRef::Unknown => format!("{} {}", file.kind.as_str(), file.certainty),
        };
        match file.mode {
            Some(mode) => format!("{content}, mode {mode:o}"),
            None => content,
        }
    }

    /// Where exactly a step differs from one of another run, or of another branch, what was
    /// asked first. What is volatile is no difference. Costs the reading of both steps.
    pub fn leaves(&self, left: Spot, (right_run, right): (&Self, Spot)) -> Vec<LeafRow> {
        let content = |run: &Self, spot: Spot| {
            let line = run.line_of(spot);
            run.step_content(line, spot.step, run.open_from(line))
        };
        let found = replay::leaves(
            (&content(self, left), &self.volatile()),
            (&content(right_run, right), &right_run.volatile()),
        );
        found
            .into_iter()
            .take(MAX_LEAVES)
            .map(row_of_leaf)
            .collect()
    }

    /// The texts of a step and of one of another run as a difference: what was said and
    /// done, line by line. Costs the reading of both, and at most some 50 ms.
    pub fn step_difference(
        &self,
        left: Spot,
        (right_run, right): (&Self, Spot),
    ) -> Result<DiffView, ReadError> {
        let (name, one) = self.step_text(left)?;
        let (_, two) = right_run.step_text(right)?;
        let difference = FileDiff::between(Some(&one), Some(&two), diff::BUDGET);
        Ok(DiffView {
            change: super::ChangeRow {
                path: name,
                from: None,
                change: ChangeKind::Modified,
                certainty: (Certainty::Exact, Certainty::Exact),
                mode: None,
                is_outside: false,
            },
            remarks: difference.remarks(),
            diff: Some(difference.into()),
            before: Some(one.into()),
            after: Some(two.into()),
        })
    }

    /// Who did a step, as a name, and its text as it is read, without what only repeats or
    /// measures.
    fn step_text(&self, spot: Spot) -> Result<(TapePath, Vec<u8>), ReadError> {
        let detail = self.step(spot)?;
        let mut text = String::new();
        for section in &detail.sections {
            if matches!(
                section.name.as_str(),
                "request" | "thinking" | "usage" | "detail"
            ) {
                continue;
            }
            for line in std::iter::once(&section.name).chain(&section.lines) {
                text.push_str(line.as_str());
                text.push('\n');
            }
        }
        let actor = match detail.row.kind {
            StepKind::Model => "model",
            _ => detail.row.actor.as_str(),
        };
        let name = TapePath::new(actor).or_else(|_| TapePath::new("step"));
        let name = name.map_err(std::io::Error::other)?;
        Ok((name, text.into_bytes()))
    }
}

/// A leaf, safe to be shown.
pub(super) fn row_of_leaf(leaf: replay::Leaf) -> LeafRow {
    let words = |value: Value| match value {
        Value::String(text) => SafeText::line(&text),
        value => SafeText::line(&value.to_string()),
    };
    LeafRow {
        name: SafeText::line(&leaf.name),
        left: leaf.left.map(words),
        right: leaf.right.map(words),
    }
}

/// Whether an event of this kind is read to compare its step. Files are looked up, and
/// what only repeats or measures is left out.
fn is_read(kind: Kind) -> bool {
    let is_beside = matches!(
        kind,
        Kind::ModelRequest | Kind::FsSuspect | Kind::FsObserve | Kind::Snapshot | Kind::Blob
    );
    !is_beside && !kind.is_file_change()
}
