//! A run that is shown while it is read: its rows come in, and every key works on those that
//! are there.
//!
//! Once it is whole, the playhead goes where it would have been from the start, unless a
//! person has moved it meanwhile.

use crate::text::human;
use crate::tui::app::{App, Tone};
use crate::tui::job::{Job, Reading, ReadingState};
use crate::tui::opening::Opening;
use crate::tui::travel::Arrival;

impl App {
    /// Begins to read on. Until the place is known that was asked for, the first rows are shown.
    pub(in crate::tui) fn begin_opening(&mut self) {
        let awaited = self.travel.arrival.replace(Arrival::Step(1));
        self.unread = Some(Opening {
            ticket: self.desk.ask(Job::ReadOn),
            progress: crate::model::Progress::default(),
            state: ReadingState::Running,
            awaited,
        });
    }

    /// Whether more of the run is being read.
    pub(in crate::tui) fn is_reading(&self) -> bool {
        self.unread.as_ref().is_some_and(Opening::is_running)
    }

    /// More of the run was read.
    pub(super) fn take_reading(&mut self, generation: u64, reading: Reading) {
        let is_waited_for = |opening: &&mut Opening| opening.ticket.is_for(generation);
        let Some(opening) = self.unread.as_mut().filter(is_waited_for) else {
            return;
        };
        let Reading { progress, state } = reading;
        opening.progress = progress;
        match state {
            // What was stopped here goes on until the worker hears of it.
            ReadingState::Running => self.lengthen(),
            ReadingState::Stopped => self.outdate(),
            ReadingState::Whole => self.end_opening(),
            ReadingState::Failed(why) => {
                self.end_opening();
                let words = format!("the rest of the run cannot be read: {why}");
                self.say(Tone::Error, &words);
            }
        }
    }

    /// The run is longer. What is shown of a step stays: nearly always nothing is added to it,
    /// and what is asked anew ten times a second would flicker.
    fn lengthen(&mut self) {
        self.summary.outdate();
        self.timeline.rows.outdate();
        self.timeline.strip.outdate();
    }

    /// The run is whole: what was found out of a part of it is found out anew.
    fn end_opening(&mut self) {
        let Some(opening) = self.unread.take() else {
            return;
        };
        self.outdate();
        self.outdate_fork_points();
        self.left.outdate();
        if opening.awaited.is_some() {
            self.travel.arrival = opening.awaited;
        }
        if let Some(search) = &self.search {
            let query = search.query.clone();
            self.search_for(&query);
        }
        self.refresh();
    }

    /// Stops the reading; whether there was any.
    pub(super) fn stop_reading(&mut self) -> bool {
        let steps = human::plural(u64::from(self.steps()), "step", "steps");
        let Some(opening) = self.unread.as_mut().filter(|opening| opening.is_running()) else {
            return false;
        };
        opening.state = ReadingState::Stopped;
        let percent = opening.progress.percent();
        // The reply that the reading has stopped belongs to it as well.
        self.desk.ask(Job::StopReading);
        let words = format!("stopped at {percent} %: {steps}; F reads on");
        self.say(Tone::Plain, &words);
        true
    }

    /// Goes on where the reading was stopped; whether it was.
    pub(super) fn read_on(&mut self) -> bool {
        let Some(opening) = self.unread.as_mut().filter(|opening| !opening.is_running()) else {
            return false;
        };
        opening.state = ReadingState::Running;
        opening.ticket = self.desk.ask(Job::ReadOn);
        self.say(Tone::Plain, "reading on");
        true
    }

    /// A person has moved the playhead: it stays where it was put.
    pub(super) fn stay_here(&mut self) {
        if let Some(opening) = &mut self.unread {
            opening.awaited = None;
        }
    }
}
