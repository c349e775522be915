//! Values that are secret because of what stands before them: a name like `api_key`, a
//! header, a flag.
//!
//! A value behind a name must look random, or every `token = next()` would count. What a
//! header carries counts whatever it looks like, unless it only stands for a value.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};

use super::{Place, Secret, SecretKind};

/// What names of secrets hold, in lower case and without what joins words.
const NAMES: [&str; 20] = [
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "authkey",
    "accountkey",
    "sharedkey",
    "servicekey",
    "secret",
    "token",
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "credential",
    "authorization",
    "connectionstring",
];

/// The same as they are written, for one pass over a text.
const STEMS: [&str; 20] = [
    "key",
    "secret",
    "token",
    "passw",
    "passphrase",
    "credential",
    "authorization",
    "cookie",
    "x-auth",
    "pwd",
    "api-k",
    "api_k",
    "apik",
    "auth=",
    "auth:",
    "signature=",
    "sig=",
    "bearer ",
    "basic ",
    "connectionstring",
];

/// Headers whose value is secret whatever it looks like.
const HEADERS: [&str; 16] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
    "apikey",
    "x-auth-token",
    "x-auth-key",
    "x-access-token",
    "x-goog-api-key",
    "x-amz-security-token",
    "x-csrf-token",
    "x-vault-token",
    "private-token",
    "x-functions-key",
];

/// Words that stand before the secret in a header.
const SCHEMES: [&str; 7] = [
    "bearer",
    "basic",
    "token",
    "digest",
    "apikey",
    "key",
    "negotiate",
];

/// A value in a header that is shorter is none.
const SHORTEST_IN_HEADER: usize = 8;
/// A value behind a name that is shorter is none.
const SHORTEST: usize = 16;
/// A longer value is a content, not a secret.
const LONGEST: usize = 4096;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasickBuilder::new()
        .ascii_case_insensitive(true)
        .build(STEMS)
        .ok()
});

/// Whether a variable or field of this name holds a secret. One that tells one request from
/// another holds none, though it is made up by chance.
pub fn is_secret_name(name: &str) -> bool {
    let flat: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    if flat.ends_with("idempotencykey") {
        return false;
    }
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    NAMES.iter().any(|stem| flat.contains(stem))
        || words.any(|word| {
            let word = word.to_ascii_lowercase();
            matches!(
                &*word,
                "pass" | "pwd" | "key" | "apikey" | "auth" | "creds" | "pat"
            )
        })
}

/// Whether a field or line of this name is a header that carries a secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    HEADERS
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header))
}

/// The values in a text that are secret because of what stands before them.
pub(super) fn find(text: &[u8], place: Place<'_>, found: &mut Vec<Secret>) {
    if let Place::Field(name) = place {
        if is_secret_header(name) {
            in_header(name.as_bytes(), text, 0..text.len(), found);
        } else if is_secret_name(name) && is_random(text) {
            push(text, 0..text.len(), SecretKind::Named, found);
        }
    }
    let Some(finder) = &*FINDER else { return };
    let mut done = 0;
    for hit in finder.find_iter(text) {
        if hit.start() < done {
            continue;
        }
        let name = name_around(text, hit.range());
        let Some((start, quote)) = behind(text, name.end) else {
            continue;
        };
        let word = text.get(name.clone()).unwrap_or_default();
        let is_ascii = std::str::from_utf8(word).unwrap_or_default();
        let trimmed = is_ascii.trim_matches(['-', '_']);
        if is_secret_header(trimmed) && is_header_line(text, &name) {
            let end = end_of_header(text, start, quote);
            in_header(trimmed.as_bytes(), text, start..end, found);
            done = end;
        } else if is_secret_name(trimmed) {
            let end = end_of_value(text, start);
            if text.get(start..end).is_some_and(is_random) {
                push(text, start..end, SecretKind::Named, found);
                done = end;
            }
        }
    }
}

/// Whether what stands behind a word is its value: it is the name of a secret, or a header.
pub(super) fn is_name(word: &str) -> bool {
    is_secret_header(word) || is_secret_name(word)
}

/// How many bytes at the end of a text are a line that names a secret.
pub(super) fn unfinished(text: &[u8]) -> usize {
    const LONGEST_LINE: usize = 1024;
    let line = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
    let line = line.max(text.len().saturating_sub(LONGEST_LINE));
    let end = text.get(line..).unwrap_or_default();
    let hit = FINDER.as_ref().and_then(|finder| finder.find(end));
    hit.map_or(0, |hit| end.len() - name_around(end, hit.range()).start)
}

fn push(text: &[u8], range: Range<usize>, kind: SecretKind, found: &mut Vec<Secret>) {
    let value = text.get(range.clone()).unwrap_or_default().to_vec();
    found.push(Secret { range, kind, value });
}

/// The whole name that a stem stands in.
fn name_around(text: &[u8], stem: Range<usize>) -> Range<usize> {
    const LONGEST_NAME: usize = 64;
    let is_name = |at: usize| {
        text.get(at)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let mut start = stem.start;
    while start > 0 && is_name(start - 1) && stem.start - start < LONGEST_NAME {
        start -= 1;
    }
    // A stem may end in what joins a name and its value.
    let mut end = stem.start;
    while is_name(end) && end - stem.start < LONGEST_NAME {
        end += 1;
    }
    start..end
}

/// Where the value begins that a name is joined to, and the quote that it stands in.
fn behind(text: &[u8], end: usize) -> Option<(usize, Option<u8>)> {
    let mut at = end;
    let mut quote = None;
    let skip = |at: &mut usize, set: &[u8], most: usize| {
        let from = *at;
        while *at - from < most && text.get(*at).is_some_and(|byte| set.contains(byte)) {
            *at += 1;
        }
        *at > from
    };
    skip(&mut at, b"\\\"'`]", 6);
    let is_apart = skip(&mut at, b" \t", 4);
    let is_joined = skip(&mut at, b":=>", 2);
    if !is_apart && !is_joined {
        return None;
    }
    skip(&mut at, b" \t", 4);
    let from = at;
    skip(&mut at, b"\\\"'`", 6);
    if at > from {
        quote = text.get(at - 1).copied();
    }
    text.get(at).map(|_| (at, quote))
}

/// Whether a name stands where a header of a request does: at the beginning of a line, or of
/// what a quote holds, or behind a word that says so. A flag like `--token` is no header.
fn is_header_line(text: &[u8], name: &Range<usize>) -> bool {
    let before = text.get(..name.start).unwrap_or_default();
    let is_begun = before.ends_with(b"\\n")
        || before
            .last()
            .is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`{(,<>".contains(byte));
    let behind = text.get(name.end..).unwrap_or_default();
    let joined = behind.iter().find(|byte| !b"\\\"'` \t".contains(byte));
    is_begun && joined == Some(&b':')
}

/// The end of a header's value: of its line, or of what the quote holds.
fn end_of_header(text: &[u8], start: usize, quote: Option<u8>) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let rest = rest.get(..rest.len().min(LONGEST)).unwrap_or_default();
    let is_end = |byte: &u8| match quote {
        Some(quote) => *byte == quote || matches!(byte, b'\n' | b'\r' | b'\\'),
        None => matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\'),
    };
    start + rest.iter().position(is_end).unwrap_or(rest.len())
}

fn end_of_value(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let is_value = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'/' | b'_' | b'=' | b'.' | b'~' | b'-')
    };
    let len = rest
        .iter()
        .position(|byte| !is_value(byte))
        .unwrap_or(rest.len());
    // The end of a sentence is no part of it.
    let value = rest.get(..len).unwrap_or_default();
    let end = value
        .iter()
        .rposition(|byte| *byte != b'.')
        .map_or(0, |last| last + 1);
    start + end
}

/// The secret in a header's value: behind the scheme, of cookies the value of each.
fn in_header(name: &[u8], text: &[u8], range: Range<usize>, found: &mut Vec<Secret>) {
    let value = text.get(range.clone()).unwrap_or_default();
    if value.len() > LONGEST {
        return;
    }
    let mut take = |part: Range<usize>| {
        let bytes = value.get(part.clone()).unwrap_or_default();
        let blanks =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b'}' | b']');
        let start = part.start + bytes.iter().take_while(|byte| blanks(byte)).count();
        let end = part.end - bytes.iter().rev().take_while(|byte| blanks(byte)).count();
        let is_one = |bytes: &[u8]| bytes.len() >= SHORTEST_IN_HEADER && !is_standing_for(bytes);
        if start < end && value.get(start..end).is_some_and(is_one) {
            push(
                text,
                range.start + start..range.start + end,
                SecretKind::Header,
                found,
            );
        }
    };
    if name.to_ascii_lowercase().ends_with(b"cookie") {
        let mut at = 0;
        for pair in value.split(|byte| *byte == b';') {
            if let Some(equals) = memchr::memchr(b'=', pair) {
                take(at + equals + 1..at + pair.len());
            }
            at += pair.len() + 1;
        }
        return;
    }
    let scheme = value.iter().position(|byte| *byte == b' ').filter(|blank| {
        let word = value.get(..*blank).unwrap_or_default();
        SCHEMES
            .iter()
            .any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()))
    });
    let start = scheme.map_or(0, |blank| blank + 1);
    let secret = value.get(start..).unwrap_or_default();
    // Prose has further words; a digest has further fields, and all of them go.
    let is_prose = scheme.is_none() && secret.contains(&b' ');
    if !is_prose {
        take(start..value.len());
    }
}

/// Whether a value only stands for one: a variable, a gap to be filled in, an example.
pub(super) fn is_standing_for(value: &[u8]) -> bool {
    const EXAMPLES: [&str; 13] = [
        "password",
        "passwd",
        "secret",
        "example",
        "changeme",
        "placeholder",
        "your",
        "redacted",
        "xxxx",
        "****",
        "....",
        "dummy",
        "undefined",
    ];
    let is_variable = value
        .iter()
        .any(|byte| matches!(byte, b'$' | b'{' | b'<' | b'%' | b'(' | b'[' | b'*'));
    let lower = value.to_ascii_lowercase();
    let is_example = |word: &str| memchr::memmem::find(&lower, word.as_bytes()).is_some();
    is_variable || (value.len() < 40 && EXAMPLES.iter().any(|word| is_example(word)))
}

/// Whether a value looks as if nobody had chosen it: letters and digits, mixed as words are
/// not.
pub(super) fn is_random(value: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"(){}[]<>$,;\"'`\\|".contains(byte);
    if !(SHORTEST..=LONGEST).contains(&value.len()) || !value.iter().all(is_plain) {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let pairs = || value.iter().zip(value.iter().skip(1));
    // Names of people's making have their digits at the ends of words, `url_encode64`.
    let is_mixed = |(one, two): (&u8, &u8)| one.is_ascii_digit() && two.is_ascii_alphabetic();
    if !pairs().any(is_mixed) || is_standing_for(value) {
        return false;
    }
    let changes = pairs()
        .filter(|(one, two)| class(**one) != class(**two))
        .count();
    let len = value.len() as f64;
    let bits: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / len;
            -share * share.log2()
        })
        .sum();
    let is_hex = value
        .iter()
        .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let least = if is_hex || value.len() < 20 { 2.8 } else { 3.5 };
    let joints = value
        .iter()
        .filter(|byte| matches!(byte, b'_' | b'-' | b'.' | b'/'))
        .count();
    bits >= least && changes as f64 / len >= 0.28 && joints * 5 <= value.len() + 5
}
