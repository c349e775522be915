//! Where a run was left: the place, folds and the open file are there the next time.

use std::fs;
use std::thread;

use jukebox::debugger::{Left, LeftFocus, LeftView};
use jukebox::model::{Place, StepNumber};
use jukebox::tui::app::{AppOptions, Keeping};
use jukebox::tui::event::Event;

use crate::SIZES;
use crate::marks::World;

const KEPT: Keeping = Keeping::Kept;

#[test]
fn a_run_is_opened_where_it_was_left() {
    for size in SIZES {
        let world = World::new();
        let tape = fs::read(&world.tape).unwrap();
        let mut screen = world.open(KEPT, size);
        screen.hides("back at step");
        screen.keys(": 1 2 Enter");
        screen.send(Event::Closing);
        let mut screen = world.open(KEPT, size);
        assert_eq!(screen.step(), 12);
        screen.shows("back at step 12");
        screen.keys("G");
        assert_eq!(screen.step(), 29);
        // The end is where a run is opened anyway.
        screen.send(Event::FocusLost);
        let mut screen = world.open(KEPT, size);
        assert_eq!(screen.step(), 29);
        screen.hides("back at step");
        screen.keys(": 1 5 Enter ,");
        screen.send(Event::Closing);
        world.open(KEPT, size).shows("inside step 15");
        assert_eq!(fs::read(&world.tape).unwrap(), tape);
    }
}

#[test]
fn a_place_that_was_asked_for_wins() {
    let world = World::new();
    let mut screen = world.open(KEPT, (100, 30));
    screen.keys(": 1 2 Enter");
    screen.send(Event::Closing);
    let options = AppOptions {
        keeping: KEPT,
        start: Some("5".parse::<Place>().unwrap()),
        ..AppOptions::default()
    };
    let screen = world.open_as(options, (100, 30));
    assert_eq!(screen.step(), 5);
    screen.hides("back at step");
}

#[test]
fn folds_and_the_open_file_are_as_they_were_left() {
    for size in [(160, 45), (100, 30)] {
        let world = World::new();
        let mut screen = world.open(KEPT, size);
        screen.keys(": 2 2 Enter 2");
        screen.shows("▾ src/");
        screen.keys("g");
        screen.click_on("▾ src/");
        screen.click_on("▾ src/");
        screen.shows("▹ src/");
        screen.send(Event::Closing);
        let mut screen = world.open(KEPT, size);
        screen.shows("▹ src/");
        screen.keys("3 Enter");
        screen.shows("File @22");
        screen.send(Event::Closing);
        let mut screen = world.open(KEPT, size);
        screen.shows("File @22");
        screen.shows("▸2 File @22");
        screen.keys("Esc");
        screen.shows("State @22");
    }
}

#[test]
fn the_focus_and_folded_agents_are_as_they_were_left() {
    let world = World::new();
    fs::write(&world.tape, crate::nested::run().lines()).unwrap();
    for (keys, title) in [("2", "▸2 State"), ("3", "▸3 "), ("1", "▸1 Timeline")] {
        let mut screen = world.open(KEPT, (160, 45));
        screen.keys(keys);
        screen.shows(title);
        screen.send(Event::Closing);
        world.open(KEPT, (160, 45)).shows(title);
    }
    let mut screen = world.open(KEPT, (160, 45));
    screen.hides("▹");
    screen.keys("S");
    screen.shows("▹");
    screen.send(Event::Closing);
    let mut screen = world.open(KEPT, (160, 45));
    screen.shows("▹");
    screen.keys("S");
    screen.hides("▹");
    screen.send(Event::Closing);
    world.open(KEPT, (160, 45)).hides("▹");
}

#[test]
fn a_screen_that_forgets_begins_at_the_end() {
    let world = World::new();
    let mut screen = world.open(KEPT, (100, 30));
    screen.keys(": 1 2 Enter m a");
    screen.send(Event::Closing);
    let kept = fs::read(world.kept()).unwrap();
    let mut screen = world.open(Keeping::Forgotten, (100, 30));
    assert_eq!(screen.step(), 29);
    screen.keys("g '");
    screen.shows("no mark yet");
    screen.send(Event::Closing);
    assert_eq!(fs::read(world.kept()).unwrap(), kept);
}

#[test]
fn nothing_is_written_key_by_key() {
    let world = World::new();
    let mut screen = world.open(KEPT, (100, 30));
    let kept = fs::read(world.kept()).unwrap();
    screen.keys("g l l l 2 j 3 K J : 9 Enter");
    assert_eq!(fs::read(world.kept()).unwrap(), kept);
    screen.send(Event::Closing);
    assert_ne!(fs::read(world.kept()).unwrap(), kept);
}

#[test]
fn a_place_that_is_gone_is_no_fault() {
    let world = World::new();
    let mut screen = world.open(KEPT, (100, 30));
    screen.keys(": 2 5 Enter 3 Enter");
    screen.send(Event::Closing);
    // The same run, with fewer steps.
    let tape = fs::read_to_string(&world.tape).unwrap();
    let lines: Vec<&str> = tape.lines().take(30).collect();
    fs::write(&world.tape, lines.join("\n") + "\n").unwrap();
    let screen = world.open(KEPT, (100, 30));
    let steps = screen.step();
    assert!(steps > 0 && steps < 25, "{steps}");
    screen.hides("back at step");
}

#[test]
fn the_file_of_another_tape_counts_for_nothing_and_is_not_lost() {
    let world = World::new();
    let mut screen = world.open(KEPT, (100, 30));
    screen.keys(": 1 2 Enter m a");
    screen.send(Event::Closing);
    for other in [
        "{\"tape\": \"another\", \"at\": \"3\", \"marks\": {\"z\": \"2\"}}",
        "}{ typed",
    ] {
        fs::write(world.kept(), other).unwrap();
        let mut screen = world.open(KEPT, (100, 30));
        assert_eq!(screen.step(), 29);
        screen.keys("'");
        screen.shows("no mark yet");
        screen.keys("Esc m b");
        screen.hides("not kept");
        let aside = world.state().join("damaged/tapes");
        let aside = aside.join(world.kept().file_name().unwrap());
        assert_eq!(fs::read_to_string(aside).unwrap(), other);
        assert!(
            !fs::read_to_string(world.kept())
                .unwrap()
                .contains("another")
        );
    }
}

#[test]
fn many_at_once_lose_nothing() {
    let world = World::new();
    thread::scope(|scope| {
        for letter in 'a'..='h' {
            let world = &world;
            scope.spawn(move || {
                let run = world.run();
                let spot = run.spot(0, StepNumber(u32::from(letter) - 96));
                let left = Left {
                    marks: [(letter.to_string(), (0, spot))].into(),
                    ..Left::default()
                };
                run.keep(&left).unwrap();
            });
        }
    });
    let marks = world.run().marks();
    assert_eq!(marks.len(), 8, "{marks:?}");
    assert_eq!(marks["c"].step, StepNumber(3));
}

#[test]
fn what_was_left_comes_back_as_it_was() {
    let world = World::new();
    let run = world.run();
    let path = |text: &str| jukebox::model::TapePath::new(text).unwrap();
    let spot = run.spot(0, StepNumber(7));
    let left = Left {
        marks: [("a".to_owned(), (0, spot))].into(),
        notes: [((0, StepNumber(3)), "two\nlines \u{202e}".to_owned())].into(),
        view: Some(LeftView {
            line: 0,
            spot,
            open: [path("docs"), path("src/deep")].into(),
            closed: [path("src")].into(),
            file: Some(path("src/a b.rs")),
            focus: LeftFocus::Diff,
            folded: [].into(),
        }),
    };
    run.keep(&left).unwrap();
    assert_eq!(world.run().left(), left);
    let removal = Left {
        notes: [((0, StepNumber(3)), String::new())].into(),
        ..Left::default()
    };
    run.keep(&removal).unwrap();
    let after = world.run().left();
    assert!(after.notes.is_empty() && after.view == left.view);
}
