//! Real transcripts from end to end, where they are at hand: `JUKEBOX_TRANSCRIPTS`, or
//! `../shared/transcripts` beside the project. Without them this says so and passes.

use std::path::{Path, PathBuf};

use crate::Screen;
use crate::walks::walk;

fn transcripts() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/transcripts");
    let named = std::env::var_os("JUKEBOX_TRANSCRIPTS").map(PathBuf::from);
    let folder = named.unwrap_or(beside).join("claude-code");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("no transcripts at {}: nothing tested", folder.display());
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    paths.sort();
    paths
}

#[test]
fn every_real_transcript_is_scrubbed_from_end_to_end() {
    for (seed, path) in transcripts().into_iter().enumerate() {
        let mut screen = Screen::open(&path, 100, 30);
        let steps = screen.step();
        screen.keys("1 g");
        for step in 1..=steps {
            if step % 8 == 0 {
                assert_eq!(screen.step(), step, "{}", path.display());
            }
            screen.keys(if step % 50 == 0 { "3 v 1 l" } else { "l" });
        }
        screen.shows("the last step");
        walk(&mut screen, seed as u64, 40);
    }
}
