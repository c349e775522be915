//! The real program, from outside: how it is opened and closed, and what that takes.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::pty::Pty;
use crate::spread::Spread;
use crate::tapes::LAST_STEP;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");
pub(crate) const SIZE: (u16, u16) = (200, 60);
/// Beyond this the program hangs.
const PATIENCE: Duration = Duration::from_mins(5);
/// After a frame, this long without another one means that nothing more comes.
pub(crate) const QUIET: Duration = Duration::from_millis(60);
const RUNS: usize = 5;
/// So long it may take to keep the index of a tape.
const PATIENCE_TO_KEEP: Duration = Duration::from_secs(2);
const TERM: (&str, &str) = ("TERM", "xterm-256color");

/// How a run opens.
pub(crate) struct Opening {
    /// From the start of the program to the first frame that shows a step.
    pub(crate) first: Duration,
    /// To the first frame that shows the last step.
    pub(crate) whole: Duration,
    /// What it is measured by.
    pub(crate) beside: Duration,
    /// Anonymous memory after that, in bytes.
    pub(crate) anonymous: u64,
}

/// Opens the run, and times what stands beside it, in turn.
pub(crate) fn opening(path: &Path, beside: impl Fn(&Path) -> Result<Duration>) -> Result<Opening> {
    // Once for the page cache.
    beside(path)?;
    let (mut first, mut whole, mut other) =
        (Spread::default(), Spread::default(), Spread::default());
    let mut anonymous = Vec::new();
    for _ in 0..RUNS {
        other.0.push(beside(path)?);
        let start = Instant::now();
        let mut pty = spawn(path)?;
        wait(&mut pty, |words| words.contains("step "))?;
        first.0.push(start.elapsed());
        wait(&mut pty, |words| words.contains(LAST_STEP))?;
        whole.0.push(start.elapsed());
        pty.settle(QUIET)?;
        anonymous.push(anonymous_memory(&pty)?);
        quit(pty)?;
    }
    anonymous.sort_unstable();
    Ok(Opening {
        first: first.median(),
        whole: whole.median(),
        beside: other.median(),
        anonymous: anonymous.get(RUNS / 2).copied().unwrap_or_default(),
    })
}

/// The anonymous memory of the program itself: with a run of one step, written to `path`.
pub(crate) fn bare(path: &Path) -> Result<u64> {
    let header = r#"{"seq":0,"kind":"tape","format":1,"id":"bare"}"#;
    let step = format!(r#"{{"seq":1,"kind":"prompt","name":"user","text":"{LAST_STEP}"}}"#);
    fs::write(path, format!("{header}\n{step}\n"))?;
    let mut pty = open(path)?;
    pty.settle(QUIET)?;
    let anonymous = anonymous_memory(&pty)?;
    quit(pty)?;
    fs::remove_file(path)?;
    Ok(anonymous)
}

/// Opens the run and waits for its last step.
pub(crate) fn open(path: &Path) -> Result<Pty> {
    let mut pty = spawn(path)?;
    wait(&mut pty, |words| words.contains(LAST_STEP))?;
    Ok(pty)
}

/// How long it takes to open a tape whose index was kept, to its last step; `None` where
/// nothing is kept of so small a tape.
pub(crate) fn reopening(path: &Path) -> Result<Option<Duration>> {
    let cache = path.with_extension("cache");
    let directory = cache.to_str().ok_or("a path that is no text")?;
    let around = [TERM, ("XDG_CACHE_HOME", directory)];
    let open = || -> Result<Pty> {
        let mut pty = spawn_in(path, &around)?;
        wait(&mut pty, |words| words.contains(LAST_STEP))?;
        Ok(pty)
    };
    let mut first = open()?;
    // Who closes a screen waits a moment for what is being kept, and no longer.
    first.settle(PATIENCE_TO_KEEP)?;
    quit(first)?;
    if fs::read_dir(cache.join("jukebox/index")).is_err() {
        return Ok(None);
    }
    let mut times = Spread::default();
    for _ in 0..RUNS {
        let start = Instant::now();
        let pty = open()?;
        times.0.push(start.elapsed());
        quit(pty)?;
    }
    fs::remove_dir_all(cache)?;
    Ok(Some(times.median()))
}

fn spawn(path: &Path) -> Result<Pty> {
    // No home: nothing is kept, and nothing that was kept is found.
    spawn_in(path, &[TERM])
}

fn spawn_in(path: &Path, environment: &[(&str, &str)]) -> Result<Pty> {
    let path = path.to_str().ok_or("a path that is no text")?;
    Ok(Pty::spawn(SIZE, [PROGRAM, "open", path], environment)?)
}

fn wait(pty: &mut Pty, is_shown: impl Fn(&str) -> bool) -> Result<()> {
    if pty.wait_for(PATIENCE, |screen| is_shown(&screen.contents()))? {
        return Ok(());
    }
    Err(format!(
        "what was waited for never came:\n{}",
        pty.screen().contents()
    )
    .into())
}

/// Closes the program.
pub(crate) fn quit(mut pty: Pty) -> Result<()> {
    pty.send(b"q")?;
    match pty.wait(PATIENCE)? {
        Some(status) if status.success() => Ok(()),
        other => Err(format!("q ended with {other:?}").into()),
    }
}

/// How long `wc -l` of a file takes.
pub(crate) fn wc(path: &Path) -> Result<Duration> {
    let start = Instant::now();
    let status = Command::new("wc")
        .arg("-l")
        .arg(path)
        .stdout(Stdio::null())
        .status()?;
    let time = start.elapsed();
    if status.success() {
        return Ok(time);
    }
    Err(io::Error::other(format!("wc ended with {status}")).into())
}

fn anonymous_memory(pty: &Pty) -> Result<u64> {
    let rollup = format!("/proc/{}/smaps_rollup", pty.id().as_raw_nonzero());
    let rollup = fs::read_to_string(rollup)?;
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    Ok(kilobytes
        .ok_or("no figure for anonymous memory")?
        .parse::<u64>()?
        * 1024)
}
