//! A run that is shown while it is still being read.

use jukebox::debugger::Left;
use jukebox::model::{Place, Progress};
use jukebox::tui::app::{AppOptions, Extent, Keeping};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, Job, Reading, ReadingState, Reply, Request};
use jukebox::tui::key::Key;

use crate::Screen;
use crate::fake::text;

/// A screen on the first steps of a run, and the request that has the rest read.
struct Begun {
    screen: Screen,
    generation: u64,
}

impl Begun {
    fn at(start: Place, is_following: bool) -> Self {
        let options = AppOptions {
            start: Some(start),
            is_following,
            extent: Extent::Begun,
            keeping: Keeping::Kept,
            ..AppOptions::default()
        };
        let screen = Screen::with(options, 120, 30, 40);
        // It is the first thing that is asked.
        let generation = 1;
        Self { screen, generation }
    }

    fn read(&mut self, percent: u64, steps: u32, state: ReadingState) {
        self.screen.run.steps = steps;
        let progress = Progress::bytes(percent, 100);
        self.screen.send(Event::Reply(Reply {
            generation: self.generation,
            answer: Answer::Read(Reading { progress, state }),
        }));
    }

    /// Presses a key, and gives what is asked because of it.
    fn press(&mut self, key: &str) -> Vec<Request> {
        let key = key.parse::<Key>().unwrap().press();
        let effects = self.screen.app.update(Event::Key(key));
        let requests = effects.iter().filter_map(|effect| match effect {
            Effect::Request(request) => Some(request.clone()),
            _ => None,
        });
        let requests = requests.collect();
        self.screen.answer(effects);
        requests
    }
}

fn place(text: &str) -> Place {
    text.parse().unwrap()
}

#[test]
fn the_first_rows_are_shown_and_in_the_end_the_place_that_was_asked_for() {
    for (start, step) in [("end", 1000), ("700", 700), ("-3", 998), ("fail", 17)] {
        let mut run = Begun::at(place(start), false);
        run.screen.shows("step 1/40");
        run.screen.shows("Please make the p");
        run.screen.hides("reading 0");
        run.read(43, 400, ReadingState::Running);
        run.screen.shows("reading 43 %");
        run.screen.shows("step 1/400");
        run.read(100, 1000, ReadingState::Whole);
        assert_eq!(run.screen.step(), step, "{start}");
        run.screen.shows("/1000");
        run.screen.hides("reading");
    }
}

#[test]
fn a_place_far_in_is_said_to_be_waited_for() {
    let mut run = Begun::at(place("main:700"), false);
    run.read(43, 400, ReadingState::Running);
    run.screen.shows("reading 43 %, then to @main:700");
    run.screen.keys("l");
    run.screen.hides("then to");
    run.screen.shows("step 2/400");
}

#[test]
fn every_key_works_on_what_is_there_and_who_moved_stays() {
    let mut run = Begun::at(Place::END, false);
    run.screen.keys("5 l");
    run.read(43, 400, ReadingState::Running);
    assert_eq!(run.screen.step(), 6);
    run.screen.keys("G l");
    run.screen.shows("the last step so far");
    run.screen.keys(": 6 1 Enter d");
    run.read(70, 600, ReadingState::Running);
    run.screen.shows("step 61/600");
    run.read(100, 1000, ReadingState::Whole);
    run.screen.shows("step 61/1000");
    run.screen.keys("G l");
    run.screen.shows("the last step");
    run.screen.hides("so far");
}

#[test]
fn a_place_that_is_not_there_in_the_end_is_said_so() {
    let mut run = Begun::at(place("2000"), false);
    run.read(43, 400, ReadingState::Running);
    run.screen.hides("no step");
    run.read(100, 1000, ReadingState::Whole);
    run.screen.shows("no step 2000");
    assert_eq!(run.screen.step(), 1000);
}

#[test]
fn reading_is_stopped_and_goes_on() {
    let mut run = Begun::at(Place::END, false);
    run.read(43, 400, ReadingState::Running);
    run.screen.shows("Esc stop reading");
    let asked = run.press("Esc");
    assert!(asked.iter().any(|asked| asked.job == Job::StopReading));
    run.screen.shows("stopped at 43 %: 400 steps; F reads on");
    run.read(44, 410, ReadingState::Stopped);
    run.screen.shows("step 1/410");
    run.screen.shows("stopped at 44 %");
    assert!(!run.screen.app.wants_tick(), "nothing moves");
    run.screen.keys("l");
    run.screen.shows("F read on");
    let asked = run.press("F");
    let read_on = asked.iter().find(|asked| asked.job == Job::ReadOn);
    let generation = read_on.unwrap().generation;
    // What the first request still says is no news of the second.
    run.read(44, 410, ReadingState::Whole);
    run.screen.shows("reading 44 %");
    run.generation = generation;
    run.read(100, 1000, ReadingState::Whole);
    run.screen.shows("step 2/1000");
    run.screen.hides(" %");
}

#[test]
fn a_mark_is_kept_of_a_run_whose_reading_was_stopped() {
    for stop in [&["Esc"][..], &[]] {
        let mut run = Begun::at(Place::END, false);
        run.read(43, 400, ReadingState::Running);
        for key in stop {
            run.press(key);
        }
        run.screen.keys("l l");
        assert!(
            kept(&run.press("l")).is_none(),
            "the place lies in a part of the run"
        );
        run.press("m");
        let left = kept(&run.press("a")).unwrap();
        assert_eq!(left.marks.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(left.view, None);
    }
}

/// What is to be kept.
fn kept(asked: &[Request]) -> Option<Left> {
    asked.iter().find_map(|asked| match &asked.job {
        Job::Keep(left) => Some((**left).clone()),
        _ => None,
    })
}

#[test]
fn a_followed_run_is_followed_once_it_is_whole() {
    let mut run = Begun::at(Place::END, true);
    run.read(43, 400, ReadingState::Running);
    run.screen.shows("reading 43 %");
    run.screen.hides("live");
    run.read(100, 1000, ReadingState::Whole);
    run.screen.shows("● live");
    assert_eq!(run.screen.step(), 1000);
}

#[test]
fn a_search_is_done_again_when_there_is_more_to_search() {
    let mut run = Begun::at(Place::END, false);
    run.screen.keys("/ x Enter");
    run.screen.shows("/x  1/1");
    run.read(100, 1000, ReadingState::Whole);
    run.screen.keys("n");
    run.screen.shows("/x  2/25");
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_stays() {
    let mut run = Begun::at(Place::END, false);
    run.read(43, 400, ReadingState::Running);
    run.read(43, 400, ReadingState::Failed(text("input/output error")));
    run.screen
        .shows("the rest of the run cannot be read: input/output error");
    run.screen.shows("/400");
}
