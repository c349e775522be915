//! JSON values as people read them, and JSON documents that a terminal can show.
//!
//! [`pretty`] is for the eye: long texts inside a value keep their lines. [`ascii`] is for
//! programs and terminals alike: the same document, with nothing in it that acts or hides.

use std::fmt::Write as _;

use serde_json::Value;

use super::sanitize::{SafeText, decode_tags};

/// Columns by which what is inside stands further right.
const INDENT: usize = 2;

/// Deeper than this, a value is written on one line.
const DEEPEST: usize = 64;

/// A value in lines: a member or an element a line, and a text of several lines as it
/// stands, below its name, between `"""`. What tag characters spell is written out.
pub fn pretty(value: &Value) -> Vec<SafeText> {
    let mut lines = Vec::new();
    put(&mut lines, value, "", "", 0);
    lines
}

/// Adds a value whose first line starts with `name` and whose last one ends with `comma`.
fn put(lines: &mut Vec<SafeText>, value: &Value, name: &str, comma: &str, depth: usize) {
    let indent = " ".repeat(depth * INDENT);
    let mut line = |text: String| lines.push(decode_tags(&text));
    match value {
        Value::String(text) if text.trim_end_matches('\n').contains('\n') => {
            line(format!("{indent}{name}\"\"\""));
            for part in text.split('\n') {
                let part = part.strip_suffix('\r').unwrap_or(part);
                line(format!("{indent}{part}"));
            }
            line(format!("{indent}\"\"\"{comma}"));
        }
        Value::Array(elements) if !elements.is_empty() && depth < DEEPEST => {
            line(format!("{indent}{name}["));
            for (index, element) in elements.iter().enumerate() {
                let comma = comma_after(index, elements.len());
                put(lines, element, "", comma, depth + 1);
            }
            lines.push(SafeText::line(&format!("{indent}]{comma}")));
        }
        Value::Object(members) if !members.is_empty() && depth < DEEPEST => {
            line(format!("{indent}{name}{{"));
            for (index, (key, member)) in members.iter().enumerate() {
                let name = format!("{}: ", Value::from(key.as_str()));
                let comma = comma_after(index, members.len());
                put(lines, member, &name, comma, depth + 1);
            }
            lines.push(SafeText::line(&format!("{indent}}}{comma}")));
        }
        value => line(format!("{indent}{name}{value}{comma}")),
    }
}

fn comma_after(index: usize, length: usize) -> &'static str {
    if index + 1 < length { "," } else { "" }
}

/// A JSON document in ASCII: every other character becomes `\u` escapes, which mean the
/// same to whoever parses it. Control characters, which JSON has only between its tokens,
/// stay where they are a line end and become spaces elsewhere.
pub fn ascii(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for character in document.chars() {
        match character {
            ' '..='~' | '\n' => out.push(character),
            '\0'..='\u{1F}' => out.push(' '),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, expected: &str) {
        let lines = pretty(&value);
        let lines: Vec<&str> = lines.iter().map(SafeText::as_str).collect();
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn values_stand_in_lines() {
        check(
            json!({"path": "a.rs", "all": [1, {"x": null}], "none": {}}),
            "{\n  \"path\": \"a.rs\",\n  \"all\": [\n    1,\n    {\n      \"x\": null\n    }\n  ],\n  \"none\": {}\n}",
        );
        check(json!("one line\n"), "\"one line\\n\"");
        check(
            json!({"old": "fn a() {\n\tb\r\n}", "n": 1}),
            "{\n  \"old\": \"\"\"\n  fn a() {\n    b\n  }\n  \"\"\",\n  \"n\": 1\n}",
        );
    }

    #[test]
    fn names_and_texts_are_made_safe() {
        check(
            json!({"k\u{202e}": "\u{9b}31m\u{1b}"}),
            "{\n  \"k<U+202E>\": \"\\x9b31m\\u001b\"\n}",
        );
    }

    #[test]
    fn what_tag_characters_spell_is_written_out() {
        check(
            json!("a\u{E0068}\u{E0069} b\u{200b}"),
            "\"a<tags: hi> b<U+200B>\"",
        );
    }

    #[test]
    fn depth_has_an_end() {
        let deep = (0..1000).fold(json!(1), |inside, _| json!([inside]));
        assert_eq!(pretty(&deep).len(), 2 * DEEPEST + 1);
    }

    #[test]
    fn documents_mean_the_same_in_ascii() {
        let value = json!({"a": "\u{202e}漢👩\u{9b}\u{1b}\"\\", "é": [1]});
        let text = ascii(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
