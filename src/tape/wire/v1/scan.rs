//! The fast way into a line: read the head, and nothing behind it.
//!
//! A head is large: it has a place for every field, and most of them are empty. Where one
//! thread finds what another takes, the places of the fields are handed over in its stead.

use std::ops::Range;

use super::head::{Put, RawHead, Scalar};
use super::key::{Key, eight, zero_bytes};
use crate::tape::wire::Text;

/// The head of a line that starts with these bytes: `prev` ends it, and by its promise
/// nothing of the head follows.
///
/// `None` where the bytes end inside the head, or where it is not in the fixed order: the
/// line has to be parsed as a whole. Nothing behind `prev` is looked at, so damage there
/// shows when the line is decoded.
pub fn scan_head(line: &[u8]) -> Option<RawHead<'_>> {
    let mut head = RawHead::default();
    scan_head_into(&mut head, line)?;
    Some(head)
}

/// The same into an empty head: where there are millions of lines, none should be copied.
pub fn scan_head_into<'a>(head: &mut RawHead<'a>, line: &'a [u8]) -> Option<()> {
    let numbers = scan(line, |key, value, _| put(head, key, value));
    [head.seq, head.t] = numbers?.map(Some);
    Some(())
}

/// Puts a field into a head. `None` for one of the content before `prev`, or of a wrong type:
/// the careful way decides.
#[inline]
fn put<'a>(head: &mut RawHead<'a>, key: Key, value: Scalar<'a>) -> Option<()> {
    match (key, value) {
        // Of each line, or of most: told apart first, they cost next to nothing.
        (Key::KIND, Scalar::Text(kind)) => head.kind = Some(kind),
        (Key::PREV, Scalar::Text(prev)) => head.prev = Some(prev),
        (Key::CALL, Scalar::Text(call)) => head.call = Some(call),
        (Key::NAME, Scalar::Text(name)) => head.name = Some(name),
        _ => return (head.put(key, value) == Put::Taken).then_some(()),
    }
    Some(())
}

/// Where in a line a field of its head stands.
#[derive(Clone, Copy, Debug)]
pub struct FieldPlace {
    key: Key,
    start: u32,
    end: u32,
}

/// Finds the fields of a head without reading them: adds their places, and gives the event's
/// number and time. `None` where the line has to be parsed as a whole; what was added then
/// means nothing.
pub fn find_fields(line: &[u8], places: &mut Vec<FieldPlace>) -> Option<[u64; 2]> {
    u32::try_from(line.len()).ok()?;
    scan(line, |key, _, Range { start, end }| {
        places.push(FieldPlace {
            key,
            start: start as u32,
            end: end as u32,
        });
        Some(())
    })
}

/// What [`scan_head_into`] reads, where [`find_fields`] has been over the line.
pub fn read_fields<'a>(
    head: &mut RawHead<'a>,
    line: &'a [u8],
    numbers: [u64; 2],
    places: &[FieldPlace],
) -> Option<()> {
    [head.seq, head.t] = numbers.map(Some);
    for FieldPlace { key, start, end } in places {
        let value = match line.get(*start as usize..*end as usize)? {
            [b'"', inside @ .., b'"'] => Scalar::Text(Text::from_inside(inside)),
            word => Scalar::of_word(word),
        };
        put(head, *key, value)?;
    }
    Some(())
}

/// Goes through a head: gives its number and time, and tells of every other field, with the
/// bytes of the line that its value takes.
#[inline]
fn scan<'a>(
    line: &'a [u8],
    mut take: impl FnMut(Key, Scalar<'a>, Range<usize>) -> Option<()>,
) -> Option<[u64; 2]> {
    let (seq, rest) = number(line.strip_prefix(b"{\"seq\":")?)?;
    let (t, rest) = number(rest.strip_prefix(b",\"t\":")?)?;
    let value = rest.strip_prefix(b",\"kind\":")?;
    let (kind, mut rest) = text(value.strip_prefix(b"\"")?)?;
    let place = |value: &[u8], rest: &[u8]| line.len() - value.len()..line.len() - rest.len();
    take(Key::KIND, Scalar::Text(kind), place(value, rest))?;
    loop {
        let (key, after) = Key::split_from(rest.strip_prefix(b",\"")?)?;
        let value = after.strip_prefix(b"\":")?;
        if key == Key::PREV {
            let (prev, rest) = hash(value.strip_prefix(b"\"")?)?;
            take(Key::PREV, Scalar::Text(prev), place(value, rest))?;
            return Some([seq, t]);
        }
        let scalar = if let Some(inside) = value.strip_prefix(b"\"") {
            let (text, after) = text(inside)?;
            rest = after;
            Scalar::Text(text)
        } else {
            let end = value.iter().position(|byte| matches!(byte, b',' | b'}'))?;
            let (word, after) = value.split_at_checked(end)?;
            rest = after;
            Scalar::of_word(word)
        };
        take(key, scalar, place(value, rest))?;
    }
}

/// Splits behind a number; `None` where there is none, or one that is not whole or too large.
#[inline]
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    const TENS: [u64; 9] = [
        1,
        10,
        100,
        1000,
        10_000,
        100_000,
        1_000_000,
        10_000_000,
        100_000_000,
    ];
    let mut number: u64 = 0;
    let mut rest = bytes;
    loop {
        let word = u64::from_le_bytes(*rest.first_chunk()?) ^ eight(b'0');
        // The high bit of the first byte that is above nine; higher bits may be set by chance.
        let others = (word.wrapping_add(eight(0x76)) | word) & eight(0x80);
        let digits = others.trailing_zeros() as usize / 8;
        // The digits at the end of the word, zeros before them; then two, four, eight as one.
        let ones = word.unbounded_shl(64 - 8 * digits as u32);
        let twos = (ones.wrapping_mul(10) + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
        let fours = (twos.wrapping_mul(100) + (twos >> 16)) & 0x0000_ffff_0000_ffff;
        let eights = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
        number = number
            .checked_mul(*TENS.get(digits)?)?
            .checked_add(eights)?;
        rest = rest.split_at_checked(digits)?.1;
        if digits < 8 {
            let is_one = rest.len() < bytes.len();
            return is_one.then_some((number, rest));
        }
    }
}

/// The same of a text that is most often the hash of a line: 32 bytes that are looked at all at
/// once.
#[inline]
fn hash(bytes: &[u8]) -> Option<(Text<'_>, &[u8])> {
    if let Some((digits, [b'"', rest @ ..])) = bytes.split_first_chunk::<32>() {
        let ends = digits.iter().map(|byte| matches!(byte, b'"' | b'\\'));
        if !ends.fold(false, |any, is_end| any | is_end) {
            return Some((Text::from_inside(digits), rest));
        }
    }
    text(bytes)
}

/// Splits behind the closing quote of a string whose opening quote was passed.
#[inline]
fn text(bytes: &[u8]) -> Option<(Text<'_>, &[u8])> {
    let at = quote(bytes)?;
    let (inside, rest) = bytes.split_at_checked(at)?;
    if inside.last() == Some(&b'\\') {
        return text_with_escapes(bytes, at);
    }
    Some((Text::from_inside(inside), rest.get(1..)?))
}

/// The same where a backslash stands before the first quote, which is here.
#[cold]
fn text_with_escapes(bytes: &[u8], first: usize) -> Option<(Text<'_>, &[u8])> {
    let mut at = first;
    loop {
        let (inside, rest) = bytes.split_at_checked(at)?;
        // Of backslashes before a quote, each two stand for one; one that is left escapes it.
        let escapes = inside.iter().rev().take_while(|byte| **byte == b'\\');
        if escapes.count().is_multiple_of(2) {
            return Some((Text::from_inside(inside), rest.get(1..)?));
        }
        at += 1;
        at += quote(bytes.get(at..)?)?;
    }
}

/// The first quote. Head fields are short: eight bytes at a time in place beat a call of
/// `memchr`, which pays off on long texts only.
#[inline]
fn quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk() {
        let quotes = zero_bytes(u64::from_le_bytes(*word) ^ eight(b'"'));
        if quotes != 0 {
            return Some(at + quotes.trailing_zeros() as usize / 8);
        }
        at += 8;
        rest = after;
    }
    let found = rest.iter().position(|byte| *byte == b'"')?;
    Some(at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_found_wherever_they_stand_unless_they_are_escaped() {
        let check = |line: &str, expected: Option<&str>| {
            let found = text(line.as_bytes()).map(|(text, _)| text.as_inside());
            assert_eq!(found, expected.map(str::as_bytes), "{line}");
        };
        for len in 0..40 {
            let inside = "!".repeat(len);
            check(&format!("{inside}\",\"more\":1"), Some(&inside));
            check(&format!("{inside}\\\"\""), Some(&format!("{inside}\\\"")));
            check(&format!("{inside}\\\\\"\""), Some(&format!("{inside}\\\\")));
            check(&inside, None);
            for prev in [&inside, &format!("{inside}\\\""), &format!("\\\"{inside}")] {
                let line = format!("{prev}\",\"text\":\"\"}}");
                let found = hash(line.as_bytes()).map(|(hash, _)| hash.as_inside());
                assert_eq!(found, Some(prev.as_bytes()), "{line}");
            }
        }
    }

    #[test]
    fn numbers_of_every_length_are_read_and_larger_ones_are_not() {
        let check = |line: &str, expected: Option<u64>| {
            let found = number(line.as_bytes()).map(|(number, _)| number);
            assert_eq!(found, expected, "{line}");
        };
        for number in (0..20).map(|zeros| 10_u64.pow(zeros)) {
            check(&format!("{number},\"kind\":\"note\""), Some(number));
            check(
                &format!("{},\"kind\":\"note\"", number - 1),
                Some(number - 1),
            );
        }
        check("18446744073709551615,       ", Some(u64::MAX));
        check("18446744073709551616,       ", None);
        check("100000000000000000000000000,", None);
        check("-1,                         ", None);
        check(":9                          ", None);
        check("1.5,                        ", Some(1));
    }
}
