//! Forks made on the screen: what a step gave is altered, what would follow is shown, and
//! nothing but a clear yes makes one, which then stands beside the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use jukebox::debugger::{
    Debugger, ForkGround, OpenOptions, Places, SecretSource, Source, WorkbenchConfig,
};
use jukebox::tui::app::AppOptions;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::worker::{InlineWorker, Runs};

use crate::{SIZES, Screen, demo};

/// Another answer of the model: it writes a file, and asks for nothing that has to be run.
const WRITES: &str = "== text\nI write a note.\n\n== call Write\n\
                      {\"path\": \"note.txt\", \"content\": \"a note\"}\n";

/// The value of a variable that is named like a secret.
pub(crate) const SECRET: &str = "violet-mountain-42-K";

/// A copy of a demo run in a directory of its own, on the screen.
pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) screen: Screen<InlineWorker>,
}

fn world(columns: u16, rows: u16) -> World {
    world_with(Path::new(env!("CARGO_BIN_EXE_jukebox")), columns, rows)
}

/// The same, where this program is started again for the sandbox.
fn world_with(program: &Path, columns: u16, rows: u16) -> World {
    world_of("bug-hunt", program, columns, rows)
}

/// The same of any demo run.
pub(crate) fn world_of(run: &str, program: &Path, columns: u16, rows: u16) -> World {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_owned();
    let tape = place.join("run.jsonl");
    fs::copy(demo(run), &tape).unwrap();
    let options = OpenOptions {
        places: Places {
            here: Some(place.clone()),
            state: Some(place.join("state")),
            ..Places::default()
        },
        ..OpenOptions::default()
    };
    let run = Debugger::open(Source::Path(tape), &options).unwrap();
    let screen = screen_on(run, Some(ground(&place, program)), columns, rows);
    World { directory, screen }
}

pub(crate) fn screen_on(
    run: Debugger,
    ground: Option<ForkGround>,
    columns: u16,
    rows: u16,
) -> Screen<InlineWorker> {
    let runs = Runs::from(Arc::new(RwLock::new(run))).with_ground(ground);
    let worker = InlineWorker::new(runs);
    let mut screen = Screen::on(worker, AppOptions::default(), columns, rows);
    screen.keys(": 1 6 Enter");
    screen
}

/// What forks are made with in this place, where a value is called a secret.
pub(crate) fn ground(place: &Path, program: &Path) -> ForkGround {
    ForkGround {
        workbench: WorkbenchConfig {
            place: place.to_owned(),
            program: program.to_owned(),
            home: None,
            hidden: Vec::new(),
            environment: Vec::new(),
            root: None,
            keeps_directory: false,
            timeout: Duration::from_mins(1),
        },
        secrets: SecretSource {
            configuration: None,
            variables: vec![("MY_TOKEN".into(), SECRET.into())],
            state: Some(place.join("state")),
        },
    }
}

impl World {
    /// The forks that lie beside the run.
    pub(crate) fn forks(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.directory.path()).unwrap();
        let paths = found.map(|entry| entry.unwrap().path());
        let is_fork = |path: &PathBuf| path.to_string_lossy().contains("fork-");
        paths.filter(is_fork).collect()
    }

    pub(crate) fn run(&self) -> Vec<u8> {
        fs::read(self.directory.path().join("run.jsonl")).unwrap()
    }

    fn type_text(&mut self, text: &str) {
        self.screen.send(Event::TextEdited(text.to_owned()));
    }
}

#[test]
fn an_altered_answer_is_shown_then_made_and_stands_beside_the_run() {
    let mut world = world(120, 40);
    let before = world.run();
    world.screen.keys("f");
    world.screen.shows("Another response");
    world.screen.shows("== call Bash");
    world.type_text(WRITES);
    world.screen.keys("Ctrl-s");
    world.screen.shows("Fork the run with another response?");
    world.screen.shows("15 steps before it");
    world.screen.shows("on files alone Write");
    world.screen.shows("stop where the model must speak");
    // Nothing was made yet, and no other key makes it.
    world.screen.keys("y Enter f l");
    assert_eq!(world.forks(), Vec::<PathBuf>::new());
    world.screen.keys("Y");
    let [fork] = &world.forks()[..] else {
        panic!("{:?}", world.forks());
    };
    world.screen.shows("1 edited, 1 re-run");
    world.screen.shows("stopped: the model must speak here");
    world.screen.keys("q");
    world.screen.shows("run.fork-1.jsonl");
    world.screen.shows("edited I write a note.");
    world.screen.shows("re-run");
    assert_eq!(world.run(), before, "the run is only read");
    let fork = Debugger::open(Source::Path(fork.clone()), &OpenOptions::default()).unwrap();
    assert!(fork.summary().fork.is_some());
    // A key leads back to the run alone, and the next fork is another one.
    world.screen.keys("A f");
    world.type_text(WRITES);
    world.screen.keys("Ctrl-s Y q");
    assert_eq!(world.forks().len(), 2);
}

#[test]
fn what_is_typed_into_a_fork_is_written_without_secrets() {
    let mut world = world(120, 40);
    world.screen.keys("f");
    world.type_text(&WRITES.replace("a note\"}", &format!("{SECRET}\"}}")));
    world.screen.keys("Ctrl-s Y");
    world.screen.shows("1 edited, 1 re-run");
    let [fork] = &world.forks()[..] else {
        panic!("{:?}", world.forks());
    };
    let text = fs::read_to_string(fork).unwrap();
    assert!(
        !text.contains(SECRET) && text.contains("[REDACTED:1]"),
        "{text}"
    );
}

#[test]
fn the_way_to_go_on_is_chosen_before_it_is_made() {
    let mut world = world(120, 40);
    world.screen.keys("f");
    world.type_text(WRITES);
    world.screen.keys("Ctrl-s Tab");
    world
        .screen
        .shows("though they answer other requests (stale)");
    let script = world.directory.path().join("script");
    fs::write(&script, "{\"response\": \"That was all.\"}\n").unwrap();
    world.screen.keys("Tab");
    world
        .screen
        .send(Event::Paste(script.display().to_string()));
    world.screen.keys("Enter");
    world.screen.shows("the answers of the script");
    world.screen.keys("Y");
    world.screen.shows("1 scripted");
    world
        .screen
        .shows("stopped: the agent has said its last word");
}

#[test]
fn a_script_that_is_none_is_told_and_the_fork_would_stop() {
    let mut world = world(120, 40);
    world.screen.keys("f");
    world.type_text(WRITES);
    world.screen.keys("Ctrl-s Tab Tab / n o n e Enter");
    world.screen.shows("the script: ");
    world.screen.shows("stop where the model must speak");
}

#[test]
fn a_mistake_is_marked_where_it_stands_and_nothing_runs() {
    let mut world = world(120, 40);
    world.screen.keys("f");
    world.type_text("== text\nwords\n\n== call Write\n{\"file_path\": }\n");
    world.screen.keys("Ctrl-s");
    world.screen.shows("5✗");
    world.screen.shows("✗ line 5");
    world.screen.hides("Fork the run");
    // The next letter takes the mark away, and the text is still there.
    world.screen.keys("x");
    world.screen.hides("✗ line 5");
    world.screen.shows("x{\"file_path\": }");
    assert_eq!(world.forks(), Vec::<PathBuf>::new());
}

#[test]
fn what_was_not_changed_makes_no_fork_and_what_was_typed_is_not_lost_at_once() {
    let mut world = world(120, 40);
    world.screen.keys("f Ctrl-s");
    world
        .screen
        .shows("nothing was changed, so no fork is made");
    world.screen.keys("f x Esc");
    world.screen.shows("Esc again gives it up");
    world.screen.shows("Another response");
    world.screen.keys("Esc");
    world.screen.hides("Another response");
    world.screen.keys("f Esc");
    world.screen.hides("Another response");
    // The sheet leads back to the text, as it was typed.
    world.screen.keys("f");
    world.type_text(WRITES);
    world.screen.keys("Ctrl-s q");
    world.screen.shows("I write a note.");
    assert_eq!(world.forks(), Vec::<PathBuf>::new());
}

#[test]
fn letters_are_text_and_a_paste_is_too() {
    let mut world = world(120, 40);
    world.screen.keys("f Ctrl-Home q Y 漢");
    world.screen.send(Event::Paste("two\nlines ".to_owned()));
    world.screen.shows("qY漢two");
    world.screen.shows("lines # The response");
    world.screen.keys("Ctrl-u Ctrl-u");
    world.screen.hides("qY漢two");
    let effects = world.screen.keys("Ctrl-o");
    let is_lent = |effect: &Effect| matches!(effect, Effect::EditText { .. });
    assert!(effects.iter().any(is_lent), "{effects:?}");
}

#[test]
fn a_step_that_gave_nothing_says_which_do() {
    let mut world = world(120, 40);
    world.screen.keys(": 2 3 Enter f");
    world
        .screen
        .shows("step 23 is no prompt, no model's turn and no tool call");
}

#[test]
fn each_stage_can_be_read_at_every_size() {
    for (columns, rows) in SIZES {
        let mut world = world(columns, rows);
        world.screen.keys("f");
        world.screen.shows("Another response");
        world.type_text(WRITES);
        world.screen.keys("Ctrl-s");
        world.screen.shows("Fork the run with");
        world.screen.keys("Y");
        let name = Path::new("run.fork-1.jsonl");
        assert!(world.directory.path().join(name).exists());
        world.screen.shows("Fork");
        world.screen.keys("q");
        world.screen.hides("stopped:");
    }
}

#[test]
fn a_fork_that_cannot_be_made_says_what_is_safe_and_keeps_what_was_written() {
    let place = tempfile::tempdir().unwrap();
    let open = |source| Debugger::open(source, &OpenOptions::default()).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_jukebox"));
    let bench = || ground(place.path(), program);
    for (columns, rows) in SIZES.into_iter().filter(|(columns, _)| *columns >= 60) {
        let cases = [
            // It is in no file, and there is no place for one.
            (open(Source::Demo), Some(bench()), "the run is in no file"),
            // The program does not know where it lies itself.
            (
                open(Source::Path(demo("bug-hunt"))),
                None,
                "Is /proc mounted?",
            ),
        ];
        for (run, bench, why) in cases {
            let mut screen = screen_on(run, bench, columns, rows);
            screen.keys("f");
            screen.send(Event::TextEdited(WRITES.to_owned()));
            screen.keys("Ctrl-s Y");
            screen.shows("No fork was made, and the run is untouched.");
            screen.shows(why);
            screen.shows("What you wrote is kept: q leads back to it.");
            screen.keys("q");
            screen.shows("I write a note.");
        }
    }
}

#[test]
fn where_nobody_can_answer_the_fork_stops_and_says_why_and_how_to_go_on() {
    let cases = [
        ("WebFetch", "{\"url\": \"https://example.org\"}"),
        // There is no sandbox.
        ("Bash", "{\"command\": \"true\"}"),
    ];
    for (tool, arguments) in cases {
        let mut world = world_with(Path::new("/nowhere/jukebox"), 100, 30);
        world.screen.keys("f");
        world.type_text(&format!("== call {tool}\n{arguments}\n"));
        world.screen.keys("Ctrl-s Y");
        world
            .screen
            .shows(&format!("stopped: nobody can answer {tool}: "));
        world.screen.shows("1 edited, 1 not known");
        world
            .screen
            .shows("Tab before Y, for a script that answers it.");
        assert_eq!(world.forks().len(), 1);
    }
}

#[test]
fn what_cannot_be_run_here_is_said_before_a_yes() {
    let text = |tool: &str, arguments: &str| format!("== call {tool}\n{arguments}\n");
    let bash = text("Bash", "{\"command\": \"true\"}");
    let mut world = world_with(Path::new("/nowhere/jukebox"), 120, 40);
    world.screen.keys("f");
    world.type_text(&bash);
    world.screen.keys("Ctrl-s");
    world.screen.shows("not re-run     Bash: no sandbox: ");
    world
        .screen
        .shows("ends the fork; `jukebox doctor` says more");
    world.screen.hides("in the sandbox Bash");
    assert_eq!(world.forks(), Vec::<PathBuf>::new());
    // What needs no command is made all the same; what follows it might need one.
    world.screen.keys("q");
    world.type_text(WRITES);
    world.screen.keys("Ctrl-s");
    world.screen.hides("no sandbox");
    world.screen.keys("Tab");
    world.screen.shows("no commands    no sandbox: ");
    world.screen.shows("gets the tape's answer to another one");

    // Where they can be run, nothing is warned of.
    let mut world = self::world(120, 40);
    world.screen.keys("f");
    world.type_text(&bash);
    world.screen.keys("Ctrl-s");
    if world.screen.text().contains("no sandbox") {
        return;
    }
    world.screen.shows("in the sandbox Bash");
}
