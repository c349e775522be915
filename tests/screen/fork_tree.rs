//! The forks of a run as a tree on the screen: shown, opened, held beside their parents, renamed
//! and deleted; and the signs on the run where they leave it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, RwLock};

use jukebox::debugger::{Debugger, ForkPoints, OpenOptions, Places, Source};
use jukebox::model::{StepNumber, Via};
use jukebox::tui::app::{AppOptions, Keeping};
use jukebox::tui::event::Event;
use jukebox::tui::theme::ColorChoice;
use jukebox::tui::worker::InlineWorker;
use tempfile::TempDir;

use crate::family::Family;
use crate::{SIZES, Screen};

/// A run with forks, in a directory of its own.
struct World {
    directory: TempDir,
    family: Family,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let family = Family::build(directory.path()).unwrap();
        Self { directory, family }
    }

    /// The screen on a tape of the family.
    fn open(&self, tape: &Path, (columns, rows): (u16, u16)) -> Screen<InlineWorker> {
        let options = OpenOptions {
            places: Places {
                state: Some(self.directory.path().join("state")),
                ..Places::default()
            },
            ..OpenOptions::default()
        };
        let run = Debugger::open(Source::Path(tape.to_owned()), &options).unwrap();
        let options = AppOptions {
            keeping: Keeping::Kept,
            ..AppOptions::default()
        };
        let worker = InlineWorker::new(Arc::new(RwLock::new(run)));
        Screen::on(worker, options, columns, rows)
    }

    /// The names of the tapes that are there.
    fn tapes(&self) -> Vec<String> {
        let found = fs::read_dir(self.directory.path()).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.contains("jsonl")).collect();
        names.sort();
        names
    }
}

const ALL: [&str; 4] = [
    "run.fork-1.fork-1.jsonl",
    "run.fork-1.jsonl",
    "run.fork-2.jsonl",
    "run.jsonl",
];

#[test]
fn the_tree_says_of_each_fork_where_it_left_what_was_changed_and_how_it_went_on() {
    let world = World::new();
    let mut screen = world.open(&world.family.run, (120, 40));
    screen.keys("T");
    for words in [
        "run.jsonl  this run",
        "├ ⑂ step 16, response  I check the whole cart before I change it.",
        "│ └ ⑂ step 16, response  I ask first: which one is right?",
        "└ ⑂ step 18, result  ok. 12 passed",
        "run.fork-1.fork-1.jsonl",
        "1 edited, 1 recorded, 1 re-run, 1 scripted, 1 live, 1 stale, 1 not known, then script",
        "stopped: nobody can answer WebFetch: no tool has the network",
    ] {
        screen.shows(words);
    }
    screen.keys("T");
    screen.hides("this run");
}

#[test]
fn a_tape_of_the_tree_is_opened_and_the_way_back_is_chosen_already() {
    for size in SIZES {
        let world = World::new();
        let mut screen = world.open(&world.family.run, size);
        screen.keys(": 1 2 Enter T j j Enter");
        screen.hides("Forks ═");
        screen.keys("T Enter");
        // Where it was left, it is found again.
        assert_eq!(screen.step(), 12);
        screen.keys("T Enter g");
        screen.keys("T Enter");
        assert_eq!(screen.step(), 12);
    }
}

#[test]
fn a_fork_stands_beside_the_run_that_it_left() {
    let world = World::new();
    // From the run, from the fork itself, and from neither.
    for (tape, keys) in [
        (&world.family.run, "T j A"),
        (&world.family.checked, "T A"),
        (&world.family.passed, "T g j A"),
    ] {
        let mut screen = world.open(tape, (120, 40));
        screen.keys(keys);
        let names = screen.frame()[0].clone();
        assert!(names.contains(" → "), "{keys}: {names}");
        assert!(
            names.contains("run.jsonl") && names.contains("run.fork-1.jsonl"),
            "{keys}: {names}"
        );
        // The playhead is where they part.
        screen.shows("→ 16/");
        screen.shows("edited");
    }
    let mut screen = world.open(&world.family.run, (120, 40));
    screen.keys("T A");
    screen.shows("it is no fork, and so left no run to stand beside");
}

#[test]
fn the_mouse_chooses_a_tape_and_opens_it() {
    let world = World::new();
    let mut screen = world.open(&world.family.run, (100, 30));
    screen.keys("T");
    screen.click_on("then stop");
    screen.shows("▸│ └ ⑂ step 16, response  I ask first");
    screen.click_on("this run");
    screen.shows("▸run.jsonl  this run");
    // What is chosen already is opened.
    screen.click_on("this run");
    screen.shows("this is the run that is open");
    screen.click_on("00:0");
    screen.hides("this run");
}

#[test]
fn a_fork_is_renamed_and_no_file_is_written_over() {
    let world = World::new();
    let mut screen = world.open(&world.family.run, (100, 30));
    screen.keys("T j r");
    screen.shows("rename to run.fork-1");
    screen.keys("Ctrl-u r u n . f o r k - 2 Enter");
    screen.shows("It was not done.");
    screen.shows("not written over");
    assert_eq!(world.tapes(), ALL);
    screen.keys("q r Ctrl-u c a r t Enter");
    screen.shows("cart.jsonl is its name now");
    screen.shows("I check the whole cart");
    assert!(world.tapes().contains(&"cart.jsonl".to_owned()));
    // Its own fork finds it under that name.
    let fork = world.open(&world.family.again, (100, 30));
    fork.shows("fork of cart.jsonl@16");
    // The run that is open is read on from there.
    let cart = world.directory.path().join("cart.jsonl");
    let mut screen = world.open(&cart, (100, 30));
    screen.keys("T r Ctrl-u b a c k Enter");
    screen.shows("back.jsonl");
    screen.keys("T k Enter T");
    screen.shows("run.jsonl  this run");
}

#[test]
fn a_fork_is_deleted_after_a_yes_that_names_it_and_not_while_it_has_forks() {
    let world = World::new();
    let before = fs::read(&world.family.run).unwrap();
    let mut screen = world.open(&world.family.run, (100, 30));
    screen.keys("T D");
    screen.shows("run.jsonl is no fork.");
    screen.keys("q j D");
    screen.shows("run.fork-1.jsonl has a fork, which shares its events.");
    screen.shows("run.fork-1.fork-1.jsonl");
    screen.keys("Y");
    assert_eq!(world.tapes(), ALL);
    screen.keys("q j D");
    screen.shows("Delete run.fork-1.fork-1.jsonl?");
    for no in ["Enter", "d", "y", "q"] {
        screen.keys(no);
        assert_eq!(world.tapes(), ALL, "{no}");
    }
    screen.keys("D Y");
    screen.shows("run.fork-1.fork-1.jsonl is deleted");
    assert_eq!(world.tapes(), [ALL[1], ALL[2], ALL[3]]);
    screen.keys("g j D Y");
    assert_eq!(world.tapes(), [ALL[2], ALL[3]]);
    screen.keys("T");
    screen.shows("⑂ 1 fork");
    assert_eq!(fs::read(&world.family.run).unwrap(), before);
    // The run that is open is not taken away from under the screen.
    let mut screen = world.open(&world.family.passed, (100, 30));
    screen.keys("T D");
    screen.shows("run.fork-2.jsonl is the run that is open.");
    assert_eq!(world.tapes(), [ALL[2], ALL[3]]);
}

#[test]
fn another_tape_in_the_place_of_a_fork_is_neither_renamed_nor_deleted() {
    let world = World::new();
    // Where it lies is known from now on.
    world.open(&world.family.passed, (100, 30));
    let mut screen = world.open(&world.family.run, (100, 30));
    screen.keys("T G");
    let other = r#"{"seq":0,"kind":"tape","format":1,"id":"another"}"#;
    fs::write(&world.family.passed, format!("{other}\n")).unwrap();
    screen.keys("D Y");
    screen.shows("another tape stands there now");
    screen.keys("q r Ctrl-u x Enter");
    screen.shows("another tape stands there now");
    assert_eq!(world.tapes(), ALL);
    // Looked for anew, it is said before.
    screen.keys("q T T G");
    screen.shows("is another tape now, or cannot be read");
}

#[test]
fn where_there_is_no_fork_the_tree_says_how_one_is_made() {
    for size in SIZES {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run.jsonl");
        fs::copy(crate::demo("bug-hunt"), &run).unwrap();
        let mut screen = Screen::open(&run, size.0, size.1);
        screen.keys("T");
        screen.shows("run.jsonl has no forks");
        screen.shows("f on a prompt");
        screen.keys("Enter j D A r q");
        screen.hides("no forks yet");
    }
}

#[test]
fn a_parent_that_is_not_there_and_a_fork_that_cannot_be_read_are_told_calmly() {
    let world = World::new();
    fs::remove_file(&world.family.run).unwrap();
    let torn = fs::read(&world.family.passed).unwrap();
    fs::write(&world.family.passed, &torn[..40]).unwrap();
    // What it holds itself is shown.
    let mut screen = world.open(&world.family.checked, (100, 30));
    screen.keys("T g");
    screen.shows("not found: nobody knows where it lies");
    screen.keys("Enter");
    screen.shows("Nobody knows where the tape");
    screen.shows("--parent FILE");
    screen.keys("q");
    screen.shows("this run");
    screen.keys("A q");
    screen.shows("this run");
}

#[test]
fn the_run_says_where_forks_leave_it() {
    let world = World::new();
    for size @ (columns, _) in SIZES {
        let mut screen = world.open(&world.family.run, size);
        screen.keys("1 : 1 5 Enter");
        let frame = screen.frame();
        if columns >= 60 {
            assert!(frame[0].contains("⑂ 2 forks"), "{}", frame[0]);
        }
        assert!(frame[1].contains('⑂'), "{}", frame[1]);
        if columns >= 60 {
            let row = frame.iter().skip(2).find(|line| line.contains("16  ◆"));
            assert!(row.unwrap().contains('⑂'), "{}", screen.text());
        }
    }
    // A fork knows its own forks, and not those of its parent.
    let screen = world.open(&world.family.checked, (120, 40));
    screen.shows("⑂ 1 fork ");
    // A fork that is gone leaves no sign behind.
    fs::remove_file(&world.family.passed).unwrap();
    let mut screen = world.open(&world.family.run, (120, 40));
    screen.shows("⑂ 1 fork ");
    // One that was made elsewhere is seen when a person comes back.
    fs::copy(
        &world.family.checked,
        world.directory.path().join("x.jsonl"),
    )
    .unwrap();
    fs::remove_file(&world.family.checked).unwrap();
    screen.send(Event::FocusGained);
    screen.shows("⑂ 1 fork ");
}

#[test]
fn signs_of_forks_are_drawn_from_what_is_told_and_nothing_else() {
    let mut screen = Screen::new(160, 45, 150);
    screen.run.forks = ForkPoints {
        forks: 3,
        steps: vec![(StepNumber(41), 2), (StepNumber(90), 1)],
    };
    screen.send(Event::FocusGained);
    screen.shows("⑂ 3 forks");
    screen.keys("1 z : 4 1 Enter");
    screen.shows("2 forks");
    screen.keys(": 9 0 Enter");
    screen.shows("1 fork ");
}

/// Every label of an answer, in words, with colours and without.
#[test]
fn labels_can_be_read_on_the_fork_and_beside_its_parent() {
    let world = World::new();
    for size in [(160, 45), (100, 30), (60, 20)] {
        for keys in ["1 : 1 6 Enter", "T A 1"] {
            let mut shown = String::new();
            let mut screen = world.open(&world.family.checked, size);
            screen.keys(keys);
            for _ in 0..16 {
                shown.push_str(&screen.text());
                screen.keys("j");
            }
            for via in Via::ALL {
                let label = via.label();
                assert!(
                    shown.contains(label),
                    "{label} at {size:?} after {keys}\n{shown}"
                );
            }
        }
    }
}

#[test]
fn what_a_fork_is_called_is_never_obeyed() {
    let world = World::new();
    let hostile = world.directory.path().join("\u{1b}[2J\u{202e}evil.jsonl");
    fs::rename(&world.family.passed, hostile).unwrap();
    for (columns, rows) in SIZES {
        let mut screen = world.open(&world.family.run, (columns, rows));
        screen.keys("T G D");
        let text = screen.text();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    }
}

#[test]
fn the_tree_says_the_same_without_colours() {
    let world = World::new();
    let run = Debugger::open(
        Source::Path(world.family.run.clone()),
        &OpenOptions::default(),
    );
    let options = AppOptions {
        colors: ColorChoice::Never,
        ..AppOptions::default()
    };
    let worker = InlineWorker::new(Arc::new(RwLock::new(run.unwrap())));
    let mut plain = Screen::on(worker, options, 100, 30);
    let mut colored = Screen::open(&world.family.run, 100, 30);
    for keys in ["", "T", "j", "D"] {
        plain.keys(keys);
        colored.keys(keys);
        assert_eq!(plain.text(), colored.text());
    }
}
