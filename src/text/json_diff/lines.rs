//! A change as lines to read: its path, and the values as far as they differ.
//!
//! Short values stand on the line of the path. Long texts are compared line by line, and
//! the lines word by word. Everything is made safe here.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;

use super::tree::decode;
use super::{JsonChange, JsonChangeKind};
use crate::text::diff::{FileDiff, Hunk, RowKind, word_emphasis};
use crate::text::sanitize::{SafeText, decode_tags};
use crate::text::{human, json, width};

/// A line of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeLine {
    /// What it says.
    pub kind: LineKind,
    /// Its text, made safe.
    pub text: SafeText,
    /// The bytes of it that differ from the line in its place, where that says something.
    pub emphasis: Vec<Range<usize>>,
}

/// What a line of a change says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Where the change is, and what sort of change.
    Path(JsonChangeKind),
    /// A line of the value before.
    Removed,
    /// A line of the value after.
    Added,
    /// A line of both.
    Context,
    /// Something said about the lines: how many are left out.
    Remark,
}

/// Values of at most so many columns stand on the line of the path.
const SHORT: usize = 32;

/// Lines of one value that are shown; more are counted.
const MAX_LINES: usize = 400;

/// How long the lines of one text are compared.
const BUDGET: Duration = Duration::from_millis(10);

/// A change as lines: the path first.
pub fn change_lines(change: &JsonChange) -> Vec<ChangeLine> {
    let path = SafeText::line(&change.path.to_string());
    let mut head = path;
    let mut lines = Vec::new();
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    if let JsonChangeKind::Moved { from } = change.kind {
        head.push(&SafeText::line(&format!("  from [{from}]")));
    } else if let Some(values) = short(before, after) {
        head.push(&SafeText::literal("  "));
        head.push(&values);
    } else {
        lines = long(before, after);
    }
    lines.insert(0, line(LineKind::Path(change.kind), head));
    lines
}

fn line(kind: LineKind, text: SafeText) -> ChangeLine {
    ChangeLine {
        kind,
        text,
        emphasis: Vec::new(),
    }
}

/// Both values in a few words, if they are short enough.
fn short(before: Option<&str>, after: Option<&str>) -> Option<SafeText> {
    let value = |written: Option<&str>| {
        let Some(written) = written.filter(|written| written.len() <= 4 * SHORT) else {
            return written.is_none().then(SafeText::default);
        };
        let text = decode_tags(written);
        let has_lines = written.contains("\\n") || written.contains('\n');
        (width::width(&text) <= SHORT && !has_lines).then_some(text)
    };
    let (old, new) = (value(before)?, value(after)?);
    Some(match (before, after) {
        (Some(_), Some(_)) => {
            let mut both = old;
            both.push(&SafeText::literal(" → "));
            both.push(&new);
            both
        }
        (Some(_), None) => old,
        _ => new,
    })
}

fn long(before: Option<&str>, after: Option<&str>) -> Vec<ChangeLine> {
    match (before, after) {
        (Some(old), Some(new)) if old.starts_with('"') && new.starts_with('"') => {
            compared(&decode(old), &decode(new))
        }
        _ => {
            let mut lines = whole(LineKind::Removed, before);
            lines.extend(whole(LineKind::Added, after));
            lines
        }
    }
}

/// A value, all of it: a text in its lines, anything else as JSON.
fn whole(kind: LineKind, value: Option<&str>) -> Vec<ChangeLine> {
    let Some(written) = value else {
        return Vec::new();
    };
    let texts = if written.starts_with('"') {
        decode(written).lines().map(decode_tags).collect()
    } else {
        match serde_json::from_str::<Value>(written) {
            // What was read and written again is shown only if nothing was rounded.
            Ok(value) if !has_rounded(&value, written) => json::pretty(&value),
            _ => vec![SafeText::line(written)],
        }
    };
    let more = texts.len().saturating_sub(MAX_LINES);
    let shown = texts.into_iter().take(MAX_LINES);
    let mut lines: Vec<ChangeLine> = shown.map(|text| line(kind, text)).collect();
    lines.extend(left_out(more));
    lines
}

/// Whether a number was not kept as it was written.
fn has_rounded(value: &Value, written: &str) -> bool {
    let compact = value.to_string();
    super::between(written, &compact, BUDGET).is_none_or(|changes| !changes.is_empty())
}

fn left_out(lines: usize) -> Option<ChangeLine> {
    let words = human::plural(lines as u64, "more line", "more lines");
    (lines > 0).then(|| line(LineKind::Remark, SafeText::line(&format!("… {words}"))))
}

/// Two texts, as far as they differ.
fn compared(old: &str, new: &str) -> Vec<ChangeLine> {
    let diff = FileDiff::between(Some(old.as_bytes()), Some(new.as_bytes()), BUDGET);
    let mut lines = Vec::new();
    for (index, hunk) in diff.hunks.iter().enumerate() {
        if index > 0 {
            lines.push(line(LineKind::Remark, SafeText::literal("⋯")));
        }
        put_hunk(&mut lines, hunk);
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    lines.extend(left_out(more));
    lines
}

/// Adds the rows of a hunk; the words of lines in each other's place are compared.
fn put_hunk(lines: &mut Vec<ChangeLine>, hunk: &Hunk) {
    let start = lines.len();
    for row in hunk.rows() {
        let kind = match row.kind {
            RowKind::Context => LineKind::Context,
            RowKind::Removed => LineKind::Removed,
            RowKind::Added => LineKind::Added,
        };
        let text = decode_tags(&String::from_utf8_lossy(row.content()));
        lines.push(line(kind, text));
    }
    let changed = |(old, new): (Option<usize>, Option<usize>)| old.zip(new);
    let pairs = hunk.side_by_side().into_iter().filter_map(changed);
    for (old, new) in pairs.filter(|(old, new)| old != new) {
        let (old, new) = (start + old, start + new);
        let text = |at: usize| lines.get(at).map_or("", |line| line.text.as_str());
        let (gone, came) = word_emphasis(text(old), text(new));
        for (at, emphasis) in [(old, gone), (new, came)] {
            if let Some(line) = lines.get_mut(at) {
                line.emphasis = emphasis;
            }
        }
    }
}
