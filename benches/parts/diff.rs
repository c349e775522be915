//! Differences of files, beside the same comparison without a deadline, and beside the
//! deadline where there is no comparing without one.

use jukebox::text::FileDiff;
use jukebox::text::diff::{BUDGET, word_emphasis};
use similar::{Algorithm, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::Result;
use crate::beside::{beside, within};
use crate::text::{numbered, shuffled};

const MYERS: &str = "similar without a deadline";
const CUT: &str = "cutting them into words";
const GIVEN: &str = "the 50 ms it is given";

pub(crate) fn run() -> Result {
    for (lines, words) in [(5_000, "5k lines"), (100_000, "100k lines")] {
        let old = numbered(lines);
        let mut new = old.clone();
        new.iter_mut()
            .step_by(50)
            .for_each(|line| line.insert_str(4, "mut "));
        let what = format!("{words}, every 50th changed");
        compare(&what, &old, &new);
        let moved = new.len() / 4;
        new.rotate_left(moved);
        compare(&format!("{words}, and a quarter moved"), &old, &new);
    }
    let (old, new) = (shuffled(100_000, 1), shuffled(100_000, 2));
    let (old, new) = (old.concat(), new.concat());
    let find = || between(&old, &new);
    within("100k lines of 64, in no order", EACH, find, GIVEN, BUDGET);
    let (old, new) = (numbered(100_000).concat(), shuffled(100_000, 1).concat());
    let find = || between(&old, &new);
    within("100k lines, none the same", EACH, find, GIVEN, BUDGET);
    words()
}

const EACH: (u64, &str) = (1, "a difference");

fn between(old: &str, new: &str) -> FileDiff {
    FileDiff::between(Some(old.as_bytes()), Some(new.as_bytes()), BUDGET)
}

fn compare(what: &str, old: &[String], new: &[String]) {
    let (old_text, new_text) = (old.concat(), new.concat());
    let find = || between(&old_text, &new_text);
    let myers = || capture_diff_slices(Algorithm::Myers, old, new);
    beside(what, EACH, find, MYERS, myers);
}

/// The words of the rows of a large screen that differ.
fn words() -> Result {
    let old = numbered(60);
    let new: Vec<String> = old
        .iter()
        .map(|line| line.replace("compute", "find"))
        .collect();
    let emphasize = || {
        let rows = old.iter().zip(&new);
        rows.map(|(old, new)| word_emphasis(old, new).0.len())
            .sum::<usize>()
    };
    let split = |line: &String| line.split_word_bounds().count();
    let cut = || old.iter().chain(&new).map(split).sum::<usize>();
    beside("words of 60 rows", (60, "a row"), emphasize, CUT, cut);
    let long = |word: &str| format!("{word}({})", "value, ".repeat(500));
    let (one, two) = (long("compute"), long("find"));
    if word_emphasis(&one, &two).0.is_empty() {
        return Err("the long row is too long to be looked at".into());
    }
    let emphasize = || word_emphasis(&one, &two);
    beside(
        "words of a row of 3 KB",
        (1, "a row"),
        emphasize,
        CUT,
        || split(&one) + split(&two),
    );
    Ok(())
}
