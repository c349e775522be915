//! What many files differ in: their list and their directory are as good at the far end as
//! at the start.

use jukebox::tui::worker::InlineWorker;
use tempfile::NamedTempFile;

use crate::Screen;
use crate::folds::{two_steps, write};

/// Files in the directory.
const FILES: usize = 10_000;

/// A run that writes all files in one step, and in each its number.
fn run() -> (NamedTempFile, Screen<InlineWorker>) {
    let file = |number| write(&format!("wide/{number:05}.txt"), &format!("{number}"));
    let files: Vec<_> = (0..FILES).map(file).collect();
    two_steps(&[], &files, (160, 45))
}

/// The files of the tree that are in view: the number that is their name, and their size.
fn files_in_view(screen: &Screen<InlineWorker>) -> Vec<(usize, usize)> {
    let number = |text: &str| {
        let digits = text.trim_matches(|letter: char| !letter.is_ascii_digit());
        digits.rsplit(' ').next()?.parse().ok()
    };
    let frame = screen.frame().into_iter();
    let files = frame.filter_map(|line| {
        let (name, size) = line.split_once(".txt")?;
        Some((number(name)?, number(size).unwrap_or(0)))
    });
    files.collect()
}

#[test]
fn a_difference_of_ten_thousand_files_is_gone_through_to_its_end() {
    let (_tape, mut screen) = run();
    screen.shows("file 1/10000");
    screen.keys("J");
    screen.shows("wide/00001.txt");
    screen.keys("9 9 9 9 9 J");
    screen.shows("file 10000/10000");
    screen.shows("wide/09999.txt");
    screen.keys("K");
    screen.shows("wide/09998.txt");
}

#[test]
fn files_at_the_end_of_a_wide_directory_have_their_size_too() {
    let (_tape, mut screen) = run();
    screen.keys("z 2 z");
    // The start, the end, and from there farther up than is asked for at once.
    for (keys, first) in [("g g", 3), ("G", FILES - 1), ("4 0 0 k", FILES - 401)] {
        screen.keys(keys);
        let files = files_in_view(&screen);
        let is_there = |(number, _): &(usize, usize)| *number == first;
        assert!(files.iter().any(is_there), "{first}: {}", screen.text());
        for (number, size) in files {
            assert_eq!(size, number.to_string().len(), "{number}");
        }
    }
}
