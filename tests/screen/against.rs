//! A run held against another: rows side by side, the places in which they differ, files and
//! answers of one against those of the other.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use jukebox::debugger::{Debugger, OpenOptions, Source};
use jukebox::model::Place;
use jukebox::tui::app::AppOptions;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Job, Request};
use jukebox::tui::key::Key;
use jukebox::tui::theme::ColorChoice;
use jukebox::tui::worker::{InlineWorker, Runs};
use ratatui::buffer::Cell;
use ratatui::style::Modifier;
use tempfile::TempDir;

use crate::walks::{LENGTH, walk};
use crate::{SIZES, Screen, demo};

const SHARED: [&str; 4] = [
    r#"{"kind":"prompt","name":"user","text":"make the tests pass"}"#,
    r#"{"kind":"tool.call","call":"a","name":"Bash","title":"ls","args":{"command":"ls"}}"#,
    r#"{"kind":"fs.write","call":"a","path":"src/same.rs","mode":"644","text":"same\n"}"#,
    r#"{"kind":"tool.result","call":"a","outcome":"ok","output":"src"}"#,
];

/// Says that it is the parser, edits it, and fails.
const PARSER: [&str; 7] = [
    r#"{"kind":"model.response","call":"m","blocks":[{"type":"text","text":"The parser is wrong."}]}"#,
    r#"{"kind":"tool.call","call":"b","name":"Edit","title":"src/both.rs","args":{"file_path":"src/both.rs"}}"#,
    r#"{"kind":"fs.write","call":"b","path":"src/both.rs","mode":"644","text":"fn parser() {}\n"}"#,
    r#"{"kind":"fs.write","call":"b","path":"mine/left.rs","mode":"644","text":"left\n"}"#,
    r#"{"kind":"tool.result","call":"b","outcome":"ok","output":"done"}"#,
    r#"{"kind":"prompt","name":"user","text":"thanks"}"#,
    r#"{"kind":"tool.call","call":"c","name":"Bash","title":"only left","args":{"command":"only left"}}"#,
];

/// Says that it is the lexer, reads first, and edits it.
const LEXER: [&str; 8] = [
    r#"{"kind":"model.response","call":"m","blocks":[{"type":"text","text":"The lexer is wrong."}]}"#,
    r#"{"kind":"tool.call","call":"r","name":"Read","title":"src/lexer.rs","args":{"file_path":"src/lexer.rs"}}"#,
    r#"{"kind":"tool.result","call":"r","outcome":"ok","output":"what the lexer holds"}"#,
    r#"{"kind":"tool.call","call":"b","name":"Edit","title":"src/both.rs","args":{"file_path":"src/both.rs"}}"#,
    r#"{"kind":"fs.write","call":"b","path":"src/both.rs","mode":"644","text":"fn lexer() {}\n"}"#,
    r#"{"kind":"fs.write","call":"b","path":"src/right.rs","mode":"644","text":"right\n"}"#,
    r#"{"kind":"tool.result","call":"b","outcome":"ok","output":"done"}"#,
    r#"{"kind":"prompt","name":"user","text":"thanks"}"#,
];

/// A branch that leaves before the model speaks.
const REWIND: [&str; 2] = [
    r#"{"kind":"branch","branch":"b2","at":4,"why":"rewind"}"#,
    r#"{"kind":"prompt","branch":"b2","name":"user","text":"try again"}"#,
];

/// Two tapes. The branch of the first is held against its main line, too.
struct World {
    directory: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        world.put("parser.jsonl", &[&SHARED[..], &PARSER].concat());
        world.put("lexer.jsonl", &[&SHARED[..], &LEXER].concat());
        world.put("rewound.jsonl", &[&SHARED[..], &PARSER, &REWIND].concat());
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, events: &[&str]) {
        let mut text = String::from(r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#) + "\n";
        for (seq, event) in (1..).zip(events) {
            let fields = event.strip_prefix('{').unwrap();
            let _ = writeln!(text, r#"{{"seq":{seq},"t":{seq},{fields}"#);
        }
        fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, name: &str) -> Debugger {
        Debugger::open(Source::Path(self.path(name)), &OpenOptions::default()).unwrap()
    }

    /// The first tape against the second.
    fn screen(&self, (columns, rows): (u16, u16)) -> Screen<InlineWorker> {
        self.screen_with(AppOptions::default(), (columns, rows))
    }

    fn screen_with(&self, options: AppOptions, size: (u16, u16)) -> Screen<InlineWorker> {
        let runs = Runs::from(self.run("parser.jsonl")).against(self.run("lexer.jsonl"));
        let options = AppOptions {
            against: Some(Place::END),
            ..options
        };
        Screen::on(InlineWorker::new(runs), options, size.0, size.1)
    }

    fn alone(&self, name: &str, (columns, rows): (u16, u16)) -> Screen<InlineWorker> {
        let run = Arc::new(RwLock::new(self.run(name)));
        Screen::on(InlineWorker::new(run), AppOptions::default(), columns, rows)
    }
}

#[test]
fn both_runs_stand_side_by_side_from_where_they_part() {
    for size in [
        (200, 50),
        (160, 45),
        (120, 40),
        (100, 30),
        (80, 24),
        (60, 20),
    ] {
        let mut screen = World::new().screen(size);
        screen.shows("parser.jsonl → lexer.jsonl");
        screen.shows("step 3/6 → 3/6");
        screen.shows("Both runs · 2 ≠  1 −  1 +");
        let text = screen.text();
        let row = |words: &str| text.lines().find(|line| line.contains(words)).unwrap();
        let parting = row("▸ 3");
        assert!(parting.contains("≠  3"), "{parting}");
        assert!(
            parting.contains("The parser") && parting.contains("The lexer"),
            "{parting}"
        );
        assert!(row("src/lexer").contains("+  4"), "{text}");
        assert!(!row("make the").contains('≠'));
        screen.keys("Ctrl-n");
        screen.shows("step 6/6 → 6/6");
        assert!(screen.text().contains("−"));
    }
}

#[test]
fn every_row_is_reached_and_says_how_its_steps_stand_to_each_other() {
    let mut screen = World::new().screen((160, 45));
    let mut seen = Vec::new();
    screen.keys("g");
    for _ in 0..7 {
        let text = screen.text();
        let (_, place) = text.lines().next().unwrap().split_once("step ").unwrap();
        let place = place.split("  ").next().unwrap().to_owned();
        let notes = [
            "the same",
            "≠ answer",
            "≠ files",
            "− only left",
            "+ only right",
        ];
        let title = text.lines().nth(2).unwrap();
        let note = notes.iter().find(|note| title.contains(**note)).unwrap();
        seen.push(format!("{place}: {note}"));
        screen.keys("l");
    }
    assert_eq!(
        seen,
        [
            "1/6 → 1/6: the same",
            "2/6 → 2/6: the same",
            "3/6 → 3/6: ≠ answer",
            "3/6 → 4/6: + only right",
            "4/6 → 5/6: ≠ files",
            "5/6 → 6/6: the same",
            "6/6 → 6/6: − only left",
        ]
    );
    screen.shows("the last step of both runs");
    screen.keys("4 h");
    screen.shows("step 3/6 → 3/6");
    screen.keys("G");
    screen.shows("step 6/6 → 6/6");
    screen.keys("9 9 h");
    screen.shows("the start of both runs");
}

#[test]
fn keys_go_from_difference_to_difference_and_back() {
    let mut screen = World::new().screen((120, 40));
    screen.keys("g");
    screen.shows("step 1/6 → 1/6");
    screen.keys("Ctrl-n");
    screen.shows("step 3/6 → 3/6");
    screen.keys("Ctrl-n");
    screen.shows("step 6/6 → 6/6");
    screen.keys("Ctrl-n");
    screen.shows("no later difference");
    screen.keys("Ctrl-p");
    screen.shows("step 3/6 → 3/6");
    screen.keys("Ctrl-p");
    screen.shows("no earlier difference");
    screen.keys("Ctrl-n u");
    screen.shows("step 3/6 → 3/6");
    // Inside a place that differs, back is to its start.
    screen.keys("l l Ctrl-p");
    screen.shows("step 3/6 → 3/6");
    screen.shows("Ctrl-n/Ctrl-p difference");
}

#[test]
fn files_of_one_run_are_marked_against_those_of_the_other() {
    let mut screen = World::new().screen((160, 45));
    screen.keys(": 4 Enter");
    screen.shows("State 4→5");
    let text = screen.text();
    let marked = |name: &str, sign: &str| {
        let is_marked = |line: &&str| line.contains(&format!("{name} "));
        let line = text.lines().skip(20).find(is_marked).unwrap();
        assert!(line.contains(sign), "{name} {sign} in {line}");
    };
    marked("both.rs", "≠");
    marked("left.rs", "−");
    marked("right.rs", "+");
    // What one run has is there, whatever the other has.
    let is_struck = |cell: &Cell| cell.modifier.contains(Modifier::CROSSED_OUT);
    assert!(!screen.buffer().content().iter().any(is_struck), "{text}");
    let same = text.lines().find(|line| line.contains("same.rs")).unwrap();
    let (same, _) = same.split_once("││").unwrap();
    assert!(!same.contains(['≠', '+', '−']), "{same}");
    screen.shows("Files 4→5");
    screen.shows("≠ src/both.rs");
    screen.shows("− mine/left.rs");
    screen.shows("+ src/right.rs");
    screen.keys("J");
    screen.shows("fn parser() {}");
    screen.shows("fn lexer() {}");
}

#[test]
fn what_was_said_is_held_against_what_was_said_there() {
    for size in [(160, 45), (100, 30)] {
        let mut screen = World::new().screen(size);
        // No file differs where the runs part: what was said does.
        screen.shows("Step 3→3");
        screen.shows("The parser is wrong.");
        screen.shows("The lexer is wrong.");
        screen.keys("3 v");
        screen.shows("▸3 Step 3 ");
        screen.keys("v v");
        screen.shows("Event 5");
        // What only the other run did is read there.
        screen.keys("l v v v v");
        screen.shows("+ only right");
        screen.shows("what the lexer holds");
    }
}

#[test]
fn another_run_is_named_by_its_path_and_left_again() {
    let world = World::new();
    let mut screen = world.alone("parser.jsonl", (120, 40));
    screen.keys("Ctrl-n");
    screen.shows("this run is alone; A holds it against another one");
    screen.keys("A");
    screen.shows("against ");
    let typed = |screen: &mut Screen<InlineWorker>, text: &str| {
        screen.send(Event::Paste(text.to_owned()));
        screen.keys("Enter");
    };
    typed(&mut screen, "nowhere.jsonl");
    screen.shows("there is no file nowhere.jsonl");
    screen.keys("A");
    typed(
        &mut screen,
        &world.path("lexer.jsonl").display().to_string(),
    );
    screen.shows("the runs differ in 2 places");
    // The playhead stays where a person was.
    screen.shows("step 6/6 → 6/6");
    screen.keys("A");
    screen.shows("this run alone again");
    screen.hides("→ lexer.jsonl");
    screen.shows("step 6/6");
    screen.shows("State @6");
}

#[test]
fn a_branch_is_held_against_another_of_the_same_run() {
    let world = World::new();
    let mut screen = world.alone("rewound.jsonl", (120, 40));
    screen.shows("step 3/3");
    screen.keys("A");
    screen.send(Event::Paste("@main:end".to_owned()));
    screen.keys("Enter");
    screen.shows("rewound.jsonl → rewound.jsonl");
    screen.keys("g Ctrl-n");
    screen.shows("step 2/3 → 3/6");
    screen.shows("+ only right");
    screen.keys("A A");
    screen.send(Event::Paste("@nobranch:end".to_owned()));
    screen.keys("Enter");
    screen.shows("no branch is named `nobranch`");
}

#[test]
fn runs_are_aligned_once_and_not_with_every_key() {
    let mut screen = World::new().screen((120, 40));
    for key in ["l", "h", "j", "Ctrl-n", "Ctrl-p", "v", "z", "z", "2", "Tab"] {
        let key: Key = key.parse().unwrap();
        for effect in screen.app.update(Event::Key(key.press())) {
            let is_alignment = matches!(
                effect,
                Effect::Request(Request {
                    job: Job::Align { .. } | Job::RightSummary,
                    ..
                })
            );
            assert!(!is_alignment, "{key}: {effect:?}");
        }
    }
}

#[test]
fn a_run_that_grows_is_aligned_anew() {
    let world = World::new();
    let mut screen = world.screen((120, 40));
    screen.keys("G F");
    let more = r#"{"seq":12,"t":12,"kind":"prompt","name":"user","text":"and more"}"#;
    let mut tape = fs::File::options();
    let mut tape = tape.append(true).open(world.path("parser.jsonl")).unwrap();
    writeln!(tape, "{more}").unwrap();
    screen.send(Event::Tick);
    screen.send(Event::TapeMayHaveChanged);
    screen.shows("step 7/7 → 6/6");
    screen.shows("and more");
}

#[test]
fn the_right_run_is_followed_as_it_grows_and_when_it_is_replaced() {
    let world = World::new();
    let mut screen = world.screen((120, 40));
    screen.keys("G F");
    let lexer = world.path("lexer.jsonl");
    let next = fs::read_to_string(&lexer).unwrap().lines().count();
    let more = r#""kind":"prompt","name":"user","text":"more there"}"#;
    let mut tape = fs::File::options().append(true).open(&lexer).unwrap();
    writeln!(tape, r#"{{"seq":{next},"t":{next},{more}"#).unwrap();
    screen.send(Event::Tick);
    screen.send(Event::TapeMayHaveChanged);
    screen.shows("/7");
    screen.keys("G");
    screen.shows("more there");
    // Another file takes its place.
    fs::copy(world.path("parser.jsonl"), world.path("new")).unwrap();
    fs::rename(world.path("new"), &lexer).unwrap();
    screen.send(Event::Tick);
    screen.send(Event::TapeMayHaveChanged);
    screen.shows("the right file was replaced");
    screen.hides("more there");
    fs::remove_file(&lexer).unwrap();
    screen.send(Event::Tick);
    screen.send(Event::TapeMayHaveChanged);
    screen.shows("the right file is gone");
}

#[test]
fn no_walk_over_two_tapes_breaks_the_screen_or_leaves_it_stale() {
    let pairs = [("bug-hunt", "rolled-back"), ("damaged", "bug-hunt")];
    for (seed, (left, right)) in (0..).zip(pairs) {
        for (columns, rows) in SIZES {
            let open = |name| Debugger::open(Source::Path(demo(name)), &OpenOptions::default());
            let runs = Runs::from(open(left).unwrap()).against(open(right).unwrap());
            let options = AppOptions {
                against: Some(Place::END),
                ..AppOptions::default()
            };
            let mut screen = Screen::on(InlineWorker::new(runs), options, columns, rows);
            walk(&mut screen, seed + u64::from(columns), LENGTH);
        }
    }
}

#[test]
fn it_can_be_read_without_colours_and_at_any_size() {
    let options = AppOptions {
        colors: ColorChoice::Never,
        ..AppOptions::default()
    };
    let world = World::new();
    for size in SIZES
        .into_iter()
        .chain([(80, 8), (200, 9), (30, 20), (3, 3), (0, 0)])
    {
        let mut screen = world.screen_with(options.clone(), size);
        for key in [
            "l", "Ctrl-n", "Ctrl-p", "3", "v", "2", "Enter", "z", "?", "q", "G",
        ] {
            screen.keys(key);
            let _ = screen.text();
        }
    }
}
