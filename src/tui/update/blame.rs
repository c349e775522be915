//! Who wrote the lines of the open file: shown, and gone to.

use crate::debugger::{BlameOrigin, BlameView};
use crate::tui::app::{App, Tone};
use crate::tui::document::DocumentRow;
use crate::tui::job::Answered;
use crate::tui::layout::Pane;
use crate::tui::panes::StateView;

impl App {
    /// Whether the keys act on a file, open or chosen in the tree.
    pub(in crate::tui) fn is_at_a_file(&self) -> bool {
        let is_chosen =
            || self.state.view == StateView::Files && self.state.selected_file().is_some();
        self.focus == Pane::State && (self.state.file.is_some() || is_chosen())
    }

    /// Shows who wrote the lines of the chosen file, or no longer.
    pub(super) fn toggle_blame(&mut self) {
        if self.state.file.is_none() {
            let Some(path) = self.chosen_file().cloned() else {
                self.say(Tone::Plain, "no file is chosen; 2 shows all files");
                return;
            };
            self.open_file(path);
        }
        self.focus(Pane::State);
        let height = self.height_of(Pane::State);
        if let Some(file) = &mut self.state.file {
            file.toggle_blame(height);
        }
    }

    /// The line that is chosen in the open file, where who wrote it is shown.
    pub(in crate::tui) fn chosen_line(&self) -> Option<u64> {
        let file = self.state.file.as_ref()?;
        let row = file.chosen_row().filter(|_| self.focus == Pane::State)?;
        match file.file()?.document.row(row, 0)? {
            DocumentRow::Line { number, .. } => Some(number),
            DocumentRow::Bytes { .. } | DocumentRow::Gap { .. } => None,
        }
    }

    fn chosen_origin(&self) -> Option<&BlameOrigin> {
        let blame = self.state.file.as_ref()?.blame.as_ref()?;
        blame.origin_of(self.chosen_line()?)
    }

    /// Goes to the step that wrote the chosen line.
    pub(super) fn go_to_origin(&mut self) {
        let here = self.travel.spot().map(|spot| spot.step);
        match self.chosen_origin().map(|origin| origin.spot) {
            None => self.say(Tone::Plain, "who wrote this line is not known yet"),
            Some(None) => self.say(
                Tone::Plain,
                "this line stood there before the tape tells of any change",
            ),
            Some(Some(spot)) if Some(spot.step) == here => {
                self.say(Tone::Plain, "this step wrote the line; u goes back");
            }
            Some(Some(spot)) => self.jump_to_step(spot.step.0),
        }
    }

    /// Chooses the line that was touched; the chosen one is gone to.
    pub(super) fn press_line(&mut self, row: usize, height: usize) {
        let Some(file) = &mut self.state.file else {
            return;
        };
        let (before, first) = (file.chosen_row(), file.first_row(height));
        let Some(below) = row.checked_sub(file.head_height(height)) else {
            return;
        };
        file.choose(first + below);
        if before.is_some() && file.chosen_row() == before {
            self.go_to_origin();
        }
    }

    pub(super) fn take_blame(&mut self, generation: u64, told: Answered<Box<BlameView>>) {
        let Some(blame) = self
            .state
            .file
            .as_mut()
            .and_then(|file| file.blame.as_mut())
        else {
            return;
        };
        let why = match &told {
            Ok(told) if told.lines.is_empty() => told.remarks.first().cloned(),
            Ok(_) => None,
            Err(why) => Some(why.clone()),
        };
        if !blame.take(generation, told) || blame.said == why {
            return;
        }
        blame.said.clone_from(&why);
        if let Some(why) = why {
            self.say(Tone::Plain, why.as_str());
        }
    }
}
