//! Text for the clipboard, as the terminal takes it (OSC 52).
//!
//! Only made-safe text gets here, and only because a key was pressed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::text::SafeText;

/// Terminals drop what is longer than some 100 000 bytes once encoded.
const LONGEST: usize = 74_000;

/// The sequence that puts these lines on the clipboard: as many whole lines as fit.
pub(super) fn sequence(lines: &[SafeText]) -> Vec<u8> {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        if text.len() + line.as_str().len() >= LONGEST {
            break;
        }
        if number > 0 {
            text.push('\n');
        }
        text.push_str(line.as_str());
    }
    format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[SafeText], expected: &str) {
        assert_eq!(String::from_utf8(sequence(lines)).unwrap(), expected);
    }

    #[test]
    fn lines_are_joined_and_encoded() {
        check(
            &[SafeText::line("one"), SafeText::line("two")],
            "\x1b]52;c;b25lCnR3bw==\x1b\\",
        );
        check(&[], "\x1b]52;c;\x1b\\");
    }

    #[test]
    fn nothing_in_the_text_ends_the_sequence() {
        check(&[SafeText::line("\x07")], "\x1b]52;c;Xkc=\x1b\\");
    }

    #[test]
    fn what_no_terminal_takes_is_left_out_by_whole_lines() {
        let lines = vec![SafeText::line(&"x".repeat(1000)); 200];
        assert!(sequence(&lines).len() < 100_000);
    }
}
