//! What a row of the timeline says: who did what, in one line.

use serde_json::Value;

use super::Debugger;
use crate::model::{
    BlockKind, Body, EffectEvent, Event, FileOp, Frame, FrameSide, Kind, Micros, Outcome, Scope,
    StepKind, StreamFrame,
};
use crate::tape::wire::Text;
use crate::tape::{StepEntry, effect_of, stream_frame};
use crate::text::SafeText;

/// Who and what.
pub(super) struct Heading {
    pub(super) actor: SafeText,
    pub(super) title: SafeText,
    pub(super) duration: Option<Micros>,
}

/// A line longer than this is not decoded for a title.
const MAX_DECODED: u64 = 1 << 20;
/// Characters of a title; of one that the tape gives, too.
const MAX_TITLE: usize = 160;

impl Debugger {
    /// What a row says of a step.
    pub(super) fn heading(&self, step: u32, entry: StepEntry) -> Heading {
        // Of a model's turn, the answer says more than the question.
        let response = (entry.kind == StepKind::Model)
            .then(|| {
                self.telling_events_of(step)
                    .find(|(_, kind)| *kind == Kind::ModelResponse)
            })
            .flatten();
        let position = response.map_or(entry.opened, |(position, _)| position);
        if let Some(why) = self.gap_at(position) {
            return Heading {
                actor: SafeText::literal("gap"),
                title: SafeText::line(&start_of(&why)),
                duration: None,
            };
        }
        let told = self.tape.with_head(position, |head| {
            let text = |text: Option<Text<'_>>| text.map(|text| start_of(&text.decode()));
            (text(head.name), text(head.title), head.dur)
        });
        let (name, title, mut duration) = match told {
            Ok(Ok(told)) => told,
            Ok(Err(why)) => (None, Some(why), None),
            Err(error) => (None, Some(error.to_string()), None),
        };
        let title = title.unwrap_or_else(|| self.made_title(position));
        if duration.is_none() && entry.kind == StepKind::Tool {
            duration = self
                .telling_events_of(step)
                .find(|(_, kind)| *kind == Kind::ToolResult)
                .and_then(|(result, _)| self.tape.with_head(result, |head| head.dur).ok()?.ok()?);
        }
        let actor = match entry.kind {
            StepKind::Prompt => name.unwrap_or_else(|| "user".to_owned()),
            StepKind::Model | StepKind::Tool => name.unwrap_or_default(),
            StepKind::Outside => "outside".to_owned(),
            StepKind::Transaction => "txn".to_owned(),
            StepKind::Gap => "gap".to_owned(),
            StepKind::Other => String::new(),
        };
        Heading {
            actor: SafeText::line(&actor),
            title: SafeText::line(&title),
            duration,
        }
    }

    /// Of a gap that no event says: the problem that made it.
    pub(super) fn gap_at(&self, position: u32) -> Option<String> {
        let event = self.tape.index.events.get(position)?;
        if event.kind != Kind::Gap {
            return None;
        }
        let problems = &self.tape.index.problems;
        let first = problems.partition_point(|problem| problem.offset < event.offset);
        let here = problems
            .get(first..)?
            .iter()
            .take_while(|problem| problem.offset == event.offset);
        let mut losses = here.filter(|problem| problem.kind.loses_events());
        let loss = self.tape.bytes.in_its_file(losses.next()?.clone());
        Some(loss.to_string())
    }

    fn made_title(&self, position: u32) -> String {
        match self.tape.record_len(position) {
            Ok(len) if len > MAX_DECODED => {
                return format!("({} long)", crate::text::human::size(len));
            }
            _ => {}
        }
        self.tape
            .event(position)
            .map_or_else(|error| error.to_string(), |event| title_of(&event))
    }
}

/// One line that says what an event holds, no longer than a title is.
pub(super) fn title_of(event: &Event) -> String {
    start_of(&words_of(event))
}

/// What an event holds, in one line as long as it takes.
pub(super) fn words_of(event: &Event) -> String {
    if let Some(title) = &event.head.title {
        return title.clone();
    }
    match &event.body {
        Body::Tape(header) => format!("header, format {}", header.format),
        Body::Prompt { text, .. } | Body::Note { text } => first_line(text),
        Body::ModelRequest { .. } => "request".to_owned(),
        Body::ModelResponse { blocks, .. } => {
            let of_kind = |kind| blocks.iter().filter(move |block| block.kind == kind);
            let calls: Vec<&str> = of_kind(BlockKind::ToolCall)
                .map(|block| block.text.as_str())
                .collect();
            match of_kind(BlockKind::Text).next() {
                Some(block) => first_line(&block.text),
                None if calls.is_empty() => "thinking".to_owned(),
                None => format!("calls {}", calls.join(", ")),
            }
        }
        Body::ToolCall { arguments, .. } => arguments_line(arguments),
        Body::ToolResult { output, .. } => first_line(output),
        Body::File(change) => {
            let path = change.path.to_text();
            match &change.op {
                FileOp::Write if change.outside => format!("{path} is not as the calls left it"),
                FileOp::Remove if change.outside => {
                    format!("{path} is gone, and no call removed it")
                }
                FileOp::Write => format!("write {path}"),
                FileOp::Remove => format!("remove {path}"),
                FileOp::Rename { from } => format!("rename {} to {path}", from.to_text()),
                FileOp::Mkdir => format!("make directory {path}"),
                FileOp::Symlink { .. } => format!("link {path}"),
                FileOp::Chmod => format!("chmod {:o} {path}", change.mode.unwrap_or_default()),
                FileOp::Observe => format!("saw {path}"),
            }
        }
        Body::Suspect { scope, why } => match scope {
            Scope::All => format!("may have written any file: {why}"),
            Scope::Path(path) => format!("may have written {}: {why}", path.to_text()),
        },
        Body::Snapshot { reason, .. } => format!("snapshot ({})", reason.as_str()),
        Body::Blob(_) => "blob".to_owned(),
        Body::TxnBegin => format!("begin {}", event.head.txn.as_deref().unwrap_or_default()),
        Body::TxnSavepoint { name } => format!("savepoint {name}"),
        Body::TxnCommit => format!("commit {}", event.head.txn.as_deref().unwrap_or_default()),
        Body::TxnRollback { to } => match to {
            Some(to) => format!("roll back to {to}"),
            None => format!(
                "roll back {}",
                event.head.txn.as_deref().unwrap_or_default()
            ),
        },
        Body::Branch { why, .. } => {
            let name = event.head.branch.as_deref().unwrap_or_default();
            format!("branch {name} {why}").trim_end().to_owned()
        }
        Body::AgentStart { name } => format!("agent starts {name}").trim_end().to_owned(),
        Body::AgentEnd { outcome } => format!("agent ends ({outcome})"),
        Body::Raw { format, bytes } => {
            let record = String::from_utf8_lossy(bytes);
            format!("{format}: {}", first_line(&record))
        }
        Body::Gap { why } => why.clone(),
        Body::End { outcome } => format!("end ({outcome})"),
        Body::Other { kind, fields } => match effect_of(event) {
            Some(effect) => effect_words(&effect),
            None => match stream_frame(event) {
                Some(Ok(frame)) => frame_words(&frame),
                _ => format!(
                    "{kind} {}",
                    first_line(&Value::Object(fields.clone()).to_string())
                ),
            },
        },
    }
}

/// Who said a frame of a stream, to which service or which one.
pub(super) fn side_words(frame: &StreamFrame) -> String {
    let side = match frame.side {
        FrameSide::Client => "to",
        FrameSide::Service => "from",
    };
    format!("{side} {}", frame.address)
}

fn frame_words(frame: &StreamFrame) -> String {
    let said = frame.said.iter().map(|said| match said {
        Frame::Text(text) => first_line(text),
        Frame::Bytes(bytes) => format!("{} bytes that are no text", bytes.len()),
        Frame::End(None) => "nothing more".to_owned(),
        Frame::End(Some(why)) => format!("cut off: {why}"),
    });
    let said: Vec<String> = said.collect();
    format!("{}: {}", side_words(frame), said.join(", "))
}

/// What an event says of an effect.
fn effect_words(effect: &EffectEvent) -> String {
    match effect {
        EffectEvent::Intent(intent) => {
            let name = match intent.name.as_str() {
                "" => intent.key.as_str(),
                name => name,
            };
            let arguments = first_line(&intent.request.arguments.join(" "));
            let class = intent.class;
            let waits = if intent.waits {
                ", waits for the commit"
            } else {
                ""
            };
            format!("effect {name} {arguments} ({class}{waits})").replace("  ", " ")
        }
        EffectEvent::Compensate(compensation) => {
            format!("take back {} {}", compensation.name, compensation.of).replace("  ", " ")
        }
        EffectEvent::Result(result) => {
            let said = String::from_utf8_lossy(&result.output);
            let said = match (&result.remark, first_line(&said)) {
                (Some(remark), _) => remark.clone(),
                (None, said) if said.is_empty() => first_line(&result.complaint),
                (None, said) => said,
            };
            let outcome = match result.outcome {
                Outcome::Interrupted | Outcome::Pending => "in doubt",
                Outcome::Refused => "not sent",
                outcome => outcome.as_str(),
            };
            format!("effect {} {outcome}: {said}", result.key)
        }
    }
}

/// The one argument that says what a call does, or all of them.
fn arguments_line(arguments: &Value) -> String {
    const TELLING: [&str; 8] = [
        "command",
        "cmd",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
        "prompt",
    ];
    let telling = TELLING.iter().find_map(|key| arguments.get(key)?.as_str());
    match telling {
        Some(text) => first_line(text),
        None if arguments.is_null() => String::new(),
        None => first_line(&arguments.to_string()),
    }
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    start_of(lines.next().unwrap_or_default().trim())
}

/// As much of a text as a title holds.
fn start_of(text: &str) -> String {
    text.chars().take(MAX_TITLE).collect()
}
