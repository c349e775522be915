//! How fast the real program is, on runs of any size, in a pseudo-terminal.
//!
//!     cargo bench --bench speed                              everything, at a tenth of its size
//!     cargo bench --bench speed -- --scale 1 big             one tape, in full
//!     cargo bench --bench speed -- --scale 1 --markdown      only the table, for the README
//!     cargo bench --bench speed -- --write DIR --scale 1 tree     only the tape
//!
//! What there is: big, many, tree (tapes), transcript, diff, recorder, and flat: whether a
//! key costs the same at any number of steps. Times are medians of five, or the 99th of
//! some hundred; files are in the page cache; what a time is measured by is timed in turn
//! with it. It ends with a table of goals. This prints and judges nothing: a benchmark is
//! no test.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

#[path = "speed/flat.rs"]
mod flat;
#[path = "speed/keys.rs"]
mod keys;
#[path = "speed/measure.rs"]
mod measure;
#[path = "../tests/support/pty.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod pty;
#[path = "speed/rates.rs"]
mod rates;
#[path = "speed/spread.rs"]
mod spread;
#[path = "speed/table.rs"]
mod table;
#[path = "speed/tapes.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod tapes;
#[path = "speed/transcript.rs"]
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};

use flat::Flat;
use keys::Which;
use measure::Result;
use table::Row;
use tapes::{Shape, Written};

/// At how many places keys are pressed.
const PLACES: u64 = 40;

/// A frame at 60 Hz, in milliseconds: no key may take longer.
const FRAME: f64 = 16.0;

/// What a tape may take that was opened before, in milliseconds.
const REOPENED: f64 = 100.0;

fn main() -> Result<()> {
    let options = Options::read(std::env::args().skip(1))?;
    fs::create_dir_all(&options.directory)?;
    let mut rows = Vec::new();
    let mut flat = Vec::new();
    for subject in &options.subjects {
        match subject {
            Subject::Tape(shape) => options.tape(*shape, &mut rows)?,
            Subject::Transcript => options.transcript(&mut rows)?,
            Subject::Diff if !options.only_writes => rows.push(rates::differences()),
            Subject::Recorder if !options.only_writes => {
                rows.push(rates::recording(&options.directory)?);
            }
            Subject::Flat => flat = options.flat()?,
            Subject::Diff | Subject::Recorder => {}
        }
    }
    if !rows.is_empty() {
        println!("\n{}", table::markdown(&rows));
    }
    if !flat.is_empty() {
        println!("{}", flat::line(&flat));
    }
    Ok(())
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Tape(Shape),
    Transcript,
    Diff,
    Recorder,
    Flat,
}

impl Subject {
    const ALL: [(&str, Self); 7] = [
        ("big", Self::Tape(Shape::Big)),
        ("many", Self::Tape(Shape::Many)),
        ("tree", Self::Tape(Shape::Tree)),
        ("transcript", Self::Transcript),
        ("diff", Self::Diff),
        ("recorder", Self::Recorder),
        ("flat", Self::Flat),
    ];
}

/// What was asked on the command line.
struct Options {
    subjects: Vec<Subject>,
    scale: f64,
    seed: u64,
    directory: PathBuf,
    /// Files are written and kept, and nothing is measured.
    only_writes: bool,
    is_quiet: bool,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            subjects: Vec::new(),
            scale: 0.1,
            seed: 1,
            directory: PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
            only_writes: false,
            is_quiet: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--scale" => options.scale = value()?.parse()?,
                "--seed" => options.seed = value()?.parse()?,
                "--markdown" => options.is_quiet = true,
                "--write" => {
                    options.directory = value()?.into();
                    options.only_writes = true;
                }
                // Cargo adds it.
                "--bench" => {}
                name => {
                    let subject = Subject::ALL.into_iter().find(|(known, _)| *known == name);
                    let names = || Subject::ALL.map(|(name, _)| name).join(", ");
                    let subject = subject
                        .ok_or_else(|| format!("there is no {name}; there is: {}", names()))?;
                    options.subjects.push(subject.1);
                }
            }
        }
        if options.subjects.is_empty() {
            options
                .subjects
                .extend(Subject::ALL.map(|(_, subject)| subject));
        }
        Ok(options)
    }

    fn say(&self, words: &str) {
        if !self.is_quiet {
            println!("{words}");
        }
    }

    /// Writes a tape, and does something with it, unless it is only written.
    fn with_tape(
        &self,
        shape: Shape,
        scale: f64,
        work: impl FnOnce(&Path, &Written) -> Result<()>,
    ) -> Result<()> {
        let path = self.directory.join(format!("{}.jsonl", shape.name()));
        let written = shape.write(&path, scale, self.seed)?;
        self.say(&format!(
            "\n{} × {scale}: {:.1} MB, {} events, {} steps, {} file events",
            shape.name(),
            written.bytes as f64 / 1e6,
            written.events,
            written.steps,
            written.file_events,
        ));
        if self.only_writes {
            return Ok(());
        }
        let worked = work(&path, &written);
        fs::remove_file(&path)?;
        worked
    }

    fn tape(&self, shape: Shape, rows: &mut Vec<Row>) -> Result<()> {
        self.with_tape(shape, self.scale, |path, written| {
            let name = shape.name();
            let open = measure::opening(path, measure::wc)?;
            let wc = (open.beside.as_secs_f64(), "wc -l");
            let opens = [("first rows", open.first), ("all of it", open.whole)];
            rows.extend(opens.map(|(part, time)| {
                let (what, time) = (format!("{name}: {part}"), time.as_secs_f64());
                match shape {
                    Shape::Big => Row::ratio(&what, time, 1.5, wc),
                    Shape::Many => Row::ratio(&what, time, 6.0, wc),
                    Shape::Tree | Shape::Steps => Row::beside(&what, time, wc),
                }
            }));
            if let Some(again) = measure::reopening(path)? {
                let what = format!("{name}: opened again");
                rows.push(Row::time(&what, again.as_secs_f64(), REOPENED));
            }
            let bound = 16 * written.events + 20 * written.file_events + written.path_bytes;
            let own = measure::bare(&path.with_extension("bare"))?;
            rows.push(Row::memory(
                &format!(
                    "{name}: memory beyond the program's own {}",
                    table::megabytes(own)
                ),
                open.anonymous.saturating_sub(own),
                bound,
            ));
            let mut keys = keys::measure(path, written.steps, PLACES, Which::Common)?;
            if shape == Shape::Tree {
                keys.push(keys::differences(path, written.steps, PLACES)?);
            }
            self.list(&keys);
            let (last, others) = keys.split_at(keys.len() - usize::from(shape == Shape::Tree));
            rows.push(key_row(
                &format!("{name}: a key, p99"),
                &keys::together(last),
            ));
            rows.extend(
                others
                    .iter()
                    .map(|keys| key_row(&format!("{name}: {}, p99", keys.name), keys)),
            );
            Ok(())
        })
    }

    fn list(&self, all: &[keys::Keys]) {
        for keys in all {
            let time = |share| {
                let time =
                    |spread: &spread::Spread| table::milliseconds(spread.at(share).as_secs_f64());
                [time(&keys.frame), time(&keys.settled)]
            };
            let ([frame, settled], [late_frame, late_settled]) = (time(0.5), time(0.99));
            self.say(&format!(
                "  {:30} frame {frame:>7}, p99 {late_frame:>7}; all of it {settled:>7}, p99 {late_settled:>7}",
                keys.name
            ));
        }
    }

    fn transcript(&self, rows: &mut Vec<Row>) -> Result<()> {
        const BYTES: f64 = 1e9;
        let path = self.directory.join("transcript-of-a-session.jsonl");
        let records = transcript::write(&path, (BYTES * self.scale) as u64, self.seed)?;
        self.say(&format!("\ntranscript × {}: {records} records", self.scale));
        if self.only_writes {
            return Ok(());
        }
        let opened = measure::opening(&path, measure::wc);
        let typed = spread::Spread(
            (0..5)
                .map(|_| transcript::typed(&path))
                .collect::<Result<_>>()?,
        );
        fs::remove_file(&path)?;
        let open = opened?;
        let wc = (open.beside.as_secs_f64(), "wc -l");
        let serde = (typed.median().as_secs_f64(), "typed serde");
        rows.push(Row::ratio(
            "transcript: first rows",
            open.first.as_secs_f64(),
            4.0,
            wc,
        ));
        let whole = open.whole.as_secs_f64();
        rows.push(Row::beside("transcript: all of it", whole, serde));
        Ok(())
    }

    fn flat(&self) -> Result<Vec<Flat>> {
        const LARGEST: f64 = 1e7;
        let mut sizes = Vec::new();
        for steps in [1e4, 1e5, 1e6, 1e7] {
            if steps > LARGEST * self.scale {
                break;
            }
            self.with_tape(Shape::Steps, steps / LARGEST, |path, written| {
                let flat = Flat::measure(path, written.steps, PLACES / 2)?;
                self.list(&flat.keys);
                sizes.push(flat);
                Ok(())
            })?;
        }
        Ok(sizes)
    }
}

/// The slowest of a hundred, which no person should notice.
fn key_row(what: &str, keys: &keys::Keys) -> Row {
    Row::time(what, keys.frame.at(0.99).as_secs_f64(), FRAME)
}
