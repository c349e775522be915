//! A command that runs while the screen follows its tape: what is said of it, and what the keys
//! that end or leave do meanwhile.

use jukebox::cli::CommandEnd;
use jukebox::text::SafeText;
use jukebox::tui::app::AppOptions;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;

use crate::{SIZES, Screen};

fn screen(columns: u16, rows: u16) -> Screen {
    let options = AppOptions {
        has_command: true,
        is_following: true,
        ..AppOptions::default()
    };
    Screen::with(options, columns, rows, 20)
}

fn ended(fact: &str, is_well: bool) -> Event {
    Event::CommandEnded(CommandEnd {
        fact: SafeText::line(fact),
        words: SafeText::line(&format!("the command {fact}; q closes the screen")),
        is_well,
    })
}

fn quits(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Quit))
}

fn stops(effects: &[Effect]) -> usize {
    let stop = effects
        .iter()
        .filter(|it| matches!(it, Effect::StopCommand));
    stop.count()
}

#[test]
fn who_leaves_a_command_that_runs_has_to_say_so_twice() {
    let mut screen = screen(120, 30);
    screen.shows("Ctrl-C ends it");
    screen.shows("▶ command runs");
    assert!(!quits(&screen.keys("q")));
    screen.shows("the command still runs: q again closes the screen");
    // Another key takes it back.
    assert!(!quits(&screen.keys("h q")));
    screen.shows("the command still runs");
    assert!(quits(&screen.keys("q")));
}

#[test]
fn a_layer_is_closed_without_a_word_about_the_command() {
    let mut screen = screen(120, 30);
    assert!(!quits(&screen.keys("? q")));
    screen.hides("still runs");
    assert!(!quits(&screen.keys("q")));
    screen.shows("still runs");
}

#[test]
fn the_interrupt_ends_the_command_first_and_then_the_screen() {
    let mut screen = screen(120, 30);
    let effects = screen.keys("Ctrl-c");
    assert!(!quits(&effects));
    assert_eq!(stops(&effects), 1);
    screen.shows("▶ command is ending");
    screen.keys("h");
    let effects = screen.keys("Ctrl-c");
    assert!(quits(&effects) && stops(&effects) == 0);
}

#[test]
fn how_it_ended_is_said_and_stays_said() {
    for (fact, is_well) in [("ended with 0", true), ("ended with 1", false)] {
        let mut screen = screen(120, 30);
        screen.keys("q");
        screen.send(ended(fact, is_well));
        screen.shows(&format!("the command {fact}; q closes the screen"));
        screen.keys("h");
        screen.shows(&format!("■ {fact}"));
        screen.hides("command runs");
        assert!(quits(&screen.keys("q")));
        let mut screen = self::screen(120, 30);
        screen.send(ended(fact, is_well));
        let effects = screen.keys("Ctrl-c");
        assert!(quits(&effects) && stops(&effects) == 0);
    }
}

#[test]
fn it_fits_every_screen() {
    for (columns, rows) in SIZES {
        let mut screen = screen(columns, rows);
        screen.keys("h");
        screen.send(ended("ended by signal 15", false));
        let widest = screen.text().lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(columns)));
    }
}

#[test]
fn without_a_command_nothing_is_asked() {
    let mut screen = Screen::new(120, 30, 20);
    screen.send(ended("ended with 0", true));
    screen.hides("ended with 0");
    assert!(quits(&screen.keys("q")));
}
