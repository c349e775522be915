//! What of an output decides whether a call failed in the same way.
//!
//! The lines that tell of a failure; where none does, the last one. Where in a file something
//! stands, and how much went well beside it, do not count: fewer files have fewer lines and
//! fewer tests. What differs by itself from run to run does not count either.

use crate::replay::{Volatile, Wording};

/// What a line holds that tells of a failure, in small letters.
const TELLING: [&str; 18] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "abort",
    "assert",
    "not ok",
    "cannot",
    "can't",
    "no such",
    "not found",
    "denied",
    "unexpected",
    "mismatch",
    "traceback",
    "undefined",
    "invalid",
];

/// What is counted that does not fail.
const WELL: [&str; 10] = [
    "passed", "ok", "skipped", "ignored", "measured", "filtered", "total", "tests", "test",
    "warnings",
];

/// The decisive part of an output.
pub(super) fn decisive(output: &str, volatile: &Volatile) -> Vec<String> {
    let mut form = String::new();
    volatile.canonical(output, Wording::Printed, &mut form);
    let lines = || form.lines().filter(|line| !line.trim().is_empty());
    let is_telling = |line: &&str| {
        let small = line.to_lowercase();
        TELLING.iter().any(|word| small.contains(word))
    };
    let mut telling: Vec<String> = lines().filter(is_telling).map(settled).collect();
    if telling.is_empty() {
        telling.extend(lines().next_back().map(settled));
    }
    telling
}

/// A line without the numbers that say where something stands, or how much went well.
fn settled(line: &str) -> String {
    let mut settled = String::with_capacity(line.len());
    let mut rest = line.trim();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        settled.push_str(before);
        let digits = from.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = from.split_at_checked(digits).unwrap_or((from, ""));
        let is_place = settled.ends_with(':') || settled.to_lowercase().ends_with("line ");
        let word = after.trim_start_matches(' ');
        let word = word.split(|c: char| !c.is_ascii_alphabetic()).next();
        let is_well = after.starts_with(' ') && word.is_some_and(|word| WELL.contains(&word));
        settled.push_str(if is_place || is_well { "#" } else { number });
        rest = after;
    }
    settled.push_str(rest);
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: &[&str]) {
        let volatile = Volatile::new(Some("/w"));
        assert_eq!(decisive(output, &volatile), expected, "{output:?}");
    }

    #[test]
    fn what_failed_counts_and_what_went_well_does_not() {
        check(
            "ok    a plain cart\nFAIL  ten percent off: wanted 37.80, got 32.00\n1 failed\n",
            &["FAIL  ten percent off: wanted 37.80, got 32.00", "1 failed"],
        );
        check(
            "test result: FAILED. 12 passed; 1 failed; 0 ignored; finished in 0.02s",
            &["test result: FAILED. # passed; 1 failed; # ignored; finished in <duration>"],
        );
        check(
            "running\n  File \"/w/a.py\", line 7, in f\nValueError: 3 is not 4\n",
            &["ValueError: 3 is not 4"],
        );
        check("src/a.rs:12:5: error: no", &["src/a.rs:#:#: error: no"]);
        check("awk: line 9: syntax error", &["awk: line #: syntax error"]);
    }

    #[test]
    fn without_a_telling_line_the_last_one_counts() {
        check("one\ntwo\n\n", &["two"]);
        check(" \n", &[]);
        check("", &[]);
    }
}
