//! A line carried over to another tape: every field as it stands, but for how its content
//! travels and what chains it to the line before.

use serde_json::Value;

use super::RawHead;
use super::encode::{Encoded, Stored, put_stored, stored_word};
use super::head::Put;
use super::line::{parse_fields, scalar};
use super::loose::LOOSE_HEAD;
use super::object::Object;
use crate::model::{BlobHash, LineHash};

/// What changes in a line that is carried over.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// The time, for a line that says none.
    pub t: u64,
    /// The hash of the line before, on the new tape.
    pub prev: Option<LineHash>,
    /// The content, where it travels in another way: its hash (a raw record has none), its
    /// length, and how it travels.
    pub content: Option<(Option<BlobHash>, u64, &'a Stored<'a>)>,
    /// A field that is put behind the others, in the place of one of that name.
    pub field: Option<(&'a str, &'a Value)>,
}

/// Writes the line of a record again. Where its head cannot be put in order, all its fields
/// are written as they stood, without `prev`: such a line may have any order.
pub fn carry_line(record: &str, carried: Carried<'_>) -> Option<Encoded> {
    let (fields, _) = parse_fields(record).ok()?;
    let mut head: Vec<(&str, &serde_json::value::RawValue)> = Vec::new();
    let mut is_orderly = true;
    let mut seen = RawHead::default();
    for (key, raw) in &fields {
        let Some(value) = scalar(raw.get()) else {
            is_orderly &= !RawHead::is_head_field(key.as_bytes());
            continue;
        };
        match seen.put(key.as_bytes(), value) {
            Put::Taken => {
                is_orderly &= !head.iter().any(|(known, _)| known == key);
                head.push((key, raw));
            }
            Put::BadType => is_orderly = false,
            Put::NotHead => {}
        }
    }
    is_orderly &= seen.seq.is_some() && seen.kind.is_some();
    let mut line = Object::new();
    if !is_orderly {
        for (key, raw) in &fields {
            if key != "prev" {
                line.put(key, raw);
            }
        }
        return Some(line.finish());
    }
    let find = |key: &str| {
        let found = head.iter().find(|(known, _)| *known == key);
        found.map(|(_, raw)| *raw).filter(|raw| raw.get() != "null")
    };
    line.put_some("seq", find("seq").as_ref());
    match find("t") {
        Some(t) => line.put("t", t),
        None => line.put("t", &carried.t),
    }
    line.put_some("kind", find("kind").as_ref());
    let first = ["step", "branch", "agent", "call", "txn"];
    for key in first.into_iter().chain(LOOSE_HEAD).chain(["title"]) {
        match (carried.content, key) {
            (Some((Some(hash), ..)), "blob") => line.put_hash("blob", Some(&hash)),
            (Some((_, len, _)), "len") => line.put("len", &len),
            (Some((.., stored)), "enc") => line.put_some("enc", stored_word(stored).as_ref()),
            (Some((.., stored)), "base") => {
                if let Stored::Splice { base, .. } = stored {
                    line.put_hash("base", Some(base));
                }
            }
            _ => line.put_some(key, find(key).as_ref()),
        }
    }
    line.put_some("prev", carried.prev.map(|prev| prev.to_string()).as_ref());
    for (key, raw) in &fields {
        let is_replaced = carried.content.is_some()
            && matches!(&**key, "text" | "data" | "at_byte" | "del" | "ins")
            || carried.field.is_some_and(|(field, _)| field == key);
        if !RawHead::is_head_field(key.as_bytes()) && !is_replaced {
            line.put(key, raw);
        }
    }
    if let Some((.., stored)) = carried.content {
        put_stored(&mut line, stored);
    }
    if let Some((key, value)) = carried.field {
        line.put(key, value);
    }
    Some(line.finish())
}
