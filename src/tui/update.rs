//! What events do to the screen.
//!
//! An event changes the state; then every part says what it wants to know, and what is not
//! known is asked. Nothing here does I/O or reads a clock.

mod against;
mod bisect;
mod blame;
mod command;
mod export;
mod files;
mod fork;
mod fork_tree;
mod left;
mod mouse;
mod opening;
mod panes;
mod picker;
mod play;
mod replies;
mod search;
mod transaction;
mod travel;

use crossterm::event::{KeyEvent, KeyEventKind};

use super::action::ActionId;
use super::app::{App, Tone};
use super::effect::Effect;
use super::event::Event;
use super::job::Job;
use super::key::Key;
use super::keymap::{Pending, Typed};
use super::layout::{Pane, Zoom};
use super::overlay::{Overlay, OverlaySort};
use super::palette::{Choice, choices};
use super::prompt::{Edited, Prompt, Purpose};
use super::terminal::Mouse;
use super::travel::Errand;
use crate::debugger::{Direction, TransactionEnd};
use crate::model::Place;

impl App {
    /// Takes an event in, and says what is to be done about it. No I/O, no clock.
    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Key(key) => self.press(key, &mut effects),
            Event::Paste(text) if self.paste_into_draft(&text) => {}
            Event::TextEdited(text) => self.take_edited_text(&text),
            Event::Paste(text) => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.insert(&text);
                    match prompt.purpose {
                        Purpose::Search => self.search_as_typed(),
                        Purpose::Runs => self.filter_as_typed(),
                        _ => {}
                    }
                }
            }
            Event::Resize { columns, rows } => {
                (self.size.width, self.size.height) = (columns, rows);
            }
            Event::Reply(reply) => self.take_reply(reply, &mut effects),
            Event::WorkerFailed(message) => effects.push(Effect::Fail(message)),
            Event::EffectFailed(reason) => self.say(Tone::Error, reason.as_str()),
            Event::CommandEnded(end) => self.end_command(end),
            Event::TapeMayHaveChanged => self.refresh(),
            Event::Tick => {
                self.desk.tick();
                self.play_on();
                self.file.is_resting = false;
                if std::mem::take(&mut self.file.is_due) {
                    self.refresh();
                }
            }
            Event::Mouse(event) => self.take_mouse(event, &mut effects),
            // Whoever was elsewhere may have made forks there.
            Event::FocusGained => self.outdate_fork_points(),
            Event::FocusLost | Event::Closing => self.keep(),
        }
        self.settle_fork();
        self.settle_export();
        self.settle_fork_tree();
        self.demand();
        effects.extend(self.take_requests());
        effects
    }

    /// A press and a repeat are one move each; a release is none.
    fn press(&mut self, event: KeyEvent, effects: &mut Vec<Effect>) {
        if event.kind == KeyEventKind::Release {
            return;
        }
        self.message = None;
        if let Some(command) = &mut self.command {
            command.hear_key();
        }
        let key = Key::from(event);
        let action = self.keymap.action(key);
        let is_for_all = matches!(action, Some(ActionId::Quit | ActionId::Suspend));
        if !is_for_all && self.press_in_draft(key, effects) {
            return;
        }
        if let Some(prompt) = self.prompt.as_mut().filter(|_| !is_for_all) {
            let purpose = prompt.purpose;
            if purpose == Purpose::Runs && self.move_beside_filter(action, key) {
                return;
            }
            let Some(prompt) = &mut self.prompt else {
                return;
            };
            match (prompt.press(key), purpose) {
                (Edited::Open, Purpose::Search) => self.search_as_typed(),
                (Edited::Open, Purpose::Runs) => self.filter_as_typed(),
                (Edited::Open, _) => self.choose_within(),
                (Edited::Cancelled, _) => {
                    self.prompt = None;
                    match purpose {
                        Purpose::Search => self.give_up_typed_search(),
                        Purpose::Runs => self.filter_runs(""),
                        _ => {}
                    }
                }
                (Edited::Entered, _) => self.enter(effects),
            }
            return;
        }
        if self.picker.is_some() && self.overlay.is_none() && !is_for_all {
            self.press_in_picker(key, action, effects);
            return;
        }
        if self.pending == Pending::Nothing
            && (self.press_in_decision(action)
                || self.press_in_fork(action)
                || self.press_in_export(action, effects)
                || self.press_in_fork_tree(key, action))
        {
            return;
        }
        match self.keymap.press(&mut self.pending, key) {
            Typed::Action(action, _) if self.overlay.is_some() && !reaches_overlay(action) => {}
            // Nor does an overlay let a key through that waits for another one.
            Typed::More | Typed::NotAPane if self.overlay.is_some() => {
                if let Pending::Letter(_) = self.pending {
                    self.pending = Pending::default();
                }
            }
            Typed::Action(action, count) => self.perform(action, count, effects),
            Typed::Letter(ActionId::SetMark, letter) => self.set_mark(letter),
            Typed::Letter(_, letter) => self.go_to_mark(letter),
            Typed::NotAPane => self.focus = self.focus_before,
            Typed::More | Typed::Cancelled | Typed::Nothing => {}
        }
    }

    /// Does an action. This is the other half of the table in `action`.
    pub(super) fn perform(
        &mut self,
        action: ActionId,
        count: Option<u32>,
        effects: &mut Vec<Effect>,
    ) {
        let times = count.unwrap_or(1);
        let delta = i64::from(times);
        let half = i64::try_from(self.focused_height() / 2).unwrap_or(1).max(1);
        match action {
            ActionId::StepBack
            | ActionId::StepForward
            | ActionId::EventBack
            | ActionId::EventForward
            | ActionId::NextFailure
            | ActionId::PreviousFailure
            | ActionId::PreviousVersion
            | ActionId::NextVersion
            | ActionId::PreviousEdge
            | ActionId::NextEdge => self.travel(action, count),
            ActionId::NextDifference => self.next_difference(Direction::Forward, times),
            ActionId::PreviousDifference => self.next_difference(Direction::Back, times),
            ActionId::Against => self.toggle_against(),
            ActionId::Palette => self.prompt = Some(Prompt::new(Purpose::Palette)),
            ActionId::Play => self.toggle_play(),
            ActionId::Faster => self.change_speed(delta),
            ActionId::Slower => self.change_speed(-delta),
            ActionId::JumpBack => self.jump_back(times),
            ActionId::NextBranch if self.is_at_a_file() => self.toggle_blame(),
            ActionId::NextBranch => self.next_branch(),
            ActionId::Blame => self.toggle_blame(),
            ActionId::Follow => self.toggle_follow(),
            // These wait for a letter, and come with it.
            ActionId::SetMark | ActionId::GoToMark => self.pending = Pending::Letter(action),
            ActionId::Annotate => self.annotate(),
            ActionId::NextNote => self.next_note(),
            ActionId::DiffFromHere | ActionId::DiffFrom if self.against.is_some() => {
                self.say(
                    Tone::Plain,
                    "files are held against the other run; A leaves it",
                );
            }
            ActionId::DiffFromHere => self.toggle_base(),
            ActionId::DiffFrom => self.prompt = Some(Prompt::new(Purpose::DiffFrom)),
            ActionId::Open => self.open_selected(),
            ActionId::OpenNamed => self.seek_named(),
            ActionId::Fold => self.toggle_fold_here(),
            ActionId::FoldAll => self.toggle_all_folds(),
            ActionId::NextFile => self.select_file(delta),
            ActionId::PreviousFile => self.select_file(-delta),
            ActionId::NextView => self.next_view(),
            ActionId::NextStateView => self.next_state_view(),
            ActionId::Sides => self.toggle_sides(),
            ActionId::Context => self.widen_context(),
            ActionId::NextChange => self.go_to_change(delta),
            ActionId::PreviousChange => self.go_to_change(-delta),
            ActionId::ByPath => self.toggle_grain(),
            ActionId::Blanks => self.toggle_blanks(),
            ActionId::NextPane => self.focus(self.focus.next()),
            ActionId::PreviousPane => self.focus(self.focus.previous()),
            ActionId::TimelinePane => self.focus(Pane::Timeline),
            ActionId::StatePane => self.focus(Pane::State),
            ActionId::DiffPane => self.focus(Pane::Diff),
            ActionId::Zoom => {
                self.zoom = match self.zoom {
                    Zoom::Out => Zoom::In,
                    Zoom::In => Zoom::Out,
                };
            }
            ActionId::Down => self.move_by(delta),
            ActionId::Up => self.move_by(-delta),
            ActionId::PageDown => self.move_by(half * delta),
            ActionId::PageUp => self.move_by(-half * delta),
            ActionId::Top => self.move_to_top(count),
            ActionId::Bottom => self.move_to_bottom(count),
            ActionId::ScrollLeft => self.scroll_sideways_in(self.focus, -delta),
            ActionId::ScrollRight => self.scroll_sideways_in(self.focus, delta),
            ActionId::Commit => self.decide(TransactionEnd::Commit),
            ActionId::RollBack => self.decide(TransactionEnd::RollBack),
            ActionId::Confirm => self.confirm(),
            ActionId::Fork => self.begin_fork(),
            ActionId::Export => self.begin_export(),
            ActionId::ForkTree => self.toggle_fork_tree(),
            ActionId::Search => self.begin_search(),
            ActionId::Bisect => self.begin_bisect(),
            ActionId::OnlyHits => self.toggle_filter(),
            ActionId::NextHit => self.next_hit(Direction::Forward, times),
            ActionId::PreviousHit => self.next_hit(Direction::Back, times),
            ActionId::OpenInEditor => self.open_in_editor(effects),
            ActionId::Copy => self.copy(effects),
            ActionId::Notices => self.toggle_overlay(OverlaySort::Notices),
            ActionId::Help => self.toggle_overlay(OverlaySort::Help),
            ActionId::Back => {
                self.back_out();
            }
            ActionId::Close => self.close(effects),
            ActionId::OtherRun => self.open_picker(),
            ActionId::Mouse => self.toggle_mouse(effects),
            ActionId::Redraw => effects.push(Effect::Redraw),
            ActionId::Suspend => effects.push(Effect::Suspend),
            ActionId::Quit => self.quit(effects),
        }
    }

    fn toggle_overlay(&mut self, sort: OverlaySort) {
        let is_open = self.overlay.is_some_and(|overlay| overlay.sort == sort);
        self.overlay = (!is_open).then_some(Overlay { sort, top: 0 });
    }

    fn toggle_mouse(&mut self, effects: &mut Vec<Effect>) {
        let (mouse, words) = match self.mouse {
            Mouse::On => (Mouse::Off, "the mouse is the terminal's: it selects text"),
            Mouse::Off => (Mouse::On, "the mouse focuses, chooses and scrolls"),
        };
        self.mouse = mouse;
        self.drag = None;
        effects.push(Effect::Mouse(mouse));
        self.say(Tone::Plain, words);
    }

    /// Closes the top layer; without one, the program.
    fn close(&mut self, effects: &mut Vec<Effect>) {
        if !self.close_layer() {
            self.leave(effects);
        }
    }

    /// Whether something lies over the plain screen.
    pub(super) fn has_layer(&self) -> bool {
        self.overlay.is_some() || self.state.file.is_some() || self.zoom == Zoom::In
    }

    fn close_layer(&mut self) -> bool {
        if self.overlay.take().is_some() || self.state.file.take().is_some() {
            return true;
        }
        std::mem::take(&mut self.zoom) == Zoom::In
    }

    /// Gives up one thing, the latest first. Never the program, and nothing that is not
    /// made again by a key.
    fn back_out(&mut self) {
        if self.overlay.take().is_some() {
            return;
        }
        if self.travel.under_way.is_some() {
            self.travel.give_up();
            return;
        }
        if self.play.stop() {
            return;
        }
        if self.is_comparing() {
            self.diff.diff.give_up();
            self.desk.ask(Job::StopDiff);
            return;
        }
        if self.bisecting.is_some() {
            self.drop_bisect();
            return;
        }
        if self.search.is_some() {
            self.drop_search();
            return;
        }
        if !self.close_layer() && !self.stop_reading() {
            self.travel.base = None;
        }
    }

    /// There is no further choice than the last one.
    fn choose_within(&mut self) {
        let choices = self.choices().len();
        if let Some(prompt) = &mut self.prompt {
            prompt.chosen = prompt.chosen.min(choices.saturating_sub(1));
        }
    }

    /// What the prompt offers for what is typed, the best first.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let prompt = self.prompt.as_ref();
        let prompt = prompt.filter(|prompt| prompt.purpose == Purpose::Palette);
        prompt.map_or(Vec::new(), |prompt| choices(&prompt.text()))
    }

    /// Takes what was typed into the prompt.
    fn enter(&mut self, effects: &mut Vec<Effect>) {
        let choices = self.choices();
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        let typed = prompt.text();
        let text = typed.trim();
        if text.is_empty()
            && !matches!(
                prompt.purpose,
                Purpose::Note | Purpose::Runs | Purpose::Check
            )
        {
            if prompt.purpose == Purpose::Search {
                self.give_up_typed_search();
            }
            return;
        }
        match prompt.purpose {
            Purpose::Note => self.write_note(&typed),
            Purpose::Runs => self.open_chosen_run(),
            Purpose::Search => self.enter_search(text),
            Purpose::Against => self.open_against(text),
            Purpose::Bisect => self.bisect(text),
            Purpose::Script => self.read_script(text),
            Purpose::Directory => self.export_into(text),
            Purpose::Check => self.export_with_check(text),
            Purpose::RenameFork => self.rename_fork(text),
            Purpose::Palette => match choices.into_iter().nth(prompt.chosen) {
                Some(Choice::Place(place)) => self.go_to_place(place, Errand::Place),
                Some(Choice::Action(offer)) => self.perform(offer.action.id, None, effects),
                None => self.say(
                    Tone::Error,
                    &format!("no action and no place is called `{text}`"),
                ),
            },
            Purpose::DiffFrom => match text.parse::<Place>() {
                Ok(place) => self.go_to_place(place, Errand::Base),
                Err(error) => self.say(Tone::Error, &error.to_string()),
            },
        }
    }
}

/// Whether an action does something while an overlay is open.
fn reaches_overlay(action: ActionId) -> bool {
    matches!(
        action,
        ActionId::Down
            | ActionId::Up
            | ActionId::PageDown
            | ActionId::PageUp
            | ActionId::Top
            | ActionId::Bottom
            | ActionId::Open
            | ActionId::Confirm
            | ActionId::Help
            | ActionId::ForkTree
            | ActionId::Notices
            | ActionId::Back
            | ActionId::Close
            | ActionId::Redraw
            | ActionId::Suspend
            | ActionId::Quit
    )
}
