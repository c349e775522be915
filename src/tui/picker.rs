//! The runs that can be opened, as a list that is chosen from.
//!
//! Rows come from the worker as they are found; letters that are typed choose among them, the
//! best first. What opening a run does is in `update/picker`. Nothing here looks at a disk.

use super::fuzzy::find;
use super::held::Ticket;
use super::layout::scrolled;
use super::panes::offset;
use crate::debugger::{RunRow, RunSort, RunSource};

/// The list, while it is shown.
#[derive(Debug)]
pub(super) struct Picker {
    /// Every run that was found: by sort, the latest first.
    runs: Vec<RunRow>,
    /// More may come.
    pub(super) listing: Option<Ticket>,
    filter: String,
    rows: Vec<PickerRow>,
    /// What is chosen; without it, the first there is to choose.
    chosen: Option<RunSource>,
    top: usize,
}

/// A row of the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PickerRow {
    /// The runs below are of this sort.
    Heading(RunSort),
    /// No run was opened yet.
    NothingYet,
    /// A run, by its index, and where the filter was found: bytes of its name and its words.
    Run(usize, [Vec<usize>; 2]),
}

impl Picker {
    /// The list before anything was found.
    pub(super) fn new(listing: Ticket) -> Self {
        Self {
            runs: Vec::new(),
            listing: Some(listing),
            filter: String::new(),
            rows: Vec::new(),
            chosen: None,
            top: 0,
        }
    }

    /// Whether an answer is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        self.listing.is_some()
    }

    /// Takes runs in. One that was told before is known better now.
    pub(super) fn take(&mut self, runs: Vec<RunRow>) {
        for run in runs {
            match self
                .runs
                .iter_mut()
                .find(|other| other.source == run.source)
            {
                Some(other) => *other = run,
                None => self.runs.push(run),
            }
        }
        self.runs.sort_by_key(|run| (run.sort, run.age));
        self.list();
    }

    /// Lists the runs in which these letters are found.
    pub(super) fn filter(&mut self, filter: &str) {
        filter.trim().clone_into(&mut self.filter);
        self.chosen = None;
        self.top = 0;
        self.list();
    }

    /// Whether only some of the runs are listed.
    pub(super) fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }

    /// How many runs of a sort there are.
    pub(super) fn count(&self, sort: RunSort) -> usize {
        self.runs.iter().filter(|run| run.sort == sort).count()
    }

    /// How many runs there are.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The rows of the list.
    pub(super) fn rows(&self) -> &[PickerRow] {
        &self.rows
    }

    /// A run by its index.
    pub(super) fn run(&self, index: usize) -> Option<&RunRow> {
        self.runs.get(index)
    }

    /// The row that is chosen.
    pub(super) fn chosen_row(&self) -> Option<usize> {
        let is_chosen =
            |row: &PickerRow| self.chosen.is_some() && self.source(row) == self.chosen.as_ref();
        let is_run = |row: &PickerRow| self.source(row).is_some();
        let chosen = self.rows.iter().position(is_chosen);
        chosen.or_else(|| self.rows.iter().position(is_run))
    }

    /// The run that is chosen.
    pub(super) fn chosen_run(&self) -> Option<&RunRow> {
        match self.rows.get(self.chosen_row()?)? {
            PickerRow::Run(index, _) => self.run(*index),
            _ => None,
        }
    }

    /// The first row to show in a list of this height. The heading of the first run is seen,
    /// too.
    pub(super) fn first_row(&self, height: usize) -> usize {
        let chosen = self.chosen_row();
        let top = scrolled(self.top, chosen, self.rows.len(), height);
        if chosen == Some(1) { 0 } else { top }
    }

    /// Chooses a row, if it is a run's, and scrolls only if it is not in view.
    pub(super) fn choose(&mut self, row: usize, height: usize) {
        let Some(source) = self.rows.get(row).and_then(|row| self.source(row)) else {
            return;
        };
        self.chosen = Some(source.clone());
        self.top = self.first_row(height);
    }

    /// Chooses another run, so many further down; headings count for nothing.
    pub(super) fn choose_by(&mut self, delta: i64, height: usize) {
        let runs = self.rows.iter().enumerate();
        let runs: Vec<usize> = runs
            .filter(|(_, row)| self.source(row).is_some())
            .map(|(index, _)| index)
            .collect();
        let here = self.chosen_row();
        let here = runs.iter().position(|row| Some(*row) == here).unwrap_or(0);
        let there = offset(here, delta).min(runs.len().saturating_sub(1));
        if let Some(row) = runs.get(there) {
            self.choose(*row, height);
        }
    }

    fn source(&self, row: &PickerRow) -> Option<&RunSource> {
        match row {
            PickerRow::Run(index, _) => Some(&self.run(*index)?.source),
            _ => None,
        }
    }

    fn list(&mut self) {
        self.rows = if self.is_filtered() {
            self.found()
        } else {
            self.all()
        };
    }

    fn all(&self) -> Vec<PickerRow> {
        let mut rows = Vec::new();
        let mut before = None;
        if self.count(RunSort::Recent) == 0 && !self.runs.is_empty() {
            rows.push(PickerRow::Heading(RunSort::Recent));
            rows.push(PickerRow::NothingYet);
        }
        for (index, run) in self.runs.iter().enumerate() {
            if before != Some(run.sort) {
                rows.push(PickerRow::Heading(run.sort));
                before = Some(run.sort);
            }
            rows.push(PickerRow::Run(index, Default::default()));
        }
        rows
    }

    /// The runs with every word of the filter, the best first. A name counts twice.
    fn found(&self) -> Vec<PickerRow> {
        let mut found: Vec<(i32, PickerRow)> = Vec::new();
        for (index, run) in self.runs.iter().enumerate() {
            let mut score = 0;
            let mut places: [Vec<usize>; 2] = Default::default();
            let mut is_found = true;
            for word in self.filter.split_whitespace() {
                let [name, words, directory, agent] =
                    [&run.name, &run.words, &run.directory, &run.agent]
                        .map(|text| find(word, text.as_str()).unwrap_or_default());
                let best = (2 * name.score)
                    .max(words.score)
                    .max(directory.score)
                    .max(agent.score);
                is_found &= best > 0;
                score += best;
                for (all, found) in places.iter_mut().zip([name, words]) {
                    all.extend(found.places);
                }
            }
            if is_found {
                found.push((score, PickerRow::Run(index, places)));
            }
        }
        found.sort_by_key(|(score, _)| -score);
        found.into_iter().map(|(_, row)| row).collect()
    }
}
