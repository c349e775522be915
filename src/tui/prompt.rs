//! A line of text that a person types: for places, actions and searches.
//!
//! What is typed or pasted is text and never a command: `q` in a prompt is a letter.

use crossterm::event::{KeyCode, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::key::Key;
use crate::text::SafeText;

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A place to go to, or an action to find.
    Palette,
    /// A place to measure differences from.
    DiffFrom,
    /// Words to search.
    Search,
    /// A note to the step.
    Note,
    /// Letters of the runs that are to be listed.
    Runs,
    /// A run to hold this one against.
    Against,
    /// A command that fails where it is bad, to be run in the sandbox.
    Bisect,
    /// A file with the answers of a fork.
    Script,
    /// A directory for a test case.
    Directory,
    /// What is to be so of a file after the call of a test case.
    Check,
    /// Another name for a fork's file.
    RenameFork,
}

impl Purpose {
    /// What stands before the text.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Palette => ":",
            Self::DiffFrom => "diff from @",
            Self::Search => "search /",
            Self::Note => "note ",
            Self::Runs => "filter /",
            Self::Against => "against ",
            Self::Bisect => "run in the sandbox, bad if it fails $ ",
            Self::Script => "script ",
            Self::Directory => "into ",
            Self::Check => "to be so after it ",
            Self::RenameFork => "rename to ",
        }
    }

    /// What may be typed, shown while nothing is.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Palette => "41  -1  fail  t:90s  seq:340  b2:3  mark:a, or words for an action",
            Self::DiffFrom => "12  0  mark:a  b2:3",
            Self::Search => "words, re:a.b, tool:bash, status:failed, path:src/**, file:word",
            Self::Note => "what to know of this step the next time; empty takes a note away",
            Self::Runs => "letters of a name, a directory, a prompt",
            Self::Script => "a file with one answer a line; `jukebox fork --help` says how",
            Self::Directory => "a directory that is not there yet, or empty: cases/parser",
            Self::Check => "--grep WORDS PATH  --exists PATH  --absent PATH  --not …",
            Self::RenameFork => "another name for the file of the fork",
            Self::Against => "a tape or a transcript, or another branch: @b2:end",
            Self::Bisect => {
                "make test   or, of a file, run nothing: --grep WORDS PATH  --exists PATH  --all …"
            }
        }
    }
}

/// A prompt that is open.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    /// What it asks for.
    pub(super) purpose: Purpose,
    /// Which of the choices above it is meant, counted from the best one.
    pub(super) chosen: usize,
    before: String,
    after: String,
}

/// What a key did to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// It is still open.
    Open,
    /// It is given up.
    Cancelled,
    /// It is done.
    Entered,
}

/// No place and no search is longer: a paste of a whole file is no wish.
const MAX_BYTES: usize = 4096;

impl Prompt {
    /// An empty prompt.
    pub(super) fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            chosen: 0,
            before: String::new(),
            after: String::new(),
        }
    }

    /// What has been typed.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// What stands before and after the place where the next letter goes, made safe.
    pub(super) fn halves(&self) -> (SafeText, SafeText) {
        (SafeText::line(&self.before), SafeText::line(&self.after))
    }

    /// Takes text in. Line ends and tabs become spaces, other control characters are
    /// left out, and what is too much is left out, too.
    pub(super) fn insert(&mut self, text: &str) {
        self.chosen = 0;
        for character in text.chars() {
            let character = match character {
                '\n' | '\t' => ' ',
                character if character.is_control() => continue,
                character => character,
            };
            if self.before.len() + self.after.len() + character.len_utf8() > MAX_BYTES {
                break;
            }
            self.before.push(character);
        }
    }

    /// Takes a key in.
    pub(super) fn press(&mut self, key: Key) -> Edited {
        if let Some(character) = key.character() {
            self.insert(character.encode_utf8(&mut [0; 4]));
            return Edited::Open;
        }
        let press = key.press();
        let is_control = press.modifiers == KeyModifiers::CONTROL;
        match press.code {
            KeyCode::Enter => return Edited::Entered,
            KeyCode::Up => {
                self.chosen = self.chosen.saturating_add(1);
                return Edited::Open;
            }
            KeyCode::Down => {
                self.chosen = self.chosen.saturating_sub(1);
                return Edited::Open;
            }
            KeyCode::Esc => return Edited::Cancelled,
            KeyCode::Backspace if self.before.is_empty() && self.after.is_empty() => {
                return Edited::Cancelled;
            }
            KeyCode::Backspace => drop(self.pop_before()),
            KeyCode::Delete => drop(self.pop_after()),
            KeyCode::Left => {
                let moved = self.pop_before();
                self.after.insert_str(0, &moved);
            }
            KeyCode::Right => {
                let moved = self.pop_after();
                self.before.push_str(&moved);
            }
            KeyCode::Home => self.go_home(),
            KeyCode::End => self.go_to_end(),
            KeyCode::Char('a') if is_control => self.go_home(),
            KeyCode::Char('e') if is_control => self.go_to_end(),
            KeyCode::Char('u') if is_control => self.before.clear(),
            KeyCode::Char('k') if is_control => self.after.clear(),
            KeyCode::Char('w') if is_control => {
                let kept = self.before.trim_end();
                let start = kept.rfind(' ').map_or(0, |space| space + 1);
                self.before.truncate(start);
            }
            _ => return Edited::Open,
        }
        self.chosen = 0;
        Edited::Open
    }

    fn go_home(&mut self) {
        self.after.insert_str(0, &self.before);
        self.before.clear();
    }

    fn go_to_end(&mut self) {
        self.before.push_str(&self.after);
        self.after.clear();
    }

    /// Takes off what a person sees as one character, before the cursor.
    fn pop_before(&mut self) -> String {
        let last = self.before.grapheme_indices(true).next_back();
        let start = last.map_or(0, |(start, _)| start);
        self.before.split_off(start)
    }

    /// Takes off what a person sees as one character, after the cursor.
    fn pop_after(&mut self) -> String {
        let length = self.after.graphemes(true).next().map_or(0, str::len);
        let rest = self.after.split_off(length);
        std::mem::replace(&mut self.after, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> (Prompt, Edited) {
        let mut prompt = Prompt::new(Purpose::Search);
        let press = |key: &str| prompt.press(key.parse().unwrap());
        let last = keys.split(' ').map(press).last().unwrap();
        (prompt, last)
    }

    #[test]
    fn text_is_edited_by_what_people_see_as_characters() {
        let check = |keys: &str, expected: &str| assert_eq!(typed(keys).0.text(), expected);
        check("a b c", "abc");
        check("q q", "qq");
        check("a b Left x", "axb");
        check("a b Home x End y", "xaby");
        check("a b Left Delete", "a");
        check("a Space b Ctrl-w", "a ");
        check("a b Left Ctrl-u", "b");
        check("a b Ctrl-a Ctrl-k", "");
        check("F1 Up PageDown Alt-x", "");
        let mut prompt = Prompt::new(Purpose::Palette);
        prompt.insert("e\u{301}👨\u{200d}👩\u{200d}👧");
        prompt.press("Backspace".parse().unwrap());
        assert_eq!(prompt.text(), "e\u{301}");
        prompt.press("Left".parse().unwrap());
        prompt.press("Delete".parse().unwrap());
        assert_eq!(prompt.text(), "");
    }

    #[test]
    fn a_prompt_ends_by_enter_escape_or_nothing_left() {
        assert_eq!(typed("a Enter").1, Edited::Entered);
        assert_eq!(typed("a Esc").1, Edited::Cancelled);
        assert_eq!(typed("a Backspace").1, Edited::Open);
        assert_eq!(typed("a Backspace Backspace").1, Edited::Cancelled);
    }

    #[test]
    fn a_paste_is_text_of_one_line() {
        let mut prompt = Prompt::new(Purpose::Search);
        prompt.insert("qqqq\r\n\x1b[2J\tx");
        assert_eq!(prompt.text(), "qqqq [2J x");
        prompt.insert(&"x".repeat(10_000));
        assert_eq!(prompt.text().len(), MAX_BYTES);
    }
}
