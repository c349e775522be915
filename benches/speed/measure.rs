//! The measurements: all of the real program, from outside.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::pty::Pty;
use crate::tapes::LAST_STEP;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");
const SIZE: (u16, u16) = (200, 60);
/// Beyond this the program hangs.
const PATIENCE: Duration = Duration::from_mins(2);
/// After a frame, this long without another one means that nothing more comes.
const QUIET: Duration = Duration::from_millis(60);
const RUNS: usize = 5;
const KEYS: u64 = 100;

/// How a tape opens.
pub(crate) struct Opening {
    /// From the start of the program to the first frame that shows the last step.
    pub(crate) first_frame: Duration,
    /// `wc -l` of the same file.
    pub(crate) wc: Duration,
    /// Anonymous memory after that, in bytes.
    pub(crate) anonymous: u64,
}

/// Opens the tape and counts its lines, in turn.
pub(crate) fn opening(path: &Path) -> Result<Opening> {
    // Once for the page cache.
    wc(path)?;
    let mut frames = Vec::new();
    let mut counts = Vec::new();
    let mut anonymous = Vec::new();
    for _ in 0..RUNS {
        counts.push(wc(path)?);
        let start = Instant::now();
        let mut pty = open(path)?;
        frames.push(start.elapsed());
        pty.settle(QUIET)?;
        anonymous.push(anonymous_memory(&pty)?);
        quit(pty)?;
    }
    Ok(Opening {
        first_frame: median(frames),
        wc: median(counts),
        anonymous: median(anonymous),
    })
}

/// How long a key takes.
pub(crate) struct Keys {
    /// Which.
    pub(crate) name: &'static str,
    /// To the end of the frame that shows where it led.
    pub(crate) frame: Spread,
    /// To the end of the last frame that it caused, colours and all.
    pub(crate) settled: Spread,
}

/// Presses keys all over the tape.
pub(crate) fn keys(path: &Path, steps: u64) -> Result<Vec<Keys>> {
    let mut pty = open(path)?;
    pty.settle(QUIET)?;
    let mut goto = Spread::default();
    let mut goto_settled = Spread::default();
    let mut next = Spread::default();
    let mut next_settled = Spread::default();
    for turn in 0..KEYS {
        // A golden ratio's walk: every region of the tape, in no order.
        let step = 1 + (turn * 618_033_988_749 / 1_000_003) % (steps - 1);
        pty.send(format!(":{step}").as_bytes())?;
        pty.settle(QUIET)?;
        let (shown, last) = press(&mut pty, b"\r", step)?;
        goto.0.push(shown);
        goto_settled.0.push(last);
        let (shown, last) = press(&mut pty, b"l", step + 1)?;
        next.0.push(shown);
        next_settled.0.push(last);
    }
    quit(pty)?;
    Ok(vec![
        Keys {
            name: "goto",
            frame: goto,
            settled: goto_settled,
        },
        Keys {
            name: "step",
            frame: next,
            settled: next_settled,
        },
    ])
}

/// Presses a key that leads to this step; until the frame that says so, and until the last.
fn press(pty: &mut Pty, key: &[u8], step: u64) -> Result<(Duration, Duration)> {
    let said = format!("{step}/");
    let start = Instant::now();
    pty.send(key)?;
    let mut shown = None;
    let mut last = start;
    while pty.read(QUIET)? {
        last = Instant::now();
        if shown.is_none()
            && pty
                .screen()
                .rows(0, SIZE.0)
                .next()
                .is_some_and(|row| row.contains(&said))
        {
            shown = Some(last);
        }
    }
    let shown = shown.ok_or_else(|| format!("step {step} never came"))?;
    Ok((shown - start, last - start))
}

/// Durations, to be asked for their quantiles.
#[derive(Default)]
pub(crate) struct Spread(Vec<Duration>);

impl Spread {
    /// The duration that this share of them does not exceed, in milliseconds.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (share * sorted.len() as f64).ceil() as usize;
        let duration = sorted.get(index.saturating_sub(1)).copied();
        duration.unwrap_or_default().as_secs_f64() * 1e3
    }
}

fn open(path: &Path) -> Result<Pty> {
    let path = path.to_str().ok_or("a path that is no text")?;
    let mut pty = Pty::spawn(SIZE, [PROGRAM, "open", path], &[("TERM", "xterm-256color")])?;
    if pty.wait_for(PATIENCE, |screen| screen.contents().contains(LAST_STEP))? {
        return Ok(pty);
    }
    Err(format!("the last step never came:\n{}", pty.screen().contents()).into())
}

fn quit(mut pty: Pty) -> Result<()> {
    pty.send(b"q")?;
    match pty.wait(PATIENCE)? {
        Some(status) if status.success() => Ok(()),
        other => Err(format!("q ended with {other:?}").into()),
    }
}

fn wc(path: &Path) -> io::Result<Duration> {
    let start = Instant::now();
    Command::new("wc")
        .arg("-l")
        .arg(path)
        .stdout(Stdio::null())
        .status()?;
    Ok(start.elapsed())
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

fn median<T: Ord + Copy>(mut of: Vec<T>) -> T {
    of.sort_unstable();
    of[of.len() / 2]
}
