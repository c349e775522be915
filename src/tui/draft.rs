//! A text that a person alters on the screen: lines, a caret, and what was done to them.
//!
//! What is typed or pasted is text and never a command. The caret stands between what people
//! see as characters. Nothing here draws, and nothing reads what the text means.

use crossterm::event::{KeyCode, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::key::Key;
use super::layout::scrolled;
use crate::text::{SafeText, width};

/// A place in a text: a line, from 0, and a byte of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Caret {
    /// The line, from 0.
    pub(super) line: usize,
    /// The byte of the line before which it stands.
    pub(super) byte: usize,
}

/// A text that is being altered.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    lines: Vec<String>,
    caret: Caret,
    /// The first line in view.
    pub(super) top: usize,
    done: Vec<Change>,
    /// The line, from 0, that cannot be understood, and why.
    pub(super) mistake: Option<(usize, SafeText)>,
    /// It was altered since a person was last warned that it would be lost.
    pub(super) is_precious: bool,
}

/// What was done at one place; the other way round it is undone.
#[derive(Clone, Debug)]
struct Change {
    start: Caret,
    removed: String,
    inserted: String,
    /// Where the caret was.
    before: Caret,
}

/// So many changes can be undone.
const MOST_CHANGES: usize = 10_000;

/// More than this is not taken in: a screen is no place for it.
pub(super) const MOST_BYTES: usize = 1 << 19;

impl Draft {
    /// A text as it is, with the caret at the first line below `# ` remarks.
    pub(super) fn new(text: &str) -> Self {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let is_remark = |line: &String| line.starts_with('#') || line.starts_with("== ");
        let first = lines
            .iter()
            .position(|line| !is_remark(line) && !line.is_empty());
        let line = first.unwrap_or(0);
        Self {
            lines,
            caret: Caret { line, byte: 0 },
            top: 0,
            done: Vec::new(),
            mistake: None,
            is_precious: false,
        }
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Its lines.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Where the caret is.
    pub(super) const fn caret(&self) -> Caret {
        self.caret
    }

    /// Columns before the caret.
    pub(super) fn column(&self) -> usize {
        let before = self.line().get(..self.caret.byte).unwrap_or_default();
        width::width(&SafeText::line(before))
    }

    fn line(&self) -> &str {
        self.lines.get(self.caret.line).map_or("", String::as_str)
    }

    /// Puts the caret at the beginning of a line, from 0.
    pub(super) fn go_to_line(&mut self, line: usize) {
        let line = line.min(self.lines.len().saturating_sub(1));
        self.caret = Caret { line, byte: 0 };
    }

    /// Keeps the caret in view of so many rows.
    pub(super) fn keep_in_view(&mut self, rows: usize) {
        self.top = scrolled(self.top, Some(self.caret.line), self.lines.len(), rows);
    }

    /// Takes another text in the place of all of it, as one change.
    pub(super) fn replace_all(&mut self, text: &str) {
        let last = self.lines.len().saturating_sub(1);
        let end = Caret {
            line: last,
            byte: self.lines.get(last).map_or(0, String::len),
        };
        let line = self.caret.line;
        self.change(Caret::default(), end, text);
        self.go_to_line(line);
    }

    /// Takes text in at the caret. Line ends are kept, tabs stay tabs, other control characters
    /// are left out. Returns whether there was room for it.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.chars().filter(is_text).collect();
        let length: usize = self.lines.iter().map(|line| line.len() + 1).sum();
        if length + text.len() > MOST_BYTES {
            return false;
        }
        self.change(self.caret, self.caret, &text);
        true
    }

    /// Takes a key in; whether it was one for a text.
    pub(super) fn press(&mut self, key: Key, page: usize) -> bool {
        if let Some(character) = key.character() {
            return self.insert(character.encode_utf8(&mut [0; 4]));
        }
        let press = key.press();
        let is_control = press.modifiers == KeyModifiers::CONTROL;
        let page = page.max(1);
        match press.code {
            KeyCode::Enter => return self.insert("\n"),
            KeyCode::Tab if press.modifiers.is_empty() => return self.insert("  "),
            KeyCode::Char('u') if is_control => self.undo(),
            KeyCode::Backspace => {
                let start = self.before(self.caret);
                self.change(start, self.caret, "");
            }
            KeyCode::Delete => {
                let end = self.after(self.caret);
                self.change(self.caret, end, "");
            }
            KeyCode::Left => self.caret = self.before(self.caret),
            KeyCode::Right => self.caret = self.after(self.caret),
            KeyCode::Up => self.go_up(1),
            KeyCode::Down => self.go_down(1),
            KeyCode::PageUp => self.go_up(page),
            KeyCode::PageDown => self.go_down(page),
            KeyCode::Home if is_control => self.go_to_line(0),
            KeyCode::End if is_control => {
                self.go_to_line(usize::MAX);
                self.caret.byte = self.line().len();
            }
            KeyCode::Home => self.caret.byte = 0,
            KeyCode::End => self.caret.byte = self.line().len(),
            _ => return false,
        }
        true
    }

    fn go_up(&mut self, lines: usize) {
        self.go_to(self.caret.line.saturating_sub(lines));
    }

    fn go_down(&mut self, lines: usize) {
        let last = self.lines.len().saturating_sub(1);
        self.go_to(self.caret.line.saturating_add(lines).min(last));
    }

    /// Into another line, under or over the place where the caret is.
    fn go_to(&mut self, line: usize) {
        let column = self.column();
        self.caret = Caret { line, byte: 0 };
        let (mut byte, mut passed) = (0, 0);
        for grapheme in self.line().graphemes(true) {
            passed += width::width(&SafeText::line(grapheme));
            if passed > column {
                break;
            }
            byte += grapheme.len();
        }
        self.caret.byte = byte;
    }

    /// One character back from a place.
    fn before(&self, at: Caret) -> Caret {
        let text = self.lines.get(at.line).and_then(|line| line.get(..at.byte));
        let last = text.and_then(|text| text.grapheme_indices(true).next_back());
        match (last, at.line.checked_sub(1)) {
            (Some((byte, _)), _) => Caret { byte, ..at },
            (None, Some(line)) => Caret {
                line,
                byte: self.lines.get(line).map_or(0, String::len),
            },
            (None, None) => at,
        }
    }

    /// One character on from a place.
    fn after(&self, at: Caret) -> Caret {
        let text = self.lines.get(at.line).and_then(|line| line.get(at.byte..));
        let next = text.and_then(|text| text.graphemes(true).next());
        match next {
            Some(grapheme) => Caret {
                byte: at.byte + grapheme.len(),
                ..at
            },
            None if at.line + 1 < self.lines.len() => Caret {
                line: at.line + 1,
                byte: 0,
            },
            None => at,
        }
    }

    /// Puts text in the place of what stands between two places, to be undone.
    fn change(&mut self, start: Caret, end: Caret, text: &str) {
        if start == end && text.is_empty() {
            return;
        }
        let before = self.caret;
        let removed = self.splice(start, end, text);
        (self.mistake, self.is_precious) = (None, true);
        // Letters typed one after the other are one change.
        if let Some(last) = self.done.last_mut()
            && removed.is_empty()
            && last.removed.is_empty()
            && !text.contains('\n')
            && !last.inserted.contains('\n')
            && end_of(last.start, &last.inserted) == start
        {
            last.inserted.push_str(text);
            return;
        }
        if self.done.len() == MOST_CHANGES {
            self.done.remove(0);
        }
        self.done.push(Change {
            start,
            removed,
            inserted: text.to_owned(),
            before,
        });
    }

    /// Takes the last change back.
    fn undo(&mut self) {
        let Some(change) = self.done.pop() else {
            return;
        };
        let end = end_of(change.start, &change.inserted);
        self.splice(change.start, end, &change.removed);
        self.caret = change.before;
        self.mistake = None;
    }

    /// Puts text in the place of what stands between two places, and gives that back. The caret
    /// is behind the new text.
    fn splice(&mut self, start: Caret, end: Caret, text: &str) -> String {
        let Some(last) = self.lines.get_mut(end.line) else {
            return String::new();
        };
        let tail = last.split_off(end.byte.min(last.len()));
        let rest: Vec<String> = self.lines.drain(start.line + 1..=end.line).collect();
        let Some(first) = self.lines.get_mut(start.line) else {
            return String::new();
        };
        let mut removed = first.split_off(start.byte.min(first.len()));
        for line in rest {
            removed.push('\n');
            removed.push_str(&line);
        }
        let mut pieces = text.split('\n');
        first.push_str(pieces.next().unwrap_or_default());
        let more: Vec<String> = pieces.map(str::to_owned).collect();
        let below = start.line + 1;
        self.lines.splice(below..below, more);
        self.caret = end_of(start, text);
        if let Some(last) = self.lines.get_mut(self.caret.line) {
            last.push_str(&tail);
        }
        removed
    }
}

/// Where a text ends that begins at a place.
fn end_of(start: Caret, text: &str) -> Caret {
    match text.rsplit_once('\n') {
        Some((before, last)) => Caret {
            line: start.line + 1 + before.matches('\n').count(),
            byte: last.len(),
        },
        None => Caret {
            byte: start.byte + text.len(),
            ..start
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(draft: &mut Draft, keys: &str) {
        for key in keys.split(' ') {
            draft.press(key.parse().unwrap(), 10);
        }
    }

    #[track_caller]
    fn check(text: &str, keys: &str, expected: &str) {
        let mut draft = Draft::new(text);
        draft.go_to_line(0);
        pressed(&mut draft, keys);
        assert_eq!(draft.text(), expected, "{keys}");
    }

    #[test]
    fn lines_are_parted_and_joined_and_the_caret_goes_where_people_see_it() {
        check("ab\ncd", "Right Enter x", "a\nxb\ncd");
        check("ab\ncd", "Down Backspace", "abcd");
        check("ab\ncd", "End Delete", "abcd");
        check("ab\ncd", "Down End x Home y", "ab\nycdx");
        check("ab", "Backspace Left Delete", "b");
        check("", "Delete Backspace a", "a");
        check("ab\ncd\nef", "Ctrl-End x Ctrl-Home y", "yab\ncd\nefx");
        // A wide character is two columns, and a letter with its accent is one character.
        check("漢字\nabcd", "Right Down x", "漢字\nabxcd");
        check("abcd\n漢字", "Right Right Right Down x", "abcd\n漢x字");
        check("e\u{301}x", "Right Backspace", "x");
        check("a\u{301}b", "Delete", "b");
    }

    #[test]
    fn what_was_done_is_undone_to_the_text_as_it_was() {
        check("ab\ncd", "x y z Ctrl-u", "ab\ncd");
        check("ab\ncd", "x Enter y Ctrl-u", "x\nab\ncd");
        check("ab\ncd", "x Enter y Ctrl-u Ctrl-u Ctrl-u Ctrl-u", "ab\ncd");
        check("ab\ncd", "End Delete Delete Ctrl-u Ctrl-u", "ab\ncd");
        let mut draft = Draft::new("one\ntwo");
        draft.replace_all("three\nlines\nnow");
        pressed(&mut draft, "Ctrl-u");
        assert_eq!(draft.text(), "one\ntwo");
    }

    #[test]
    fn a_paste_is_text_of_many_lines_and_never_too_much() {
        let mut draft = Draft::new("ab");
        draft.go_to_line(0);
        assert!(draft.insert("x\r\ny\rz\x1b[2J\tq"));
        assert_eq!(draft.text(), "x\ny\nz[2J\tqab");
        assert!(!draft.insert(&"x".repeat(MOST_BYTES)));
        assert_eq!(draft.text(), "x\ny\nz[2J\tqab");
    }

    #[test]
    fn the_caret_begins_at_the_first_words() {
        let draft = Draft::new("# remark\n\n== text\nwords\n");
        assert_eq!(draft.caret(), Caret { line: 3, byte: 0 });
        assert!(!draft.is_precious);
    }
}
