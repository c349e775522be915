//! Holding the run against another one: what begins it, what ends it, and moves from row
//! to row.

use std::sync::Arc;

use crate::debugger::{Alignment, Direction, Refresh};
use crate::text::human;
use crate::tui::action::ActionId;
use crate::tui::against::Against;
use crate::tui::app::{App, Tone};
use crate::tui::job::{Answered, Job};
use crate::tui::prompt::{Prompt, Purpose};
use crate::tui::travel::Follow;

impl App {
    /// Asks which run this one is to be held against; or ends it.
    pub(super) fn toggle_against(&mut self) {
        if self.against.take().is_none() {
            self.prompt = Some(Prompt::new(Purpose::Against));
            return;
        }
        self.desk.ask(Job::CloseRight);
        self.diff.rewind();
        self.say(Tone::Plain, "this run alone again");
    }

    /// Has the run opened that was named.
    pub(super) fn open_against(&mut self, typed: &str) {
        self.opening = Some(self.desk.ask(Job::OpenRight(typed.to_owned())));
    }

    pub(super) fn take_right(&mut self, generation: u64, answer: Answered<Option<String>>) {
        if !self.opening.is_some_and(|ticket| ticket.is_for(generation)) {
            return;
        }
        self.opening = None;
        match answer {
            Ok(branch) => {
                self.against = Some(Against::new(branch));
                if self.travel.follow != Follow::Off {
                    self.watch();
                }
            }
            Err(why) => self.say(Tone::Error, &why.to_string()),
        }
    }

    /// The file of the right run changed. What is shown stays until it is aligned anew.
    pub(super) fn take_right_refresh(&mut self, refreshed: Answered<Refresh>) {
        let Some(against) = &mut self.against else {
            return;
        };
        match refreshed {
            Err(why) => self.say(Tone::Error, &format!("the run on the right: {why}")),
            Ok(Refresh::Unchanged) => {}
            Ok(Refresh::Gone) => self.say(
                Tone::Warning,
                "the right file is gone; what was read of it stays readable",
            ),
            Ok(found) => {
                against.outdate_right();
                self.outdate();
                let words = match found {
                    Refresh::Truncated => "the right file was truncated",
                    Refresh::Replaced => "the right file was replaced",
                    Refresh::Back => "the right file is there again",
                    Refresh::Grew { .. } | Refresh::Unchanged | Refresh::Gone => return,
                };
                self.say(Tone::Warning, words);
            }
        }
    }

    pub(super) fn take_alignment(&mut self, generation: u64, alignment: Arc<Alignment>) {
        let Some(against) = &mut self.against else {
            return;
        };
        let is_first = against.aligned().is_none();
        if !against.alignment.take(generation, Arc::clone(&alignment)) {
            return;
        }
        if let Some(here) = self.travel.stop {
            against.follow(here.spot.step);
        }
        let seeks = std::mem::take(&mut against.seeks_divergence);
        if let Some(parting) = alignment.divergence().filter(|_| seeks) {
            self.go_to_row(parting.row);
        }
        if is_first {
            self.say_differences(&alignment);
        }
    }

    fn say_differences(&mut self, alignment: &Alignment) {
        if alignment.is_coarse() {
            let words = "the runs are too different to be paired in time: more steps may be alike";
            self.say(Tone::Warning, words);
            return;
        }
        let words = match alignment.differences() {
            0 => "the steps of both runs are the same".to_owned(),
            differences => {
                let places = human::plural(differences as u64, "place", "places");
                let [next, previous] = [ActionId::NextDifference, ActionId::PreviousDifference];
                let (next, previous) = (next.key(), previous.key());
                format!("the runs differ in {places}: {next} to the next, {previous} back")
            }
        };
        self.say(Tone::Plain, &words);
    }

    /// Some rows on or back, where rows are shown. Returns whether they are.
    pub(super) fn row_by(&mut self, delta: i64) -> bool {
        let Some((against, alignment)) = self.rows_shown() else {
            return false;
        };
        let last = i64::from(alignment.rows());
        let delta = delta - i64::from(self.travel.is_inside && delta > 0);
        let there = i64::from(against.row).saturating_add(delta).clamp(0, last);
        let there = u32::try_from(there).unwrap_or(0);
        if there == against.row && !self.travel.is_inside {
            self.say(
                Tone::Plain,
                if there == 0 {
                    "before the first step of both runs"
                } else {
                    "the last step of both runs"
                },
            );
            return true;
        }
        self.go_to_row(there);
        true
    }

    /// The rows of both runs, where they are shown.
    pub(in crate::tui) fn rows_shown(&self) -> Option<(&Against, &Arc<Alignment>)> {
        let against = self.against.as_ref()?;
        Some((against, against.aligned()?))
    }

    /// Puts the playhead into a row.
    pub(super) fn go_to_row(&mut self, row: u32) {
        let Some((against, alignment)) = self.rows_shown() else {
            return;
        };
        let before = against.row;
        let row = row.min(alignment.rows());
        let step = alignment.steps_at(row).0;
        if let Some(against) = &mut self.against {
            against.row = row;
        }
        if row != before {
            self.diff.rewind();
        }
        let is_there = |spot: crate::debugger::Spot| spot.step == step;
        if !self.travel.spot().is_some_and(is_there) || self.travel.is_inside {
            self.step_to(step.0);
        }
    }

    /// Puts the playhead into a row, and keeps the place to come back to.
    pub(super) fn jump_to_row(&mut self, row: u32) {
        self.travel.give_up();
        if let Some(here) = self.travel.stop {
            self.travel.keep(here);
        }
        self.go_to_row(row);
    }

    /// To the next place in which the runs differ, or the one before.
    pub(super) fn next_difference(&mut self, direction: Direction, times: u32) {
        let Some((against, alignment)) = self.rows_shown() else {
            let words = if self.against.is_some() {
                "the runs are still being compared"
            } else {
                "this run is alone; A holds it against another one"
            };
            self.say(Tone::Plain, words);
            return;
        };
        let next = |row: &u32| match direction {
            Direction::Forward => alignment.difference_after(*row),
            Direction::Back => alignment.difference_before(*row),
        };
        let found = std::iter::successors(next(&against.row), next);
        if let Some(row) = found.take(times as usize).last() {
            self.jump_to_row(row);
            return;
        }
        let back = ActionId::PreviousDifference.key();
        let words = match direction {
            Direction::Forward => format!("no later difference; {back} goes back to the last one"),
            Direction::Back => "no earlier difference".to_owned(),
        };
        self.say(Tone::Plain, &words);
    }
}
