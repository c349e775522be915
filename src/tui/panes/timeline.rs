//! The steps of the run: a window of them around the playhead, never all.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::debugger::{AgentRow, ForkPoints, StepRow, StripCell, Summary};
use crate::tui::folding::Folding;
use crate::tui::held::{Desk, Held};
use crate::tui::job::Job;

/// The timeline and the strip.
#[derive(Debug, Default)]
pub(in crate::tui) struct TimelinePane {
    /// The rows that are held.
    pub(in crate::tui) rows: Held<Vec<StepRow>>,
    /// The whole run in one row.
    pub(in crate::tui) strip: Held<Vec<StripCell>>,
    /// The sub-agents.
    pub(in crate::tui) agents: Held<Vec<AgentRow>>,
    /// Which of them are folded.
    pub(in crate::tui) folding: Folding,
    /// Where forks leave it.
    pub(in crate::tui) forks: Held<ForkPoints>,
    /// The branches by the branch and the step that they leave after.
    pub(in crate::tui) departures: BTreeMap<(u16, u32), Vec<u16>>,
    /// What is in view, and what is wanted after that.
    next: Option<(Job, Job)>,
}

/// Rows are asked for in blocks of at least this many.
const BLOCK: u32 = 64;

impl TimelinePane {
    /// Says which rows are in view. Those come first, alone: a frame waits for them.
    pub(in crate::tui) fn want(&mut self, branch: u16, view: Range<u32>, desk: &mut Desk) {
        let block = BLOCK.max((view.end - view.start).next_power_of_two());
        let first = (view.start / block).saturating_sub(1) * block;
        let around = first.max(1)..first.saturating_add(4 * block);
        let of = |steps| Job::Timeline { branch, steps };
        self.want_first(of(view.start.max(1)..view.end), of(around), desk);
    }

    /// Says which of some steps are in view, by their indices. One more step is wanted: the
    /// one the playhead is in.
    pub(in crate::tui) fn want_of(
        &mut self,
        branch: u16,
        steps: &[u32],
        view: Range<usize>,
        here: u32,
        desk: &mut Desk,
    ) {
        let block = (BLOCK as usize).max(view.len().next_power_of_two());
        let first = (view.start / block).saturating_sub(1) * block;
        let end = steps.len().min(first + 4 * block);
        let of = |range: Range<usize>| {
            let steps = steps.get(range).unwrap_or_default();
            steps_with(here, branch, steps.to_vec())
        };
        self.want_first(of(view), of(first..end), desk);
    }

    /// Says which rows are in view, where some agents are folded. The step the playhead is in
    /// is wanted, too.
    pub(in crate::tui) fn want_rows(
        &mut self,
        branch: u16,
        view: Range<u32>,
        here: u32,
        desk: &mut Desk,
    ) {
        let block = BLOCK.max((view.end - view.start).next_power_of_two());
        let first = (view.start / block).saturating_sub(1) * block;
        let of = |rows: Range<u32>| {
            let steps = rows.map(|row| self.folding.step_at(row));
            steps_with(here, branch, steps.collect())
        };
        let around = of(first..first.saturating_add(4 * block));
        self.want_first(of(view), around, desk);
    }

    fn want_first(&mut self, in_view: Job, around: Job, desk: &mut Desk) {
        if !self.holds(&in_view) {
            self.rows.want(in_view.clone(), desk);
        }
        self.next = Some((in_view, around));
    }

    /// A block before and after the rows in view, once these are there: the next moves find
    /// theirs in it.
    pub(in crate::tui) fn want_around(&mut self, desk: &mut Desk) {
        if let Some((in_view, around)) = self.next.take()
            && self.holds(&in_view)
        {
            self.rows.want(around, desk);
        }
    }

    /// Whether all rows that a job asks for are held as they are now.
    fn holds(&self, job: &Job) -> bool {
        if self.rows.is_outdated() {
            return false;
        }
        match (self.rows.get_with_job().map(|(held, _)| held), job) {
            (
                Some(Job::Timeline { branch, steps }),
                Job::Timeline {
                    branch: of,
                    steps: wanted,
                },
            ) => branch == of && steps.start <= wanted.start && wanted.end <= steps.end,
            (
                Some(Job::Steps { branch, steps }),
                Job::Steps {
                    branch: of,
                    steps: wanted,
                },
            ) => branch == of && wanted.iter().all(|step| steps.binary_search(step).is_ok()),
            _ => false,
        }
    }

    /// Takes in which branches there are.
    pub(in crate::tui) fn set_branches(&mut self, summary: &Summary) {
        self.departures.clear();
        for branch in &summary.branches {
            if let Some((parent, step)) = branch.parent {
                let leaving = self.departures.entry((parent, step.0)).or_default();
                leaving.push(branch.id);
            }
        }
    }

    /// The row of a step of a branch, if it is held.
    pub(in crate::tui) fn row(&self, branch: u16, step: u32) -> Option<&StepRow> {
        let (job, rows) = self.rows.get_with_job()?;
        if !matches!(job, Job::Timeline { branch: of, .. } | Job::Steps { branch: of, .. } if *of == branch)
        {
            return None;
        }
        let index = rows.binary_search_by_key(&step, |row| row.number.0);
        rows.get(index.ok()?)
    }
}

/// These steps, and the one the playhead is in.
fn steps_with(here: u32, branch: u16, mut steps: Vec<u32>) -> Job {
    if let Err(index) = steps.binary_search(&here) {
        steps.insert(index, here);
    }
    Job::Steps { branch, steps }
}

/// The first step to show so that the playhead stands in the middle, where there is enough
/// on both sides. Row 0 is the place before the first step.
pub(in crate::tui) fn first_in_view(playhead: u32, steps: u32, height: u16) -> u32 {
    let height = u32::from(height);
    let last = steps.saturating_add(1).saturating_sub(height);
    playhead.saturating_sub(height / 2).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_playhead_stands_in_the_middle_between_the_ends() {
        assert_eq!(first_in_view(0, 100, 10), 0);
        assert_eq!(first_in_view(50, 100, 10), 45);
        assert_eq!(first_in_view(100, 100, 10), 91);
        assert_eq!(first_in_view(2, 3, 10), 0);
        assert_eq!(first_in_view(7, 9, 0), 7);
    }

    #[test]
    fn what_is_asked_holds_what_is_in_view_and_does_not_change_at_every_step() {
        let mut pane = TimelinePane::default();
        let mut desk = Desk::default();
        let mut asked = Vec::new();
        for start in 0..1000 {
            let mut requests = Vec::new();
            let mut answer = |pane: &mut TimelinePane, desk: &mut Desk| {
                for request in desk.take_requests() {
                    let Job::Timeline { steps, .. } = request.job else {
                        panic!("another job");
                    };
                    requests.push(steps);
                    assert!(pane.rows.take(request.generation, Vec::new()));
                }
            };
            pane.want(0, start..start + 40, &mut desk);
            answer(&mut pane, &mut desk);
            pane.want_around(&mut desk);
            answer(&mut pane, &mut desk);
            // What is in view comes first, but only where one was not before.
            assert_eq!(requests.len() > 1, start == 0, "{requests:?}");
            asked.extend(requests);
            let last = asked.last().unwrap();
            assert!(last.start <= start.max(1) && start + 40 <= last.end);
        }
        assert!(asked.len() < 20, "{asked:?}");
    }
}
