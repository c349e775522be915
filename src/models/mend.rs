//! JSON that ends too early, made whole: what was open is closed, and nothing is made up.

use serde_json::Value;

/// What there is of a cut document, and the bytes of a character that was not finished.
#[derive(Debug, PartialEq)]
pub(super) struct Mended {
    pub(super) value: Value,
    pub(super) unfinished: Vec<u8>,
}

/// Closes what is open at the end of a document. `None`: too little of it is there to be
/// anything, or it is no JSON.
pub(super) fn mend(cut: &[u8]) -> Option<Mended> {
    let (text, unfinished) = match std::str::from_utf8(cut) {
        Ok(text) => (text, &b""[..]),
        Err(error) if error.error_len().is_none() => {
            let (text, rest) = cut.split_at(error.valid_up_to());
            (std::str::from_utf8(text).ok()?, rest)
        }
        Err(_) => return None,
    };
    let open = Open::of(text);
    // A member without its value, half a word or half a number says nothing: one cut further
    // to the left does.
    let ends = std::iter::once((text, &open.closers)).chain(
        open.whole
            .iter()
            .rev()
            .filter_map(|(end, closers)| Some((text.get(..*end)?, closers))),
    );
    for (kept, closers) in ends.take(3) {
        let mut whole = kept.to_owned();
        if kept.len() == text.len() {
            if let Some(escape) = open.escape {
                whole.truncate(escape);
            }
            if open.is_in_string {
                whole.push('"');
            }
        }
        whole.extend(closers.iter().rev());
        if let Ok(value) = serde_json::from_str(&whole) {
            let unfinished = unfinished.to_vec();
            return Some(Mended { value, unfinished });
        }
    }
    None
}

/// What is open at the end of a text.
#[derive(Default)]
struct Open {
    closers: Vec<char>,
    is_in_string: bool,
    /// Where an escape begins that is not finished, or half of a pair of them.
    escape: Option<usize>,
    /// Places where all that was begun could have ended, the last ones, with what was open.
    whole: Vec<(usize, Vec<char>)>,
}

impl Open {
    fn of(text: &str) -> Self {
        let mut open = Self::default();
        let mut rest = text.char_indices();
        while let Some((at, character)) = rest.next() {
            if open.is_in_string {
                match character {
                    '"' => open.is_in_string = false,
                    '\\' => {
                        let end = escape_end(text, at);
                        let Some(end) = end else {
                            open.escape = Some(at);
                            return open;
                        };
                        while rest.as_str().len() > text.len() - end {
                            rest.next();
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match character {
                '"' => open.is_in_string = true,
                '{' => open.begin(at, '}'),
                '[' => open.begin(at, ']'),
                '}' | ']' => {
                    open.closers.pop();
                }
                ',' => open.note(at),
                _ => {}
            }
        }
        open
    }

    fn begin(&mut self, at: usize, closer: char) {
        self.closers.push(closer);
        self.note(at + 1);
    }

    fn note(&mut self, end: usize) {
        if self.whole.len() == 2 {
            self.whole.remove(0);
        }
        self.whole.push((end, self.closers.clone()));
    }
}

/// Where an escape ends that begins here; a first half of a surrogate pair ends with its
/// second one.
fn escape_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(at..)?;
    if *bytes.get(1)? != b'u' {
        return Some(at + 2);
    }
    let unit = |from: usize| {
        let digits = std::str::from_utf8(bytes.get(from..from + 4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    if (0xd800..0xdc00).contains(&unit(2)?) {
        unit(8)?;
        return Some(at + 12);
    }
    Some(at + 6)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(cut: &[u8], expected: Option<Value>, unfinished: &[u8]) {
        let mended = mend(cut);
        assert_eq!(mended.as_ref().map(|it| &it.value), expected.as_ref());
        if let Some(mended) = mended {
            assert_eq!(mended.unfinished, unfinished);
        }
    }

    #[test]
    fn what_was_open_is_closed() {
        check(br#"{"a":[1,"b"#, Some(json!({"a": [1, "b"]})), b"");
        check(br#"{"a":{"b":"c"},"d"#, Some(json!({"a": {"b": "c"}})), b"");
        check(br#"{"a":1,"d":tr"#, Some(json!({"a": 1})), b"");
        check(br#"{"a":[{"#, Some(json!({"a": [{}]})), b"");
        check(b"{\"d\":\"x\xf0\x9f", Some(json!({"d": "x"})), b"\xf0\x9f");
        check(br#"{"d":"x\u00"#, Some(json!({"d": "x"})), b"");
        check(br#"{"d":"x\ud83d"#, Some(json!({"d": "x"})), b"");
        check(
            br#"{"d":"x\ud83d\ude00"#,
            Some(json!({"d": "x\u{1f600}"})),
            b"",
        );
        check(br#"{"d":"\\"#, Some(json!({"d": "\\"})), b"");
        check(br#"{"d":"\"#, Some(json!({"d": ""})), b"");
        check(br#"{"a":1}"#, Some(json!({"a": 1})), b"");
        check(b"", None, b"");
        check(b"[DONE", Some(json!([])), b"");
        check(b"{\"a\": \xff\"", None, b"");
    }

    #[test]
    fn every_beginning_of_a_document_is_mended_or_nothing() {
        let whole = json!({"type": "x", "d": {"text": "a\"\\\u{e9}😀", "n": [-1.5e3, null, true]}});
        let text = whole.to_string();
        for end in 2..=text.len() {
            let mended = mend(&text.as_bytes()[..end]).unwrap();
            assert!(mended.value.is_object(), "at {end}");
        }
    }
}
