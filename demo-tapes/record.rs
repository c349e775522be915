//! Records the demo tapes again: runs each script for real and writes what happened.
//!
//!     cargo run --example record-demos              all of them
//!     cargo run --example record-demos -- bug-hunt  one of them
//!
//! A script is JSON lines: `prompt`, `model`, `bash`, `read`, `edit`, `write`, `outside`,
//! `begin`, `savepoint`, `rollback_to`, `rollback`, `commit`, and `damage`, which spoils the
//! finished tape. Commands run in a copy of the script's `workspace`, in a temporary
//! directory; a transaction works on a copy of that. Needs a POSIX shell with its usual tools.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jukebox::model::{
    BlockKind, Body, Event, FileChange, FileOp, Header, ModelBlock, Outcome, TapePath, Usage,
};
use jukebox::tape::{Recorder, RecorderOptions};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-tapes");
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names = ["bug-hunt", "rolled-back", "damaged"]
            .map(str::to_owned)
            .into();
    }
    for name in names {
        let tape = home.join(format!("{name}.jsonl"));
        if tape.exists() {
            fs::remove_file(&tape)?;
        }
        let damages = record(&home.join(&name), &tape)?;
        for damage in damages {
            spoil(&tape, &damage)?;
        }
    }
    Ok(())
}

/// Runs a script and records it; returns the damages that are to be done afterwards.
fn record(script: &Path, tape: &Path) -> Result<Vec<Value>> {
    let world = tempfile::tempdir()?;
    let workspace = world.path().join("workspace");
    copy(&script.join("workspace"), &workspace)?;
    let header = Header {
        agent: Some("demo script".to_owned()),
        root: Some("/workspace".to_owned()),
        ..Header::default()
    };
    let mut run = Run {
        recorder: Recorder::create(tape, header, RecorderOptions::default())?,
        world: world.path().to_owned(),
        workspace,
        seen: BTreeMap::new(),
        open: None,
        calls: 0,
    };
    for (path, file) in scan(&run.workspace)? {
        if file.bytes.is_some() {
            let seen = FileChange {
                op: FileOp::Observe,
                ..file.written(&path)?
            };
            run.append(Body::File(seen))?;
        }
        run.seen.insert(path, file);
    }
    let text = fs::read_to_string(script.join("script.jsonl"))?;
    let mut damages = Vec::new();
    for line in text.lines() {
        let step: Value = serde_json::from_str(line)?;
        if step.get("damage").is_some() {
            damages.push(step);
        } else {
            run.step(&step)?;
        }
    }
    run.recorder.close(Outcome::Ok)?;
    Ok(damages)
}

struct Run {
    recorder: Recorder,
    world: PathBuf,
    workspace: PathBuf,
    /// The files of the directory that calls work in, as last seen.
    seen: BTreeMap<String, File>,
    open: Option<Transaction>,
    calls: u32,
}

struct Transaction {
    id: String,
    /// The files when it began.
    before: BTreeMap<String, File>,
    savepoints: BTreeMap<String, BTreeMap<String, File>>,
}

impl Run {
    fn step(&mut self, step: &Value) -> Result<()> {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        if let Some(prompt) = text("prompt") {
            self.append(Body::Prompt {
                role: "user".to_owned(),
                text: prompt.to_owned(),
                attachments: Vec::new(),
            })
        } else if let Some(words) = text("model") {
            self.model(words)
        } else if let Some(command) = text("bash") {
            self.call("Bash", json!({"command": command}), command, |run| {
                run.bash(command)
            })
        } else if let Some(path) = text("read") {
            self.call("Read", json!({"path": path}), path, |run| run.read(path))
        } else if let (Some(path), Some(old), Some(new)) = (text("edit"), text("old"), text("new"))
        {
            let arguments = json!({"path": path, "old_string": old, "new_string": new});
            self.call("Edit", arguments, path, |run| run.edit(path, old, new))
        } else if let (Some(path), Some(content)) = (text("write"), text("text")) {
            let arguments = json!({"path": path, "content": content});
            self.call("Write", arguments, path, |run| {
                fs::write(run.directory().join(path), content)?;
                Ok(Answer::ok("written"))
            })
        } else if let (Some(path), Some(content)) = (text("outside"), text("text")) {
            fs::write(self.directory().join(path), content)?;
            self.changes(None)
        } else if let Some(id) = text("begin") {
            self.begin(id)
        } else if let Some(name) = text("savepoint") {
            let seen = self.seen.clone();
            let open = self
                .open
                .as_mut()
                .ok_or("a savepoint outside a transaction")?;
            open.savepoints.insert(name.to_owned(), seen);
            self.append(Body::TxnSavepoint {
                name: name.to_owned(),
            })
        } else if let Some(name) = text("rollback_to") {
            let open = self
                .open
                .as_ref()
                .ok_or("a rollback outside a transaction")?;
            let saved = open
                .savepoints
                .get(name)
                .ok_or("no such savepoint")?
                .clone();
            self.put_back(&saved)?;
            self.append(Body::TxnRollback {
                to: Some(name.to_owned()),
            })
        } else if text("rollback").is_some() {
            self.append(Body::TxnRollback { to: None })?;
            let open = self.open.take().ok_or("a rollback outside a transaction")?;
            self.seen = open.before;
            Ok(())
        } else if text("commit").is_some() {
            let inside = self.directory();
            self.append(Body::TxnCommit)?;
            self.open = None;
            fs::remove_dir_all(&self.workspace)?;
            copy(&inside, &self.workspace)
        } else {
            Err(format!("not a step: {step}").into())
        }
    }

    /// Where calls work: the workspace, or the copy of the open transaction.
    fn directory(&self) -> PathBuf {
        match &self.open {
            Some(open) => self.world.join(&open.id),
            None => self.workspace.clone(),
        }
    }

    fn append(&mut self, body: Body) -> Result<()> {
        self.append_event(Event::new(body))
    }

    fn append_event(&mut self, mut event: Event) -> Result<()> {
        event.head.txn = self.open.as_ref().map(|open| open.id.clone());
        self.recorder.append(event)?;
        Ok(())
    }

    fn model(&mut self, words: &str) -> Result<()> {
        self.append(Body::ModelResponse {
            model: Some("scripted".to_owned()),
            blocks: vec![ModelBlock {
                kind: BlockKind::Text,
                text: words.to_owned(),
                call: None,
                data: Value::Null,
            }],
            stop: Some("end_turn".to_owned()),
            usage: Some(Usage::default()),
            outcome: Outcome::Ok,
            duration: None,
        })
    }

    fn begin(&mut self, id: &str) -> Result<()> {
        copy(&self.workspace, &self.world.join(id))?;
        self.open = Some(Transaction {
            id: id.to_owned(),
            before: self.seen.clone(),
            savepoints: BTreeMap::new(),
        });
        self.append(Body::TxnBegin)
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        title: &str,
        act: impl FnOnce(&mut Self) -> Result<Answer>,
    ) -> Result<()> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let title = title.lines().next().unwrap_or_default();
        let call = Body::ToolCall {
            name: tool.to_owned(),
            arguments,
        };
        self.append_event(Event::new(call).in_call(&*id).titled(title))?;
        let start = std::time::Instant::now();
        let answer = act(self)?;
        let duration = u64::try_from(start.elapsed().as_micros())?;
        if let Some(path) = &answer.observed {
            let bytes = fs::read(self.directory().join(path))?;
            let seen = FileChange {
                op: FileOp::Observe,
                ..FileChange::write(TapePath::new(path)?, bytes)
            };
            self.append_event(Event::new(Body::File(seen)).in_call(&*id))?;
        }
        self.changes(Some(&id))?;
        let result = Body::ToolResult {
            outcome: answer.outcome,
            exit: answer.exit,
            output: answer.output,
            duration: Some(duration),
            attachments: Vec::new(),
            detail: Value::Null,
        };
        self.append_event(Event::new(result).in_call(&*id))
    }

    fn bash(&self, command: &str) -> Result<Answer> {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.directory())
            .env("LC_ALL", "C")
            .output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(Answer {
            outcome: if output.status.success() {
                Outcome::Ok
            } else {
                Outcome::Failed
            },
            exit: output.status.code(),
            output: text,
            observed: None,
        })
    }

    fn read(&self, path: &str) -> Result<Answer> {
        let text = fs::read_to_string(self.directory().join(path))?;
        Ok(Answer {
            observed: Some(path.to_owned()),
            ..Answer::ok(&text)
        })
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<Answer> {
        let file = self.directory().join(path);
        let text = fs::read_to_string(&file)?;
        if text.matches(old).count() != 1 {
            return Ok(Answer {
                outcome: Outcome::Failed,
                ..Answer::ok("old_string was not found exactly once in the file")
            });
        }
        fs::write(file, text.replacen(old, new, 1))?;
        Ok(Answer::ok("edited"))
    }

    /// Records what differs from the files as last seen.
    fn changes(&mut self, call: Option<&str>) -> Result<()> {
        let now = scan(&self.directory())?;
        let mut changes = Vec::new();
        let is_gone = |path: &&String| !now.contains_key(*path);
        for path in self.seen.keys().filter(is_gone) {
            // Of a directory, one event says that all below it is gone.
            let parent = path.rsplit_once('/').map(|(parent, _)| parent);
            if parent.is_none_or(|parent| now.contains_key(parent)) {
                changes.push(FileChange::new(FileOp::Remove, TapePath::new(path)?));
            }
        }
        for (path, file) in &now {
            match self.seen.get(path) {
                Some(before) if before == file => {}
                Some(before) if before.bytes == file.bytes => changes.push(FileChange {
                    mode: Some(file.mode),
                    ..FileChange::new(FileOp::Chmod, TapePath::new(path)?)
                }),
                _ => changes.push(file.written(path)?),
            }
        }
        for mut change in changes {
            change.outside = call.is_none();
            let mut event = Event::new(Body::File(change));
            event.head.call = call.map(str::to_owned);
            self.append_event(event)?;
        }
        self.seen = now;
        Ok(())
    }

    fn put_back(&mut self, files: &BTreeMap<String, File>) -> Result<()> {
        let directory = self.directory();
        fs::remove_dir_all(&directory)?;
        fs::create_dir(&directory)?;
        for (path, file) in files {
            file.put(&directory.join(path))?;
        }
        self.seen = files.clone();
        Ok(())
    }
}

/// What a call returned.
struct Answer {
    outcome: Outcome,
    exit: Option<i32>,
    output: String,
    observed: Option<String>,
}

impl Answer {
    fn ok(output: &str) -> Self {
        Self {
            outcome: Outcome::Ok,
            exit: None,
            output: output.to_owned(),
            observed: None,
        }
    }
}

/// A file, or a directory where there are no bytes.
#[derive(Clone, PartialEq)]
struct File {
    mode: u32,
    bytes: Option<Vec<u8>>,
}

impl File {
    fn written(&self, path: &str) -> Result<FileChange> {
        let path = TapePath::new(path)?;
        let change = match &self.bytes {
            Some(bytes) => FileChange::write(path, bytes.as_slice()),
            None => FileChange::new(FileOp::Mkdir, path),
        };
        Ok(FileChange {
            mode: Some(self.mode),
            ..change
        })
    }

    fn put(&self, path: &Path) -> Result<()> {
        match &self.bytes {
            Some(bytes) => fs::write(path, bytes)?,
            None => fs::create_dir(path)?,
        }
        fs::set_permissions(path, fs::Permissions::from_mode(self.mode))?;
        Ok(())
    }
}

/// Everything below a directory, each directory before what is in it.
fn scan(directory: &Path) -> Result<BTreeMap<String, File>> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(directory.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            let mode = entry.metadata()?.permissions().mode() & 0o7777;
            let name = path.to_str().ok_or("a name that is not UTF-8")?.to_owned();
            let bytes = if entry.file_type()?.is_dir() {
                open.push(path);
                None
            } else {
                Some(fs::read(entry.path())?)
            };
            found.insert(name, File { mode, bytes });
        }
    }
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for (path, file) in scan(from)? {
        file.put(&to.join(path))?;
    }
    Ok(())
}

/// Spoils a line of a finished tape, as crashes and careless tools do.
fn spoil(tape: &Path, damage: &Value) -> Result<()> {
    let mut lines: Vec<Vec<u8>> = fs::read(tape)?
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let at = damage.get("line").and_then(Value::as_u64).unwrap_or(1);
    let at = usize::try_from(at)? - 1;
    match damage.get("damage").and_then(Value::as_str) {
        Some("drop") => drop(lines.remove(at)),
        Some("nuls") => {
            let line = lines.get_mut(at).ok_or("no such line")?;
            let half = line.len() / 2;
            line.truncate(half);
            line.resize(half * 2, 0);
            line.push(b'\n');
        }
        Some("glue") => drop(lines.get_mut(at).ok_or("no such line")?.pop()),
        Some("tear") => {
            let last = lines.last_mut().ok_or("an empty tape")?;
            last.truncate(last.len() / 2);
        }
        _ => return Err(format!("not a damage: {damage}").into()),
    }
    fs::write(tape, lines.concat())?;
    Ok(())
}
