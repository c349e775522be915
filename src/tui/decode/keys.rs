//! Which key a sequence of bytes stands for.
//!
//! Nothing here cuts the stream into sequences.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Fields;

/// The key of a whole control sequence. `None` for a key that went up, and for sequences
/// that are no keys.
pub(super) fn sequence_key(fields: &Fields<'_>, last: u8) -> Option<KeyEvent> {
    let modifiers = modifiers(fields.number(1, 0).unwrap_or(1));
    let kind = match fields.number(1, 1) {
        None | Some(1) => KeyEventKind::Press,
        Some(2) => KeyEventKind::Repeat,
        Some(_) => return None,
    };
    let pressed = match last {
        b'Z' => KeyEvent::new(KeyCode::BackTab, modifiers | KeyModifiers::SHIFT),
        b'u' => unicode_key(fields, modifiers)?,
        b'~' => KeyEvent::new(numbered_key(fields.number(0, 0)?)?, modifiers),
        // With other numbers it is an answer about the cursor.
        b'R' if fields.number(0, 0) != Some(1) => return None,
        _ => cursor_key(last, modifiers)?,
    };
    Some(KeyEvent { kind, ..pressed })
}

fn modifiers(code: u32) -> KeyModifiers {
    const BITS: [KeyModifiers; 6] = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    let mask = code.saturating_sub(1);
    let held = BITS.iter().enumerate();
    held.filter(|(bit, _)| mask & (1 << bit) != 0)
        .fold(KeyModifiers::NONE, |all, (_, one)| all | *one)
}

/// A character, with the shift that an upper-case one needs.
pub(super) fn typed(char: char, mut modifiers: KeyModifiers) -> KeyEvent {
    if char.is_uppercase() {
        modifiers |= KeyModifiers::SHIFT;
    }
    KeyEvent::new(KeyCode::Char(char), modifiers)
}

/// A key that is one control character. Line feed is Enter, backspace is Backspace:
/// terminals differ in which of the two they send.
pub(super) fn control_key(byte: u8) -> KeyEvent {
    let letter = |first: char| {
        let char = char::from_u32(u32::from(first) + u32::from(byte)).unwrap_or(' ');
        KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL)
    };
    match byte {
        0x00 => KeyEvent::new(KeyCode::Char(' '), KeyModifiers::CONTROL),
        0x08 | 0x7f => KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
        b'\t' => KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE),
        b'\n' | b'\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
        0x01..=0x1a => letter('`'),
        _ => letter('@'),
    }
}

pub(super) fn cursor_key(last: u8, modifiers: KeyModifiers) -> Option<KeyEvent> {
    let code = match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    };
    Some(KeyEvent::new(code, modifiers))
}

/// The Linux console's way to send F1 to F5.
pub(super) fn console_key(letter: u8) -> Option<KeyEvent> {
    match letter {
        b'A'..=b'E' => Some(KeyEvent::new(
            KeyCode::F(letter - b'A' + 1),
            KeyModifiers::NONE,
        )),
        _ => None,
    }
}

fn numbered_key(number: u32) -> Option<KeyCode> {
    let f = |first: u32, name: u32| u8::try_from(number - first + name).map(KeyCode::F).ok();
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        11..=15 => f(11, 1),
        17..=21 => f(17, 6),
        23..=24 => f(23, 11),
        _ => None,
    }
}

/// A key of the kitty keyboard protocol. It is never asked for; a program before us may
/// have left it on.
fn unicode_key(fields: &Fields<'_>, modifiers: KeyModifiers) -> Option<KeyEvent> {
    const KEYPAD: [KeyCode; 10] = [
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Insert,
        KeyCode::Delete,
    ];
    let is_shifted = modifiers.contains(KeyModifiers::SHIFT);
    let code = match fields.number(0, 0)? {
        9 if is_shifted => KeyCode::BackTab,
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        digit @ 57399..=57408 => KeyCode::Char(char::from_digit(digit - 57399, 10)?),
        place @ 57417..=57426 => *KEYPAD.get(place as usize - 57417)?,
        // The protocol's own keys: modifiers, media keys and the like.
        57344..=63743 => return None,
        plain => {
            let plain = char::from_u32(plain)?;
            let shifted = fields.number(0, 1).and_then(char::from_u32);
            let char = match shifted {
                _ if !is_shifted => plain,
                Some(shifted) => shifted,
                None => plain.to_ascii_uppercase(),
            };
            return Some(typed(char, modifiers));
        }
    };
    Some(KeyEvent::new(code, modifiers))
}
