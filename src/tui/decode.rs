//! What a terminal's bytes mean: keys, the mouse, a paste, focus.
//!
//! Pure: bytes go in, [`Event`]s come out, and the only state is an unfinished sequence.
//! A key is told once when it is pressed and once for each repeat; its release is never
//! told, so that one press is one move whatever keyboard protocol the terminal speaks.
//! Sequences that mean nothing here are swallowed whole: their rest is never taken for
//! typed keys.
//!
//! The words are crossterm's. Its reader is not used: once the terminal is gone it spins
//! for ever (crossterm-rs/crossterm#793), a paste that never ends swallows every later
//! key (#1060), and it cannot be told to leave the keys to an editor.

mod keys;
mod mouse;

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use keys::{console_key, control_key, cursor_key, sequence_key, typed};
use mouse::{mouse, old_mouse};

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// A paste is kept up to this many bytes; the rest of it is dropped.
const LONGEST_PASTE: usize = 1 << 20;

/// No sequence that means something is longer.
const LONGEST_SEQUENCE: usize = 64;

/// Reads a terminal's bytes, in whatever pieces they arrive.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    /// Takes the next bytes, and tells what they mean.
    pub(super) fn push(&mut self, bytes: &[u8], tell: &mut impl FnMut(Event)) {
        self.pending.extend_from_slice(bytes);
        loop {
            if self.paste.is_some() && !self.take_paste(tell) {
                return;
            }
            match take(&self.pending) {
                Taken::Nothing => return,
                Taken::Event(length, event) => {
                    self.pending.drain(..length);
                    tell(event);
                }
                Taken::Noise(length) => drop(self.pending.drain(..length)),
                Taken::PasteStart(length) => {
                    self.pending.drain(..length);
                    self.paste = Some(Vec::new());
                }
            }
        }
    }

    /// How long to wait for the rest of what has begun; `None` when nothing has. The key
    /// Esc looks like the beginning of a sequence, so this is short where it may be one.
    pub(super) fn patience(&self) -> Option<Duration> {
        match (self.pending.as_slice(), &self.paste) {
            ([], None) => None,
            ([ESC], None) => Some(Duration::from_millis(10)),
            _ => Some(Duration::from_millis(500)),
        }
    }

    /// Nothing followed in that time: what has begun is all there is.
    pub(super) fn settle(&mut self, tell: &mut impl FnMut(Event)) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(paste) = self.paste.take() {
            tell(pasted(&paste));
        } else if let [ESC] = pending.as_slice() {
            tell(Event::Key(KeyCode::Esc.into()));
        } else if let [ESC, byte @ 0x20..0x7f] = pending.as_slice() {
            tell(Event::Key(typed(char::from(*byte), KeyModifiers::ALT)));
        }
    }

    /// Moves what is pending into the paste. True when the paste has ended.
    fn take_paste(&mut self, tell: &mut impl FnMut(Event)) -> bool {
        let Some(paste) = &mut self.paste else {
            return true;
        };
        // The end may be cut anywhere: its beginning can lie in what came before.
        let cut = PASTE_END.len() - 1;
        let unread = paste.len().saturating_sub(cut);
        paste.append(&mut self.pending);
        if let Some(at) = memchr::memmem::find(&paste[unread..], PASTE_END) {
            self.pending = paste.split_off(unread + at + PASTE_END.len());
            paste.truncate((unread + at).min(LONGEST_PASTE));
            tell(pasted(paste));
            self.paste = None;
            return true;
        }
        if paste.len() > LONGEST_PASTE + cut {
            paste.drain(LONGEST_PASTE..paste.len() - cut);
        }
        false
    }
}

/// What the first bytes are.
enum Taken {
    /// Not whole yet.
    Nothing,
    /// So many bytes, which mean this.
    Event(usize, Event),
    /// So many bytes, which mean nothing here.
    Noise(usize),
    /// So many bytes, after which a paste follows.
    PasteStart(usize),
}

impl Taken {
    fn of(length: usize, event: Option<Event>) -> Self {
        event.map_or(Self::Noise(length), |event| Self::Event(length, event))
    }

    fn key(length: usize, key: impl Into<Option<KeyEvent>>) -> Self {
        Self::of(length, key.into().map(Event::Key))
    }
}

fn take(bytes: &[u8]) -> Taken {
    match bytes {
        [] | [ESC] | [ESC, b'O'] => Taken::Nothing,
        [ESC, ESC, ..] => Taken::key(1, KeyEvent::from(KeyCode::Esc)),
        [ESC, b'[', rest @ ..] => take_control(rest),
        [ESC, b'O', last, ..] => Taken::key(3, cursor_key(*last, KeyModifiers::NONE)),
        [ESC, b']' | b'P' | b'_' | b'^' | b'X', rest @ ..] => take_string(rest),
        [ESC, rest @ ..] => match take(rest) {
            Taken::Event(length, Event::Key(mut pressed)) => {
                pressed.modifiers |= KeyModifiers::ALT;
                Taken::Event(length + 1, Event::Key(pressed))
            }
            Taken::Event(length, _) | Taken::Noise(length) | Taken::PasteStart(length) => {
                Taken::Noise(length + 1)
            }
            Taken::Nothing => Taken::Nothing,
        },
        [byte @ (0x00..0x20 | 0x7f), ..] => Taken::key(1, control_key(*byte)),
        _ => take_char(bytes),
    }
}

/// A character in UTF-8.
fn take_char(bytes: &[u8]) -> Taken {
    let (first, is_cut) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => {
            let valid = bytes.split_at(error.valid_up_to()).0;
            let text = std::str::from_utf8(valid).unwrap_or_default();
            (text, error.error_len().is_none())
        }
    };
    match first.chars().next() {
        Some(char) => Taken::key(char.len_utf8(), typed(char, KeyModifiers::NONE)),
        None if is_cut => Taken::Nothing,
        None => Taken::Noise(1),
    }
}

/// A string for a terminal, such as an answer to a question that we never asked: up to
/// its terminator.
fn take_string(body: &[u8]) -> Taken {
    let end = body.iter().position(|&byte| matches!(byte, 0x07 | ESC));
    match end.map(|at| (at, body.get(at..))) {
        Some((at, Some([ESC, b'\\', ..]))) => Taken::Noise(2 + at + 2),
        Some((_, Some([ESC]))) | None => Taken::Nothing,
        Some((at, Some([ESC, ..]))) => Taken::Noise(2 + at),
        Some((at, _)) => Taken::Noise(2 + at + 1),
    }
}

/// A control sequence, after its introducer of two bytes.
fn take_control(body: &[u8]) -> Taken {
    match body {
        [b'[', letter, ..] => return Taken::key(4, console_key(*letter)),
        [b'M', button, x, y, ..] => {
            return Taken::of(6, old_mouse(*button, *x, *y).map(Event::Mouse));
        }
        [] | [b'[' | b'M', ..] => return Taken::Nothing,
        _ => {}
    }
    let Some(end) = body.iter().position(|byte| !(0x20..0x40).contains(byte)) else {
        return if body.len() > LONGEST_SEQUENCE {
            Taken::Noise(2 + body.len())
        } else {
            Taken::Nothing
        };
    };
    let (parameters, last) = (&body[..end], body[end]);
    let length = 2 + end + 1;
    if !(0x40..0x7f).contains(&last) {
        // Broken off: what broke it is read for itself.
        return Taken::Noise(length - 1);
    }
    let parameters = std::str::from_utf8(parameters).unwrap_or_default();
    if (parameters, last) == ("200", b'~') {
        return Taken::PasteStart(length);
    }
    Taken::of(length, control(parameters, last))
}

/// What a whole control sequence means.
fn control(parameters: &str, last: u8) -> Option<Event> {
    match (parameters, last) {
        ("", b'I') => Some(Event::FocusGained),
        ("", b'O') => Some(Event::FocusLost),
        _ => match parameters.strip_prefix('<') {
            Some(report) => mouse(&Fields(report), last).map(Event::Mouse),
            None => sequence_key(&Fields(parameters), last).map(Event::Key),
        },
    }
}

/// Numbers between semicolons, each with parts between colons.
struct Fields<'a>(&'a str);

impl Fields<'_> {
    fn number(&self, field: usize, part: usize) -> Option<u32> {
        let field = self.0.split(';').nth(field)?;
        field.split(':').nth(part)?.parse().ok()
    }
}

fn pasted(bytes: &[u8]) -> Event {
    // Terminals send the carriage return that a typed line would end with.
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    Event::Paste(text.replace('\r', "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEventKind;
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece, &mut |event| events.push(event));
        }
        decoder.settle(&mut |event| events.push(event));
        events
    }

    /// The events of these bytes as text, whether they come at once or one by one.
    fn check(bytes: &[u8], expected: &str) {
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        for pieces in [vec![bytes], one_by_one] {
            let words: Vec<String> = decode(&pieces).iter().map(word).collect();
            assert_eq!(words.join(" "), expected, "{}", bytes.escape_ascii());
        }
    }

    fn word(event: &Event) -> String {
        match event {
            Event::Key(pressed) => {
                let mut word = String::new();
                for (modifier, sign) in [
                    (KeyModifiers::CONTROL, "c-"),
                    (KeyModifiers::ALT, "a-"),
                    (KeyModifiers::SHIFT, "s-"),
                ] {
                    if pressed.modifiers.contains(modifier) {
                        word.push_str(sign);
                    }
                }
                match pressed.code {
                    KeyCode::Char(char) => word.push(char),
                    code => {
                        let name = format!("{code:?}");
                        word.push_str(&name);
                    }
                }
                if pressed.kind == KeyEventKind::Repeat {
                    word.push('…');
                }
                word
            }
            Event::Mouse(mouse) => format!("{:?}@{},{}", mouse.kind, mouse.column, mouse.row),
            event => format!("{event:?}"),
        }
    }

    #[test]
    fn keys() {
        check(b"jG\xc3\xa9", "j s-G é");
        check(b"\r\n\t\x7f\x08", "Enter Enter Tab Backspace Backspace");
        check(b"\x03\x1a\x00\x1c", "c-c c-z c-  c-\\");
        check(
            b"\x1b[A\x1b[1;5C\x1bOB\x1b[H\x1b[4~",
            "Up c-Right Down Home End",
        );
        check(b"\x1b[Z\x1b[5~\x1b[6;2~", "s-BackTab PageUp s-PageDown");
        check(b"\x1bOP\x1b[15~\x1b[24~\x1b[[B", "F(1) F(5) F(12) F(2)");
        check(b"\x1bj\x1b\x7f", "a-j a-Backspace");
        check(b"\x1b", "Esc");
        check(b"\x1b\x1b", "Esc Esc");
        check(b"\x1b[", "a-[");
    }

    #[test]
    fn a_press_is_one_move_and_a_release_is_none() {
        check(
            b"\x1b[106;1:1u\x1b[106;1:3u\x1b[106u\x1b[106;1:2u\x1b[106;1:2u\x1b[106;1:3u",
            "j j j… j…",
        );
        check(b"\x1b[1;1:1B\x1b[1;1:3B", "Down");
        check(
            b"\x1b[103:71;2u\x1b[103;2u\x1b[99;5u\x1b[57441u",
            "s-G s-G c-c",
        );
        check(
            b"\x1b[27u\x1b[9;2u\x1b[57420u\x1b[57400u",
            "Esc s-BackTab Down 1",
        );
    }

    #[test]
    fn the_mouse() {
        check(
            b"\x1b[<0;1;2M\x1b[<32;3;2M\x1b[<0;3;2m\x1b[<65;400;300M",
            "Down(Left)@0,1 Drag(Left)@2,1 Up(Left)@2,1 ScrollDown@399,299",
        );
        check(b"\x1b[M !!\x1b[M#\"\"", "Down(Left)@0,0 Up(Left)@1,1");
        check(b"\x1b[<0;0;0M\x1b[<0;99999;1M", "");
    }

    #[test]
    fn a_paste_is_one_event_whatever_it_holds() {
        check(b"\x1b[200~qqqq\x1b[201~q", r#"Paste("qqqq") q"#);
        check(
            b"\x1b[200~a\rb\x1b[A\x03\x1b[201~",
            "Paste(\"a\\nb\\u{1b}[A\\u{3}\")",
        );
        check(b"\x1b[200~never ended", r#"Paste("never ended")"#);
    }

    #[test]
    fn a_paste_that_is_too_long_is_cut() {
        let mut bytes = b"\x1b[200~".to_vec();
        bytes.resize(3 << 20, b'x');
        bytes.extend_from_slice(b"\x1b[201~q");
        let events = decode(&bytes.chunks(1000).collect::<Vec<_>>());
        let [Event::Paste(text), Event::Key(_)] = events.as_slice() else {
            panic!("{} events", events.len());
        };
        assert!(text.len() <= LONGEST_PASTE);
    }

    #[test]
    fn answers_to_questions_we_never_asked_are_no_keys() {
        check(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\q", "q");
        check(b"\x1b]11;rgb:ffff\x07q", "q");
        check(b"\x1bP>|xterm(370)\x1b\\q", "q");
        check(b"\x1b[?62;22c\x1b[?1u\x1b[12;40Rq", "q");
        check(b"\x1b[12\x03", "c-c");
        check(b"\xff\xc3q", "q");
    }

    #[test]
    fn focus() {
        check(b"\x1b[I\x1b[O", "FocusGained FocusLost");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_bytes_end_and_the_next_key_is_heard(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes, &mut drop);
            decoder.settle(&mut drop);
            prop_assert_eq!(decoder.patience(), None);
            let mut events = Vec::new();
            decoder.push(b"q", &mut |event| events.push(event));
            prop_assert_eq!(events, vec![Event::Key(KeyCode::Char('q').into())]);
        }
    }
}
