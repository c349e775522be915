//! What a person wrote to steps: notes of earlier times, and those of now above them.
//!
//! Which steps of which branches are the same is asked of the branches as the summary lists
//! them. Nothing here is written to disk; see `update/left`.

use super::app::App;
use crate::debugger::Notes;
use crate::model::StepNumber;
use crate::text::{SafeText, width};

/// The notes of the run.
#[derive(Debug, Default)]
pub(super) struct NotePad {
    /// All there are.
    all: Notes,
    /// What was written since the run was opened; an empty text took a note away.
    written: Notes,
}

impl NotePad {
    /// Takes in notes of earlier times.
    pub(super) fn take(&mut self, notes: Notes) {
        self.all = notes;
        for (step, text) in self.written.clone() {
            self.put(step, text);
        }
    }

    /// Writes a note in the place of the one that is there. An empty one takes it away.
    pub(super) fn write(&mut self, step: (u16, StepNumber), text: String) {
        self.written.insert(step, text.clone());
        self.put(step, text);
    }

    fn put(&mut self, step: (u16, StepNumber), text: String) {
        if text.is_empty() {
            self.all.remove(&step);
        } else {
            self.all.insert(step, text);
        }
    }

    /// What was written since the run was opened.
    pub(super) fn written(&self) -> &Notes {
        &self.written
    }
}

impl App {
    /// The note of a step of a branch, as it was typed.
    pub(super) fn note(&self, branch: u16, step: u32) -> Option<&str> {
        if self.notes.all.is_empty() {
            return None;
        }
        let key = (self.home_of(branch, step), StepNumber(step));
        self.notes.all.get(&key).map(String::as_str)
    }

    /// The note of the step the playhead is in.
    pub(super) fn note_here(&self) -> Option<&str> {
        let stop = self.travel.stop?;
        self.note(stop.branch, stop.spot.step.0)
    }

    /// The steps of a branch that have a note, in order.
    pub(super) fn noted_steps(&self, branch: u16) -> Vec<u32> {
        let steps = self.notes.all.keys().map(|(line, step)| (*line, step.0));
        let is_here = |(line, step): &(u16, u32)| self.home_of(branch, *step) == *line;
        let mut steps: Vec<u32> = steps.filter(is_here).map(|(_, step)| step).collect();
        steps.sort_unstable();
        steps
    }

    /// The branch that a step of a branch was made on: another one, where a branch leaves its
    /// parent after the step.
    pub(super) fn home_of(&self, branch: u16, step: u32) -> u16 {
        let branches = self
            .summary
            .get()
            .map_or(&[][..], |summary| &summary.branches);
        let mut home = branch;
        let parent = |home: u16| {
            // The branches stand in the order of their numbers.
            let index = branches.binary_search_by_key(&home, |row| row.id).ok()?;
            let (parent, shared) = branches.get(index)?.parent?;
            (step <= shared.0).then_some(parent)
        };
        while let Some(parent) = parent(home) {
            home = parent;
        }
        home
    }
}

/// A note set in lines of at most so many columns, and at most so many lines.
pub(super) fn lines(note: &str, columns: usize, most: usize) -> Vec<SafeText> {
    let lines = SafeText::lines(note);
    let mut lines: Vec<SafeText> = lines
        .iter()
        .take(most + 1)
        .flat_map(|line| width::wrap(line, columns))
        .collect();
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let mut cut = width::slice(last, 0, columns.saturating_sub(1));
            cut.push(&SafeText::literal("…"));
            *last = cut;
        }
    }
    lines
}
