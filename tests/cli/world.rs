//! A world for the program: an empty environment, a home of its own, a fixed width, and a
//! working directory with the fixtures in it.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");

/// Set to anything, the golden files are written, not compared.
const UPDATE: &str = "UPDATE";

/// A world that is gone when it is dropped.
pub(crate) struct World {
    directory: TempDir,
}

impl World {
    /// A world with copies of these files of `tests/fixtures/cli`.
    pub(crate) fn new(fixtures: &[&str]) -> Self {
        let world = Self {
            directory: TempDir::new().unwrap(),
        };
        for below in ["work", "home", "run"] {
            fs::create_dir(world.directory.path().join(below)).unwrap();
        }
        for name in fixtures {
            let from = project().join("tests/fixtures/cli").join(name);
            fs::copy(from, world.path(name)).unwrap();
        }
        world
    }

    /// A path in the working directory.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join("work").join(name)
    }

    /// Puts a file into the working directory.
    pub(crate) fn put(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The program, ready to be given arguments.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        self.settle(&mut command);
        command
    }

    /// Makes a command live in this world.
    pub(crate) fn settle(&self, command: &mut Command) {
        let home = self.directory.path().join("home");
        command
            .env_clear()
            .env("HOME", &home)
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_RUNTIME_DIR", self.directory.path().join("run"))
            .env("TMPDIR", self.directory.path())
            .env("COLUMNS", "100")
            .env("TZ", "UTC")
            .current_dir(self.path(""))
            .stdin(Stdio::null());
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Run {
        let output = self.program().args(arguments).output().unwrap();
        Run::new(output)
    }

    /// Runs the program, a word an argument; quotes are not known here.
    pub(crate) fn type_in(&self, words: &str) -> Run {
        let words: Vec<&str> = words.split_whitespace().collect();
        self.run(&words)
    }

    /// What a terminal would show of these commands, one after the other.
    fn transcript(&self, commands: &[&str]) -> String {
        let mut text = String::new();
        for words in commands {
            let run = self.type_in(words);
            let _ = writeln!(text, "$ jukebox {words}");
            text.push_str(&run.stdout());
            if !run.stdout().is_empty() && !run.stdout().ends_with('\n') {
                text.push_str("(no newline)\n");
            }
            for line in run.stderr().lines() {
                let _ = writeln!(text, "! {line}");
            }
            if run.code() != 0 {
                let _ = writeln!(text, "= {}", run.code());
            }
            text.push('\n');
        }
        let directory = self.directory.path().to_string_lossy().into_owned();
        text.replace(&directory, "…")
    }

    /// Compares what these commands print with `tests/cli/golden/NAME.txt`.
    #[track_caller]
    pub(crate) fn check_golden(&self, name: &str, commands: &[&str]) {
        let path = project().join("tests/cli/golden").join(name);
        let path = path.with_extension("txt");
        let found = self.transcript(commands);
        if std::env::var_os(UPDATE).is_some() {
            fs::write(path, found).unwrap();
            return;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if let Some((line, (found, expected))) = first_difference(&found, &expected) {
            assert_eq!(
                found,
                expected,
                "{}, line {line}; {UPDATE}=1 writes it anew",
                path.display()
            );
        }
    }
}

fn first_difference<'a>(one: &'a str, two: &'a str) -> Option<(usize, (&'a str, &'a str))> {
    let ended = std::iter::once("(end)");
    let pairs = one
        .lines()
        .chain(ended.clone())
        .zip(two.lines().chain(ended));
    let mut numbered = (1..).zip(pairs);
    numbered.find(|(_, (one, two))| one != two)
}

/// How a run of the program ended, and what it printed.
pub(crate) struct Run(Output);

impl Run {
    pub(crate) fn new(output: Output) -> Self {
        Self(output)
    }

    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// What it printed, to the byte: standard output, then standard error.
    pub(crate) fn bytes(&self) -> [&[u8]; 2] {
        [&self.0.stdout, &self.0.stderr]
    }
}

/// Where the project lies.
pub(crate) fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where a program of the machine lies, if it is there.
pub(crate) fn program_of_machine(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|directory| directory.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        eprint_skipped(name);
    }
    found
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn eprint_skipped(name: &str) {
    eprintln!("skipped: there is no `{name}` on this machine");
}
