//! Some lines of a file whose whole is not known.
//!
//! A partial read shows lines 40 to 80; an edit without a recorded pre-image shows the
//! lines it put in. These are kept by number, and the numbers move when an edit above
//! makes the file longer or shorter. A line is known whole or not at all.

use std::collections::BTreeMap;

use crate::model::KnownLines;

use super::edit::removed_text;
use super::{Anchor, EditError, Occurrences, Replacement};

/// The known lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sparse {
    /// By number from 1, each with its newline where it has one.
    lines: BTreeMap<u64, String>,
    /// How many lines the file has, where that is known.
    total: Option<u64>,
}

impl Sparse {
    /// The lines that an event tells of.
    pub fn of(known: &KnownLines) -> Self {
        let mut sparse = Self::default();
        sparse.observe(known);
        sparse
    }

    /// The lines as an event tells them.
    pub fn to_known(&self) -> KnownLines {
        let mut ranges: Vec<(u64, String)> = Vec::new();
        let mut next = 0;
        for (number, line) in &self.lines {
            match ranges.last_mut() {
                Some((_, text)) if *number == next => text.push_str(line),
                _ => ranges.push((*number, line.clone())),
            }
            next = number + 1;
        }
        KnownLines {
            total: self.total,
            ranges,
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.total.is_none()
    }

    /// The whole file, once every line of it is known.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let total = self.total?;
        let is_whole = self.lines.len() as u64 == total
            && self.lines.last_key_value().map_or(0, |(last, _)| *last) == total;
        is_whole.then(|| self.lines.values().flat_map(|line| line.bytes()).collect())
    }

    /// Takes what was seen; where it disagrees with what was known, the newer holds.
    pub fn observe(&mut self, seen: &KnownLines) {
        if let Some(total) = seen.total {
            self.total = Some(total);
            self.lines.split_off(&(total + 1));
        }
        for (number, line) in numbered(seen) {
            self.lines.insert(number, line.to_owned());
        }
        let last = self.lines.last_key_value().map(|(last, _)| *last);
        if last > self.total {
            self.total = None;
        }
    }

    /// Whether nothing that was seen speaks against what is known.
    pub fn agrees_with(&self, seen: &KnownLines) -> bool {
        let totals_agree = match (self.total, seen.total) {
            (Some(known), Some(seen)) => known == seen,
            _ => true,
        };
        totals_agree
            && numbered(seen).all(|(number, line)| {
                self.lines.get(&number).is_none_or(|known| known == line)
                    && self.total.is_none_or(|total| number <= total)
            })
    }

    /// Replaces a text: where the known lines show it, or else at the anchor.
    ///
    /// Without either, nothing is changed, and the error says so.
    pub fn replace(
        &mut self,
        replacement: &Replacement<'_>,
        anchor: Option<Anchor>,
    ) -> Result<(), EditError> {
        match replacement.which {
            Occurrences::Only => self.replace_one(replacement, anchor),
            Occurrences::All => self.replace_all(replacement),
        }
    }

    fn replace_one(
        &mut self,
        replacement: &Replacement<'_>,
        anchor: Option<Anchor>,
    ) -> Result<(), EditError> {
        let mut places = self.places(replacement.old);
        if let Some(anchor) = anchor {
            places.retain(|place| place.line == anchor.line);
        }
        match (places.as_slice(), anchor) {
            ([place], None) if place.may_begin_above(replacement.old) => Err(EditError::Unknown),
            ([place], _) => {
                self.replace_at(place, replacement);
                Ok(())
            }
            ([], Some(anchor)) => {
                self.replace_unseen(replacement, anchor);
                Ok(())
            }
            _ => Err(EditError::Unknown),
        }
    }

    /// Replaces a text in every known line. It must stand within one line, and so must what
    /// comes, or the unknown lines would decide about the known ones.
    fn replace_all(&mut self, replacement: &Replacement<'_>) -> Result<(), EditError> {
        let Replacement { old, new, .. } = *replacement;
        let is_within_lines = !old.contains('\n') && !new.contains('\n');
        if old.is_empty() || new.is_empty() || !is_within_lines {
            return Err(EditError::Unknown);
        }
        for line in self.lines.values_mut() {
            *line = line.replace(old, new);
        }
        Ok(())
    }

    /// Where a text stands within the known lines.
    fn places(&self, old: &str) -> Vec<Place> {
        if old.is_empty() {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (first, text) in self.to_known().ranges {
            for (at, _) in text.match_indices(old) {
                let above = text.get(..at).map_or(0, newlines);
                places.push(Place {
                    line: first + above,
                    first,
                    at,
                    text: text.clone(),
                });
            }
        }
        places
    }

    fn replace_at(&mut self, place: &Place, replacement: &Replacement<'_>) {
        let Replacement { old, new, .. } = *replacement;
        let removed = removed_text(place.text.as_bytes(), old, new);
        let (before, rest) = place.text.split_at_checked(place.at).unwrap_or_default();
        // The last known line may end the range, and its newline stand in it or not.
        let after = rest
            .strip_prefix(&removed)
            .or_else(|| rest.strip_prefix(old))
            .unwrap_or_default();
        let replaced = [before, new, after].concat();
        let old_lines = count_lines(&place.text);
        let end = place.first + old_lines;
        let reaches_end = self.total == Some(end - 1) || !place.text.ends_with('\n');
        // Short of the end, a line that lost its newline runs into one that is not known.
        let (kept, new_lines) = if reaches_end {
            (replaced.as_str(), count_lines(&replaced))
        } else {
            let kept = replaced.rfind('\n').and_then(|at| replaced.get(..=at));
            (kept.unwrap_or_default(), newlines(&replaced))
        };
        for number in place.first..end {
            self.lines.remove(&number);
        }
        self.shift(end, old_lines, new_lines);
        self.put(place.first, kept);
    }

    /// Replaces a text in lines that are not known; the anchor says where it begins.
    fn replace_unseen(&mut self, replacement: &Replacement<'_>, anchor: Anchor) {
        let Replacement { old, new, .. } = *replacement;
        let (gone, come) = (newlines(old), newlines(new));
        let takes_newline = new.is_empty() && !old.ends_with('\n') && anchor.ends_line;
        let ends_alike = old.ends_with('\n') && (new.ends_with('\n') || new.is_empty());
        let (gone, come) = match (takes_newline, anchor.starts_line) {
            (true, true) => (gone + 1, 0),
            (true, false) => (gone + 2, 1),
            (false, starts_line) if ends_alike && (starts_line || !new.is_empty()) => (gone, come),
            (false, _) => (gone + 1, come + 1),
        };
        for number in anchor.line..anchor.line + gone {
            self.lines.remove(&number);
        }
        self.shift(anchor.line + gone, gone, come);
        let mut starts_line = anchor.starts_line;
        for (number, line) in (anchor.line..).zip(new.split_inclusive('\n')) {
            if starts_line && line.ends_with('\n') {
                self.lines.insert(number, line.to_owned());
            } else if starts_line && anchor.ends_line {
                self.lines.insert(number, format!("{line}\n"));
            }
            starts_line = true;
        }
    }

    /// Moves the lines from `from` on, because `old` lines above became `new` ones.
    fn shift(&mut self, from: u64, old: u64, new: u64) {
        let moved = self.lines.split_off(&from);
        self.lines.extend(
            moved
                .into_iter()
                .map(|(number, line)| (number - old + new, line)),
        );
        self.total = self.total.map(|total| (total + new).saturating_sub(old));
    }

    /// Puts a text's lines from a number on.
    fn put(&mut self, first: u64, text: &str) {
        for (number, line) in (first..).zip(text.split_inclusive('\n')) {
            self.lines.insert(number, line.to_owned());
        }
    }
}

impl Place {
    /// Whether the text may really stand a little earlier, on lines that are not known: one
    /// that overlaps itself, such as two newlines, is found where the first of them begins.
    fn may_begin_above(&self, old: &str) -> bool {
        let overlaps_itself = old
            .char_indices()
            .skip(1)
            .filter_map(|(at, _)| old.get(at..))
            .any(|tail| old.starts_with(tail));
        self.first > 1 && self.at < old.len() && overlaps_itself
    }
}

/// A text found within a range of known lines.
struct Place {
    /// The line on which it begins.
    line: u64,
    /// The first line of the range.
    first: u64,
    /// Its offset in the range.
    at: usize,
    /// The range.
    text: String,
}

fn numbered(known: &KnownLines) -> impl Iterator<Item = (u64, &str)> {
    known
        .ranges
        .iter()
        .flat_map(|(first, text)| (*first..).zip(text.split_inclusive('\n')))
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

fn count_lines(text: &str) -> u64 {
    text.split_inclusive('\n').count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tools::edit;

    fn lines(total: Option<u64>, ranges: &[(u64, &str)]) -> KnownLines {
        let ranges = ranges.iter().map(|(at, text)| (*at, (*text).to_owned()));
        KnownLines {
            total,
            ranges: ranges.collect(),
        }
    }

    fn only<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
        Replacement {
            old,
            new,
            which: Occurrences::Only,
        }
    }

    #[test]
    fn edits_above_move_the_lines_below() {
        let mut sparse = Sparse::of(&lines(Some(9), &[(2, "b\nc\n"), (7, "g\n")]));
        sparse.replace(&only("b\n", "x\ny\n"), None).unwrap();
        let expected = lines(Some(10), &[(2, "x\ny\nc\n"), (8, "g\n")]);
        assert_eq!(sparse.to_known(), expected);
        sparse.replace(&only("c", ""), None).unwrap();
        let expected = lines(Some(9), &[(2, "x\ny\n"), (7, "g\n")]);
        assert_eq!(sparse.to_known(), expected);
    }

    #[test]
    fn an_edit_of_unseen_lines_shows_the_lines_it_put_in() {
        let check = |starts_line, ends_line, old, new, expected: &[(u64, &str)]| {
            let anchor = Anchor {
                line: 5,
                starts_line,
                ends_line,
            };
            let mut sparse = Sparse::of(&lines(None, &[(9, "z\n")]));
            sparse.replace(&only(old, new), Some(anchor)).unwrap();
            assert_eq!(sparse.to_known(), lines(None, expected), "{old:?} {new:?}");
        };
        check(true, true, "a\nb", "c", &[(5, "c\n"), (8, "z\n")]);
        check(false, true, "a\nb", "c\nd", &[(6, "d\n"), (9, "z\n")]);
        check(false, false, "a", "b\nc\nd", &[(6, "c\n"), (11, "z\n")]);
        check(true, false, "a\n", "b\nc\n", &[(5, "b\nc\n"), (10, "z\n")]);
        check(true, false, "a\n", "", &[(8, "z\n")]);
        check(true, true, "a", "", &[(8, "z\n")]);
        check(false, true, "a", "", &[(8, "z\n")]);
    }

    #[test]
    fn an_edit_without_a_place_changes_nothing() {
        let before = lines(None, &[(3, "a\n")]);
        let mut sparse = Sparse::of(&before);
        let error = sparse.replace(&only("b", "c"), None);
        assert_eq!(error, Err(EditError::Unknown));
        assert_eq!(sparse.to_known(), before);
    }

    #[test]
    fn a_text_that_overlaps_itself_is_not_placed_below_unknown_lines() {
        let seen = lines(None, &[(2, "\n\n")]);
        let mut sparse = Sparse::of(&seen);
        let error = sparse.replace(&only("\n\n", "\na"), None);
        assert_eq!(error, Err(EditError::Unknown));
        assert_eq!(sparse.to_known(), seen);
    }

    #[test]
    fn evidence_is_compared_and_taken() {
        let mut sparse = Sparse::of(&lines(None, &[(1, "a\n")]));
        assert!(sparse.agrees_with(&lines(Some(2), &[(2, "b")])));
        assert!(!sparse.agrees_with(&lines(None, &[(1, "x\n")])));
        sparse.observe(&lines(Some(2), &[(2, "b")]));
        assert_eq!(sparse.whole().as_deref(), Some(&b"a\nb"[..]));
        assert!(!sparse.agrees_with(&lines(None, &[(3, "c\n")])));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// However little is known, no line is ever claimed that the real edit contradicts.
        #[test]
        fn known_lines_stay_true(
            whole in proptest::collection::vec("[ab]{0,2}", 1..8),
            seen in proptest::collection::vec(any::<bool>(), 8),
            old in "[ab\n]{1,3}",
            new in "[abc\n]{0,4}",
            has_anchor in any::<bool>(),
            which in prop_oneof![Just(Occurrences::Only), Just(Occurrences::All)],
        ) {
            let text = whole.join("\n") + "\n";
            let replacement = Replacement { old: &old, new: &new, which };
            let Ok(after) = edit(text.as_bytes(), &replacement) else {
                return Ok(());
            };
            let after = String::from_utf8(after.bytes).unwrap();
            let mut sparse = Sparse::default();
            for ((number, line), _) in (1..).zip(text.split_inclusive('\n')).zip(&seen).filter(|(_, seen)| **seen) {
                sparse.observe(&lines(None, &[(number, line)]));
            }
            let at = text.find(&old).unwrap();
            let (above, below) = text.split_at(at);
            let anchor = Anchor {
                line: 1 + newlines(above),
                starts_line: above.is_empty() || above.ends_with('\n'),
                ends_line: below.strip_prefix(old.as_str()).unwrap().starts_with('\n'),
            };
            if sparse.replace(&replacement, has_anchor.then_some(anchor)).is_ok() {
                let truth: Vec<&str> = after.split_inclusive('\n').collect();
                for (number, line) in numbered(&sparse.to_known()) {
                    prop_assert_eq!(truth.get(number as usize - 1).copied(), Some(line), "line {}", number);
                }
            } else {
                prop_assert!(!has_anchor || which == Occurrences::All);
            }
        }
    }
}
