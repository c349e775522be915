//! What there is little room for can be read all the same.

use std::io::Write as _;

use jukebox::tui::worker::InlineWorker;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::{SIZES, Screen};

const WHY: &str = "python scripts/rewrite_everything.py --in-place --recursive src tests docs";

/// A file, and a command that may have written it.
fn uncertain(columns: u16, rows: u16) -> (NamedTempFile, Screen<InlineWorker>) {
    let lines = [
        json!({"seq": 0, "kind": "tape", "format": 1, "id": "t"}),
        json!({"seq": 1, "kind": "tool.call", "call": "1", "name": "Write"}),
        json!({"seq": 2, "kind": "fs.write", "call": "1", "path": "a.txt", "text": "one\n"}),
        json!({"seq": 3, "kind": "tool.result", "call": "1"}),
        json!({"seq": 4, "kind": "tool.call", "call": "2", "name": "Bash", "title": WHY,
            "args": {"command": WHY}}),
        json!({"seq": 5, "kind": "fs.suspect", "call": "2", "why": "a command ran"}),
        json!({"seq": 6, "kind": "tool.result", "call": "2"}),
    ];
    let mut tape = NamedTempFile::new().unwrap();
    for line in lines {
        writeln!(tape, "{line}").unwrap();
    }
    let mut screen = Screen::open(tape.path(), columns, rows);
    screen.keys("2 Enter");
    (tape, screen)
}

/// The words of a frame, in a row.
fn words(screen: &Screen<InlineWorker>) -> String {
    let text = screen.text();
    let words = text.split(|c: char| c.is_whitespace() || "│║┃".contains(c));
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn the_reason_of_an_uncertain_file_is_read_whole_at_any_size() {
    for (columns, rows) in SIZES {
        let (_tape, mut screen) = uncertain(columns, rows);
        screen.shows("uncertain");
        let tail = "src tests docs";
        if rows >= 20 {
            // Nothing else stands in the columns of the pane that is zoomed.
            screen.keys("z");
            assert!(
                words(&screen).contains(tail),
                "{columns}×{rows}\n{}",
                screen.text()
            );
            screen.keys("z");
        }
        screen.keys("!");
        screen.keys("j j j j j j j j");
        assert!(
            words(&screen).contains(tail),
            "{columns}×{rows}\n{}",
            screen.text()
        );
    }
    let (_tape, screen) = uncertain(30, 8);
    screen.shows("… !");
}

#[test]
fn the_table_of_tokens_has_as_many_columns_as_there_is_room_for() {
    let run = crate::nested::run();
    let context = |columns, rows| {
        let (directory, mut screen) = run.open(columns, rows);
        screen.keys("2 V V z");
        (directory, screen)
    };
    let (_directory, whole) = context(160, 45);
    whole.shows("  step    seen     new  cached  stored    out");
    let (_directory, mut narrow) = context(30, 8);
    for _ in 0..4 {
        let row = narrow
            .frame()
            .into_iter()
            .find(|row| row.contains("step") && row.contains("out"));
        if let Some(row) = row {
            assert!(row.contains("seen"), "{row}");
            let (_directory, higher) = context(30, 20);
            higher.shows("Where it is wider:");
            return;
        }
        narrow.keys("j j");
    }
    panic!(
        "the head of the table was not seen in one row:\n{}",
        narrow.text()
    );
}

#[test]
fn the_help_fits_a_large_screen_and_is_scrolled_with_a_bar_on_others() {
    for (columns, rows) in SIZES.into_iter().chain([(200, 60)]) {
        let mut screen = Screen::new(columns, rows, 20);
        screen.keys("?");
        let is_whole = columns >= 200;
        let text = screen.text();
        let right_edge = |screen: &Screen| {
            let edge = |row: String| row.trim_end().chars().last();
            screen
                .frame()
                .into_iter()
                .filter_map(edge)
                .filter(|c| *c == '█')
                .count()
        };
        assert_eq!(text.contains("shown, not obeyed"), is_whole, "{text}");
        if columns >= 60 {
            assert_eq!(text.contains("scroll"), !is_whole, "{text}");
        }
        assert_eq!(right_edge(&screen) == 0, is_whole, "{text}");
        screen.keys("G");
        screen.shows("^[ <U+202E> shown, not");
        screen.keys("q");
        screen.shows("step 20/20");
    }
}
