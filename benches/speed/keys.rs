//! How long keys take: from the moment a key is written to the frame that shows where it
//! led, as a terminal sees it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::measure::{self, QUIET, Result};
use crate::pty::Pty;
use crate::spread::Spread;

/// How long one sort of key takes.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// What was done.
    pub(crate) name: &'static str,
    /// To the end of the frame that shows where the key led.
    pub(crate) frame: Spread,
    /// To the end of the last frame that it caused, colours and all.
    pub(crate) settled: Spread,
}

/// What is typed at every place that the playhead is put to: keys with a name are timed.
type Script = [(&'static str, &'static str)];

/// What every tape answers.
const COMMON: &Script = &[
    ("step on", "l"),
    ("step back", "h"),
    ("", "1"),
    ("half a page", "\x04"),
    ("", "2"),
    ("", "G"),
    ("open or fold", "\r"),
    ("", "\x1b"),
    ("", "1"),
];

/// What there is to do on a tape of steps: the step that the playhead is put to changed the
/// file that most others changed, too.
const ALL: &Script = &[
    ("next version", "}"),
    ("version before", "{"),
    ("step on", "l"),
    ("step back", "h"),
    ("", "3"),
    ("open a file", "\r"),
    ("step on, file open", "l"),
    ("next version, file open", "}"),
    ("", "\x1b"),
    ("", "1"),
    ("half a page", "\x04"),
    ("next failure", "e"),
    ("failure before", "E"),
    ("next branch", "b"),
    ("main line again", "b"),
    ("next hit", "n"),
    ("hit before", "N"),
];

/// Which keys are pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that every tape answers.
    Common,
    /// All that a tape of steps answers.
    All,
}

/// Presses keys at so many places all over the tape.
pub(crate) fn measure(path: &Path, steps: u64, places: u64, which: Which) -> Result<Vec<Keys>> {
    let mut pty = measure::open(path)?;
    pty.settle(QUIET)?;
    let script = match which {
        Which::Common => COMMON,
        Which::All => ALL,
    };
    if which == Which::All {
        // Every prompt has it, so the search ends at its limit.
        pty.send(b"/needlework\r")?;
        pty.settle(10 * QUIET)?;
    }
    let mut all = vec![Keys::of("go to a step")];
    for turn in 0..places {
        let mut step = place(turn, steps);
        if which == Which::All {
            step = 1 + step / 16 * 16;
        }
        pty.send(format!(":{step}").as_bytes())?;
        pty.settle(QUIET)?;
        let jump = timed(&mut pty, b"\r")?;
        Keys::add(&mut all, "go to a step", jump);
        for (name, key) in script {
            if name.is_empty() {
                pty.send(key.as_bytes())?;
                pty.settle(QUIET)?;
            } else {
                let time = timed(&mut pty, key.as_bytes())?;
                Keys::add(&mut all, name, time);
            }
        }
    }
    measure::quit(pty)?;
    Ok(all)
}

/// Measures differences from one place to another, anywhere on the tape.
pub(crate) fn differences(path: &Path, steps: u64, places: u64) -> Result<Keys> {
    let mut pty = measure::open(path)?;
    pty.settle(QUIET)?;
    let mut keys = Keys::of("difference of any two steps");
    for turn in 0..places {
        pty.send(format!(":{}\r", place(2 * turn, steps)).as_bytes())?;
        pty.settle(QUIET)?;
        pty.send(b"d")?;
        pty.settle(QUIET)?;
        pty.send(format!(":{}", place(2 * turn + 1, steps)).as_bytes())?;
        pty.settle(QUIET)?;
        keys.push(timed(&mut pty, b"\r")?);
        pty.send(b"d")?;
        pty.settle(QUIET)?;
    }
    measure::quit(pty)?;
    Ok(keys)
}

/// All of them as one.
pub(crate) fn together(keys: &[Keys]) -> Keys {
    let mut all = Keys::default();
    for keys in keys {
        all.frame.0.extend(&keys.frame.0);
        all.settled.0.extend(&keys.settled.0);
    }
    all
}

impl Keys {
    fn of(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn push(&mut self, (frame, settled): (Duration, Duration)) {
        self.frame.0.push(frame);
        self.settled.0.push(settled);
    }

    /// Adds a time to those of the same name.
    fn add(all: &mut Vec<Self>, name: &'static str, time: (Duration, Duration)) {
        if let Some(keys) = all.iter_mut().find(|keys| keys.name == name) {
            keys.push(time);
            return;
        }
        let mut keys = Self::of(name);
        keys.push(time);
        all.push(keys);
    }
}

/// A golden ratio's walk: every region of the tape, in no order.
pub(crate) fn place(turn: u64, steps: u64) -> u64 {
    1 + (turn * 618_033_988_749 / 1_000_003) % (steps - 1)
}

/// Presses a key; until the frame that says where it led, and until the last.
///
/// Where it led is what the first row says in the end. A key that leads nowhere is over
/// with the first frame that answers it.
fn timed(pty: &mut Pty, key: &[u8]) -> Result<(Duration, Duration)> {
    let before = heading(pty);
    let start = Instant::now();
    pty.send(key)?;
    let mut frames = Vec::new();
    let mut patience = 100 * QUIET;
    while pty.read(patience)? {
        frames.push((Instant::now(), heading(pty)));
        patience = QUIET;
    }
    let Some((last, end)) = frames.last().cloned() else {
        return Err(format!("nothing came of {key:?}:\n{}", pty.screen().contents()).into());
    };
    let mut shown = frames.iter().filter(|(_, heading)| *heading == end);
    let shown = shown.next().filter(|_| end != before);
    let shown = shown.or(frames.first()).map_or(last, |(time, _)| *time);
    Ok((shown - start, last - start))
}

/// The first row, which says the step.
fn heading(pty: &Pty) -> String {
    let mut rows = pty.screen().rows(0, measure::SIZE.0);
    rows.next().unwrap_or_default()
}
