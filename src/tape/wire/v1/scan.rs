//! The fast way into a line: read the head, and nothing behind it.

use super::head::{Put, RawHead, Scalar};
use crate::tape::wire::Text;

/// What a scan of the first bytes of a line found.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "made once a line and taken apart at once: a box would cost an allocation a line"
)]
pub enum Scan<'a> {
    /// The whole head: `prev` ends it, and by its promise nothing of the head follows.
    Head(RawHead<'a>),
    /// The bytes end inside the head: more of the line is needed.
    Incomplete,
    /// Not in the fixed order: the line has to be parsed as a whole.
    OtherOrder,
}

/// Scans the head of a line that starts with these bytes.
///
/// Nothing behind `prev` is looked at, so damage there shows when the line is decoded.
pub fn scan_head(line: &[u8]) -> Scan<'_> {
    const FIRST: [&[u8]; 3] = [b"seq", b"t", b"kind"];
    let mut head = RawHead::default();
    let mut rest = match line.split_first() {
        Some((b'{', rest)) => rest,
        Some(_) => return Scan::OtherOrder,
        None => return Scan::Incomplete,
    };
    let mut fields = 0;
    loop {
        let Some((key, after)) = (match rest.split_first() {
            Some((b'"', after)) => string(after),
            Some(_) => return Scan::OtherOrder,
            None => return Scan::Incomplete,
        }) else {
            return Scan::Incomplete;
        };
        rest = match after.split_first() {
            Some((b':', after)) => after,
            Some(_) => return Scan::OtherOrder,
            None => return Scan::Incomplete,
        };
        if FIRST.get(fields).is_some_and(|first| *first != key) {
            return Scan::OtherOrder;
        }
        let value = match rest.first() {
            Some(b'"') => match string(rest.get(1..).unwrap_or_default()) {
                Some((inside, after)) => {
                    rest = after;
                    Scalar::Text(Text::from_inside(inside))
                }
                None => return Scan::Incomplete,
            },
            Some(b'0'..=b'9' | b'-' | b't' | b'f') => {
                let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'));
                let Some((word, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
                    return Scan::Incomplete;
                };
                rest = after;
                match word {
                    b"true" => Scalar::Bool(true),
                    b"false" => Scalar::Bool(false),
                    number => Scalar::Number(number),
                }
            }
            Some(_) => return Scan::OtherOrder,
            None => return Scan::Incomplete,
        };
        // A field of the content before `prev`, or one of a wrong type: the careful way decides.
        if head.put(key, value) != Put::Taken {
            return Scan::OtherOrder;
        }
        if key == b"prev" {
            return Scan::Head(head);
        }
        fields += 1;
        rest = match rest.split_first() {
            Some((b',', rest)) => rest,
            Some(_) => return Scan::OtherOrder,
            None => return Scan::Incomplete,
        };
    }
}

/// Splits behind the closing quote of a string whose opening quote was passed.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        let found = at + quote_or_backslash(bytes.get(at..)?)?;
        if bytes.get(found) == Some(&b'"') {
            let (inside, rest) = bytes.split_at_checked(found)?;
            return Some((inside, rest.get(1..)?));
        }
        at = found + 2;
    }
}

/// The first quote or backslash. Head fields are short: eight bytes at a time in place beat
/// a call of `memchr`, which pays off on long texts only.
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The lowest set high bit marks the first byte that is zero; higher ones may be false.
    const fn zero_bytes(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word & HIGHS
    }
    let mut words = bytes.chunks_exact(8);
    for (at, word) in words.by_ref().enumerate() {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        let word = u64::from_le_bytes(eight);
        let quotes = zero_bytes(word ^ (ONES * u64::from(b'"')));
        let backslashes = zero_bytes(word ^ (ONES * u64::from(b'\\')));
        let found = quotes | backslashes;
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let rest = words.remainder();
    let start = bytes.len() - rest.len();
    rest.iter()
        .position(|byte| matches!(byte, b'"' | b'\\'))
        .map(|at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_found_wherever_they_stand() {
        for len in 0..40 {
            for at in 0..len {
                for byte in [b'"', b'\\'] {
                    let mut bytes = vec![b'!'; len];
                    bytes[at] = byte;
                    assert_eq!(quote_or_backslash(&bytes), Some(at));
                }
            }
            assert_eq!(quote_or_backslash(&vec![b'#'; len]), None);
        }
    }
}
