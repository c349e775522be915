//! The placeholders of one tape: one secret, one number, wherever and however it stands.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::known::{Known, is_telling};
use super::{Place, Redactor, Secret, SecretKind, context, shapes};

/// A secret that was found by its looks is known from then on if it has so many bytes.
const LEARNED: usize = 12;
/// So many of those are remembered.
const MOST_LEARNED: usize = 1024;
/// Of a stream, so many bytes at most wait for what comes behind them.
const MOST_HELD: usize = 8 << 10;

/// Takes secrets out of what is written on one tape.
///
/// Remembers which placeholder stands for which secret, by a hash with a key: with the same
/// key, a tape can be gone on with.
#[derive(Debug)]
pub struct Redaction {
    redactor: Arc<Redactor>,
    key: [u8; 32],
    numbers: HashMap<String, u32>,
    /// Those of them that the tape does not tell of yet.
    foreseen: HashSet<String>,
    last: u32,
    learned: Known,
    fresh: Vec<Placeholder>,
    found: Vec<SecretKind>,
}

/// What stands for a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// Its number.
    pub number: u32,
    /// What sort of secret it was, in words.
    pub kind: String,
    /// A hash of the secret, with the key.
    pub keyed: String,
}

/// Whether a text is a placeholder and nothing else.
pub fn is_placeholder(text: &str) -> bool {
    let number = text
        .strip_prefix("[REDACTED:")
        .and_then(|rest| rest.strip_suffix(']'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a placeholder stands anywhere in these bytes.
pub fn has_placeholder(bytes: &[u8]) -> bool {
    const START: &[u8] = b"[REDACTED:";
    memchr::memmem::find_iter(bytes, START).any(|at| {
        let rest = bytes.get(at + START.len()..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && rest.get(digits) == Some(&b']')
    })
}

impl Redaction {
    /// Begins with no placeholder.
    pub fn new(redactor: Arc<Redactor>, key: [u8; 32]) -> Self {
        Self {
            redactor,
            key,
            numbers: HashMap::new(),
            foreseen: HashSet::new(),
            last: 0,
            learned: Known::default(),
            fresh: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Takes the secrets among these variables: from now on they are known by their values.
    pub fn know(&mut self, variables: &[(OsString, OsString)]) {
        let mut values = self.redactor.rules().secrets_among(variables);
        values.retain(|value| !self.redactor.known.contains(value));
        if !values.is_empty() {
            self.redactor = Arc::new(self.redactor.knowing(values));
        }
    }

    /// Takes a placeholder that stands on the tape already.
    pub fn remember(&mut self, placeholder: &Placeholder) {
        self.last = self.last.max(placeholder.number);
        let keyed = placeholder.keyed.clone();
        self.numbers.entry(keyed).or_insert(placeholder.number);
    }

    /// Takes a placeholder that stands on a tape whose events may be copied to this one: it
    /// stands for nothing else here, and who needs it first tells of it.
    pub fn foresee(&mut self, placeholder: &Placeholder) {
        if !self.numbers.contains_key(&placeholder.keyed) {
            self.foreseen.insert(placeholder.keyed.clone());
        }
        self.remember(placeholder);
    }

    /// The placeholders that were given since this was asked last.
    pub fn take_fresh(&mut self) -> Vec<Placeholder> {
        std::mem::take(&mut self.fresh)
    }

    /// The sorts of the secrets that were taken out since this was asked last.
    pub fn take_found(&mut self) -> Vec<SecretKind> {
        std::mem::take(&mut self.found)
    }

    /// A hash of bytes that nobody without the key can compare with anything.
    pub fn keyed(&self, bytes: &[u8]) -> String {
        let hash = blake3::keyed_hash(&self.key, bytes).to_hex();
        hash.get(..32).unwrap_or_default().to_owned()
    }

    /// Takes the secrets out of a text; whether there were any.
    pub fn text(&mut self, text: &mut String) -> bool {
        self.string(text, Place::Text)
    }

    /// Takes the secrets out of the value of a field.
    pub fn field(&mut self, name: &str, text: &mut String) -> bool {
        self.string(text, Place::Field(name))
    }

    /// Takes the secrets out of a name that others may refer to: those that are known, and
    /// tokens.
    pub fn name(&mut self, name: &mut String) -> bool {
        self.string(name, Place::Name)
    }

    /// A content without its secrets, if it has any.
    pub fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.replaced(bytes, Place::Text)
    }

    /// The bytes of a name without its secrets, if it has any.
    pub fn name_bytes(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.replaced(name, Place::Name)
    }

    /// Takes the secrets out of all strings of a value; whether there were any.
    pub fn value(&mut self, value: &mut Value) -> bool {
        self.value_in(value, None)
    }

    /// Takes the secrets out of the fields of an object; whether there were any.
    pub fn fields(&mut self, fields: &mut Map<String, Value>) -> bool {
        let mut has_any = false;
        // Of `{"name": "Cookie", "value": "…"}`, the one says what the other is.
        let mut says = ["name", "key", "header"].into_iter();
        let name = says.find_map(|key| fields.get(key)?.as_str());
        let name = name.map(str::to_owned);
        for (key, value) in &mut *fields {
            let key = match (&name, &**key) {
                (Some(name), "value") => name,
                _ => key,
            };
            has_any |= self.value_in(value, Some(key));
        }
        let mut keys = fields.keys().cloned().collect::<Vec<_>>();
        let renamed: Vec<bool> = keys.iter_mut().map(|key| self.name(key)).collect();
        if renamed.contains(&true) {
            let values = std::mem::take(fields).into_iter().map(|(_, value)| value);
            fields.extend(keys.into_iter().zip(values));
            has_any = true;
        }
        has_any
    }

    /// Takes out of parts of one text the secrets that stand across their borders; whether
    /// there were any. Those within a part are to be taken out before.
    pub fn pieces(&mut self, pieces: &mut [&mut String]) -> bool {
        let whole: String = pieces.iter().map(|piece| piece.as_str()).collect();
        let mut borders = Vec::with_capacity(pieces.len());
        let mut end = 0;
        for piece in &*pieces {
            borders.push(end..end + piece.len());
            end += piece.len();
        }
        let parts = |range: &Range<usize>| {
            let parts = borders.iter().enumerate();
            let parts = parts.filter(|(_, part)| range.start < part.end && range.end > part.start);
            parts.map(|(index, _)| index).collect::<Vec<_>>()
        };
        let found = self.find(whole.as_bytes(), Place::Text);
        let across = found.into_iter().filter(|secret| {
            let is_sure = !matches!(secret.kind, SecretKind::Named | SecretKind::Header);
            is_sure && parts(&secret.range).len() > 1
        });
        let across: Vec<Secret> = across.collect();
        for secret in across.iter().rev() {
            let placeholder = placeholder(self.number(secret));
            for (place, index) in parts(&secret.range).into_iter().enumerate().rev() {
                let Some((piece, part)) = pieces.get_mut(index).zip(borders.get(index)) else {
                    continue;
                };
                let start = secret.range.start.max(part.start) - part.start;
                let end = secret.range.end.min(part.end) - part.start;
                let with = if place == 0 { &*placeholder } else { "" };
                **piece = replace(piece.as_bytes(), start..end, with);
            }
        }
        !across.is_empty()
    }

    /// A name as it was called when its secrets were taken out; `None`: it held none.
    pub fn known_as(&self, name: &[u8]) -> Option<Vec<u8>> {
        let found = self.redactor.find(name, Place::Name, Some(&self.learned));
        let number = |secret: &Secret| self.numbers.get(&self.keyed(&secret.value)).copied();
        (!found.is_empty()).then(|| put_in(name, &found, |secret| number(secret).unwrap_or(0)))
    }

    /// How far the text of a stream can be told before its next part is known: to where a
    /// secret may begin that goes on there.
    pub fn settled(&mut self, text: &[u8]) -> usize {
        let held = self.unfinished(text);
        if held >= MOST_HELD {
            return text.len();
        }
        let end = text.len() - held;
        let found = self.find(text, Place::Text);
        let cut = |secret: &&Secret| secret.range.start < end && secret.range.end > end;
        let cut = found
            .iter()
            .find(cut)
            .map_or(end, |secret| secret.range.start);
        if text.len() - cut < MOST_HELD {
            cut
        } else {
            text.len()
        }
    }

    /// How many bytes at the end of a stream's text may be the beginning of a secret.
    pub fn unfinished(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(MOST_HELD);
        let end = text.get(from..).unwrap_or_default();
        let token = end
            .iter()
            .rev()
            .take_while(|byte| is_of_a_token(**byte))
            .count();
        let known = self.redactor.known.begins_at_the_end(end);
        let learned = self.learned.begins_at_the_end(end);
        let held = [
            token,
            known,
            learned,
            context::unfinished(end),
            shapes::unfinished(end),
        ];
        held.into_iter().max().unwrap_or(0)
    }

    fn value_in(&mut self, value: &mut Value, field: Option<&str>) -> bool {
        let place = field.map_or(Place::Text, Place::Field);
        match value {
            Value::String(text) => self.string(text, place),
            Value::Number(number) => {
                let text = number.to_string();
                let is_known = self.redactor.known.contains(text.as_bytes());
                if is_known && let Some(text) = self.replaced(text.as_bytes(), place) {
                    *value = String::from_utf8_lossy(&text).into_owned().into();
                }
                is_known
            }
            Value::Array(values) => self.values(values, field),
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) => false,
        }
    }

    fn values(&mut self, values: &mut [Value], field: Option<&str>) -> bool {
        let mut has_any = false;
        let mut before: Option<String> = None;
        for value in &mut *values {
            // `--token`, `X-Api-Key`: what stands behind it is its value.
            let said = value.as_str().map(str::to_owned);
            let name = before.as_deref().map(|name| name.trim_start_matches('-'));
            let name = name.filter(|name| context::is_name(name));
            has_any |= self.value_in(value, name.or(field));
            before = said;
        }
        let mut strings = Vec::with_capacity(values.len());
        for value in values {
            let Value::String(text) = value else {
                return has_any;
            };
            strings.push(text);
        }
        strings.len() > 1 && self.pieces(&mut strings) || has_any
    }

    fn string(&mut self, text: &mut String, place: Place<'_>) -> bool {
        match self.replaced(text.as_bytes(), place) {
            Some(replaced) => {
                *text = lossy(replaced);
                true
            }
            None => false,
        }
    }

    fn replaced(&mut self, text: &[u8], place: Place<'_>) -> Option<Vec<u8>> {
        let found = self.find(text, place);
        let numbers: Vec<u32> = found.iter().map(|secret| self.number(secret)).collect();
        let mut numbers = numbers.into_iter();
        (!found.is_empty()).then(|| put_in(text, &found, |_| numbers.next().unwrap_or(0)))
    }

    /// The secrets in a text. What is found by its looks is known from then on, and looked for
    /// in every encoding. All that is new is learned at once: the text is gone through again
    /// for each generation of secrets, not for each secret.
    fn find(&mut self, text: &[u8], place: Place<'_>) -> Vec<Secret> {
        let redactor = Arc::clone(&self.redactor);
        loop {
            let found = redactor.find(text, place, Some(&self.learned));
            let is_news = |secret: &&Secret| {
                secret.kind != SecretKind::Known
                    && (LEARNED..=MOST_HELD / 8).contains(&secret.value.len())
                    && is_telling(&secret.value)
                    && !self.learned.contains(&secret.value)
            };
            let news = found.iter().filter(is_news);
            let room = MOST_LEARNED.saturating_sub(self.learned.len());
            let news: Vec<Vec<u8>> = news.take(room).map(|secret| secret.value.clone()).collect();
            if news.is_empty() {
                return found;
            }
            self.learned = self.learned.with(news);
        }
    }

    fn number(&mut self, secret: &Secret) -> u32 {
        self.found.push(secret.kind);
        let keyed = self.keyed(&secret.value);
        let known = self.numbers.get(&keyed).copied();
        let number = known.unwrap_or_else(|| {
            self.last += 1;
            self.last
        });
        if known.is_none() || self.foreseen.remove(&keyed) {
            self.numbers.insert(keyed.clone(), number);
            self.fresh.push(Placeholder {
                number,
                kind: secret.kind.to_string(),
                keyed,
            });
        }
        number
    }
}

/// A text with placeholders in the place of secrets.
fn put_in(text: &[u8], found: &[Secret], mut number: impl FnMut(&Secret) -> u32) -> Vec<u8> {
    let mut with = Vec::with_capacity(text.len());
    let mut at = 0;
    for secret in found {
        with.extend_from_slice(text.get(at..secret.range.start).unwrap_or_default());
        with.extend_from_slice(placeholder(number(secret)).as_bytes());
        at = secret.range.end;
    }
    with.extend_from_slice(text.get(at..).unwrap_or_default());
    with
}

fn placeholder(number: u32) -> String {
    format!("[REDACTED:{number}]")
}

/// Whether a byte may stand in a token, in some encoding.
const fn is_of_a_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'+' | b'/' | b'-' | b'_' | b'=' | b'.' | b'%' | b'\\' | b':' | b'@' | b'~'
        )
}

fn replace(text: &[u8], range: Range<usize>, with: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let behind = text.get(range.end..).unwrap_or_default();
    lossy([before, with.as_bytes(), behind].concat())
}

/// Text again. Only what a pattern of the user's cut in the middle of a letter is lost.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
