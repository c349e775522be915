//! The `:` prompt, and what is offered while something longer is typed.

use jukebox::tui::app::AppOptions;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::theme::ColorChoice;

use crate::{SIZES, Screen};

#[test]
fn words_find_an_action_and_enter_does_it() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys(": n e x t Space f a i l");
        screen.shows("▸next-failure");
        screen.shows("Actions");
        screen.keys("Enter");
        screen.hides("Actions");
        // From the end there is no later failure: the action was done.
        screen.shows("no later failure");
    }
}

#[test]
fn the_arrows_choose_and_stop_at_both_ends() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": p a n e");
    let best = chosen(&screen);
    screen.keys("Down");
    assert_eq!(chosen(&screen), best);
    screen.keys("Up");
    let second = chosen(&screen);
    assert_ne!(second, best);
    screen.keys("Down");
    assert_eq!(chosen(&screen), best);
    for _ in 0..100 {
        screen.keys("Up");
    }
    let last = chosen(&screen);
    screen.keys("Down Up");
    assert_eq!(chosen(&screen), last);
    screen.keys("s");
    screen.keys("Backspace Up");
    assert_eq!(chosen(&screen), second);
}

fn chosen(screen: &Screen) -> String {
    let frame = screen.frame();
    let line = frame.iter().find(|line| line.starts_with("║ ▸")).unwrap();
    line.split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn a_place_is_gone_to_and_hides_nothing() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": 4 4");
    screen.hides("Actions");
    screen.keys("Enter");
    assert_eq!(screen.step(), 44);
    screen.keys(": f a i l");
    screen.shows("▸fail");
    screen.shows("next-failure");
    screen.keys("Enter");
    assert_eq!(screen.step(), 17);
    screen.keys(": f a i l Up Enter");
    assert_eq!(screen.step(), 34);
}

#[test]
fn what_is_called_nothing_says_so_and_does_nothing() {
    let mut screen = Screen::new(60, 20, 212);
    screen.keys(": z z z");
    screen.shows("no action and no place is called so");
    screen.keys("Enter");
    screen.shows("✗ no action and no place is called `zzz`");
    screen.keys(":");
    screen.send(Event::Paste("\x1b[2J\u{202e}".into()));
    screen.keys("Enter");
    screen.shows("is called `[2J<U+202E>`");
}

#[test]
fn an_action_that_waits_for_a_letter_waits_for_it() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": s e t - m Enter");
    screen.shows("Mark this place");
    screen.shows("no letter is taken yet");
    screen.keys("a");
    screen.shows("mark a at step 212");
    let quit = screen.keys(": q u i t Enter");
    assert!(matches!(quit[..], [Effect::Quit]));
}

#[test]
fn marks_are_listed_behind_the_key_that_goes_to_them() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 212);
        screen.keys("'");
        screen.shows("no mark yet");
        screen.keys("Esc : 4 4 Enter m a : 9 Enter m b '");
        screen.shows("a  step 44 of main");
        screen.shows("b  step 9 of main");
        screen.keys("a");
        screen.hides("step 9 of main");
        assert_eq!(screen.step(), 44);
        for letter in 'a'..='z' {
            screen.keys(&format!("m {letter}"));
        }
        screen.keys("m");
        screen.shows("more");
    }
}

#[test]
fn a_count_is_followed_by_what_can_be_counted() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys("4");
    screen.shows("h/l step   e/E failure");
    screen.shows("4 …");
    screen.hides("d diff from here");
    screen.keys("h");
    screen.shows("d diff from here");
}

#[test]
fn the_choice_is_seen_without_colour() {
    let options = AppOptions {
        colors: ColorChoice::Never,
        ..AppOptions::default()
    };
    for (columns, rows) in SIZES {
        let mut plain = Screen::with(options.clone(), columns, rows, 212);
        let mut coloured = Screen::new(columns, rows, 212);
        plain.keys(": d i f f Up");
        coloured.keys(": d i f f Up");
        plain.shows("▸");
        assert_eq!(plain.text(), coloured.text());
    }
}
