//! From a step to the files that it may be about: those that its text names, and those that
//! were changed last before it.

use std::collections::BTreeSet;

use super::{Debugger, NamedFile, Spot};
use crate::model::{Body, Certainty, Cursor, EntryKind, Event, Kind, TapePath};
use crate::tape::{StepFlags, StepTotal};

/// Bytes of a text that are looked through.
const MAX_TEXT: usize = 256 << 10;

/// Names that are tried; a listing of a whole disk names more.
const MAX_NAMES: usize = 2000;

/// A record longer than this is not decoded for it.
const MAX_RECORD: u64 = 4 << 20;

impl Debugger {
    /// The files that a step may be about, the likeliest first: those that its result names,
    /// the one that was changed last before the others; those that were changed last before
    /// it, but for the ones it was told of; those that its arguments name. Costs the reading
    /// of the step, as far as it is not very long, and a look back over a few changes.
    pub fn files_of_step(&self, spot: Spot) -> Vec<NamedFile> {
        let [result, arguments] = self.named_in_step(spot);
        let mut files = result;
        for path in self.changed_before(spot) {
            let is_named = |file: &NamedFile| file.path == path;
            if !files.iter().any(is_named) && !arguments.iter().any(is_named) {
                files.push(NamedFile { path, line: None });
            }
        }
        for file in arguments {
            if !files.iter().any(|other| other.path == file.path) {
                files.push(file);
            }
        }
        files.truncate(MAX_FILES);
        files
    }

    /// The files that the result of a step names, and those that its arguments name.
    fn named_in_step(&self, spot: Spot) -> [Vec<NamedFile>; 2] {
        let mut named = [Vec::new(), Vec::new()];
        let step = self.tape.index.step_on(self.line_of(spot), spot.step);
        let events = step
            .into_iter()
            .flat_map(|step| self.telling_events_of(step));
        for (position, kind) in events {
            let [result, arguments] = &mut named;
            let files = match kind {
                Kind::ToolResult => result,
                Kind::ToolCall => arguments,
                _ => continue,
            };
            let len = self.tape.record_len(position);
            if len.is_ok_and(|len| len <= MAX_RECORD)
                && let Ok(event) = self.tape.event(position)
            {
                files.extend(self.files_in(spot.cursor, &text_of(event)));
            }
        }
        named
    }

    /// The files that a text names, the one that was changed last before the others.
    fn files_in(&self, at: Cursor, text: &str) -> Vec<NamedFile> {
        let mut seen = BTreeSet::new();
        let mut files: Vec<(u32, NamedFile)> = Vec::new();
        for (name, line) in names(text).take(MAX_NAMES) {
            let Ok(path) = self.path(name.as_bytes()) else {
                continue;
            };
            if let Some(since) = self.file_since(at, &path)
                && seen.insert(path.clone())
            {
                files.push((since, NamedFile { path, line }));
            }
        }
        files.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
        files.into_iter().map(|(_, file)| file).collect()
    }

    /// The event that made a file what it is, if there is such a file. One that was only seen
    /// was made before all that is known.
    fn file_since(&self, at: Cursor, path: &TapePath) -> Option<u32> {
        let state = self.state.file(&self.tape.index.blobs, at, path)?;
        let is_there = state.kind == EntryKind::File && state.certainty != Certainty::Absent;
        is_there.then_some(if state.is_observed { 0 } else { state.since })
    }

    /// The files that the last changes before a place were of, the latest first.
    fn changed_before(&self, spot: Spot) -> Vec<TapePath> {
        let line = self.line_of(spot);
        let may_hold = |total: &StepTotal| total.flags.has(StepFlags::FILES);
        let numbers = 1..spot.step.0.saturating_add(1);
        let steps = self
            .steps_back(line, numbers, may_hold)
            .filter(|(_, entry)| entry.flags.has(StepFlags::FILES));
        let numbers = steps
            .take(MAX_CHANGES)
            .filter_map(|(step, _)| self.tape.index.number_of(step));
        let mut paths: Vec<TapePath> = Vec::new();
        for path in
            numbers.flat_map(|number| self.paths_changed(line, number).into_iter().take(MAX_FILES))
        {
            if self.file_since(spot.cursor, &path).is_some() && !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }
}

/// Files that are offered for a step.
const MAX_FILES: usize = 9;

/// Steps with changes that are looked back at.
const MAX_CHANGES: usize = 32;

/// What a call was asked for, or what it returned.
fn text_of(event: Event) -> String {
    let mut text = match event.body {
        Body::ToolResult { output, .. } => output,
        Body::ToolCall { arguments, .. } => {
            let mut texts = Vec::new();
            strings(&arguments, &mut texts);
            texts.join("\n")
        }
        _ => String::new(),
    };
    let end = (0..=MAX_TEXT.min(text.len())).rev();
    let end = end.into_iter().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or(0));
    text
}

fn strings<'a>(value: &'a serde_json::Value, texts: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::String(text) => texts.push(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        serde_json::Value::Object(fields) => fields.values().for_each(|item| strings(item, texts)),
        _ => {}
    }
}

/// What may be a path in a text, and the line number behind it: `src/lib.rs:41:7`.
fn names(text: &str) -> impl Iterator<Item = (&str, Option<u64>)> {
    let is_outside = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ';' | '=' | '|'
            )
    };
    text.split(is_outside).filter_map(|word| {
        let mut parts = word.split(':');
        let name = parts.next()?.trim_end_matches(['.', '!', '?']);
        let line = parts.next().and_then(|line| line.parse().ok());
        let is_like_a_path = name.contains(['/', '.']) && name.len() > 1 && !name.starts_with('-');
        is_like_a_path.then_some((name, line.filter(|line| *line > 0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_what_programs_print() {
        let check = |text: &str, expected: &[(&str, Option<u64>)]| {
            assert_eq!(names(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("error: cannot open", &[]);
        check("  --> src/lib.rs:41:7", &[("src/lib.rs", Some(41))]);
        check("File \"/w/a.py\", line 3", &[("/w/a.py", None)]);
        check(
            "see README.md. (or docs/x.md)",
            &[("README.md", None), ("docs/x.md", None)],
        );
        check("--flag=a.txt -x", &[("a.txt", None)]);
    }
}
