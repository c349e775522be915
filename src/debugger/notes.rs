//! Notes: what a person wrote to a step, for the next time.
//!
//! They are kept as they were typed, in the user's state directory and never in the tape; see
//! `left`. Nothing here makes them safe to show: a shell does that when it shows them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Debugger;
use super::state_file::Fields;
use crate::model::{Place, StepNumber};

/// The notes of a run, by the line and the number of their steps. A step that several lines
/// share is named by the first of them: [`Debugger::home_of`].
pub type Notes = BTreeMap<(u16, StepNumber), String>;

/// Bytes of a note at most: it is a note, and no place to keep files in.
pub const MAX_NOTE: usize = 4096;

/// The field that holds the notes.
const NOTES: &str = "notes";

impl Debugger {
    /// The notes that were kept for this tape and whose steps are there. Costs the reading of
    /// one small file; what cannot be read there counts for nothing.
    pub fn notes(&self) -> Notes {
        self.notes_in(&self.kept())
    }

    /// The line that a step of a line was made on: another one, where a line leaves its
    /// parent after the step.
    pub fn home_of(&self, line: u16, step: StepNumber) -> u16 {
        let mut line = line;
        while let Some(branch) = self.tape.index.branches.get(usize::from(line))
            && let Some((parent, _)) = branch.parent
            && step.0 <= branch.inherited
        {
            line = self.line_of_branch(parent);
        }
        line
    }

    pub(super) fn notes_in(&self, kept: &Fields) -> Notes {
        let notes = kept.get(NOTES).and_then(Value::as_object);
        let notes = notes.into_iter().flatten().filter_map(|(place, text)| {
            let text = text.as_str().filter(|text| !text.is_empty())?;
            let place: Place = place.parse().ok()?;
            let spot = self.locate_kept(&place)?;
            let home = self.home_of(self.line_of(spot), spot.step);
            (spot.step.0 > 0).then(|| ((home, spot.step), text.to_owned()))
        });
        notes.collect()
    }

    /// Puts notes in the place of those that are there; an empty one takes one away.
    pub(super) fn put_notes(&self, notes: &Notes, kept: &mut Fields) {
        let mut all = match kept.remove(NOTES) {
            Some(Value::Object(all)) => all,
            _ => Fields::new(),
        };
        for ((line, step), text) in notes {
            let place = self.written(*line, self.spot(*line, *step));
            if text.is_empty() {
                all.shift_remove(&place);
            } else {
                all.insert(place, text.clone().into());
            }
        }
        if !all.is_empty() {
            kept.insert(NOTES.into(), all.into());
        }
    }
}
