//! The shape of the records, as far as it is understood.
//!
//! Every field is lenient: one of another type than expected is read as absent, so that a
//! record is never lost over a field. Large parts stay text until somebody needs them, and
//! the payloads of progress records are never parsed at all.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// One record: what all types share, and the parts that some have.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow)]
    pub(super) uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) logical_parent_uuid: Text<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) version: Text<'a>,
    #[serde(borrow)]
    pub(super) git_branch: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) request_id: Text<'a>,
    #[serde(rename = "parentToolUseID", borrow)]
    pub(super) parent_tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) tracking_path: Text<'a>,
    pub(super) is_sidechain: Flag,
    pub(super) is_meta: Flag,
    pub(super) is_compact_summary: Flag,
    pub(super) is_api_error_message: Flag,
    #[serde(borrow)]
    pub(super) message: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_use_result: Raw<'a>,
    #[serde(borrow)]
    pub(super) attachment: Raw<'a>,
    #[serde(borrow)]
    pub(super) data: Raw<'a>,
    #[serde(borrow)]
    pub(super) snapshot: Raw<'a>,
    #[serde(borrow)]
    pub(super) backup: Raw<'a>,
    #[serde(borrow)]
    pub(super) compact_metadata: Raw<'a>,
}

/// A message of the model's interface.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) usage: Raw<'a>,
}

/// A block of a message.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) thinking: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
    #[serde(borrow)]
    pub(super) source: Raw<'a>,
    pub(super) is_error: Flag,
}

/// The bytes of an image or a document.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Source<'a> {
    #[serde(borrow)]
    pub(super) data: Text<'a>,
}

/// Tokens, as the interface counts them.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens")]
    pub(super) input: Number,
    #[serde(rename = "output_tokens")]
    pub(super) output: Number,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: Number,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_write: Number,
}

/// What a tool returned beside its text: the fields of all tools that are understood.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Returned<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) file_path: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    #[serde(borrow)]
    pub(super) old_string: Text<'a>,
    #[serde(borrow)]
    pub(super) new_string: Text<'a>,
    #[serde(borrow)]
    pub(super) original_file: Text<'a>,
    #[serde(borrow)]
    pub(super) original_file_contents: Text<'a>,
    #[serde(borrow)]
    pub(super) structured_patch: Raw<'a>,
    #[serde(borrow)]
    pub(super) edits: Raw<'a>,
    #[serde(borrow)]
    pub(super) file: Raw<'a>,
    #[serde(rename = "notebook_path", borrow)]
    pub(super) notebook_path: Text<'a>,
    #[serde(rename = "original_file", borrow)]
    pub(super) notebook_before: Text<'a>,
    #[serde(rename = "updated_file", borrow)]
    pub(super) notebook_after: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) background_task_id: Text<'a>,
    #[serde(borrow)]
    pub(super) persisted_output_path: Text<'a>,
    #[serde(borrow)]
    pub(super) bash_edit_diff: Raw<'a>,
    pub(super) replace_all: Flag,
    pub(super) interrupted: Flag,
    pub(super) duration_ms: Number,
    pub(super) total_duration_ms: Number,
}

/// A part of a file, as a read shows it.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FilePart<'a> {
    #[serde(borrow)]
    pub(super) file_path: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Text<'a>,
    pub(super) start_line: Number,
    pub(super) num_lines: Number,
    pub(super) total_lines: Number,
    pub(super) truncated_by_token_cap: Flag,
}

/// One of several edits of a file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct EditItem<'a> {
    #[serde(borrow)]
    pub(super) old_string: Text<'a>,
    #[serde(borrow)]
    pub(super) new_string: Text<'a>,
    pub(super) replace_all: Flag,
}

/// A hunk of a displayed patch.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PatchHunk<'a> {
    pub(super) old_start: Number,
    #[serde(borrow)]
    pub(super) lines: Vec<Text<'a>>,
}

/// The payload of a progress record, as far as it is of interest.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProgressData<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Raw<'a>,
}

/// An attachment, as far as it is of interest.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Attachment<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) filename: Text<'a>,
    #[serde(borrow)]
    pub(super) snippet: Text<'a>,
    #[serde(borrow)]
    pub(super) prompt: Text<'a>,
    #[serde(borrow)]
    pub(super) hook_name: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Raw<'a>,
}

/// A string, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The string; empty where there is none.
    pub(super) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.get() == Some(text)
    }
}

/// True only where `true` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flag(pub(super) bool);

/// A number that is not negative, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number(pub(super) Option<u64>);

/// A part that is not read yet; `null` is nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raw<'a>(pub(super) Option<&'a RawValue>);

impl<'a> Raw<'a> {
    /// The part as it stands in the file.
    pub(super) fn text(&self) -> Option<&'a str> {
        self.0.map(RawValue::get)
    }

    /// The part read as this shape; its default where it has another.
    pub(super) fn read<T: serde::Deserialize<'a> + Default>(&self) -> T {
        self.text()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The items of a list, each as it stands; `None` when it is no list.
    pub(super) fn items(&self) -> Option<Vec<Raw<'a>>> {
        let text = self.text().filter(|text| text.starts_with('['))?;
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        Some(items.into_iter().map(|item| Raw(Some(item))).collect())
    }

    /// The string, where it is one.
    pub(super) fn string(&self) -> Option<Cow<'a, str>> {
        let text = self.text().filter(|text| text.starts_with('"'))?;
        serde_json::from_str::<Text<'a>>(text).ok()?.0
    }

    /// The part as a value; `null` where there is none.
    pub(super) fn value(&self) -> serde_json::Value {
        self.read()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self((raw.get() != "null").then_some(raw)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(Scalar)? {
            Found::Text(text) => Self(Some(text)),
            _ => Self(None),
        })
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = deserializer.deserialize_any(Scalar)?;
        Ok(Self(matches!(found, Found::Flag(true))))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(Scalar)? {
            Found::Number(number) => Self(Some(number)),
            _ => Self(None),
        })
    }
}

/// What stands in a place where a string, a flag or a number is expected.
enum Found<'a> {
    Text(Cow<'a, str>),
    Flag(bool),
    Number(u64),
    Other,
}

/// Takes any value; lists and objects are stepped over.
struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Found::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Found::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Found::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Found::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Found::Other)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        let is_natural = number >= 0.0 && number <= f64::from(u32::MAX);
        Ok(if is_natural {
            Found::Number(number as u64)
        } else {
            Found::Other
        })
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Found::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Found::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_another_type_is_absent() {
        let text = r#"{"type":"user","uuid":7,"timestamp":{"a":[1]},"isMeta":"yes",
            "isSidechain":true,"message":null,"toolUseResult":"x","new":1}"#;
        let record: Record<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(record.kind.get(), Some("user"));
        assert_eq!(record.uuid.get(), None);
        assert_eq!(record.timestamp.get(), None);
        assert_eq!((record.is_meta.0, record.is_sidechain.0), (false, true));
        assert!(record.message.0.is_none());
        assert_eq!(record.tool_use_result.string().as_deref(), Some("x"));
    }
}
