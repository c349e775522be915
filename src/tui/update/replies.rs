//! What answers do to the screen.

use crate::debugger::{Refresh, Spot};
use crate::model::Place;
use crate::tui::app::{App, Tone};
use crate::tui::effect::Effect;
use crate::tui::job::{Answer, Answered, Reply, Stop};
use crate::tui::layout::Pane;
use crate::tui::panes::Grain;
use crate::tui::travel::{Errand, Follow, UnderWay};

impl App {
    /// Takes an answer in, if somebody still waits for it.
    pub(super) fn take_reply(&mut self, reply: Reply, effects: &mut Vec<Effect>) {
        let generation = reply.generation;
        match reply.answer {
            Answer::Refreshed(refreshed) => self.take_refresh(refreshed),
            Answer::RightRefreshed(refreshed) => self.take_right_refresh(refreshed),
            Answer::Read(reading) => self.take_reading(generation, reading),
            Answer::Summary(summary) => {
                if self.summary.take(generation, *summary)
                    && let Some(summary) = self.summary.get()
                {
                    self.timeline.set_branches(summary);
                }
            }
            Answer::Agents(agents) => {
                if self.timeline.agents.take(generation, agents)
                    && let Some(agents) = self.timeline.agents.get()
                {
                    self.timeline.folding.set_agents(agents);
                }
            }
            Answer::FilesOfStep(files) => {
                if self.naming.is_some_and(|ticket| ticket.is_for(generation)) {
                    self.naming = None;
                    self.open_named(&files);
                }
            }
            Answer::Conversation(turns) => {
                self.state.conversation.turns.take(generation, turns);
            }
            Answer::Context(rows) => {
                self.state.context.take(generation, rows);
            }
            Answer::ContextRun(run) => {
                self.state.context_run.take(generation, run);
            }
            Answer::Environment(rows) => {
                self.state.environment.take(generation, rows);
            }
            Answer::Effects(rows) => {
                self.state.effects.take(generation, rows);
            }
            Answer::Transaction(answer) => self.take_transaction(generation, answer),
            Answer::Fork(answer) => self.take_fork(generation, answer),
            Answer::Export(answer) => self.take_export(generation, answer),
            Answer::ForkTree(answer) => self.take_fork_tree(generation, answer),
            Answer::Problems(problems) => {
                self.problems.take(generation, problems);
            }
            Answer::Left(left) => self.take_left(generation, *left),
            Answer::NotKept(why) => self.take_not_kept(&why),
            Answer::Runs(rows) => self.take_runs(generation, rows),
            Answer::AllRuns => self.take_all_runs(generation),
            Answer::OpenedRun(opened) => self.take_opened_run(generation, opened, effects),
            Answer::Jump(answer) => self.take_jump(generation, answer, effects),
            Answer::Timeline(rows) => {
                let was_at_end = self.step_end() == self.travel.spot();
                if self.timeline.rows.take(generation, rows) {
                    self.stay_in_the_step(was_at_end);
                }
            }
            Answer::Strip(cells) => {
                self.timeline.strip.take(generation, cells);
            }
            Answer::Changes(changes) => {
                if self.diff.changes.take(generation, changes) {
                    self.choose_files();
                }
            }
            Answer::Tree(rows) => {
                if self.state.tree.take(generation, rows) {
                    self.state.open_only_directory();
                }
            }
            Answer::File(file) => {
                if let Some(pane) = &mut self.state.file {
                    pane.take(generation, file);
                }
            }
            Answer::Bisect(step) => self.take_bisect(generation, &step),
            Answer::Blame(told) => self.take_blame(generation, told),
            Answer::Fetched(file) => {
                if self.fetch.is_some_and(|ticket| ticket.is_for(generation)) {
                    self.fetch = None;
                    self.take_fetched(file, effects);
                }
            }
            Answer::Diff(diff) => {
                self.diff.take(generation, diff);
            }
            Answer::DiffByPath(rows) => {
                let is_json = rows.is_some();
                if self.diff.by_path.take(generation, rows) && !is_json {
                    self.diff.grain = Grain::Lines;
                    self.say(
                        Tone::Plain,
                        "not JSON on both sides, or too large: shown line by line",
                    );
                }
            }
            Answer::Like(rows) => {
                self.diff.like.take(generation, rows);
            }
            Answer::Request(request) => {
                self.diff.request.take(generation, request);
            }
            Answer::PaintedDiff(painted) => {
                self.diff.painted.take(generation, painted);
            }
            Answer::Statistics(statistics) => {
                self.state.statistics.take(generation, statistics);
            }
            Answer::Detail(detail) => {
                self.diff.detail.take(generation, detail);
            }
            Answer::Raw(raw) => {
                self.diff.raw.take(generation, raw);
            }
            Answer::Painted(painted) => {
                if let Some(pane) = &mut self.state.file {
                    pane.painted.take(generation, painted);
                }
            }
            Answer::RightOpened(answer) => self.take_right(generation, answer),
            Answer::RightSummary(summary) => {
                if let Some(against) = &mut self.against {
                    against.summary.take(generation, *summary);
                }
            }
            Answer::Aligned(alignment) => self.take_alignment(generation, alignment),
            Answer::RightTimeline(rows) => {
                if let Some(against) = &mut self.against {
                    against.rows.take(generation, rows);
                }
            }
            Answer::Hits { hits, progress } => self.take_hits(generation, hits, progress),
        }
    }

    fn take_jump(
        &mut self,
        generation: u64,
        answer: Answered<Option<Stop>>,
        effects: &mut Vec<Effect>,
    ) {
        let is_waited_for = |way: &mut UnderWay| way.ticket.is_for(generation);
        let Some(way) = self.travel.under_way.take_if(is_waited_for) else {
            return;
        };
        match answer {
            Ok(stop) => self.land(way.errand, stop),
            Err(why) => {
                self.say(Tone::Error, &why.to_string());
                // A place that is not there is no reason to show nothing.
                if way.errand == Errand::Arrive {
                    self.go_to_place(Place::END, Errand::Follow);
                }
            }
        }
        while self.travel.under_way.is_none()
            && let Some((action, count)) = self.travel.queue.pop_front()
        {
            self.perform(action, count, effects);
        }
    }

    /// The end of the step the playhead is in, if it is known.
    fn step_end(&self) -> Option<Spot> {
        self.current_row().map(|row| row.spot)
    }

    /// The end of a step moves while the step is written: who stood there goes with it.
    fn stay_in_the_step(&mut self, was_at_end: bool) {
        let Some(end) = self.step_end() else {
            return;
        };
        if let Some(stop) = &mut self.travel.stop {
            if was_at_end {
                stop.spot = end;
            }
            self.travel.is_inside = stop.spot != end;
        }
    }

    /// Chooses which of the changed files is shown, and shows where they are in the tree:
    /// the one that was looked at before, else the first. The selection of the pane that a
    /// person is in stays where it is.
    fn choose_files(&mut self) {
        let Some(files) = self.diff.changes.get().map(|changes| &*changes.list) else {
            return;
        };
        let open = self.state.file.as_ref().map(|file| &file.path);
        let kept = [
            open,
            self.state.selected.as_ref(),
            self.diff.selected.as_ref(),
        ]
        .into_iter()
        .flatten()
        .find(|path| files.index_of(path).is_some());
        let chosen = kept.cloned().or_else(|| Some(files.get(0)?.path));
        self.state.open_around(files);
        if let Some(chosen) = &chosen {
            self.state.open_above(chosen);
        }
        let is_in_hand = self.focus == Pane::State && self.state.selected.is_some();
        if !is_in_hand && chosen.is_some() {
            self.state.selected.clone_from(&chosen);
        }
        self.diff.selected = chosen;
    }

    fn take_refresh(&mut self, refreshed: Answered<Refresh>) {
        self.file.reading = None;
        self.file.is_resting = true;
        match refreshed {
            Err(why) => self.say(Tone::Error, &why.to_string()),
            Ok(Refresh::Unchanged) => {}
            Ok(Refresh::Grew { events }) => {
                self.file.is_gone = false;
                self.outdate();
                let is_free = |way: &UnderWay| way.errand == Errand::Follow;
                // Nothing new is no reason to leave the branch that was gone to.
                if events > 0
                    && self.travel.follow == Follow::Sticking
                    && self.travel.under_way.as_ref().is_none_or(is_free)
                {
                    self.go_to_place(Place::END, Errand::Follow);
                }
            }
            Ok(Refresh::Truncated) => {
                self.start_over();
                self.say(
                    Tone::Warning,
                    "the file was truncated; this is what it holds now",
                );
            }
            Ok(Refresh::Replaced) => {
                self.start_over();
                self.say(Tone::Warning, "the file was replaced; this is the new one");
            }
            Ok(Refresh::Gone) => {
                self.file.is_gone = true;
                self.say(
                    Tone::Warning,
                    "the file is gone; what was read of it stays readable",
                );
            }
            Ok(Refresh::Back) => {
                self.file.is_gone = false;
                self.start_over();
                self.say(Tone::Plain, "the file is there again");
            }
        }
    }

    /// The run grew. What is shown stays in view and is asked anew: what came may have
    /// told more of what was there.
    pub(super) fn outdate(&mut self) {
        self.summary.outdate();
        self.problems.outdate();
        self.timeline.rows.outdate();
        self.timeline.strip.outdate();
        self.timeline.agents.outdate();
        self.state.tree.outdate();
        self.state.conversation.turns.outdate();
        self.state.context.outdate();
        self.state.context_run.outdate();
        self.state.environment.outdate();
        self.state.transaction.outdate();
        self.state.effects.outdate();
        self.standing.outdate();
        self.state.statistics.outdate();
        if let Some(file) = &mut self.state.file {
            file.open.outdate();
            if let Some(blame) = &mut file.blame {
                blame.told.outdate();
            }
        }
        if let Some(against) = &mut self.against {
            against.outdate();
        }
        self.diff.changes.outdate();
        self.diff.diff.outdate();
        self.diff.detail.outdate();
        self.diff.like.outdate();
        self.diff.request.outdate();
        self.diff.raw.outdate();
    }
}
