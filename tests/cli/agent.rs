//! An agent that is recorded through its hooks: calls real processes as the agent does, and
//! reads back what its tape says.

use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};

use super::world::{Run, World};

/// A session of an agent in `work/w`. Recorders that are left are ended with it.
pub(crate) struct Agent<'a> {
    world: &'a World,
    session: &'a str,
    pub(crate) workspace: PathBuf,
}

impl<'a> Agent<'a> {
    pub(crate) fn new(world: &'a World, session: &'a str) -> Self {
        Self::below(world, session, "w")
    }

    pub(crate) fn below(world: &'a World, session: &'a str, workspace: &str) -> Self {
        let workspace = world.path(workspace);
        fs::create_dir_all(&workspace).unwrap();
        Self {
            world,
            session,
            workspace,
        }
    }

    pub(crate) fn transcript(&self) -> PathBuf {
        self.world.path(format!("{}.jsonl", self.session))
    }

    /// Calls a hook as the agent does: it prints nothing and ends with 0.
    #[track_caller]
    pub(crate) fn hook(&self, event: &str, more: Value) {
        let mut record: Map<String, Value> = Map::new();
        let transcript = self.transcript();
        record.insert("session_id".into(), self.session.into());
        let named = [("transcript_path", &transcript), ("cwd", &self.workspace)];
        for (name, path) in named {
            record.insert(name.into(), path.to_str().unwrap().into());
        }
        record.insert("permission_mode".into(), "default".into());
        record.insert("hook_event_name".into(), event.into());
        record.extend(more.as_object().unwrap().clone());
        check_silent(&give(self.world, &Value::Object(record).to_string()));
    }

    pub(crate) fn call(&self, id: &str, tool: &str, input: Value) {
        let more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
        self.hook("PreToolUse", more);
    }

    pub(crate) fn bash(&self, id: &str) {
        self.call(id, "Bash", json!({"command": format!("./{id}")}));
    }

    pub(crate) fn result(&self, id: &str) {
        let response =
            json!({"stdout": format!("{id} is done"), "stderr": "", "interrupted": false});
        let more = json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": id, "tool_response": response});
        self.hook("PostToolUse", more);
    }

    pub(crate) fn write(&self, name: &str, bytes: &str) {
        fs::write(self.workspace.join(name), bytes).unwrap();
    }

    /// The agent's own record of a turn.
    pub(crate) fn says(&self, record: &str, message: &str, block: Value) {
        let model = json!({"id": message, "model": "a-model", "role": "assistant", "content": [block],
            "usage": {"input_tokens": 5, "output_tokens": 7}});
        self.note(json!({"type": "assistant", "uuid": record, "message": model}));
    }

    pub(crate) fn note(&self, record: Value) {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(self.transcript())
            .unwrap();
        writeln!(file, "{record}").unwrap();
    }

    pub(crate) fn end(&self) {
        self.hook("SessionEnd", json!({"reason": "other"}));
    }

    /// The tape of the session, found as a person finds it.
    #[track_caller]
    pub(crate) fn tape(&self) -> PathBuf {
        let listed = self.world.run(&["recent", "--json"]).stdout();
        let mut tapes = listed.lines().map(|line| {
            let run: Value = serde_json::from_str(line).unwrap();
            PathBuf::from(run["path"].as_str().unwrap())
        });
        let is_its = |tape: &PathBuf| events(tape)[0]["source"]["session"] == self.session;
        tapes.find(is_its).unwrap()
    }

    pub(crate) fn is_recorded(&self) -> bool {
        !recorders(self.world).is_empty()
    }

    /// Waits until no recorder runs any more: it answers the last hook before it ends.
    pub(crate) fn wait_for_recorder(&self) {
        while self.is_recorded() {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Agent<'_> {
    fn drop(&mut self) {
        kill(self.world);
    }
}

/// Gives a hook its standard input.
pub(crate) fn give(world: &World, input: &str) -> Run {
    let mut program = world.program();
    program.arg("hook").stdin(Stdio::piped());
    let mut child = program
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    Run::new(child.wait_with_output().unwrap())
}

#[track_caller]
pub(crate) fn check_silent(run: &Run) {
    assert_eq!((run.code(), run.bytes()), (0, [&b""[..], &b""[..]]));
}

/// The recorders that run.
pub(crate) fn recorders(world: &World) -> Vec<Pid> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(world.path("../run/jukebox")) else {
        return found;
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
        let lock = File::open(&path).unwrap();
        if matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            // One that has just begun has not said yet which process it is.
            let process = fs::read_to_string(&path).unwrap().parse();
            found.extend(process.ok().and_then(Pid::from_raw));
        }
    }
    found
}

/// Kills the recorders, and waits until they are gone.
pub(crate) fn kill(world: &World) {
    for process in recorders(world) {
        let _is_gone = kill_process(process, Signal::KILL);
    }
    while !recorders(world).is_empty() {
        thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn events(tape: &Path) -> Vec<Value> {
    let text = fs::read_to_string(tape).unwrap();
    let whole = text.lines().map(serde_json::from_str);
    whole.filter_map(Result::ok).collect()
}

/// What a tape says, a line an event, without what a recorder writes of its own accord.
pub(crate) fn story(tape: &Path) -> String {
    let mut text = String::new();
    for event in events(tape) {
        let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let mut line = field("kind");
        if matches!(&*line, "tape" | "blob" | "snapshot") {
            continue;
        }
        for name in ["agent", "call", "path", "by", "outcome"] {
            if !field(name).is_empty() {
                let _ = write!(line, " {}", field(name));
            }
        }
        if let Some(candidates) = event.get("candidates") {
            let _ = write!(line, " {candidates}");
        }
        if field("kind") == "raw" {
            let _ = write!(line, " {}", field("title"));
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

#[track_caller]
pub(crate) fn check_story(agent: &Agent<'_>, expected: &str) {
    let tape = agent.tape();
    let expected: Vec<&str> = expected.split_terminator('\n').map(str::trim).collect();
    let found = story(&tape);
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found, expected);
    check_whole(agent);
}

#[track_caller]
pub(crate) fn check_whole(agent: &Agent<'_>) {
    let run = agent
        .world
        .run(&["verify".as_ref(), agent.tape().as_os_str()]);
    assert_eq!(run.code(), 0, "{}", run.stdout());
}

#[track_caller]
pub(crate) fn check_content(agent: &Agent<'_>, path: &str, expected: &str) {
    let tape = agent.tape();
    let run = agent
        .world
        .run(&["cat".as_ref(), tape.as_os_str(), path.as_ref()]);
    assert_eq!(run.stdout(), expected, "{}", run.stderr());
}
