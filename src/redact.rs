//! Secrets in text: found by their shape, by what stands before them and because they are
//! known, and replaced by placeholders, `[REDACTED:1]`.
//!
//! ```
//! use std::sync::Arc;
//! use jukebox::redact::{Redaction, Redactor, Rules};
//!
//! let known = vec![b"correct horse battery".to_vec()];
//! let rules = Rules { known, ..Rules::default() };
//! let mut redaction = Redaction::new(Arc::new(Redactor::new(&rules)?), [0; 32]);
//! let mut text = "say 'correct horse battery' and Y29ycmVjdCBob3JzZSBiYXR0ZXJ5".to_owned();
//! assert!(redaction.text(&mut text));
//! assert_eq!(text, "say '[REDACTED:1]' and [REDACTED:1]");
//! # Ok::<(), jukebox::redact::RuleError>(())
//! ```
//!
//! | part | what it knows |
//! |---|---|
//! | [`Rules`] | what the user and the environment call a secret |
//! | `known` | the values that are known, in every encoding that they may stand in |
//! | `shapes` | tokens that say themselves what they are |
//! | `context` | values that stand behind a name like `api_key`, or in a header |
//! | `views` | what text holds when it is decoded: base64, hex, `%41`, `\u0041` |
//! | [`Redactor`] | all of that for one text; remembers nothing |
//! | [`Redaction`] | the placeholders of one tape: one secret, one number |
//!
//! Nothing here reads a file, the environment or a clock, and no value that was found leaves
//! in an error or in debug output. A secret that is short, that is a plain word and that
//! nothing names is not found.

mod context;
mod known;
mod redaction;
mod shapes;
mod views;

use std::ffi::OsString;
use std::fmt;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

pub use context::is_secret_name;
use known::Known;
pub use known::is_telling;
pub use redaction::{Placeholder, Redaction, has_placeholder, is_placeholder};
use views::View;

/// Decodings within decodings that are looked into.
const DEPTH: usize = 3;
/// A pattern compiles to no more bytes than this.
const PATTERN_BYTES: usize = 1 << 20;

/// What counts as a secret beside the shapes that are built in.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Rules {
    /// Values that are secret wherever they stand.
    pub known: Vec<Vec<u8>>,
    /// Patterns whose matches are secret: of their first group, if they have one.
    pub patterns: Vec<String>,
    /// Patterns whose matches are none, whatever they look like.
    pub allow: Vec<String>,
    /// Variables whose value is a secret, whatever they are called.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl Rules {
    /// The values of those of these variables that hold a secret: by their name, where the value
    /// tells enough to be looked for anywhere, or because they are named here.
    pub fn secrets_among(&self, variables: &[(OsString, OsString)]) -> Vec<Vec<u8>> {
        let is_secret = |(name, value): &&(OsString, OsString)| {
            let name = name.to_string_lossy();
            let is_declared = self.variables.iter().any(|declared| *declared == name);
            (is_declared && !value.is_empty())
                || (is_secret_name(&name) && is_telling(value.as_bytes()))
        };
        let secrets = variables.iter().filter(is_secret);
        secrets
            .map(|(_, value)| value.as_bytes().to_vec())
            .collect()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("known", &self.known.len())
            .field("patterns", &self.patterns)
            .field("allow", &self.allow)
            .field("variables", &self.variables)
            .finish()
    }
}

/// A rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is no pattern, or a pattern for everything.
    #[error("`{pattern}` is no pattern for secrets: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        why: String,
    },
}

/// How a secret was known for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKind {
    /// It was given as one, or was found elsewhere.
    Known,
    /// A pattern of the user's.
    Pattern,
    /// A token that says itself what it is: this one.
    Token(&'static str),
    /// It stands in a header that carries secrets.
    Header,
    /// The password in a URL.
    Url,
    /// It looks random and stands behind a name like `api_key`.
    Named,
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known => "a known value",
            Self::Pattern => "a pattern of yours",
            Self::Token(token) => token,
            Self::Header => "a header's value",
            Self::Url => "a password in a URL",
            Self::Named => "a random value behind a secret's name",
        })
    }
}

/// A secret that stands in a text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Where, in bytes of the text.
    pub range: Range<usize>,
    /// How it was known.
    pub kind: SecretKind,
    /// What it is when it is decoded: equal secrets have equal values.
    value: Vec<u8>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}", self.kind, self.range)
    }
}

/// In what sort of text secrets are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place<'a> {
    /// Text of any sort.
    Text,
    /// The value of a field with this name.
    Field(&'a str),
    /// A name, which others refer to: what stands before a value says nothing there.
    Name,
}

/// Finds secrets. Remembers nothing, and can be shared.
#[derive(Debug)]
pub struct Redactor {
    rules: Rules,
    known: Known,
    patterns: Vec<Regex>,
    allow: Vec<Regex>,
}

impl Redactor {
    /// A redactor for the built-in shapes and these rules.
    pub fn new(rules: &Rules) -> Result<Self, RuleError> {
        let compile = |patterns: &[String]| -> Result<Vec<Regex>, RuleError> {
            patterns
                .iter()
                .map(|pattern| self::compile(pattern))
                .collect()
        };
        Ok(Self {
            rules: rules.clone(),
            known: Known::new(rules.known.clone()),
            patterns: compile(&rules.patterns)?,
            allow: compile(&rules.allow)?,
        })
    }

    /// The same, which knows these values as well.
    pub fn knowing(&self, values: Vec<Vec<u8>>) -> Self {
        let mut rules = self.rules.clone();
        rules.known.extend(values);
        Self {
            known: Known::new(rules.known.clone()),
            rules,
            patterns: self.patterns.clone(),
            allow: self.allow.clone(),
        }
    }

    /// What counts as a secret beside the shapes that are built in.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The secrets in a text, in order, none in another.
    pub fn secrets(&self, text: &[u8]) -> Vec<Secret> {
        self.find(text, Place::Text, None)
    }

    fn find(&self, text: &[u8], place: Place<'_>, learned: Option<&Known>) -> Vec<Secret> {
        let mut found = Vec::new();
        self.collect(text, place, learned, DEPTH, &mut found);
        if !self.allow.is_empty() {
            found.retain(|secret| {
                let is_allowed = |allow: &Regex| allow.is_match(&secret.value);
                secret.kind == SecretKind::Known || !self.allow.iter().any(is_allowed)
            });
        }
        merge(text, found)
    }

    fn collect(
        &self,
        text: &[u8],
        place: Place<'_>,
        learned: Option<&Known>,
        depth: usize,
        found: &mut Vec<Secret>,
    ) {
        self.known.find(text, found);
        if let Some(learned) = learned {
            learned.find(text, found);
        }
        for pattern in &self.patterns {
            for captures in pattern.captures_iter(text) {
                let group = captures.get(1).or_else(|| captures.get(0));
                if let Some(group) = group.filter(|group| !group.is_empty()) {
                    let value = group.as_bytes().to_vec();
                    let range = group.range();
                    let kind = SecretKind::Pattern;
                    found.push(Secret { range, kind, value });
                }
            }
        }
        shapes::find(text, found);
        if place != Place::Name {
            context::find(text, place, found);
        }
        if depth == 0 {
            return;
        }
        views::each(text, &mut |view: &View| {
            let mut inside = Vec::new();
            let place = match place {
                Place::Name => Place::Name,
                Place::Text | Place::Field(_) => Place::Text,
            };
            self.collect(view.bytes(), place, learned, depth - 1, &mut inside);
            found.extend(inside.into_iter().map(|secret| Secret {
                range: view.source(&secret.range),
                ..secret
            }));
        });
    }
}

/// A pattern of the user's. One that matches nothing at all would match everywhere.
fn compile(pattern: &str) -> Result<Regex, RuleError> {
    let failed = |why: String| RuleError::Pattern {
        pattern: pattern.to_owned(),
        why,
    };
    let compiled = regex::bytes::RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES)
        .build();
    let compiled = compiled.map_err(|error| {
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default();
        failed(last.trim_start_matches("error: ").to_owned())
    })?;
    if compiled.is_match(b"") {
        return Err(failed("it matches where nothing stands".to_owned()));
    }
    Ok(compiled)
}

/// Secrets in order, those that overlap made one: of what covers it all, or of all that is
/// covered.
fn merge(text: &[u8], mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by(|one, two| {
        let order = |secret: &Secret| (secret.range.start, usize::MAX - secret.range.end);
        (order(one), one.kind).cmp(&(order(two), two.kind))
    });
    let mut merged: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                if secret.range.end > last.range.end {
                    last.range.end = secret.range.end;
                    last.value = text.get(last.range.clone()).unwrap_or_default().to_vec();
                }
            }
            _ => merged.push(secret),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
