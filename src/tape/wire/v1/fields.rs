//! The content fields of a line, taken one by one; a field of a wrong type is as good as absent.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Line;
use crate::model::BlobHash;
use crate::tape::wire::repair_surrogates;

/// The content fields of a line; what was taken is not among the rest.
pub(super) struct Fields<'a> {
    line: &'a Line<'a>,
    taken: Vec<bool>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(line: &'a Line<'a>) -> Self {
        Self {
            line,
            taken: vec![false; line.content.len()],
        }
    }

    /// Takes a field, if it is there and of the wanted type. The last of that name counts.
    pub(super) fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let found = self
            .line
            .content
            .iter()
            .rposition(|(name, _)| name == key)?;
        let (_, raw) = self.line.content.get(found)?;
        let value = serde_json::from_str(raw.get())
            .or_else(|_| serde_json::from_str(&repair_surrogates(raw.get())))
            .ok()?;
        if let Some(taken) = self.taken.get_mut(found) {
            *taken = true;
        }
        Some(value)
    }

    pub(super) fn text(&mut self, key: &str) -> String {
        self.take(key).unwrap_or_default()
    }

    pub(super) fn hashes(&mut self, key: &str) -> Vec<BlobHash> {
        let texts: Vec<String> = self.take(key).unwrap_or_default();
        texts.iter().filter_map(|text| text.parse().ok()).collect()
    }

    /// Leaves the bytes of a content where they are: they are fetched by hash.
    pub(super) fn drop_content(&mut self) {
        for ((key, _), taken) in self.line.content.iter().zip(&mut self.taken) {
            *taken |= matches!(&**key, "text" | "data" | "at_byte" | "del" | "ins");
        }
    }

    /// Takes all that is left.
    pub(super) fn rest(&mut self) -> Map<String, Value> {
        let mut rest = Map::new();
        for ((key, raw), taken) in self.line.content.iter().zip(&mut self.taken) {
            if !std::mem::replace(taken, true)
                && let Ok(value) = serde_json::from_str(raw.get())
                    .or_else(|_| serde_json::from_str(&repair_surrogates(raw.get())))
            {
                rest.insert(key.clone().into_owned(), value);
            }
        }
        rest
    }
}
