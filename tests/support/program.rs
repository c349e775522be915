//! The program as people call it, in a place of its own: the home directory, the temporary files
//! and the directory it starts in lie there, and nothing of the caller's environment is seen.

use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");

/// What a program said, and its code.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) error: String,
}

/// Has a command run in a place, in which `home` and `tmp` are directories.
pub(crate) fn settle(command: &mut Command, place: &Path) {
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", place.join("home"))
        .env("XDG_RUNTIME_DIR", place.join("home"))
        .env("TMPDIR", place.join("tmp"))
        .env("COLUMNS", "100")
        .current_dir(place)
        .stdin(Stdio::null());
}

/// The program with these words, in a place.
pub(crate) fn program(words: &[&str], place: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    settle(command.args(words), place);
    command
}

/// Runs it to its end.
pub(crate) fn run(mut command: Command) -> Run {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run {
        code: output.status.code().unwrap(),
        output: text(&output.stdout),
        error: text(&output.stderr),
    }
}
