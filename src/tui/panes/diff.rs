//! What a step did: the files that differ, the step to read, the raw event.

use super::state::offset;
use crate::debugger::{ChangeRow, DiffView};
use crate::model::TapePath;
use crate::tui::difference::{Form, OpenDiff};
use crate::tui::held::Held;
use crate::tui::highlight::Painted;
use crate::tui::job::{Answered, Changes, Job};
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
    pub(in crate::tui) diff: Held<Answered<Box<OpenDiff>>>,
    /// The colours of its lines, before and after.
    pub(in crate::tui) painted: Held<Box<[Painted; 2]>>,
    /// How its rows are to be set.
    pub(in crate::tui) sides: Sides,
    /// Whether blanks and line ends are seen.
    pub(in crate::tui) blanks: Blanks,
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

/// How the rows of a difference are to be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum Sides {
    /// Side by side, where there is room.
    #[default]
    Beside,
    /// One below the other, always.
    Below,
}

/// What stands where blanks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum Blanks {
    /// Nothing, as usual.
    #[default]
    Plain,
    /// A sign for each, and for the ends of lines.
    Seen,
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

    /// The difference that is shown, in rows, if it is known.
    pub(in crate::tui) fn open(&self) -> Option<&OpenDiff> {
        self.diff.get()?.as_ref().ok().map(Box::as_ref)
    }

    /// The difference that is shown, if it is known.
    pub(in crate::tui) fn difference(&self) -> Option<&DiffView> {
        Some(&self.open()?.view)
    }

    /// The colours, if they are those of this difference.
    pub(in crate::tui) fn painted_of(&self, open: &OpenDiff) -> Option<&[Painted; 2]> {
        let (job, painted) = self.painted.get_with_job()?;
        let is_same = matches!(job, Job::PaintDiff { sides, .. } if *sides == open.sides);
        is_same.then_some(painted)
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

    /// The first file of the list: the one that is shown stands in its middle.
    pub(in crate::tui) fn list_top(&self, height: usize) -> usize {
        let list = self.list_height(height);
        let selected = self.selected_index();
        let centred = selected.unwrap_or(0).saturating_sub(list / 2);
        scrolled(centred, selected, self.files().len(), list)
    }

    /// How many rows stand above the difference: the list and a line below it, the file's
    /// name, and the remarks.
    pub(in crate::tui) fn head_height(&self, height: usize) -> usize {
        let list = self.list_height(height);
        let remarks = self.difference().map_or(0, |view| view.remarks.len());
        (list + usize::from(list > 0) + 1 + remarks).min(height)
    }

    /// The first row to show of what the pane shows, in a pane of this height.
    pub(in crate::tui) fn first_row(&self, height: usize, form: Form) -> usize {
        let (rows, height) = match self.effective_view() {
            View::Files => {
                let rows = self.open().map_or(0, |open| open.len(form));
                (rows, height - self.head_height(height))
            }
            View::Step => (self.step().map_or(0, |step| step.rows.len()), height),
            View::Event => {
                let raw = self.raw.get().and_then(|raw| raw.as_ref().ok());
                (raw.map_or(0, Vec::len), height.saturating_sub(2))
            }
        };
        scrolled(self.top, None, rows, height)
    }

    /// Scrolls by rows.
    pub(in crate::tui) fn scroll_by(&mut self, delta: i64, height: usize, form: Form) {
        self.top = offset(self.first_row(height, form), delta);
        self.top = self.first_row(height, form);
    }
}
