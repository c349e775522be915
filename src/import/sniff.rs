//! Says what sort of file this is, from its first bytes. Names are not looked at.

use serde_json::{Map, Value};

/// The sort of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A tape of our own.
    NativeTape,
    /// A transcript of Claude Code.
    ClaudeCode,
    /// A sort that is recognised, and not supported yet; its name.
    NotYet(&'static str),
    /// Nothing at all.
    Empty,
    /// Something else.
    Unknown,
}

/// Says what sort of file begins with these bytes: a few hundred kilobytes are plenty.
pub fn sniff(start: &[u8]) -> Format {
    /// How many lines are looked at.
    const LINES: usize = 64;
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Format::NotYet("a zstd-compressed file");
    }
    if start.iter().all(u8::is_ascii_whitespace) {
        return Format::Empty;
    }
    let lines = start.split(|byte| *byte == b'\n').take(LINES);
    for line in lines {
        let mut stream = serde_json::Deserializer::from_slice(line).into_iter::<Value>();
        if let Some(Ok(Value::Object(record))) = stream.next()
            && let Some(format) = of_record(&record)
        {
            return format;
        }
    }
    of_document(&String::from_utf8_lossy(start))
}

/// The format that a record of JSON lines belongs to.
fn of_record(record: &Map<String, Value>) -> Option<Format> {
    const CLAUDE_CODE: [&str; 8] = [
        "user",
        "assistant",
        "system",
        "summary",
        "progress",
        "attachment",
        "file-history-snapshot",
        "queue-operation",
    ];
    let has = |key: &str| record.contains_key(key);
    let kind = record
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if has("kind") && (has("seq") || has("format")) {
        return Some(Format::NativeTape);
    }
    let is_early_codex = has("record_type") || (has("instructions") && has("timestamp"));
    if kind == "session_meta" || (has("payload") && has("timestamp")) || is_early_codex {
        return Some(Format::NotYet("a Codex rollout"));
    }
    if has("projectHash") || has("$set") {
        return Some(Format::NotYet("a Gemini CLI session"));
    }
    if kind == "session" && has("version") && has("cwd") {
        return Some(Format::NotYet("a pi session"));
    }
    if has("version") && (has("width") || has("term")) {
        return Some(Format::NotYet("an asciicast"));
    }
    if has("instance_id") && has("history") {
        return Some(Format::NotYet("an OpenHands output"));
    }
    if has("trajectory") || has("trajectory_format") {
        return Some(Format::NotYet("a SWE-agent trajectory"));
    }
    if has("schema_version") && has("steps") {
        return Some(Format::NotYet("an ATIF trajectory"));
    }
    let is_claude_code = has("sessionId")
        || has("leafUuid")
        || has("parentUuid")
        || (CLAUDE_CODE.contains(&kind) && (has("uuid") || has("message")));
    is_claude_code.then_some(Format::ClaudeCode)
}

/// The format of one JSON document over many lines, of which only the start is seen; or of
/// a line so long that its end is not.
fn of_document(start: &str) -> Format {
    const MARKS: [(&[&str], Format); 8] = [
        (&["\"seq\"", "\"kind\""], Format::NativeTape),
        (
            &["\"sessionId\"", "\"projectHash\""],
            Format::NotYet("a Gemini CLI session"),
        ),
        (
            &["\"schema_version\"", "ATIF"],
            Format::NotYet("an ATIF trajectory"),
        ),
        (
            &["\"trajectory\""],
            Format::NotYet("a SWE-agent trajectory"),
        ),
        (
            &["\"history\"", "\"role\""],
            Format::NotYet("a SWE-agent trajectory"),
        ),
        (&["\"instance_id\""], Format::NotYet("an OpenHands output")),
        (&["\"parentUuid\""], Format::ClaudeCode),
        (
            &["\"role\"", "\"content\""],
            Format::NotYet("a mini-SWE-agent trajectory"),
        ),
    ];
    if !start.trim_start().starts_with(['{', '[']) {
        return Format::Unknown;
    }
    let fits = |marks: &[&str]| marks.iter().all(|mark| start.contains(mark));
    MARKS
        .iter()
        .find(|(marks, _)| fits(marks))
        .map_or(Format::Unknown, |(_, format)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart() {
        let check =
            |start: &str, expected| assert_eq!(sniff(start.as_bytes()), expected, "{start}");
        check("", Format::Empty);
        check("\n \n", Format::Empty);
        check("hello", Format::Unknown);
        check("{\"a\":1}", Format::Unknown);
        check(
            "{\"seq\":0,\"kind\":\"tape\",\"format\":1}\n",
            Format::NativeTape,
        );
        check(
            "garbage\n{\"seq\":3,\"kind\":\"note\"}\n",
            Format::NativeTape,
        );
        check(
            "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"y\"}\n",
            Format::ClaudeCode,
        );
        check(
            "42\n{\"type\":\"user\",\"uuid\":\"u\",\"message\":{}}\n",
            Format::ClaudeCode,
        );
        check(
            "{\"parentUuid\":null,\"sessionId\":\"s\",\"type\":\"user\",\"mess",
            Format::ClaudeCode,
        );
        check(
            "{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{}}\n",
            Format::NotYet("a Codex rollout"),
        );
        check(
            "{\n  \"sessionId\": \"x\",\n  \"projectHash\": \"y\"",
            Format::NotYet("a Gemini CLI session"),
        );
        check(
            "[\n  {\"role\": \"system\", \"content\": \"x\"}",
            Format::NotYet("a mini-SWE-agent trajectory"),
        );
    }
}
