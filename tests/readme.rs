//! The README keeps its word: its table of keys and its pictures are those of the program.
//!
//! `UPDATE=1 cargo test --test readme` writes the table and the pictures anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::model::StepKind;
use jukebox::tui::action::ACTIONS;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// Holds a file to what it should be, or makes it so.
fn hold(path: &Path, expected: &str) {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == expected {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, expected).unwrap();
        return;
    }
    let differs = |pair: &(&str, &str)| pair.0 != pair.1;
    let lines = found.lines().zip(expected.lines());
    let first = lines.enumerate().find(|(_, pair)| differs(pair));
    let line = first.map_or(found.lines().count(), |(line, _)| line) + 1;
    let name = path.display();
    assert!(
        found == expected,
        "{name} is old from line {line} on; UPDATE=1 writes it anew"
    );
}

/// Runs the program in a directory, as a user with an empty home.
fn jukebox(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jukebox"))
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .output()
        .unwrap()
}

#[test]
fn the_table_of_keys_is_that_of_the_program() {
    const START: &str = "<!-- keys -->\n";
    const END: &str = "<!-- end of keys -->";
    let text = readme();
    let (before, rest) = text.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let keys = jukebox::tui::action::markdown();
    let expected = format!("{before}{START}{keys}{END}{after}");
    hold(&root().join("README.md"), &expected);
}

/// A command of the table is one that the program knows, and so are its options.
#[test]
fn what_an_action_is_on_the_command_line_is_there() {
    let home = tempfile::tempdir().unwrap();
    for action in ACTIONS {
        let Some(command) = action.id.command() else {
            continue;
        };
        let words: Vec<&str> = command.split(' ').collect();
        let is_verb = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
        let verbs: Vec<&str> = words[1..].iter().copied().take_while(is_verb).collect();
        let ran = jukebox(&[&verbs[..], &["--help"]].concat(), home.path());
        assert!(ran.status.success(), "{command}: {ran:?}");
        let help = String::from_utf8(ran.stdout).unwrap();
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{command}: there is no {option}");
        }
    }
}

#[test]
fn every_picture_is_made_by_the_command_that_stands_below_it() {
    let text = readme();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("--frame"))
        .collect();
    assert_eq!(lines.len(), text.matches("\n![").count());
    for line in lines {
        let mut words = line.trim().trim_start_matches("<!--").split_whitespace();
        assert_eq!(words.next(), Some("jukebox"));
        let mut arguments: Vec<&str> = words.take_while(|word| *word != "-->").collect();
        let picture = arguments.pop().unwrap();
        assert!(
            text.contains(&format!("]({picture})")),
            "{picture} is not shown"
        );
        let drawn = tempfile::tempdir().unwrap();
        let drawing = drawn.path().join("screen.svg");
        arguments.push(drawing.to_str().unwrap());
        let ran = jukebox(&arguments, &root());
        assert!(ran.status.success(), "{ran:?}");
        hold(&root().join(picture), &fs::read_to_string(drawing).unwrap());
    }
}

#[test]
fn the_tour_names_the_step_that_no_call_explains() {
    let readme = readme();
    let row = readme
        .lines()
        .find(|line| line.contains("| step "))
        .unwrap();
    let number = row.split("| step ").nth(1).unwrap();
    let number: u32 = number.split(':').next().unwrap().parse().unwrap();
    assert!(row.starts_with(&format!("| `:{number}` |")), "{row}");
    let demo = Debugger::open(Source::Demo, &OpenOptions::default()).unwrap();
    let rows = demo.timeline(0, number..number + 1);
    assert_eq!(rows[0].kind, StepKind::Outside);
}
