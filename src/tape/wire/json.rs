//! JSON strings as they stand in a line, and the repair of what JSON parsers refuse.

use std::borrow::Cow;

/// The inside of a JSON string, escapes and all. Decoded when it is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// Takes what stands between the quotes.
    pub const fn from_inside(inside: &'a [u8]) -> Self {
        Self(inside)
    }

    /// Takes a JSON string with its quotes; `None` for any other value.
    pub fn from_quoted(json: &'a str) -> Option<Self> {
        let inside = json.strip_prefix('"')?.strip_suffix('"')?;
        Some(Self(inside.as_bytes()))
    }

    /// What stands between the quotes: enough to compare texts that one writer wrote.
    pub const fn as_inside(self) -> &'a [u8] {
        self.0
    }

    /// The text. Invalid UTF-8 and lone surrogates are replaced by U+FFFD.
    pub fn decode(self) -> Cow<'a, str> {
        if memchr::memchr(b'\\', self.0).is_none() {
            return match std::str::from_utf8(self.0) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(self.0),
            };
        }
        let inside = String::from_utf8_lossy(self.0);
        let quoted = format!("\"{inside}\"");
        match serde_json::from_str::<String>(&repair_surrogates(&quoted)) {
            Ok(text) => Cow::Owned(text),
            Err(_) => inside,
        }
    }
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.decode(), f)
    }
}

/// Replaces each `\uD800`…`\uDFFF` that is not half of a pair by `\ufffd`.
///
/// A text cut in the middle of a pair is common in logs, and serde_json refuses it.
pub fn repair_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut repaired: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        at = match surrogate_at(bytes, escape) {
            Some(Half::High) if surrogate_at(bytes, escape + 6) == Some(Half::Low) => escape + 12,
            Some(_) => {
                let copy = repaired.get_or_insert_with(|| bytes.to_vec());
                if let Some(digits) = copy.get_mut(escape + 2..escape + 6) {
                    digits.copy_from_slice(b"fffd");
                }
                escape + 6
            }
            None => escape + 2,
        };
    }
    match repaired {
        // Only ASCII was put in place of ASCII, so this cannot fail.
        Some(copy) => Cow::Owned(String::from_utf8_lossy(&copy).into_owned()),
        None => Cow::Borrowed(json),
    }
}

#[derive(PartialEq, Eq)]
enum Half {
    High,
    Low,
}

fn surrogate_at(bytes: &[u8], escape: usize) -> Option<Half> {
    match bytes.get(escape..escape + 4)? {
        [b'\\', b'u', b'd' | b'D', digit] => match digit {
            b'8' | b'9' | b'a' | b'A' | b'b' | b'B' => Some(Half::High),
            b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_kept() {
        let check = |json: &str, expected: &str| {
            let text: String = serde_json::from_str(&repair_surrogates(json)).unwrap();
            assert_eq!(text, expected, "{json}");
        };
        check(r#""a""#, "a");
        check(r#""\ud83d\ude00""#, "😀");
        check(r#""\ud83d""#, "\u{fffd}");
        check(r#""\ude00x""#, "\u{fffd}x");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
        check(r#""\\ud83d""#, "\\ud83d");
        check(r#""\uD83D\n""#, "\u{fffd}\n");
    }
}
