//! Text made safe for a terminal, once, at the boundary.
//!
//! A tape holds what strangers wrote. [`SafeText`] is the only text that may reach a
//! terminal: its constructors are the only door, and what could move a cursor, set a
//! title, fill the clipboard, reorder a line or hide in it comes out as visible ASCII:
//!
//! | in | out |
//! |---|---|
//! | C0 controls and DEL, `\r` and `\b` too | `^[`, `^M`, `^?` |
//! | C1 controls | `\x9b` |
//! | bytes that are not UTF-8 | `\xff` |
//! | bidirectional, zero-width, tag and other invisible characters | `<U+202E>` |
//! | tabs | spaces to the next multiple of [`TAB`] columns |
//!
//! Emoji families, variation selectors of emoji, and joiners that a script's spelling
//! needs stay as they are. Nothing here styles or draws, and nothing turns the text back.

mod hidden;
mod writer;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use self::writer::Writer;

/// Columns between two tab stops, unless said otherwise.
pub const TAB: usize = 4;

/// One line of text that a terminal shows and never obeys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SafeText {
    text: Cow<'static, str>,
    marks: Vec<Mark>,
}

/// A placeholder that stands for what could not be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Where it stands, in bytes of [`SafeText::as_str`].
    pub range: Range<usize>,
    /// What it stands for.
    pub kind: MarkKind,
}

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A control character.
    Control,
    /// A character that is not seen: bidirectional, zero-width, a tag, a noncharacter.
    Hidden,
    /// A byte that is no part of UTF-8 text.
    Byte,
}

impl SafeText {
    /// Makes one line of a text; line ends in it are shown.
    pub fn line(text: &str) -> Self {
        Self::from_bytes(text.as_bytes())
    }

    /// Makes one line of bytes; line ends in them are shown.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::with_tab(bytes, TAB)
    }

    /// Like [`SafeText::from_bytes`], with this many columns between tab stops.
    pub fn with_tab(bytes: &[u8], tab: usize) -> Self {
        let mut writer = Writer::new(tab);
        writer.write_line(bytes);
        writer.finish()
    }

    /// Makes a line of each line of a text. The line ends, `\n` and `\r\n`, are dropped
    /// and so is a byte order mark at the very start; every other `\r` is shown.
    pub fn lines(text: impl AsRef<[u8]>) -> Vec<Self> {
        let text = text.as_ref();
        let text = text.strip_prefix(BOM).unwrap_or(text);
        split_lines(text)
            .map(|line| Self::from_bytes(line.strip_suffix(b"\r").unwrap_or(line)))
            .collect()
    }

    /// Like [`SafeText::lines`], for looking closely: only the `\n` are dropped, so that
    /// `\r\n` and a byte order mark are seen.
    pub fn exact_lines(text: impl AsRef<[u8]>) -> Vec<Self> {
        split_lines(text.as_ref()).map(Self::from_bytes).collect()
    }

    /// Takes words of the program itself, without a copy when they are plain.
    pub fn literal(words: &'static str) -> Self {
        if is_plain(words.as_bytes()) {
            Self::constant(words)
        } else {
            Self::line(words)
        }
    }

    /// Takes words that are known to need nothing.
    pub(super) const fn constant(words: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(words),
            marks: Vec::new(),
        }
    }

    /// A row of spaces.
    pub(crate) fn spaces(count: usize) -> Self {
        Self {
            text: Cow::Owned(" ".repeat(count)),
            marks: Vec::new(),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The placeholders in the text, first to last, to be drawn in a style of their own.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Whether the text held characters that are not seen: a reason for a badge.
    pub fn has_hidden(&self) -> bool {
        self.marks.iter().any(|mark| mark.kind == MarkKind::Hidden)
    }

    /// Adds another text at the end.
    pub fn push(&mut self, other: &Self) {
        let offset = self.text.len();
        self.text.to_mut().push_str(&other.text);
        let moved = other.marks.iter().map(|mark| Mark {
            range: mark.range.start + offset..mark.range.end + offset,
            kind: mark.kind,
        });
        self.marks.extend(moved);
    }

    /// The bytes of `range` with what is left of the placeholders in it. The range has to
    /// lie on character boundaries; elsewhere there is no text, and the result is empty.
    pub(super) fn cut(&self, range: Range<usize>) -> Self {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let marks = self.marks.iter().filter_map(|mark| {
            let start = mark.range.start.max(range.start);
            let end = mark.range.end.min(range.end);
            (start < end).then(|| Mark {
                range: start - range.start..end - range.start,
                kind: mark.kind,
            })
        });
        Self {
            marks: marks.collect(),
            text: Cow::Owned(text.to_owned()),
        }
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Makes a text of many lines safe for plain output: `\n` stays, all else is as in
/// [`SafeText`], with `\r\n` seen as `^M`.
pub fn sanitize_block(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let mut block = String::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        block.push_str(SafeText::from_bytes(line).as_str());
        block.push_str(end);
    }
    block
}

/// Shows what tag characters (U+E0020 to U+E007E) spell: the usual carrier of a prompt
/// that people do not see. Each run becomes `<tags: ignore previous>`, marked as hidden;
/// the rest of the line is as [`SafeText::line`] makes it.
pub fn decode_tags(text: &str) -> SafeText {
    let is_tag = |character: char| matches!(character, '\u{E0000}'..='\u{E007F}');
    let mut decoded = SafeText::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (plain, tagged) = rest.split_at(rest.find(is_tag).unwrap_or(rest.len()));
        let end = tagged.find(|c| !is_tag(c)).unwrap_or(tagged.len());
        let (tags, after) = tagged.split_at(end);
        decoded.push(&SafeText::line(plain));
        if !tags.is_empty() {
            let as_ascii = |tag: char| char::from_u32(u32::from(tag) - 0xE_0000);
            let is_shown = |c: &char| matches!(c, ' '..='~');
            let spelled: String = tags.chars().filter_map(as_ascii).filter(is_shown).collect();
            let text = format!("<tags: {spelled}>");
            decoded.push(&SafeText {
                marks: vec![Mark {
                    range: 0..text.len(),
                    kind: MarkKind::Hidden,
                }],
                text: Cow::Owned(text),
            });
        }
        rest = after;
    }
    decoded
}

/// Whether a JSON document, or the start of one, holds characters that are not seen, as they
/// are or escaped: a reason for a badge, without making the text safe to show.
pub fn json_hides(json: &[u8]) -> bool {
    let hides = |text: &str| (!text.is_ascii() && hidden::hides(text)) || escapes_hide(text);
    match std::str::from_utf8(json) {
        Ok(text) => hides(text),
        Err(_) => json.utf8_chunks().any(|chunk| hides(chunk.valid())),
    }
}

/// Whether an escape of a JSON text stands for a character that is not seen.
fn escapes_hide(text: &str) -> bool {
    let unit = |escape: &str| {
        let digits = escape.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    memchr::memmem::find_iter(text.as_bytes(), b"\\u").any(|at| {
        let (before, escape) = text.split_at(at);
        // Behind a backslash, it is a backslash and an `u`.
        let backslashes = before.bytes().rev().take_while(|byte| *byte == b'\\');
        let is_escape = backslashes.count() % 2 == 0;
        let second = escape.get(6..).and_then(unit);
        let units = unit(escape).into_iter().chain(second);
        let first = char::decode_utf16(units).next();
        is_escape && matches!(first, Some(Ok(character)) if hidden::is_hidden(character))
    })
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Lines without their `\n`; a `\n` at the very end opens no further line.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Whether the bytes are printable ASCII, and so need nothing done.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::super::width::cluster_width;
    use super::*;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation as _;

    #[track_caller]
    fn check(input: &[u8], expected: &str) {
        assert_eq!(SafeText::from_bytes(input).as_str(), expected, "{input:?}");
    }

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        check(b"\x1b]52;c;aGVsbG8=\x07", "^[]52;c;aGVsbG8=^G");
        check(b"\x1b]0;owned\x07", "^[]0;owned^G");
        check(
            b"\x1b]8;;http://x/\x1b\\y\x1b]8;;\x1b\\",
            "^[]8;;http://x/^[\\y^[]8;;^[\\",
        );
        check("\u{9b}31m".as_bytes(), "\\x9b31m");
        check("\u{9d}0;x\u{9c}".as_bytes(), "\\x9d0;x\\x9c");
        check(b"\x9b31m", "\\x9b31m");
        check(b"rm -rf /\x08\x08echo", "rm -rf /^H^Hecho");
        check(b"real line\rfake", "real line^Mfake");
        check(b"\0\x0e\x0f\x1f\x7f", "^@^N^O^_^?");
        check(b"a\nb\r\n", "a^Jb^M^J");
    }

    #[test]
    fn invisible_characters_are_named() {
        let check = |input: &str, expected: &str| {
            let safe = SafeText::line(input);
            assert_eq!(safe.as_str(), expected);
            assert!(safe.has_hidden(), "{expected}");
        };
        check(
            "'user\u{200b}\u{202e} \u{2066}# check\u{2069} \u{2066}'",
            "'user<U+200B><U+202E> <U+2066># check<U+2069> <U+2066>'",
        );
        check("a\u{ad}b\u{feff}c\u{2028}d", "a<U+00AD>b<U+FEFF>c<U+2028>d");
        check("\u{e0069}\u{e007f}", "<U+E0069><U+E007F>");
        check("ad\u{200d}min \u{200c}", "ad<U+200D>min <U+200C>");
        check("\u{3164}=\u{1160}", "<U+3164>=<U+1160>");
        check("\u{fdd0}\u{1fffe}", "<U+FDD0><U+1FFFE>");
        check("\u{301}e\u{301}", "<U+0301>e\u{301}");
        check("a\u{fe0f}b\u{e0101}", "a<U+FE0F>b<U+E0101>");
        // Bytes smuggled behind an emoji as a row of selectors.
        check("😀\u{fe0f}\u{fe01}\u{e0110}", "😀\u{fe0f}<U+FE01><U+E0110>");
    }

    #[test]
    fn hidden_characters_are_found_in_json_without_showing_it() {
        let check = |json: &str, expected: bool| {
            assert_eq!(json_hides(json.as_bytes()), expected, "{json}");
        };
        check(r#"{"text":"plain — “text” 漢字 é"}"#, false);
        check("{\"text\":\"a\u{200b}b\"}", true);
        check(r#"{"text":"a\u200bb \u001b[31m"}"#, true);
        check(r#"{"text":"\\u200b \u001b[31m \ud83d\ude00"}"#, false);
        check(r#"{"text":"\udb40\udc69"}"#, true);
        check(
            "{\"text\":\"👨\u{200d}👩\u{200d}👧 ⚠\u{fe0f} می\u{200c}خواهم\"}",
            false,
        );
        check("{\"text\":\"ad\u{200d}min\"}", true);
        assert!(json_hides(b"{\"a\":\"\xff\xe2\x80\xae"));
        assert!(!json_hides(b"{\"a\":\"\xe2\x80"));
    }

    #[test]
    fn what_spelling_and_emoji_need_is_no_alarm() {
        for text in [
            "👨\u{200d}👩\u{200d}👧 ⚠\u{fe0f} 1\u{fe0f}\u{20e3}",
            "🧔🏽\u{200d}♂\u{fe0f} ❤\u{fe0f}\u{200d}🔥",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष ക\u{d4d}\u{200d}",
            "naïve e\u{301} 漢字 葛\u{e0100} 한국어",
            "\u{e0b0} \u{f0001}",
        ] {
            let safe = SafeText::line(text);
            assert_eq!((safe.as_str(), safe.marks()), (text, [].as_slice()));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_numbered() {
        check(b"a\xffb\xc3", "a\\xffb\\xc3");
        let kinds = |bytes: &[u8]| SafeText::from_bytes(bytes).marks().to_vec();
        assert_eq!(kinds(b"a\xff").first().unwrap().range, 1..5);
        assert_eq!(kinds(b"\\xff"), []);
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        check(b"\ta\tbcd\tefgh\t", "    a   bcd efgh    ");
        check("漢\tb".as_bytes(), "漢  b");
        check(b"\x1b\tx", "^[  x");
        assert_eq!(SafeText::with_tab(b"a\tb", 8).as_str(), "a       b");
        assert_eq!(SafeText::with_tab(b"a\tb", 0).as_str(), "a b");
    }

    #[test]
    fn lines_lose_their_ends_and_blocks_keep_them() {
        let show = |lines: Vec<SafeText>| {
            let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
            lines.join("|")
        };
        assert_eq!(show(SafeText::lines("\u{feff}a\r\nb\rc\n\nd")), "a|b^Mc||d");
        assert_eq!(
            show(SafeText::exact_lines("\u{feff}a\r\nb\n")),
            "<U+FEFF>a^M|b"
        );
        assert_eq!(SafeText::lines(""), []);
        assert_eq!(sanitize_block("a\r\n\tb\n\x1b"), "a^M\n    b\n^[");
    }

    #[test]
    fn tags_are_decoded_for_the_raw_view() {
        let text: String = "ignore previous"
            .bytes()
            .filter_map(|byte| char::from_u32(0xE_0000 + u32::from(byte)))
            .collect();
        let decoded = decode_tags(&format!("note {text}\x07 end"));
        assert_eq!(decoded.as_str(), "note <tags: ignore previous>^G end");
        assert!(decoded.has_hidden());
    }

    /// Text in which trouble is likely.
    fn nasty() -> impl Strategy<Value = String> {
        let ranges = prop_oneof![
            any::<char>(),
            proptest::char::range('\0', '\u{ff}'),
            proptest::char::range('\u{200b}', '\u{206f}'),
            proptest::char::range('\u{300}', '\u{305}'),
            proptest::char::range('\u{5d0}', '\u{640}'),
            proptest::char::range('\u{915}', '\u{950}'),
            proptest::char::range('\u{fe00}', '\u{feff}'),
            proptest::char::range('\u{1f3f0}', '\u{1f480}'),
            proptest::char::range('\u{1100}', '\u{11ff}'),
            proptest::char::range('\u{e0000}', '\u{e01ff}'),
            Just('\u{200d}'),
            Just('\u{fe0f}'),
        ];
        proptest::collection::vec(ranges, 0..24).prop_map(String::from_iter)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn nothing_that_acts_or_hides_gets_through(text in nasty()) {
            let safe = SafeText::line(&text);
            for character in safe.as_str().chars() {
                let is_bad = character.is_control() || matches!(character,
                    '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
                    | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                    | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e00ff}');
                prop_assert!(!is_bad, "{character:?} of {text:?}");
            }
            for cluster in safe.as_str().graphemes(true) {
                prop_assert!(cluster_width(cluster) > 0, "{cluster:?} of {text:?}");
            }
            for mark in safe.marks() {
                prop_assert!(safe.as_str().get(mark.range.clone()).unwrap().is_ascii());
            }
        }

        #[test]
        fn what_is_safe_stays_as_it_is(text in nasty()) {
            let safe = SafeText::line(&text);
            let again = SafeText::line(safe.as_str());
            prop_assert_eq!(again.as_str(), safe.as_str());
            prop_assert_eq!(again.marks(), &[]);
        }

        #[test]
        fn any_bytes_become_text(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let block = sanitize_block(&bytes);
            prop_assert!(!block.chars().any(|c| c.is_control() && c != '\n'));
            let lines = bytes.split(|byte| *byte == b'\n').count();
            prop_assert_eq!(block.split('\n').count(), lines);
        }

        #[test]
        fn plain_text_is_untouched(text in "[ -~]{0,64}") {
            let safe = SafeText::line(&text);
            prop_assert_eq!(safe.as_str(), text);
        }
    }
}
