//! How fast the real program is, on tapes of any size, in a pseudo-terminal.
//!
//!     cargo bench --bench speed                                   big, many and tree, a tenth each
//!     cargo bench --bench speed -- --scale 1 big                  one of them, in full
//!     cargo bench --bench speed -- --write DIR --scale 1 tree     only the tape
//!
//! Of each tape: the time to the first frame that shows its last step beside `wc -l` of the
//! same file, anonymous memory after opening, and the time from a key to its frame. Times
//! are medians of five, or the 99th of a hundred; the file is in the page cache. This
//! prints and judges nothing: a benchmark is no test.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

#[path = "speed/measure.rs"]
mod measure;
#[path = "../tests/support/pty.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod pty;
#[path = "speed/tapes.rs"]
mod tapes;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tapes::{Shape, Written};

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read(std::env::args().skip(1))?;
    let kept = options.write.is_some();
    let directory = match options.write {
        Some(directory) => directory,
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    };
    fs::create_dir_all(&directory)?;
    for shape in options.shapes {
        let path = directory.join(format!("{}.jsonl", shape.name()));
        let start = Instant::now();
        let written = shape.write(&path, options.scale, options.seed)?;
        println!(
            "\n{} × {}: {:.1} MB, {} events, {} steps, {} file events (written in {:.1?})",
            shape.name(),
            options.scale,
            written.bytes as f64 / 1e6,
            written.events,
            written.steps,
            written.file_events,
            start.elapsed(),
        );
        if !kept {
            report(&path, &written)?;
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn report(path: &Path, written: &Written) -> Result<(), Box<dyn Error>> {
    let open = measure::opening(path)?;
    println!(
        "  open    {:8.1} ms   {:5.2} × wc -l ({:.1} ms)",
        open.first_frame.as_secs_f64() * 1e3,
        open.first_frame.as_secs_f64() / open.wc.as_secs_f64(),
        open.wc.as_secs_f64() * 1e3,
    );
    let bound = 16 * written.events + 20 * written.file_events + written.path_bytes;
    println!(
        "  memory  {:8.1} MB   {:5.2} × the bound ({:.1} MB)",
        open.anonymous as f64 / 1e6,
        open.anonymous as f64 / bound as f64,
        bound as f64 / 1e6,
    );
    for keys in measure::keys(path, written.steps)? {
        println!(
            "  {:7} {:8.1} ms p50 {:6.1} ms p99 to its frame; settled {:6.1} ms p50 {:6.1} ms p99",
            keys.name,
            keys.frame.at(0.5),
            keys.frame.at(0.99),
            keys.settled.at(0.5),
            keys.settled.at(0.99),
        );
    }
    Ok(())
}

/// What was asked on the command line.
struct Options {
    shapes: Vec<Shape>,
    scale: f64,
    seed: u64,
    write: Option<PathBuf>,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            shapes: Vec::new(),
            scale: 0.1,
            seed: 1,
            write: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--scale" => options.scale = value()?.parse()?,
                "--seed" => options.seed = value()?.parse()?,
                "--write" => options.write = Some(value()?.into()),
                // Cargo adds it.
                "--bench" => {}
                name => {
                    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == name);
                    let shape = shape.ok_or(format!("no tape is called {name}"))?;
                    options.shapes.push(shape);
                }
            }
        }
        if options.shapes.is_empty() {
            options.shapes.extend(Shape::ALL);
        }
        Ok(options)
    }
}
