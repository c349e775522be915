//! How a fork is made: what a step gave is altered, what would follow is shown, a yes makes it,
//! and then it stands beside the run.

use std::path::PathBuf;
use std::sync::Arc;

use crate::debugger::{Editable, ForkThen, Script};
use crate::tui::action::ActionId;
use crate::tui::against::Against;
use crate::tui::app::{App, Tone};
use crate::tui::draft::Draft;
use crate::tui::effect::Effect;
use crate::tui::forking::{Forking, Stage};
use crate::tui::held::Ticket;
use crate::tui::job::{
    Answered, ForkAnswer, ForkJob, ForkMade, ForkUnmade, ForkUnread, Job, PlannedFork,
};
use crate::tui::key::Key;
use crate::tui::overlay::{Overlay, OverlaySort};
use crate::tui::prompt::{Prompt, Purpose};

impl App {
    /// Opens what the step gave, to be altered.
    pub(super) fn begin_fork(&mut self) {
        let Some(at) = self.travel.spot() else { return };
        if let Some(Forking {
            stage: Stage::Running(..),
            ..
        }) = self.forking
        {
            self.show_fork();
            return;
        }
        if self.is_reading() {
            self.say(
                Tone::Plain,
                "the run is still being read; it can be forked when it is whole",
            );
            return;
        }
        self.forking = Some(Forking {
            at,
            editable: None,
            draft: None,
            then: ForkThen::Stop,
            script: None,
            stage: Stage::Reading(self.desk.ask(Job::Fork(ForkJob::Document { at }))),
        });
    }

    fn show_fork(&mut self) {
        let sort = OverlaySort::Fork;
        self.overlay = Some(Overlay { sort, top: 0 });
    }

    /// What is being altered, where it is.
    pub(in crate::tui) fn draft(&self) -> Option<&Draft> {
        let forking = self.forking.as_ref()?;
        match forking.stage {
            Stage::Writing | Stage::Checking(_) => forking.draft.as_ref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn draft_mut(&mut self) -> Option<&mut Draft> {
        let forking = self.forking.as_mut()?;
        match forking.stage {
            Stage::Writing => forking.draft.as_mut(),
            _ => None,
        }
    }

    /// Whether the sheet about the fork lies over the panes.
    pub(in crate::tui) fn fork_is_shown(&self) -> bool {
        let sort = self.overlay.map(|overlay| overlay.sort);
        self.forking.is_some() && sort == Some(OverlaySort::Fork)
    }

    /// Takes a key into what is being altered; whether something is.
    pub(super) fn press_in_draft(&mut self, key: Key, effects: &mut Vec<Effect>) -> bool {
        if self.draft().is_none() {
            return false;
        }
        let page = self.draft_rows();
        let Some(draft) = self.draft_mut() else {
            // It is being understood; that takes a moment.
            return true;
        };
        match key.to_string().as_str() {
            "Ctrl-s" => self.check_draft(),
            "Ctrl-o" => {
                let (text, line) = (draft.text(), draft.caret().line + 1);
                effects.push(Effect::EditText { text, line });
            }
            "Esc" if std::mem::take(&mut draft.is_precious) => {
                let words = "what was typed would be lost: Esc again gives it up";
                self.say(Tone::Warning, words);
            }
            "Esc" => self.forking = None,
            _ => {
                draft.press(key, page);
            }
        }
        true
    }

    /// Takes a paste into what is being altered; whether something is.
    pub(super) fn paste_into_draft(&mut self, text: &str) -> bool {
        let Some(draft) = self.draft_mut() else {
            return self.draft().is_some();
        };
        if !draft.insert(text) {
            self.say(Tone::Error, "too long to be pasted here; nothing was taken");
        }
        true
    }

    /// The text came back from the user's own editor.
    pub(super) fn take_edited_text(&mut self, text: &str) {
        if let Some(draft) = self.draft_mut()
            && draft.text() != text
        {
            draft.replace_all(text);
        }
    }

    /// Has what was written understood, and asks what it would lead to.
    fn check_draft(&mut self) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        let (Some(editable), Some(draft)) = (&forking.editable, &forking.draft) else {
            return;
        };
        let job = ForkJob::Plan {
            at: forking.at,
            editable: Arc::clone(editable),
            text: draft.text(),
        };
        forking.stage = Stage::Checking(self.desk.ask(Job::Fork(job)));
    }

    /// What keys do to the sheet about the fork; whether this one did.
    pub(super) fn press_in_fork(&mut self, action: Option<ActionId>) -> bool {
        if !self.fork_is_shown() {
            return false;
        }
        let Some(forking) = &mut self.forking else {
            return false;
        };
        match (action, &forking.stage) {
            (Some(ActionId::Confirm), Stage::Shown(_)) => self.make_fork(),
            // Nothing here leads anywhere, and the sheet is not lost by a key that means yes
            // elsewhere.
            (Some(ActionId::Open), _) => {}
            (Some(ActionId::NextPane), Stage::Shown(_)) => {
                forking.script = None;
                forking.then = match forking.then {
                    ForkThen::Stop => ForkThen::AssumeRecorded,
                    ForkThen::AssumeRecorded => {
                        self.prompt = Some(Prompt::new(Purpose::Script));
                        ForkThen::Stop
                    }
                    ForkThen::Script(_) | ForkThen::Model(_) => ForkThen::Stop,
                };
            }
            (Some(ActionId::Close | ActionId::Back), Stage::Shown(_) | Stage::Failed(_))
                if forking.draft.is_some() =>
            {
                forking.stage = Stage::Writing;
                self.overlay = None;
            }
            (Some(ActionId::Close | ActionId::Back), Stage::Running(..)) => {
                self.desk.ask(Job::Fork(ForkJob::Stop));
                self.say(Tone::Plain, "it is broken off; what it holds by then stays");
            }
            (Some(ActionId::Close | ActionId::Back), _) => {
                self.forking = None;
                self.overlay = None;
            }
            _ => return false,
        }
        true
    }

    /// A yes to what is shown.
    fn make_fork(&mut self) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        let Stage::Shown(planned) = &forking.stage else {
            return;
        };
        if forking.script.is_some() {
            return;
        }
        let job = ForkJob::Make {
            edit: Arc::clone(&planned.edit),
            then: forking.then.clone(),
        };
        forking.stage = Stage::Running(self.desk.ask(Job::Fork(job)), Vec::new());
        self.show_fork();
    }

    /// Has the script read that was named.
    pub(super) fn read_script(&mut self, typed: &str) {
        let job = Job::Fork(ForkJob::Script(PathBuf::from(typed)));
        if let Some(forking) = &mut self.forking {
            forking.script = Some(self.desk.ask(job));
        }
    }

    /// What lies under a sheet that was closed: a question that nobody sees is none. What runs
    /// goes on, and is told.
    pub(super) fn settle_fork(&mut self) {
        let is_shown = self.fork_is_shown();
        if let (false, Some(forking)) = (is_shown, &mut self.forking) {
            match forking.stage {
                Stage::Shown(_) => forking.stage = Stage::Writing,
                Stage::Failed(_) | Stage::Made(_) => self.forking = None,
                _ => {}
            }
        }
        let rows = self.draft_rows();
        if let Some(draft) = self.draft_mut() {
            draft.keep_in_view(rows);
        }
    }

    /// Takes an answer in that is about a fork.
    pub(super) fn take_fork(&mut self, generation: u64, answer: ForkAnswer) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        let is_for = |ticket: &Ticket| ticket.is_for(generation);
        match (&mut forking.stage, answer) {
            (Stage::Reading(ticket), ForkAnswer::Document(answer)) if is_for(ticket) => {
                self.take_document(answer);
            }
            (Stage::Checking(ticket), ForkAnswer::Plan(answer)) if is_for(ticket) => {
                self.take_plan(answer);
            }
            (Stage::Running(ticket, told), ForkAnswer::Told(via)) if is_for(ticket) => {
                told.push(via);
            }
            (Stage::Running(ticket, _), ForkAnswer::Made(answer)) if is_for(ticket) => {
                self.take_made(answer);
            }
            (Stage::Shown(_), ForkAnswer::Script(answer))
                if forking.script.as_ref().is_some_and(is_for) =>
            {
                self.take_script(answer);
            }
            _ => {}
        }
    }

    fn take_document(&mut self, answer: Answered<(Arc<Editable>, String)>) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        match answer {
            Ok((editable, text)) => {
                forking.draft = Some(Draft::new(&text));
                forking.editable = Some(editable);
                forking.stage = Stage::Writing;
                self.overlay = None;
            }
            Err(why) => {
                self.forking = None;
                self.say(Tone::Error, why.as_str());
            }
        }
    }

    fn take_plan(&mut self, answer: Result<Box<PlannedFork>, ForkUnread>) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        forking.stage = Stage::Writing;
        match answer {
            Ok(planned) => {
                forking.stage = Stage::Shown(planned);
                self.show_fork();
            }
            Err(ForkUnread::Unchanged) => {
                self.forking = None;
                self.say(Tone::Plain, "nothing was changed, so no fork is made");
            }
            Err(ForkUnread::Mistake { line, what }) => {
                if let Some(draft) = &mut forking.draft {
                    draft.go_to_line(line);
                    draft.mistake = Some((line, what));
                }
            }
        }
    }

    fn take_script(&mut self, answer: Answered<Script>) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        forking.script = None;
        match answer {
            Ok(script) => forking.then = ForkThen::Script(script),
            Err(why) => self.say(Tone::Error, &format!("the script: {why}")),
        }
    }

    fn take_made(&mut self, answer: Result<Box<ForkMade>, ForkUnmade>) {
        let Some(forking) = &mut self.forking else {
            return;
        };
        match answer {
            Ok(made) => {
                forking.stage = Stage::Made(made);
                let mut against = Against::new(None);
                against.seeks_divergence = true;
                self.against = Some(against);
                self.diff.rewind();
                // Where forks start is seen on the rows of the run.
                self.outdate_fork_points();
                self.outdate();
            }
            Err(why) => forking.stage = Stage::Failed(why),
        }
        self.show_fork();
    }
}
