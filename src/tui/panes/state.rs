//! The files at the playhead: the tree, and the file that is open over it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::blame::BlameColumn;
use super::conversation::ConversationPane;
use crate::debugger::{ChangeList, ChangeRow, Expanded, Statistics, TreeRow, Versions};
use crate::model::{Certainty, EntryKind, TapePath};
use crate::text::{SafeText, width};
use crate::tui::document::Document;
use crate::tui::held::Held;
use crate::tui::highlight::Painted;
use crate::tui::job::{Answered, Job, OpenFile};
use crate::tui::layout::scrolled;
use crate::tui::reading::{ContextLines, ReadingRow};
use crate::tui::view::numbers;

/// The state pane.
#[derive(Debug, Default)]
pub(in crate::tui) struct StatePane {
    /// The rows of the tree.
    pub(in crate::tui) tree: Held<Vec<TreeRow>>,
    /// The path the selection is on.
    pub(in crate::tui) selected: Option<TapePath>,
    /// What a person wants to see where no file is open.
    pub(in crate::tui) view: StateView,
    /// The conversation.
    pub(in crate::tui) conversation: ConversationPane,
    /// What the model saw.
    pub(in crate::tui) context: Held<Vec<ReadingRow>>,
    /// What the model saw over the whole run.
    pub(in crate::tui) context_run: Held<Box<ContextLines>>,
    /// What is around the run.
    pub(in crate::tui) environment: Held<Vec<ReadingRow>>,
    /// The transaction at the playhead.
    pub(in crate::tui) transaction: Held<Vec<ReadingRow>>,
    /// What calls did outside the files.
    pub(in crate::tui) effects: Held<Vec<ReadingRow>>,
    /// The run in numbers.
    pub(in crate::tui) statistics: Held<Box<Statistics>>,
    /// The first row to show of a view to be read, as far as there are so many.
    pub(in crate::tui) view_top: usize,
    /// The chosen row of the context, as far as there are so many.
    pub(in crate::tui) context_here: usize,
    /// The file that is open.
    pub(in crate::tui) file: Option<FilePane>,
    top: usize,
    folds: BTreeMap<TapePath, Fold>,
    /// Directories that a change opened, the latest last.
    opened: VecDeque<TapePath>,
}

/// What a person wants of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Fold {
    /// It shows what it holds.
    Open,
    /// It does not.
    Closed,
}

/// Rows of the plot of the context, with what is said of it.
const PLOT: usize = 6;

/// The rows around those in view that are asked for with them go in steps of so many.
const AROUND: usize = 256;

/// At most this many directories stay open because something changed in them.
const MAX_OPENED: usize = 64;

impl StatePane {
    /// The directories that are open.
    pub(in crate::tui) fn expanded(&self) -> Expanded {
        let is_open = |path: &&TapePath| self.folds.get(*path) != Some(&Fold::Closed);
        let opened = self.opened.iter().filter(is_open);
        let by_hand = self.folds.iter().filter(|(_, fold)| **fold == Fold::Open);
        let paths: BTreeSet<TapePath> = opened
            .chain(by_hand.map(|(path, _)| path))
            .cloned()
            .collect();
        Expanded::Only(paths)
    }

    /// Opens the directories in which these files changed.
    pub(in crate::tui) fn open_around(&mut self, changes: &ChangeList) {
        let first: Vec<ChangeRow> = changes.iter().take(MAX_OPENED).collect();
        for change in first.iter().rev() {
            if let Some(from) = &change.from {
                self.open_above(from);
            }
            self.open_above(&change.path);
        }
    }

    /// Opens a directory that holds all there is, and so on down: what is below it is what
    /// there is to see.
    pub(in crate::tui) fn open_only_directory(&mut self) {
        let rows = self.rows();
        let is_alone =
            |row: &&TreeRow| rows.iter().filter(|other| other.depth == row.depth).count() == 1;
        let is_folded = |row: &&TreeRow| row.kind == EntryKind::Directory && !row.is_expanded;
        let chain = rows.iter().take_while(is_alone);
        let last = chain.last().filter(is_folded);
        let path = last.map(|row| row.path.clone());
        let is_new =
            |path: &TapePath| !self.folds.contains_key(path) && !self.opened.contains(path);
        if let Some(path) = path.filter(is_new) {
            self.opened.push_back(path);
        }
    }

    /// Opens the directories that lead to a path.
    pub(in crate::tui) fn open_above(&mut self, path: &TapePath) {
        let parents = std::iter::successors(path.parent(), TapePath::parent);
        for directory in parents {
            self.opened.retain(|opened| *opened != directory);
            self.opened.push_back(directory);
        }
        let extra = self.opened.len().saturating_sub(MAX_OPENED);
        self.opened.drain(..extra);
    }

    /// Folds or opens a directory.
    pub(in crate::tui) fn fold(&mut self, directory: TapePath, fold: Fold) {
        self.folds.insert(directory, fold);
    }

    /// The directories that a person opened, and those that were closed.
    pub(in crate::tui) fn folds_by_hand(&self) -> (BTreeSet<TapePath>, BTreeSet<TapePath>) {
        let of = |fold: Fold| {
            let folds = self.folds.iter().filter(move |(_, other)| **other == fold);
            folds.map(|(path, _)| path.clone()).collect()
        };
        (of(Fold::Open), of(Fold::Closed))
    }

    /// Opens and closes directories, but for those that were folded since.
    pub(in crate::tui) fn fold_as(
        &mut self,
        open: &BTreeSet<TapePath>,
        closed: &BTreeSet<TapePath>,
    ) {
        for (paths, fold) in [(open, Fold::Open), (closed, Fold::Closed)] {
            for path in paths {
                self.folds.entry(path.clone()).or_insert(fold);
            }
        }
    }

    /// The rows of the tree.
    pub(in crate::tui) fn rows(&self) -> &[TreeRow] {
        self.tree.get().map_or(&[], Vec::as_slice)
    }

    /// Where the selection is: on its path, or on the nearest directory above it that is
    /// shown.
    pub(in crate::tui) fn selected_index(&self) -> Option<usize> {
        let rows = self.rows();
        let mut wanted = std::iter::successors(self.selected.clone(), TapePath::parent);
        wanted
            .find_map(|path| rows.iter().position(|row| row.path == path))
            .or_else(|| (!rows.is_empty()).then_some(0))
    }

    /// The row the selection is on.
    pub(in crate::tui) fn selected_row(&self) -> Option<&TreeRow> {
        self.rows().get(self.selected_index()?)
    }

    /// The selected path, if it is a file.
    pub(in crate::tui) fn selected_file(&self) -> Option<&TapePath> {
        let row = self.selected_row()?;
        (row.kind != EntryKind::Directory).then_some(&row.path)
    }

    /// The first row to show.
    pub(in crate::tui) fn top(&self, height: usize) -> usize {
        scrolled(self.top, self.selected_index(), self.rows().len(), height)
    }

    /// The rows of the tree that are in view, and those around them as far as one page
    /// leads, in steps that are far enough apart to be asked for rarely.
    pub(in crate::tui) fn rows_around(&self, height: usize) -> Range<usize> {
        let first = self.top(height).saturating_sub(height) / AROUND * AROUND;
        first..(self.top(height) + 2 * height).next_multiple_of(AROUND)
    }

    /// The first row to show of a view to be read, in a pane of this size.
    pub(in crate::tui) fn first_row(&self, height: usize, columns: usize) -> usize {
        let (head, rows) = self.rows_to_read(height, columns);
        scrolled(self.view_top, None, rows, height.saturating_sub(head))
    }

    /// The rows of a view to be read: those that always stand above it, and its own.
    pub(in crate::tui) fn rows_to_read(&self, height: usize, columns: usize) -> (usize, usize) {
        match self.view {
            StateView::Files | StateView::Conversation => (0, 0),
            StateView::Context => (self.plot_height(height), self.context_rows().count()),
            StateView::Environment => (0, self.environment.get().map_or(0, Vec::len)),
            StateView::Transaction => (0, self.transaction.get().map_or(0, Vec::len)),
            StateView::Effects => (0, self.effects.get().map_or(0, Vec::len)),
            StateView::Numbers => (0, self.count_of_numbers(columns)),
        }
    }

    /// Scrolls a view to be read.
    pub(in crate::tui) fn scroll_by(&mut self, delta: i64, height: usize, columns: usize) {
        self.view_top = offset(self.first_row(height, columns), delta);
        self.view_top = self.first_row(height, columns);
    }

    /// What is to be read of the context: at the playhead, then of the whole run.
    pub(in crate::tui) fn context_rows(&self) -> impl Iterator<Item = &ReadingRow> {
        let run = self.context_run.get().map(|run| run.rows.as_slice());
        let here = self.context.get().into_iter().flatten();
        let between = run.map(|_| &ReadingRow::Blank);
        here.chain(between).chain(run.into_iter().flatten())
    }

    /// The index of the chosen row of the context.
    pub(in crate::tui) fn context_index(&self) -> usize {
        let last = self.context_rows().count().saturating_sub(1);
        self.context_here.min(last)
    }

    /// The chosen row of the context.
    pub(in crate::tui) fn context_row(&self) -> Option<&ReadingRow> {
        self.context_rows().nth(self.context_index())
    }

    /// Chooses another row of the context, and scrolls only if it is not in view.
    pub(in crate::tui) fn choose_in_context(&mut self, delta: i64, height: usize) {
        let rows = self.context_rows().count();
        let there = offset(self.context_index(), delta).min(rows.saturating_sub(1));
        let shown = height.saturating_sub(self.plot_height(height));
        self.context_here = there;
        self.view_top = scrolled(self.view_top, Some(there), rows, shown);
    }

    /// Scrolls the context; the chosen row stays in view.
    pub(in crate::tui) fn scroll_context_to(&mut self, first: usize, shown: usize) {
        self.view_top = first;
        let last = first + shown.saturating_sub(1);
        self.context_here = self.context_index().clamp(first, last);
    }

    /// How many rows the plot of the context takes.
    pub(in crate::tui) fn plot_height(&self, height: usize) -> usize {
        let cells = self.context_run.get().map_or(&[][..], |run| &run.cells);
        if cells.iter().any(|cell| cell.tokens > 0) {
            PLOT.min(height / 2)
        } else {
            0
        }
    }

    /// How many rows the numbers take in so many columns.
    pub(in crate::tui) fn count_of_numbers(&self, columns: usize) -> usize {
        let statistics = self.statistics.get();
        statistics.map_or(0, |statistics| numbers::count(statistics, columns))
    }

    /// Scrolls the tree; the selection stays in view.
    pub(in crate::tui) fn scroll_to(&mut self, first: usize, height: usize) {
        let here = self.selected_index().unwrap_or(0);
        let there = here.clamp(first, first + height.saturating_sub(1));
        self.selected = self.rows().get(there).map(|row| row.path.clone());
        self.top = first;
    }

    /// Moves the selection.
    pub(in crate::tui) fn select_by(&mut self, delta: i64, height: usize) {
        let Some(here) = self.selected_index() else {
            return;
        };
        let last = self.rows().len().saturating_sub(1);
        self.select(offset(here, delta).min(last), height);
    }

    /// Selects a row, and scrolls only if it is not in view.
    pub(in crate::tui) fn select(&mut self, index: usize, height: usize) {
        let top = self.top(height);
        let rows = self.rows();
        let length = rows.len();
        self.selected = rows.get(index).map(|row| row.path.clone());
        self.top = scrolled(top, Some(index), length, height);
    }
}

/// The views of the pane, where no file is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum StateView {
    /// The file tree.
    #[default]
    Files,
    /// What was said and done.
    Conversation,
    /// What the model saw.
    Context,
    /// What is around the run.
    Environment,
    /// The transaction at the playhead; only of a run that has one.
    Transaction,
    /// What calls did outside the files; only of a run in which they did.
    Effects,
    /// What the run took.
    Numbers,
}

impl StateView {
    /// Every view, in the order in which they come.
    const ALL: [Self; 7] = [
        Self::Files,
        Self::Conversation,
        Self::Context,
        Self::Environment,
        Self::Transaction,
        Self::Effects,
        Self::Numbers,
    ];

    /// The view after this one, of those that the run has.
    pub(in crate::tui) fn next(self, has: impl Fn(Self) -> bool) -> Self {
        let after = Self::ALL.into_iter().skip_while(|view| *view != self);
        let mut after = after.skip(1).filter(|view| has(*view));
        after.next().unwrap_or_default()
    }

    /// What it is called.
    pub(in crate::tui) const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Conversation => "conversation",
            Self::Context => "context",
            Self::Environment => "environment",
            Self::Transaction => "transaction",
            Self::Effects => "effects",
            Self::Numbers => "numbers",
        }
    }
}

/// A file that is open.
#[derive(Debug)]
pub(in crate::tui) struct FilePane {
    /// Its path. It stays open at steps where there is no such file.
    pub(in crate::tui) path: TapePath,
    /// What is known of it.
    pub(in crate::tui) open: Held<Answered<Box<OpenFile>>>,
    /// The steps that changed it, as they were told last: where there is no file, too.
    pub(in crate::tui) versions: Versions,
    /// The colours of its lines.
    pub(in crate::tui) painted: Held<Painted>,
    /// Who wrote its lines, where that is shown.
    pub(in crate::tui) blame: Option<BlameColumn>,
    /// The first row to show, as far as there are so many.
    pub(in crate::tui) top: usize,
    /// Columns scrolled away on the left.
    pub(in crate::tui) left: usize,
    /// Columns of the pane, as they were last.
    pub(in crate::tui) columns: usize,
}

/// The rows above the lines of a file: its name, what is known of it, the versions, a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) struct FileHead {
    /// How many rows there are.
    pub(in crate::tui) height: usize,
    /// How many of them say what is known.
    pub(in crate::tui) said: usize,
}

impl FileHead {
    /// The row in which the versions stand, if there is room for them.
    pub(in crate::tui) fn versions(self) -> Option<usize> {
        (self.height >= 4).then_some(1 + self.said)
    }
}

/// Rows that say what is known of a file, at most; the notices say it whole.
const MAX_SAID: usize = 5;

impl FilePane {
    /// Opens a file at its first line.
    pub(in crate::tui) fn new(path: TapePath) -> Self {
        Self {
            path,
            open: Held::default(),
            versions: Versions::default(),
            painted: Held::default(),
            blame: None,
            top: 0,
            left: 0,
            columns: 0,
        }
    }

    /// The file, if it is known.
    pub(in crate::tui) fn file(&self) -> Option<&OpenFile> {
        self.open.get()?.as_ref().ok().map(Box::as_ref)
    }

    /// Takes the file in. Where the content is the one shown already, its lines stay, and
    /// so do their colours.
    pub(in crate::tui) fn take(&mut self, generation: u64, answer: Answered<Box<OpenFile>>) {
        let before = self.file().map(|file| Arc::clone(&file.document));
        if !self.open.take(generation, answer) {
            return;
        }
        let Some(Ok(file)) = self.open.get_mut() else {
            return;
        };
        if let Some(before) = before.filter(|before| file.document.has_content_of(before)) {
            file.document = before;
        }
        if !file.view.versions.rows.is_empty() {
            self.versions = std::mem::take(&mut file.view.versions);
        }
    }

    /// The colours, if they are those of this document.
    pub(in crate::tui) fn painted_of(&self, document: &Arc<Document>) -> Option<&Painted> {
        let (job, painted) = self.painted.get_with_job()?;
        let is_same = matches!(job, Job::Paint { document: of, .. } if Arc::ptr_eq(of, document));
        is_same.then_some(painted)
    }

    /// What is known of the file: the certainty with the reason for it, then the rest, each
    /// broken where the pane ends.
    pub(in crate::tui) fn said(&self) -> Vec<SafeText> {
        let Some(view) = self.file().map(|file| &file.view) else {
            return Vec::new();
        };
        let mut certainty = SafeText::literal(view.certainty.as_str());
        let mut rest = view.remarks.iter();
        match rest.next() {
            Some(reason) => {
                certainty.push(&SafeText::literal(": "));
                certainty.push(reason);
            }
            None if view.certainty == Certainty::Exact => {
                certainty.push(&SafeText::literal(": recorded, byte for byte"));
            }
            None => {}
        }
        // Text stands a column away from the frame.
        let columns = self.columns.saturating_sub(1).max(1);
        let broken = |text: &SafeText| width::wrap(text, columns);
        let lines = std::iter::once(&certainty).chain(rest).flat_map(broken);
        lines.collect()
    }

    /// The rows that stand above the lines, in a pane of this height: at most half of it. What
    /// is known goes before the versions.
    pub(in crate::tui) fn head(&self, height: usize) -> FileHead {
        let said = self.said().len().clamp(1, MAX_SAID);
        let height = (3 + said).min(height / 2);
        let said = match height {
            0..=2 => 0,
            3 => 1,
            height => height - 3,
        };
        FileHead { height, said }
    }

    /// How many rows stand above the lines, in a pane of this height.
    pub(in crate::tui) fn head_height(&self, height: usize) -> usize {
        self.head(height).height
    }

    /// The first row to show in a pane of this height, the head included.
    pub(in crate::tui) fn first_row(&self, height: usize) -> usize {
        let shown = height - self.head_height(height);
        scrolled(self.top, self.chosen_row(), self.rows(), shown)
    }

    fn rows(&self) -> usize {
        self.file().map_or(0, |file| file.document.len())
    }

    /// The chosen row, where one is chosen.
    pub(in crate::tui) fn chosen_row(&self) -> Option<usize> {
        let here = self.blame.as_ref()?.here;
        Some(here.min(self.rows().saturating_sub(1)))
    }

    /// Chooses a row, where one is chosen.
    pub(in crate::tui) fn choose(&mut self, row: usize) {
        let last = self.rows().saturating_sub(1);
        if let Some(blame) = &mut self.blame {
            blame.here = row.min(last);
        }
    }

    /// Shows who wrote the lines, or not. The first row in view is chosen.
    pub(in crate::tui) fn toggle_blame(&mut self, height: usize) {
        let here = self.first_row(height);
        self.top = here;
        self.blame = match self.blame.take() {
            Some(_) => None,
            None => Some(BlameColumn {
                here,
                ..BlameColumn::default()
            }),
        };
    }

    /// Makes this row the first one; the chosen row stays in view.
    pub(in crate::tui) fn scroll_to(&mut self, first: usize, shown: usize) {
        self.top = first;
        if let Some(here) = self.chosen_row() {
            self.choose(here.clamp(first, first + shown.saturating_sub(1)));
        }
    }

    /// Scrolls by rows, or chooses another row.
    pub(in crate::tui) fn scroll_by(&mut self, delta: i64, height: usize) {
        if let Some(here) = self.chosen_row() {
            self.choose(offset(here, delta));
            self.top = self.first_row(height);
            return;
        }
        let there = offset(self.first_row(height), delta);
        self.top = there;
        self.top = self.first_row(height);
    }
}

/// An index moved by some rows, not below 0.
pub(in crate::tui) fn offset(index: usize, delta: i64) -> usize {
    let distance = usize::try_from(delta.unsigned_abs()).unwrap_or(usize::MAX);
    if delta < 0 {
        index.saturating_sub(distance)
    } else {
        index.saturating_add(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TapePath {
        TapePath::new(text).unwrap()
    }

    fn open(pane: &StatePane) -> Vec<String> {
        let Expanded::Only(paths) = pane.expanded() else {
            panic!("all");
        };
        paths.iter().map(TapePath::to_text).collect()
    }

    #[test]
    fn changes_open_directories_and_a_person_has_the_last_word() {
        let mut pane = StatePane::default();
        pane.open_above(&path("src/ast/node.rs"));
        assert_eq!(open(&pane), ["src", "src/ast"]);
        pane.fold(path("src/ast"), Fold::Closed);
        pane.fold(path("docs"), Fold::Open);
        pane.open_above(&path("src/ast/node.rs"));
        assert_eq!(open(&pane), ["docs", "src"]);
    }

    #[test]
    fn only_so_many_directories_stay_open_by_themselves() {
        let mut pane = StatePane::default();
        for number in 0..200 {
            pane.open_above(&path(&format!("d{number:03}/f")));
        }
        let open = open(&pane);
        assert_eq!((open.len(), open.first().unwrap().as_str()), (64, "d136"));
    }
}
