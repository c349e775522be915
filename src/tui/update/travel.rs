//! Moves of the playhead.
//!
//! A step that is in the timeline's window is reached at once. Everything else asks the
//! worker; moves that are asked for meanwhile wait their turn, so that no key is lost and
//! none acts from the wrong place.

use crate::debugger::Direction;
use crate::model::{StepNumber, Target};
use crate::tui::action::ActionId;
use crate::tui::app::{App, Tone};
use crate::tui::job::{Job, Jump, Landmark, Stop};
use crate::tui::notes::NotePad;
use crate::tui::panes::ConversationPane;
use crate::tui::travel::{Arrival, Errand, Follow, UnderWay};

impl App {
    /// Does an action that moves the playhead from where it is.
    pub(in crate::tui) fn travel(&mut self, action: ActionId, count: Option<u32>) {
        if self.travel.under_way.is_some() {
            self.travel.postpone(action, count);
            return;
        }
        let count = count.unwrap_or(1);
        let delta = i64::from(count);
        match action {
            ActionId::StepBack => self.step_by(-delta),
            ActionId::StepForward => self.step_by(delta),
            ActionId::EventBack => self.event_by(-delta),
            ActionId::EventForward => self.event_by(delta),
            ActionId::NextFailure => self.seek(Landmark::Failure, Direction::Forward, count),
            ActionId::PreviousFailure => self.seek(Landmark::Failure, Direction::Back, count),
            ActionId::NextEdge => self.seek(Landmark::Edge, Direction::Forward, count),
            ActionId::PreviousEdge => self.seek(Landmark::Edge, Direction::Back, count),
            ActionId::NextVersion => self.seek_version(Direction::Forward, count),
            ActionId::PreviousVersion => self.seek_version(Direction::Back, count),
            _ => {}
        }
    }

    /// Some steps on or back. From inside a step, the first step on is to its end.
    pub(super) fn step_by(&mut self, delta: i64) {
        let Some(here) = self.travel.spot() else {
            return;
        };
        if self.row_by(delta) {
            return;
        }
        if let Some(search) = self.filter() {
            match search.step_from(here.step.0, delta) {
                Some(step) => self.step_to(step),
                None => self.say(Tone::Plain, "no further step with a hit; & shows all"),
            }
            return;
        }
        let delta = delta - i64::from(self.travel.is_inside && delta > 0);
        let folding = &self.timeline.folding;
        let row = i64::from(folding.row_of(here.step.0)).saturating_add(delta);
        let row = u32::try_from(row.max(0)).unwrap_or(u32::MAX);
        let there = match delta {
            0 => here.step.0,
            _ => folding.step_at(row.min(folding.last_row(self.steps()))),
        };
        self.step_to(there);
    }

    /// To the end of a step, or of the last one.
    pub(in crate::tui) fn step_to(&mut self, step: u32) {
        let Some(Stop { branch, spot: here }) = self.travel.stop else {
            return;
        };
        let there = step.min(self.steps());
        if there == here.step.0 && !self.travel.is_inside {
            let words = match there {
                0 => "before the first step",
                _ if there == self.steps() && self.unread.is_some() => "the last step so far",
                _ if there == self.steps() => "the last step",
                _ => return,
            };
            self.say(Tone::Plain, words);
            return;
        }
        match self.timeline.row(branch, there).map(|row| row.spot) {
            Some(spot) => self.arrive(Stop { branch, spot }),
            None => self.depart(
                Jump::Step {
                    branch,
                    step: StepNumber(there),
                },
                Errand::Steps,
            ),
        }
    }

    fn event_by(&mut self, delta: i64) {
        if let Some(from) = self.travel.spot() {
            self.depart(Jump::Event { from, delta }, Errand::Events);
        }
    }

    fn seek(&mut self, landmark: Landmark, direction: Direction, count: u32) {
        let Some(from) = self.travel.spot() else {
            return;
        };
        let errand = Errand::Landmark(landmark.clone(), direction);
        let jump = Jump::Landmark {
            landmark,
            from,
            direction,
            count,
        };
        self.depart(jump, errand);
    }

    fn seek_version(&mut self, direction: Direction, count: u32) {
        match self.chosen_file().cloned() {
            Some(path) => self.seek(Landmark::Version(path), direction, count),
            None => self.say(Tone::Plain, "no file is chosen; 2 and Enter choose one"),
        }
    }

    /// Asks the worker where a move leads. A mark with a letter is known without it.
    pub(in crate::tui) fn depart(&mut self, jump: Jump, errand: Errand) {
        if let Jump::Place(place) = &jump
            && let Target::Mark(name) = &place.target
        {
            self.travel.give_up();
            let mut letters = name.chars();
            let mark = match (letters.next(), letters.next()) {
                (Some(letter), None) => self.travel.marks.get(&letter).copied(),
                _ => None,
            };
            if mark.is_some() {
                self.land(errand, mark);
                return;
            }
        }
        if self.travel.under_way.is_some() {
            self.travel.give_up();
        }
        let ticket = self.desk.ask(Job::Jump(jump));
        self.travel.under_way = Some(UnderWay { ticket, errand });
    }

    /// Ends a move that was under way.
    pub(in crate::tui) fn land(&mut self, errand: Errand, stop: Option<Stop>) {
        let Some(stop) = stop else {
            match errand {
                Errand::Landmark(Landmark::Failure, direction) => self.seek_around(direction),
                errand => self.say_no_landmark(&errand),
            }
            return;
        };
        match errand {
            Errand::Arrive => self.put(stop),
            Errand::Steps => self.arrive(stop),
            Errand::Events => {
                if self.travel.stop == Some(stop) {
                    self.say(Tone::Plain, "no further event");
                }
                self.arrive(stop);
            }
            Errand::Place | Errand::Landmark(..) => self.jump(stop),
            Errand::Base => self.measure_from(Some(stop)),
            Errand::Follow => {
                let before = self.travel.stop.map(|before| before.branch);
                self.put(stop);
                if before.is_some_and(|branch| branch != stop.branch) {
                    let name = self.branch().map(|branch| branch.name.to_string());
                    let name = name.unwrap_or_default();
                    self.say(Tone::Warning, &format!("the run goes on on branch {name}"));
                }
            }
        }
    }

    /// Behind the last failure comes the first one, and before the first the last.
    fn seek_around(&mut self, direction: Direction) {
        let Some(here) = self.travel.stop else {
            return;
        };
        if self.branch().is_none_or(|branch| branch.failed == 0) {
            self.say(Tone::Plain, "no step failed");
            return;
        }
        let (step, words) = match direction {
            Direction::Forward => (0, "no later failure: the first one again"),
            Direction::Back => (self.steps() + 1, "no earlier failure: the last one again"),
        };
        let mut from = here.spot;
        from.step = StepNumber(step);
        let jump = Jump::Landmark {
            landmark: Landmark::Failure,
            from,
            direction,
            count: 1,
        };
        self.say(Tone::Plain, words);
        self.depart(jump, Errand::Place);
    }

    fn say_no_landmark(&mut self, errand: &Errand) {
        let Errand::Landmark(landmark, direction) = errand else {
            return;
        };
        let when = match direction {
            Direction::Forward => "later",
            Direction::Back => "earlier",
        };
        let what = match landmark {
            Landmark::Failure => "failure".to_owned(),
            Landmark::Edge => "snapshot or transaction edge".to_owned(),
            Landmark::Version(path) => format!("change of {}", path.to_text()),
        };
        let so_far = match direction {
            Direction::Forward if self.unread.is_some() => " so far",
            _ => "",
        };
        self.say(Tone::Plain, &format!("no {when} {what}{so_far}"));
    }

    /// Goes to a place and keeps the old one to come back to.
    pub(super) fn jump(&mut self, stop: Stop) {
        if let Some(here) = self.travel.stop
            && here != stop
        {
            self.travel.keep(here);
        }
        self.arrive(stop);
    }

    /// Puts the playhead where a person wants it.
    fn arrive(&mut self, stop: Stop) {
        self.stay_here();
        self.put(stop);
    }

    /// Puts the playhead somewhere.
    fn put(&mut self, stop: Stop) {
        if self.travel.stop != Some(stop) {
            self.diff.rewind();
            self.state.conversation.choose_newest();
        }
        self.travel.stop = Some(stop);
        let spot = stop.spot;
        if let Some(against) = &mut self.against {
            against.follow(spot.step);
        }
        self.travel.is_inside = self.current_row().is_some_and(|row| row.spot != spot);
        self.travel.follow = match self.travel.follow {
            Follow::Off => Follow::Off,
            Follow::Sticking | Follow::Behind(_) if self.is_at_end(spot) => Follow::Sticking,
            Follow::Sticking => Follow::Behind(self.steps()),
            behind @ Follow::Behind(_) => behind,
        };
    }

    /// Back to where the last jump began.
    pub(super) fn jump_back(&mut self, times: u32) {
        self.travel.give_up();
        let mut target = None;
        for _ in 0..times {
            match self.travel.back.pop() {
                Some(stop) => target = Some(stop),
                None => break,
            }
        }
        match target {
            Some(stop) => self.arrive(stop),
            None => self.say(Tone::Plain, "no jump to go back from"),
        }
    }

    pub(super) fn set_mark(&mut self, letter: char) {
        if let Some(stop) = self.travel.stop {
            self.travel.marks.insert(letter, stop);
            self.keep();
            let step = stop.spot.step;
            self.say(
                Tone::Plain,
                &format!("mark {letter} at step {step}; '{letter} comes back"),
            );
        }
    }

    pub(super) fn go_to_mark(&mut self, letter: char) {
        self.travel.give_up();
        match self.travel.marks.get(&letter).copied() {
            Some(stop) => self.jump(stop),
            None => self.say(
                Tone::Plain,
                &format!("no mark {letter}; m{letter} sets it here"),
            ),
        }
    }

    /// Measures differences from here, or from the start of the step again.
    pub(super) fn toggle_base(&mut self) {
        let base = match self.travel.base {
            Some(_) => None,
            None => self.travel.stop,
        };
        self.measure_from(base);
    }

    fn measure_from(&mut self, base: Option<Stop>) {
        self.travel.base = base;
        self.diff.rewind();
        let words = match base {
            Some(base) => {
                let step = base.spot.step;
                format!("differences from step {step}; d: step by step again")
            }
            None => "differences step by step".to_owned(),
        };
        self.say(Tone::Plain, &words);
    }

    /// To the same step, as far as there is one, of the next branch.
    pub(super) fn next_branch(&mut self) {
        let Some((here, summary)) = self.travel.stop.zip(self.summary.get()) else {
            return;
        };
        let branches = &summary.branches;
        let index = branches.iter().position(|row| row.id == here.branch);
        let next = index.map_or(0, |index| (index + 1) % branches.len().max(1));
        let Some(next) = branches.get(next).filter(|_| branches.len() > 1) else {
            self.say(Tone::Plain, "the run has one branch");
            return;
        };
        let words = match next.parent {
            Some((_, step)) => format!("branch {}, which leaves after step {step}", next.name),
            None => format!("branch {}", next.name),
        };
        let jump = Jump::Step {
            branch: next.id,
            step: here.spot.step,
        };
        self.say(Tone::Plain, &words);
        self.depart(jump, Errand::Place);
    }

    /// Follows the run while it is written, or stops.
    pub(super) fn toggle_follow(&mut self) {
        if self.read_on() {
            return;
        }
        if self.travel.follow == Follow::Off {
            self.watch();
            self.travel.follow = Follow::Sticking;
            self.go_to_place(crate::model::Place::END, Errand::Follow);
            self.say(Tone::Plain, "following the run");
        } else {
            self.desk.ask(Job::Unwatch);
            self.travel.follow = Follow::Off;
            self.say(Tone::Plain, "not following any more");
        }
    }

    /// Has the file watched and read on.
    pub(in crate::tui) fn watch(&mut self) {
        self.desk.ask(Job::Watch);
        self.refresh();
    }

    /// Reads what was written since, unless that is being done.
    pub(super) fn refresh(&mut self) {
        if self.unread.is_some() {
            // Once the run is whole, what was written since is looked for anyway.
        } else if self.file.reading.is_some() || self.file.is_resting {
            self.file.is_due = true;
        } else {
            self.file.reading = Some(self.desk.ask(Job::Refresh));
        }
    }

    /// Another file stands where the tape was: nothing that is known holds any more.
    pub(super) fn start_over(&mut self) {
        self.summary.outdate();
        self.problems.outdate();
        self.left.clear();
        self.kept = None;
        self.notes = NotePad::default();
        self.timeline.rows.clear();
        self.timeline.strip.clear();
        self.timeline.agents.clear();
        self.timeline.forks.clear();
        self.timeline.folding.clear();
        self.state.tree.clear();
        self.state.conversation = ConversationPane::default();
        self.state.context.clear();
        self.state.context_run.clear();
        self.state.environment.clear();
        self.state.statistics.clear();
        if let Some(file) = &mut self.state.file {
            file.open.clear();
            if let Some(blame) = &mut file.blame {
                blame.told.clear();
            }
            file.painted.clear();
        }
        if let Some(against) = &mut self.against {
            against.alignment.clear();
        }
        self.diff.changes.clear();
        self.diff.diff.clear();
        self.diff.detail.clear();
        self.diff.like.clear();
        self.diff.request.clear();
        self.diff.raw.clear();
        self.drop_bisect();
        self.search = None;
        self.search_before = None;
        (self.fetch, self.naming) = (None, None);
        self.travel.forget_places();
        let step = match (self.travel.follow, self.travel.spot()) {
            (Follow::Sticking, _) | (_, None) => u32::MAX,
            (_, Some(spot)) => spot.step.0,
        };
        self.travel.stop = None;
        self.travel.arrival = Some(Arrival::Step(step));
    }
}
