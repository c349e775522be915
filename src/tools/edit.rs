//! Claude Code's `Edit` and `MultiEdit`: a text is replaced by another.
//!
//! The rules, as measured on real runs: the old text must occur
//! exactly once, unless all occurrences are meant; no old text creates a file; and a text
//! that is deleted takes the newline after it along, when it is followed by one and does
//! not end with one itself. Where all occurrences are deleted and at least one is followed
//! by a newline, only those are: that is what the tool's own rule comes to.

use memchr::memmem;

use super::EditError;
use super::line_endings::{Folded, LINE_ENDINGS_ASSUMED, is_crlf, to_crlf};

/// Replaces one text by another. No text to replace fills an empty file.
pub fn edit(before: &[u8], replacement: &Replacement<'_>) -> Result<Edited, EditError> {
    if !replacement.old.is_empty() {
        return substitute(before, replacement, Deletion::TakesNewline);
    }
    if before.is_empty() {
        Ok(Edited::exact(replacement.new.as_bytes().to_vec()))
    } else {
        Err(EditError::NotEmpty)
    }
}

/// Makes the edits one after the other, all or none.
pub fn multi_edit(before: &[u8], edits: &[Replacement<'_>]) -> Result<Edited, EditError> {
    let mut so_far = Edited::exact(before.to_vec());
    for (index, replacement) in edits.iter().enumerate() {
        let next = edit(&so_far.bytes, replacement).map_err(|source| match edits {
            [_] => source,
            _ => EditError::InSequence {
                number: index + 1,
                total: edits.len(),
                source: Box::new(source),
            },
        })?;
        so_far = Edited {
            remark: so_far.remark.or(next.remark),
            ..next
        };
    }
    Ok(so_far)
}

/// Replaces a text that is not empty, modulo line endings.
pub(super) fn substitute(
    before: &[u8],
    replacement: &Replacement<'_>,
    deletion: Deletion,
) -> Result<Edited, EditError> {
    let Replacement { old, new, which } = *replacement;
    let crlf = is_crlf(before);
    let folded = Folded::new(before);
    let old = old.replace("\r\n", "\n");
    let starts: Vec<usize> = memmem::find_iter(&folded.text, &old).collect();
    match (which, starts.as_slice()) {
        (_, []) => return Err(EditError::NotFound { old }),
        (Occurrences::Only, [_, _, ..]) => {
            let line = |at: &usize| {
                let above = folded.text.get(..*at).unwrap_or_default();
                memchr::memchr_iter(b'\n', above).count() + 1
            };
            let lines = starts.iter().map(line).collect();
            return Err(EditError::Ambiguous { old, lines });
        }
        _ => {}
    }
    let pattern = match deletion {
        Deletion::TakesNewline => removed_text(&folded.text, &old, new),
        Deletion::JustText => old.clone(),
    };
    let inserted = if crlf { to_crlf(new) } else { new.to_owned() };
    let mut bytes = Vec::with_capacity(before.len() + inserted.len());
    let mut kept = 0;
    for start in memmem::find_iter(&folded.text, &pattern) {
        let (from, to) = (
            folded.original(start),
            folded.original(start + pattern.len()),
        );
        bytes.extend_from_slice(before.get(kept..from).unwrap_or_default());
        bytes.extend_from_slice(inserted.as_bytes());
        kept = to;
    }
    bytes.extend_from_slice(before.get(kept..).unwrap_or_default());
    let is_assumed = folded.text.len() < before.len() && (old + new).contains('\n');
    Ok(Edited {
        bytes,
        remark: is_assumed.then_some(LINE_ENDINGS_ASSUMED),
    })
}

/// The text that goes: the old one, with its newline when it is deleted and has one.
pub(super) fn removed_text(text: &[u8], old: &str, new: &str) -> String {
    let mut with_newline = old.to_owned();
    with_newline.push('\n');
    let eats = new.is_empty()
        && !old.ends_with('\n')
        && memmem::find(text, with_newline.as_bytes()).is_some();
    if eats { with_newline } else { old.to_owned() }
}

/// What goes with a text that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// The newline after it.
    TakesNewline,
    /// Nothing.
    JustText,
}

/// One text for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The text that goes.
    pub old: &'a str,
    /// The text that comes.
    pub new: &'a str,
    /// Where.
    pub which: Occurrences,
}

/// Which occurrences of a text are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    /// The only one; more than one is an error.
    Only,
    /// Every one.
    All,
}

/// What an edit made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The new content.
    pub bytes: Vec<u8>,
    /// What was assumed on the way.
    pub remark: Option<&'static str>,
}

impl Edited {
    const fn exact(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            remark: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn only<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
        Replacement {
            old,
            new,
            which: Occurrences::Only,
        }
    }

    fn all<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
        Replacement {
            old,
            new,
            which: Occurrences::All,
        }
    }

    fn check(before: &str, replacement: Replacement<'_>, after: &str) {
        let edited = edit(before.as_bytes(), &replacement).unwrap();
        assert_eq!(String::from_utf8(edited.bytes).unwrap(), after);
    }

    #[test]
    fn a_text_is_replaced_where_it_stands() {
        check("one\ntwo\n", only("two", "TWO"), "one\nTWO\n");
        check("a a a", all("a", "bb"), "bb bb bb");
        check("aaa", all("aa", "b"), "ba");
        check("$1\n", only("$1", "$& $$"), "$& $$\n");
    }

    #[test]
    fn a_deleted_text_takes_its_newline_along() {
        check("a\nb\nc\n", only("b", ""), "a\nc\n");
        check("a\nb", only("b", ""), "a\n");
        check("a\nb\nc\n", only("b\n", ""), "a\nc\n");
        check("ab c\n", only("b", ""), "a c\n");
        check("x\nx y\n", all("x", ""), "x y\n");
    }

    #[test]
    fn no_old_text_creates() {
        check("", only("", "new\n"), "new\n");
        assert_eq!(edit(b"x", &only("", "y")), Err(EditError::NotEmpty));
    }

    #[test]
    fn crlf_and_byte_order_mark_stay() {
        let before = "\u{feff}first\r\nsecond\r\nthird\r\n";
        let after = "\u{feff}first\r\n2nd\r\nthird\r\n";
        let edited = edit(before.as_bytes(), &only("second\nthird", "2nd\nthird")).unwrap();
        assert_eq!(edited.bytes, after.as_bytes());
        assert_eq!(edited.remark, Some(LINE_ENDINGS_ASSUMED));

        check("a\r\nb\r\n", only("a", "x\ny"), "x\r\ny\r\nb\r\n");
        check("a\r\nb\r\n", only("b", ""), "a\r\n");
        check("a\nb\nc\r\n", only("b", "x\ny"), "a\nx\ny\nc\r\n");
        let plain = edit(b"a\r\nb\r\n", &only("a", "z")).unwrap();
        assert_eq!(plain.remark, None);
    }

    #[test]
    fn the_wrong_number_of_places_is_an_error_that_says_where() {
        let old = "x".to_owned();
        assert_eq!(
            edit(b"a\nx\nb x\n", &only("x", "y")),
            Err(EditError::Ambiguous {
                old: old.clone(),
                lines: vec![2, 3]
            })
        );
        assert_eq!(
            edit(b"a\n", &only("x", "y")),
            Err(EditError::NotFound { old })
        );
    }

    #[test]
    fn several_edits_are_made_together_or_not_at_all() {
        let edits = [only("a", "b"), all("b", "c")];
        assert_eq!(multi_edit(b"a b", &edits).unwrap().bytes, b"c c");
        let error = multi_edit(b"a", &[only("a", "b"), only("a", "c")]).unwrap_err();
        assert!(error.to_string().starts_with("edit 2 of 2:"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// What the tool does in its own folded text is what happens here, then unfolded.
        #[test]
        fn a_crlf_file_is_edited_like_its_lf_twin(
            before in "[ab\n]{0,12}\n",
            old in "[ab\n]{1,3}",
            new in "[ab\n]{0,3}",
        ) {
            let twin = to_crlf(&before);
            let expected = edit(before.as_bytes(), &all(&old, &new));
            let found = edit(twin.as_bytes(), &all(&old, &new));
            match (expected, found) {
                (Ok(expected), Ok(found)) => {
                    let expected = String::from_utf8(expected.bytes).unwrap();
                    prop_assert_eq!(String::from_utf8(found.bytes).unwrap(), to_crlf(&expected));
                }
                (expected, found) => prop_assert_eq!(expected, found),
            }
        }
    }
}
