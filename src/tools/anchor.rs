//! Where an edit took place, from the patch that Claude Code shows with it.
//!
//! The patch is a *display*: tabs are shown as two spaces, so its text is never applied.
//! Its line numbers are right, and that is all that is taken from it.

use std::collections::BTreeMap;

use super::Replacement;

/// Where the text that an edit replaced begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The line, from 1.
    pub line: u64,
    /// Nothing stands before the text on its first line.
    pub starts_line: bool,
    /// A newline follows the text.
    pub ends_line: bool,
}

/// One hunk of a displayed patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayHunk {
    /// The number of its first line in the file before the edit.
    pub old_start: u64,
    /// Its lines, each with ` `, `-`, `+` or `\` before it.
    pub lines: Vec<String>,
}

impl Anchor {
    /// The only place that fits the patch; `None` when none or more than one does.
    pub fn find(hunks: &[DisplayHunk], replacement: &Replacement<'_>) -> Option<Self> {
        let shown = Shown::of(hunks);
        let old: Vec<String> = replacement.old.split('\n').map(displayed).collect();
        let (first, last) = shown.changed?;
        let span = old.len() as u64;
        let lowest = (last + 1).saturating_sub(span).max(1);
        let mut fitting = (lowest..=first).rev().filter(|line| shown.has(&old, *line));
        match (fitting.next(), fitting.next()) {
            (Some(line), None) => Some(shown.anchor(&old, line)),
            _ => None,
        }
    }
}

/// The old side of a patch.
struct Shown<'a> {
    lines: BTreeMap<u64, &'a str>,
    /// The first and the last line that the edit must touch.
    changed: Option<(u64, u64)>,
}

impl<'a> Shown<'a> {
    fn of(hunks: &'a [DisplayHunk]) -> Self {
        let mut shown = Self {
            lines: BTreeMap::new(),
            changed: None,
        };
        for hunk in hunks {
            let mut number = hunk.old_start.max(1);
            for line in &hunk.lines {
                let (sign, text) = line.split_at_checked(1).unwrap_or_default();
                match sign {
                    " " | "-" => {
                        shown.lines.insert(number, text);
                        if sign == "-" {
                            shown.touch(number, number);
                        }
                        number += 1;
                    }
                    // Put in between two lines: the edit touches one of them.
                    "+" => shown.touch(number, number.saturating_sub(1)),
                    _ => {}
                }
            }
        }
        shown
    }

    fn touch(&mut self, first: u64, last: u64) {
        let (low, high) = self.changed.unwrap_or((first, last));
        self.changed = Some((low.min(first), high.max(last)));
    }

    /// Whether a text that begins on this line agrees with all that is shown.
    fn has(&self, old: &[String], line: u64) -> bool {
        let end = old.len() - 1;
        old.iter().enumerate().all(|(index, text)| {
            let Some(shown) = self.lines.get(&(line + index as u64)) else {
                return true;
            };
            match (index == 0, index == end) {
                (true, true) => shown.contains(text.as_str()),
                (true, false) => shown.ends_with(text.as_str()),
                (false, true) => shown.starts_with(text.as_str()),
                (false, false) => shown == text,
            }
        })
    }

    fn anchor(&self, old: &[String], line: u64) -> Anchor {
        let end = line + old.len() as u64 - 1;
        let is_edge = |number: u64, text: Option<&String>, edge: fn(&str, &str) -> bool| {
            self.lines
                .get(&number)
                .zip(text)
                .is_some_and(|(shown, text)| edge(shown, text))
        };
        let ends_itself = old.len() > 1 && old.last().is_some_and(String::is_empty);
        Anchor {
            line,
            starts_line: is_edge(line, old.first(), |shown, text| shown.starts_with(text))
                && (old.len() == 1 || is_edge(line, old.first(), |shown, text| shown == text)),
            ends_line: !ends_itself
                && self.lines.contains_key(&(end + 1))
                && is_edge(end, old.last(), |shown, text| shown.ends_with(text))
                && (old.len() == 1 || is_edge(end, old.last(), |shown, text| shown == text)),
        }
    }
}

fn displayed(line: &str) -> String {
    line.replace('\t', "  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Occurrences;

    fn find(old_start: u64, lines: &[&str], old: &str, new: &str) -> Option<Anchor> {
        let hunk = DisplayHunk {
            old_start,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let replacement = Replacement {
            old,
            new,
            which: Occurrences::Only,
        };
        Anchor::find(&[hunk], &replacement)
    }

    #[test]
    fn the_place_is_found_by_what_is_shown() {
        let check = |lines: &[&str], old, new, expected: Option<(u64, bool, bool)>| {
            let found = find(10, lines, old, new);
            let found = found.map(|at| (at.line, at.starts_line, at.ends_line));
            assert_eq!(found, expected, "{old:?}");
        };
        let changed = [" a", "-  b", "+  c", " d"];
        check(&changed, "\tb", "\tc", Some((11, true, true)));
        check(&changed, "b", "c", Some((11, false, true)));
        check(&changed, "a\n\tb\n", "a\n\tc\n", Some((10, true, false)));
        check(&changed, "x", "y", None);

        let inserted = [" a", " b", "+c", " d"];
        check(&inserted, "b", "b\nc", Some((11, true, true)));
        check(&inserted, "d", "c\nd", Some((12, true, false)));
        // Lines above the hunk's context belong to the text as well.
        check(&inserted, "z\na\nb", "z\na\nb\nc", Some((9, false, true)));
    }

    #[test]
    fn two_places_that_fit_are_none() {
        assert_eq!(find(1, &[" a", "+a", " a"], "a", "a\na"), None);
    }
}
