//! What stands for a secret in a recorded text.

use std::collections::HashMap;

/// How a placeholder begins and ends; between them is its name.
const START: &str = "[REDACTED:";
const END: char = ']';

/// What each placeholder stands for in the other request, as far as it was met.
#[derive(Debug, Default)]
pub(super) struct Placeholders(HashMap<String, String>);

impl Placeholders {
    /// Whether a recorded text and another are the same but for placeholders in the recorded
    /// one. Each stands for some text without blanks, and always for the same.
    pub(super) fn is_same_text(&mut self, recorded: &str, replayed: &str) -> bool {
        let Some(met) = meet(recorded, replayed) else {
            return false;
        };
        let is_new = |(name, text): &(&str, &str)| {
            let known = self.0.get(*name);
            known.is_none_or(|known| known == text)
        };
        if !met.iter().all(is_new) {
            return false;
        }
        let met = met.into_iter();
        self.0
            .extend(met.map(|(name, text)| (name.to_owned(), text.to_owned())));
        true
    }
}

/// What stands in the other text where each placeholder is; `None` where they do not fit, or
/// where there is no placeholder.
fn meet<'a>(recorded: &'a str, replayed: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (before, mut rest) = recorded.split_once(START)?;
    let mut other = replayed.strip_prefix(before)?;
    let mut met = Vec::new();
    loop {
        let (name, after) = rest.split_once(END)?;
        let (between, next) = match after.split_once(START) {
            Some((between, next)) => (between, Some(next)),
            None => (after, None),
        };
        // The last one takes all up to the end that the recorded text has.
        let len = match next {
            None => other.len().checked_sub(between.len())?,
            Some(_) if between.is_empty() => return None,
            Some(_) => 1 + other.get(1..)?.find(between)?,
        };
        let (text, behind) = other.split_at_checked(len)?;
        if text.is_empty() || text.chars().any(char::is_whitespace) {
            return None;
        }
        met.push((name, text));
        other = behind.strip_prefix(between)?;
        match next {
            Some(next) => rest = next,
            None => return other.is_empty().then_some(met),
        }
    }
}
