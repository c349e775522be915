//! Marks that are there the next time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use jukebox::debugger::{Debugger, OpenOptions, Places, Source};
use jukebox::tui::app::{AppOptions, Keeping};
use jukebox::tui::worker::InlineWorker;
use tempfile::TempDir;

use crate::{SIZES, Screen, demo};

/// A tape, and a place for what is left at it.
pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) tape: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tape = directory.path().join("run.jsonl");
        fs::copy(demo("bug-hunt"), &tape).unwrap();
        Self { directory, tape }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// The user's directories.
    pub(crate) fn places(&self) -> Places {
        Places {
            state: Some(self.state()),
            claude: Some(self.directory.path().join("claude")),
            ..Places::default()
        }
    }

    /// The tape, opened.
    pub(crate) fn run(&self) -> Debugger {
        let options = OpenOptions {
            places: self.places(),
            ..OpenOptions::default()
        };
        Debugger::open(Source::Path(self.tape.clone()), &options).unwrap()
    }

    pub(crate) fn open(&self, keeping: Keeping, size: (u16, u16)) -> Screen<InlineWorker> {
        let options = AppOptions {
            keeping,
            ..AppOptions::default()
        };
        self.open_as(options, size)
    }

    pub(crate) fn open_as(
        &self,
        options: AppOptions,
        (columns, rows): (u16, u16),
    ) -> Screen<InlineWorker> {
        let run = InlineWorker::new(Arc::new(RwLock::new(self.run())));
        Screen::on(run, options, columns, rows)
    }

    /// The one file of the tape.
    pub(crate) fn kept(&self) -> PathBuf {
        let mut files = fs::read_dir(self.state().join("tapes")).unwrap();
        let path = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        path
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

#[test]
fn the_strip_shows_what_a_person_marked_beside_what_happened() {
    let mut screen = Screen::new(160, 45, 150);
    let strip = |screen: &Screen| screen.frame()[1].clone();
    for sign in ["✗", "≠", "░", "⑂", "┃"] {
        assert!(strip(&screen).contains(sign), "{sign}: {}", strip(&screen));
    }
    assert!(!strip(&screen).contains('q'));
    screen.keys(": 7 1 Enter m q : 9 1 Enter d g");
    assert!(strip(&screen).contains('q'), "{}", strip(&screen));
    assert!(strip(&screen).contains('╎'), "{}", strip(&screen));
}

#[test]
fn marks_are_there_the_next_time() {
    for size in SIZES {
        let world = World::new();
        let before = fs::read(&world.tape).unwrap();
        let mut screen = world.open(Keeping::Kept, size);
        screen.keys(": 1 2 Enter m a g h m b : 1 5 Enter , m c");
        screen.shows("inside step 15");
        let mut screen = world.open(Keeping::Kept, size);
        screen.keys("'");
        screen.shows("a  step 12");
        screen.keys("a");
        assert_eq!(screen.step(), 12);
        screen.keys("' b");
        assert_eq!(screen.step(), 0);
        screen.keys(": m a r k : c Enter");
        screen.shows("inside step 15");
        // One that is set now stands beside the others, and above the one of before.
        screen.keys("' a l m a");
        let mut screen = world.open(Keeping::Kept, size);
        screen.keys("' a");
        assert_eq!(screen.step(), 13);
        screen.keys("' b");
        assert_eq!(screen.step(), 0);
        assert_eq!(fs::read(&world.tape).unwrap(), before);
    }
}

#[test]
fn a_screen_that_forgets_writes_nothing() {
    let world = World::new();
    let mut screen = world.open(Keeping::Forgotten, (100, 30));
    screen.keys("g m a");
    screen.shows("mark a at step 1");
    assert!(!world.state().exists());
}

#[test]
fn what_was_kept_may_be_anything() {
    let world = World::new();
    world.open(Keeping::Kept, (100, 30)).keys("g m a");
    for text in [
        "",
        "[1, 2]",
        "{\"marks\": 7}",
        "{\"marks\": {\"a\": 5, \"b\": \"mark:b\", \"c\": \"9999\", \"d\": \"nowhere:1\"}}",
        "\u{0}{",
    ] {
        write(&world.kept(), text);
        let mut screen = world.open(Keeping::Kept, (100, 30));
        screen.keys("'");
        screen.shows("no mark yet");
        screen.keys("Esc : 3 Enter m x");
        screen.hides("not kept");
        let mut screen = world.open(Keeping::Kept, (100, 30));
        screen.keys("' x");
        assert_eq!(screen.step(), 3);
    }
    write(
        &world.kept(),
        "{\"of later\": [1], \"marks\": {\"long name\": \"2\"}}",
    );
    world.open(Keeping::Kept, (100, 30)).keys("m y");
    let kept = fs::read_to_string(world.kept()).unwrap();
    assert!(
        kept.contains("of later") && kept.contains("long name"),
        "{kept}"
    );
}

#[test]
fn a_place_that_nothing_can_be_kept_in_is_said() {
    let world = World::new();
    write(&world.state(), "a file stands in the way");
    let mut screen = world.open(Keeping::Kept, (100, 30));
    screen.keys("m a");
    screen.shows("✗ marks and notes are not kept:");
    screen.keys("g ' a");
    assert_eq!(screen.step(), 29);
}
