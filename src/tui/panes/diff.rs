//! What a step did: the files that differ, the step to read, what the model was sent, the raw
//! event.

use std::collections::BTreeSet;

use super::state::offset;
use crate::debugger::{ChangeList, ChangeRow, DiffView};
use crate::model::TapePath;
use crate::text::{SafeText, width};
use crate::tui::difference::{Anchor, Context, Form, OpenDiff};
use crate::tui::held::Held;
use crate::tui::highlight::Painted;
use crate::tui::job::{Answered, Changes, Job};
use crate::tui::layout::scrolled;
use crate::tui::reading::{ReadingRow, RequestReading, StepReading};

/// The diff pane.
#[derive(Debug, Default)]
pub(in crate::tui) struct DiffPane {
    /// What a person wants to see.
    pub(in crate::tui) view: View,
    /// Whether there are two steps that can be held against each other.
    pub(in crate::tui) faces: Faces,
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
    /// How much is shown around changes.
    pub(in crate::tui) context: Context,
    /// The fold that Enter opens: the one above the change that was gone to.
    pub(in crate::tui) marked: Option<usize>,
    /// Folds that were opened alone.
    opened: BTreeSet<usize>,
    /// Whether a file of JSON is compared by lines or by paths; and whether a step is read, or
    /// compared with the last one like it.
    pub(in crate::tui) grain: Grain,
    /// The difference by paths; `None` where the contents are no JSON.
    pub(in crate::tui) by_path: Held<Option<Vec<ReadingRow>>>,
    /// Whether blanks and line ends are seen.
    pub(in crate::tui) blanks: Blanks,
    /// The step, to read.
    pub(in crate::tui) detail: Held<Answered<Box<StepReading>>>,
    /// The step beside the last one like it, by paths.
    pub(in crate::tui) like: Held<Answered<Vec<ReadingRow>>>,
    /// What the model was sent.
    pub(in crate::tui) request: Held<Answered<Box<RequestReading>>>,
    /// The raw event.
    pub(in crate::tui) raw: Held<Answered<Vec<ReadingRow>>>,
    /// Columns scrolled away on the left.
    pub(in crate::tui) left: usize,
    /// The first row to show, as far as there are so many.
    pub(in crate::tui) top: usize,
    /// Columns of the pane, as they were last.
    pub(in crate::tui) columns: usize,
}

/// The views of the pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum View {
    /// The files that the step changed; where it changed none, the step.
    #[default]
    Files,
    /// What was said and done in two runs, one against the other; where there are no two
    /// steps that differ, the step.
    Both,
    /// What was said and done.
    Step,
    /// What the model was sent, beside what it was sent before.
    Request,
    /// The event as it stands on the tape.
    Event,
}

/// Whether the playhead stands at one step, or at two that differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum Faces {
    /// At one.
    #[default]
    One,
    /// At one of each run.
    Two,
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

/// What a difference of two JSON files is told in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum Grain {
    /// Lines, as of any file.
    #[default]
    Lines,
    /// Values, each with its path.
    Paths,
}

/// How many files are listed above the difference.
const MAX_FILES: usize = 6;

impl View {
    /// The view after this one.
    pub(in crate::tui) fn next(self) -> Self {
        match self {
            Self::Files => Self::Both,
            Self::Both => Self::Step,
            Self::Step => Self::Request,
            Self::Request => Self::Event,
            Self::Event => Self::Files,
        }
    }
}

impl DiffPane {
    /// The files that differ, if they are known.
    fn files(&self) -> Option<&ChangeList> {
        self.changes.get().map(|changes| &*changes.list)
    }

    /// How many files differ.
    pub(in crate::tui) fn count_of_files(&self) -> usize {
        self.files().map_or(0, ChangeList::len)
    }

    /// One of them, by its place in the order of their paths.
    pub(in crate::tui) fn file(&self, index: usize) -> Option<ChangeRow> {
        self.files()?.get(index)
    }

    /// The index of the file that is shown.
    pub(in crate::tui) fn selected_index(&self) -> Option<usize> {
        self.index_of(self.selected.as_ref()?)
    }

    /// The index of a file, where it differs.
    pub(in crate::tui) fn index_of(&self, path: &TapePath) -> Option<usize> {
        self.files()?.index_of(path)
    }

    /// The file that is shown.
    pub(in crate::tui) fn selected_change(&self) -> Option<ChangeRow> {
        self.file(self.selected_index()?)
    }

    /// Shows another of the files; returns its path.
    pub(in crate::tui) fn select_by(&mut self, delta: i64) -> Option<TapePath> {
        let last = self.count_of_files().checked_sub(1)?;
        let there = match self.selected_index() {
            Some(here) => offset(here, delta).min(last),
            None => 0,
        };
        self.selected = self.file(there).map(|row| row.path);
        self.rewind();
        self.selected.clone()
    }

    /// Back to the first row and column: something else is shown now.
    pub(in crate::tui) fn rewind(&mut self) {
        (self.top, self.left) = (0, 0);
    }

    /// Takes a difference in. Where it is the one that is shown already, what was opened of
    /// it stays open.
    pub(in crate::tui) fn take(&mut self, generation: u64, answer: Answered<Box<OpenDiff>>) {
        let is_same = match (self.open(), &answer) {
            (Some(before), Ok(after)) => before.is_same_as(after),
            _ => false,
        };
        if self.diff.take(generation, answer) {
            if !is_same {
                self.opened.clear();
                self.marked = None;
            }
            self.unfold();
        }
    }

    fn unfold(&mut self) {
        if let Some(Ok(open)) = self.diff.get_mut() {
            open.unfold(self.context, &self.opened);
        }
    }

    /// Shows more of what did not change; after all, the least. What is looked at stays
    /// where it is: the change that was gone to, or the first line in view.
    pub(in crate::tui) fn widen(&mut self, height: usize, form: Form) {
        let first = self.first_row(height, form);
        let shown = height - self.fixed_height(height);
        let anchor = self.open().and_then(|open| {
            let marked = self.marked.map(|number| Anchor::Hunk(number, 0));
            let is_in_view = |marked: &Anchor| {
                let row = open.row_of(form, *marked);
                row.is_some_and(|row| (first..first + shown).contains(&row))
            };
            marked
                .filter(is_in_view)
                .or_else(|| open.anchor(form, first))
        });
        let old = anchor.and_then(|anchor| self.open()?.row_of(form, anchor));
        self.context = self.context.next();
        self.opened.clear();
        self.unfold();
        let new = anchor.and_then(|anchor| self.open()?.row_of(form, anchor));
        if let Some((old, new)) = old.zip(new) {
            self.top = new.saturating_sub(old.saturating_sub(first));
        }
    }

    /// Opens a fold where it stands.
    pub(in crate::tui) fn open_fold(&mut self, number: usize) {
        self.opened.insert(number);
        self.unfold();
    }

    /// The fold that is marked, if it is in view.
    pub(in crate::tui) fn marked_in_view(&self, height: usize, form: Form) -> Option<usize> {
        let number = self.marked?;
        let open = self.open()?;
        let row = open.change_row(form, number)?;
        let first = self.first_row(height, form);
        let is_in_view = (first..first + height).contains(&row);
        (is_in_view && open.fold_at(form, row) == Some(number)).then_some(number)
    }

    /// Goes to another change of the file, and marks what is folded above it. Returns whether
    /// there is one.
    pub(in crate::tui) fn go_to_change(&mut self, delta: i64, height: usize, form: Form) -> bool {
        let first = self.first_row(height, form);
        let body = height - self.head_height(height);
        let Some((open, last)) = self
            .open()
            .and_then(|open| Some((open, open.changes().checked_sub(1)?)))
        else {
            return false;
        };
        let row = |number: usize| open.change_row(form, number).unwrap_or(0);
        let is_in_view = |number: &usize| (first..first + body).contains(&row(*number));
        // From the change one was led to, or else from what is in view.
        let wanted = if let Some(here) = self.marked.filter(is_in_view) {
            here as i64 + delta
        } else {
            let above = (0..=last).take_while(|number| row(*number) < first).count();
            above as i64 + if delta > 0 { delta - 1 } else { delta }
        };
        let there = usize::try_from(wanted).unwrap_or(0).min(last);
        self.top = row(there);
        self.marked = Some(there);
        there as i64 == wanted
    }

    /// The difference by paths, where that is wanted and the contents are JSON.
    pub(in crate::tui) fn paths(&self) -> Option<&[ReadingRow]> {
        let open = self.open().filter(|_| self.grain == Grain::Paths)?;
        let (job, rows) = self.by_path.get_with_job()?;
        let is_same = matches!(job, Job::DiffByPath { sides, .. } if *sides == open.sides);
        rows.as_deref().filter(|_| is_same)
    }

    /// What the pane shows to be read, in rows, if it is known.
    pub(in crate::tui) fn reading(&self) -> Option<&[ReadingRow]> {
        match self.effective_view() {
            View::Files => self.paths(),
            View::Both => None,
            View::Step if self.grain == Grain::Paths => {
                self.like.get()?.as_ref().ok().map(Vec::as_slice)
            }
            View::Step => self.step().map(|step| &step.rows[..]),
            View::Request => {
                let request = self.request.get()?.as_ref().ok()?;
                Some(&request.rows)
            }
            View::Event => self.raw.get()?.as_ref().ok().map(Vec::as_slice),
        }
    }

    /// The view there is something to show for: a step that changed no file is read.
    pub(in crate::tui) fn effective_view(&self) -> View {
        let has_files = self.files().is_none_or(|files| !files.is_empty());
        match (self.view, self.faces) {
            (View::Files, Faces::Two) if !has_files => View::Both,
            (View::Files, Faces::One) if !has_files => View::Step,
            (View::Both, Faces::One) => View::Step,
            (view, _) => view,
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
        match self.count_of_files() {
            _ if self.effective_view() == View::Both => 0,
            0 | 1 => 0,
            files => files.min(MAX_FILES).min(height / 3),
        }
    }

    /// The first file of the list: the one that is shown stands in its middle.
    pub(in crate::tui) fn list_top(&self, height: usize) -> usize {
        let list = self.list_height(height);
        let selected = self.selected_index();
        let centred = selected.unwrap_or(0).saturating_sub(list / 2);
        scrolled(centred, selected, self.count_of_files(), list)
    }

    /// How many rows stand above the difference: the list and a line below it, the file's
    /// name, and the remarks.
    pub(in crate::tui) fn head_height(&self, height: usize) -> usize {
        let list = self.list_height(height);
        let remarks = self.remarks(height).len();
        (list + usize::from(list > 0) + 1 + remarks).min(height)
    }

    /// The remarks on the difference in lines, broken where the pane ends: at most a third of
    /// it, and the notices have the rest.
    pub(in crate::tui) fn remarks(&self, height: usize) -> Vec<SafeText> {
        let remarks = self.difference().map_or(&[][..], |view| &view.remarks);
        // Text stands a column away from the frame.
        let columns = self.columns.saturating_sub(1).max(1);
        let lines = remarks.iter().flat_map(|text| width::wrap(text, columns));
        lines.take((height / 3).max(1)).collect()
    }

    /// How many rows of the pane stand still above those that scroll.
    pub(in crate::tui) fn fixed_height(&self, height: usize) -> usize {
        match self.effective_view() {
            View::Files | View::Both => self.head_height(height),
            View::Step => 0,
            View::Request | View::Event => height.min(2),
        }
    }

    /// How many rows there are to scroll through.
    pub(in crate::tui) fn rows(&self, form: Form) -> usize {
        match (self.reading(), self.effective_view()) {
            (Some(rows), _) => rows.len(),
            (None, View::Files | View::Both) => self.open().map_or(0, |open| open.len(form)),
            (None, _) => 0,
        }
    }

    /// The first row to show of what the pane shows, in a pane of this height.
    pub(in crate::tui) fn first_row(&self, height: usize, form: Form) -> usize {
        let shown = height - self.fixed_height(height);
        scrolled(self.top, None, self.rows(form), shown)
    }

    /// Scrolls by rows.
    pub(in crate::tui) fn scroll_by(&mut self, delta: i64, height: usize, form: Form) {
        self.top = offset(self.first_row(height, form), delta);
        self.top = self.first_row(height, form);
    }
}
