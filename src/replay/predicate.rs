//! Questions about one file: a pattern, whether it is there, which content it has.
//!
//! A question is answered from files that are known. What is not known has no answer.

use regex::bytes::{Regex, RegexBuilder};

use super::workbench::{Found, Tree};
use crate::model::{BlobHash, TapePath};

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

impl PartialEq for Predicate {
    fn eq(&self, other: &Self) -> bool {
        let is_same_test = match (&self.test, &other.test) {
            (Test::Grep(one), Test::Grep(two)) => one.as_str() == two.as_str(),
            (Test::Hash(one), Test::Hash(two)) => one == two,
            (Test::Exists, Test::Exists) | (Test::Absent, Test::Absent) => true,
            _ => false,
        };
        is_same_test && self.path == other.path && self.is_negated == other.is_negated
    }
}

impl Predicate {
    /// Whether it is so in a tree; `None`: that is not known. Links are not followed.
    pub fn is_so(&self, tree: &Tree<'_>) -> Option<bool> {
        let Ok(found) = tree.find(&self.path) else {
            // Something is there, such as a link, whose content nobody knows.
            let is_there = tree.get(&self.path).is_some();
            let holds = match self.test {
                Test::Exists => is_there.then_some(true),
                Test::Absent => is_there.then_some(false),
                Test::Grep(_) | Test::Hash(_) => None,
            };
            return holds.map(|holds| holds != self.is_negated);
        };
        let holds = match (&self.test, &found) {
            (Test::Exists, found) => !matches!(found, Found::Nothing),
            (Test::Absent, found) => matches!(found, Found::Nothing),
            (Test::Grep(pattern), Found::File(bytes)) => pattern.is_match(bytes),
            (Test::Hash(digits), Found::File(bytes)) => {
                BlobHash::of(bytes).to_string().starts_with(digits)
            }
            (Test::Grep(_) | Test::Hash(_), Found::Directory | Found::Nothing) => false,
        };
        Some(holds != self.is_negated)
    }
}
