//! What a hook costs an agent: the whole process, from its start to its end, in a workspace of
//! a thousand files, beside a start of the program that does nothing.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::beside::{cases, clock};
use crate::spread::Spread;
use crate::{Result, Scratch};

const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");
const FILES: usize = 1000;
const CALLS: usize = 100;

pub(crate) fn run() -> Result {
    let scratch = Home(Scratch::new("hooked"));
    let home = &scratch.0.0;
    for below in ["w", "run"] {
        fs::create_dir_all(home.join(below))?;
    }
    for number in 0..FILES {
        fs::write(home.join(format!("w/{number}")), "a file\n")?;
    }
    let bare = times(|_| version(home))?;
    hook(home, "SessionStart", json!({"source": "startup"}))?;
    let before = times(|number| {
        let more =
            json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": number.to_string()});
        hook(home, "PreToolUse", more)
    })?;
    let after = times(|number| {
        fs::write(home.join(format!("w/{number}")), "another\n")?;
        let more = json!({"tool_name": "Bash", "tool_use_id": number.to_string(), "tool_response": "done"});
        hook(home, "PostToolUse", more)
    })?;
    hook(home, "SessionEnd", json!({"reason": "other"}))?;
    let beside = "a start alone";
    cases(
        "before a call, nothing changed",
        "a hook",
        &before,
        beside,
        &bare,
    );
    cases(
        "after a call, one file changed",
        "a hook",
        &after,
        beside,
        &bare,
    );
    Ok(())
}

fn times(mut what: impl FnMut(usize) -> Result) -> Result<Spread> {
    let mut spread = Spread::default();
    for number in 0..CALLS {
        let mut done = Ok(());
        spread.0.push(clock(|| done = what(number)));
        done?;
    }
    Ok(spread)
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home.join("run"))
        .stdout(Stdio::null());
    command
}

fn version(home: &Path) -> Result {
    let status = program(home).arg("--version").status()?;
    ended(status.success())
}

fn hook(home: &Path, event: &str, mut record: Value) -> Result {
    let fields = [("session_id", "bench"), ("hook_event_name", event)];
    for (name, value) in fields {
        record[name] = value.into();
    }
    record["cwd"] = home.join("w").to_string_lossy().into();
    let mut child = program(home).arg("hook").stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(record.to_string().as_bytes())?;
    }
    ended(child.wait()?.success())
}

fn ended(is_well: bool) -> Result {
    is_well
        .then_some(())
        .ok_or_else(|| "the program failed".into())
}

/// A home directory, gone when it is dropped.
struct Home(Scratch);

impl Drop for Home {
    fn drop(&mut self) {
        // What cannot be removed lies in the target directory.
        let _removed = fs::remove_dir_all(&self.0.0);
    }
}
