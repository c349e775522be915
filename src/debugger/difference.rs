//! What differs between two places, and in what lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::change_list::{ChangeList, Listing};
use super::{ChangeRow, Debugger, DiffView, FileContent, ReadError};
use crate::model::{Certainty, Cursor, EntryKind, Kind, TapePath};
use crate::state::{Change, FileState, PathId};
use crate::text::{FileDiff, SafeText, diff};

impl Debugger {
    /// The paths that differ between two places. Costs the entries between them, and two
    /// searches and a name for each path. Renames are told of up to 16 384 paths; of more, a
    /// path that went and one that came are two.
    pub fn changes(&self, from: Cursor, to: Cursor) -> ChangeList {
        let mut listing = Listing::default();
        let mut spelling = self.state.paths.spelling();
        for change in self.state.changes(&self.tape.index.blobs, from, to) {
            if let Some(path) = spelling.of(change.path) {
                listing.push(path, &change);
            }
        }
        listing.finish()
    }

    /// The paths that the events of a step changed, wherever they stand.
    pub(super) fn step_changes(&self, step: u32) -> Vec<ChangeRow> {
        let mut listing = Listing::default();
        for (path, change) in self.changed_in(step) {
            listing.push(path.as_bytes(), &change);
        }
        listing.finish().iter().collect()
    }

    /// The paths that a step changed, as names only: cheaper than the changes themselves.
    pub fn paths_changed(&self, line: u16, number: crate::model::StepNumber) -> Vec<TapePath> {
        let Some(step) = self.tape.index.step_on(line, number) else {
            return Vec::new();
        };
        let mut paths: Vec<TapePath> = self
            .spans(step)
            .into_keys()
            .filter_map(|path| self.state.paths.path(path))
            .collect();
        paths.sort_unstable();
        paths
    }

    pub(super) fn changed_in(&self, step: u32) -> Vec<(TapePath, Change)> {
        let Some(view) = self.tape.index.steps.get(step).map(|entry| entry.lane.view) else {
            return Vec::new();
        };
        let cursor = |position| Cursor {
            position,
            branch: view,
        };
        let blobs = &self.tape.index.blobs;
        let mut changes: Vec<(TapePath, Change)> = self
            .spans(step)
            .into_iter()
            .filter_map(|(path, (first, last))| {
                let change = self
                    .state
                    .change(blobs, path, cursor(first), cursor(last + 1))?;
                Some((self.state.paths.path(path)?, change))
            })
            .collect();
        changes.sort_by(|one, two| one.0.cmp(&two.0));
        changes
    }

    /// The first and the last event of a step for each path it changed.
    fn spans(&self, step: u32) -> BTreeMap<PathId, (u32, u32)> {
        let mut spans: BTreeMap<PathId, (u32, u32)> = BTreeMap::new();
        let Some(view) = self.tape.index.steps.get(step).map(|entry| entry.lane.view) else {
            return spans;
        };
        let edits = self
            .events_of(step)
            .filter(|(_, kind)| kind.is_file_change() || *kind == Kind::TxnRollback);
        for (position, _) in edits {
            for path in self.state.touched_by(view, position) {
                spans.entry(path).or_insert((position, position)).1 = position;
            }
        }
        spans
    }

    /// The difference of one path between two places. Costs the reading of its two
    /// contents, and at most some 50 ms for the comparison.
    pub fn diff(
        &self,
        from: Cursor,
        to: Cursor,
        change: &ChangeRow,
    ) -> Result<DiffView, ReadError> {
        Ok(Self::diff_between(
            (self, from, "before"),
            (self, to, "after"),
            change,
        ))
    }

    /// The difference of one path between a place and one of another run. Costs as much.
    pub fn diff_against(
        &self,
        at: Cursor,
        (right_run, right_at): (&Self, Cursor),
        change: &ChangeRow,
    ) -> DiffView {
        Self::diff_between((self, at, "left"), (right_run, right_at, "right"), change)
    }

    fn diff_between(
        (from_run, from, from_name): (&Self, Cursor, &str),
        (to_run, to, to_name): (&Self, Cursor, &str),
        change: &ChangeRow,
    ) -> DiffView {
        let path = &change.path;
        let before_path = change.from.as_ref().unwrap_or(path);
        let mut remarks = Vec::new();
        let state = |run: &Self, at, path| run.state.file(&run.tape.index.blobs, at, path);
        let before = state(from_run, from, before_path);
        let after = state(to_run, to, path);
        let kind = |state: &Option<FileState>| {
            let state = state.filter(|state| state.certainty != Certainty::Absent);
            state.map(|state| state.kind)
        };
        let link = match (kind(&before), kind(&after)) {
            (Some(EntryKind::File), Some(EntryKind::Link)) => "a file became a symbolic link",
            (Some(EntryKind::Link), Some(EntryKind::File)) => "a symbolic link became a file",
            (Some(EntryKind::Link), _) | (_, Some(EntryKind::Link)) => {
                "a symbolic link: its text is where it points"
            }
            _ => "",
        };
        if !link.is_empty() {
            remarks.push(SafeText::literal(link));
        }
        let mut side = |run: &Self, state: Option<FileState>, path: &TapePath, side: &str| {
            let Some(state) = state.filter(|state| state.certainty != Certainty::Absent) else {
                return Side::Absent;
            };
            if state.kind == EntryKind::Directory {
                return Side::Absent;
            }
            let sentence = |text: &str| SafeText::line(&format!("{side}: {text}"));
            let certainty = state.certainty;
            match run.content(&state, path).0 {
                FileContent::Bytes(bytes) => {
                    if certainty != Certainty::Exact {
                        remarks.push(sentence(certainty.as_str()));
                    }
                    Side::Bytes(bytes)
                }
                FileContent::Lines(_) => {
                    let why = "only some lines of the file are known";
                    remarks.push(sentence(&format!("{certainty}: {why}")));
                    Side::Unknown
                }
                FileContent::Nothing(why) => {
                    remarks.push(sentence(&format!("{certainty}: {why}")));
                    Side::Unknown
                }
            }
        };
        let one = side(from_run, before, before_path, from_name);
        let two = side(to_run, after, path, to_name);
        let diff = match (&one, &two) {
            (Side::Unknown, _) | (_, Side::Unknown) => None,
            (one, two) => Some(Arc::new(FileDiff::between(
                one.bytes(),
                two.bytes(),
                diff::BUDGET,
            ))),
        };
        if let Some(diff) = &diff {
            remarks.extend(diff.remarks());
        }
        DiffView {
            change: change.clone(),
            diff,
            before: one.into_bytes(),
            after: two.into_bytes(),
            remarks,
        }
    }
}

enum Side {
    Absent,
    Unknown,
    Bytes(Arc<[u8]>),
}

impl Side {
    fn into_bytes(self) -> Option<Arc<[u8]>> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Absent | Self::Unknown => None,
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Absent | Self::Unknown => None,
        }
    }
}
