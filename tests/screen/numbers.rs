//! The run in numbers, as the screen shows it.

use jukebox::tui::app::AppOptions;
use jukebox::tui::job::Slot;
use jukebox::tui::theme::ColorChoice;

use crate::{SIZES, Screen, demo};

#[test]
fn tools_and_files_have_bars_at_every_size() {
    let plain = AppOptions {
        colors: ColorChoice::Never,
        ..AppOptions::default()
    };
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        let mut without = Screen::with(plain.clone(), columns, rows, 212);
        assert_eq!(
            screen.run.asked.get(&Slot::Statistics),
            None,
            "only when it is looked at"
        );
        for screen in [&mut screen, &mut without] {
            screen.keys("V V V V");
        }
        assert_eq!(screen.text(), without.text());
        screen.shows("2 Numbers");
        screen.shows("212, 12");
        screen.keys("G");
        screen.shows("tests/");
        if rows >= 20 {
            screen.keys("g");
            screen.shows("Bash");
            screen.shows("✗ 12");
            screen.shows("████");
        }
        screen.keys("V");
        screen.shows("2 State @212");
        screen.keys("g j Enter V V V V");
        screen.shows("2 Numbers");
        assert_eq!(
            screen.run.asked.get(&Slot::Statistics),
            Some(&1),
            "counted once"
        );
    }
}

#[test]
fn a_real_run_is_counted() {
    let mut screen = Screen::open(&demo("bug-hunt"), 160, 45);
    screen.keys("V V V V");
    screen.shows("29, 5 failed");
    let text = screen.text();
    let bash = text
        .lines()
        .find(|line| line.contains("Bash ") && line.contains("███"));
    assert!(
        bash.is_some_and(|line| line.contains("8 ") && line.contains("✗ 4")),
        "{text}"
    );
    assert!(text.contains("src/cart.awk"));
}

#[test]
fn tokens_that_nobody_counted_are_no_zeros() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::open(&demo("bug-hunt"), columns, rows);
        screen.keys("3 G");
        screen.shows("stopped: end_turn");
        screen.hides("0 tokens");
        screen.keys("2 V V");
        screen.shows("No tokens were recorded up to here.");
        screen.keys("V V");
        screen.shows("not recorded; 10 answers");
    }
}
