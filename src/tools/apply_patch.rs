//! `apply_patch`: the patch language of Codex.
//!
//! A patch adds, deletes and updates files. An update's chunks are found by their text, not
//! by line numbers, in up to four ever laxer ways ([`seek`](mod@seek)). The rules are
//! those of the tool. Files of CRLF keep it: a chunk's lines match
//! modulo the carriage return, and new lines are given one.
//!
//! Nothing here knows where files are: a path is text as the patch has it, and an update
//! gets the bytes it is made on.

mod parse;
mod seek;

use super::Edited;
use super::line_endings::{LINE_ENDINGS_ASSUMED, is_crlf};

/// A parsed patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// What it does to which file, in order. A later failure leaves the earlier ones done.
    pub hunks: Vec<Hunk>,
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hunk {
    /// Writes a file, whether it is there or not.
    Add {
        /// The path.
        path: String,
        /// All it holds then.
        content: String,
    },
    /// Removes a file.
    Delete {
        /// The path.
        path: String,
    },
    /// Changes a file, and may give it another path.
    Update {
        /// The path.
        path: String,
        /// The new path, over whatever is there.
        move_to: Option<String>,
        /// The changes, from top to bottom.
        chunks: Vec<Chunk>,
    },
}

/// One change within a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The line of the patch on which it begins, from 1.
    pub line: usize,
    /// A line to look for first; the change is below it.
    pub context: Option<String>,
    /// The lines that are looked for and go.
    pub old: Vec<String>,
    /// The lines that come.
    pub new: Vec<String>,
    /// The old lines are the last ones of the file.
    pub is_at_end: bool,
}

/// A patch cannot be read, or does not fit the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {what}")]
pub struct PatchError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl Patch {
    /// Reads a patch.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        parse::patch(text)
    }

    /// Makes an update's chunks on a file.
    pub fn update(before: &[u8], chunks: &[Chunk]) -> Result<Edited, PatchError> {
        let text = String::from_utf8_lossy(before);
        let crlf = is_crlf(before);
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let found = places(&lines, chunks)?;
        let new: Vec<Vec<String>> = found
            .iter()
            .map(|place| place.new.iter().map(|line| ended(line, crlf)).collect())
            .collect();
        for (place, new) in found.iter().zip(&new).rev() {
            let end = place.at + place.len;
            lines.splice(place.at..end, new.iter().map(String::as_str));
        }
        if lines.last() != Some(&"") {
            lines.push("");
        }
        Ok(Edited {
            bytes: lines.join("\n").into_bytes(),
            remark: crlf.then_some(LINE_ENDINGS_ASSUMED),
        })
    }
}

fn ended(line: &str, crlf: bool) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if crlf {
        format!("{line}\r")
    } else {
        line.to_owned()
    }
}

/// Lines that go, and what comes instead.
struct Place<'a> {
    at: usize,
    len: usize,
    new: &'a [String],
}

/// Finds where each chunk belongs, each below the one before.
fn places<'a>(lines: &[&str], chunks: &'a [Chunk]) -> Result<Vec<Place<'a>>, PatchError> {
    let mut found = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        let missing = |what: String| PatchError {
            line: chunk.line,
            what,
        };
        if let Some(context) = &chunk.context {
            let at = seek::seek(
                lines,
                std::slice::from_ref(context),
                from,
                seek::From::Cursor,
            )
            .ok_or_else(|| missing(format!("the file has no line “{context}” to go on from")))?;
            from = at + 1;
        }
        if chunk.old.is_empty() {
            // Nothing to look for: at the end, before an empty last line.
            let at = lines.len() - usize::from(lines.last() == Some(&""));
            found.push(Place {
                at,
                len: 0,
                new: &chunk.new,
            });
            continue;
        }
        let start = if chunk.is_at_end {
            seek::From::End
        } else {
            seek::From::Cursor
        };
        let (mut old, mut new) = (chunk.old.as_slice(), chunk.new.as_slice());
        let mut at = seek::seek(lines, old, from, start);
        if let (None, Some(rest)) = (at, without_empty_last(old)) {
            old = rest;
            new = without_empty_last(new).unwrap_or(new);
            at = seek::seek(lines, old, from, start);
        }
        let at = at.ok_or_else(|| {
            let expected = chunk.old.first().map_or("", String::as_str);
            missing(format!(
                "the file does not hold the expected lines, from “{expected}” on"
            ))
        })?;
        from = at + old.len();
        found.push(Place {
            at,
            len: old.len(),
            new,
        });
    }
    found.sort_by_key(|place| place.at);
    Ok(found)
}

fn without_empty_last(lines: &[String]) -> Option<&[String]> {
    let (last, rest) = lines.split_last()?;
    last.is_empty().then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn update(before: &str, body: &str) -> Result<String, String> {
        let text = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n");
        let patch = Patch::parse(&text).map_err(|error| error.to_string())?;
        let [Hunk::Update { chunks, .. }] = patch.hunks.as_slice() else {
            return Err(format!("{patch:?}"));
        };
        let edited = Patch::update(before.as_bytes(), chunks).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(edited.bytes).unwrap())
    }

    fn check(before: &str, body: &str, after: &str) {
        assert_eq!(update(before, body).as_deref(), Ok(after), "{body}");
    }

    #[test]
    fn chunks_are_made_where_their_lines_stand() {
        check("a\nb\nc\n", "@@\n a\n-b\n+B", "a\nB\nc\n");
        check("a\nb\na\nb\n", "@@\n-b\n+1\n@@\n-b\n+2", "a\n1\na\n2\n");
        check("f\nx\ng\nx\n", "@@ g\n-x\n+y", "f\nx\ng\ny\n");
        check("a\n", "@@\n+end", "a\nend\n");
        check("a", "@@\n-a\n+b", "b\n");
        check("a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n");
        check("x\na\nx\n", "@@\n-x\n+y\n*** End of File", "x\na\ny\n");
        check("a\n", " a\n+b", "a\nb\n");
    }

    #[test]
    fn lines_match_ever_more_laxly() {
        check("a  \nb\n", "@@\n-a\n+c", "c\nb\n");
        check("\ta\nb\n", "@@\n-  a\n+c", "c\nb\n");
        check("“a” – b\n", "@@\n-\"a\" - b\n+c", "c\n");
        check("  a\na\n", "@@\n-a\n+c", "  a\nc\n");
    }

    #[test]
    fn crlf_stays() {
        check(
            "a\r\nb\r\nc\r\n",
            "@@\n a\n-b\n+B\n+D",
            "a\r\nB\r\nD\r\nc\r\n",
        );
    }

    #[test]
    fn a_chunk_that_does_not_fit_says_which() {
        let error = update("a\n", "@@\n-a\n+b\n@@\n-z\n+y").unwrap_err();
        assert_eq!(
            error,
            "line 6 of the patch: the file does not hold the expected lines, from “z” on"
        );
        let error = update("a\n", "@@ fn x\n-a\n+b").unwrap_err();
        assert!(error.contains("no line “fn x”"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

        /// A patch that names a file's lines one by one turns it into any other.
        #[test]
        fn a_whole_file_can_be_replaced(
            old in proptest::collection::vec("[a-c ]{0,3}", 1..6),
            new in proptest::collection::vec("[a-c ]{0,3}[a-c]", 1..6),
        ) {
            let before = old.join("\n") + "\n";
            let minus = old.iter().map(|line| format!("-{line}"));
            let plus = new.iter().map(|line| format!("+{line}"));
            let body: Vec<String> = ["@@".to_owned()].into_iter().chain(minus).chain(plus).collect();
            prop_assert_eq!(update(&before, &body.join("\n")), Ok(new.join("\n") + "\n"));
        }
    }
}
