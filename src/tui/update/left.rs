//! What a person leaves at the run: marks, notes, the place, folds, the open file and the
//! focused pane.
//!
//! It is handed to the worker to be kept when something was marked or written, when the
//! terminal loses the keyboard, and when the run or the screen is closed; never key by key.

use crate::debugger::{Left, LeftFocus, LeftView};
use crate::text::SafeText;
use crate::tui::action::ActionId;
use crate::tui::app::{App, Keeping, Tone};
use crate::tui::job::{Job, Stop};
use crate::tui::layout::Pane;
use crate::tui::panes::FilePane;
use crate::tui::prompt::{Prompt, Purpose};
use crate::tui::travel::{Arrival, Errand};

impl App {
    /// Takes in what was left earlier. Marks and notes of now stand above those of then.
    pub(super) fn take_left(&mut self, generation: u64, left: Left) {
        if !self.left.take(generation, Box::new(left)) {
            return;
        }
        let Some(left) = self.left.get() else { return };
        for (name, (branch, spot)) in &left.marks {
            let mut letters = name.chars();
            if let (Some(letter), None) = (letters.next(), letters.next()) {
                let (branch, spot) = (*branch, *spot);
                let mark = self.travel.marks.entry(letter);
                mark.or_insert(Stop { branch, spot });
            }
        }
        self.notes.take(left.notes.clone());
        if let Some(view) = &left.view {
            self.state.fold_as(&view.open, &view.closed);
            let agents = self.timeline.agents.get().map_or(&[][..], Vec::as_slice);
            self.timeline.folding.fold_as(&view.folded, agents);
        }
    }

    /// Puts the playhead where the run was left, and opens the file that was open.
    pub(in crate::tui) fn return_to(&mut self, view: LeftView) {
        let LeftView {
            line: branch,
            spot,
            file,
            focus,
            ..
        } = view;
        self.land(Errand::Arrive, Some(Stop { branch, spot }));
        if let Some(path) = file {
            self.state.open_above(&path);
            self.state.selected = Some(path.clone());
            self.state.file = Some(FilePane::new(path));
        }
        // Who has gone to another pane meanwhile stays there.
        if self.focus == Pane::default() {
            self.focus = match focus {
                LeftFocus::Timeline => Pane::Timeline,
                LeftFocus::State => Pane::State,
                LeftFocus::Diff => Pane::Diff,
            };
        }
        let (step, steps) = (spot.step, self.steps());
        if step.0 < steps {
            let words = format!("back at step {step}; G goes to the end");
            self.say(Tone::Plain, &words);
        }
    }

    /// The arrival of a run of which no place was asked for.
    pub(in crate::tui) fn arrival_of(keeping: Keeping) -> Arrival {
        match keeping {
            Keeping::Kept => Arrival::Left,
            Keeping::Forgotten => Arrival::Place(crate::model::Place::END),
        }
    }

    /// Has kept what is to be found the next time, if it is not already.
    pub(in crate::tui) fn keep(&mut self) {
        // What is not known yet is not written over.
        if self.keeping == Keeping::Forgotten || self.left.current().is_none() {
            return;
        }
        let Some(stop) = self.travel.stop else {
            return;
        };
        let marks = self
            .travel
            .marks
            .iter()
            .map(|(letter, stop)| (letter.to_string(), (stop.branch, stop.spot)));
        let mut left = Left {
            marks: marks.collect(),
            notes: self.notes.written().clone(),
            view: None,
        };
        // Of a run that was read in part, what was left before may lie in the rest: the place
        // stays as it is kept, and marks and notes are added to those that are.
        if self.unread.is_none() {
            left.view = Some(self.left_view(stop));
        } else if left.marks.is_empty() && left.notes.is_empty() {
            return;
        }
        if self.kept.as_ref() != Some(&left) {
            self.kept = Some(left.clone());
            self.desk.ask(Job::Keep(Box::new(left)));
        }
    }

    fn left_view(&self, stop: Stop) -> LeftView {
        let (open, closed) = self.state.folds_by_hand();
        LeftView {
            line: stop.branch,
            spot: stop.spot,
            open,
            closed,
            file: self.state.file.as_ref().map(|file| file.path.clone()),
            focus: match self.focus {
                Pane::Timeline => LeftFocus::Timeline,
                Pane::State => LeftFocus::State,
                Pane::Diff => LeftFocus::Diff,
            },
            folded: self.timeline.folding.folded().clone(),
        }
    }

    /// Says why nothing can be kept, where that is a loss.
    pub(super) fn take_not_kept(&mut self, why: &SafeText) {
        if !(self.travel.marks.is_empty() && self.notes.written().is_empty()) {
            self.say(Tone::Error, &format!("marks and notes are not kept: {why}"));
        }
    }

    /// Asks for a note to the step, beginning with the one that is there.
    pub(super) fn annotate(&mut self) {
        match self.travel.stop {
            Some(stop) if stop.spot.step.0 > 0 => {
                let mut prompt = Prompt::new(Purpose::Note);
                prompt.insert(self.note_here().unwrap_or_default());
                self.prompt = Some(prompt);
            }
            _ => self.say(Tone::Plain, "no step is here; l goes to the first"),
        }
    }

    /// Writes a note to the step.
    pub(super) fn write_note(&mut self, text: &str) {
        let Some(stop) = self.travel.stop else { return };
        let step = stop.spot.step;
        // One of several lines, which the prompt shows as one, stays as it is.
        let mut shown = Prompt::new(Purpose::Note);
        shown.insert(self.note_here().unwrap_or_default());
        if shown.text() == text {
            return;
        }
        let words = match (text.is_empty(), self.note_here()) {
            (true, None) => return,
            (true, Some(_)) => format!("the note of step {step} is gone"),
            (false, _) => format!(
                "a note to step {step}: {} leads here",
                ActionId::NextNote.key()
            ),
        };
        let home = self.home_of(stop.branch, step.0);
        self.notes.write((home, step), text.to_owned());
        self.keep();
        self.say(Tone::Plain, &words);
    }

    /// To the next step with a note, around the end.
    pub(super) fn next_note(&mut self) {
        let Some(stop) = self.travel.stop else { return };
        let (here, steps) = (stop.spot.step.0, self.noted_steps(stop.branch));
        let after = steps.iter().find(|step| **step > here).copied();
        match after.or(steps.first().copied()) {
            None => self.say(Tone::Plain, "no step has a note; a writes one to this step"),
            Some(step) if step == here => self.say(Tone::Plain, "no other step has a note"),
            Some(step) => {
                self.jump_to_step(step);
                if after.is_none() {
                    self.say(Tone::Plain, "from the start again");
                }
            }
        }
    }
}
