//! A large transcript of Claude Code, and what it costs to read one with typed serde.
//!
//! The records have the shapes that version 2.1 writes, as far as an importer looks at
//! them; the words in them are made up. The same seed and size give the same bytes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::measure::Result;
use crate::tapes::LAST_STEP;

/// How many files the session works on.
const FILES: u64 = 300;

/// Writes a session of about so many bytes; how many records it has.
pub(crate) fn write(path: &Path, bytes: u64, seed: u64) -> io::Result<u64> {
    let mut session = Session {
        out: BufWriter::with_capacity(1 << 20, File::create(path)?),
        records: 0,
        written: 0,
        calls: 0,
        seed,
        files: (0..FILES).map(file).collect(),
    };
    session.user(&json!("Make it work."))?;
    while session.written < bytes {
        match session.roll(10) {
            0 => session.user(&json!("Now the next part of it."))?,
            1 | 2 => session.says()?,
            3 | 4 => session.edit()?,
            5 | 6 => session.read()?,
            _ => session.command()?,
        }
    }
    session.user(&json!(LAST_STEP))?;
    session.out.flush()?;
    Ok(session.records)
}

struct Session {
    out: BufWriter<File>,
    records: u64,
    written: u64,
    calls: u64,
    seed: u64,
    /// The lines of each file.
    files: Vec<Vec<String>>,
}

fn file(number: u64) -> Vec<String> {
    let lines = 20 + number * 37 % 400;
    let line = |line: u64| format!("    let value_{line} = \"{number}\" + compute({line});");
    (0..lines).map(line).collect()
}

fn path_of(number: usize) -> String {
    format!("/work/src/part_{}/file_{number}.rs", number % 17)
}

impl Session {
    /// A number below `end`, from a linear congruence.
    fn roll(&mut self, end: u64) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % end
    }

    fn record(&mut self, kind: &str, fields: &[(&str, Value)]) -> io::Result<()> {
        let number = self.records;
        let parent = number.checked_sub(1).map(id);
        let (minutes, seconds) = (number / 60 % 60, number % 60);
        let mut record = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/work",
            "sessionId": "6b1f8f0e-0000-4000-8000-000000000000", "version": "2.1.12",
            "gitBranch": "main", "type": kind, "uuid": id(number),
            "timestamp": format!("2026-01-{:02}T{:02}:{minutes:02}:{seconds:02}.000Z",
                1 + number / 86_400 % 28, number / 3600 % 24),
        });
        if let Some(record) = record.as_object_mut() {
            record.extend(
                fields
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), value.clone())),
            );
        }
        let mut line = record.to_string();
        line.push('\n');
        self.records += 1;
        self.written += line.len() as u64;
        self.out.write_all(line.as_bytes())
    }

    fn user(&mut self, content: &Value) -> io::Result<()> {
        let message = json!({"role": "user", "content": content});
        self.record("user", &[("message", message)])
    }

    fn answer(&mut self, block: &Value) -> io::Result<()> {
        let message = json!({
            "model": "a-model", "id": format!("msg_{}", self.records), "type": "message",
            "role": "assistant", "content": [block], "stop_reason": null,
            "usage": {"input_tokens": 9, "cache_creation_input_tokens": 300,
                "cache_read_input_tokens": 40_000, "output_tokens": 120},
        });
        let request = json!(format!("req_{}", self.records));
        self.record("assistant", &[("message", message), ("requestId", request)])
    }

    fn says(&mut self) -> io::Result<()> {
        let words = self.words(40);
        self.answer(&json!({"type": "text", "text": words}))
    }

    fn words(&mut self, sentences: u64) -> String {
        let count = 1 + self.roll(sentences);
        let parts = [
            "It reads a token, ",
            "and returns it; ",
            "then it goes on. ",
        ];
        parts.into_iter().cycle().take(3 * count as usize).collect()
    }

    /// A call and its result, as the model saw it and as the program keeps it.
    fn call(&mut self, tool: &str, input: &Value, seen: &str, kept: Value) -> io::Result<()> {
        self.calls += 1;
        let call = format!("toolu_{:024}", self.calls);
        self.answer(&json!({"type": "tool_use", "id": call, "name": tool, "input": input}))?;
        let block = json!({"tool_use_id": call, "type": "tool_result", "content": seen});
        let message = json!({"role": "user", "content": [block]});
        self.record("user", &[("message", message), ("toolUseResult", kept)])
    }

    fn command(&mut self) -> io::Result<()> {
        let output = self.words(150).replace(". ", ".\n");
        let kept = json!({"stdout": output, "stderr": "", "interrupted": false, "isImage": false});
        let input = json!({"command": "cargo test --all", "description": "Run the tests"});
        self.call("Bash", &input, &output, kept)
    }

    fn pick(&mut self) -> usize {
        self.roll(FILES) as usize
    }

    fn read(&mut self) -> io::Result<()> {
        let number = self.pick();
        let lines = self.files.get(number).cloned().unwrap_or_default();
        let path = path_of(number);
        let numbered = lines.iter().enumerate();
        let numbered: Vec<String> = numbered
            .map(|(at, line)| format!("{:6}→{line}", at + 1))
            .collect();
        let seen = numbered.join("\n");
        let content = lines.join("\n") + "\n";
        let kept = json!({"type": "text", "file": {"filePath": path, "content": content,
            "numLines": lines.len() + 1, "startLine": 1, "totalLines": lines.len() + 1}});
        self.call("Read", &json!({"file_path": path}), &seen, kept)
    }

    fn edit(&mut self) -> io::Result<()> {
        let number = self.pick();
        let records = self.records;
        let path = path_of(number);
        let lines = self.files.get(number).map_or(1, Vec::len) as u64;
        let at = self.roll(lines) as usize;
        let Some(lines) = self.files.get_mut(number) else {
            return Ok(());
        };
        let before = lines.join("\n") + "\n";
        let new = format!("    let value_{at} = changed({records});");
        let Some(line) = lines.get_mut(at) else {
            return Ok(());
        };
        let old = std::mem::replace(line, new.clone());
        let patch = json!([{"oldStart": at + 1, "oldLines": 1, "newStart": at + 1, "newLines": 1,
            "lines": [format!("-{old}"), format!("+{new}")]}]);
        let kept = json!({"filePath": path, "oldString": old, "newString": new,
            "originalFile": before, "structuredPatch": patch, "userModified": false,
            "replaceAll": false});
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        self.call("Edit", &input, "The file has been updated.", kept)
    }
}

fn id(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// What an importer has to know of a record at least.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is read to see what the reading costs")]
struct Record<'a> {
    r#type: String,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    timestamp: Option<String>,
    message: Option<Message>,
    #[serde(borrow)]
    tool_use_result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is read to see what the reading costs")]
struct Message {
    role: String,
    id: Option<String>,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is read to see what the reading costs")]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "it is read to see what the reading costs")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: Value,
    },
}

/// How long it takes to read all records into plain types.
pub(crate) fn typed(path: &Path) -> Result<Duration> {
    let start = Instant::now();
    let text = fs::read_to_string(path)?;
    let mut records = 0_u64;
    for line in text.lines() {
        let _record: Record<'_> = serde_json::from_str(line)?;
        records += 1;
    }
    if records == 0 {
        return Err("the transcript is empty".into());
    }
    Ok(start.elapsed())
}
