//! What a text holds when it is decoded, and where each part of it stands in the text.
//!
//! Escapes of JSON and of URLs are decoded over the whole text; base64 and hex where a run of
//! their characters is long enough to hold a secret, and only if it holds text.

use std::ops::Range;

use super::known::is_base64;

/// Fewer characters of base64 or hex hold no secret that is found by its looks.
const SHORTEST_BASE64: usize = 24;
const SHORTEST_HEX: usize = 32;
/// A run up to this length may have begun anywhere before what it encodes.
const LONGEST_SHIFTED: usize = 4096;
/// What is decoded is looked into if so many bytes of text stand in it together.
const TEXT: usize = 16;
/// Lines of wrapped base64 are at least so long.
const WRAPPED: usize = 60;

/// A decoded text.
pub(super) struct View {
    bytes: Vec<u8>,
    map: Map,
}

/// Where decoded bytes came from.
enum Map {
    /// Each from this range.
    Table(Vec<(usize, usize)>),
    /// So many bits from each of these characters.
    Digits { at: Digits, bits: usize },
}

/// Where the digits of a run stand.
enum Digits {
    From(usize),
    At(Vec<usize>),
}

impl View {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a range of the decoded bytes stands in the text, with all characters that hold
    /// bits of it.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1);
        match &self.map {
            Map::Table(table) => {
                let start = table.get(range.start).map_or(0, |(start, _)| *start);
                let end = table.get(last).map_or(start, |(_, end)| *end);
                start..end.max(start)
            }
            Map::Digits { at, bits } => {
                let at = |digit: usize| match at {
                    Digits::From(start) => start + digit,
                    Digits::At(places) => {
                        let end = places.last().copied().unwrap_or_default();
                        places.get(digit).copied().unwrap_or(end)
                    }
                };
                at(range.start * 8 / bits)..at((last * 8 + 7) / bits) + 1
            }
        }
    }
}

/// Calls for each way in which a text can be decoded.
pub(super) fn each(text: &[u8], look: &mut dyn FnMut(&View)) {
    if let Some(view) = percent(text) {
        look(&view);
    }
    if let Some(view) = escapes(text) {
        look(&view);
    }
    for run in runs(text) {
        let digits: Vec<u8> = run.digits(text).collect();
        if digits.len() >= SHORTEST_HEX && digits.iter().all(u8::is_ascii_hexdigit) {
            for shift in 0..2 {
                run.decode(&digits, shift, 4, look);
            }
        } else if is_mixed(&digits) {
            let shifts = if digits.len() <= LONGEST_SHIFTED {
                4
            } else {
                1
            };
            for shift in 0..shifts {
                run.decode(&digits, shift, 6, look);
            }
        }
    }
}

/// What base64 of text always has: both cases, and digits.
fn is_mixed(digits: &[u8]) -> bool {
    digits.iter().any(u8::is_ascii_uppercase)
        && digits.iter().any(u8::is_ascii_lowercase)
        && digits.iter().any(u8::is_ascii_digit)
}

/// Characters of base64 or hex that follow one another, over the ends of wrapped lines.
struct Run {
    parts: Vec<Range<usize>>,
}

impl Run {
    fn digits<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        let parts = self.parts.iter();
        parts.flat_map(|part| text.get(part.clone()).unwrap_or_default().iter().copied())
    }

    fn decode(&self, digits: &[u8], shift: usize, bits: usize, look: &mut dyn FnMut(&View)) {
        let digits = digits.get(shift..).unwrap_or_default();
        let bytes = decode(digits, bits);
        let mut run = 0;
        let holds_text = bytes.iter().any(|byte| {
            run = if matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r') {
                run + 1
            } else {
                0
            };
            run >= TEXT
        });
        if !holds_text {
            return;
        }
        let at = match self.parts.as_slice() {
            [part] => Digits::From(part.start + shift),
            parts => Digits::At(parts.iter().cloned().flatten().skip(shift).collect()),
        };
        look(&View {
            bytes,
            map: Map::Digits { at, bits },
        });
    }
}

/// The runs that may hold a secret.
fn runs(text: &[u8]) -> impl Iterator<Item = Run> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            at += rest.iter().position(|byte| is_base64(*byte))?;
            let mut run = Run { parts: Vec::new() };
            let mut count = 0;
            loop {
                let rest = text.get(at..).unwrap_or_default();
                let len = rest.iter().position(|byte| !is_base64(*byte));
                let len = len.unwrap_or(rest.len());
                run.parts.push(at..at + len);
                count += len;
                at += len;
                let rest = rest.get(len..).unwrap_or_default();
                let gap = [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n"]
                    .into_iter()
                    .find(|gap| rest.starts_with(gap));
                let Some(gap) = gap.filter(|_| len >= WRAPPED) else {
                    break;
                };
                if rest.get(gap.len()).is_none_or(|byte| !is_base64(*byte)) {
                    break;
                }
                at += gap.len();
            }
            if count >= SHORTEST_BASE64 {
                return Some(run);
            }
        }
    })
}

fn decode(digits: &[u8], bits: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(digits.len() * bits / 8);
    let (mut held, mut count) = (0_u32, 0);
    for digit in digits {
        held = (held << bits)
            | u32::from(if bits == 4 {
                hex(*digit)
            } else {
                base64(*digit)
            });
        count += bits;
        if count >= 8 {
            count -= 8;
            bytes.push((held >> count) as u8);
            held &= (1 << count) - 1;
        }
    }
    bytes
}

const fn base64(digit: u8) -> u8 {
    match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    }
}

/// The number that hex digits say, if they are some.
fn number(digits: Option<&[u8]>) -> Option<u32> {
    let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    Some(
        digits
            .iter()
            .fold(0, |number, digit| number << 4 | u32::from(hex(*digit))),
    )
}

/// The text with `%41` decoded, where it has such.
fn percent(text: &[u8]) -> Option<View> {
    let escape = |at: usize| {
        let digits = (text.get(at) == Some(&b'%')).then(|| text.get(at + 1..at + 3))?;
        Some((vec![number(digits)? as u8], 3))
    };
    memchr::memchr_iter(b'%', text).find_map(escape)?;
    Some(unescape(text, b'%', &escape))
}

/// The text with what JSON escapes decoded, where more is escaped than need be.
fn escapes(text: &[u8]) -> Option<View> {
    let is_special = |at: usize| matches!(text.get(at + 1), Some(b'u' | b'/'));
    memchr::memchr_iter(b'\\', text).find(|at| is_special(*at))?;
    let escape = |at: usize| match text.get(at + 1)? {
        b'u' => {
            let code = number(text.get(at + 2..at + 6))?;
            let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            Some((letter.to_string().into_bytes(), 6))
        }
        b'n' => Some((b"\n".to_vec(), 2)),
        b'r' => Some((b"\r".to_vec(), 2)),
        b't' => Some((b"\t".to_vec(), 2)),
        other @ (b'"' | b'\\' | b'/') => Some((vec![*other], 2)),
        _ => None,
    };
    Some(unescape(text, b'\\', &escape))
}

/// Decodes what `escape` says is one: its bytes, and how long it is.
fn unescape(text: &[u8], sign: u8, escape: &dyn Fn(usize) -> Option<(Vec<u8>, usize)>) -> View {
    let (mut bytes, mut table) = (Vec::with_capacity(text.len()), Vec::new());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let (decoded, len) = match escape(at).filter(|_| *byte == sign) {
            Some(escape) => escape,
            None => (vec![*byte], 1),
        };
        for byte in decoded {
            bytes.push(byte);
            table.push((at, at + len));
        }
        at += len;
    }
    let map = Map::Table(table);
    View { bytes, map }
}
