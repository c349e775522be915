//! Whether a call came to the same again: its outcome, its exit code, what it said, what it
//! did to files.
//!
//! Nothing is run here, and nothing counts as the same that only looks alike: what is
//! volatile is named by whoever asks.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::content::StepContent;
use super::leaves::{Leaf, leaves};
use super::volatile::{Volatile, Wording};
use crate::model::{BlobHash, Outcome, StepKind, TapePath};

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub struct CallContent {
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code; `None`: there is none, or it does not count.
    pub exit: Option<i32>,
    /// What it said; `None`: its words do not count.
    pub output: Option<String>,
    /// What it made of files; `None`: that is not known.
    pub files: Option<BTreeMap<TapePath, FileAfter>>,
}

/// What a file is after a call that changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAfter {
    /// What stands there.
    pub what: Standing,
    /// Permission bits, where they are known.
    pub mode: Option<u32>,
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// A file with these bytes; `None`: they are not known.
    File(Option<BlobHash>),
    /// A link with this text.
    Link(Vec<u8>),
    /// Something that no tape holds, such as a socket.
    Special(&'static str),
}

/// The bits of a mode that are written, and compared.
const PERMISSIONS: u32 = 0o777;

/// Where a call that was made again differs from what was recorded.
pub fn differences(
    (recorded, recorded_volatile): (&CallContent, &Volatile),
    (again, again_volatile): (&CallContent, &Volatile),
) -> Vec<Leaf> {
    let (mut left, mut right) = (step(recorded), step(again));
    if let (Some(one), Some(two)) = (recorded.exit, again.exit) {
        left.answered.insert("exit".to_owned(), one.into());
        right.answered.insert("exit".to_owned(), two.into());
    }
    if let (Some(one), Some(two)) = (&recorded.output, &again.output) {
        left.answered
            .insert("output".to_owned(), one.as_str().into());
        right
            .answered
            .insert("output".to_owned(), two.as_str().into());
    }
    if let (Some(one), Some(two)) = (&recorded.files, &again.files) {
        (left.files, right.files) = files(one, two);
    }
    leaves((&left, recorded_volatile), (&right, again_volatile))
}

fn step(content: &CallContent) -> StepContent {
    StepContent::new(StepKind::Tool, content.outcome)
}

type Words = Map<String, Value>;

/// Files in words: of what one side does not know, neither side says anything.
fn files(
    one: &BTreeMap<TapePath, FileAfter>,
    two: &BTreeMap<TapePath, FileAfter>,
) -> (Words, Words) {
    let (mut left, mut right) = (Words::new(), Words::new());
    let put = |words: &mut Words, path: &TapePath, text: String| {
        words.insert(path.to_text(), Value::String(text));
    };
    for (path, here) in one {
        let there = two.get(path);
        let words = match there {
            Some(there) if is_same(here, there) => continue,
            there => in_words(here, there),
        };
        put(&mut left, path, words);
        if let Some(there) = there {
            put(&mut right, path, in_words(there, Some(here)));
        }
    }
    for (path, there) in two.iter().filter(|(path, _)| !one.contains_key(*path)) {
        put(&mut right, path, in_words(there, None));
    }
    (left, right)
}

fn is_same(one: &FileAfter, two: &FileAfter) -> bool {
    let modes = one.mode.zip(two.mode);
    let has_same_mode = modes.is_none_or(|(one, two)| one & PERMISSIONS == two & PERMISSIONS);
    let has_same_content = match (&one.what, &two.what) {
        (Standing::File(one), Standing::File(two)) => {
            one.zip(*two).is_none_or(|(one, two)| one == two)
        }
        (one, two) => one == two,
    };
    has_same_mode && has_same_content
}

fn in_words(file: &FileAfter, other: Option<&FileAfter>) -> String {
    let what = match &file.what {
        Standing::Nothing => return "removed".to_owned(),
        Standing::Directory => "directory".to_owned(),
        Standing::File(Some(hash)) => format!("content {}", hash.short()),
        Standing::File(None) => "content not known".to_owned(),
        Standing::Link(target) => format!("link to {}", String::from_utf8_lossy(target)),
        Standing::Special(sort) => return (*sort).to_owned(),
    };
    let is_counted = other.is_none_or(|other| other.mode.is_some());
    match file.mode.filter(|_| is_counted) {
        Some(mode) => format!("{what}, mode {:o}", mode & PERMISSIONS),
        None => what,
    }
}

/// Beyond so many pairs of lines nobody looks how two streams may have been mixed.
const MOST_PAIRS: usize = 1 << 22;

/// Whether what was recorded is what a command wrote to its two streams, in whatever order
/// they came: that order is nobody's to decide. Volatile parts are left out of account.
pub fn is_mix(
    (recorded, recorded_volatile): (&str, &Volatile),
    (output, error): (&str, &str),
    volatile: &Volatile,
) -> bool {
    let canonical = |text: &str, volatile: &Volatile| {
        let mut form = String::new();
        volatile.canonical(text, Wording::Printed, &mut form);
        form
    };
    let recorded = canonical(recorded, recorded_volatile);
    let (output, error) = (canonical(output, volatile), canonical(error, volatile));
    if recorded.len() != output.len() + error.len() {
        return false;
    }
    let is_one_after_the_other = recorded.strip_prefix(output.as_str()) == Some(&error)
        || recorded.strip_prefix(error.as_str()) == Some(&output);
    is_one_after_the_other || is_mix_of_lines(&recorded, &output, &error)
}

fn is_mix_of_lines(recorded: &str, output: &str, error: &str) -> bool {
    let lines = |text: &str| text.split_inclusive('\n').count();
    if lines(output).saturating_mul(lines(error)) > MOST_PAIRS {
        return false;
    }
    let recorded: Vec<&str> = recorded.split_inclusive('\n').collect();
    let output: Vec<&str> = output.split_inclusive('\n').collect();
    let error: Vec<&str> = error.split_inclusive('\n').collect();
    if recorded.len() != output.len() + error.len() {
        return false;
    }
    // Whether the first `i` lines of the output and the first `j` of the errors, in some
    // order, are the first `i + j` lines: `j` by `j`, for one `i` after the other.
    let mut fits = vec![false; error.len() + 1];
    for i in 0..=output.len() {
        for j in 0..=error.len() {
            let is_line = |lines: &[&str], at: Option<usize>| {
                let line = at.and_then(|at| lines.get(at));
                line.is_some() && line == recorded.get((i + j).wrapping_sub(1))
            };
            let by_output =
                fits.get(j).copied().unwrap_or_default() && is_line(&output, i.checked_sub(1));
            let by_error = j > 0
                && fits.get(j - 1).copied().unwrap_or_default()
                && is_line(&error, j.checked_sub(1));
            if let Some(place) = fits.get_mut(j) {
                *place = (i, j) == (0, 0) || by_output || by_error;
            }
        }
    }
    fits.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TapePath {
        TapePath::new(text).unwrap()
    }

    fn file(text: &str, mode: Option<u32>) -> FileAfter {
        FileAfter {
            what: Standing::File(Some(BlobHash::of(text.as_bytes()))),
            mode,
        }
    }

    fn content(output: &str, files: &[(&str, FileAfter)]) -> CallContent {
        let files = files.iter().cloned();
        CallContent {
            outcome: Outcome::Ok,
            exit: Some(0),
            output: Some(output.to_owned()),
            files: Some(files.map(|(name, file)| (path(name), file)).collect()),
        }
    }

    fn names(one: &CallContent, two: &CallContent) -> Vec<String> {
        let volatile = Volatile::new(Some("/w")).only(&[]);
        let leaves = differences((one, &volatile), (two, &volatile));
        leaves.into_iter().map(|leaf| leaf.name).collect()
    }

    #[test]
    fn each_part_that_differs_is_a_leaf() {
        let one = content(
            "a\nb\n",
            &[("f", file("x", None)), ("g", file("y", Some(0o644)))],
        );
        assert!(names(&one, &one).is_empty());
        let mut two = content(
            "a\nc\n",
            &[("f", file("z", Some(0o600))), ("h", file("y", None))],
        );
        two.outcome = Outcome::Failed;
        two.exit = Some(1);
        let expected = [
            "outcome",
            "exit",
            "output, line 2",
            "files.f",
            "files.g",
            "files.h",
        ];
        assert_eq!(names(&one, &two), expected);
    }

    #[test]
    fn what_one_side_does_not_know_is_no_difference() {
        let one = content("a", &[("f", file("x", None))]);
        let mut two = content("b", &[("f", file("x", Some(0o755)))]);
        two.output = None;
        two.exit = None;
        assert!(names(&one, &two).is_empty());
        two.files = None;
        assert!(names(&one, &two).is_empty());
        let one = content("", &[("f", file("x", Some(0o644)))]);
        let two = content("", &[("f", file("x", Some(0o755)))]);
        assert_eq!(names(&one, &two), ["files.f"]);
    }

    #[test]
    fn two_streams_may_be_mixed_in_any_order() {
        let volatile = Volatile::new(None).only(&[]);
        let check = |recorded: &str, output: &str, error: &str, expected: bool| {
            let found = is_mix((recorded, &volatile), (output, error), &volatile);
            assert_eq!(found, expected, "{recorded:?}");
        };
        check("", "", "", true);
        check("a\nb\n", "a\nb\n", "", true);
        check("a\nx\nb\ny\n", "a\nb\n", "x\ny\n", true);
        check("x\ny\na\nb\n", "a\nb\n", "x\ny\n", true);
        check("a\nb\na\n", "a\n", "a\nb\n", true);
        check("y\na\nx\nb\n", "a\nb\n", "x\ny\n", false);
        check("a\nb\n", "a\n", "x\n", false);
        check("ax", "a", "x", true);
    }
}
