//! The careful way into a line: the whole record, fields in any order.

use std::borrow::Cow;

use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::head::{Put, RawHead, Scalar};
use super::key::Key;
use crate::tape::wire::Text;

/// A record, its head read and its content left as it stands.
#[derive(Debug, Default)]
pub struct Line<'a> {
    /// The head.
    pub head: RawHead<'a>,
    /// The other fields, in order.
    pub content: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// Head fields of a wrong type, by name; they are treated as absent.
    pub bad_fields: Vec<String>,
    /// A head field stands behind `prev`, or others than `seq`, `t` and `kind` stand first:
    /// against the promise of `prev`.
    pub breaks_promise: bool,
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is not JSON.
    #[error("{0}")]
    NotJson(serde_json::Error),
    /// It is JSON, and no object.
    #[error("a JSON value that is no object")]
    NotAnObject,
}

/// Parses the first record of `json`; also says how many bytes it takes.
pub fn parse_record(json: &str) -> Result<(Line<'_>, usize), LineError> {
    let (fields, end) = parse_fields(json)?;
    Ok((line_of(fields), end))
}

/// The fields of the first record of `json`, in order; also says how many bytes it takes.
pub(super) fn parse_fields(json: &str) -> Result<(RawFields<'_>, usize), LineError> {
    let mut stream = serde_json::Deserializer::from_str(json).into_iter::<&RawValue>();
    let raw = match stream.next() {
        Some(Ok(raw)) => raw,
        Some(Err(error)) => return Err(LineError::NotJson(error)),
        None => return Err(LineError::NotAnObject),
    };
    let end = stream.byte_offset();
    if !raw.get().starts_with('{') {
        return Err(LineError::NotAnObject);
    }
    let fields: Fields<'_> = serde_json::from_str(raw.get()).map_err(LineError::NotJson)?;
    Ok((fields.0, end))
}

/// Fields as they stand, a repeated one as often as it stands there.
pub(super) type RawFields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// The record of these fields.
pub(super) fn line_of(fields: RawFields<'_>) -> Line<'_> {
    let mut line = Line::default();
    let mut is_past_prev = false;
    let first = fields.iter().map(|(key, _)| &**key).take(3);
    let begins_well = first.eq(["seq", "t", "kind"]);
    for (key, raw) in fields {
        let put = match scalar(raw.get()) {
            Some(value) => line.head.put(Key::of(key.as_bytes()), value),
            None if RawHead::is_head_field(key.as_bytes()) => Put::BadType,
            None => Put::NotHead,
        };
        match put {
            Put::Taken => line.breaks_promise |= is_past_prev,
            Put::BadType => line.bad_fields.push(key.into_owned()),
            Put::NotHead => line.content.push((key, raw)),
        }
        is_past_prev = line.head.prev.is_some();
    }
    line.breaks_promise |= is_past_prev && !begins_well;
    line
}

pub(super) fn scalar(json: &str) -> Option<Scalar<'_>> {
    match json {
        "true" => Some(Scalar::Bool(true)),
        "false" => Some(Scalar::Bool(false)),
        "null" => Some(Scalar::Null),
        json if json.starts_with('"') => Text::from_quoted(json).map(Scalar::Text),
        json if json.starts_with(['{', '[']) => None,
        json => Some(Scalar::Number(json.as_bytes())),
    }
}

struct Fields<'a>(RawFields<'a>);

impl<'de> serde::Deserialize<'de> for Fields<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<FieldName<'de>>()? {
            fields.push((key.0, map.next_value()?));
        }
        Ok(Fields(fields))
    }
}

/// A key, borrowed where it has no escapes.
struct FieldName<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for FieldName<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = FieldName<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(FieldName(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(FieldName(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}
