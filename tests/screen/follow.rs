//! A run that grows, a file that changes, and screens with nothing to show.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use jukebox::debugger::{Debugger, OpenOptions, Refresh, Source};
use jukebox::tui::app::{App, AppOptions};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Job, Reply, Request, Slot};
use jukebox::tui::key::Key;
use jukebox::tui::worker::InlineWorker;

use crate::{Screen, demo, fake};

#[test]
fn the_end_is_followed_until_one_goes_back() {
    let options = AppOptions {
        is_following: true,
        ..AppOptions::default()
    };
    let mut screen = Screen::with(options, 120, 30, 20);
    screen.shows("step 20/20   ");
    screen.shows("● live");
    let grow = |screen: &mut Screen, steps| {
        screen.send(Event::Tick);
        let events = (steps - screen.run.steps) * 4;
        screen.run.steps = steps;
        screen.run.refresh = Refresh::Grew { events };
        screen.send(Event::TapeMayHaveChanged);
        screen.run.refresh = Refresh::Unchanged;
        screen.send(Event::Tick);
    };
    grow(&mut screen, 25);
    screen.shows("step 25/25");
    screen.keys("h h");
    grow(&mut screen, 30);
    grow(&mut screen, 37);
    assert_eq!(screen.step(), 23);
    screen.shows("○ 12 new");
    screen.keys("G");
    screen.shows("● live");
    screen.keys("l");
    screen.shows("the last step");
    grow(&mut screen, 40);
    screen.shows("step 40/40");
    screen.keys("F");
    screen.shows("not following any more");
    screen.hides("live");
    grow(&mut screen, 41);
    assert_eq!(screen.step(), 40);
}

#[test]
fn a_file_that_is_cut_replaced_or_gone_is_said_so() {
    let options = AppOptions {
        is_following: true,
        ..AppOptions::default()
    };
    let mut screen = Screen::with(options, 120, 30, 40);
    screen.keys("5 h m a d 2 g j Enter");
    let change = |screen: &mut Screen, steps, refresh| {
        screen.send(Event::Tick);
        screen.run.steps = steps;
        screen.run.refresh = refresh;
        screen.send(Event::TapeMayHaveChanged);
        screen.send(Event::Tick);
    };
    change(&mut screen, 7, Refresh::Truncated);
    screen.shows("the file was truncated");
    screen.shows("step 7/7");
    screen.keys("' a");
    screen.shows("no mark a");
    change(&mut screen, 9, Refresh::Replaced);
    screen.shows("the file was replaced");
    change(&mut screen, 9, Refresh::Gone);
    screen.shows("the file is gone");
    screen.shows("○ gone");
    screen.keys("1 g l");
    screen.shows("step 2/9");
    change(&mut screen, 4, Refresh::Back);
    screen.shows("the file is there again");
    screen.shows("step 2/4");
    screen.keys("h");
    change(&mut screen, 0, Refresh::Truncated);
    screen.shows("This tape holds no step.");
}

#[test]
fn waiting_is_shown_after_a_tenth_of_a_second_and_the_end_is_not() {
    let mut app = App::new(AppOptions::default());
    let resize = Event::Resize {
        columns: 80,
        rows: 24,
    };
    app.update(resize);
    let mut screen = Screen::new(80, 24, 5);
    std::mem::swap(&mut screen.app, &mut app);
    assert!(screen.app.wants_tick());
    screen.hides("opening the run");
    for _ in 0..2 {
        screen.app.update(Event::Tick);
    }
    screen.shows("opening the run");
}

/// Answers all that was asked but comparisons; returns how many of those were asked.
fn answer_but_comparisons(screen: &mut Screen, mut asked: Vec<Effect>) -> usize {
    let mut comparisons = 0;
    while let Some(effect) = asked.pop() {
        let Effect::Request(Request { generation, job }) = effect else {
            continue;
        };
        if job.slot() == Slot::Diff {
            comparisons += 1;
            continue;
        }
        let mut replies = Vec::new();
        screen.run.answer(&job, &mut |answer| {
            replies.push(Reply { generation, answer });
        });
        for reply in replies {
            asked.extend(screen.app.update(Event::Reply(reply)));
        }
    }
    comparisons
}

#[test]
fn a_comparison_that_takes_long_is_given_up() {
    let mut screen = Screen::new(160, 45, 212);
    screen.keys(": 4 3 Enter");
    let press = |key: &str| Event::Key(key.parse::<Key>().unwrap().press());
    let asked = screen.app.update(press("l"));
    assert_eq!(answer_but_comparisons(&mut screen, asked), 1);
    screen.hides("Esc give up");
    for _ in 0..3 {
        screen.app.update(Event::Tick);
    }
    screen.shows("Esc give up");
    let asked = screen.app.update(press("Esc"));
    assert!(
        asked
            .iter()
            .any(|effect| matches!(effect, Effect::Request(asked) if asked.job == Job::StopDiff))
    );
    answer_but_comparisons(&mut screen, asked);
    screen.shows("The comparison was given up.");
    assert!(!screen.app.wants_tick(), "nothing is waited for");
    assert_eq!(screen.step(), 44);
    screen.keys("h l");
    screen.hides("given up");
    screen.shows("src/lexer.rs");
    assert!(!screen.app.wants_tick());
}

#[test]
fn an_empty_tape_says_what_to_do() {
    let screen = Screen::new(80, 24, 0);
    screen.shows("This tape holds no step.");
    screen.shows("F follows it while it is written");
    screen.shows("1 line could not be read");
}

#[test]
fn what_is_wrong_with_a_file_is_listed() {
    let mut screen = Screen::open(&demo("damaged"), 100, 30);
    screen.shows("! 4 problems");
    screen.keys("!");
    screen.shows("Before trusting the view");
    screen.shows("! line 17 (byte ");
    screen.shows("): NUL bytes inside the line");
    screen.hides("more problem");
    let mut screen = Screen::open(&demo("bug-hunt"), 100, 30);
    screen.keys("!");
    screen.shows("Every line of the tape was read, and nothing is missing.");
}

#[test]
fn what_failed_ends_the_program_with_its_reason() {
    let mut screen = Screen::new(80, 24, 5);
    let effects = screen.send(Event::WorkerFailed(fake::text("index out of bounds")));
    assert!(matches!(&effects[..], [Effect::Fail(why)] if why.as_str() == "index out of bounds"));
}

/// A tape in a file that the test writes, and a screen that follows it.
struct Followed {
    folder: tempfile::TempDir,
    lines: Vec<String>,
    screen: Screen<InlineWorker>,
}

impl Followed {
    /// A screen on the first lines of a demo tape.
    fn new(lines: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = fs::read_to_string(demo("bug-hunt")).unwrap();
        let all: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let path = folder.path().join("run.jsonl");
        fs::write(&path, all[..lines].concat()).unwrap();
        let options = OpenOptions {
            awaits_content: true,
            ..OpenOptions::default()
        };
        let debugger = Debugger::open(Source::Path(path), &options).unwrap();
        let run = InlineWorker::new(Arc::new(RwLock::new(debugger)));
        let options = AppOptions {
            is_following: true,
            ..AppOptions::default()
        };
        Self {
            folder,
            lines: all,
            screen: Screen::on(run, options, 120, 30),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("run.jsonl")
    }

    fn append(&mut self, text: &str) {
        let mut file = fs::File::options().append(true).open(self.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        self.look();
    }

    fn look(&mut self) {
        for event in [Event::Tick, Event::TapeMayHaveChanged, Event::Tick] {
            self.screen.send(event);
        }
    }

    fn text(&self, lines: std::ops::Range<usize>) -> String {
        self.lines[lines].concat()
    }
}

#[test]
fn a_tape_is_followed_through_all_that_can_happen_to_its_file() {
    let mut run = Followed::new(12);
    let before = run.screen.step();
    run.screen.shows("● live");
    // Whole lines, then half a line, then the rest of it.
    let text = run.text(12..30);
    run.append(&text);
    let grown = run.screen.step();
    assert!(grown > before);
    let line = run.text(30..40);
    let (half, rest) = line.split_at(line.len() / 2);
    run.append(half);
    run.append(rest);
    assert!(run.screen.step() >= grown);
    // Who went back stays there, and is told of what is new.
    run.screen.keys("3 h");
    let here = run.screen.step();
    let text = run.text(40..60);
    run.append(&text);
    assert_eq!(run.screen.step(), here);
    run.screen.shows(" new");
    // Cut, replaced, gone, back.
    fs::write(run.path(), run.text(0..8)).unwrap();
    run.look();
    run.screen.shows("! the file was ");
    let beside = run.folder.path().join("beside");
    fs::write(&beside, run.text(0..30)).unwrap();
    fs::rename(&beside, run.path()).unwrap();
    run.look();
    run.screen.shows("the file was replaced");
    run.screen.keys("1 G");
    assert_eq!(run.screen.step(), grown);
    fs::remove_file(run.path()).unwrap();
    run.look();
    run.screen.shows("the file is gone");
    run.screen.shows("○ gone");
    run.screen.keys("1 g l 2 3");
    run.screen.shows("step 2/");
    fs::write(run.path(), run.text(0..40)).unwrap();
    run.look();
    run.screen.hides("○ gone");
    run.screen.shows("step 2/");
}
