//! Moves inside the panes and the overlays.

use std::collections::BTreeSet;

use crate::debugger::{AgentRow, NamedFile};
use crate::model::{EntryKind, TapePath};
use crate::tui::app::{App, Tone};
use crate::tui::difference::{Context, Form};
use crate::tui::job::Job;
use crate::tui::layout::Pane;
use crate::tui::panes::{
    BlameColumn, Blanks, FilePane, Fold, Grain, Sides, StateView, View, offset,
};
use crate::tui::reading::ReadingRow;

/// How far a key scrolls sideways, in columns.
const SIDEWAYS: i64 = 8;

/// Lines of a file that are shown above the one that is looked for.
const LINES_ABOVE: usize = 6;

/// Nobody reads further to the right.
const MAX_LEFT: i64 = 100_000;

impl App {
    /// Focuses a pane.
    pub(super) fn focus(&mut self, pane: Pane) {
        self.focus_before = self.focus;
        self.focus = pane;
    }

    /// Rows of content of what the keys act on.
    pub(super) fn focused_height(&self) -> usize {
        match self.sheet() {
            Some(sheet) => usize::from(sheet.inside().height),
            None => self.height_of(self.focus),
        }
    }

    /// Down by rows in what the keys act on; up when negative.
    pub(super) fn move_by(&mut self, delta: i64) {
        if self.decision_is_open() {
            self.choose_in_decision(delta);
            return;
        }
        if self.fork_tree_is_listed() {
            self.choose_in_fork_tree(delta);
            return;
        }
        if let Some(sheet) = self.sheet() {
            if let Some(overlay) = &mut self.overlay {
                let here = sheet.first_row(overlay.top);
                overlay.top = sheet.first_row(offset(here, delta));
            }
            return;
        }
        self.move_in(self.focus, delta);
    }

    /// Down by rows in a pane.
    pub(super) fn move_in(&mut self, pane: Pane, delta: i64) {
        let (height, form) = (self.height_of(pane), self.diff_form());
        match pane {
            Pane::Timeline => self.step_in_timeline(delta),
            Pane::State => match &mut self.state.file {
                Some(file) => file.scroll_by(delta, height),
                None => self.move_in_state(delta, height),
            },
            Pane::Diff => self.diff.scroll_by(delta, height, form),
        }
    }

    fn move_in_state(&mut self, delta: i64, height: usize) {
        match self.state.view {
            StateView::Files => self.state.select_by(delta, height),
            StateView::Conversation => {
                let here = self.travel.spot().map_or(0, |spot| spot.step.0);
                self.state.conversation.move_by(delta, here, height);
            }
            StateView::Context => self.state.choose_in_context(delta, height),
            StateView::Environment
            | StateView::Transaction
            | StateView::Effects
            | StateView::Numbers => {
                let columns = self.width_of(Pane::State);
                self.state.scroll_by(delta, height, columns);
            }
        }
    }

    fn step_in_timeline(&mut self, delta: i64) {
        use crate::tui::action::ActionId::{StepBack, StepForward};
        let action = if delta < 0 { StepBack } else { StepForward };
        let count = u32::try_from(delta.unsigned_abs()).unwrap_or(u32::MAX);
        self.travel(action, Some(count));
    }

    /// To the top; in the timeline, to the step that was counted.
    pub(super) fn move_to_top(&mut self, count: Option<u32>) {
        match (self.focus, self.overlay) {
            (Pane::Timeline, None) if self.rows_shown().is_some() && count.is_none() => {
                self.jump_to_row(1);
            }
            (Pane::Timeline, None) => {
                let first = self
                    .filtered(0)
                    .and_then(|(steps, _)| steps.first().copied());
                self.jump_to_step(count.or(first).unwrap_or(1));
            }
            _ => self.move_by(i64::MIN),
        }
    }

    /// To the bottom; in the timeline, to the step that was counted.
    pub(super) fn move_to_bottom(&mut self, count: Option<u32>) {
        match (self.focus, self.overlay) {
            (Pane::Timeline, None) if self.rows_shown().is_some() && count.is_none() => {
                self.jump_to_row(u32::MAX);
            }
            (Pane::Timeline, None) => {
                let last = self
                    .filtered(0)
                    .and_then(|(steps, _)| steps.last().copied());
                self.jump_to_step(count.or(last).unwrap_or(u32::MAX));
            }
            _ => self.move_by(i64::MAX),
        }
    }

    pub(super) fn jump_to_step(&mut self, step: u32) {
        self.travel.give_up();
        if let Some(here) = self.travel.stop
            && here.spot.step.0 != step.min(self.steps())
        {
            self.travel.keep(here);
        }
        self.step_to(step);
    }

    /// Reads on in long lines, or back.
    pub(super) fn scroll_sideways_in(&mut self, pane: Pane, delta: i64) {
        let left = match (pane, &mut self.state.file) {
            (Pane::State, Some(file)) => &mut file.left,
            (Pane::Diff, _) => &mut self.diff.left,
            _ => return,
        };
        let there = i64::try_from(*left).unwrap_or(0) + delta.saturating_mul(SIDEWAYS);
        *left = usize::try_from(there.clamp(0, MAX_LEFT)).unwrap_or(0);
    }

    /// Opens what is selected in the focused pane.
    pub(super) fn open_selected(&mut self) {
        if self.overlay.take().is_some() {
            return;
        }
        match self.focus {
            Pane::Timeline => match self.fold_here().map(|fold| fold.agent) {
                Some(agent) => self.toggle_fold(agent),
                None => self.focus(Pane::Diff),
            },
            Pane::State if self.chosen_line().is_some() => self.go_to_origin(),
            Pane::State if self.state.file.is_some() => self.focus(Pane::Diff),
            Pane::State => match self.state.view {
                StateView::Files => self.open_row(),
                StateView::Conversation => self.open_turn(),
                StateView::Context => self.open_context_row(),
                StateView::Environment
                | StateView::Transaction
                | StateView::Effects
                | StateView::Numbers => {
                    self.show_view(StateView::Files);
                }
            },
            Pane::Diff => {
                let (height, form) = (self.height_of(Pane::Diff), self.diff_form());
                match self.diff.marked_in_view(height, form) {
                    Some(fold) if self.shows_lines() => self.diff.open_fold(fold),
                    _ => self.open_change(),
                }
            }
        }
    }

    /// Opens the file whose difference is shown, where it is looked at.
    fn open_change(&mut self) {
        match self.diff.selected_change().map(|change| change.path) {
            Some(path) if self.diff.effective_view() == View::Files => {
                let line = self.line_in_view(&path);
                self.open_file(path);
                let is_near_the_top = line <= self.height_of(Pane::State) / 2;
                if let Some(file) = self.state.file.as_mut().filter(|_| !is_near_the_top) {
                    file.top = line.saturating_sub(LINES_ABOVE);
                }
            }
            _ => self.say(Tone::Plain, "no file changed here; 2 shows all files"),
        }
    }

    /// Goes to the step of the chosen turn; where the playhead is there already, shows the turn
    /// whole, or its first lines.
    pub(super) fn open_turn(&mut self) {
        let here = self.travel.spot().map_or(0, |spot| spot.step.0);
        match self.state.conversation.chosen(here) {
            chosen if chosen == here => self.state.conversation.toggle_whole(here),
            chosen => self.jump_to_step(chosen),
        }
    }

    /// Goes to the step that the chosen row of the context is about.
    pub(super) fn open_context_row(&mut self) {
        match self.state.context_row() {
            Some(ReadingRow::Lead(step, _)) => {
                let step = step.0;
                self.jump_to_step(step);
            }
            _ => self.say(Tone::Plain, "this row is about no step; j and k choose one"),
        }
    }

    fn open_row(&mut self) {
        let Some(row) = self.state.selected_row() else {
            return;
        };
        let path = row.path.clone();
        if row.kind == EntryKind::Directory {
            let fold = if row.is_expanded {
                Fold::Closed
            } else {
                Fold::Open
            };
            self.state.selected = Some(path.clone());
            self.state.fold(path, fold);
        } else {
            self.open_file(path);
        }
    }

    /// Opens a file over the tree.
    pub(super) fn open_file(&mut self, path: TapePath) {
        self.state.open_above(&path);
        self.state.selected = Some(path.clone());
        if self.diff.index_of(&path).is_some() {
            self.diff.selected = Some(path.clone());
        }
        self.state.file = Some(FilePane::new(path));
        self.focus(Pane::State);
    }

    /// Shows another of the changed files.
    pub(super) fn select_file(&mut self, delta: i64) {
        let before = self.diff.selected.clone();
        match self.diff.select_by(delta) {
            None => self.say(Tone::Plain, "no file changed here"),
            after if after == before => self.say(
                Tone::Plain,
                if delta > 0 {
                    "the last changed file"
                } else {
                    "the first changed file"
                },
            ),
            Some(path) => {
                self.diff.view = View::Files;
                if let Some(before) = &self.state.file {
                    let is_blamed = before.blame.is_some();
                    let mut file = FilePane::new(path.clone());
                    file.blame = is_blamed.then(BlameColumn::default);
                    self.state.file = Some(file);
                }
                self.state.selected = Some(path);
            }
        }
    }

    /// Sets the difference side by side where there is room, or never.
    pub(super) fn toggle_sides(&mut self) {
        self.diff.sides = match self.diff.sides {
            Sides::Beside => Sides::Below,
            Sides::Below => Sides::Beside,
        };
        self.diff.view = View::Files;
        if self.diff.sides == Sides::Beside && self.diff_form() == Form::Unified {
            self.say(
                Tone::Plain,
                "side by side where the pane is wide enough; 3 z makes it so",
            );
        }
    }

    /// Whether the diff pane shows a difference line by line.
    pub(super) fn shows_lines(&self) -> bool {
        self.diff.effective_view() == View::Files && self.diff.paths().is_none()
    }

    /// Shows more of what did not change: ten lines around each change, all, three again.
    pub(super) fn widen_context(&mut self) {
        self.diff.view = View::Files;
        self.diff.grain = Grain::Lines;
        let (height, form) = (self.height_of(Pane::Diff), self.diff_form());
        self.diff.widen(height, form);
        let words = match self.diff.context {
            Context::Few => "three lines around each change",
            Context::More => "ten lines around each change",
            Context::All => "the whole file",
        };
        self.say(Tone::Plain, words);
    }

    /// Goes from change to change of the file.
    pub(super) fn go_to_change(&mut self, delta: i64) {
        self.diff.view = View::Files;
        self.diff.grain = Grain::Lines;
        let (height, form) = (self.height_of(Pane::Diff), self.diff_form());
        if !self.diff.go_to_change(delta, height, form) {
            let words = if delta > 0 {
                "the last change of this file; J goes to the next file"
            } else {
                "the first change of this file; K goes to the file before"
            };
            self.say(Tone::Plain, words);
        }
        self.focus(Pane::Diff);
    }

    /// Tells the difference of two JSON files by paths, or by lines again; and where a step is
    /// read, holds it against the last one like it.
    pub(super) fn toggle_grain(&mut self) {
        self.diff.grain = match self.diff.grain {
            Grain::Lines => Grain::Paths,
            Grain::Paths => Grain::Lines,
        };
        self.diff.view = match self.diff.effective_view() {
            View::Step | View::Event => View::Step,
            View::Files | View::Both | View::Request => View::Files,
        };
        self.diff.rewind();
    }

    /// Makes blanks and line ends of a difference seen, or not.
    pub(super) fn toggle_blanks(&mut self) {
        self.diff.blanks = match self.diff.blanks {
            Blanks::Plain => Blanks::Seen,
            Blanks::Seen => Blanks::Plain,
        };
        self.diff.view = View::Files;
    }

    /// The next view of the state pane.
    pub(super) fn next_state_view(&mut self) {
        self.show_view(self.state_view_after());
    }

    /// Shows a view of the state pane. What is still counted for nobody is given up.
    fn show_view(&mut self, view: StateView) {
        self.state.file = None;
        self.state.view = view;
        (self.state.view_top, self.state.context_here) = (0, 0);
        if view == StateView::Transaction {
            // What has become of it stands on no tape.
            self.state.transaction.outdate();
            self.standing.outdate();
        }
        if view != StateView::Numbers && self.state.statistics.is_waiting() {
            self.state.statistics.outdate();
            self.desk.ask(Job::StopStatistics);
        }
        if view != StateView::Context && self.state.context_run.is_waiting() {
            self.state.context_run.outdate();
            self.desk.ask(Job::StopContextRun);
        }
        self.focus(Pane::State);
    }

    /// Opens the file that a step is most likely about; if it is open, the next one.
    pub(super) fn open_named(&mut self, files: &[NamedFile]) {
        let open = self.state.file.as_ref().map(|file| &file.path);
        let open = files.iter().position(|file| Some(&file.path) == open);
        let index = open.map_or(0, |open| (open + 1) % files.len());
        let Some(NamedFile { path, line }) = files.get(index).cloned() else {
            self.say(
                Tone::Plain,
                "no file is named here, and none was changed before",
            );
            return;
        };
        if files.len() > 1 {
            let (number, count) = (index + 1, files.len());
            self.say(
                Tone::Plain,
                &format!("file {number} of {count} that the step may be about; i: the next one"),
            );
        }
        self.open_file(path);
        let line = line.and_then(|line| usize::try_from(line).ok());
        if let (Some(file), Some(line)) = (&mut self.state.file, line) {
            file.top = line.saturating_sub(LINES_ABOVE);
        }
    }

    /// Looks for the files that the step may be about.
    pub(super) fn seek_named(&mut self) {
        if let Some(at) = self.travel.spot() {
            self.naming = Some(self.desk.ask(Job::FilesOfStep { at }));
        }
    }

    /// Folds the sub-agent of the step, or unfolds it.
    pub(super) fn toggle_fold_here(&mut self) {
        let here = self.travel.spot().map_or(0, |spot| spot.step.0);
        let fold = self.fold_here().map(|fold| fold.agent);
        let agents = self.timeline.agents.get().map_or(&[][..], Vec::as_slice);
        let is_in = |agent: &&AgentRow| {
            let after = agent.stretches.partition_point(|stretch| stretch.0 <= here);
            let stretch = after.checked_sub(1).and_then(|at| agent.stretches.get(at));
            stretch.is_some_and(|stretch| here <= stretch.1)
        };
        let starts = |agent: &&AgentRow| agent.call.is_some_and(|call| call.0 == here);
        let own = agents.iter().find(starts).or(agents.iter().find(is_in));
        match fold.or(own.map(|agent| agent.id)) {
            Some(agent) => self.toggle_fold(agent),
            None => self.say(Tone::Plain, "no sub-agent at this step"),
        }
    }

    pub(super) fn toggle_fold(&mut self, agent: u16) {
        let agents = self.timeline.agents.get().map_or(&[][..], Vec::as_slice);
        self.timeline.folding.toggle(agent, agents);
    }

    /// Folds all sub-agents; if they are, unfolds them.
    pub(super) fn toggle_all_folds(&mut self) {
        let agents = self.timeline.agents.get().map_or(&[][..], Vec::as_slice);
        if agents.is_empty() {
            self.say(Tone::Plain, "no sub-agent on this branch");
            return;
        }
        let all: BTreeSet<u16> = agents.iter().map(|agent| agent.id).collect();
        let folded = if self.timeline.folding.has_folded(&all) {
            BTreeSet::new()
        } else {
            all
        };
        self.timeline.folding.fold_only(folded, agents);
    }

    /// The next view of the diff pane.
    pub(super) fn next_view(&mut self) {
        // Where a view has nothing to show, another one stands in its place already.
        let before = self.diff.effective_view();
        let first = self.diff.view;
        self.diff.view = first.next();
        while self.diff.effective_view() == before && self.diff.view != first {
            self.diff.view = self.diff.view.next();
        }
        self.diff.rewind();
    }
}
