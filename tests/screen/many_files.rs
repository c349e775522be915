//! Differences of thousands of files: a few are looked at, and all of them count.

use std::fmt::Write as _;

use jukebox::tui::worker::InlineWorker;
use tempfile::TempDir;

use crate::Screen;

const FILES: usize = 10_000;

fn path(number: usize) -> String {
    format!("src/{:02}/file_{number:04}.txt", number / 100)
}

/// One step writes every file, the next one every one of them again, and the last removes
/// a hundred of them.
fn run() -> (TempDir, Screen<InlineWorker>) {
    let mut lines = String::from("{\"kind\":\"tape\",\"format\":1,\"id\":\"t\",\"seq\":0}\n");
    let mut seq = 0;
    let mut line = |body: String| {
        seq += 1;
        let _ = writeln!(lines, "{{\"seq\":{seq},{body}}}");
    };
    line(r#""kind":"prompt","text":"Make many files.""#.to_owned());
    for text in ["one", "two"] {
        line(r#""kind":"tool.call","name":"Bash","call":"c""#.to_owned());
        for number in 0..FILES {
            let path = path(number);
            line(format!(
                r#""kind":"fs.write","path":"{path}","text":"{text} {number}","call":"c""#
            ));
        }
        line(r#""kind":"tool.result","call":"c""#.to_owned());
    }
    line(r#""kind":"tool.call","name":"Bash","call":"d""#.to_owned());
    line(r#""kind":"fs.remove","path":"src/50","call":"d""#.to_owned());
    line(r#""kind":"tool.result","call":"d""#.to_owned());
    let directory = tempfile::tempdir().unwrap();
    let tape = directory.path().join("run.jsonl");
    std::fs::write(&tape, lines).unwrap();
    let screen = Screen::open(&tape, 200, 130);
    (directory, screen)
}

#[test]
fn a_difference_of_many_files_is_gone_through_to_its_end() {
    let (_directory, mut screen) = run();
    screen.keys(": 2 Enter 3 9 9 9 9 K");
    screen.shows("file 1/10000");
    screen.shows("A src/00/file_0000.txt");
    screen.keys("J J");
    screen.shows("file 3/10000");
    screen.keys("4 9 9 8 J");
    screen.shows("file 5001/10000");
    screen.shows("▸A src/50/file_5000.txt");
    screen.shows("+ one 5000");
    screen.keys("9 9 9 9 J");
    screen.shows("file 10000/10000");
    screen.shows("▸A src/99/file_9999.txt");
    screen.keys("J");
    screen.shows("the last changed file");
    screen.keys("K");
    screen.shows("file 9999/10000");
}

#[test]
fn the_chosen_one_of_many_files_stays_chosen_where_it_differs_too() {
    let (_directory, mut screen) = run();
    screen.keys(": 2 Enter 3 9 9 9 9 K 7 0 0 0 J");
    screen.shows("▸A src/70/file_7000.txt");
    screen.keys("l");
    screen.shows("file 7001/10000");
    screen.shows("▸M src/70/file_7000.txt");
    screen.shows("− one 7000");
    // It is chosen in the tree, and differs there, too.
    let frame = screen.frame();
    let in_tree = |line: &&String| line.contains("▸") && line.contains("  file_7000.txt");
    assert!(frame.iter().any(|line| in_tree(&line)), "{}", screen.text());
    // Where it does not differ, the first one is.
    screen.keys("l");
    screen.shows("file 1/100");
    screen.shows("▸D src/50/file_5000.txt");
}

#[test]
fn the_tree_says_in_which_directories_many_files_differ() {
    let (_directory, mut screen) = run();
    let row = |screen: &Screen<InlineWorker>, name: &str| {
        let frame = screen.frame();
        frame.into_iter().find(|line| line.contains(name)).unwrap()
    };
    screen.keys(": 4 Enter 2");
    let gone = row(&screen, " 50/ ");
    assert!(gone.contains(" D "), "{gone}");
    let other = row(&screen, " 49/ ");
    assert!(!other.contains('•') && !other.contains(" D "), "{other}");
    // All that was written again, and what is gone.
    screen.keys(": 2 Enter d : 4 Enter");
    let other = row(&screen, " 49/ ");
    assert!(other.contains('•'), "{other}");
    let gone = row(&screen, " 50/ ");
    assert!(gone.contains(" D "), "{gone}");
    screen.shows("/10000");
}
