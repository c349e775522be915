//! How fast the parts are, each beside something that has to be done in any case.
//!
//!     cargo bench --bench parts                  all of them
//!     cargo bench --bench parts -- state diff    some of them
//!
//! The parts: index, state, events, diff, highlight, draw, recorder, capture, hook, sandbox,
//! blame, bisect, fork, replay, redact. A row names what is done, how long one of it takes, and how often that is the time of what stands beside
//! it: both in turn, in this process, medians of seven rounds. Where single cases matter
//! it names the median and the 99th of a hundred instead. This prints and judges nothing.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

#[path = "parts/beside.rs"]
mod beside;
#[path = "parts/bisect.rs"]
mod bisect;
#[path = "parts/blame.rs"]
mod blame;
#[path = "parts/capture.rs"]
mod capture;
#[path = "parts/diff.rs"]
mod diff;
#[path = "parts/draw.rs"]
mod draw;
#[path = "parts/events.rs"]
mod events;
#[path = "parts/fork.rs"]
mod fork;
#[path = "parts/highlight.rs"]
mod highlight;
#[path = "parts/hook.rs"]
mod hook;
#[path = "parts/index.rs"]
mod index;
#[path = "parts/recorder.rs"]
mod recorder;
#[path = "parts/redact.rs"]
mod redact;
#[path = "parts/replay.rs"]
mod replay;
#[path = "parts/sandbox.rs"]
mod sandbox;
#[path = "speed/spread.rs"]
mod spread;
#[path = "parts/state.rs"]
mod state;
#[path = "speed/tapes.rs"]
#[expect(dead_code, reason = "the program's benchmark uses more of it")]
mod tapes;
#[path = "parts/text.rs"]
mod text;

use std::error::Error;
use std::path::PathBuf;

/// What a part comes to: rows that were printed, or why there are none.
type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Measures a part and prints its rows.
type Run = fn() -> Result;

const PARTS: [(&str, Run); 15] = [
    ("index", index::run),
    ("state", state::run),
    ("events", events::run),
    ("diff", diff::run),
    ("highlight", highlight::run),
    ("draw", draw::run),
    ("recorder", recorder::run),
    ("capture", capture::run),
    ("hook", hook::run),
    ("sandbox", sandbox::run),
    ("blame", blame::run),
    ("bisect", bisect::run),
    ("fork", fork::run),
    ("replay", replay::run),
    ("redact", redact::run),
];

fn main() -> Result {
    // Cargo adds `--bench`.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| name != "--bench")
        .collect();
    let is_part = |name: &String| PARTS.iter().any(|(part, _)| part == name);
    if let Some(unknown) = wanted.iter().find(|name| !is_part(name)) {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        return Err(format!("no part is called {unknown}; parts: {parts}").into());
    }
    for (part, run) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|name| name == part) {
            println!("\n{part}");
            run()?;
        }
    }
    Ok(())
}

/// A file in the directory of benchmarks, gone when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("{name}.{}", std::process::id());
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the target directory.
        let _removed = std::fs::remove_file(&self.0);
    }
}

/// A generated tape in memory.
fn tape(shape: tapes::Shape, scale: f64) -> Result<(Vec<u8>, tapes::Written)> {
    let scratch = Scratch::new(shape.name());
    let written = shape.write(&scratch.0, scale, 1)?;
    Ok((std::fs::read(&scratch.0)?, written))
}
