//! What needs no terminal: the slowest differences, and how fast events are recorded.

use std::path::Path;
use std::time::Instant;

use jukebox::model::{Body, Event, Header, Outcome};
use jukebox::tape::{Recorder, RecorderOptions, SyncPolicy};
use jukebox::text::FileDiff;
use jukebox::text::diff::BUDGET;

use crate::measure::Result;
use crate::spread::Spread;
use crate::table::{Row, milliseconds};

/// The longest of the differences that are hard to find.
pub(crate) fn differences() -> Row {
    const LINES: u64 = 200_000;
    const MOST: f64 = 60.0;
    let lines = |factor: u64, different: u64| -> String {
        let line = |number: u64| format!("{}\n", (number * factor) % 1_000_003 % different);
        (0..LINES).map(line).collect()
    };
    let texts = [
        lines(1, 1_000_003),
        lines(7919, 1_000_003),
        lines(7919, 64),
        lines(104_729, 64),
    ];
    let mut longest = 0.0_f64;
    for old in &texts {
        for new in &texts {
            let start = Instant::now();
            let diff = FileDiff::between(Some(old.as_bytes()), Some(new.as_bytes()), BUDGET);
            longest = longest.max(start.elapsed().as_secs_f64());
            std::hint::black_box(diff);
        }
    }
    Row::time("the hardest difference", longest, MOST)
}

/// Events of 4 KB, never synced.
pub(crate) fn recording(directory: &Path) -> Result<Row> {
    const EVENTS: u32 = 50_000;
    const LEAST: f64 = 50_000.0;
    let path = directory.join(format!("recorded.{}.jsonl", std::process::id()));
    let options = RecorderOptions {
        sync: SyncPolicy::None,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::create(&path, Header::default(), options)?;
    let text = "a remark of some length; ".repeat(164);
    let mut spread = Spread::default();
    for _ in 0..EVENTS {
        let event = Event::new(Body::Note { text: text.clone() });
        let start = Instant::now();
        recorder.append(event)?;
        spread.0.push(start.elapsed());
    }
    recorder.close(Outcome::Ok)?;
    std::fs::remove_file(&path)?;
    let seconds: f64 = spread.0.iter().map(std::time::Duration::as_secs_f64).sum();
    let p99 = spread.at(0.99).as_secs_f64();
    let what = format!("recording 4 KB events, p99 {}", milliseconds(p99));
    Ok(Row::rate(&what, f64::from(EVENTS) / seconds, LEAST))
}
