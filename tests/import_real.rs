//! The importer on real transcripts, where they are at hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use jukebox::import::claude_code::{Options, Transcript, import};
use jukebox::import::{Collected, EditCounts, Format, Report, sniff};
use jukebox::model::{Body, Content, Event, FileOp, Outcome, ProblemKind, TapePath};
use jukebox::tape::{Recorder, RecorderOptions, Tape};
use jukebox::tools::is_same_text;
use serde_json::Value;

#[path = "support/transcripts.rs"]
mod transcripts;

use transcripts::{claude_code, files, is_agent, transcripts};

fn imported(path: &Path) -> (Report, Vec<Event>) {
    let open = |header| Ok(Collected::new(header));
    let (report, sink) = import(Transcript::At(path), &Options::default(), open).unwrap();
    (report, sink.events)
}

#[test]
fn edits_are_rebuilt_byte_for_byte() {
    let transcripts = claude_code();
    if transcripts.is_empty() {
        return;
    }
    let mut all = EditCounts::default();
    let mut misses: HashMap<String, u64> = HashMap::new();
    for path in &transcripts {
        let (report, _) = imported(path);
        let edits = report.edits;
        let name = path.file_stem().unwrap().to_str().unwrap();
        println!("{name}: {edits:?}, {} outside", report.outside_changes);
        all.with_preimage += edits.with_preimage;
        all.base_known += edits.base_known;
        all.matched += edits.matched;
        if edits.base_known > edits.matched {
            misses.insert(name.to_owned(), edits.base_known - edits.matched);
        }
    }
    let counts = (all.with_preimage, all.base_known, all.matched);
    assert_eq!(counts, (107, 96, 91));
    let expected = [
        ("v2.0.64-edits", 1),
        ("258c7280-ae70-4798-800f-63464d01a85d", 2),
        ("v2.1.7+2.1.12-two-records-on-one-line", 2),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(misses, HashMap::from(expected));
}

/// What a result shows of a whole file: before the call for an edit, after it for a read.
#[derive(Default)]
struct Shown {
    before: HashMap<String, (String, String)>,
    after: HashMap<String, (String, String)>,
}

impl Shown {
    /// Takes what the results in a record show, however deep they are nested.
    fn take(&mut self, record: &Value) {
        if let Some(nested) = record.pointer("/data/message") {
            self.take(nested);
        }
        let Some(beside) = record.get("toolUseResult") else {
            return;
        };
        let content = record.pointer("/message/content").and_then(Value::as_array);
        let mut ids = content.into_iter().flatten();
        let Some(id) = ids.find_map(|block| block.get("tool_use_id")?.as_str()) else {
            return;
        };
        let text = |pointer: &str| Some(beside.pointer(pointer)?.as_str()?.to_owned());
        let before = text("/originalFile").or_else(|| text("/originalFileContents"));
        if let (Some(path), Some(before)) = (text("/filePath"), before) {
            self.before.insert(id.to_owned(), (path, before));
        }
        let number = |name: &str| beside.pointer(name).and_then(Value::as_u64);
        let is_whole = number("/file/startLine") == Some(1)
            && number("/file/numLines") == number("/file/totalLines");
        let (path, content) = (text("/file/filePath"), text("/file/content"));
        if let (true, Some(path), Some(content)) = (is_whole, path, content) {
            self.after.insert(id.to_owned(), (path, content));
        }
    }

    fn of(path: &Path) -> Self {
        let mut shown = Self::default();
        let mut parts = files(path.parent().unwrap(), ".jsonl");
        parts.retain(|part| part == path || is_agent(part));
        for part in parts {
            let bytes = std::fs::read(part).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            for line in text.lines() {
                let records = serde_json::Deserializer::from_str(line).into_iter::<Value>();
                records
                    .map_while(Result::ok)
                    .for_each(|record| shown.take(&record));
            }
        }
        shown
    }
}

/// The files as the events tell them, replayed one by one.
#[derive(Default)]
struct Replayed {
    files: HashMap<TapePath, Option<Arc<[u8]>>>,
    root: String,
}

impl Replayed {
    fn apply(&mut self, event: &Event) {
        let Body::File(change) = &event.body else {
            return;
        };
        let content = match &change.content {
            Content::Bytes(bytes) => Some(Arc::clone(bytes)),
            _ => None,
        };
        match &change.op {
            FileOp::Write | FileOp::Observe => {
                self.files.insert(change.path.clone(), content);
            }
            FileOp::Remove => self.files.retain(|path, _| !path.is_within(&change.path)),
            FileOp::Rename { from } => {
                let moved = self.files.remove(from).flatten().or(content);
                self.files.insert(change.path.clone(), moved);
            }
            FileOp::Mkdir | FileOp::Symlink { .. } | FileOp::Chmod => {}
        }
    }

    /// What is claimed of a file, exactly.
    fn claim(&self, path: &str) -> Option<&[u8]> {
        let path = TapePath::resolve(path, &self.root, &self.root).unwrap();
        self.files.get(&path)?.as_deref()
    }
}

#[test]
fn what_is_claimed_is_what_the_next_record_shows() {
    for path in claude_code() {
        let shown = Shown::of(&path);
        let (_, events) = imported(&path);
        let mut files = Replayed::default();
        for event in &events {
            let call = event.head.call.as_deref().unwrap_or_default();
            let seen = match &event.body {
                Body::Tape(header) => {
                    files.root = header.root.clone().unwrap_or_default();
                    None
                }
                Body::ToolCall { .. } => shown.before.get(call),
                Body::ToolResult { .. } => shown.after.get(call),
                _ => None,
            };
            files.apply(event);
            let Some((file, seen)) = seen else {
                continue;
            };
            let claim = files.claim(file).map(String::from_utf8_lossy);
            let is_true = claim
                .as_ref()
                .is_some_and(|claim| is_same_text(claim.as_bytes(), seen.as_bytes()));
            assert!(is_true, "{}: {call} {file}: {claim:?}", path.display());
        }
    }
}

#[test]
fn a_cut_file_loses_only_its_tail() {
    let directory = tempfile::tempdir().unwrap();
    for path in claude_code() {
        let bytes = std::fs::read(&path).unwrap();
        let (whole, _) = imported(&path);
        for part in 1..4 {
            let cut = directory.path().join("cut.jsonl");
            std::fs::write(&cut, bytes.get(..bytes.len() * part / 4).unwrap()).unwrap();
            let (report, _) = imported(&cut);
            let faults = report.problems.iter();
            let torn = faults.filter(|problem| problem.kind == ProblemKind::TornTail);
            assert!(torn.count() <= 1, "{}", path.display());
            assert!(report.edits.matched <= whole.edits.matched);
        }
    }
}

#[test]
fn the_tapes_are_sound() {
    for path in claude_code() {
        let options = RecorderOptions::default();
        let open = |header| Recorder::in_memory(header, options.clone());
        let (_, recorder) = import(Transcript::At(&path), &Options::default(), open).unwrap();
        let tape = Tape::read(recorder.bytes(), &mut ()).unwrap();
        let mut problems = tape.problems();
        problems.retain(|problem| {
            !matches!(
                problem.kind,
                ProblemKind::BrokenReference | ProblemKind::RecordedGap
            )
        });
        assert_eq!(problems, [], "{}", path.display());
        recorder.close(Outcome::None).unwrap();
    }
}

#[test]
fn real_files_are_told_apart() {
    let Some(root) = transcripts() else {
        return;
    };
    let check = |folder: &str, ending: &str, expected: fn(Format) -> bool| {
        for path in files(&root.join(folder), ending) {
            let bytes = std::fs::read(&path).unwrap();
            let start = bytes.get(..bytes.len().min(1 << 18)).unwrap();
            let format = sniff(start);
            assert!(expected(format), "{}: {format:?}", path.display());
        }
    };
    check("claude-code", ".jsonl", |format| {
        format == Format::ClaudeCode
    });
    for (folder, ending, name) in [
        ("codex", ".jsonl", "a Codex rollout"),
        ("gemini-cli", "", "a Gemini CLI session"),
        ("pi", ".jsonl", "a pi session"),
        ("swe-agent", ".traj", "a SWE-agent trajectory"),
        ("mini-swe-agent", ".json", "a mini-SWE-agent trajectory"),
        ("openhands", ".jsonl", "an OpenHands output"),
        ("atif", ".json", "an ATIF trajectory"),
    ] {
        for path in files(&root.join(folder), ending) {
            let bytes = std::fs::read(&path).unwrap();
            let format = sniff(bytes.get(..bytes.len().min(1 << 18)).unwrap());
            assert_eq!(format, Format::NotYet(name), "{}", path.display());
        }
    }
}
