//! Any keys in any order, on runs that were made up and on real ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use jukebox::debugger::{Debugger, OpenOptions, Refresh, Source};
use jukebox::tui::action::{ACTIONS, Action, ActionId};
use jukebox::tui::app::{App, AppOptions};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, Reply};
use jukebox::tui::key::Key;
use jukebox::tui::worker::Worker;

use crate::fake::Fake;
use crate::{Run, SIZES, Screen, demo, forks};

#[test]
fn keys_at_any_size_do_no_harm() {
    let mut screen = Screen::new(80, 24, 212);
    let mut random = Random(7);
    for _ in 0..60 {
        let (columns, rows) = (random.below(400) as u16, random.below(300) as u16);
        screen.resize(columns, rows);
        screen.keys("j j l l d v n N / a b c Enter Esc ? Esc Tab Tab G g Esc u Ctrl-d > z");
        screen.buffer();
    }
}

/// A small generator with a seed: the same walk every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Keys that words are typed with, counts, and one that means nothing.
const LETTERS: &str = "a b 1 2 4 9 - : X";

/// The keys of all actions but those.
fn keys_of_all_but(left_out: &[ActionId]) -> Vec<Key> {
    let asked = |action: &&Action| !left_out.contains(&action.id);
    let keys = ACTIONS.iter().filter(asked).flat_map(Action::keys);
    let letters = LETTERS.split(' ').map(|key| key.parse().unwrap());
    let is_wanted = |key: &Key| {
        let mut actions = ACTIONS
            .iter()
            .filter(|action| left_out.contains(&action.id));
        !actions.any(|action| action.keys().any(|other| other == *key))
    };
    keys.chain(letters).filter(is_wanted).collect()
}

/// Presses any keys of the table and looks at every frame.
pub(crate) fn walk<R: Run>(screen: &mut Screen<R>, seed: u64, length: usize) {
    let keys = keys_of_all_but(&[&[ActionId::Quit], &ASKED[..]].concat());
    walk_with(screen, &keys, seed, length);
}

/// What is asked about before it is done, such as the ends of a transaction, has tests of its
/// own.
const ASKED: [ActionId; 4] = [
    ActionId::Commit,
    ActionId::RollBack,
    ActionId::Confirm,
    ActionId::Fork,
];

/// The keys that ask, answer and type into what asks, besides those that lead from step to step.
const ASKING: &str = "f f f T x C U Y Y Y Ctrl-s Ctrl-s Tab Enter Esc j k l h e g G A D a 1";

#[test]
fn no_walk_over_what_is_asked_about_breaks_the_screen_or_touches_the_run() {
    let keys: Vec<Key> = ASKING.split(' ').map(|key| key.parse().unwrap()).collect();
    let nowhere = Path::new("/nowhere/jukebox");
    let mut made = 0;
    for (seed, name) in TAPES.into_iter().enumerate() {
        for (columns, rows) in SIZES {
            let mut world = forks::world_of(name, nowhere, columns, rows);
            let before = world.run();
            walk_with(&mut world.screen, &keys, seed as u64, 50);
            assert!(world.run() == before, "{name} at {columns}×{rows}");
            made += world.forks().len();
        }
    }
    assert!(made > 0, "no walk made a fork");
}

pub(crate) fn walk_with<R: Run>(screen: &mut Screen<R>, keys: &[Key], seed: u64, length: usize) {
    let mut random = Random(seed + 1);
    for turn in 0..length {
        let key = keys[random.below(keys.len() as u64) as usize];
        screen.send(Event::Key(key.press()));
        // The file is read on in strides of a tick.
        for _ in 0..3 {
            screen.send(Event::Tick);
        }
        assert!(!screen.app.is_waiting(), "something waits after {key}");
        let buffer = screen.buffer();
        for cell in buffer.content() {
            let symbol = cell.symbol();
            assert!(!symbol.chars().any(char::is_control), "{symbol:?}");
        }
        if turn % 4 == 3 {
            let shown = without_choices(screen);
            ask_anew(screen);
            let anew = without_choices(screen);
            assert_eq!(anew, shown, "what was shown after {key} was stale");
            screen.send(Event::Tick);
        }
    }
}

/// The frame without the signs of what is chosen: when a run changes, the choice in a pane that
/// nobody is in goes where the change is.
fn without_choices<R: Run>(screen: &Screen<R>) -> String {
    screen.text().replace('▸', " ")
}

/// Has everything that is shown asked again, as after a change of the file.
fn ask_anew<R: Run>(screen: &mut Screen<R>) {
    let answer = Answer::Refreshed(Ok(Refresh::Grew { events: 0 }));
    let generation = 0;
    screen.send(Event::Reply(Reply { generation, answer }));
}

/// Keys of a walk.
pub(crate) const LENGTH: usize = 25;

/// Far longer walks, for whoever changes what keys do: `cargo test --test screen -- --ignored`.
#[test]
#[ignore = "takes minutes: for whoever changes what keys do"]
fn no_long_walk_breaks_the_screen_or_leaves_it_stale() {
    walk_over_actions(1_000);
    walk_over_tapes(1_000);
}

#[test]
fn no_walk_over_the_actions_breaks_the_screen_or_leaves_it_stale() {
    walk_over_actions(LENGTH);
}

fn walk_over_actions(length: usize) {
    for (seed, (columns, rows)) in SIZES.into_iter().enumerate() {
        for steps in [0, 1, 3, 212] {
            let mut screen = Screen::new(columns, rows, steps);
            walk(&mut screen, seed as u64 * 1000 + u64::from(steps), length);
        }
    }
}

/// What a person sets and a new screen does not know, or what leads to another run.
const SET_BY_HAND: [ActionId; 15] = [
    ActionId::Quit,
    ActionId::OtherRun,
    ActionId::Against,
    ActionId::Follow,
    ActionId::SetMark,
    ActionId::Annotate,
    ActionId::Sides,
    ActionId::Context,
    ActionId::Blanks,
    ActionId::ByPath,
    ActionId::Mouse,
    ActionId::NextStateView,
    ActionId::Suspend,
    ActionId::Fold,
    ActionId::FoldAll,
];

/// Closes all that is open, goes to the place, and tells the frames of every view there, at a
/// size at which the steps and what a step did are shown and folds are not. The line of hints
/// knows which file of the tree was chosen last, and is left out.
fn views_at<R: Run>(screen: &mut Screen<R>, place: &str) -> BTreeSet<String> {
    screen.resize(60, 20);
    screen.keys("Esc Esc Esc Esc Esc Esc Esc Esc Esc Esc");
    screen.keys(&format!(": {} Enter", spaced(place)));
    let mut frames = BTreeSet::new();
    for _ in 0..4 {
        for keys in ["3 v 9 9 K g 9 9 9 <", "1"] {
            screen.keys(keys);
            let mut rows = screen.frame();
            rows.pop();
            frames.insert(rows.join("\n"));
        }
    }
    frames
}

fn spaced(word: &str) -> String {
    word.chars().flat_map(|letter| [letter, ' ']).collect()
}

/// Whatever the way to a place, it looks there as on a screen that went there at once.
fn check_place<R: Run>(walked: &mut Screen<R>, fresh: &mut Screen<R>) {
    walked.resize(160, 45);
    walked.keys("Esc Esc Esc Esc Esc Esc Esc Esc Esc Esc 1");
    let place = format!("main:{}", walked.step());
    let found = views_at(walked, &place);
    let expected = views_at(fresh, &place);
    let walked: Vec<&String> = found.difference(&expected).collect();
    let fresh: Vec<&String> = expected.difference(&found).collect();
    assert!(
        walked.is_empty() && fresh.is_empty(),
        "at {place}, only after the walk:\n{walked:#?}\nonly at once:\n{fresh:#?}"
    );
}

#[test]
fn a_place_looks_the_same_whatever_the_way_there() {
    let keys = keys_of_all_but(&[&SET_BY_HAND[..], &ASKED].concat());
    for (seed, (columns, rows)) in SIZES.into_iter().enumerate() {
        let seed = seed as u64;
        let mut walked = Screen::new(columns, rows, 212);
        let tapes = TAPES.map(|name| (Screen::open(&demo(name), columns, rows), demo(name)));
        for part in 0..2 {
            walk_with(&mut walked, &keys, seed * 10 + part, 24);
            check_place(&mut walked, &mut Screen::new(60, 20, 212));
        }
        for (mut walked, tape) in tapes {
            walk_with(&mut walked, &keys, seed * 100, 24);
            check_place(&mut walked, &mut Screen::open(&tape, 60, 20));
        }
    }
}

#[test]
fn sizes_come_and_go_and_the_place_stays_as_it_was() {
    let keys = keys_of_all_but(&[&SET_BY_HAND[..], &ASKED].concat());
    let mut random = Random(11);
    for name in TAPES {
        let mut walked = Screen::open(&demo(name), 100, 30);
        for (columns, rows) in [(1, 1), (500, 200), (0, 0), (30, 8), (29, 200), (500, 8)] {
            walked.resize(columns, rows);
            walk_with(&mut walked, &keys, random.below(1 << 20), 6);
            let before = walked.text();
            walked.resize(random.below(400) as u16, random.below(100) as u16);
            walked.buffer();
            walked.resize(columns, rows);
            assert_eq!(walked.text(), before);
        }
        check_place(&mut walked, &mut Screen::open(&demo(name), 60, 20));
    }
}

#[test]
fn a_damaged_tape_is_walked_as_any_other() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tape-v1");
    let mut opened = 0;
    for (seed, entry) in fs::read_dir(fixtures).unwrap().enumerate() {
        let tape = entry.unwrap().path();
        let source = Source::Path(tape.clone());
        if Debugger::open(source, &OpenOptions::default()).is_err() {
            continue;
        }
        opened += 1;
        let (columns, rows) = SIZES[seed % SIZES.len()];
        let mut screen = Screen::open(&tape, columns, rows);
        walk(&mut screen, seed as u64, 20);
    }
    assert!(opened > 20, "{opened}");
}

/// The demo tapes.
const TAPES: [&str; 3] = ["bug-hunt", "rolled-back", "damaged"];

#[test]
fn no_walk_over_a_real_tape_breaks_the_screen_or_leaves_it_stale() {
    walk_over_tapes(LENGTH);
}

fn walk_over_tapes(length: usize) {
    for (seed, name) in TAPES.into_iter().enumerate() {
        for (columns, rows) in SIZES {
            let mut screen = Screen::open(&demo(name), columns, rows);
            walk(&mut screen, seed as u64 + u64::from(columns), length);
        }
    }
}

#[test]
fn threads_answer_what_the_screen_would_have_been_told_at_once() {
    let keys = "g e l l 2 j Enter 3 v v : 1 2 Enter / t e s t Enter n n";
    let mut inline = Screen::open(&demo("bug-hunt"), 160, 45);
    inline.keys(keys);

    let source = Source::Path(demo("bug-hunt"));
    let debugger = Debugger::open(source, &OpenOptions::default()).unwrap();
    let (sender, events) = std::sync::mpsc::channel();
    let send = move |event| drop(sender.send(event));
    let worker = Worker::spawn(Arc::new(RwLock::new(debugger)), None, send).unwrap();
    let mut app = App::new(AppOptions::default());
    let perform = |event: Event, app: &mut App| {
        for effect in app.update(event) {
            if let Effect::Request(request) = effect {
                worker.request(request);
            }
        }
    };
    let typed = keys.split(' ').map(|key| key.parse::<Key>().unwrap());
    let typed = typed.map(|key| Event::Key(key.press()));
    let size = Event::Resize {
        columns: 160,
        rows: 45,
    };
    for event in std::iter::once(size).chain(typed) {
        perform(event, &mut app);
        // A person is slower than the worker: every key acts on what the last one showed.
        while app.wants_tick() {
            let wait = Duration::from_secs(20);
            let event = events.recv_timeout(wait).unwrap();
            assert!(!matches!(event, Event::WorkerFailed(_)), "{event:?}");
            perform(event, &mut app);
        }
    }
    let threaded = Screen {
        app,
        run: Fake::new(0),
        columns: 160,
        rows: 45,
    };
    assert_eq!(threaded.text(), inline.text());
}
