//! What a look at a watched directory costs when nothing, or one file, has changed, beside
//! asking the system for the size and times of as many files.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use jukebox::capture::{Capture, CaptureOptions, Found, Hearing};

use crate::beside::{cases, clock};
use crate::spread::Spread;
use crate::{Result, Scratch};

const DIRECTORIES: usize = 1000;
const FILES: usize = 100;
const LOOKS: usize = 20;

pub(crate) fn run() -> Result {
    let scratch = Tree(Scratch::new("watched").0.clone());
    let tree = &scratch.0;
    write(tree)?;
    let scan = times(LOOKS, || stat_all(tree));
    for (hearing, words) in [
        (Hearing::Asked, "where the system says"),
        (Hearing::Never, "everywhere"),
    ] {
        let options = CaptureOptions {
            hearing,
            ..CaptureOptions::default()
        };
        let began = Instant::now();
        let mut capture = Capture::workspace(tree, options)?;
        let watched = began.elapsed();
        capture.start(&mut |_, _| Ok::<(), Infallible>(()))?;
        println!(
            "  100k files taken in: {watched:.0?}, and read: {:.0?}",
            began.elapsed()
        );
        let idle = times(LOOKS, || {
            let _found = look(&mut capture);
        });
        let what = format!("100k files, none changed, looked at {words}");
        cases(&what, "a look", &idle, "stat of each", &scan);
        let mut count = 0;
        let one = times(LOOKS, || {
            count += 1;
            let file = tree.join("d500/f50");
            let _written = fs::write(file, format!("{count}"));
            let _found = look(&mut capture);
        });
        let what = format!("100k files, one changed, looked at {words}");
        cases(&what, "a look", &one, "stat of each", &scan);
    }
    Ok(())
}

fn look(capture: &mut Capture) -> usize {
    let mut count = 0;
    let mut take = |_: Found| {
        count += 1;
        Ok::<(), Infallible>(())
    };
    match capture.look(&mut take) {
        Ok(()) => count,
        Err(never) => match never {},
    }
}

fn times(rounds: usize, mut what: impl FnMut()) -> Spread {
    let mut spread = Spread::default();
    for _ in 0..rounds {
        spread.0.push(clock(&mut what));
    }
    spread
}

/// Files that were written long ago: what was written just now is read again.
fn write(tree: &Path) -> Result {
    let old = SystemTime::now() - Duration::from_hours(1);
    for directory in 0..DIRECTORIES {
        let below = tree.join(format!("d{directory}"));
        fs::create_dir_all(&below)?;
        for file in 0..FILES {
            let path = below.join(format!("f{file}"));
            fs::write(&path, format!("file {file} of {directory}\n"))?;
            fs::File::open(&path)?.set_modified(old)?;
        }
    }
    // Their own times cannot be set back.
    std::thread::sleep(Duration::from_secs(3));
    Ok(())
}

fn stat_all(tree: &Path) {
    for directory in 0..DIRECTORIES {
        let below = tree.join(format!("d{directory}"));
        for entry in fs::read_dir(below).into_iter().flatten().flatten() {
            let _seen = entry.metadata();
        }
    }
}

/// A directory that is gone when it is dropped.
struct Tree(PathBuf);

impl Drop for Tree {
    fn drop(&mut self) {
        // What cannot be removed lies in the target directory.
        let _removed = fs::remove_dir_all(&self.0);
    }
}
