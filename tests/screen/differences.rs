//! How a difference is shown: side by side where there is room, coloured as code, with its
//! blanks seen on demand.

use jukebox::tui::app::AppOptions;
use jukebox::tui::theme::{ColorChoice, Palette};
use ratatui::style::{Color, Modifier};

use crate::{SIZES, Screen, demo};

/// The lines of the frame that hold a word.
fn lines_with(screen: &Screen<impl crate::Run>, word: &str) -> Vec<String> {
    let text = screen.text();
    let lines = text.lines().filter(|line| line.contains(word));
    lines.map(str::to_owned).collect()
}

#[test]
fn what_went_stands_beside_what_came_where_there_is_room() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 8 8 Enter 3");
    assert!(
        lines_with(&screen, "−     let c")
            .iter()
            .all(|line| !line.contains(" + "))
    );
    screen.keys("z");
    let beside = lines_with(&screen, "−     let c");
    assert!(!beside.is_empty());
    for line in beside {
        assert!(
            line.contains("│") && line.contains(" +     let c"),
            "{line}"
        );
    }
    screen.keys("|");
    assert!(
        lines_with(&screen, "−     let c")
            .iter()
            .all(|line| !line.contains(" + "))
    );
    screen.keys("|");
    assert!(
        lines_with(&screen, "−     let c")
            .iter()
            .all(|line| line.contains(" + "))
    );
    screen.keys("z |");
    screen.keys("|");
    screen.shows("side by side where the pane is wide enough; 3 z makes it so");
}

#[test]
fn below_120_columns_nothing_stands_side_by_side() {
    for (columns, rows) in SIZES {
        if columns >= 120 {
            continue;
        }
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 8 8 Enter 3 z");
        assert!(
            lines_with(&screen, "−     let c")
                .iter()
                .all(|line| !line.contains(" + "))
        );
    }
}

#[test]
fn blanks_and_line_ends_are_seen_on_demand() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 8 8 Enter 3 z");
        let before = screen.text();
        screen.hides("····let·c");
        screen.keys("w");
        screen.shows("····let·c");
        screen.shows("↵");
        screen.keys("w");
        assert_eq!(screen.text(), before);
    }
}

#[test]
fn code_has_its_colours_on_the_ground_of_a_changed_line() {
    let dark = Palette::open(std::ffi::OsStr::new("dark")).unwrap();
    let options = AppOptions {
        colors: ColorChoice::Palette(dark),
        ..AppOptions::default()
    };
    for columns in [160, 100] {
        let mut screen = Screen::with(options.clone(), columns, 45, 212);
        screen.keys(": 8 8 Enter 3 z");
        let keywords: Vec<(Color, Color)> = screen
            .buffer()
            .content()
            .windows(4)
            .filter(|cells| {
                let word: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
                word == "let "
            })
            .map(|cells| (cells[0].fg, cells[0].bg))
            .collect();
        assert!(keywords.len() > 1);
        assert!(keywords.iter().all(|(color, _)| *color == keywords[0].0));
        assert_ne!(
            keywords[0].1, keywords[1].1,
            "came and went differ in their ground"
        );
    }
}

#[test]
fn words_that_differ_stand_out_without_colours_too() {
    let mut screen = Screen::with(
        AppOptions {
            colors: ColorChoice::Never,
            ..AppOptions::default()
        },
        160,
        45,
        212,
    );
    screen.keys(": 8 8 Enter 3 z");
    let is_emphasised =
        |cell: &&ratatui::buffer::Cell| cell.modifier.contains(Modifier::UNDERLINED);
    let buffer = screen.buffer();
    assert!(buffer.content().iter().filter(is_emphasised).count() >= 2);
}

#[test]
fn a_real_difference_stands_side_by_side() {
    let mut screen = Screen::open(&demo("bug-hunt"), 130, 34);
    screen.keys(": 1 7 Enter 3 z");
    let changed = lines_with(&screen, "if (total < 100) total");
    assert_eq!(changed.len(), 1);
    assert!(
        changed[0].contains("if (shipping && total < 100 total"),
        "{changed:?}"
    );
}
