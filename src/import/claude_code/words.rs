//! What a record of the user holds: words, images, results.

use std::borrow::Cow;

use super::record::{Block, Message, Raw, Record, Source};

/// Words that the program puts in the user's mouth.
const INJECTED: &[&str] = &[
    "<system-reminder>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<environment_context>",
    "<user_instructions>",
    "Caveat: The messages below",
    "[Request interrupted by user",
];

/// What a record of the user holds.
pub(super) struct UserWords<'a> {
    pub(super) text: String,
    /// Images and documents, still encoded.
    pub(super) images: Vec<Cow<'a, str>>,
    pub(super) results: Vec<Block<'a>>,
    /// Blocks that are not understood, with their types, as they stand.
    pub(super) other: Vec<(String, &'a str)>,
    pub(super) role: &'static str,
    pub(super) is_compact_summary: bool,
}

impl<'a> UserWords<'a> {
    pub(super) fn read(record: &Record<'a>) -> Self {
        let message: Message<'a> = record.message.read();
        let mut words = Self {
            text: String::new(),
            images: Vec::new(),
            results: Vec::new(),
            other: Vec::new(),
            role: "user",
            is_compact_summary: record.is_compact_summary.0,
        };
        let mut texts: Vec<Cow<'a, str>> = Vec::new();
        if let Some(items) = message.content.items() {
            for item in items {
                words.push(item, &mut texts);
            }
        } else {
            // Content of another shape is shown as it stands.
            let whole = message.content.string().or_else(|| record.message.string());
            let other = message.content.text().or(record.message.text());
            texts.push(whole.unwrap_or(Cow::Borrowed(other.unwrap_or_default())));
        }
        words.text = texts.join("\n");
        let is_injected = INJECTED
            .iter()
            .any(|start| words.text.trim_start().starts_with(start));
        if record.is_meta.0 || record.is_compact_summary.0 || is_injected {
            words.role = "system";
        }
        words
    }

    fn push(&mut self, item: Raw<'a>, texts: &mut Vec<Cow<'a, str>>) {
        if let Some(text) = item.string() {
            texts.push(text);
            return;
        }
        let block: Block<'a> = item.read();
        match block.kind.or_empty() {
            "text" => texts.extend(block.text.0),
            "tool_result" => self.results.push(block),
            "image" | "document" => {
                let source: Source<'a> = block.source.read();
                self.images.extend(source.data.0);
            }
            kind => self
                .other
                .push((kind.to_owned(), item.text().unwrap_or_default())),
        }
    }

    /// A shell command that the user typed, where they are one.
    pub(super) fn typed(&self) -> Option<&str> {
        let (_, rest) = self.text.split_once("<bash-input>")?;
        Some(rest.split_once("</bash-input>")?.0)
    }

    /// Whether they are the user's own words.
    pub(super) fn is_prompt(&self) -> bool {
        self.results.is_empty() && self.role == "user"
    }
}
