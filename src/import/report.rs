//! What an import did, as plain data: counts, guesses, losses, problems.

use std::collections::BTreeMap;

use crate::model::{Certainty, Problem};

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The format of the transcript.
    pub format: &'static str,
    /// How many records there were, by type.
    pub records: BTreeMap<String, u64>,
    /// How many events were written.
    pub events: u64,
    /// How many branches a rewind opened.
    pub branches: u64,
    /// How many sub-agents there were.
    pub agents: u64,
    /// The edits, and how well they could be rebuilt.
    pub edits: EditCounts,
    /// How often a file differed from what the calls had made of it.
    pub outside_changes: u64,
    /// How many files are known how well at the end of the last branch.
    pub files: BTreeMap<Certainty, u64>,
    /// Records that walking back from the last one would never have reached.
    pub unreachable: u64,
    /// Records that stood a second time, with the same bytes, and were left out.
    pub repeated: u64,
    /// Records that only told of progress, and were counted and not kept.
    pub progress: Progress,
    /// What was kept and is not understood: types of records and blocks, and how often.
    pub not_understood: BTreeMap<String, u64>,
    /// What was assumed, in words, and how often.
    pub guessed: BTreeMap<String, u64>,
    /// What is missing, in words, and how often.
    pub lost: BTreeMap<String, u64>,
    /// What was wrong, in the order it was found.
    pub problems: Vec<Problem>,
}

/// How well edits could be rebuilt. Only those that succeeded are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EditCounts {
    /// Edits of a text by another.
    pub all: u64,
    /// Those whose record holds the whole file as it was before.
    pub with_preimage: u64,
    /// Of these, those of a file of which the same agent had the whole content already, by
    /// a read, a write or an edit of its own.
    pub base_known: u64,
    /// Of these, those of a file that was what it was thought to be, byte for byte.
    pub matched: u64,
    /// Edits after which only some lines are known.
    pub partial: u64,
    /// Edits that could not be rebuilt.
    pub unknown: u64,
}

/// Records that were counted and not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many.
    pub records: u64,
    /// How many bytes they took.
    pub bytes: u64,
}

/// Counts one more of a sort.
pub(super) fn count(counts: &mut BTreeMap<String, u64>, what: &str) {
    if let Some(number) = counts.get_mut(what) {
        *number += 1;
    } else {
        counts.insert(what.to_owned(), 1);
    }
}
