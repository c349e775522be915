//! Fields of the head that an event's kind does not use. They are kept with its other fields
//! that this version does not know.

use serde_json::{Map, Value};

use super::RawHead;
use crate::model::Body;
use crate::tape::wire::Text;

/// The head fields that a kind may use, in the order of the format.
pub(super) const LOOSE_HEAD: [&str; 19] = [
    "name", "path", "path_raw", "from", "from_raw", "mode", "blob", "len", "enc", "base", "was",
    "by", "redacted", "outcome", "exit", "dur", "at", "to", "reason",
];

/// The head's fields that only some kinds use, but for those in `used`.
pub(super) fn loose_head(head: &RawHead<'_>, used: &[&str]) -> Map<String, Value> {
    let mut loose = Map::new();
    let mut put = |key: &str, value: &dyn Fn() -> Option<Value>| {
        if !used.contains(&key)
            && let Some(value) = value()
        {
            loose.insert(key.to_owned(), value);
        }
    };
    let text = |text: Option<Text<'_>>| text.map(|text| Value::from(text.decode().into_owned()));
    put("name", &|| text(head.name));
    put("path", &|| text(head.path));
    put("path_raw", &|| text(head.path_raw));
    put("from", &|| text(head.from));
    put("from_raw", &|| text(head.from_raw));
    put("mode", &|| head.mode.map(|mode| format!("{mode:o}").into()));
    put("blob", &|| text(head.blob));
    put("len", &|| head.len.map(Value::from));
    put("enc", &|| head.enc.as_str().map(Value::from));
    put("base", &|| text(head.base));
    put("was", &|| text(head.was));
    put("by", &|| head.is_outside.then(|| "outside".into()));
    put("redacted", &|| head.is_redacted.then(|| true.into()));
    put("outcome", &|| {
        head.outcome.map(|outcome| outcome.as_str().into())
    });
    put("exit", &|| head.exit.map(Value::from));
    put("dur", &|| head.dur.map(Value::from));
    put("at", &|| head.at.map(Value::from));
    put("to", &|| text(head.to));
    put("reason", &|| text(head.reason));
    loose
}

/// The fields of the head that an event's body holds.
pub(super) const fn used_by(body: &Body) -> &'static [&'static str] {
    match body {
        Body::Tape(_)
        | Body::Prompt { .. }
        | Body::ToolCall { .. }
        | Body::TxnSavepoint { .. }
        | Body::AgentStart { .. } => &["name"],
        Body::ModelRequest { .. } => &["name", "blob"],
        Body::ModelResponse { .. } => &["name", "outcome", "dur"],
        Body::ToolResult { .. } => &["outcome", "exit", "dur"],
        Body::File(_) => &[
            "path", "path_raw", "from", "from_raw", "mode", "blob", "len", "enc", "base", "was",
            "by", "redacted",
        ],
        Body::Suspect { .. } => &["path", "path_raw"],
        Body::Snapshot { .. } => &["blob", "reason"],
        Body::Blob(_) => &["blob", "len", "enc", "base", "redacted"],
        Body::TxnRollback { .. } => &["to"],
        Body::Branch { .. } => &["from", "at"],
        Body::AgentEnd { .. } | Body::End { .. } => &["outcome"],
        Body::Raw { .. } => &["name", "len", "enc"],
        Body::TxnBegin | Body::TxnCommit | Body::Note { .. } | Body::Gap { .. } => &[],
        Body::Other { .. } => &LOOSE_HEAD,
    }
}
