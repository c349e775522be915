//! Records the demo tapes again: an agent that goes by a script, and whose tool calls really run.
//!
//!     cargo run --example record-demos              all of them
//!     cargo run --example record-demos -- bug-hunt  one of them
//!
//! With `--to DIR` the old tapes stay as they are.
//!
//! A script is JSON lines: `prompt`, `model`, `bash`, `read`, `edit`, `write`, `outside`,
//! `begin`, `savepoint`, `rollback_to`, `rollback`, `commit`, and `damage`, which spoils the
//! finished tape. What follows a `model` line up to the next one, or the next prompt, are the
//! calls that its response asks for.
//!
//! The agent does what any agent can: it tells `jukebox record --stdin --watch` what it does, a
//! JSON line each, and runs every call in a sandbox by `jukebox txn`. A call is a transaction of
//! its own, which is committed at once, unless the script began one. No output and no change is
//! made up, and equal scripts give equal tapes, but for times and the tape's id.
//!
//! The workspace is `/tmp/NAME`, so that a tape tells nothing of whoever recorded it. This program
//! is `jukebox` itself, too: started with one of its verbs, it does what that does.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use jukebox::{cli, tui};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DEMOS: [&str; 3] = ["bug-hunt", "rolled-back", "damaged"];
/// What calls are told of the world, so that it is the same for everybody.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn main() -> Result<ExitCode> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-tapes");
    let mut to = home.clone();
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--to" {
            to = arguments.next().ok_or("--to takes a directory")?.into();
        } else if DEMOS.contains(&argument.as_str()) {
            names.push(argument);
        } else {
            return Ok(cli::run(std::env::args_os(), &tui::TerminalScreen).into());
        }
    }
    if names.is_empty() {
        names = DEMOS.map(str::to_owned).into();
    }
    for name in names {
        demo(&home.join(&name), &name, &to.join(format!("{name}.jsonl")))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a script in a new workspace, and puts the tape in the place of the old one.
fn demo(home: &Path, name: &str, to: &Path) -> Result<()> {
    let script = fs::read_to_string(home.join("script.jsonl"))?;
    let script: Vec<Value> = script
        .lines()
        .map(serde_json::from_str)
        .collect::<std::result::Result<_, _>>()?;
    let (damages, steps): (Vec<Value>, Vec<Value>) = script
        .into_iter()
        .partition(|step| step.get("damage").is_some());

    let world = tempfile::tempdir()?;
    let workspace = Workspace::copy(&home.join("workspace"), name)?;
    let tape = world.path().join("tape.jsonl");
    let mut agent = Agent::start(world.path(), &workspace.path, &tape)?;
    for (at, step) in steps.iter().enumerate() {
        agent.step(step, steps.get(at + 1..).unwrap_or_default())?;
    }
    agent.finish()?;
    for damage in &damages {
        spoil(&tape, damage)?;
    }
    fs::write(to, fs::read(&tape)?)?;
    Ok(())
}

/// The directory in which the agent works. Dropped, it is gone.
struct Workspace {
    path: PathBuf,
}

impl Workspace {
    fn copy(from: &Path, name: &str) -> Result<Self> {
        let path = Path::new("/tmp").join(name);
        let made = fs::DirBuilder::new().mode(0o755).create(&path);
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        let workspace = Self { path };
        copy(from, &workspace.path)?;
        Ok(workspace)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

struct Agent {
    world: PathBuf,
    workspace: PathBuf,
    recorder: Child,
    tell: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Calls and model calls so far.
    calls: usize,
    turns: usize,
    /// The ids that the last response gave to calls which were not made yet.
    asked: Vec<String>,
    /// What the model is told next: what it said itself, it knows.
    news: Vec<Value>,
    open: Option<Transaction>,
    /// How long the commands of the call took so far, without what begins and commits them.
    busy: Duration,
}

/// A transaction that the script began.
struct Transaction {
    /// What the script calls it.
    name: String,
    id: String,
    /// How many lines of its own tape were told.
    told: usize,
}

impl Agent {
    fn start(world: &Path, workspace: &Path, tape: &Path) -> Result<Self> {
        for below in ["home", "state", "run"] {
            let mut private = fs::DirBuilder::new();
            private.mode(0o700).create(world.join(below))?;
        }
        let mut recorder = jukebox(world)
            .args(["record", "--stdin", "--watch"])
            .arg(workspace)
            .arg("-o")
            .arg(tape)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let tell = recorder.stdin.take().ok_or("no pipe")?;
        let answers = BufReader::new(recorder.stdout.take().ok_or("no pipe")?);
        let mut agent = Self {
            world: world.to_owned(),
            workspace: workspace.to_owned(),
            recorder,
            tell,
            answers,
            calls: 0,
            turns: 0,
            asked: Vec::new(),
            news: Vec::new(),
            open: None,
            busy: Duration::ZERO,
        };
        agent.say(json!({"kind": "tape", "name": "demo script"}))?;
        Ok(agent)
    }

    /// Tells the recorder something, and waits until it is on the tape.
    fn say(&mut self, mut event: Value) -> Result<()> {
        if let Some(open) = &self.open {
            event["txn"] = open.name.as_str().into();
        }
        writeln!(self.tell, "{event}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        if answer.contains(r#""error""#) || answer.is_empty() {
            return Err(format!("{event}\n{answer}").into());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.say(json!({"kind": "end", "outcome": "ok"}))?;
        drop(self.tell);
        let ended = self.recorder.wait()?;
        if ended.success() {
            Ok(())
        } else {
            Err(format!("the recorder ended with {ended}").into())
        }
    }

    fn step(&mut self, step: &Value, rest: &[Value]) -> Result<()> {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        if let Some(call) = Call::of(step) {
            return self.call(&call);
        }
        if let Some(words) = text("prompt") {
            self.news.push(json!({"role": "user", "content": words}));
            return self.say(json!({"kind": "prompt", "name": "user", "text": words}));
        }
        if let Some(words) = text("model") {
            let is_turn = |step: &&Value| step.get("model").or(step.get("prompt")).is_none();
            let calls = rest.iter().take_while(is_turn).filter_map(Call::of);
            return self.model(words, &calls.collect::<Vec<_>>());
        }
        if let (Some(path), Some(content)) = (text("outside"), text("text")) {
            return Ok(fs::write(self.workspace.join(path), content)?);
        }
        if let Some(name) = text("begin") {
            self.open = Some(Transaction {
                name: name.to_owned(),
                id: self.begin()?,
                told: 0,
            });
            self.news_of_transaction()?;
            return self.say(json!({"kind": "txn.begin"}));
        }
        let id = self.open.as_ref().ok_or("no transaction")?.id.clone();
        if let Some(name) = text("savepoint") {
            self.txn(&["savepoint", &id, name])?;
            self.say(json!({"kind": "txn.savepoint", "name": name}))?;
        } else if let Some(name) = text("rollback_to") {
            self.txn(&["rollback", &id, "--to", name])?;
            self.say(json!({"kind": "txn.rollback", "to": name}))?;
        } else if text("rollback").is_some() {
            self.txn(&["rollback", &id])?;
            self.say(json!({"kind": "txn.rollback"}))?;
            self.open = None;
        } else if text("commit").is_some() {
            self.txn(&["commit", &id, "--yes"])?;
            self.say(json!({"kind": "txn.commit"}))?;
            self.open = None;
        } else {
            return Err(format!("not a step: {step}").into());
        }
        Ok(())
    }

    /// The model answers, and asks for these calls.
    fn model(&mut self, words: &str, calls: &[Call<'_>]) -> Result<()> {
        self.turns += 1;
        let turn = format!("turn-{}", self.turns);
        let added = std::mem::take(&mut self.news);
        self.say(json!({
            "kind": "model.request", "call": turn, "name": "scripted", "added": added,
        }))?;
        let mut blocks = vec![json!({"type": "text", "text": words})];
        let first = self.calls + 1;
        for (at, call) in calls.iter().enumerate() {
            let id = format!("call-{}", first + at);
            blocks.push(json!({
                "type": "tool_call", "call": id, "name": call.tool, "args": call.arguments,
            }));
            self.asked.push(id);
        }
        let stop = if calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        self.say(json!({
            "kind": "model.response", "call": turn, "name": "scripted", "blocks": blocks,
            "stop": stop, "outcome": "ok",
        }))
    }

    fn call(&mut self, call: &Call<'_>) -> Result<()> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        if self.asked.is_empty() || self.asked.remove(0) != id {
            return Err(format!("nobody asked for {}", call.title).into());
        }
        let title = call.title.lines().next().unwrap_or_default();
        self.say(json!({
            "kind": "tool.call", "call": id, "name": call.tool, "args": call.arguments,
            "title": title,
        }))?;
        self.busy = Duration::ZERO;
        let answer = self.act(call)?;
        let duration = u64::try_from(self.busy.as_micros())?;
        if let Some(mut seen) = answer.seen {
            seen["call"] = id.as_str().into();
            self.say(seen)?;
        }
        for mut change in self.news_of_transaction()? {
            change["call"] = id.as_str().into();
            self.say(change)?;
        }
        let outcome = if answer.is_ok { "ok" } else { "failed" };
        let mut result = json!({
            "kind": "tool.result", "call": id, "outcome": outcome, "dur": duration,
            "output": answer.output,
        });
        if let Some(code) = answer.code {
            result["exit"] = code.into();
        }
        self.news
            .push(json!({"role": "tool", "id": id, "content": answer.output}));
        self.say(result)
    }

    fn act(&mut self, call: &Call<'_>) -> Result<Answer> {
        match call.act {
            Act::Bash(command) => {
                let ran = self.run(command, "")?;
                Ok(Answer {
                    is_ok: ran.code == 0,
                    code: Some(ran.code),
                    output: ran.text,
                    seen: None,
                })
            }
            Act::Read(path) => {
                let text = self.read(path)?;
                let seen = json!({"kind": "fs.observe", "path": path, "text": text});
                Ok(Answer {
                    seen: Some(seen),
                    ..Answer::ok(&text)
                })
            }
            Act::Edit { path, old, new } => {
                let text = self.read(path)?;
                if text.matches(old).count() != 1 {
                    return Ok(Answer {
                        is_ok: false,
                        ..Answer::ok("old_string was not found exactly once in the file")
                    });
                }
                self.write(path, &text.replacen(old, new, 1))?;
                Ok(Answer::ok("edited"))
            }
            Act::Write { path, text } => {
                self.write(path, text)?;
                Ok(Answer::ok("written"))
            }
        }
    }

    fn read(&mut self, path: &str) -> Result<String> {
        Ok(self.run(&format!("cat '{path}'"), "")?.text)
    }

    fn write(&mut self, path: &str, text: &str) -> Result<()> {
        let ran = self.run(&format!("cat > '{path}'"), text)?;
        if ran.code == 0 {
            Ok(())
        } else {
            Err(ran.text.into())
        }
    }

    /// Runs a shell command in the transaction that is open, or in one of its own.
    fn run(&mut self, command: &str, input: &str) -> Result<Ran> {
        if let Some(open) = &self.open {
            let id = open.id.clone();
            return self.exec(&id, command, input);
        }
        let id = self.begin()?;
        let ran = self.exec(&id, command, input)?;
        self.txn(&["commit", &id, "--yes"])?;
        Ok(ran)
    }

    fn exec(&mut self, id: &str, command: &str, input: &str) -> Result<Ran> {
        let start = Instant::now();
        let mut child = jukebox(&self.world)
            .args(["txn", "exec", id, "--", "sh", "-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut pipe = child.stdin.take().ok_or("no pipe")?;
        pipe.write_all(input.as_bytes())?;
        drop(pipe);
        let output = child.wait_with_output()?;
        self.busy += start.elapsed();
        let mut text = String::from_utf8(output.stdout)?;
        text.push_str(&String::from_utf8(output.stderr)?);
        let code = output.status.code().ok_or("it was killed")?;
        if code == 125 {
            return Err(text.into());
        }
        Ok(Ran { code, text })
    }

    fn begin(&self) -> Result<String> {
        let workspace = self.workspace.to_str().ok_or("a name that is not UTF-8")?;
        let id = self.txn(&["begin", "--dir", workspace])?;
        Ok(id.trim().to_owned())
    }

    fn txn(&self, words: &[&str]) -> Result<String> {
        let output = jukebox(&self.world).arg("txn").args(words).output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        Err(String::from_utf8(output.stderr)?.into())
    }

    /// What the open transaction changed since it was asked last, as its own tape tells it.
    fn news_of_transaction(&mut self) -> Result<Vec<Value>> {
        let Some(open) = &mut self.open else {
            return Ok(Vec::new());
        };
        let tapes = self.workspace.join(".jukebox/tapes");
        let tape = fs::read_to_string(tapes.join(format!("{}.jsonl", open.id)))?;
        let mut news = Vec::new();
        for line in tape.lines().skip(open.told) {
            open.told += 1;
            let mut event: Value = serde_json::from_str(line)?;
            let kind = event["kind"].as_str().unwrap_or_default();
            if kind.starts_with("fs.")
                && let Some(fields) = event.as_object_mut()
            {
                // What only the transaction's own tape knows.
                fields.retain(|name, _| !matches!(&**name, "seq" | "t" | "step" | "prev"));
                news.push(event);
            }
        }
        Ok(news)
    }
}

/// The program that this is, as a user with an empty home runs it.
fn jukebox(world: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .env("HOME", world.join("home"))
        .env("XDG_STATE_HOME", world.join("state"))
        .env("XDG_RUNTIME_DIR", world.join("run"))
        .stdin(Stdio::null());
    command
}

/// A call that the script asks for.
struct Call<'a> {
    tool: &'static str,
    arguments: Value,
    title: &'a str,
    act: Act<'a>,
}

enum Act<'a> {
    Bash(&'a str),
    Read(&'a str),
    Edit {
        path: &'a str,
        old: &'a str,
        new: &'a str,
    },
    Write {
        path: &'a str,
        text: &'a str,
    },
}

impl<'a> Call<'a> {
    /// `None`: this step is no call.
    fn of(step: &'a Value) -> Option<Self> {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        let (tool, arguments, title, act) = if let Some(command) = text("bash") {
            let arguments = json!({"command": command});
            ("Bash", arguments, command, Act::Bash(command))
        } else if let Some(path) = text("read") {
            ("Read", json!({"path": path}), path, Act::Read(path))
        } else if let (Some(path), Some(old), Some(new)) = (text("edit"), text("old"), text("new"))
        {
            let arguments = json!({"path": path, "old_string": old, "new_string": new});
            ("Edit", arguments, path, Act::Edit { path, old, new })
        } else if let (Some(path), Some(text)) = (text("write"), text("text")) {
            let arguments = json!({"path": path, "content": text});
            ("Write", arguments, path, Act::Write { path, text })
        } else {
            return None;
        };
        Some(Self {
            tool,
            arguments,
            title,
            act,
        })
    }
}

/// What a call returned.
struct Answer {
    is_ok: bool,
    code: Option<i32>,
    output: String,
    /// The file that it showed.
    seen: Option<Value>,
}

impl Answer {
    fn ok(output: &str) -> Self {
        Self {
            is_ok: true,
            code: None,
            output: output.to_owned(),
            seen: None,
        }
    }
}

/// How a command ended, and what it said.
struct Ran {
    code: i32,
    text: String,
}

/// Copies what is in a directory into one that is there.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&to)?;
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
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
