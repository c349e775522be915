//! The column beside an open file that says which step wrote each line, and the chosen line.

use crate::debugger::{BlameOrigin, BlameView};
use crate::text::SafeText;
use crate::tui::held::Held;
use crate::tui::job::Answered;

/// Who wrote the lines of the open file.
#[derive(Debug, Default)]
pub(in crate::tui) struct BlameColumn {
    /// What is known of it.
    pub(in crate::tui) told: Held<Answered<Box<BlameView>>>,
    /// The chosen row of the file, as far as there are so many.
    pub(in crate::tui) here: usize,
    /// Columns that the longest step takes.
    pub(in crate::tui) digits: usize,
    /// Why nothing is known, as it was said: not again each time the run grows.
    pub(in crate::tui) said: Option<SafeText>,
}

impl BlameColumn {
    /// What a line came with, by its number; `None` while that is not known.
    pub(in crate::tui) fn origin_of(&self, number: u64) -> Option<&BlameOrigin> {
        let blame = self.told.current()?.as_ref().ok()?;
        let line = blame
            .lines
            .binary_search_by_key(&number, |line| line.number);
        blame.origin_of(line.ok()?)
    }

    /// Takes it in, if it is what is waited for.
    pub(in crate::tui) fn take(&mut self, generation: u64, told: Answered<Box<BlameView>>) -> bool {
        let origins = told.as_ref().map_or(&[][..], |told| &told.origins);
        let steps = origins.iter().filter_map(|origin| origin.spot);
        let last = steps.map(|spot| spot.step.0).max();
        let digits = last.map_or(1, |step| step.to_string().len());
        let is_taken = self.told.take(generation, told);
        if is_taken {
            self.digits = digits;
        }
        is_taken
    }
}
