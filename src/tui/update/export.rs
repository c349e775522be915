//! How a test case is made: what a failed call would leave in a directory is shown, a yes writes
//! it, and then it is said how it is run. Where as few files as possible are wanted, a yes looks
//! for them first, and what was left out is shown.

use std::path::PathBuf;
use std::sync::Arc;

use crate::debugger::{CaseFiles, Uncertain};
use crate::tui::action::ActionId;
use crate::tui::app::{App, Tone};
use crate::tui::effect::Effect;
use crate::tui::exporting::{BUDGETS, Exporting, Search, Stage, Wish, next_of};
use crate::tui::job::{ExportAnswer, ExportJob, Job, Keep};
use crate::tui::layout::scrolled;
use crate::tui::overlay::{Overlay, OverlaySort};
use crate::tui::prompt::{Prompt, Purpose};

impl App {
    /// Asks what a test case of the step at the playhead would hold.
    pub(super) fn begin_export(&mut self) {
        let Some(at) = self.travel.spot() else { return };
        if self.exporting.as_ref().is_some_and(Exporting::is_under_way) {
            self.show_export();
            return;
        }
        if self.is_reading() {
            self.say(
                Tone::Plain,
                "the run is still being read; a test case can be made when it is whole",
            );
            return;
        }
        let keep = Keep::Call(CaseFiles::default());
        let ticket = self.desk.ask(Job::Export(ExportJob::Prepare { at, keep }));
        self.exporting = Some(Exporting::new(at, ticket));
        self.show_export();
    }

    fn show_export(&mut self) {
        let sort = OverlaySort::Export;
        self.overlay = Some(Overlay { sort, top: 0 });
    }

    /// Whether the sheet about a test case lies over the panes.
    pub(in crate::tui) fn export_is_shown(&self) -> bool {
        let sort = self.overlay.map(|overlay| overlay.sort);
        self.exporting.is_some() && sort == Some(OverlaySort::Export)
    }

    /// What keys do to the sheet about a test case; whether this one did.
    pub(super) fn press_in_export(
        &mut self,
        action: Option<ActionId>,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if !self.export_is_shown() {
            return false;
        }
        let Some(exporting) = &self.exporting else {
            return false;
        };
        let is_asked = !exporting.wishes().is_empty();
        match (action, &exporting.stage) {
            (Some(ActionId::Confirm), Stage::Shown(_)) => self.agree_to_case(),
            (Some(ActionId::Down), _) if is_asked => self.choose_wish(1),
            (Some(ActionId::Up), _) if is_asked => self.choose_wish(-1),
            (Some(ActionId::NextPane | ActionId::StepForward | ActionId::Open), _) if is_asked => {
                self.change_wish(1);
            }
            (Some(ActionId::PreviousPane | ActionId::StepBack), _) if is_asked => {
                self.change_wish(-1);
            }
            (Some(ActionId::Copy), Stage::Written(done)) => {
                effects.push(Effect::Copy(vec![done.command()]));
                self.say(Tone::Plain, "copied the command");
            }
            (
                Some(failure @ (ActionId::NextFailure | ActionId::PreviousFailure)),
                Stage::None(_),
            ) => {
                self.drop_export();
                self.travel(failure, None);
            }
            (Some(ActionId::Close | ActionId::Back), Stage::Writing(..)) => {
                self.desk.ask(Job::Export(ExportJob::Stop));
            }
            (Some(ActionId::Close | ActionId::Back), Stage::Shrinking(_)) => self.end_search(),
            (Some(ActionId::Close | ActionId::Back), _) => self.drop_export(),
            // Nothing here leads anywhere, and the sheet is not lost by a key that means yes
            // elsewhere.
            (Some(ActionId::Open), _) => {}
            _ => return false,
        }
        true
    }

    fn drop_export(&mut self) {
        let exporting = self.exporting.take();
        if exporting.is_some_and(|exporting| exporting.is_waiting()) {
            self.desk.ask(Job::Export(ExportJob::Stop));
        }
        self.overlay = None;
    }

    /// To the next wish, or the one before, which comes into view; behind the last one, through
    /// what is said, and back.
    fn choose_wish(&mut self, delta: i64) {
        let top = self.overlay.map_or(0, |overlay| overlay.top);
        let chosen = self.sheet().and_then(|sheet| sheet.chosen);
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        let wishes = exporting.wishes();
        let end = if delta < 0 {
            wishes.first()
        } else {
            wishes.last()
        };
        let is_above = chosen.is_some_and(|chosen| chosen < top);
        if end == Some(&exporting.chosen) || delta < 0 && is_above {
            self.move_by(delta);
            return;
        }
        exporting.chosen = next_of(&wishes, exporting.chosen, delta);
        if let (Some(sheet), Some(overlay)) = (self.sheet(), self.overlay.as_mut()) {
            let height = usize::from(sheet.inside().height);
            overlay.top = scrolled(overlay.top, sheet.chosen, sheet.rows.len(), height);
        }
    }

    /// Changes the chosen wish.
    fn change_wish(&mut self, delta: i64) {
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        exporting.mistake = None;
        let kept = exporting.keep();
        match exporting.chosen {
            Wish::Form => exporting.form = next_of(exporting.forms(), exporting.form, delta),
            Wish::Files => {
                exporting.files = next_of(exporting.file_choices(), exporting.files, delta);
            }
            Wish::Check => {
                let mut prompt = Prompt::new(Purpose::Check);
                prompt.insert(exporting.check.as_deref().unwrap_or_default());
                self.prompt = Some(prompt);
            }
            Wish::Budget => exporting.budget = next_of(&BUDGETS, exporting.budget, delta),
            Wish::Directory => self.prompt = Some(Prompt::new(Purpose::Directory)),
            Wish::Uncertain => {
                exporting.uncertain = match exporting.uncertain {
                    Uncertain::Refused => Uncertain::Told,
                    Uncertain::Told => Uncertain::Refused,
                };
            }
        }
        self.prepare_unless(&kept);
    }

    /// Asks anew what would be kept, unless that is what was asked for.
    fn prepare_unless(&mut self, kept: &Keep) {
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        let (at, keep) = (exporting.at, exporting.keep());
        if keep != *kept {
            let job = Job::Export(ExportJob::Prepare { at, keep });
            exporting.stage = Stage::Preparing(self.desk.ask(job));
        }
    }

    /// It was typed what is to be so after the call; nothing: that it goes well.
    pub(super) fn export_with_check(&mut self, typed: &str) {
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        let kept = exporting.keep();
        exporting.mistake = None;
        exporting.check = (!typed.is_empty()).then(|| typed.to_owned());
        if !exporting.file_choices().contains(&exporting.files) {
            exporting.files = CaseFiles::default();
        }
        self.prepare_unless(&kept);
    }

    /// Another directory was typed.
    pub(super) fn export_into(&mut self, typed: &str) {
        if let Some(exporting) = &mut self.exporting {
            exporting.directory = Some(PathBuf::from(typed));
            exporting.mistake = None;
        }
    }

    /// A yes to what is shown: it is written, or its files are made fewer.
    fn agree_to_case(&mut self) {
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        let is_ready = exporting.is_ready();
        let Some(offered) = exporting.shown().cloned() else {
            return;
        };
        exporting.mistake = None;
        if !is_ready {
            exporting.chosen = Wish::Uncertain;
            let key = ActionId::Open.key();
            let words = format!("something is not known: {key} here has it written nonetheless");
            self.say(Tone::Warning, &words);
            return;
        }
        if exporting.shrinks() {
            let job = ExportJob::Shrink {
                offered: Arc::clone(&offered),
                budget: exporting.budget,
            };
            exporting.stage = Stage::Shrinking(Search {
                ticket: self.desk.ask(Job::Export(job)),
                offered,
                told: None,
                is_enough: false,
            });
            // What is said now begins above.
            self.show_export();
            return;
        }
        let job = ExportJob::Write {
            offered: Arc::clone(&offered),
            form: exporting.form,
            uncertain: exporting.uncertain,
            directory: exporting.directory(&offered).to_owned(),
        };
        exporting.stage = Stage::Writing(self.desk.ask(Job::Export(job)), offered, None);
    }

    /// The smallest set of files so far is enough; a second time, all of it is given up.
    fn end_search(&mut self) {
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        let Stage::Shrinking(search) = &mut exporting.stage else {
            return;
        };
        if search.is_enough {
            let offered = Arc::clone(&search.offered);
            exporting.stage = Stage::Shown(offered);
            self.desk.ask(Job::Export(ExportJob::Stop));
            self.show_export();
        } else {
            search.is_enough = true;
            self.desk.ask(Job::Export(ExportJob::Enough));
        }
    }

    /// What lies under a sheet that was closed: a question that nobody sees is none. What is
    /// being run or written goes on, and is told.
    pub(super) fn settle_export(&mut self) {
        if self.export_is_shown() {
            return;
        }
        let Some(exporting) = &self.exporting else {
            return;
        };
        if exporting.is_under_way() {
            return;
        }
        if exporting.is_waiting() {
            self.desk.ask(Job::Export(ExportJob::Stop));
        }
        self.exporting = None;
    }

    /// Takes an answer in that is about a test case.
    pub(super) fn take_export(&mut self, generation: u64, answer: ExportAnswer) {
        let Some(exporting) = &mut self.exporting else {
            return;
        };
        match (&mut exporting.stage, answer) {
            (Stage::Preparing(ticket), ExportAnswer::Prepared(answer))
                if ticket.is_for(generation) =>
            {
                exporting.stage = match answer {
                    Ok(offered) => Stage::Shown(offered),
                    Err(none) => Stage::None(none),
                };
                let wishes = exporting.wishes();
                if !wishes.contains(&exporting.chosen) {
                    exporting.chosen = wishes.first().copied().unwrap_or_default();
                }
            }
            (Stage::Shrinking(search), ExportAnswer::Shrinks(now))
                if search.ticket.is_for(generation) =>
            {
                search.told = Some(now);
            }
            (Stage::Shrinking(search), ExportAnswer::Shrunk(answer))
                if search.ticket.is_for(generation) =>
            {
                (exporting.stage, exporting.chosen) = match answer {
                    Ok(offered) => (Stage::Shown(offered), Wish::Directory),
                    Err(why) => {
                        exporting.mistake = Some(why);
                        (Stage::Shown(Arc::clone(&search.offered)), Wish::Files)
                    }
                };
                self.show_export();
            }
            (Stage::Writing(ticket, _, progress), ExportAnswer::Wrote(now))
                if ticket.is_for(generation) =>
            {
                *progress = Some(now);
            }
            (Stage::Writing(ticket, offered, _), ExportAnswer::Written(answer))
                if ticket.is_for(generation) =>
            {
                match answer {
                    Ok(done) => exporting.stage = Stage::Written(done),
                    Err(why) => {
                        exporting.stage = Stage::Shown(Arc::clone(offered));
                        exporting.mistake = Some(why);
                    }
                }
                self.show_export();
            }
            _ => {}
        }
    }
}
