//! Values that are known to be secret, wherever they stand and however they are encoded.
//!
//! Each is looked for as it is, in base64 at each of the three ways it can lie in the bytes
//! around it, in hex, and as JSON and URLs would escape it. What is escaped further than it
//! need be, the views decode.

use std::collections::HashSet;
use std::fmt;
use std::fmt::Write as _;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::{Secret, SecretKind};

/// Shorter values would be found everywhere.
const SHORTEST: usize = 8;
/// Plain words up to this length would, too.
const LONGEST_WORD: usize = 12;

/// Values, and the automaton that finds them.
#[derive(Default)]
pub(super) struct Known {
    values: Vec<Vec<u8>>,
    forms: Vec<Form>,
    automaton: Option<AhoCorasick>,
}

/// One encoding of a value.
#[derive(Clone, Copy)]
struct Form {
    value: usize,
    /// Whether the character before, or behind, holds some bits of the value.
    spills: (bool, bool),
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.values.len())
    }
}

/// Whether a value tells so much that it can be looked for anywhere: not if it is short, or a
/// word that people use.
pub fn is_telling(value: &[u8]) -> bool {
    let is_word = value
        .iter()
        .all(|byte| byte.is_ascii_lowercase() || *byte == b'-')
        || value.iter().all(u8::is_ascii_digit);
    let kinds: HashSet<&u8> = value.iter().collect();
    value.len() >= SHORTEST
        && kinds.len() >= 4
        && !(is_word && value.len() < LONGEST_WORD)
        && !value.starts_with(b"/")
}

impl Known {
    pub(super) fn new(values: Vec<Vec<u8>>) -> Self {
        let mut seen = HashSet::new();
        let values: Vec<Vec<u8>> = values
            .into_iter()
            .filter(|value| !value.is_empty() && seen.insert(value.clone()))
            .collect();
        let (mut texts, mut forms) = (Vec::new(), Vec::new());
        for (index, value) in values.iter().enumerate() {
            for (text, spills) in encodings(value) {
                texts.push(text);
                forms.push(Form {
                    value: index,
                    spills,
                });
            }
        }
        let automaton = (!texts.is_empty()).then(|| {
            let mut builder = AhoCorasickBuilder::new();
            builder.match_kind(MatchKind::LeftmostLongest).build(&texts)
        });
        Self {
            values,
            forms,
            // Only more texts than memory could hold would be too many.
            automaton: automaton.and_then(Result::ok),
        }
    }

    pub(super) fn contains(&self, value: &[u8]) -> bool {
        self.values.iter().any(|known| known == value)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// These values and more.
    pub(super) fn with(&self, more: Vec<Vec<u8>>) -> Self {
        Self::new([&self.values[..], &more].concat())
    }

    pub(super) fn find(&self, text: &[u8], found: &mut Vec<Secret>) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        for hit in automaton.find_iter(text) {
            let Some(form) = self.forms.get(hit.pattern().as_usize()) else {
                continue;
            };
            let Some(value) = self.values.get(form.value) else {
                continue;
            };
            let is_digit = |at: usize| text.get(at).is_some_and(|byte| is_base64(*byte));
            let before = form.spills.0 && hit.start() > 0 && is_digit(hit.start() - 1);
            let behind = form.spills.1 && is_digit(hit.end());
            found.push(Secret {
                range: hit.start() - usize::from(before)..hit.end() + usize::from(behind),
                kind: SecretKind::Known,
                value: value.clone(),
            });
        }
    }

    /// How many bytes at the end of a text may be the beginning of a value.
    pub(super) fn begins_at_the_end(&self, text: &[u8]) -> usize {
        let begins = |value: &[u8]| {
            let most = value.len().saturating_sub(1).min(text.len());
            let ends = (1..=most).rev();
            ends.map(|len| text.len() - len)
                .find(|at| text.get(*at..).is_some_and(|end| value.starts_with(end)))
                .map_or(0, |at| text.len() - at)
        };
        self.values
            .iter()
            .map(|value| begins(value))
            .max()
            .unwrap_or(0)
    }
}

pub(super) const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// A value as it may stand in a text, and whether the characters around hold bits of it.
fn encodings(value: &[u8]) -> Vec<(Vec<u8>, (bool, bool))> {
    let mut forms = vec![(value.to_vec(), (false, false))];
    let whole = |text: String| (text.into_bytes(), (false, false));
    forms.push(whole(hex(value, false)));
    forms.push(whole(hex(value, true)));
    let once = json(value);
    let twice = json(&once);
    forms.push((once, (false, false)));
    forms.push((twice, (false, false)));
    forms.push(whole(url(value)));
    for skipped in 0..3 {
        let mut padded = vec![0; skipped];
        padded.extend_from_slice(value);
        let bits = (skipped * 8, padded.len() * 8);
        // Characters that hold bits of nothing else.
        let (first, last) = (bits.0.div_ceil(6), bits.1 / 6);
        let spills = (bits.0 % 6 != 0, bits.1 % 6 != 0);
        for text in [
            STANDARD_NO_PAD.encode(&padded),
            URL_SAFE_NO_PAD.encode(&padded),
        ] {
            let inner = text.as_bytes().get(first..last).unwrap_or_default();
            if inner.len() >= SHORTEST {
                forms.push((inner.to_vec(), spills));
            }
        }
    }
    let mut seen = HashSet::new();
    forms.retain(|(text, _)| seen.insert(text.clone()));
    forms
}

fn hex(value: &[u8], is_upper: bool) -> String {
    value.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = if is_upper {
            write!(text, "{byte:02X}")
        } else {
            write!(text, "{byte:02x}")
        };
        text
    })
}

fn url(value: &[u8]) -> String {
    value.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// As it stands in a JSON string.
fn json(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let quoted = serde_json::to_string(&text).unwrap_or_default();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().as_bytes().to_vec()
}
