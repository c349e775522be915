//! How one line of [`SafeText`] is made, from left to right.
//!
//! It knows the column it has reached, for tabs, and writes the placeholders. What needs
//! one is judged by `hidden`.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use unicode_segmentation::UnicodeSegmentation as _;

use super::super::width::cluster_width;
use super::hidden::{self, Verdict};
use super::{Mark, MarkKind, SafeText, is_plain};

/// A line being made: the text so far, and how wide it is.
pub(super) struct Writer {
    text: String,
    marks: Vec<Mark>,
    column: usize,
    tab: usize,
}

impl Writer {
    pub(super) fn new(tab: usize) -> Self {
        Self {
            text: String::new(),
            marks: Vec::new(),
            column: 0,
            tab: tab.max(1),
        }
    }

    /// Adds bytes to the line.
    pub(super) fn write_line(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            self.write_text(chunk.valid());
            for byte in chunk.invalid() {
                self.mark(MarkKind::Byte, format_args!("\\x{byte:02x}"));
            }
        }
    }

    /// Adds text, judged cluster by cluster.
    fn write_text(&mut self, text: &str) {
        if is_plain(text.as_bytes()) {
            self.text.push_str(text);
            self.column += text.len();
            return;
        }
        for cluster in text.graphemes(true) {
            if cluster == "\t" {
                let spaces = self.tab - self.column % self.tab;
                self.text.extend(std::iter::repeat_n(' ', spaces));
                self.column += spaces;
                continue;
            }
            let start = self.text.len();
            let column = self.column;
            for (character, verdict) in hidden::judge(cluster) {
                match verdict {
                    Verdict::Keep => self.text.push(character),
                    Verdict::Control => self.mark_control(character),
                    Verdict::Hidden => {
                        let code = u32::from(character);
                        self.mark(MarkKind::Hidden, format_args!("<U+{code:04X}>"));
                    }
                }
            }
            let written = self.text.get(start..).unwrap_or_default();
            self.column = column + cluster_width(written);
        }
    }

    fn mark_control(&mut self, character: char) {
        match character {
            '\0'..='\u{1F}' | '\u{7F}' => {
                // The caret form names the letter whose bit 6 is flipped: ^@ to ^_, and ^?.
                let letter = char::from(character as u8 ^ 0x40);
                self.mark(MarkKind::Control, format_args!("^{letter}"));
            }
            _ => {
                let code = u32::from(character);
                self.mark(MarkKind::Control, format_args!("\\x{code:02x}"));
            }
        }
    }

    fn mark(&mut self, kind: MarkKind, placeholder: fmt::Arguments<'_>) {
        let start = self.text.len();
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(placeholder);
        let range = start..self.text.len();
        self.column += range.len();
        self.marks.push(Mark { range, kind });
    }

    /// The line as it was made.
    pub(super) fn finish(self) -> SafeText {
        SafeText {
            text: Cow::Owned(self.text),
            marks: self.marks,
        }
    }
}
