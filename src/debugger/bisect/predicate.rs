//! Questions about one file that the tape answers by itself: no sandbox, nothing written.

use super::super::{Debugger, FileContent};
use super::Answer;
use super::edge::Verdict;
use crate::model::{Certainty, Cursor, EntryKind};
use crate::state::ContentRef;

pub use crate::replay::{Predicate, PredicateError, Test};

impl Debugger {
    /// How a place answers a predicate. Costs a lookup, and for a pattern the reading of the
    /// file.
    pub(super) fn ask(&self, at: Cursor, predicate: &Predicate) -> Answer {
        let verdict = match self.holds(at, predicate) {
            None => Verdict::Skip,
            Some(holds) if holds != predicate.is_negated => Verdict::Good,
            Some(_) => Verdict::Bad,
        };
        Answer {
            verdict,
            code: None,
            said: Vec::new(),
        }
    }

    /// Whether it is so; `None`: nobody knows. Where something may have written the file
    /// unseen, what it held last counts.
    pub(in crate::debugger) fn holds(&self, at: Cursor, predicate: &Predicate) -> Option<bool> {
        let state = self.state.file(&self.tape.index.blobs, at, &predicate.path);
        let state = state.filter(|state| state.certainty != Certainty::Absent);
        let Some(state) = state else {
            return Some(matches!(predicate.test, Test::Absent));
        };
        if state.certainty == Certainty::Unknown {
            return None;
        }
        match &predicate.test {
            Test::Exists => Some(true),
            Test::Absent => Some(false),
            Test::Hash(digits) => match state.content {
                ContentRef::Blob(id) => {
                    let hash = self.blob_head(id, state.since).0?;
                    Some(hash.to_string().starts_with(digits))
                }
                _ => None,
            },
            Test::Grep(_) if state.kind == EntryKind::Directory => Some(false),
            Test::Grep(pattern) => match self.content(&state, &predicate.path).0 {
                FileContent::Bytes(bytes) => Some(pattern.is_match(&bytes)),
                FileContent::Lines(known) => {
                    let mut ranges = known.ranges.iter();
                    let is_seen = ranges.any(|(_, text)| pattern.is_match(text.as_bytes()));
                    is_seen.then_some(true)
                }
                FileContent::Nothing(_) => None,
            },
        }
    }
}
