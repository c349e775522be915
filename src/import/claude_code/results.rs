//! How a call ended, from the words that the tool or the program around it used.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::{Body, Micros, Outcome};

use super::record::{Block, Raw, Returned};

/// What came back from a call.
#[derive(Debug)]
pub(super) struct Outcomes<'a> {
    pub(super) outcome: Outcome,
    pub(super) exit: Option<i32>,
    /// The text, as the model saw it.
    pub(super) output: String,
    pub(super) duration: Option<Micros>,
    /// The images, still encoded.
    pub(super) images: Vec<Cow<'a, str>>,
    pub(super) returned: Returned<'a>,
    /// What the tool returned, without what is kept elsewhere.
    pub(super) detail: Value,
}

impl<'a> Outcomes<'a> {
    /// Reads a block of a result, with what the tool returned beside it.
    pub(super) fn read(block: &Block<'a>, beside: Raw<'a>) -> Self {
        let (output, images) = output(block.content);
        let returned: Returned<'a> = beside.read();
        let message = beside.string();
        let (outcome, exit) = ended(block.is_error.0, &output, message.as_deref(), &returned);
        let millis = returned.duration_ms.0.or(returned.total_duration_ms.0);
        Self {
            outcome,
            exit,
            duration: millis.map(|millis| millis.saturating_mul(1000)),
            detail: detail(beside, &output),
            output,
            images,
            returned,
        }
    }
}

/// The result that a tool's own object makes, where nobody says what the model saw of it.
pub(super) fn of_response(response: &Value) -> Body {
    let text = response.to_string();
    let beside: Raw<'_> = serde_json::from_str(&text).unwrap_or_default();
    let output = shown(response);
    let returned: Returned<'_> = beside.read();
    let is_error = response.get("is_error") == Some(&Value::Bool(true));
    let message = response.as_str();
    let (outcome, exit) = ended(is_error, &output, message, &returned);
    let millis = returned.duration_ms.0.or(returned.total_duration_ms.0);
    Body::ToolResult {
        outcome,
        exit,
        duration: millis.map(|millis| millis.saturating_mul(1000)),
        attachments: Vec::new(),
        detail: detail(beside, &output),
        output,
    }
}

/// The words of a tool's own object: what a command printed, what a file holds, the texts of
/// a list of blocks.
fn shown(response: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    match response {
        Value::String(words) => words.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(shown).collect();
            texts.join("\n")
        }
        Value::Object(fields) if fields.contains_key("stdout") => {
            let parts = [text(fields.get("stdout")), text(fields.get("stderr"))];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join("\n")
        }
        Value::Object(fields) => match (fields.get("file"), fields.get("content")) {
            (Some(file @ Value::Object(_)), _) => text(file.get("content")),
            (_, Some(content)) if !fields.contains_key("filePath") => shown(content),
            _ => text(fields.get("text")),
        },
        _ => String::new(),
    }
}

/// The text of a result's content, and its images.
fn output<'a>(content: Raw<'a>) -> (String, Vec<Cow<'a, str>>) {
    let mut images = Vec::new();
    if let Some(text) = content.string() {
        return (text.into_owned(), images);
    }
    let Some(items) = content.items() else {
        return (content.text().unwrap_or_default().to_owned(), images);
    };
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    for item in items {
        let block: Block<'a> = item.read();
        if let Some(text) = block.text.0 {
            texts.push(text);
        } else if let Some(data) = block.source.read::<super::record::Source<'a>>().data.0 {
            images.push(data);
        } else {
            texts.push(Cow::Borrowed(item.text().unwrap_or_default()));
        }
    }
    (texts.join("\n"), images)
}

/// The outcome and the exit code. `message` is what stands where a tool's data would, when
/// the call did not succeed.
fn ended(
    is_error: bool,
    output: &str,
    message: Option<&str>,
    returned: &Returned<'_>,
) -> (Outcome, Option<i32>) {
    const REFUSED: [&str; 6] = [
        "The user doesn't want to proceed with this tool use",
        "The user doesn't want to take this action right now",
        "User rejected tool use",
        "Claude requested permissions to",
        "Permission to use",
        "This command requires approval",
    ];
    let bare = |text: &str| {
        let text = text.strip_prefix("Error: ").unwrap_or(text);
        text.strip_prefix("<tool_use_error>")
            .unwrap_or(text)
            .to_owned()
    };
    let texts = [bare(output), message.map(bare).unwrap_or_default()];
    let begins = |start: &str| texts.iter().any(|text| text.starts_with(start));
    let failed = is_error || message.is_some_and(|text| text.starts_with("Error"));
    let exit = texts.iter().find_map(|text| {
        let rest = text.strip_prefix("Exit code ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    let outcome = if begins("[Request interrupted by user") || returned.interrupted.0 {
        Outcome::Interrupted
    } else if failed && REFUSED.iter().any(|start| begins(start)) {
        Outcome::Refused
    } else if failed || exit.is_some_and(|code| code != 0) {
        Outcome::Failed
    } else {
        Outcome::Ok
    };
    (outcome, exit)
}

/// What the tool returned, without contents of files, which are blobs or known lines, and
/// without what the output says already.
fn detail(beside: Raw<'_>, output: &str) -> Value {
    const CONTENTS: [&str; 5] = [
        "originalFile",
        "originalFileContents",
        "original_file",
        "updated_file",
        "base64",
    ];
    let mut detail = beside.value();
    if detail
        .as_str()
        .is_some_and(|text| text == output || text.strip_prefix("Error: ") == Some(output))
    {
        return Value::Null;
    }
    if let Some(fields) = detail.as_object_mut() {
        let is_file = fields.contains_key("filePath");
        fields.retain(|name, value| {
            let is_content = CONTENTS.contains(&name.as_str()) || (is_file && name == "content");
            let is_said = name == "stdout" && value.as_str() == Some(output);
            !is_content && !is_said
        });
        if let Some(file) = fields.get_mut("file").and_then(Value::as_object_mut) {
            file.retain(|name, _| !matches!(name.as_str(), "content" | "base64"));
        }
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_how_a_call_ended() {
        let check = |block: &str, beside: &str, outcome, exit| {
            let block: Block<'_> = serde_json::from_str(block).unwrap();
            let beside: Raw<'_> = serde_json::from_str(beside).unwrap();
            let read = Outcomes::read(&block, beside);
            assert_eq!((read.outcome, read.exit), (outcome, exit), "{block:?}");
        };
        check(r#"{"content":"fine"}"#, "{}", Outcome::Ok, None);
        check(
            r#"{"content":"x","is_error":true}"#,
            "null",
            Outcome::Failed,
            None,
        );
        check(r#"{"content":"x"}"#, r#""Error: x""#, Outcome::Failed, None);
        check(
            r#"{"content":"Exit code 2\nno","is_error":true}"#,
            r#""Error: Exit code 2\nno""#,
            Outcome::Failed,
            Some(2),
        );
        check(
            r#"{"content":"The user doesn't want to proceed with this tool use.","is_error":true}"#,
            "null",
            Outcome::Refused,
            None,
        );
        check(
            r#"{"content":"Claude requested permissions to write to /a, but you haven't granted it yet.","is_error":true}"#,
            "null",
            Outcome::Refused,
            None,
        );
        check(
            r#"{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}],"is_error":true}"#,
            "null",
            Outcome::Interrupted,
            None,
        );
        check(
            r#"{"content":""}"#,
            r#"{"interrupted":true}"#,
            Outcome::Interrupted,
            None,
        );
    }

    #[test]
    fn contents_are_left_out_of_the_detail() {
        let beside = r#"{"filePath":"/a","content":"x","originalFile":"y","structuredPatch":[]}"#;
        let beside: Raw<'_> = serde_json::from_str(beside).unwrap();
        let expected = serde_json::json!({"filePath": "/a", "structuredPatch": []});
        assert_eq!(detail(beside, ""), expected);
    }
}
