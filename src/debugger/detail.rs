//! One step, whole: what was said and done, as sections to read; one event as it stands.

use serde_json::Value;

use super::title::{side_words, title_of, words_of};
use super::{Debugger, EventRow, ReadError, Section, Spot, StepDetail};
use crate::model::{BlockKind, Body, Event, Frame, Kind, ModelBlock, Seq, StreamFrame, Usage};
use crate::tape::{frame_of, http_frame, is_of_stream, stream_frame};
use crate::text::{SafeText, json};

/// Lines of a section that are made; more are counted.
const MAX_LINES: usize = 5000;
/// Events of a step that are listed.
const MAX_EVENTS: usize = 2000;
/// Bytes of a record that the raw view shows.
const MAX_RAW: usize = 1 << 20;

impl Debugger {
    /// A step, whole. Costs a read of each of its events.
    pub fn step(&self, spot: Spot) -> Result<StepDetail, ReadError> {
        let line = self.line_of(spot);
        let index = &self.tape.index;
        let step = index.step_on(line, spot.step);
        let (Some(step), Some(row)) = (step, self.row(line, spot.step)) else {
            return Err(ReadError::NoEvent(index.events.seq(spot.cursor.position)));
        };
        let mut sections = Vec::new();
        let mut events = Vec::new();
        // What a call writes while it runs is told again by its result.
        let mut so_far = String::new();
        let mut rest = self.events_of(step);
        for (position, _) in rest.by_ref().take(MAX_EVENTS) {
            let event = self.tape.event(position)?;
            let is_written = event.head.call.is_some() && !is_of_stream(&event);
            match frame_of(&event).filter(|_| is_written) {
                // What a model answered stands in its response.
                _ if http_frame(&event).is_some() => {}
                Some((_, text)) => so_far.push_str(text),
                None => sections.extend(sections_of(&event)),
            }
            if let Body::ToolResult { .. } = event.body {
                so_far.clear();
            }
            events.push(self.event_row(line, position, &event)?);
        }
        if !so_far.is_empty() {
            sections.push(text_section("output so far", &so_far));
        }
        Ok(StepDetail {
            row,
            sections,
            events,
            omitted_events: rest.count(),
            changes: self.step_changes(step),
        })
    }

    /// The numbers of all events of a step, in order.
    pub fn events_of_step(&self, spot: Spot) -> Vec<Seq> {
        let index = &self.tape.index;
        let step = index.step_on(self.line_of(spot), spot.step);
        let events = step.into_iter().flat_map(|step| self.events_of(step));
        events
            .map(|(position, _)| index.events.seq(position))
            .collect()
    }

    fn event_row(&self, line: u16, position: u32, event: &Event) -> Result<EventRow, ReadError> {
        let entry = self.tape.index.events.get(position);
        Ok(EventRow {
            seq: self.tape.index.events.seq(position),
            spot: self.after_event(Some(line), position),
            kind: entry.map_or(Kind::Unknown, |entry| entry.kind),
            kind_name: SafeText::line(event.body.kind_name()),
            t: entry.map_or(0, |entry| entry.t),
            title: SafeText::line(&title_of(event)),
            bytes: self.tape.record_len(position)?,
        })
    }

    /// An event's line, as it stands on the tape: pretty where it is JSON, and made safe.
    pub fn raw(&self, seq: Seq) -> Result<Vec<SafeText>, ReadError> {
        let position = self.tape.index.events.position(seq);
        let position = position.ok_or(ReadError::NoEvent(seq))?;
        let record = self.tape.record(position)?;
        if record.len() <= MAX_RAW
            && let Ok(value) = serde_json::from_slice::<Value>(&record)
        {
            return Ok(json::pretty(&value));
        }
        let shown = record.get(..MAX_RAW).unwrap_or(&record);
        let mut lines = vec![SafeText::from_bytes(shown)];
        if let Some(rest) = record.len().checked_sub(MAX_RAW) {
            lines.push(SafeText::line(&format!("… {rest} more bytes")));
        }
        Ok(lines)
    }

    /// The bytes of an event's record, exact.
    pub fn record(&self, seq: Seq) -> Result<Vec<u8>, ReadError> {
        let position = self.tape.index.events.position(seq);
        Ok(self.tape.record(position.ok_or(ReadError::NoEvent(seq))?)?)
    }
}

pub(super) fn sections_of(event: &Event) -> Vec<Section> {
    match &event.body {
        Body::Prompt {
            role,
            text,
            attachments,
        } => {
            let mut sections = vec![text_section(&format!("prompt ({role})"), text)];
            if !attachments.is_empty() {
                sections.push(text_section("attachments", &names(attachments)));
            }
            sections
        }
        Body::ModelRequest { added, .. } if !added.is_null() => {
            vec![json_section("request", added)]
        }
        Body::ModelResponse {
            blocks,
            stop,
            usage,
            ..
        } => {
            let mut sections: Vec<Section> = blocks.iter().map(block_section).collect();
            let mut words = Vec::new();
            if let Some(usage) = usage.filter(Usage::is_counted) {
                words.push(format!(
                    "{} tokens in, {} out, {} from cache, {} into cache",
                    usage.input, usage.output, usage.cache_read, usage.cache_write
                ));
            }
            if let Some(stop) = stop {
                words.push(format!("stopped: {stop}"));
            }
            if !words.is_empty() {
                sections.push(text_section("usage", &words.join("\n")));
            }
            sections
        }
        Body::ToolCall { name, arguments } => vec![arguments_section(name, arguments)],
        Body::ToolResult {
            outcome,
            exit,
            output,
            detail,
            attachments,
            ..
        } => {
            let name = match exit {
                Some(exit) => format!("output ({outcome}, exit code {exit})"),
                None => format!("output ({outcome})"),
            };
            let mut sections = vec![text_section(&name, output)];
            if !attachments.is_empty() {
                sections.push(text_section("attachments", &names(attachments)));
            }
            if !detail.is_null() {
                sections.push(json_section("detail", detail));
            }
            sections
        }
        Body::Suspect { .. } => vec![text_section("suspect", &words_of(event))],
        Body::Note { text } => vec![text_section("note", text)],
        Body::Gap { why } => vec![text_section("gap", why)],
        Body::Raw { format, bytes } => match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => vec![json_section(&format!("{format} record"), &value)],
            Err(_) => vec![text_section(
                &format!("{format} record"),
                &String::from_utf8_lossy(bytes),
            )],
        },
        Body::Other { kind, fields } => match stream_frame(event) {
            Some(Ok(frame)) => frame_sections(&frame),
            _ => vec![json_section(kind, &Value::Object(fields.clone()))],
        },
        Body::File(change) => change
            .remark
            .iter()
            .map(|remark| text_section("remark", &format!("{}: {remark}", change.path.to_text())))
            .collect(),
        Body::Branch { .. }
        | Body::AgentStart { .. }
        | Body::AgentEnd { .. }
        | Body::TxnBegin
        | Body::TxnSavepoint { .. }
        | Body::TxnCommit
        | Body::TxnRollback { .. } => vec![text_section("event", &words_of(event))],
        _ => Vec::new(),
    }
}

/// What was said on a stream.
fn frame_sections(frame: &StreamFrame) -> Vec<Section> {
    let name = side_words(frame);
    let section = |said: &Frame| match said {
        Frame::Text(text) => match serde_json::from_str::<Value>(text) {
            Ok(document) => json_section(&name, &document),
            Err(_) => text_section(&name, text),
        },
        Frame::Bytes(bytes) => text_section(&name, &String::from_utf8_lossy(bytes)),
        Frame::End(None) => text_section(&name, "nothing more"),
        Frame::End(Some(why)) => text_section(&name, &format!("cut off: {why}")),
    };
    frame.said.iter().map(section).collect()
}

fn names(hashes: &[crate::model::BlobHash]) -> String {
    let names: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    names.join("\n")
}

fn block_section(block: &ModelBlock) -> Section {
    match block.kind {
        BlockKind::Text => text_section("response", &block.text),
        BlockKind::Thinking => text_section("thinking", &block.text),
        BlockKind::ToolCall => arguments_section(&block.text, &block.data),
        BlockKind::Other => json_section(&format!("block: {}", block.text), &block.data),
    }
}

/// Arguments as a person reads them: texts as text, the rest as JSON.
fn arguments_section(tool: &str, arguments: &Value) -> Section {
    let name = format!("call {tool}");
    let Value::Object(fields) = arguments else {
        return json_section(&name, arguments);
    };
    let mut lines = Vec::new();
    for (key, value) in fields {
        match value {
            Value::String(text) if text.contains('\n') => {
                lines.push(SafeText::line(&format!("{key}:")));
                lines.extend(
                    SafeText::lines(text)
                        .into_iter()
                        .map(|line| indented(&line)),
                );
            }
            Value::String(text) => lines.push(SafeText::line(&format!("{key}: {text}"))),
            Value::Object(_) | Value::Array(_) => {
                lines.push(SafeText::line(&format!("{key}:")));
                lines.extend(json::pretty(value).iter().map(indented));
            }
            value => lines.push(SafeText::line(&format!("{key}: {value}"))),
        }
    }
    section(&name, lines)
}

fn indented(line: &SafeText) -> SafeText {
    let mut text = SafeText::literal("  ");
    text.push(line);
    text
}

pub(super) fn json_section(name: &str, value: &Value) -> Section {
    section(name, json::pretty(value))
}

fn text_section(name: &str, text: &str) -> Section {
    section(name, SafeText::lines(text))
}

impl Section {
    /// A section of these lines, each made safe.
    pub(super) fn of_lines(name: &str, lines: &[String]) -> Self {
        section(
            name,
            lines.iter().map(|line| SafeText::line(line)).collect(),
        )
    }
}

pub(super) fn section(name: &str, mut lines: Vec<SafeText>) -> Section {
    let has_hidden = lines.iter().any(SafeText::has_hidden);
    let omitted = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    Section {
        name: SafeText::line(name),
        lines,
        omitted,
        has_hidden,
    }
}
