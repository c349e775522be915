//! What the JSON of several commands has in common.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::debugger::{LedgerRow, Section, Standing};
use crate::model::{Problem, TapePath};
use crate::text::SafeText;

/// The fields of a path: `path`, and where that is not UTF-8 the exact bytes beside it.
pub(super) fn path_fields(path: &TapePath) -> Map<String, Value> {
    fields_of(path.as_bytes())
}

fn fields_of(path: &[u8]) -> Map<String, Value> {
    let mut fields = Map::new();
    insert("path", path, &mut fields);
    fields
}

fn insert(name: &str, path: &[u8], fields: &mut Map<String, Value>) {
    fields.insert(name.to_owned(), String::from_utf8_lossy(path).into());
    if std::str::from_utf8(path).is_err() {
        fields.insert(format!("{name}_base64"), STANDARD.encode(path).into());
    }
}

/// The fields of a path that differs: `from` is the one it had, of a rename, else null.
pub(super) fn with_both_paths(path: &TapePath, from: Option<&TapePath>, more: Value) -> Value {
    let mut fields = path_fields(path);
    fields.insert("from".to_owned(), Value::Null);
    if let Some(from) = from {
        insert("from", from.as_bytes(), &mut fields);
    }
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    Value::Object(fields)
}

/// The fields of a path, and these.
pub(super) fn with_path(path: &TapePath, more: Value) -> Value {
    with_path_bytes(path.as_bytes(), more)
}

/// The fields of a path of this machine, and these.
pub(super) fn with_path_bytes(path: &[u8], more: Value) -> Value {
    let mut fields = fields_of(path);
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    Value::Object(fields)
}

/// A problem, as `verify` and `log` print it.
pub(super) fn problem(problem: &Problem) -> Value {
    let mut object = json!({
        "line": problem.line,
        "offset": problem.offset,
        "kind": problem.kind.as_str(),
        "message": problem.message,
    });
    if let Some(file) = &problem.file {
        object["file"] = (**file).into();
    }
    object
}

/// Permission bits as a tape writes them.
pub(super) fn mode(mode: Option<u32>) -> Value {
    mode.map_or(Value::Null, |bits| format!("{bits:o}").into())
}

/// Words; null where there are none.
pub(super) fn words(text: &SafeText) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        text.as_str().into()
    }
}

/// Lines.
pub(super) fn lines(lines: &[SafeText]) -> Value {
    lines.iter().map(SafeText::as_str).collect()
}

/// An effect of the ledger.
pub(super) fn effect(row: &LedgerRow) -> Value {
    let rollback = match row.standing {
        Standing::Settled | Standing::Dropped => Value::Null,
        Standing::Open(fate) => fate.as_str().into(),
        Standing::Left => "left".into(),
    };
    json!({
        "number": row.number,
        "name": words(&row.name),
        "arguments": words(&row.arguments),
        "class": row.class.as_str(),
        "key": words(&row.key),
        "step": row.step.0,
        "transaction": row.transaction.as_ref().map(SafeText::as_str),
        "state": row.state.as_str(),
        "rollback": rollback,
    })
}

/// A part of a step to read.
pub(super) fn section(section: &Section) -> Value {
    json!({
        "name": section.name.as_str(),
        "lines": lines(&section.lines),
        "omitted": section.omitted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_exact_whatever_its_bytes() {
        let fields = |path: &[u8]| Value::from(path_fields(&TapePath::new(path).unwrap()));
        assert_eq!(fields("a/ü".as_bytes()), json!({ "path": "a/ü" }));
        let expected = json!({ "path": "a/\u{fffd}", "path_base64": "YS//" });
        assert_eq!(fields(b"a/\xff"), expected);
    }
}
