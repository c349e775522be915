//! Searching as people do it: while typing, from hit to hit, hits alone.

use crate::{SIZES, Screen, demo};

/// The second row of the frame: the strip.
fn strip(screen: &Screen<impl crate::Run>) -> String {
    screen.text().lines().nth(1).unwrap().to_owned()
}

#[test]
fn hits_are_counted_and_stand_on_the_strip_while_the_query_is_typed() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("g");
        let before = screen.text();
        screen.keys("/ f");
        assert_eq!(strip(&screen).matches('•').count(), 5);
        if columns > 60 {
            screen.shows("search /f");
            screen.shows(" 5 hits");
        }
        assert_eq!(screen.step(), 1, "nothing moves until it is entered");
        screen.keys("o o Backspace Enter");
        screen.shows("/fo  1/5");
        assert_eq!(screen.step(), 40);
        screen.keys("Esc g");
        assert_eq!(screen.text(), before);
    }
}

#[test]
fn a_query_that_is_given_up_leaves_the_search_before() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys("g / f o o Enter / b a r Esc n");
    screen.shows("/foo  2/5");
    screen.keys("/ b a Backspace Backspace Backspace n");
    screen.shows("/foo  3/5");
    screen.keys("/ b Enter");
    screen.shows("/b  4/5");
    assert!(!screen.app.wants_tick());
}

#[test]
fn steps_without_a_hit_are_hidden_on_demand() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("1 g &");
        screen.keys("/ f o o Enter &");
        if columns > 60 {
            screen.shows("5 of 212 steps");
            screen.hides(" 41 ");
        }
        assert_eq!(screen.step(), 40);
        screen.keys("l");
        assert_eq!(screen.step(), 80);
        screen.keys("0 2 j");
        assert_eq!(screen.step(), 160);
        screen.keys("0 9 9 h");
        assert_eq!(screen.step(), 40);
        screen.keys("k");
        assert_eq!(screen.step(), 40);
        screen.keys("G");
        assert_eq!(screen.step(), 200);
        screen.keys("g");
        assert_eq!(screen.step(), 40);
        // A step without a hit is shown while the playhead is in it, and no longer.
        screen.keys(": 6 1 Enter");
        assert_eq!(screen.step(), 61);
        screen.keys("l");
        assert_eq!(screen.step(), 80);
        screen.keys("& l");
        assert_eq!(screen.step(), 81);
        assert!(!screen.app.wants_tick());
    }
}

#[test]
fn of_a_million_hits_a_window_is_asked_for() {
    let mut screen = Screen::new(200, 60, 400_000);
    screen.keys("g / x Enter & l l l G g");
    assert!(
        screen.run.most_rows <= 4 * 64 + 1,
        "{}",
        screen.run.most_rows
    );
}

#[test]
fn a_real_search_lists_its_steps() {
    let mut screen = Screen::open(&demo("bug-hunt"), 160, 45);
    screen.keys("g / s t a t u s : f a i l e d Enter &");
    screen.shows("5 of 29 steps");
    let text = screen.text();
    let rows = text.lines().filter(|line| line.contains('○'));
    assert_eq!(rows.clone().count(), 5);
    assert!(rows.clone().all(|row| row.contains('✗')), "{text}");
}
