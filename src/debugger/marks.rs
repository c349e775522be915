//! Marks: names that a person gave to places of a run.
//!
//! They are kept in the user's state directory and never in the tape; see `left`.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;

use super::state_file::Fields;
use super::{Debugger, Spot};
use crate::model::{Place, Target};

/// The field that holds the marks.
const MARKS: &str = "marks";

/// Whether a mark may be called so: then `@mark:NAME` means it.
pub fn is_mark_name(name: &str) -> bool {
    let place = format!("mark:{name}").parse::<Place>();
    place.is_ok_and(|place| place.branch.is_none() && place.target == Target::Mark(name.to_owned()))
}

impl Debugger {
    /// The marks that were kept for this tape and whose places are there. Costs the reading
    /// of one small file; what cannot be read there counts for nothing.
    pub fn marks(&self) -> BTreeMap<String, Spot> {
        self.marks_in(&self.kept())
    }

    /// Forgets a mark. What else was left at the run stays; where no mark has that name,
    /// nothing is written.
    pub fn remove_mark(&self, name: &str) -> io::Result<()> {
        let Some(file) = self.state_file() else {
            return Ok(());
        };
        file.change(|kept| {
            let marks = kept.get_mut(MARKS).and_then(Value::as_object_mut);
            if let Some(marks) = marks {
                marks.shift_remove(name);
                if marks.is_empty() {
                    kept.shift_remove(MARKS);
                }
            }
        })
    }

    pub(super) fn marks_in(&self, kept: &Fields) -> BTreeMap<String, Spot> {
        let marks = kept.get(MARKS).and_then(Value::as_object);
        let spots = marks.into_iter().flatten().filter_map(|(name, place)| {
            let place: Place = place.as_str()?.parse().ok()?;
            Some((name.clone(), self.locate_kept(&place)?))
        });
        spots.collect()
    }

    /// Puts marks beside those that are there.
    pub(super) fn put_marks(&self, marks: &BTreeMap<String, (u16, Spot)>, kept: &mut Fields) {
        let mut all = match kept.remove(MARKS) {
            Some(Value::Object(all)) => all,
            _ => Fields::new(),
        };
        let places = marks.iter().map(|(name, (line, spot))| {
            let place = Value::from(self.written(*line, *spot));
            (name.clone(), place)
        });
        all.extend(places);
        if !all.is_empty() {
            kept.insert(MARKS.into(), all.into());
        }
    }
}
