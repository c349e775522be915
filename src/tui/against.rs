//! The run that the one on the screen is held against: which rows both have, and which row
//! the playhead is in.
//!
//! The playhead itself is that of the run on the left ([`Travel`](super::travel::Travel)).
//! A row may have a step of the right run alone; then the playhead stands at the last step
//! before it, and the row says the rest.

use std::sync::Arc;

use super::held::{Desk, Held};
use super::job::{Counterpart, Job};
use super::panes::first_in_view;
use crate::debugger::{Alignment, BranchRow, Pair, Relation, StepRow, Summary};
use crate::model::StepNumber;
use crate::text::SafeText;

/// The run on the right.
#[derive(Debug, Default)]
pub(super) struct Against {
    /// The branch that was asked for; without one, the one that holds the last line.
    branch: Option<String>,
    /// What is said of it.
    pub(super) summary: Held<Summary>,
    /// Which of its steps is which on the left.
    pub(super) alignment: Held<Arc<Alignment>>,
    /// Rows of its timeline.
    pub(super) rows: Held<Vec<StepRow>>,
    /// The row the playhead is in.
    pub(super) row: u32,
    /// The playhead goes to the first difference as soon as that is known.
    pub(super) seeks_divergence: bool,
}

impl Against {
    /// A run of which a branch is meant.
    pub(super) fn new(branch: Option<String>) -> Self {
        Self {
            branch,
            ..Self::default()
        }
    }

    /// The branch that is meant, once the run is known.
    pub(super) fn branch(&self) -> Option<&BranchRow> {
        let summary = self.summary.get()?;
        let is_meant = |row: &&BranchRow| match &self.branch {
            Some(name) => row.name == SafeText::line(name),
            None => row.id == summary.current,
        };
        summary.branches.iter().find(is_meant)
    }

    /// The rows, once they are known.
    pub(super) fn aligned(&self) -> Option<&Arc<Alignment>> {
        self.alignment.get()
    }

    /// How the steps of the row stand to each other; `None` before the first row.
    pub(super) fn pair(&self) -> Option<Pair> {
        self.aligned()?.pair(self.row)
    }

    /// Whether the row has a step of the right run alone.
    pub(super) fn is_only_right(&self) -> bool {
        self.pair()
            .is_some_and(|pair| pair.relation == Relation::OnlyRight)
    }

    /// The step of the right run that stands beside the playhead, or is the last before it.
    pub(super) fn counterpart(&self) -> Option<Counterpart> {
        let (_, step) = self.aligned()?.steps_at(self.row);
        let branch = self.branch()?.id;
        Some(Counterpart { branch, step })
    }

    /// The playhead is at this step of the left run: the row goes with it, unless it is one
    /// of the rows of that step already.
    pub(super) fn follow(&mut self, step: StepNumber) {
        if let Some(alignment) = self.alignment.get()
            && (self.row > alignment.rows() || alignment.steps_at(self.row).0 != step)
        {
            self.row = alignment.row_of_left(step);
        }
    }

    /// The rows in view of a pane: the first one, and the one behind the last.
    pub(super) fn view(&self, height: u16) -> std::ops::Range<u32> {
        let rows = self.aligned().map_or(0, |alignment| alignment.rows());
        let first = first_in_view(self.row, rows, height);
        first..(rows + 1).min(first.saturating_add(u32::from(height.max(1))))
    }

    /// Asks for the run, and for its alignment with a branch of the left one.
    pub(super) fn want(&mut self, left: u16, desk: &mut Desk) {
        self.summary.want(Job::RightSummary, desk);
        if let Some(right) = self.branch().map(|branch| branch.id) {
            let branches = (left, right);
            // Rows of another branch would pair steps that have nothing to do with each other.
            let is_other = |(job, _): (&Job, &Arc<Alignment>)| *job != Job::Align { branches };
            if self.alignment.get_with_job().is_some_and(is_other) {
                self.alignment.clear();
            }
            self.alignment.want(Job::Align { branches }, desk);
        }
    }

    /// Asks for rows of the right timeline: those in view and a block on either side, so
    /// that the next moves find theirs here.
    pub(super) fn want_rows(&mut self, height: u16, desk: &mut Desk) {
        const BLOCK: u32 = 64;
        let Some((branch, alignment)) = self.branch().zip(self.aligned()) else {
            return;
        };
        let (branch, view) = (branch.id, self.view(height));
        let step_at = |row: u32| alignment.steps_at(row).1.0;
        let block = BLOCK.max((view.end - view.start).next_power_of_two());
        let first = (step_at(view.start) / block).saturating_sub(1) * block;
        let steps = first.max(1)..first.saturating_add(4 * block);
        self.rows.want(Job::RightTimeline { branch, steps }, desk);
    }

    /// The row of a step of the right timeline, if it is held.
    pub(super) fn step(&self, step: StepNumber) -> Option<&StepRow> {
        let rows = self.rows.get()?;
        let index = rows.binary_search_by_key(&step, |row| row.number);
        rows.get(index.ok()?)
    }

    /// Whether an answer is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        self.summary.is_waiting() || self.alignment.is_waiting() || self.rows.is_waiting()
    }

    /// Whether the screen should say so.
    pub(super) fn is_late(&self, desk: &Desk) -> bool {
        self.summary.is_late(desk) || self.alignment.is_late(desk) || self.rows.is_late(desk)
    }

    /// The file of the run on the right changed. What is shown stays until that is aligned.
    pub(super) fn outdate_right(&mut self) {
        self.summary.outdate();
        self.rows.outdate();
    }

    /// The run on the left grew. An alignment that is being made is not begun anew: a run
    /// that grows faster than it is read would never be shown.
    pub(super) fn outdate(&mut self) {
        if !self.alignment.is_waiting() {
            self.alignment.outdate();
        }
    }
}
