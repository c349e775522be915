//! Moves of the playhead, marks, bases, searches.

use jukebox::tui::event::Event;
use jukebox::tui::job::Slot;
use jukebox::tui::key::Key;

use crate::Screen;

#[test]
fn moves_reach_their_place() {
    let mut screen = Screen::new(120, 30, 212);
    let mut check = |keys: &str, step: u32| {
        screen.keys(keys);
        assert_eq!(screen.step(), step, "after {keys}");
    };
    check("g", 1);
    check("l l Right", 4);
    check("1 2 l", 16);
    check("h Left", 14);
    check("5 0 0 l", 212);
    check("4 1 G", 41);
    check("h 1 0 h", 30);
    check("9 9 h", 0);
    check("h", 0);
    check("e", 17);
    check("4 e", 85);
    check("E", 68);
    check(": f a i l Enter", 17);
    check(": 9 0 0 Enter", 17);
    check(": x Enter", 17);
    check(": - 1 Enter", 212);
    check(": t : 9 4 s Enter", 20);
    check("m a G ' a", 20);
    check("u", 212);
    check("u", 20);
    check("' b", 20);
    check("]", 70);
    check("2 [", 20);
    check("0 2 ]", 120);
    check("[", 70);
    check(": m a r k : a Enter", 20);
}

#[test]
fn events_are_walked_inside_a_step() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys(": 4 1 Enter , ,");
    screen.shows("inside step 41/212");
    screen.keys("l");
    screen.shows(" step 41/212");
    screen.hides("inside");
    screen.keys(".");
    screen.shows("inside step 42/212");
    screen.keys("h");
    screen.hides("inside");
    assert_eq!(screen.step(), 41);
    screen.keys("3 v v");
    screen.shows("▸3 Event 163");
    screen.shows("event 4/4, 812B");
    screen.keys(",");
    screen.shows("▸3 Event 162");
}

#[test]
fn differences_are_measured_from_a_base() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 4 2 Enter d");
    screen.shows("differences from step 42");
    screen.keys("6 l");
    screen.shows("3 Diff 42→48");
    screen.shows("State @48");
    screen.shows("since 42");
    screen.shows("d diff step by step");
    screen.shows("file 1/3");
    screen.keys("d");
    screen.shows("3 Diff 47→48");
    screen.keys("D 0 Enter");
    screen.shows("3 Diff 0→48");
    screen.keys("Esc");
    screen.shows("3 Diff 47→48");
}

#[test]
fn a_search_goes_from_hit_to_hit() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys("g / f o o Enter");
    assert_eq!(screen.step(), 40);
    screen.shows("/foo  1/5  output: found foo here");
    screen.keys("n 0 2 n");
    assert_eq!(screen.step(), 160);
    screen.keys("N");
    assert_eq!(screen.step(), 120);
    screen.shows("/foo  3/5");
    screen.keys("0 3 n");
    screen.shows("from the start again");
    screen.keys("Esc n");
    screen.shows("nothing is searched");
}

#[test]
fn what_is_typed_ahead_acts_from_where_the_last_key_led() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys("g");
    // Nothing is answered until all keys are typed.
    let mut asked = Vec::new();
    for key in ["e", "e", "l", "3"] {
        let key: Key = key.parse().unwrap();
        asked.extend(screen.app.update(Event::Key(key.press())));
    }
    screen.answer(asked);
    assert_eq!(screen.step(), 35);
    assert!(!screen.app.wants_tick());
}

#[test]
fn a_place_that_is_named_takes_the_place_of_moves_under_way() {
    let mut screen = Screen::new(120, 30, 212);
    screen.keys("m a g");
    let mut asked = Vec::new();
    for key in ["e", "l", "'", "a"] {
        let key: Key = key.parse().unwrap();
        asked.extend(screen.app.update(Event::Key(key.press())));
    }
    screen.answer(asked);
    assert_eq!(screen.step(), 212);
    screen.keys("h");
    assert_eq!(screen.step(), 211);
}

#[test]
fn ten_million_steps_are_asked_for_a_window_at_a_time() {
    let mut screen = Screen::new(200, 60, 10_000_000);
    screen.keys("l h h : 5 0 0 0 0 0 0 Enter 9 9 9 h");
    assert_eq!(screen.step(), 4_999_001);
    let asked = screen.run.asked.get(&Slot::Timeline).copied().unwrap();
    // At each place those in view, and then those around them.
    assert!(asked <= 6 && screen.run.most_rows <= 4 * 64, "{asked}");
    for _ in 0..100 {
        screen.keys("l");
    }
    let now = screen.run.asked.get(&Slot::Timeline).copied().unwrap();
    assert!(now <= asked + 2, "{now}");
}

#[test]
fn branches_are_switched_and_named() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 7 0 Enter b");
    screen.shows("Timeline · b2");
    screen.shows("branch b2, which leaves after step 60");
    assert_eq!(screen.step(), 70);
    screen.keys("b");
    screen.shows("Timeline · main");
}
