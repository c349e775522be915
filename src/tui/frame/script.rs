//! Keys, written down: `3l e ? <esc>`.
//!
//! A character is itself; a blank between keys means nothing. Other keys have names in
//! angle brackets, as vim writes them, with `c-`, `a-` and `s-` for the modifiers:
//! `<c-d>`, `<s-tab>`, `<space>`, and `<lt>` for the bracket itself.

use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::key::Key;

/// Keys in the order in which they are typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyScript(Vec<KeyEvent>);

impl KeyScript {
    /// The keys.
    pub fn keys(&self) -> &[KeyEvent] {
        &self.0
    }
}

/// A text is no script of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyScriptError {
    /// A name in brackets is no key's.
    #[error("no key is called <{0}>; there are <esc>, <enter>, <c-d>, <down> and the like")]
    Unknown(String),
    /// A bracket is not closed.
    #[error("a < that no > follows; the key itself is written <lt>")]
    Open,
}

impl FromStr for KeyScript {
    type Err = KeyScriptError;

    fn from_str(mut rest: &str) -> Result<Self, Self::Err> {
        let mut keys = Vec::new();
        while let Some(char) = rest.chars().next() {
            if let Some(named) = rest.strip_prefix('<') {
                let (name, after) = named.split_once('>').ok_or(KeyScriptError::Open)?;
                keys.push(named_key(name).ok_or_else(|| KeyScriptError::Unknown(name.into()))?);
                rest = after;
            } else {
                if !char.is_whitespace() {
                    keys.push(Key::new(KeyCode::Char(char), KeyModifiers::NONE).press());
                }
                rest = rest.strip_prefix(char).unwrap_or_default();
            }
        }
        Ok(Self(keys))
    }
}

fn named_key(name: &str) -> Option<KeyEvent> {
    let mut modifiers = KeyModifiers::NONE;
    let mut name = name;
    while let Some((modifier, key)) = name.split_at_checked(2).filter(|(_, key)| !key.is_empty()) {
        modifiers |= match modifier {
            "c-" | "C-" => KeyModifiers::CONTROL,
            "a-" | "A-" | "m-" | "M-" => KeyModifiers::ALT,
            "s-" | "S-" => KeyModifiers::SHIFT,
            _ => break,
        };
        name = key;
    }
    let name = match name.to_ascii_lowercase().as_str() {
        "lt" => "<",
        "gt" => ">",
        "cr" => "Enter",
        "bs" => "Backspace",
        _ => name,
    };
    let key: Key = name.parse().ok()?;
    Some(Key::new(key.code(), modifiers).press())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expected: &[(KeyCode, KeyModifiers)]) {
        let script: KeyScript = script.parse().unwrap();
        let keys: Vec<_> = script
            .keys()
            .iter()
            .map(|key| (key.code, key.modifiers))
            .collect();
        assert_eq!(keys, expected);
    }

    #[test]
    fn characters_are_themselves_and_blanks_are_nothing() {
        check(
            " 3l\tG\n?",
            &[
                (KeyCode::Char('3'), KeyModifiers::NONE),
                (KeyCode::Char('l'), KeyModifiers::NONE),
                (KeyCode::Char('G'), KeyModifiers::NONE),
                (KeyCode::Char('?'), KeyModifiers::NONE),
            ],
        );
        check("", &[]);
    }

    #[test]
    fn other_keys_have_names() {
        check(
            "<esc><C-c><space><lt><s-tab><F1><a-<><c-->",
            &[
                (KeyCode::Esc, KeyModifiers::NONE),
                (KeyCode::Char('c'), KeyModifiers::CONTROL),
                (KeyCode::Char(' '), KeyModifiers::NONE),
                (KeyCode::Char('<'), KeyModifiers::NONE),
                (KeyCode::Tab, KeyModifiers::SHIFT),
                (KeyCode::F(1), KeyModifiers::NONE),
                (KeyCode::Char('<'), KeyModifiers::ALT),
                (KeyCode::Char('-'), KeyModifiers::CONTROL),
            ],
        );
    }

    #[test]
    fn what_is_no_key_is_named() {
        let mistake = |text: &str| text.parse::<KeyScript>().unwrap_err();
        assert_eq!(mistake("l <nope>"), KeyScriptError::Unknown("nope".into()));
        assert_eq!(mistake("<>"), KeyScriptError::Unknown(String::new()));
        assert_eq!(mistake("<f13>"), KeyScriptError::Unknown("f13".into()));
        assert_eq!(mistake("a<b"), KeyScriptError::Open);
    }
}
