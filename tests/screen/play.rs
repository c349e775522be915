//! The run as it was, in its own time.

use jukebox::tui::event::Event;

use crate::{SIZES, Screen};

impl Screen {
    fn tick(&mut self, times: u32) {
        for _ in 0..times {
            assert!(self.app.wants_tick());
            self.send(Event::Tick);
        }
    }
}

#[test]
fn the_playhead_goes_on_by_itself_until_it_is_stopped() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": 4 4 Enter Space");
        // The steps are seconds apart, and no pause is longer than two of them.
        screen.tick(19);
        assert_eq!(screen.step(), 44);
        screen.tick(1);
        assert_eq!(screen.step(), 45);
        screen.tick(20);
        assert_eq!(screen.step(), 46);
        screen.keys("Space");
        assert!(!screen.app.wants_tick());
        screen.send(Event::Tick);
        assert_eq!(screen.step(), 46);
    }
}

#[test]
fn the_speed_is_shown_and_changed() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": 4 4 Enter");
    screen.hides("▶");
    screen.keys("Space");
    screen.shows("▶ 1×");
    screen.keys("+ +");
    screen.shows("▶ 4×");
    screen.tick(5);
    assert_eq!(screen.step(), 45);
    screen.keys("9 -");
    screen.shows("▶ ¼×");
    screen.keys("9 9 +");
    screen.shows("▶ 64×");
    screen.tick(1);
    assert_eq!(screen.step(), 48);
    screen.keys("Esc");
    screen.hides("▶");
    assert_eq!(screen.step(), 48);
}

#[test]
fn playing_ends_at_the_end_and_begins_there_at_the_start() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys("Space");
    assert_eq!(screen.step(), 0);
    screen.keys("9 +");
    for _ in 0..400 {
        screen.send(Event::Tick);
    }
    assert_eq!(screen.step(), 212);
    screen.shows("played to the end");
    assert!(!screen.app.wants_tick());
}

#[test]
fn moving_while_it_plays_goes_on_from_there() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": 4 4 Enter Space");
    screen.tick(15);
    screen.keys(": 9 Enter");
    screen.tick(19);
    assert_eq!(screen.step(), 9);
    screen.tick(1);
    assert_eq!(screen.step(), 10);
}
