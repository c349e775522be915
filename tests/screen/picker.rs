//! The list of runs: what was opened before, the demo, transcripts; choosing and opening.

use std::fs;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

use crossterm::event::MouseEventKind;
use jukebox::debugger::{Debugger, OpenOptions, RunRow, RunSort, RunSource, Source};
use jukebox::model::{StepNumber, WallTime};
use jukebox::tui::app::{AppOptions, First, Keeping};
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, Job, OpenedRun, Reply, Request};
use jukebox::tui::key::Key;
use jukebox::tui::worker::InlineWorker;

use crate::fake::text;
use crate::marks::World;
use crate::{SIZES, Screen};

/// Some runs, told in two parcels: names as they are on disks, with what fools a terminal.
pub(crate) fn list(reply: &mut dyn FnMut(Answer)) {
    let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
    let row = |sort, name: &str, words: &str| RunRow {
        source: RunSource::File(format!("/home/dev/work/{name}").into()),
        sort,
        name: text(name),
        directory: text("/home/dev/work/a/long/way/down/to/agents"),
        words: text(words),
        agent: text("claude-code 2.1"),
        steps: Some((212, 3)),
        step: Some(41),
        bytes: Some(1_300_000),
        age: hours(2),
        is_there: true,
    };
    let gone = RunRow {
        is_there: false,
        bytes: None,
        age: hours(50),
        ..row(RunSort::Recent, "gone.jsonl", "Write a parser for the log")
    };
    let demo = RunRow {
        source: RunSource::Demo,
        steps: None,
        step: None,
        age: None,
        ..row(RunSort::Demo, "demo", "an agent mends a discount")
    };
    let evil = row(
        RunSort::Recent,
        "evil \u{202e}\u{1b}[2J.jsonl",
        "\u{1b}]0;x\u{7}",
    );
    let run = row(RunSort::Recent, "run.jsonl", "Make the tests pass");
    reply(Answer::Runs(vec![gone, run, evil, demo]));
    let transcript = |number: u64, words: &str| RunRow {
        steps: None,
        step: None,
        age: hours(number),
        ..row(RunSort::Transcript, &format!("{number:08}.jsonl"), words)
    };
    reply(Answer::Runs((1..=60).map(|n| transcript(n, "")).collect()));
    reply(Answer::Runs(
        (1..=60)
            .map(|n| transcript(n, &format!("Do thing {n}")))
            .collect(),
    ));
    reply(Answer::AllRuns);
}

fn choosing(columns: u16, rows: u16) -> Screen {
    let options = AppOptions {
        first: First::Picker,
        ..AppOptions::default()
    };
    Screen::with(options, columns, rows, 212)
}

#[test]
fn runs_are_listed_by_sort_and_chosen_with_keys() {
    for (columns, rows) in SIZES {
        let mut screen = choosing(columns, rows);
        screen.shows("▸run.jsonl");
        screen.keys("j j");
        screen.shows("▸gone.jsonl");
        // Headings are passed over, and the last one stays the last.
        screen.keys("j");
        screen.shows("▸demo");
        screen.keys("j");
        screen.shows("▸Do thing 1");
        screen.keys("G j");
        screen.shows("▸Do thing 60");
        screen.keys("PgUp k");
        screen.hides("▸Do thing 60");
        screen.keys("g k");
        screen.shows("▸run.jsonl");
        screen.shows("Opened before");
    }
}

#[test]
fn what_there_is_to_know_of_a_run_is_said_where_there_is_room() {
    let mut screen = choosing(160, 45);
    screen.shows("Make the tests pass");
    screen.shows("41/212   ✗ 3      2 h ago");
    screen.shows("…ork/a/long/way/down/to/agents");
    screen.shows("212 steps · 3 failed · left at step 41");
    screen.shows("3 runs opened before · 60 transcripts");
    screen.keys("j j");
    screen.shows("▸gone.jsonl                is not there any more");
    screen.keys("j");
    screen.shows("jukebox demo opens it, too");
}

#[test]
fn letters_filter_and_escape_shows_all_again() {
    for (columns, rows) in SIZES {
        let mut screen = choosing(columns, rows);
        // `p` is no key of a list; behind it every letter is one.
        screen.keys("p a r s e r");
        screen.shows("▸gone.jsonl");
        screen.hides("Opened before");
        screen.shows(" 1 of 64 ");
        screen.keys("z");
        screen.shows("No run is called so");
        screen.keys("Esc");
        screen.shows("▸run.jsonl");
        screen.keys("/ t h i n g Space 7 Down Up");
        screen.shows("▸Do thing 7");
        screen.keys("Ctrl-u j");
        screen.shows("filter /j");
    }
}

#[test]
fn enter_opens_and_what_cannot_be_opened_is_said() {
    let mut screen = choosing(100, 30);
    screen.keys("Enter");
    screen.shows("✗ it is only a list");
    screen.shows("▸run.jsonl");
    screen.keys("d e m o Enter");
    screen.shows("✗ it is only a list");
    screen.keys("Esc");
    screen.shows("Opened before");
    assert!(matches!(screen.keys("Esc")[..], [Effect::Quit]));
    assert!(matches!(screen.keys("q")[..], [Effect::Quit]));
}

#[test]
fn a_run_that_takes_its_time_is_given_up() {
    let mut screen = choosing(100, 30);
    let key = |key: &str| Event::Key(key.parse::<Key>().unwrap().press());
    let asked = screen.app.update(key("Enter"));
    screen.shows("opening run.jsonl; Esc gives it up");
    assert!(screen.app.is_waiting());
    screen.app.update(key("Esc"));
    screen.hides("opening");
    screen.answer(asked);
    screen.hides("it is only a list");
    assert!(!screen.app.is_waiting());
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mut screen = choosing(100, 30);
    screen.click_on("Do thing 3");
    screen.shows("▸Do thing 3");
    screen.click_on("Built in");
    screen.shows("▸Do thing 3");
    screen.mouse(MouseEventKind::ScrollDown, 5, 5);
    screen.shows("▸Do thing 6");
    screen.mouse(MouseEventKind::ScrollUp, 5, 5);
    screen.click_on("▸Do thing 3");
    screen.shows("✗ it is only a list");
    screen.keys("p a r s e r");
    screen.click_on("▸gone.jsonl");
    screen.shows("✗ it is only a list");
}

#[test]
fn another_run_is_looked_for_from_within_a_run() {
    let mut screen = Screen::new(100, 30, 212);
    screen.keys(": 4 4 Enter R");
    screen.shows("▸run.jsonl");
    screen.shows("q back to the run");
    screen.keys("?");
    screen.shows("Keys and signs");
    screen.keys("q q");
    assert_eq!(screen.step(), 44);
    screen.keys(": o t h e r Enter");
    screen.shows("Open a run");
}

/// A screen without a run, in a world of its own.
fn choosing_in(world: &World) -> Screen<InlineWorker> {
    let options = OpenOptions {
        places: world.places(),
        ..OpenOptions::default()
    };
    let nothing = Debugger::open(Source::Nothing, &options).unwrap();
    let run = InlineWorker::new(Arc::new(RwLock::new(nothing)));
    let options = AppOptions {
        first: First::Picker,
        keeping: Keeping::Kept,
        ..AppOptions::default()
    };
    Screen::on(run, options, 120, 30)
}

#[test]
fn where_nothing_was_opened_yet_the_demo_is_one_key_away() {
    let world = World::new();
    let mut screen = choosing_in(&world);
    screen.shows("nothing yet: jukebox FILE opens a tape or a transcript");
    screen.shows("▸demo");
    screen.keys("Enter");
    screen.shows("demo script");
    assert_eq!(screen.step(), 29);
    // What is built in is in no list of what was opened.
    screen.send(Event::Closing);
    assert!(world.places().recent().is_empty());
}

#[test]
fn a_run_is_left_another_is_opened_and_the_first_is_found_again() {
    let world = World::new();
    let mut screen = world.open(Keeping::Kept, (120, 30));
    screen.keys(": 1 2 Enter m a R");
    screen.shows("▸run.jsonl");
    screen.keys("j Enter");
    screen.hides("Open a run");
    // Nothing of the first run is left in the second.
    screen.keys("'");
    screen.shows("no mark yet");
    screen.keys("Esc R");
    screen.shows("▸run.jsonl");
    screen.shows("12/29");
    screen.shows("just now");
    screen.keys("Enter");
    assert_eq!(screen.step(), 12);
    screen.shows("back at step 12");
    screen.keys("l ' a");
    assert_eq!(screen.step(), 12);
}

#[test]
fn a_large_run_of_the_list_is_shown_before_it_is_read() {
    let world = World::new();
    let tape = world.directory.path().join("large.jsonl");
    let header = r#"{"seq":0,"t":0,"kind":"tape","format":1,"id":"large"}"#.to_owned();
    let words = "words ".repeat(8 << 10);
    let prompt = |seq: u32| {
        serde_json::json!({"seq": seq, "t": seq, "kind": "prompt", "text": words}).to_string()
    };
    let lines: Vec<String> = std::iter::once(header)
        .chain((1..=300).map(prompt))
        .collect();
    fs::write(&tape, lines.join("\n") + "\n").unwrap();
    let (run, rest) = world.places().begin(&RunSource::File(tape)).unwrap();
    assert!(rest.is_some() && !run.is_whole());

    let mut screen = choosing(100, 30);
    let enter = "Enter".parse::<Key>().unwrap().press();
    let asked = screen.app.update(Event::Key(enter));
    let generation = asked.iter().find_map(|effect| match effect {
        Effect::Request(Request {
            generation,
            job: Job::OpenRun(_),
        }) => Some(*generation),
        _ => None,
    });
    let answer = Answer::OpenedRun(Ok(OpenedRun::new(run, rest)));
    let generation = generation.unwrap();
    let effects = screen
        .app
        .update(Event::Reply(Reply { generation, answer }));
    let Some(Effect::Show(opened)) = effects.first() else {
        panic!("{effects:?}");
    };
    let is_read_on =
        |effect: &Effect| matches!(effect, Effect::Request(asked) if asked.job == Job::ReadOn);
    assert!(effects.iter().any(is_read_on));
    // Where nobody reads in the background, it is read then.
    let (run, rest) = opened.take();
    assert!(rest.is_some() && opened.take().1.is_none());
    drop(rest);
    assert!((1..300).contains(&run.read().unwrap().summary().branches[0].steps));
}

#[test]
fn a_run_that_is_gone_stays_in_the_list_and_says_so() {
    let world = World::new();
    world.open(Keeping::Kept, (120, 30));
    fs::remove_file(&world.tape).unwrap();
    let mut screen = choosing_in(&world);
    screen.shows("is not there any more");
    screen.keys("Enter");
    screen.shows("✗ there is no file");
    screen.shows("▸run.jsonl");
}

#[test]
fn transcripts_are_found_where_their_program_leaves_them() {
    let world = World::new();
    let project = world
        .directory
        .path()
        .join("claude/projects/-home-dev-demo");
    fs::create_dir_all(&project).unwrap();
    let said = |text: &str| {
        let record = serde_json::json!({"type": "user", "uuid": text, "cwd": "/home/dev/demo",
            "sessionId": "s", "timestamp": "2026-01-01T10:00:00Z",
            "message": {"role": "user", "content": text}});
        format!("{record}\n")
    };
    fs::write(project.join("one.jsonl"), said("Mend the\nparser \u{202e}")).unwrap();
    fs::write(project.join("agent-1.jsonl"), said("of a sub-agent")).unwrap();
    fs::write(project.join("empty.jsonl"), "").unwrap();
    fs::write(project.join("notes.txt"), said("no transcript")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", project.join("zero.jsonl")).unwrap();
    let mut screen = choosing_in(&world);
    screen.shows("0 runs opened before · 1 transcript");
    screen.shows("Mend the parser");
    screen.shows("/home/dev/demo");
    screen.hides("of a sub-agent");
    screen.keys("j Enter");
    screen.hides("Open a run");
    screen.shows("Mend the parser");
    screen.keys("R");
    screen.shows("1 run opened before · 0 transcripts");
}

#[test]
fn the_list_of_what_was_opened_may_be_anything() {
    let world = World::new();
    let state = world.state();
    fs::create_dir_all(&state).unwrap();
    let list = state.join("recent.json");
    for text in [
        "",
        "[]",
        "{\"runs\": 7}",
        "{\"runs\": [1, {}, {\"path\": \"x\"}]}",
        "\0{",
    ] {
        fs::write(&list, text).unwrap();
        choosing_in(&world).shows("nothing yet");
        world.open(Keeping::Kept, (120, 30));
        choosing_in(&world).shows("▸run.jsonl");
    }
    // The latest stay, and what another version of the program wrote.
    let run = |number: u32| {
        serde_json::json!({"path": format!("/nowhere/{number}"), "of later": number,
            "opened": format!("2020-01-01T00:{:02}:{:02}Z", number / 60, number % 60)})
    };
    let runs: Vec<_> = (0..250).rev().map(run).collect();
    fs::write(
        &list,
        serde_json::json!({"runs": runs, "also": 1}).to_string(),
    )
    .unwrap();
    world.open(Keeping::Kept, (120, 30));
    let recent = world.places().recent();
    assert_eq!(recent.len(), 200);
    assert_eq!(recent[0].path, world.tape.canonicalize().unwrap());
    assert_eq!(recent[199].path, Path::new("/nowhere/51"));
    let kept = fs::read_to_string(&list).unwrap();
    assert!(kept.contains("\"of later\": 249") && kept.contains("also"));
}

#[test]
fn many_runs_opened_at_once_are_all_in_the_list() {
    let world = World::new();
    thread::scope(|scope| {
        for number in 0..8 {
            let world = &world;
            scope.spawn(move || {
                let tape = world.directory.path().join(format!("run-{number}.jsonl"));
                fs::copy(&world.tape, &tape).unwrap();
                let run = world.places().open(&RunSource::File(tape)).unwrap();
                run.remember(0, StepNumber(number), WallTime(1)).unwrap();
            });
        }
    });
    assert_eq!(world.places().recent().len(), 8);
}
