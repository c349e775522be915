//! Keys as they are written: `l`, `Ctrl-d`, `PgUp`, `Shift-Tab`.
//!
//! A key that is a character stands for that character, whatever else was held down to
//! type it, so that keyboard layouts and the Caps Lock do not matter. Nothing here knows
//! what a key does.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with what is held down beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// A text names no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no key; keys are written like l, G, Ctrl-d, PgUp, Shift-Tab, Esc")]
pub struct KeyError(pub String);

/// The keys with names, each under the name shown to people first.
const NAMED: [(&str, KeyCode); 22] = [
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Space", KeyCode::Char(' ')),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("F1", KeyCode::F(1)),
    ("Return", KeyCode::Enter),
    ("Escape", KeyCode::Esc),
    ("Del", KeyCode::Delete),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("PgDown", KeyCode::PageDown),
];

impl Key {
    /// The key with this code and these modifiers.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let held = modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let (code, modifiers) = match code {
            KeyCode::Char(c) if held.contains(KeyModifiers::CONTROL) => {
                (KeyCode::Char(c.to_ascii_lowercase()), held)
            }
            KeyCode::Char(c) if held.contains(KeyModifiers::SHIFT) => {
                (KeyCode::Char(c.to_ascii_uppercase()), held)
            }
            KeyCode::BackTab => (KeyCode::Tab, held | KeyModifiers::SHIFT),
            code => (code, held),
        };
        // A character says by itself whether Shift was held.
        let modifiers = match code {
            KeyCode::Char(_) => modifiers - KeyModifiers::SHIFT,
            _ => modifiers,
        };
        Self { code, modifiers }
    }

    /// The key's code.
    pub fn code(self) -> KeyCode {
        self.code
    }

    /// The character that the key types, if it types one.
    pub fn character(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.modifiers.is_empty() => Some(c),
            _ => None,
        }
    }

    /// The event of pressing this key.
    pub fn press(self) -> KeyEvent {
        KeyEvent::new(self.code, self.modifiers)
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut rest = text;
        let mut modifiers = KeyModifiers::NONE;
        let prefixes = [
            ("Ctrl-", KeyModifiers::CONTROL),
            ("Alt-", KeyModifiers::ALT),
            ("Shift-", KeyModifiers::SHIFT),
        ];
        while let Some((inner, modifier)) = prefixes
            .iter()
            .find_map(|(prefix, modifier)| Some((rest.strip_prefix(prefix)?, *modifier)))
        {
            rest = inner;
            modifiers |= modifier;
        }
        let named = NAMED
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(rest));
        let mut characters = rest.chars();
        let code = match (named, characters.next(), characters.next()) {
            (Some((_, code)), _, _) => *code,
            (None, Some(c), None) => KeyCode::Char(c),
            _ => return Err(KeyError(text.to_owned())),
        };
        Ok(Self::new(code, modifiers))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (prefix, modifier) in [
            ("Ctrl-", KeyModifiers::CONTROL),
            ("Alt-", KeyModifiers::ALT),
            ("Shift-", KeyModifiers::SHIFT),
        ] {
            if self.modifiers.contains(modifier) {
                f.write_str(prefix)?;
            }
        }
        let arrow = match self.code {
            KeyCode::Left => Some("←"),
            KeyCode::Right => Some("→"),
            KeyCode::Up => Some("↑"),
            KeyCode::Down => Some("↓"),
            _ => None,
        };
        let named = NAMED.iter().find(|(_, code)| *code == self.code);
        match (arrow, named, self.code) {
            (Some(arrow), _, _) => f.write_str(arrow),
            (None, Some((name, _)), _) => f.write_str(name),
            (None, None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, None, code) => write!(f, "{code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_as_it_is_written() {
        let check = |text: &str, shown: &str| {
            let key: Key = text.parse().unwrap();
            assert_eq!(key.to_string(), shown);
            assert_eq!(Key::from(key.press()), key);
        };
        check("l", "l");
        check("G", "G");
        check("-", "-");
        check("Ctrl-D", "Ctrl-d");
        check("pagedown", "PgDn");
        check("Shift-Tab", "Shift-Tab");
        check("Left", "←");
        check("é", "é");
        for text in ["", "ab", "Ctrl-", "Hyper-x"] {
            assert_eq!(text.parse::<Key>(), Err(KeyError(text.to_owned())));
        }
    }

    #[test]
    fn a_character_is_one_key_however_the_terminal_reports_it() {
        let g = Key::new(KeyCode::Char('G'), KeyModifiers::NONE);
        assert_eq!(Key::new(KeyCode::Char('G'), KeyModifiers::SHIFT), g);
        assert_eq!(Key::new(KeyCode::Char('g'), KeyModifiers::SHIFT), g);
        let back = Key::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(back, Key::new(KeyCode::Tab, KeyModifiers::SHIFT));
        assert_eq!(back, Key::new(KeyCode::BackTab, KeyModifiers::NONE));
    }
}
