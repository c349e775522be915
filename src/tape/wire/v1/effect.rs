//! Effects between what they say and the fields that say it.
//!
//! An effect's event keeps its fields as they are, those that this version does not know among
//! them; what the known ones say is read when it is wanted. Total: a field of a wrong type is
//! as good as absent.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use crate::model::{
    BlobHash, Body, EffectClass, EffectCompensation, EffectEvent, EffectIntent, EffectRequest,
    EffectResult, Event, Kind, Outcome,
};

type Fields = Map<String, Value>;

/// What an event says of an effect; `None` if it is of another kind.
///
/// An effect that names no key is known by its call.
pub fn effect_of(event: &Event) -> Option<EffectEvent> {
    let Body::Other { kind, fields } = &event.body else {
        return None;
    };
    let key = |field: &str| {
        let key = text(fields, field).or(event.head.call.as_deref());
        key.unwrap_or_default().to_owned()
    };
    let name = || text(fields, "name").unwrap_or_default().to_owned();
    Some(match Kind::parse(kind.as_bytes()) {
        Kind::EffectIntent => EffectEvent::Intent(EffectIntent {
            name: name(),
            key: key("key"),
            class: text(fields, "class")
                .and_then(EffectClass::parse)
                .unwrap_or_default(),
            request: EffectRequest {
                arguments: arguments(fields),
                body: bytes(fields, "body", "body_raw"),
            },
            waits: fields.get("waits").and_then(Value::as_bool) == Some(true),
            configuration: hash(fields),
        }),
        Kind::EffectCompensate => EffectEvent::Compensate(EffectCompensation {
            name: name(),
            key: key("key"),
            of: text(fields, "of").map_or_else(|| key("key"), str::to_owned),
            configuration: hash(fields),
        }),
        Kind::EffectResult => EffectEvent::Result(EffectResult {
            key: key("key"),
            outcome: text(fields, "outcome")
                .and_then(Outcome::parse)
                .unwrap_or_default(),
            exit: fields
                .get("exit")
                .and_then(Value::as_i64)
                .and_then(|exit| i32::try_from(exit).ok()),
            duration: fields.get("dur").and_then(Value::as_u64),
            output: bytes(fields, "output", "output_raw"),
            omitted: fields
                .get("omitted")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
            complaint: text(fields, "stderr").unwrap_or_default().to_owned(),
            remark: text(fields, "remark").map(str::to_owned),
        }),
        _ => return None,
    })
}

/// The event that says this of an effect.
pub fn effect_event(effect: &EffectEvent) -> Event {
    let mut fields = Fields::new();
    let mut put = |field: &str, value: Value| {
        fields.insert(field.to_owned(), value);
    };
    let kind = match effect {
        EffectEvent::Intent(intent) => {
            put("name", json!(intent.name));
            put("key", json!(intent.key));
            put("class", json!(intent.class.as_str()));
            put("args", json!(intent.request.arguments));
            put_bytes(&mut put, ["body", "body_raw"], &intent.request.body);
            if intent.waits {
                put("waits", json!(true));
            }
            put_hash(&mut put, intent.configuration);
            Kind::EffectIntent
        }
        EffectEvent::Compensate(compensation) => {
            put("name", json!(compensation.name));
            put("key", json!(compensation.key));
            put("of", json!(compensation.of));
            put_hash(&mut put, compensation.configuration);
            Kind::EffectCompensate
        }
        EffectEvent::Result(result) => {
            if result.outcome != Outcome::None {
                put("outcome", json!(result.outcome.as_str()));
            }
            if let Some(exit) = result.exit {
                put("exit", json!(exit));
            }
            if let Some(duration) = result.duration {
                put("dur", json!(duration));
            }
            put("key", json!(result.key));
            put_bytes(&mut put, ["output", "output_raw"], &result.output);
            if result.omitted > 0 {
                put("omitted", json!(result.omitted));
            }
            if !result.complaint.is_empty() {
                put("stderr", json!(result.complaint));
            }
            if let Some(remark) = &result.remark {
                put("remark", json!(remark));
            }
            Kind::EffectResult
        }
    };
    Event::new(Body::Other {
        kind: kind.as_str().to_owned(),
        fields,
    })
}

fn text<'a>(fields: &'a Fields, field: &str) -> Option<&'a str> {
    fields.get(field)?.as_str()
}

/// Arguments; others than texts count as they are written.
fn arguments(fields: &Fields) -> Vec<String> {
    let list = fields.get("args").and_then(Value::as_array);
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    list.map(|list| list.iter().map(word).collect())
        .unwrap_or_default()
}

fn hash(fields: &Fields) -> Option<BlobHash> {
    text(fields, "config")?.parse().ok()
}

fn bytes(fields: &Fields, as_text: &str, raw: &str) -> Arc<[u8]> {
    let exact = text(fields, raw).and_then(|raw| BASE64.decode(raw).ok());
    exact
        .unwrap_or_else(|| text(fields, as_text).unwrap_or_default().into())
        .into()
}

/// Bytes as text; where they are none, lossily beside the exact ones.
fn put_bytes(put: &mut impl FnMut(&str, Value), [as_text, raw]: [&str; 2], bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    put(as_text, String::from_utf8_lossy(bytes).into());
    if std::str::from_utf8(bytes).is_err() {
        put(raw, BASE64.encode(bytes).into());
    }
}

fn put_hash(put: &mut impl FnMut(&str, Value), hash: Option<BlobHash>) {
    if let Some(hash) = hash {
        put("config", hash.to_string().into());
    }
}
