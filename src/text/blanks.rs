//! Blanks that are seen: a sign for each space, tab and line end of a line.
//!
//! The line takes the same columns as without the signs, and what is known of its bytes
//! (colours, emphasis) is found again by [`SeenBlanks::plain`].

use std::ops::Range;

use super::sanitize::{SafeText, TAB};
use super::width::width;

/// A line whose blanks are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenBlanks {
    /// The line: `·` for a space, `→` for a tab, `↵` or `^M↵` for its end.
    pub text: SafeText,
    /// Where the signs are, and how many bytes more than in the plain text there are after.
    signs: Vec<(Range<usize>, usize)>,
}

impl SeenBlanks {
    /// The line with its blanks seen; `end` is how it ends.
    pub fn of(line: &[u8], end: &[u8]) -> Self {
        let mut seen = Self::default();
        let mut column = 0;
        for piece in line.split_inclusive(|byte| matches!(byte, b' ' | b'\t')) {
            let (words, blank) = match piece.split_last() {
                Some((blank @ (b' ' | b'\t'), words)) => (words, Some(*blank)),
                _ => (piece, None),
            };
            let words = SafeText::from_bytes(words);
            column += width(&words);
            seen.text.push(&words);
            column += match blank {
                None => 0,
                Some(b'\t') => {
                    let columns = TAB - column % TAB;
                    seen.sign("→", columns);
                    columns
                }
                Some(_) => {
                    seen.sign("·", 1);
                    1
                }
            };
        }
        seen.end(end);
        seen
    }

    /// The line as usual, and only its end seen.
    pub fn of_end(line: &[u8], end: &[u8]) -> Self {
        let mut seen = Self {
            text: SafeText::from_bytes(line),
            signs: Vec::new(),
        };
        seen.end(end);
        seen
    }

    /// A carriage return looks as it does wherever it is shown and not obeyed.
    fn end(&mut self, end: &[u8]) {
        match end {
            b"\r\n" => self.sign("^M↵", 0),
            b"\n" => self.sign("↵", 0),
            _ => {}
        }
    }

    /// Writes a sign, and blanks up to the columns that the plain text has there.
    fn sign(&mut self, sign: &'static str, columns: usize) {
        let start = self.text.as_str().len();
        self.text.push(&SafeText::literal(sign));
        self.text.push(&SafeText::spaces(columns.saturating_sub(1)));
        let end = self.text.as_str().len();
        let before = self.signs.last().map_or(0, |(_, more)| *more);
        self.signs
            .push((start..end, before + (end - start) - columns));
    }

    /// The first byte of the plain text that the sign at a byte of this one stands for; `None`
    /// outside signs, and in the sign of an end.
    pub fn blank(&self, at: usize) -> Option<usize> {
        let index = self.signs.partition_point(|(sign, _)| sign.end <= at);
        let (sign, more) = self.signs.get(index)?;
        let before = index
            .checked_sub(1)
            .and_then(|before| self.signs.get(before));
        let before = before.map_or(0, |(_, more)| *more);
        let is_end = sign.end - sign.start == more - before;
        (sign.contains(&at) && !is_end).then(|| sign.start - before)
    }

    /// The byte of the plain text that a byte of this one stands for; `None` in a sign.
    pub fn plain(&self, at: usize) -> Option<usize> {
        let next = self.signs.partition_point(|(sign, _)| sign.end <= at);
        if self
            .signs
            .get(next)
            .is_some_and(|(sign, _)| sign.contains(&at))
        {
            return None;
        }
        let more = next.checked_sub(1).and_then(|last| self.signs.get(last));
        Some(at - more.map_or(0, |(_, more)| *more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_blank_has_a_sign() {
        let check = |line: &str, end: &str, expected: &str| {
            let seen = SeenBlanks::of(line.as_bytes(), end.as_bytes());
            assert_eq!(seen.text.as_str(), expected, "{line:?}");
        };
        check("", "\n", "↵");
        check("a  b ", "\r\n", "a··b·^M↵");
        check("\tif\tx", "", "→   if→ x");
        check("漢\tx", "\n", "漢→ x↵");
        check("\u{1b}[2J x", "\n", "^[[2J·x↵");
    }

    #[test]
    fn a_sign_knows_the_blank_it_stands_for() {
        let seen = SeenBlanks::of(b"a b\tc", b"\n");
        let blanks: Vec<(usize, Option<usize>)> = seen
            .text
            .as_str()
            .char_indices()
            .filter(|(_, character)| matches!(character, '·' | '→' | '↵'))
            .map(|(at, _)| (at, seen.blank(at)))
            .collect();
        let plain: Vec<Option<usize>> = blanks.iter().map(|(_, plain)| *plain).collect();
        assert_eq!(plain, [Some(1), Some(3), None]);
        assert_eq!(seen.blank(0), None);
    }

    #[test]
    fn columns_and_bytes_are_those_of_the_plain_line() {
        for line in ["a b\tc  ", "\t\tlet x = 1;", "é\t漢 字\t\u{202e}x", " "] {
            let plain = SafeText::line(line);
            let seen = SeenBlanks::of(line.as_bytes(), b"");
            assert_eq!(width(&seen.text), width(&plain), "{line:?}");
            for (at, character) in seen.text.as_str().char_indices() {
                if let Some(there) = seen.plain(at) {
                    let rest = plain.as_str().get(there..).unwrap();
                    assert!(rest.starts_with(character), "{line:?} at {at}");
                }
            }
        }
    }
}
