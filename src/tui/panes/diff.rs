//! What a step did: the files that differ, the step to read, the raw event.

use super::state::offset;
use crate::debugger::{ChangeRow, DiffView};
use crate::model::TapePath;
use crate::text::{FileDiff, Hunk, Row};
use crate::tui::held::Held;
use crate::tui::job::{Answered, Changes};
use crate::tui::layout::scrolled;
use crate::tui::reading::{ReadingRow, StepReading};

/// The diff pane.
#[derive(Debug, Default)]
pub(in crate::tui) struct DiffPane {
    /// What a person wants to see.
    pub(in crate::tui) view: View,
    /// The files that differ.
    pub(in crate::tui) changes: Held<Changes>,
    /// The file that is shown.
    pub(in crate::tui) selected: Option<TapePath>,
    /// How it differs.
    pub(in crate::tui) diff: Held<Answered<Box<DiffView>>>,
    /// The step, to read.
    pub(in crate::tui) detail: Held<Answered<Box<StepReading>>>,
    /// The raw event.
    pub(in crate::tui) raw: Held<Answered<Vec<ReadingRow>>>,
    /// Columns scrolled away on the left.
    pub(in crate::tui) left: usize,
    /// The first row to show, as far as there are so many.
    pub(in crate::tui) top: usize,
}

/// The views of the pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum View {
    /// The files that the step changed; where it changed none, the step.
    #[default]
    Files,
    /// What was said and done.
    Step,
    /// The event as it stands on the tape.
    Event,
}

/// A row of a difference.
#[derive(Clone, Copy, Debug)]
pub(in crate::tui) enum DiffRow<'a> {
    /// Lines are left out, and a hunk begins.
    Head(&'a Hunk),
    /// A row of a hunk, with its index in it.
    Line(&'a Hunk, usize, Row<'a>),
}

/// How many files are listed above the difference.
const MAX_FILES: usize = 6;

impl View {
    /// The view after this one.
    pub(in crate::tui) fn next(self) -> Self {
        match self {
            Self::Files => Self::Step,
            Self::Step => Self::Event,
            Self::Event => Self::Files,
        }
    }
}

impl DiffPane {
    /// The files that differ.
    pub(in crate::tui) fn files(&self) -> &[ChangeRow] {
        self.changes.get().map_or(&[], |changes| &changes.rows)
    }

    /// The index of the file that is shown.
    pub(in crate::tui) fn selected_index(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.files().iter().position(|row| row.path == *selected)
    }

    /// The file that is shown.
    pub(in crate::tui) fn selected_change(&self) -> Option<&ChangeRow> {
        self.files().get(self.selected_index()?)
    }

    /// Shows another of the files; returns its path.
    pub(in crate::tui) fn select_by(&mut self, delta: i64) -> Option<TapePath> {
        let last = self.files().len().checked_sub(1)?;
        let there = match self.selected_index() {
            Some(here) => offset(here, delta).min(last),
            None => 0,
        };
        self.selected = self.files().get(there).map(|row| row.path.clone());
        self.rewind();
        self.selected.clone()
    }

    /// Back to the first row and column: something else is shown now.
    pub(in crate::tui) fn rewind(&mut self) {
        (self.top, self.left) = (0, 0);
    }

    /// The view there is something to show for: a step that changed no file is read.
    pub(in crate::tui) fn effective_view(&self) -> View {
        let has_files = self
            .changes
            .get()
            .is_none_or(|changes| !changes.rows.is_empty());
        match self.view {
            View::Files if !has_files => View::Step,
            view => view,
        }
    }

    /// The difference that is shown, if it is known.
    pub(in crate::tui) fn difference(&self) -> Option<&DiffView> {
        self.diff.get()?.as_ref().ok().map(Box::as_ref)
    }

    /// The step that is shown, if it is known.
    pub(in crate::tui) fn step(&self) -> Option<&StepReading> {
        self.detail.get()?.as_ref().ok().map(Box::as_ref)
    }

    /// How many rows the list of files takes.
    pub(in crate::tui) fn list_height(&self, height: usize) -> usize {
        match self.files().len() {
            0 | 1 => 0,
            files => files.min(MAX_FILES).min(height / 3),
        }
    }

    /// How many rows stand above the difference: the list and a line below it, the file's
    /// name, and the remarks.
    pub(in crate::tui) fn head_height(&self, height: usize) -> usize {
        let list = self.list_height(height);
        let remarks = self.difference().map_or(0, |view| view.remarks.len());
        (list + usize::from(list > 0) + 1 + remarks).min(height)
    }

    /// The rows of the difference that is shown.
    pub(in crate::tui) fn row_count(&self) -> usize {
        let diff = self.difference().and_then(|view| view.diff.as_ref());
        diff.map_or(0, |diff| diff.hunks.iter().map(|hunk| 1 + hunk.len()).sum())
    }

    /// The first row to show of what the pane shows, in a pane of this height.
    pub(in crate::tui) fn first_row(&self, height: usize) -> usize {
        let (rows, height) = match self.effective_view() {
            View::Files => (self.row_count(), height - self.head_height(height)),
            View::Step => (self.step().map_or(0, |step| step.rows.len()), height),
            View::Event => {
                let raw = self.raw.get().and_then(|raw| raw.as_ref().ok());
                (raw.map_or(0, Vec::len), height.saturating_sub(2))
            }
        };
        scrolled(self.top, None, rows, height)
    }

    /// Scrolls by rows.
    pub(in crate::tui) fn scroll_by(&mut self, delta: i64, height: usize) {
        self.top = offset(self.first_row(height), delta);
        self.top = self.first_row(height);
    }
}

/// The rows of a difference from the one with this index on.
pub(in crate::tui) fn rows_from(
    diff: &FileDiff,
    index: usize,
) -> impl Iterator<Item = DiffRow<'_>> {
    let mut skipped = index;
    let hunks = diff.hunks.iter().filter_map(move |hunk| {
        let rows = 1 + hunk.len();
        let first = skipped.min(rows);
        skipped -= first;
        (first < rows).then_some((hunk, first))
    });
    hunks.flat_map(|(hunk, first)| {
        (first..=hunk.len()).filter_map(move |row| match row.checked_sub(1) {
            None => Some(DiffRow::Head(hunk)),
            Some(row) => Some(DiffRow::Line(hunk, row, hunk.row(row)?)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rows_are_reached_from_any_index() {
        let lines: Vec<String> = (0..60).map(|line| format!("{line}\n")).collect();
        let old = lines.concat();
        let new = old.replace("5\n", "five\n");
        let diff = FileDiff::between(
            Some(old.as_bytes()),
            Some(new.as_bytes()),
            Duration::from_secs(10),
        );
        let shown = |from| -> Vec<String> {
            let text = |row: DiffRow<'_>| match row {
                DiffRow::Head(hunk) => hunk.header(),
                DiffRow::Line(.., row) => String::from_utf8_lossy(row.bytes).into_owned(),
            };
            rows_from(&diff, from).map(text).collect()
        };
        let all = shown(0);
        assert!(diff.hunks.len() > 1);
        for from in 0..=all.len() {
            assert_eq!(shown(from), all[from..]);
        }
    }
}
