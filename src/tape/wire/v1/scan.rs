//! The fast way into a line: read the head, and nothing behind it.

use super::head::{Put, RawHead, Scalar};
use crate::tape::wire::Text;

/// What a scan of the first bytes of a line found.
#[expect(
    clippy::large_enum_variant,
    reason = "matched where it is made, never kept"
)]
#[derive(Debug)]
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
        let found = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(found) == Some(&b'"') {
            let (inside, rest) = bytes.split_at_checked(found)?;
            return Some((inside, rest.get(1..)?));
        }
        at = found + 2;
    }
}
