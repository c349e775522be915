//! How the screen looks at every size, with and without colour.

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::tui::app::AppOptions;
use jukebox::tui::theme::ColorChoice;
use ratatui::style::{Color, Modifier};

use crate::{SIZES, Screen, demo};

#[test]
fn files_and_differences_stand_beside_the_timeline() {
    for (columns, rows) in [(200, 60), (160, 45), (120, 24), (100, 30), (80, 24)] {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter");
        screen.shows("step 44/212");
        let gap = if columns > 80 { "  " } else { " " };
        screen.shows(&format!("▸ 44{gap}✎ Edit "));
        screen.shows(" 2 State @44 ");
        screen.shows("lexer.rs");
        screen.shows(" 3 Diff 43→44 ");
        screen.shows("fn next_0(&mut self)");
        screen.shows("h/l step   e/E failure   {/} change of file");
        screen.shows("? help");
    }
}

#[test]
fn a_narrow_screen_has_tabs() {
    let mut screen = Screen::new(60, 20, 212);
    screen.keys(": 4 4 Enter");
    screen.shows("▸1 Timeline · main   2 State   3 Diff");
    screen.keys("2");
    screen.shows(" 1 Timeline  ▸2 State @44   3 Diff");
    screen.shows("▾ src/");
    screen.keys("Tab");
    screen.shows(" 1 Timeline   2 State  ▸3 Diff 43→44");
    screen.shows("fn next_0(&mut self)");
    screen.resize(30, 8);
    screen.shows("▸3 Diff 43→44");
    screen.shows("M src/lexer.rs");
}

#[test]
fn a_tiny_screen_says_so_as_far_as_it_fits() {
    let check = |columns, rows, expected: &str| {
        assert_eq!(Screen::new(columns, rows, 212).text(), expected);
    };
    check(29, 1, "too small: 30×8 at least");
    check(12, 2, "too small: …\n");
    check(1, 1, "…");
    check(0, 0, "");
    check(5, 0, "");
    check(0, 5, "");
}

#[test]
fn a_screen_that_is_resized_and_back_looks_as_before() {
    for keys in [
        ": 1 2 8 Enter 3 J j j",
        ": 4 4 Enter 2 j j Enter Ctrl-d",
        "e e m a ?",
        ": 8 7 Enter 3 v v j j",
    ] {
        let mut screen = Screen::new(80, 24, 212);
        screen.keys(keys);
        let before = screen.text();
        let storm = [
            (1, 1),
            (0, 0),
            (2, 1),
            (10, 1),
            (1, 40),
            (14, 54),
            (20, 3),
            (46, 44),
            (79, 5),
            (300, 2),
            (400, 300),
            (121, 9),
            (30, 8),
            (29, 8),
            (30, 7),
        ];
        for (columns, rows) in storm {
            screen.resize(columns, rows);
            screen.text();
        }
        screen.resize(80, 24);
        assert_eq!(screen.text(), before);
    }
}

#[test]
fn without_colour_the_same_is_said() {
    let options = AppOptions {
        colors: ColorChoice::Never,
        ..AppOptions::default()
    };
    for (columns, rows) in SIZES {
        for keys in [": 8 8 Enter 3 J", ": 8 7 Enter 3", "2 Enter j Enter", "e ?"] {
            let mut plain = Screen::with(options.clone(), columns, rows, 212);
            let mut coloured = Screen::new(columns, rows, 212);
            plain.keys(keys);
            coloured.keys(keys);
            assert_eq!(plain.text(), coloured.text());
            for cell in plain.buffer().content() {
                assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
            }
        }
    }
}

#[test]
fn the_focus_is_seen_without_colour() {
    let mut screen = Screen::new(160, 45, 212);
    screen.shows("┏━ ▸1 Timeline");
    screen.keys("Tab");
    screen.shows("┌─ 1 Timeline");
    screen.shows("┏━ ▸2 State");
    screen.keys("3");
    screen.shows("┏━ ▸3 ");
    screen.keys("Shift-Tab");
    screen.shows("┏━ ▸2 State");
}

#[test]
fn text_of_the_tape_is_shown_and_not_obeyed() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 8 7 Enter");
    screen.shows("^[[31merror^[[0m: expected `,`, found <U+202E>`]`");
    screen.shows("! hidden characters, made visible");
    screen.keys(": 8 8 Enter 2 G");
    screen.shows("name^[[2J.rs");
    let is_marked = |cell: &ratatui::buffer::Cell| {
        cell.symbol() == "^" && cell.modifier.contains(Modifier::REVERSED)
    };
    screen.keys("k");
    assert!(screen.buffer().content().iter().any(is_marked));
}

#[test]
fn the_strip_is_the_whole_run_at_any_width() {
    let source = Source::Path(demo("bug-hunt"));
    let run = Debugger::open(source, &OpenOptions::default()).unwrap();
    for columns in [1, 2, 7, 28, 29, 30, 100, 139] {
        let cells = run.strip(0, columns);
        assert_eq!(cells.len(), usize::from(columns));
        let stretches: Vec<_> = cells.chunk_by(|a, b| a.steps == b.steps).collect();
        let mut next = 1;
        for stretch in stretches {
            let (first, last) = stretch[0].steps;
            assert!(
                first == next && last >= first,
                "{columns}: {first} to {last}"
            );
            next = last + 1;
        }
        assert_eq!(next, 30, "{columns}");
    }
}
