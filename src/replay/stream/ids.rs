//! Ids of a stream's frames: which of them the client made up, and what they are now.
//!
//! By the rules of JSON-RPC, and of what is built on it, some places hold an id that whoever sends
//! the frame made up, or that the other side had made up: nothing else is ever taken for an id,
//! for an id that only names something is a part of what is asked. A text that differs because
//! somebody named its place volatile is another one now, too, where the service says it again.

use std::collections::HashMap;

use serde_json::Value;

use crate::replay::request::{self, Miss, VolatileParts};
use crate::text::json_diff;

/// Which ids have to differ from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Space {
    /// Those of requests.
    Requests,
    /// Those under which progress is told.
    Progress,
}

/// A place of a frame that holds an id.
struct Place {
    pointer: &'static str,
    space: Space,
    /// The side that sends the frame made it up; else the other side did.
    is_senders: bool,
}

/// The ids that a client made up: what was recorded, and what it is now.
#[derive(Debug, Default)]
pub(super) struct Ids {
    now: HashMap<(Space, String), Value>,
    /// The other way: no two recorded ids are one now.
    recorded: HashMap<(Space, String), String>,
    texts: HashMap<String, String>,
}

/// What a frame tells of ids.
#[derive(Debug, Default)]
pub(super) struct Met {
    ids: Vec<(Space, Value, Value)>,
    texts: Vec<(String, String)>,
}

impl Ids {
    /// Holds a frame of the client against a recorded one: what it tells of ids, or where it
    /// says something else.
    pub(super) fn meet(
        &self,
        recorded: &[u8],
        said: &[u8],
        volatile: &VolatileParts,
    ) -> Result<Met, Vec<Miss>> {
        let documents = document(recorded).zip(document(said));
        let Some((was, is)) = documents else {
            let misses = request::misses(recorded, said, volatile);
            return if misses.is_empty() {
                Ok(Met::default())
            } else {
                Err(misses)
            };
        };
        let mut expected = was.clone();
        let mut is_other = exchange_texts(&mut expected, &self.texts);
        let (mut met, mut again) = (Met::default(), Vec::new());
        for place in places(&was) {
            let ids = was.pointer(place.pointer).zip(is.pointer(place.pointer));
            let Some((old, new)) = ids.filter(|(old, new)| is_id(old) && is_id(new)) else {
                continue;
            };
            let right = if place.is_senders {
                let known = self.now.get(&(place.space, old.to_string()));
                if known.is_none() {
                    if self.recorded.contains_key(&(place.space, new.to_string())) {
                        again.push(Miss {
                            path: place.pointer.to_owned(),
                            recorded: Some(old.to_string()),
                            replayed: Some(format!("{new}, which stands for another one")),
                        });
                    }
                    met.ids.push((place.space, old.clone(), new.clone()));
                }
                known.unwrap_or(new)
            } else {
                old
            };
            if let Some(value) = expected.pointer_mut(place.pointer)
                && value != right
            {
                *value = right.clone();
                is_other = true;
            }
        }
        if !again.is_empty() {
            return Err(again);
        }
        let rewritten = is_other.then(|| expected.to_string());
        let expected = rewritten.as_deref().map_or(recorded, str::as_bytes);
        let misses = request::misses(expected, said, volatile);
        if !misses.is_empty() {
            return Err(misses);
        }
        met.texts = texts_that_differ(expected, said);
        Ok(met)
    }

    /// Takes in what a frame told.
    pub(super) fn learn(&mut self, met: Met) {
        for (space, old, new) in met.ids {
            self.recorded
                .insert((space, new.to_string()), old.to_string());
            self.now.insert((space, old.to_string()), new);
        }
        self.texts.extend(met.texts);
    }

    /// A recorded frame of the service, with the client's ids as they are now. One that holds
    /// none of them is told to the letter.
    pub(super) fn told(&self, recorded: &str) -> String {
        let Some(was) = document(recorded.as_bytes()) else {
            return self
                .texts
                .get(recorded)
                .cloned()
                .unwrap_or_else(|| recorded.to_owned());
        };
        let mut told = was.clone();
        let mut is_other = exchange_texts(&mut told, &self.texts);
        for place in places(&was).filter(|place| !place.is_senders) {
            let old = was.pointer(place.pointer);
            let new = old.and_then(|old| self.now.get(&(place.space, old.to_string())));
            if let (Some(new), Some(value)) = (new, told.pointer_mut(place.pointer))
                && value != new
            {
                *value = new.clone();
                is_other = true;
            }
        }
        if is_other {
            told.to_string()
        } else {
            recorded.to_owned()
        }
    }
}

fn document(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

fn is_id(value: &Value) -> bool {
    value.is_number() || value.is_string()
}

/// The places of a JSON-RPC frame that hold ids; of another, none.
fn places(frame: &Value) -> impl Iterator<Item = Place> + use<> {
    let method = frame.get("method").and_then(Value::as_str);
    let is_answer = frame.get("result").is_some() || frame.get("error").is_some();
    let place = |pointer, space, is_senders| Place {
        pointer,
        space,
        is_senders,
    };
    let id =
        (method.is_some() || is_answer).then(|| place("/id", Space::Requests, method.is_some()));
    let token = method.map(|_| place("/params/_meta/progressToken", Space::Progress, true));
    let told = match method {
        Some("notifications/progress") => {
            Some(place("/params/progressToken", Space::Progress, false))
        }
        Some("notifications/cancelled") => Some(place("/params/requestId", Space::Requests, true)),
        Some("$/cancelRequest") => Some(place("/params/id", Space::Requests, true)),
        _ => None,
    };
    [id, token, told].into_iter().flatten()
}

/// Puts other texts in the place of those that are known to be others now; whether there were
/// any.
fn exchange_texts(value: &mut Value, texts: &HashMap<String, String>) -> bool {
    if texts.is_empty() {
        return false;
    }
    let mut is_other = false;
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => {
                if let Some(other) = texts.get(text) {
                    text.clone_from(other);
                    is_other = true;
                }
            }
            Value::Array(elements) => waiting.extend(elements),
            Value::Object(members) => waiting.extend(members.values_mut()),
            _ => {}
        }
    }
    is_other
}

/// Texts that differ between two frames that say the same.
fn texts_that_differ(expected: &[u8], said: &[u8]) -> Vec<(String, String)> {
    let (Ok(expected), Ok(said)) = (str::from_utf8(expected), str::from_utf8(said)) else {
        return Vec::new();
    };
    let changes = json_diff::in_order(expected, said).unwrap_or_default();
    let text = |written: Option<String>| serde_json::from_str::<String>(&written?).ok();
    let texts = changes
        .into_iter()
        .filter_map(|change| text(change.before).zip(text(change.after)));
    texts.collect()
}
