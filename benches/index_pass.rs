//! How many instructions the index pass takes over fixed tapes: what a busy machine cannot
//! blur, and what may not creep up unseen.
//!
//!     CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo bench --profile dev --bench index_pass
//!     UPDATE=1 CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo bench --profile dev --bench index_pass
//!
//! Small tapes from a seed are indexed under callgrind, files and all, on one thread. The
//! counts are compared with those in `index-pass.txt`: more than a twentieth away ends with
//! code 1, and `UPDATE=1` rewrites them. They hold for the profile of these commands, which
//! builds no dependency anew; a release build is counted and compared with nothing. Without
//! valgrind nothing is counted and nothing fails.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

#[path = "speed/tapes.rs"]
#[expect(dead_code, reason = "the other bench uses more of it")]
mod tapes;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use jukebox::state::State;
use jukebox::tape::{Tape, TapeBytes};
use tapes::Shape;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Each tape with its scale: some seconds each under callgrind.
const TAPES: [(Shape, f64); 3] = [
    (Shape::Big, 0.005),
    (Shape::Many, 0.005),
    (Shape::Tree, 0.01),
];
const SEED: u64 = 1;
/// By this share a count may differ from the one that is kept.
const TOLERANCE: f64 = 0.05;
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/index-pass.txt");
/// Said by this program to itself: index this tape, and nothing else.
const PASS: &str = "--pass";

fn main() -> Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == PASS) {
        let path = arguments.next().ok_or("no tape is named")?;
        return pass(Path::new(&path)).map(|()| ExitCode::SUCCESS);
    }
    if !has("valgrind") || !has("taskset") {
        println!("skipped: instructions are counted by valgrind on one processor (taskset)");
        return Ok(ExitCode::SUCCESS);
    }
    let mut counts = BTreeMap::new();
    for (shape, scale) in TAPES {
        let name = format!("index-pass-{}.jsonl", shape.name());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let written = shape.write(&path, scale, SEED)?;
        let count = count(&path)?;
        let an_event = count / written.events;
        println!(
            "{:5} {count:12} instructions, {an_event} an event",
            shape.name()
        );
        counts.insert(shape.name().to_owned(), count);
        fs::remove_file(&path)?;
    }
    if !cfg!(debug_assertions) {
        println!("compared with nothing: another profile's counts are kept");
        return Ok(ExitCode::SUCCESS);
    }
    if env::var_os("UPDATE").is_some() {
        fs::write(KEPT, to_text(&counts))?;
        return Ok(ExitCode::SUCCESS);
    }
    compare(&counts, &from_text(&fs::read_to_string(KEPT)?))
}

/// What is counted.
fn pass(path: &Path) -> Result<()> {
    let bytes = TapeBytes::Memory(fs::read(path)?.into());
    match Tape::read(bytes, &mut State::default())?.problems().first() {
        Some(problem) => Err(format!("the tape is damaged: {}", problem.message).into()),
        None => Ok(()),
    }
}

/// Runs this program under callgrind on one processor, where a pass starts no threads, and
/// reads from its report how many instructions it took.
fn count(path: &Path) -> Result<u64> {
    let output = Command::new("taskset")
        .args(["-c", "0", "valgrind", "--tool=callgrind"])
        .arg("--callgrind-out-file=/dev/null")
        .arg(env::current_exe()?)
        .arg(PASS)
        .arg(path)
        .output()?;
    let report = String::from_utf8_lossy(&output.stderr);
    let count = report
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, count)| count.trim().parse().ok());
    match count {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(format!("callgrind did not count:\n{report}").into()),
    }
}

fn compare(counts: &BTreeMap<String, u64>, kept: &BTreeMap<String, u64>) -> Result<ExitCode> {
    let mut verdict = ExitCode::SUCCESS;
    for (name, count) in counts {
        let kept = *kept
            .get(name)
            .ok_or(format!("no count of {name} is kept"))?;
        let moved = *count as f64 / kept as f64 - 1.0;
        if moved.abs() > TOLERANCE {
            verdict = ExitCode::FAILURE;
            println!(
                "{name}: {:+.1} % from the {kept} that are kept",
                moved * 100.0
            );
        }
    }
    if verdict != ExitCode::SUCCESS {
        println!(
            "The index pass takes another number of instructions than benches/index-pass.txt \
             says.\nWhere that is meant to be, keep the new counts with\n    UPDATE=1 \
             CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo bench --profile dev --bench index_pass\n\
             Else see where they went: valgrind --tool=callgrind {} {PASS} TAPE",
            env::current_exe()?.display()
        );
    }
    Ok(verdict)
}

fn to_text(counts: &BTreeMap<String, u64>) -> String {
    let mut text = String::new();
    for (name, count) in counts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {count}");
    }
    text
}

fn from_text(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Whether a program of this name is on the path.
fn has(program: &str) -> bool {
    let started = Command::new(program).arg("--version").output();
    !matches!(started, Err(error) if error.kind() == io::ErrorKind::NotFound)
}
