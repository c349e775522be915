//! What did not change is folded, and opened one fold at a time or all at once.

use std::io::Write as _;
use std::ops::Range;

use jukebox::tui::worker::InlineWorker;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::Screen;

/// A tape of two steps with these files before and after, and a screen on it.
pub(crate) fn two_steps(
    before: &[Value],
    after: &[Value],
    (columns, rows): (u16, u16),
) -> (NamedTempFile, Screen<InlineWorker>) {
    let prompt = |text: &str| json!({"kind": "prompt", "name": "user", "text": text});
    let start = json!({"kind": "tape", "format": 1, "id": "t"});
    let mut events = vec![start, prompt("one")];
    events.extend_from_slice(before);
    events.push(prompt("two"));
    events.extend_from_slice(after);
    let mut file = NamedTempFile::new().unwrap();
    for (seq, mut event) in events.into_iter().enumerate() {
        event["seq"] = seq.into();
        writeln!(file, "{event}").unwrap();
    }
    let mut screen = Screen::open(file.path(), columns, rows);
    screen.keys(": 2 Enter 3 z");
    (file, screen)
}

pub(crate) fn write(path: &str, text: &str) -> Value {
    json!({"kind": "fs.write", "path": path, "mode": "644", "text": text})
}

/// A line for each number.
pub(crate) fn numbered(before: &str, numbers: Range<usize>, after: &str) -> String {
    let lines: Vec<String> = numbers
        .map(|number| format!("{before}{number}{after}\n"))
        .collect();
    lines.concat()
}

/// Two places of a long file changed.
fn two_places(size: (u16, u16)) -> (NamedTempFile, Screen<InlineWorker>) {
    let body = |count, from| numbered("    step(", from..from + count, ");");
    let old = format!(
        "fn one() {{\n{}    first();\n{}}}\n\nfn two() {{\n{}    second();\n{}}}\n",
        body(30, 100),
        body(30, 200),
        body(40, 300),
        body(30, 400),
    );
    let new = old
        .replace("first()", "changed()")
        .replace("second()", "altered()");
    two_steps(&[write("long.rs", &old)], &[write("long.rs", &new)], size)
}

#[test]
fn a_fold_says_how_many_lines_it_hides_and_under_what_the_change_stands() {
    for size in [(130, 40), (90, 40), (60, 40)] {
        let (_tape, screen) = two_places(size);
        screen.shows("⋯  28 lines unchanged fn one() {");
        screen.shows("⋯  67 lines unchanged fn two() {");
        screen.shows("⋯  28 lines unchanged ┄");
        screen.shows("changed()");
        screen.shows("altered()");
        screen.hides("step(150)");
    }
}

#[test]
fn more_context_is_ten_lines_then_all_then_three_and_what_is_looked_at_stays() {
    let (_tape, mut screen) = two_places((130, 20));
    let row_of = |screen: &Screen<InlineWorker>, words: &str| {
        let frame = screen.frame();
        frame.iter().position(|line| line.contains(words))
    };
    let three = screen.text();
    screen.keys(")");
    screen.keys(")");
    let before = row_of(&screen, "step(337)");
    assert!(before.is_some());
    screen.keys("c");
    screen.shows("ten lines around each change");
    assert_eq!(row_of(&screen, "step(337)"), before);
    screen.shows("step(331)");
    screen.hides("step(329)");
    screen.keys("c");
    screen.shows("the whole file");
    assert_eq!(row_of(&screen, "step(337)"), before);
    screen.hides("unchanged");
    screen.keys("c g");
    screen.shows("28 lines unchanged fn one() {");
    screen.keys("X");
    assert_eq!(screen.text().replace('▸', " "), three.replace('▸', " "));
}

#[test]
fn a_fold_is_opened_by_enter_where_one_was_led_to_it() {
    let (_tape, mut screen) = two_places((130, 30));
    screen.keys(")");
    screen.shows("▸⋯  28 lines unchanged fn one() {");
    screen.keys(")");
    screen.shows("▸⋯  67 lines unchanged fn two() {");
    screen.keys(")");
    screen.shows("the last change of this file");
    screen.keys("Enter");
    screen.shows("step(204)");
    screen.hides("67 lines");
    screen.keys("( (");
    screen.shows("the first change of this file");
    // Where no fold is marked, Enter opens the file.
    screen.keys("Enter Enter");
    screen.hides("28 lines unchanged fn one() {");
    screen.shows("▸2 File @2");
}

#[test]
fn a_very_long_file_is_opened_and_read_to_its_end() {
    let old = numbered("line ", 0..100_000, "");
    let new = old.replace("line 50000\n", "another line\n");
    let (_tape, mut screen) = two_steps(&[write("a", &old)], &[write("a", &new)], (100, 30));
    screen.shows("49997 lines unchanged");
    screen.keys("c c G");
    screen.shows("line 99999");
    screen.keys("g");
    screen.shows("line 0");
}
