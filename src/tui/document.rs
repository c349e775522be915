//! A file's content as rows to show, made safe where they are looked at.
//!
//! Only the starts of the lines are kept: a file of a hundred megabytes costs its bytes
//! and four more a line, and a row costs what is seen of it. Nothing here is drawn.

use std::fmt::Write as _;

use crate::debugger::{FileContent, FileView};
use crate::model::KnownLines;
use crate::text::{LineEnds, SafeText};

/// The rows of a file.
#[derive(Debug)]
pub struct Document {
    content: FileContent,
    form: Form,
    badges: Vec<SafeText>,
}

#[derive(Debug)]
enum Form {
    /// Where each line starts.
    Text(Vec<usize>),
    /// Sixteen bytes a row.
    Binary,
    /// Lines and gaps between them.
    Parts(Vec<Part>),
    /// Nothing is known.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    /// The line with this number, at this offset of this range.
    Line {
        number: u64,
        range: usize,
        start: usize,
    },
    /// Lines from the first to before the second, from 1, are not known.
    Gap { from: u64, to: Option<u64> },
}

/// A row of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentRow {
    /// A line.
    Line {
        /// Its number, from 1.
        number: u64,
        /// Its beginning, at least as long as was asked.
        text: SafeText,
    },
    /// Sixteen bytes of a file that is no text.
    Bytes {
        /// The offset of the first.
        offset: u64,
        /// The bytes in hexadecimal and as characters.
        text: SafeText,
    },
    /// Lines that are not known.
    Gap {
        /// The first, from 1.
        from: u64,
        /// The first that is known again; `None` when nothing is known of the end.
        to: Option<u64>,
    },
}

/// Bytes of one row of a file that is no text.
const BYTES_A_ROW: usize = 16;

/// No line is read further: nobody scrolls there, and a line may be the whole file.
const LONGEST_LINE: usize = 1 << 20;

/// Documents are told apart by where they are: to compare bytes would cost too much.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Document {
    /// The rows of what is known of a file.
    pub fn of(view: &FileView) -> Self {
        Self::of_content(view.content.clone())
    }

    /// The rows of a content.
    pub fn of_content(content: FileContent) -> Self {
        let (form, badges) = match &content {
            FileContent::Bytes(bytes) if is_binary(bytes) => {
                (Form::Binary, vec![SafeText::literal("binary")])
            }
            FileContent::Bytes(bytes) => (Form::Text(line_starts(bytes)), badges(bytes)),
            FileContent::Lines(lines) => (Form::Parts(parts(lines)), Vec::new()),
            FileContent::Nothing(_) => (Form::Nothing, Vec::new()),
        };
        Self {
            content,
            form,
            badges,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match (&self.form, &self.content) {
            (Form::Text(starts), _) => starts.len(),
            (Form::Binary, FileContent::Bytes(bytes)) => bytes.len().div_ceil(BYTES_A_ROW),
            (Form::Parts(parts), _) => parts.len(),
            (Form::Binary | Form::Nothing, _) => 0,
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What to say of the content as a whole, in a word or two each.
    pub fn badges(&self) -> &[SafeText] {
        &self.badges
    }

    /// Why there is nothing to show, if nothing is known.
    pub fn absence(&self) -> Option<&SafeText> {
        match &self.content {
            FileContent::Nothing(why) => Some(why),
            FileContent::Bytes(_) | FileContent::Lines(_) => None,
        }
    }

    /// The content, exact, as far as it is known.
    pub fn bytes(&self) -> Vec<u8> {
        content_bytes(&self.content)
    }

    /// Whether both show the same content.
    pub fn has_content_of(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (FileContent::Bytes(left), FileContent::Bytes(right)) => left == right,
            (FileContent::Lines(left), FileContent::Lines(right)) => left == right,
            (FileContent::Nothing(left), FileContent::Nothing(right)) => left == right,
            _ => false,
        }
    }

    /// The greatest line number or offset, for the width of its column.
    pub fn last_number(&self) -> u64 {
        match &self.form {
            Form::Text(starts) => starts.len() as u64,
            Form::Binary => (self.len().saturating_sub(1) * BYTES_A_ROW) as u64,
            Form::Parts(parts) => parts.last().map_or(0, |part| match part {
                Part::Line { number, .. } => *number,
                Part::Gap { from, to } => to.unwrap_or(*from),
            }),
            Form::Nothing => 0,
        }
    }

    /// The text of a line, exact, without its end; `None` for rows that are no line.
    pub fn line(&self, index: usize) -> Option<&[u8]> {
        let line = self.exact_line(index)?;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The text of a line, exact, with its end.
    pub(super) fn exact_line(&self, index: usize) -> Option<&[u8]> {
        match (&self.form, &self.content) {
            (Form::Text(starts), FileContent::Bytes(bytes)) => {
                let start = *starts.get(index)?;
                let end = starts.get(index + 1).copied().unwrap_or(bytes.len());
                bytes.get(start..end)
            }
            (Form::Parts(parts), FileContent::Lines(lines)) => match parts.get(index)? {
                Part::Line { range, start, .. } => {
                    let (_, text) = lines.ranges.get(*range)?;
                    let line = text.get(*start..)?.split_inclusive('\n').next()?;
                    Some(line.as_bytes())
                }
                Part::Gap { .. } => None,
            },
            _ => None,
        }
    }

    /// A row, of which at least the first `columns` are right.
    pub fn row(&self, index: usize, columns: usize) -> Option<DocumentRow> {
        match (&self.form, &self.content) {
            (Form::Text(_), _) => Some(DocumentRow::Line {
                number: index as u64 + 1,
                text: beginning(self.line(index)?, columns),
            }),
            (Form::Binary, FileContent::Bytes(bytes)) => {
                let offset = index * BYTES_A_ROW;
                let end = bytes.len().min(offset + BYTES_A_ROW);
                let row = bytes.get(offset..end).filter(|row| !row.is_empty())?;
                Some(DocumentRow::Bytes {
                    offset: offset as u64,
                    text: hexadecimal(row),
                })
            }
            (Form::Parts(parts), _) => match *parts.get(index)? {
                Part::Gap { from, to } => Some(DocumentRow::Gap { from, to }),
                Part::Line { number, .. } => Some(DocumentRow::Line {
                    number,
                    text: beginning(self.line(index)?, columns),
                }),
            },
            (Form::Binary | Form::Nothing, _) => None,
        }
    }
}

/// The bytes of a content, exact, as far as they are known.
pub(super) fn content_bytes(content: &FileContent) -> Vec<u8> {
    match content {
        FileContent::Bytes(bytes) => bytes.to_vec(),
        FileContent::Lines(lines) => {
            let texts = lines.ranges.iter().map(|(_, text)| text.as_str());
            texts.collect::<String>().into_bytes()
        }
        FileContent::Nothing(_) => Vec::new(),
    }
}

/// git's rule: a NUL among the first 8000 bytes.
fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes.get(..8000).unwrap_or(bytes)).is_some()
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let after = memchr::memchr_iter(b'\n', bytes).map(|newline| newline + 1);
    std::iter::once(0)
        .chain(after)
        .filter(|start| *start < bytes.len())
        .collect()
}

fn badges(bytes: &[u8]) -> Vec<SafeText> {
    let mut badges = Vec::new();
    match LineEnds::of(bytes) {
        LineEnds::None | LineEnds::Lf => {}
        LineEnds::CrLf => badges.push(SafeText::literal("CRLF line ends")),
        LineEnds::Mixed => badges.push(SafeText::literal("mixed line ends")),
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        badges.push(SafeText::literal("byte order mark"));
    }
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        badges.push(SafeText::literal("no newline at end"));
    }
    badges
}

fn parts(lines: &KnownLines) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut next = 1;
    for (range, (first, text)) in lines.ranges.iter().enumerate() {
        if *first > next {
            parts.push(Part::Gap {
                from: next,
                to: Some(*first),
            });
        }
        next = *first;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            parts.push(Part::Line {
                number: next,
                range,
                start,
            });
            next += 1;
            start += line.len();
        }
    }
    match lines.total {
        Some(total) if total < next => {}
        Some(total) => parts.push(Part::Gap {
            from: next,
            to: Some(total + 1),
        }),
        None => parts.push(Part::Gap {
            from: next,
            to: None,
        }),
    }
    parts
}

/// As much of a line as `columns` can need: a column takes some bytes, and a character
/// with many marks on it takes more. A cut never splits a character.
fn beginning(line: &[u8], columns: usize) -> SafeText {
    let enough = columns
        .saturating_mul(8)
        .saturating_add(64)
        .min(LONGEST_LINE);
    let Some((start, rest)) = line.split_at_checked(enough) else {
        return SafeText::from_bytes(line);
    };
    let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let inside = rest.iter().take(3).take_while(is_inside).count();
    let end = start.len() + inside;
    SafeText::from_bytes(line.get(..end).unwrap_or(start))
}

fn hexadecimal(row: &[u8]) -> SafeText {
    let mut text = String::with_capacity(BYTES_A_ROW * 4 + 4);
    for index in 0..BYTES_A_ROW {
        match row.get(index) {
            Some(byte) => {
                let _ = write!(text, "{byte:02x} ");
            }
            None => text.push_str("   "),
        }
        if index == BYTES_A_ROW / 2 - 1 {
            text.push(' ');
        }
    }
    text.push(' ');
    text.extend(row.iter().map(|byte| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '·',
    }));
    SafeText::line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debugger::Versions;
    use crate::model::{Certainty, EntryKind, TapePath};

    fn document(content: FileContent) -> Document {
        Document::of(&FileView {
            path: TapePath::new("a").unwrap(),
            kind: EntryKind::File,
            certainty: Certainty::Exact,
            mode: None,
            content,
            remarks: Vec::new(),
            versions: Versions::default(),
        })
    }

    fn shown(content: FileContent) -> Vec<String> {
        let document = document(content);
        let rows = (0..=document.len()).filter_map(|index| document.row(index, 80));
        rows.map(|row| match row {
            DocumentRow::Line { number, text } => format!("{number} {text}"),
            DocumentRow::Bytes { offset, text } => format!("{offset:x} {text}"),
            DocumentRow::Gap { from, to } => format!("{from}..{to:?}"),
        })
        .collect()
    }

    fn bytes(bytes: &[u8]) -> FileContent {
        FileContent::Bytes(bytes.into())
    }

    #[test]
    fn text_becomes_numbered_lines() {
        assert_eq!(shown(bytes(b"")), [] as [&str; 0]);
        assert_eq!(shown(bytes(b"a\n\nb")), ["1 a", "2 ", "3 b"]);
        assert_eq!(shown(bytes(b"a\r\n\x1b[2J\n")), ["1 a", "2 ^[[2J"]);
    }

    #[test]
    fn what_is_known_of_a_file_shows_its_gaps() {
        let lines = |total, ranges: &[(u64, &str)]| {
            shown(FileContent::Lines(KnownLines {
                total,
                ranges: ranges
                    .iter()
                    .map(|(n, text)| (*n, (*text).to_owned()))
                    .collect(),
            }))
        };
        assert_eq!(
            lines(None, &[(3, "c\nd\n")]),
            ["1..Some(3)", "3 c", "4 d", "5..None"]
        );
        assert_eq!(lines(Some(2), &[(1, "a\nb")]), ["1 a", "2 b"]);
        assert_eq!(
            lines(Some(9), &[(1, "a\n"), (5, "e\n")]),
            ["1 a", "2..Some(5)", "5 e", "6..Some(10)"]
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_numbers() {
        let rows = shown(bytes(b"\0\x1babcdefghijklmnop"));
        assert_eq!(
            rows,
            [
                "0 00 1b 61 62 63 64 65 66  67 68 69 6a 6b 6c 6d 6e  ··abcdefghijklmn",
                "10 6f 70                                             op",
            ]
        );
    }

    #[test]
    fn a_content_says_what_is_odd_about_it() {
        let check = |content: &[u8], expected: &[&str]| {
            let document = document(bytes(content));
            let badges: Vec<&str> = document.badges().iter().map(SafeText::as_str).collect();
            assert_eq!(badges, expected);
        };
        check(b"a\n", &[]);
        check(
            b"\xEF\xBB\xBFa\r\nb",
            &["CRLF line ends", "byte order mark", "no newline at end"],
        );
        check(b"\0", &["binary"]);
    }

    #[test]
    fn a_line_as_long_as_a_file_costs_what_is_seen_of_it() {
        let line = "ä".repeat(1_000_000);
        let document = document(bytes(line.as_bytes()));
        let Some(DocumentRow::Line { text, .. }) = document.row(0, 99) else {
            panic!("no line");
        };
        assert!(text.as_str().chars().all(|c| c == 'ä'));
        assert!((99..2000).contains(&text.as_str().len()));
    }
}
