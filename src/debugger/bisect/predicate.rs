//! Questions about one file that the tape answers by itself: no sandbox, nothing written.

use regex::bytes::{Regex, RegexBuilder};

use super::super::{Debugger, FileContent};
use super::Answer;
use super::edge::Verdict;
use crate::model::{Certainty, Cursor, EntryKind, TapePath};
use crate::state::ContentRef;

/// A predicate cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum PredicateError {
    /// The pattern is none.
    #[error("`{0}` is no pattern: {1}")]
    Pattern(String, String),
    /// The digits are no hash.
    #[error(
        "`{0}` is no hash: at least eight hex digits are, as `jukebox tree --json` prints them"
    )]
    Hash(String),
}

/// What is to be so of a file.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// The file.
    pub path: TapePath,
    /// What is to be so.
    pub test: Test,
    /// It is to be otherwise.
    pub is_negated: bool,
}

/// What can be asked of a file.
#[derive(Clone, Debug)]
pub enum Test {
    /// A line of it matches.
    Grep(Regex),
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// The name of its content begins with these digits.
    Hash(String),
}

/// Digits that tell a content from any other.
const DIGITS: usize = 8;

impl Test {
    /// A line that matches this pattern.
    pub fn grep(pattern: &str) -> Result<Self, PredicateError> {
        let pattern = RegexBuilder::new(pattern)
            .multi_line(true)
            .build()
            .map_err(|error| {
                let why = error.to_string();
                let last = why.lines().last().unwrap_or_default();
                PredicateError::Pattern(pattern.to_owned(), last.replacen("error: ", "", 1))
            })?;
        Ok(Self::Grep(pattern))
    }

    /// A content with this hash, or one that begins so.
    pub fn hash(digits: &str) -> Result<Self, PredicateError> {
        let hex = digits
            .strip_prefix("b3:")
            .unwrap_or(digits)
            .to_ascii_lowercase();
        let is_hex = hex.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hex || !(DIGITS..=64).contains(&hex.len()) {
            return Err(PredicateError::Hash(digits.to_owned()));
        }
        Ok(Self::Hash(format!("b3:{hex}")))
    }
}

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
    fn holds(&self, at: Cursor, predicate: &Predicate) -> Option<bool> {
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
