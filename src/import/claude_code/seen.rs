//! What a read shows of a file: all of it, or some lines.

use std::borrow::Cow;

use crate::model::KnownLines;

use super::record::FilePart;

/// What something shows of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen<'a> {
    /// All of it.
    Whole(Cow<'a, str>),
    /// Some lines.
    Lines(KnownLines),
}

impl<'a> Seen<'a> {
    /// What a read returned. Its numbers count the empty line behind a last newline.
    pub(super) fn of(part: &'a FilePart<'_>) -> Option<Self> {
        let text = part.content.get()?;
        let first = part.start_line.0?.max(1);
        let (shown, total) = (part.num_lines.0?, part.total_lines.0?);
        let is_cut = part.truncated_by_token_cap.0;
        if first == 1 && shown == total && !is_cut {
            return Some(Self::Whole(Cow::Borrowed(text)));
        }
        let reaches_end = first + shown > total && !is_cut;
        let (text, total) = match text.rsplit_once('\n') {
            _ if !reaches_end && !is_cut => (format!("{text}\n"), None),
            // The last line of a cut text may be cut itself.
            Some((whole, _)) if is_cut => (format!("{whole}\n"), None),
            None if is_cut => return None,
            Some((_, "")) => (text.to_owned(), Some(total - 1)),
            _ => (text.to_owned(), Some(total)),
        };
        Some(Self::Lines(KnownLines {
            total,
            ranges: vec![(first, text)],
        }))
    }

    /// Lines with their numbers before them, as the model sees a file. What follows the
    /// last numbered line is no part of the file.
    pub(super) fn numbered(text: &str) -> Option<Self> {
        let mut first = None;
        let mut next = 0;
        let mut lines = String::new();
        for line in text.lines() {
            let Some((number, line)) = number_before(line) else {
                break;
            };
            if first.is_some() && number != next {
                break;
            }
            first = first.or(Some(number));
            next = number + 1;
            lines.push_str(line);
            lines.push('\n');
        }
        Some(Self::Lines(KnownLines {
            total: None,
            ranges: vec![(first?, lines)],
        }))
    }
}

/// `   12→text` or `12<tab>text`.
fn number_before(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(' ');
    let (number, rest) = line.split_once(['→', '\t'])?;
    let number = number.parse().ok().filter(|number| *number > 0)?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: u64, text: &str, total: Option<u64>) -> Seen<'static> {
        let ranges = vec![(first, text.to_owned())];
        Seen::Lines(KnownLines { total, ranges })
    }

    #[test]
    fn a_read_shows_all_or_some_lines() {
        let check = |part: &str, expected: Option<Seen<'_>>| {
            let part: FilePart<'_> = serde_json::from_str(part).unwrap();
            assert_eq!(Seen::of(&part), expected);
        };
        let whole = Some(Seen::Whole("a\n".into()));
        check(
            r#"{"content":"a\n","startLine":1,"numLines":2,"totalLines":2}"#,
            whole,
        );
        // The empty line behind the last newline is counted, and is none.
        check(
            r#"{"content":"b\n","startLine":2,"numLines":2,"totalLines":3}"#,
            Some(lines(2, "b\n", Some(2))),
        );
        check(
            r#"{"content":"b","startLine":2,"numLines":1,"totalLines":2}"#,
            Some(lines(2, "b", Some(2))),
        );
        check(
            r#"{"content":"a","startLine":1,"numLines":1,"totalLines":9}"#,
            Some(lines(1, "a\n", None)),
        );
        check(
            r#"{"content":"a\nb","startLine":1,"numLines":2,"totalLines":2,"truncatedByTokenCap":true}"#,
            Some(lines(1, "a\n", None)),
        );
        check(r#"{"content":"a"}"#, None);
    }

    #[test]
    fn numbers_before_lines_are_read() {
        let check = |text: &str, expected| assert_eq!(Seen::numbered(text), expected, "{text:?}");
        check("     7→a\n     8→\tb", Some(lines(7, "a\n\tb\n", None)));
        check(
            "1\ta\n2\tb\n\n<system-reminder>3\tx",
            Some(lines(1, "a\nb\n", None)),
        );
        check("no lines", None);
    }
}
