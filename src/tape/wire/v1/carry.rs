//! A line carried over to another tape: every field as it stands, but for how its content
//! travels and what chains it to the line before.

use serde_json::Value;
use serde_json::value::RawValue;

use super::RawHead;
use super::encode::{Encoded, Stored, put_stored, stored_word};
use super::head::Put;
use super::key::Key;
use super::line::{RawFields, parse_fields, scalar};
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
    /// A content field that is left out.
    pub without: Option<&'a str>,
}

/// Writes the line of a record again. A line that has `prev` gets another one, and its head
/// is put in order; a line without, or with a head that cannot be put in order, keeps the
/// order it has, and has no `prev`.
pub fn carry_line(record: &str, carried: Carried<'_>) -> Option<Encoded> {
    let (fields, _) = parse_fields(record).ok()?;
    let mut line = Object::new();
    match orderly_head(&fields) {
        Some(head) => put_head(&mut line, &head, carried),
        None => put_as_it_stands(&mut line, &fields, carried),
    }
    for (key, raw) in &fields {
        if !RawHead::is_head_field(key.as_bytes()) && !carried.replaces(key) {
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

type Head<'a> = Vec<(&'a str, &'a RawValue)>;

/// The head of a line that has `prev`, if each of its fields stands there once and is of its
/// type.
fn orderly_head<'a>(fields: &'a RawFields<'a>) -> Option<Head<'a>> {
    let mut head: Head<'a> = Vec::new();
    let mut seen = RawHead::default();
    for (key, raw) in fields {
        let put = match scalar(raw.get()) {
            Some(value) => seen.put(Key::of(key.as_bytes()), value),
            None if RawHead::is_head_field(key.as_bytes()) => Put::BadType,
            None => Put::NotHead,
        };
        match put {
            Put::Taken if !head.iter().any(|(known, _)| known == key) => head.push((key, raw)),
            Put::NotHead => {}
            Put::Taken | Put::BadType => return None,
        }
    }
    let is_orderly = seen.seq.is_some() && seen.kind.is_some() && seen.prev.is_some();
    is_orderly.then_some(head)
}

fn put_head(line: &mut Object, head: &Head<'_>, carried: Carried<'_>) {
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
    for key in first.into_iter().chain(LOOSE_HEAD).chain(["title", "via"]) {
        if !carried.put_content_head(line, key) {
            line.put_some(key, find(key).as_ref());
        }
    }
    line.put_some("prev", carried.prev.map(|prev| prev.to_string()).as_ref());
}

fn put_as_it_stands(line: &mut Object, fields: &RawFields<'_>, carried: Carried<'_>) {
    for (key, raw) in fields {
        let is_head = RawHead::is_head_field(key.as_bytes()) && key != "prev";
        if is_head && !(carried.content.is_some() && CONTENT_HEAD.contains(&&**key)) {
            line.put(key, raw);
        }
    }
    for key in CONTENT_HEAD {
        carried.put_content_head(line, key);
    }
}

/// The fields of the head that say how a content travels.
const CONTENT_HEAD: [&str; 4] = ["blob", "len", "enc", "base"];

impl Carried<'_> {
    /// Puts a field of the head that is of the new content; whether it is one.
    fn put_content_head(&self, line: &mut Object, key: &str) -> bool {
        match (self.content, key) {
            (Some((Some(hash), ..)), "blob") => line.put_hash("blob", Some(&hash)),
            (Some((_, len, _)), "len") => line.put("len", &len),
            (Some((.., stored)), "enc") => line.put_some("enc", stored_word(stored).as_ref()),
            (Some((.., stored)), "base") => {
                if let Stored::Splice { base, .. } = stored {
                    line.put_hash("base", Some(base));
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether a content field gives way to another one, or to none.
    fn replaces(&self, key: &str) -> bool {
        let is_content = matches!(key, "text" | "data" | "at_byte" | "del" | "ins");
        self.content.is_some() && is_content
            || self.without == Some(key)
            || self.field.is_some_and(|(field, _)| field == key)
    }
}
