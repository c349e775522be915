//! Whether a key costs the same however long the tape is.
//!
//! Twice: as a person feels it, in milliseconds in a terminal, and without any noise, in
//! instructions, by callgrind, of the program that draws a picture after so many keys and
//! after twice as many, on one processor, where it indexes with one thread. Where there is
//! no valgrind, the second is left out.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::keys::{self, Keys, Which, place};
use crate::measure::{PROGRAM, Result};
use crate::table::milliseconds;

/// At how many places keys are counted the first time.
const PLACES: u64 = 8;

/// One size: what its keys took.
pub(crate) struct Flat {
    /// Steps.
    pub(crate) steps: u64,
    /// In a terminal, by what was done.
    pub(crate) keys: Vec<Keys>,
    /// In instructions a key.
    pub(crate) instructions: Option<u64>,
}

impl Flat {
    /// Measures one size, at so many places.
    pub(crate) fn measure(path: &Path, steps: u64, places: u64) -> Result<Self> {
        Ok(Self {
            steps,
            keys: keys::measure(path, steps, places, Which::All)?,
            instructions: instructions(path, steps)?,
        })
    }
}

/// The line that says it all: each size, and what a key takes there.
pub(crate) fn line(sizes: &[Flat]) -> String {
    let mut line = "key→frame p50/p99:".to_owned();
    for (at, size) in sizes.iter().enumerate() {
        let all = keys::together(&size.keys);
        let between = if at > 0 { " ·" } else { "" };
        let steps = match size.steps {
            less if less < 1_000_000 => format!("{}k", less.div_ceil(1000)),
            more => format!("{}M", more.div_ceil(1_000_000)),
        };
        let (p50, p99) = (all.frame.at(0.5), all.frame.at(0.99));
        let times = [p50, p99].map(|time| milliseconds(time.as_secs_f64()));
        // Writing to a string cannot fail.
        let _written = write!(line, "{between} {steps} {}/{}", times[0], times[1]);
        if let Some(count) = size.instructions {
            let _written = write!(line, ", {}k instructions", count / 1000);
        }
    }
    line
}

/// Instructions a key, as callgrind counts them; the opening and the picture are in both
/// counts and stand in none.
fn instructions(path: &Path, steps: u64) -> Result<Option<u64>> {
    let is_there = Command::new("valgrind").arg("--version").output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let (once, keys) = script(steps, PLACES);
    let (twice, all_keys) = script(steps, 2 * PLACES);
    let more = count(path, &twice)?.saturating_sub(count(path, &once)?);
    Ok(Some(more / (all_keys - keys)))
}

/// What is typed, and how many keys that is.
fn script(steps: u64, places: u64) -> (String, u64) {
    const AT_EACH: [&str; 16] = [
        "}", "{", "l", "h", "<Ctrl-d>", "e", "E", "b", "b", "3", "<Enter>", "l", "}", "<Esc>", "1",
        "d",
    ];
    let mut script = String::new();
    let mut keys = 0;
    for turn in 0..places {
        let step = 1 + place(turn, steps) / 16 * 16;
        let typed = format!(":{step}<Enter>");
        keys += 2 + step.to_string().len() as u64 + AT_EACH.len() as u64;
        script.push_str(&typed);
        script.extend(AT_EACH);
    }
    (script, keys)
}

fn count(path: &Path, keys: &str) -> Result<u64> {
    let picture = path.with_extension("txt");
    let output = Command::new("taskset")
        .args([
            "--cpu-list",
            "0",
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            PROGRAM,
            "open",
        ])
        .arg(path)
        .args(["--size", "200x60", "--keys", keys, "--frame"])
        .arg(&picture)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the program drew no picture under callgrind:\n{said}").into());
    }
    std::fs::remove_file(&picture)?;
    let counted = said.lines().find_map(|line| line.split_once("Collected :"));
    let counted = counted.and_then(|(_, count)| count.trim().parse().ok());
    counted.ok_or_else(|| format!("callgrind counted nothing:\n{said}").into())
}
