//! Choosing another run: the list, its keys, and what becomes of the screen when it is open.

use crossterm::event::KeyCode;

use crate::debugger::RunRow;
use crate::tui::action::ActionId;
use crate::tui::app::{App, AppOptions, Extent, First, Tone};
use crate::tui::effect::Effect;
use crate::tui::fork_tree::OpeningRun;
use crate::tui::job::{Answered, Job, OpenedRun};
use crate::tui::key::Key;
use crate::tui::overlay::OverlaySort;
use crate::tui::picker::Picker;
use crate::tui::prompt::{Prompt, Purpose};

impl App {
    /// Lists the runs that can be opened.
    pub(in crate::tui) fn open_picker(&mut self) {
        self.play.stop();
        let listing = self.desk.ask(Job::Runs);
        self.picker = Some(Picker::new(listing));
    }

    /// Takes a key while the list is shown: what it does in a list, it does here; any other
    /// letter begins a filter.
    pub(super) fn press_in_picker(
        &mut self,
        key: Key,
        action: Option<ActionId>,
        effects: &mut Vec<Effect>,
    ) {
        if self.move_in_picker(action) {
            return;
        }
        match action {
            Some(ActionId::Open) => self.open_chosen_run(),
            Some(ActionId::Search) => self.prompt = Some(Prompt::new(Purpose::Runs)),
            Some(ActionId::Back | ActionId::Close) => self.close_picker(effects),
            Some(ActionId::Help) => self.toggle_overlay(OverlaySort::Help),
            Some(ActionId::Redraw) => effects.push(Effect::Redraw),
            _ => {
                if let Some(letter) = key.character().filter(|letter| *letter != ' ') {
                    let mut prompt = Prompt::new(Purpose::Runs);
                    prompt.insert(letter.encode_utf8(&mut [0; 4]));
                    self.prompt = Some(prompt);
                    self.filter_as_typed();
                }
            }
        }
    }

    /// Moves in the list by keys that mean nothing else while a filter is typed.
    pub(super) fn move_beside_filter(&mut self, action: Option<ActionId>, key: Key) -> bool {
        use KeyCode::{Down, PageDown, PageUp, Up};
        matches!(key.code(), Down | Up | PageDown | PageUp) && self.move_in_picker(action)
    }

    fn move_in_picker(&mut self, action: Option<ActionId>) -> bool {
        let page = i64::try_from(self.picker_height() / 2).unwrap_or(1).max(1);
        let delta = match action {
            Some(ActionId::Down) => 1,
            Some(ActionId::Up) => -1,
            Some(ActionId::PageDown) => page,
            Some(ActionId::PageUp) => -page,
            Some(ActionId::Top) => i64::MIN,
            Some(ActionId::Bottom) => i64::MAX,
            _ => return false,
        };
        self.choose_run_by(delta);
        true
    }

    /// Chooses the run so many rows further down.
    pub(super) fn choose_run_by(&mut self, delta: i64) {
        let height = self.picker_height();
        if let Some(picker) = &mut self.picker {
            picker.choose_by(delta, height);
        }
    }

    fn picker_height(&self) -> usize {
        let layout = self.layout();
        layout.map_or(0, |layout| usize::from(layout.picker().height))
    }

    /// Lists the runs that what is typed is found in.
    pub(super) fn filter_as_typed(&mut self) {
        let typed = self.prompt.as_ref().map(Prompt::text);
        self.filter_runs(&typed.unwrap_or_default());
    }

    pub(super) fn filter_runs(&mut self, filter: &str) {
        if let Some(picker) = &mut self.picker {
            picker.filter(filter);
        }
    }

    /// Opens the run that is chosen. The one that is open stays until that is done.
    pub(super) fn open_chosen_run(&mut self) {
        let Some(run) = self.picker.as_ref().and_then(Picker::chosen_run) else {
            return;
        };
        let (source, name) = (run.source.clone(), run.name.clone());
        self.prompt = None;
        self.open_run(source, name);
    }

    /// Gives up what is being opened, then the filter, then the list; where there is no run
    /// behind it, the program.
    fn close_picker(&mut self, effects: &mut Vec<Effect>) {
        let Some(picker) = &mut self.picker else {
            return;
        };
        if self.opening_run.take().is_some() {
            return;
        }
        if picker.is_filtered() {
            picker.filter("");
        } else if self.has_run {
            self.picker = None;
            self.desk.ask(Job::StopRuns);
        } else {
            self.leave(effects);
        }
    }

    pub(super) fn take_runs(&mut self, generation: u64, runs: Vec<RunRow>) {
        if let Some(picker) = &mut self.picker
            && picker
                .listing
                .is_some_and(|ticket| ticket.is_for(generation))
        {
            picker.take(runs);
        }
    }

    pub(super) fn take_all_runs(&mut self, generation: u64) {
        if let Some(picker) = &mut self.picker {
            picker.listing.take_if(|ticket| ticket.is_for(generation));
        }
    }

    /// Shows the run that was opened, as if the program had begun with it.
    pub(super) fn take_opened_run(
        &mut self,
        generation: u64,
        opened: Answered<OpenedRun>,
        effects: &mut Vec<Effect>,
    ) {
        let is_waited_for = |opening: &mut OpeningRun| opening.ticket.is_for(generation);
        let Some(opening) = self.opening_run.take_if(is_waited_for) else {
            return;
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(why) if self.fork_tree_is_shown() => {
                self.refuse_to_open(&opening.name, why);
                return;
            }
            Err(why) => {
                self.say(Tone::Error, why.as_str());
                return;
            }
        };
        let extent = opened.extent();
        effects.push(Effect::Show(opened));
        let fresh = Self::new(AppOptions {
            first: First::Run,
            mouse: self.mouse,
            keeping: self.keeping,
            ..AppOptions::default()
        });
        let before = std::mem::replace(self, fresh);
        // What was asked of the run before is answered to nobody.
        self.desk = before.desk;
        (self.size, self.theme) = (before.size, before.theme);
        self.command = before.command;
        self.came_from = opening.from;
        if extent == Extent::Begun {
            self.begin_opening();
        }
        if let Some(path) = opening.beside {
            self.hold_beside(path);
        }
    }
}
