//! A session, written down record by record, and the run that its import gives.

use jukebox::debugger::{Debugger, FileContent, OpenOptions, Source};
use jukebox::import::claude_code::{Options, Transcript, import};
use jukebox::import::{Collected, Report};
use jukebox::model::{
    Body, Certainty, Event, FileChange, Kind, Outcome, Place, ProblemKind, TapePath,
};
use jukebox::tape::{Recorder, RecorderOptions, SnapshotPolicy};
use serde_json::{Value, json};

/// A session, written down record by record. Each record's parent is the one before.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) lines: Vec<String>,
    pub(crate) last: Option<String>,
    pub(crate) seconds: u32,
    pub(crate) sidechain: bool,
    pub(crate) prefix: &'static str,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self {
            prefix: "u",
            ..Self::default()
        }
    }

    /// A record of this type with these fields; its id.
    pub(crate) fn record(&mut self, kind: &str, fields: &Value) -> String {
        self.seconds += 1;
        let uuid = format!("{}{}", self.prefix, self.lines.len() + 1);
        let time = format!(
            "2026-01-01T10:{:02}:{:02}.000Z",
            self.seconds / 60,
            self.seconds % 60
        );
        let mut record = json!({
            "parentUuid": self.last, "isSidechain": self.sidechain, "cwd": "/w",
            "sessionId": "s", "version": "2.1.0", "type": kind, "uuid": uuid, "timestamp": time,
        });
        for (name, value) in fields.as_object().unwrap() {
            record[name] = value.clone();
        }
        self.lines.push(record.to_string());
        self.last = Some(uuid.clone());
        uuid
    }

    pub(crate) fn user(&mut self, text: &str) -> String {
        self.record(
            "user",
            &json!({"message": {"role": "user", "content": text}}),
        )
    }

    pub(crate) fn says(&mut self, text: &str) -> String {
        let block = json!({"type": "text", "text": text});
        let id = format!("m{}", self.lines.len());
        self.answer(&id, &block, &json!({"input_tokens": 1, "output_tokens": 1}))
    }

    pub(crate) fn answer(&mut self, id: &str, block: &Value, usage: &Value) -> String {
        let message = json!({"id": id, "role": "assistant", "model": "model-x",
            "content": [block], "usage": usage});
        self.record("assistant", &json!({"message": message}))
    }

    pub(crate) fn call(&mut self, id: &str, name: &str, input: &Value) -> String {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let message = format!("m{}", self.lines.len());
        self.answer(
            &message,
            &block,
            &json!({"input_tokens": 1, "output_tokens": 1}),
        )
    }

    pub(crate) fn result(&mut self, id: &str, output: &str, beside: &Value) -> String {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": output});
        self.record(
            "user",
            &json!({"message": {"role": "user", "content": [block]},
            "toolUseResult": beside}),
        )
    }

    pub(crate) fn fails(&mut self, id: &str, output: &str) -> String {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": output,
            "is_error": true});
        self.record(
            "user",
            &json!({"message": {"role": "user", "content": [block]},
            "toolUseResult": format!("Error: {output}")}),
        )
    }

    pub(crate) fn write(&mut self, id: &str, path: &str, content: &str) {
        self.call(id, "Write", &json!({"file_path": path, "content": content}));
        self.result(
            id,
            "written",
            &json!({"type": "create", "filePath": path,
            "content": content, "originalFile": null, "structuredPatch": []}),
        );
    }

    pub(crate) fn edit(
        &mut self,
        id: &str,
        path: &str,
        before: Option<&str>,
        old: &str,
        new: &str,
    ) {
        self.edit_shown(id, path, before, old, new, &json!([]));
    }

    pub(crate) fn edit_shown(
        &mut self,
        id: &str,
        path: &str,
        before: Option<&str>,
        old: &str,
        new: &str,
        patch: &Value,
    ) {
        self.call(
            id,
            "Edit",
            &json!({"file_path": path, "old_string": old, "new_string": new}),
        );
        self.result(id, "edited", &json!({"filePath": path, "oldString": old, "newString": new,
            "originalFile": before, "structuredPatch": patch, "userModified": false, "replaceAll": false}));
    }

    pub(crate) fn bash(&mut self, id: &str, command: &str) {
        self.call(id, "Bash", &json!({"command": command}));
        self.result(
            id,
            "",
            &json!({"stdout": "", "stderr": "", "interrupted": false}),
        );
    }

    pub(crate) fn read(&mut self, id: &str, path: &str, content: &str, first: u64, total: u64) {
        self.call(id, "Read", &json!({"file_path": path}));
        let lines = content.matches('\n').count() + 1;
        self.result(
            id,
            "…",
            &json!({"type": "text", "file": {"filePath": path, "content": content,
            "startLine": first, "numLines": lines, "totalLines": total}}),
        );
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    pub(crate) fn run(&self) -> Run {
        Run::of(&self.text())
    }
}

/// An imported session.
pub(crate) struct Run {
    pub(crate) report: Report,
    pub(crate) events: Vec<Event>,
    pub(crate) tape: Debugger,
    _directory: tempfile::TempDir,
}

impl Run {
    pub(crate) fn of(text: &str) -> Self {
        Self::with(text, &[], &Options::default())
    }

    /// A session with files beside it.
    pub(crate) fn with(text: &str, beside: &[(&str, &str)], options: &Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.jsonl");
        std::fs::write(&path, text).unwrap();
        for (name, content) in beside {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let (report, collected) = import(Transcript::At(&path), options, |header| {
            Ok(Collected::new(header))
        })
        .unwrap();
        let tape = directory.path().join("tape.jsonl");
        let (again, recorder) = import(Transcript::At(&path), options, |header| {
            let recording = RecorderOptions {
                snapshots: SnapshotPolicy::Never,
                ..RecorderOptions::default()
            };
            Recorder::create(&tape, header, recording)
        })
        .unwrap();
        assert_eq!(report, again);
        recorder.close(Outcome::None).unwrap();
        let tape = Debugger::open(Source::Path(tape), &OpenOptions::default()).unwrap();
        // A result without a call is reported; nothing else may be wrong.
        let problems = tape.problems().into_iter();
        let faults = problems.filter(|problem| problem.kind != ProblemKind::BrokenReference);
        assert_eq!(faults.collect::<Vec<_>>(), []);
        Self {
            report,
            events: collected.events,
            tape,
            _directory: directory,
        }
    }

    /// The position of a call's event of this kind.
    pub(crate) fn seq(&self, call: &str, kind: Kind) -> u64 {
        let is_meant =
            |event: &&Event| event.head.call.as_deref() == Some(call) && event.kind() == kind;
        self.events
            .iter()
            .find(is_meant)
            .unwrap()
            .head
            .seq
            .unwrap()
            .0
    }

    pub(crate) fn at(&self, seq: u64, path: &str) -> (Certainty, String) {
        let place: Place = format!("seq:{seq}").parse().unwrap();
        let spot = self.tape.locate(&place).unwrap();
        match self.tape.file(spot.cursor, &TapePath::new(path).unwrap()) {
            Ok(view) => {
                let text = match view.content {
                    FileContent::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    FileContent::Lines(known) => format!("{:?}", known.ranges),
                    FileContent::Nothing(_) => String::new(),
                };
                (view.certainty, text)
            }
            Err(_) => (Certainty::Absent, String::new()),
        }
    }

    /// A file when a call's result was there.
    pub(crate) fn after(&self, call: &str, path: &str) -> (Certainty, String) {
        self.at(self.seq(call, Kind::ToolResult), path)
    }

    /// A file when a call had not begun.
    pub(crate) fn before(&self, call: &str, path: &str) -> (Certainty, String) {
        self.at(self.seq(call, Kind::ToolCall) - 1, path)
    }

    pub(crate) fn outside(&self) -> Vec<&FileChange> {
        let changes = self.events.iter().filter_map(|event| match &event.body {
            Body::File(change) if change.outside => Some(change),
            _ => None,
        });
        changes.collect()
    }

    pub(crate) fn outcome(&self, call: &str) -> Outcome {
        let is_meant = |event: &&Event| event.head.call.as_deref() == Some(call);
        let outcomes = self.events.iter().filter(is_meant);
        let mut outcomes = outcomes.filter_map(|event| match &event.body {
            Body::ToolResult { outcome, .. } => Some(*outcome),
            _ => None,
        });
        outcomes.next().unwrap()
    }

    /// The kinds of the events behind the header, with their branch and agent.
    pub(crate) fn shape(&self) -> Vec<String> {
        let shown = self.events.iter().skip(1).map(|event| {
            let head = [event.head.branch.as_deref(), event.head.agent.as_deref()];
            let head: Vec<&str> = head.into_iter().flatten().collect();
            format!("{} {}", event.body.kind_name(), head.join(" "))
                .trim_end()
                .to_owned()
        });
        shown.collect()
    }

    pub(crate) fn prompts(&self) -> Vec<(&str, &str)> {
        let prompts = self.events.iter().filter_map(|event| match &event.body {
            Body::Prompt { role, text, .. } => Some((role.as_str(), text.as_str())),
            _ => None,
        });
        prompts.collect()
    }

    pub(crate) fn notes(&self) -> Vec<&str> {
        let notes = self.events.iter().filter_map(|event| match &event.body {
            Body::Note { text } => Some(text.as_str()),
            _ => None,
        });
        notes.collect()
    }

    /// What gaps say is missing.
    pub(crate) fn gaps(&self) -> Vec<&str> {
        let gaps = self.events.iter().filter_map(|event| match &event.body {
            Body::Gap { why } => Some(why.as_str()),
            _ => None,
        });
        gaps.collect()
    }
}

/// A file that is known exactly.
pub(crate) fn exact(text: &str) -> (Certainty, String) {
    (Certainty::Exact, text.to_owned())
}
