//! The real program in a real (pseudo-)terminal: every way out leaves the terminal as it
//! was, nothing of a tape reaches it unseen, and no size of it is too odd.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

#[path = "terminal/asking.rs"]
mod asking;
#[path = "terminal/forks.rs"]
mod forks;
#[path = "support/frames.rs"]
mod frames;
#[path = "terminal/hostile.rs"]
mod hostile;
#[path = "support/hostile_tape.rs"]
mod hostile_tape;
#[path = "terminal/leaving.rs"]
mod leaving;
#[path = "terminal/progress.rs"]
mod progress;
#[path = "support/pty.rs"]
mod pty;
#[path = "terminal/recording.rs"]
mod recording;
#[path = "support/tapes.rs"]
mod tapes;
#[path = "terminal/using.rs"]
mod using;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Pid;
use tempfile::TempDir;

use pty::Pty;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");
const SIZE: (u16, u16) = (120, 40);
/// Much longer than anything here takes, also on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(100);

/// The modes that the screen switches on, each as it is switched off.
const MODES: [&str; 3] = ["1004", "2004", "1049"];
/// Modes of the mouse, and whether we switch them on. All are switched off, for those who left
/// them on.
const MOUSE: [(&str, bool); 5] = [
    ("1000", true),
    ("1002", true),
    ("1003", false),
    ("1006", true),
    ("1015", false),
];

/// A world of its own, with one tape in it.
struct World {
    directory: TempDir,
    tape: PathBuf,
}

impl World {
    fn new(tape: impl AsRef<[u8]>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.jsonl");
        fs::write(&path, tape).unwrap();
        Self {
            directory,
            tape: path,
        }
    }

    /// The program on the tape, once it shows it.
    fn open(&self, environment: &[(&str, &str)]) -> Pty {
        let mut pty = self.start(environment);
        let shown = pty.wait_for(PATIENCE, |screen| {
            screen.contents().contains(tapes::LAST_STEP)
        });
        assert!(shown.unwrap(), "{}", pty.screen().contents());
        pty.settle(QUIET).unwrap();
        pty
    }

    /// The program on the tape as it grows.
    fn follow(&self) -> Pty {
        let mut pty = self.start_as(&[], &["--follow"], &[]);
        let shown = pty.wait_for(PATIENCE, |screen| {
            screen.contents().contains(tapes::LAST_STEP)
        });
        assert!(shown.unwrap(), "{}", pty.screen().contents());
        pty
    }

    /// The program without a tape.
    fn choose(&self) -> Pty {
        self.run(&[PROGRAM], &[])
    }

    /// What the program shows of the tape, after these keys, when all of it stands there.
    fn frame(&self, keys: &str) -> String {
        let file = self.directory.path().join("frame.txt");
        let (columns, rows) = SIZE;
        let status = Command::new(PROGRAM)
            .arg("open")
            .arg(&self.tape)
            .args(["--size", &format!("{columns}x{rows}"), "--keys", keys])
            .arg("--frame")
            .arg(&file)
            .env_clear()
            .env("HOME", self.directory.path())
            .status();
        assert!(status.unwrap().success());
        without_ends(&fs::read_to_string(file).unwrap())
    }

    fn start(&self, environment: &[(&str, &str)]) -> Pty {
        self.start_as(&[], &[], environment)
    }

    /// The program with these words before it and these behind it.
    fn start_as(&self, before: &[&str], behind: &[&str], environment: &[(&str, &str)]) -> Pty {
        let program = [PROGRAM, "open", self.tape.to_str().unwrap()];
        self.run(&[before, &program, behind].concat(), environment)
    }

    fn run(&self, command: &[&str], environment: &[(&str, &str)]) -> Pty {
        let home = self.directory.path().to_str().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut all = vec![("HOME", home), ("PATH", &path), ("TERM", "xterm-256color")];
        all.extend(environment);
        Pty::spawn(SIZE, command.to_vec(), &all).unwrap()
    }
}

/// Rows without the blanks behind them.
fn without_ends(frame: &str) -> String {
    let rows: Vec<&str> = frame.trim_end().lines().map(str::trim_end).collect();
    rows.join("\n")
}

fn count(bytes: &[u8], what: &str) -> usize {
    memchr::memmem::find_iter(bytes, what).count()
}

/// Everything was switched on and off so many times, in the order that terminals need, and
/// the terminal's modes are the ones from before.
fn check_left_clean(pty: &Pty, times: usize) {
    let bytes = pty.bytes();
    let text = bytes.escape_ascii().to_string();
    for mode in MODES {
        assert_eq!(
            count(bytes, &format!("\x1b[?{mode}h")),
            times,
            "{mode} on: {text}"
        );
        assert_eq!(
            count(bytes, &format!("\x1b[?{mode}l")),
            times,
            "{mode} off: {text}"
        );
    }
    for (mode, is_ours) in MOUSE {
        let on = if is_ours { times } else { 0 };
        assert_eq!(count(bytes, &format!("\x1b[?{mode}h")), on, "{text}");
        assert_eq!(count(bytes, &format!("\x1b[?{mode}l")), times, "{text}");
    }
    let last = |what: &str| memchr::memmem::rfind(bytes, what.as_bytes()).unwrap();
    let order = [
        "\x1b[?1000l",
        "\x1b[?2004l",
        "\x1b[0m",
        "\x1b[?25h",
        "\x1b[?1049l",
    ];
    let places = order.map(last);
    assert!(places.is_sorted(), "{places:?}: {text}");
    assert!(last("\x1b[?25l") < last("\x1b[?25h"), "{text}");
    assert!(!pty.screen().hide_cursor() && !pty.screen().alternate_screen());
    assert_eq!(pty.modes().unwrap(), pty.modes_before());
}

fn after_the_screen(bytes: &[u8]) -> String {
    let leave = "\x1b[?1049l";
    let at = memchr::memmem::rfind(bytes, leave.as_bytes()).unwrap();
    String::from_utf8_lossy(&bytes[at + leave.len()..]).into_owned()
}

/// The letter by which the system calls the state of a process.
fn state_of(process: Pid) -> char {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, after) = stat.rsplit_once(") ").unwrap();
    after.chars().next().unwrap()
}
