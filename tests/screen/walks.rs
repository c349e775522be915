//! Any keys in any order, on runs that were made up and on real ones.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::tui::action::{ACTIONS, Action, ActionId};
use jukebox::tui::app::{App, AppOptions};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::key::Key;
use jukebox::tui::worker::Worker;

use crate::fake::Fake;
use crate::{Run, SIZES, Screen, demo};

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

/// Presses any keys of the table and looks at every frame.
pub(crate) fn walk<R: Run>(screen: &mut Screen<R>, seed: u64, length: usize) {
    let keys: Vec<Key> = ACTIONS
        .iter()
        .filter(|action| action.id != ActionId::Quit)
        .flat_map(Action::keys)
        .chain(
            "a b 1 2 4 9 - : x"
                .split(' ')
                .map(|key| key.parse().unwrap()),
        )
        .collect();
    let mut random = Random(seed + 1);
    for _ in 0..length {
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
    }
}

#[test]
fn no_walk_over_the_actions_breaks_the_screen_or_leaves_it_stale() {
    for (seed, (columns, rows)) in SIZES.into_iter().enumerate() {
        for steps in [0, 1, 3, 212] {
            let mut screen = Screen::new(columns, rows, steps);
            walk(&mut screen, seed as u64 * 1000 + u64::from(steps), 60);
        }
    }
}

/// The demo tapes.
const TAPES: [&str; 3] = ["bug-hunt", "rolled-back", "damaged"];

#[test]
fn no_walk_over_a_real_tape_breaks_the_screen_or_leaves_it_stale() {
    for (seed, name) in TAPES.into_iter().enumerate() {
        for (columns, rows) in SIZES {
            let mut screen = Screen::open(&demo(name), columns, rows);
            walk(&mut screen, seed as u64 + u64::from(columns), 60);
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
