//! One physical line, read with all care: which records stand on it, and what is wrong.
//!
//! Shared by the index pass (for lines that the head scan cannot vouch for), by `verify`
//! and by the importers, so that damage means the same everywhere.

use std::borrow::Cow;
use std::ops::Range;

use crate::model::ProblemKind;
use crate::tape::wire::repair_surrogates;

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A JSON object, at these bytes of the line.
    Record(Range<usize>),
    /// Bytes that are no record, and why.
    Bad(Range<usize>, ProblemKind, String),
}

/// What stands on a line: its pieces in order, and remarks on pieces that could be read
/// nevertheless (`offset` within the line).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineContent {
    /// The pieces. An empty line has none.
    pub pieces: Vec<Piece>,
    /// Faults that cost nothing: glued records, replaced bytes, NULs around a record.
    pub remarks: Vec<(usize, ProblemKind, String)>,
}

/// Reads a line (without its newline) with all care.
///
/// Behind bytes that cannot be read, another record may stand; `is_record` tells one from
/// an object inside the record that was cut.
pub fn read_line(line: &[u8], is_record: impl Fn(&str) -> bool) -> LineContent {
    let mut content = LineContent::default();
    let mut at = 0;
    loop {
        let start = at;
        at = skip(line, at, |byte| byte == 0 || byte.is_ascii_whitespace());
        let skipped = line.get(start..at).unwrap_or_default();
        let nuls = memchr::memchr_iter(0, skipped).count();
        if nuls > 0 {
            let bad = (
                start..at,
                ProblemKind::NulBytes,
                format!("{nuls} NUL bytes"),
            );
            if at == line.len() && content.pieces.is_empty() {
                content.pieces.push(Piece::Bad(bad.0, bad.1, bad.2));
            } else {
                content.remarks.push((start, bad.1, bad.2));
            }
        }
        let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) else {
            return content;
        };
        let has_record = content
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Record(_)));
        match first_value(rest) {
            Ok(Value {
                len,
                is_object: true,
                was_repaired,
            }) => {
                if has_record {
                    let text = "another record stands on the same line; both were read";
                    content
                        .remarks
                        .push((at, ProblemKind::GluedRecords, text.to_owned()));
                }
                if let Some((kind, text)) = was_repaired {
                    content.remarks.push((at, kind, text.to_owned()));
                }
                content.pieces.push(Piece::Record(at..at + len));
                at += len;
            }
            Ok(Value { len, .. }) => {
                let text = "a JSON value that is no object".to_owned();
                content
                    .pieces
                    .push(Piece::Bad(at..at + len, ProblemKind::NotAnObject, text));
                at += len;
            }
            Err(reason) => {
                let end = next_record(rest, &is_record).map_or(line.len(), |found| at + found);
                let bad = line.get(at..end).unwrap_or_default();
                let (kind, reason) = if bad.contains(&0) {
                    (
                        ProblemKind::NulBytes,
                        "NUL bytes inside the line".to_owned(),
                    )
                } else {
                    (ProblemKind::NotJson, format!("not JSON: {reason}"))
                };
                content.pieces.push(Piece::Bad(at..end, kind, reason));
                at = end;
            }
        }
    }
}

/// The text of a record's bytes: invalid UTF-8 and lone surrogates are replaced.
pub fn to_text(record: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(record) {
        Cow::Borrowed(text) => repair_surrogates(text),
        Cow::Owned(text) => Cow::Owned(repair_surrogates(&text).into_owned()),
    }
}

struct Value {
    /// Its length in the bytes of the line.
    len: usize,
    is_object: bool,
    was_repaired: Option<(ProblemKind, &'static str)>,
}

/// The first JSON value of these bytes, or why there is none.
fn first_value(bytes: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut stream =
        serde_json::Deserializer::from_str(&text).into_iter::<&serde_json::value::RawValue>();
    let raw = match stream.next() {
        Some(Ok(raw)) => raw,
        Some(Err(error)) => return Err(without_position(&error)),
        None => return Err("no JSON".to_owned()),
    };
    let end = stream.byte_offset();
    let was_repaired = if matches!(text, Cow::Owned(_)) && raw.get().contains('\u{fffd}') {
        Some((ProblemKind::InvalidUtf8, "invalid UTF-8 was replaced"))
    } else if matches!(repair_surrogates(raw.get()), Cow::Owned(_)) {
        Some((
            ProblemKind::LoneSurrogate,
            "half of a surrogate pair was replaced",
        ))
    } else {
        None
    };
    Ok(Value {
        len: raw_len(bytes, end),
        is_object: raw.get().starts_with('{'),
        was_repaired,
    })
}

/// How many of `bytes` became the first `lossy_len` bytes of their lossy text.
fn raw_len(bytes: &[u8], lossy_len: usize) -> usize {
    let (mut raw, mut lossy) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if lossy + valid >= lossy_len {
            return raw + (lossy_len - lossy);
        }
        raw += valid + chunk.invalid().len();
        lossy += valid
            + if chunk.invalid().is_empty() {
                0
            } else {
                '\u{fffd}'.len_utf8()
            };
    }
    raw
}

/// Where, behind the first byte, a record begins.
fn next_record(bytes: &[u8], is_record: impl Fn(&str) -> bool) -> Option<usize> {
    // A line of garbage full of braces must not cost a parse for each of them.
    const TRIES: usize = 32;
    memchr::memmem::find_iter(bytes, b"{\"")
        .filter(|found| *found > 0)
        .take(TRIES)
        .find(|found| {
            let rest = bytes.get(*found..).unwrap_or_default();
            first_value(rest).is_ok_and(|value| {
                let text = to_text(rest.get(..value.len).unwrap_or_default());
                value.is_object && is_record(&text)
            })
        })
}

fn skip(line: &[u8], from: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    let rest = line.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| is_skipped(**byte)).count()
}

fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text.split_at_checked(end)
        .map_or_else(|| text.clone(), |(reason, _)| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_damage_keeps_what_can_be_read() {
        let check = |line: &[u8], records: &[&[u8]], kinds: &[ProblemKind]| {
            let content = read_line(line, |record| !record.contains("inner"));
            let mut seen = Vec::new();
            let mut faults: Vec<ProblemKind> =
                content.remarks.iter().map(|remark| remark.1).collect();
            for piece in content.pieces {
                match piece {
                    Piece::Record(range) => seen.push(&line[range]),
                    Piece::Bad(_, kind, _) => faults.push(kind),
                }
            }
            let shown = String::from_utf8_lossy(line);
            assert_eq!(seen, records, "{shown}");
            assert_eq!(faults, kinds, "{shown}");
        };
        check(b"", &[], &[]);
        check(b"{\"a\":1}", &[b"{\"a\":1}"], &[]);
        check(
            b"{\"a\":1}{\"b\":2}",
            &[b"{\"a\":1}", b"{\"b\":2}"],
            &[ProblemKind::GluedRecords],
        );
        check(
            b"{\"a\":\"x{\"b\":2}",
            &[b"{\"b\":2}"],
            &[ProblemKind::NotJson],
        );
        check(
            b"\0\0\0{\"a\":1}",
            &[b"{\"a\":1}"],
            &[ProblemKind::NulBytes],
        );
        check(b"\0\0\0", &[], &[ProblemKind::NulBytes]);
        check(b"{\"a\":\"\0\0", &[], &[ProblemKind::NulBytes]);
        check(
            b"{\"a\":\"\xff\"}{\"b\":2}",
            &[b"{\"a\":\"\xff\"}", b"{\"b\":2}"],
            &[ProblemKind::InvalidUtf8, ProblemKind::GluedRecords],
        );
        check(
            br#"{"a":"\ud83d"}"#,
            &[br#"{"a":"\ud83d"}"#],
            &[ProblemKind::LoneSurrogate],
        );
        check(b"42", &[], &[ProblemKind::NotAnObject]);
        check(b"[\"a\"]", &[], &[ProblemKind::NotAnObject]);
        check(b"hello", &[], &[ProblemKind::NotJson]);
        check(b"{\"a\":{\"inner\":1}", &[], &[ProblemKind::NotJson]);
    }
}
