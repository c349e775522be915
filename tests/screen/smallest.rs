//! The smallest set of files, looked for on the screen: nothing runs without a yes, how far it is
//! can be seen, whoever has enough gets what there is, and nothing is written before it was seen.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use jukebox::debugger::{CaseFiles, CaseMeans, Debugger, OpenOptions, Shrinking, Source};
use jukebox::text::SafeText;
use jukebox::tui::event::Event;
use jukebox::tui::job::{
    Answer, CaseOffered, ExportAnswer, ExportJob, Job, Prepared, Reply, Request,
};
use jukebox::tui::key::Key;
use jukebox::tui::worker::{InlineWorker, Runs, Worker};
use serde_json::json;
use tempfile::TempDir;

use crate::exports::{asked, names, world};
use crate::forks::{ground, screen_on};
use crate::{SIZES, Screen, demo};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_jukebox"))
}

/// The sheet of a failed command, with as few files as possible wanted.
const MINIMAL: &str = ": 1 8 Enter x j Shift-Tab";

#[test]
fn what_is_left_out_is_shown_and_a_second_yes_writes_it() {
    let place = TempDir::new().unwrap();
    let run = Debugger::open(Source::Path(demo("bug-hunt")), &OpenOptions::default()).unwrap();
    let ground = ground(place.path(), program());
    let mut screen = screen_on(run, Some(ground), 120, 40);
    screen.keys(MINIMAL);
    screen.shows("files         minimal: ");
    screen.shows("time          a minute at most");
    screen.shows("Y runs the command over and over in the sandbox, without network, for a minute");
    screen.shows("holds         6 files");
    screen.shows("Y look for them");
    screen.keys("Y");
    if screen.text().contains("✗ no sandbox") {
        println!("skipped: {}", screen.text());
        return;
    }
    screen.shows("holds         3 files");
    screen.shows("-9  src/cart.awk");
    screen.shows("-8  tests/run.sh  16 lines left");
    screen.shows("nothing more can be left out");
    screen.shows("with the files of step 28 the call still succeeds");
    screen.shows("What is kept failed twice.");
    // It is not lost by another wrapping, and written nowhere yet.
    screen.keys("k k l l l l l l");
    screen.shows("-9  src/cart.awk");
    screen.hides("promptfoo");
    assert_eq!(names(place.path()).len(), 0);
    let directory = place.path().join("case");
    screen.keys("j j Enter");
    screen.send(Event::Paste(directory.display().to_string()));
    screen.keys("Enter Y");
    screen.shows("Written: step 18 (Bash) with 3 files.");
    screen.shows("-9  src/cart.awk");
    let manifest = fs::read_to_string(directory.join("case.json")).unwrap();
    assert!(manifest.contains("\"least\": true"), "{manifest}");
    assert!(!directory.join("files/src").exists());
}

#[test]
fn without_a_place_to_run_it_that_is_said() {
    let (_place, mut screen) = world(18, (120, 40));
    screen.keys("x j Shift-Tab Y");
    screen.shows("✗ the program's own file cannot be found");
    screen.shows("Nothing was written.");
    screen.shows("holds         6 files");
}

#[test]
fn the_file_of_an_edit_is_all_there_is() {
    let (_place, mut screen) = world(20, (120, 40));
    screen.keys("x j Shift-Tab");
    screen.shows("It is no command: its file is all there is.");
    screen.hides("at most");
    screen.shows("Y write it");
}

/// Presses a key; what is asked for that.
fn press(screen: &mut Screen<InlineWorker>, key: &str) -> Option<Request> {
    let key: Key = key.parse().unwrap();
    asked(screen.app.update(Event::Key(key.press())))
}

fn reply(generation: u64, answer: ExportAnswer) -> Event {
    let answer = Answer::Export(answer);
    Event::Reply(Reply { generation, answer })
}

#[test]
fn it_is_told_how_far_it_is_and_who_has_enough_says_so_once_or_twice() {
    let far = Shrinking {
        tries: 34,
        files: 3,
        bytes: 612,
        elapsed: Duration::from_secs(75),
        budget: Duration::from_mins(5),
    };
    for size in SIZES {
        let (_place, mut screen) = world(18, size);
        screen.keys("x j Shift-Tab j l");
        screen.shows("5 minutes");
        let Request { generation, job } = press(&mut screen, "Y").unwrap();
        let Job::Export(ExportJob::Shrink { budget, .. }) = job else {
            panic!("{job:?}");
        };
        assert_eq!(budget, far.budget);
        assert!(screen.app.wants_tick());
        screen
            .app
            .update(reply(generation, ExportAnswer::Shrinks(far)));
        screen.shows("75 s of 300 s");
        screen.shows("━");
        if size.1 > 10 {
            screen.shows("runs so far");
            screen.shows("34");
            screen.shows("3 files, 612B");
        }
        // It goes on while something else is looked at, and is there again.
        screen.keys("?");
        screen.hides("75 s of");
        screen.keys("q x");
        screen.shows("75 s of 300 s");
        let enough = press(&mut screen, "Esc").unwrap();
        assert_eq!(enough.job, Job::Export(ExportJob::Enough));
        screen.shows("Esc give it up");
        let stop = press(&mut screen, "Esc").unwrap();
        assert_eq!(stop.job, Job::Export(ExportJob::Stop));
        screen.shows("Keep the failed call");
        assert!(!screen.app.wants_tick());
        // Who answers later answers nobody.
        let words = SafeText::literal("stopped");
        screen
            .app
            .update(reply(generation, ExportAnswer::Shrunk(Err(words))));
        screen.hides("stopped");
        let again = press(&mut screen, "Y").unwrap();
        let words = SafeText::literal("it does not fail twice");
        let answer = ExportAnswer::Shrunk(Err(words));
        screen.app.update(reply(again.generation, answer));
        screen.shows("✗ it does not fail twice");
        screen.shows("Nothing was written.");
    }
}

/// A run whose last call fails as long as six of its many files are there, a tenth of a second
/// later.
fn slow(place: &Path) -> Debugger {
    let mut lines = vec![json!({"seq": 0, "kind": "tape", "format": 1, "id": "t", "root": "/w"})];
    let mut say = |mut event: serde_json::Value| {
        event["seq"] = lines.len().into();
        event["t"] = lines.len().into();
        lines.push(event);
    };
    for number in 0..32 {
        say(json!({"kind": "fs.write", "path": format!("f{number}"), "text": "x\n"}));
    }
    let script = "sleep 0.1; for f in f3 f9 f14 f20 f27 f31; do test -e $f || exit 0; done; \
                  echo failed; exit 3";
    let arguments = json!({ "command": script });
    say(json!({"kind": "tool.call", "call": "c", "name": "Bash", "args": arguments}));
    say(
        json!({"kind": "tool.result", "call": "c", "outcome": "failed", "exit": 3, "output": "failed\n"}),
    );
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let text = lines.join("\n") + "\n";
    let tape = place.join("run.jsonl");
    fs::write(&tape, text).unwrap();
    Debugger::open(Source::Path(tape), &OpenOptions::default()).unwrap()
}

/// Asks a worker for the smallest set of files, and waits until some are left out.
fn begin(place: &Path) -> Option<(Worker, Receiver<Event>)> {
    let run = slow(place);
    let failed = run.locate(&"fail".parse().unwrap()).unwrap();
    let mut go_on = |_| std::ops::ControlFlow::Continue(());
    let case = run.prepare_case(
        failed,
        CaseFiles::Minimal,
        &CaseMeans::default(),
        &mut go_on,
    );
    let case = Box::new(case.unwrap());
    let offer = case.offer();
    let offered = CaseOffered {
        prepared: Prepared::Case(case, offer),
        directory: place.join("case"),
    };
    let runs = Runs::from(Arc::new(RwLock::new(run)));
    let runs = runs.with_ground(Some(ground(place, program())));
    let (sender, events) = channel();
    let send = move |event| drop(sender.send(event));
    let worker = Worker::spawn(runs, None, send).unwrap();
    let (offered, budget) = (Arc::new(offered), Duration::from_mins(5));
    let job = Job::Export(ExportJob::Shrink { offered, budget });
    worker.request(Request { generation: 1, job });
    loop {
        match next(&events) {
            ExportAnswer::Shrinks(told) if told.files < 32 => return Some((worker, events)),
            ExportAnswer::Shrinks(_) => {}
            ExportAnswer::Shrunk(Err(why)) if why.as_str().starts_with("no sandbox") => {
                println!("skipped: {why}");
                return None;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn next(events: &Receiver<Event>) -> ExportAnswer {
    match events.recv_timeout(Duration::from_mins(1)).unwrap() {
        Event::Reply(Reply {
            answer: Answer::Export(answer),
            ..
        }) => answer,
        other => panic!("{other:?}"),
    }
}

/// The last word on it.
fn last(events: &Receiver<Event>) -> Result<Arc<CaseOffered>, SafeText> {
    loop {
        if let ExportAnswer::Shrunk(shrunk) = next(events) {
            return shrunk;
        }
    }
}

#[test]
fn who_has_enough_gets_the_smallest_set_so_far() {
    let place = TempDir::new().unwrap();
    let Some((worker, events)) = begin(place.path()) else {
        return;
    };
    let job = Job::Export(ExportJob::Enough);
    worker.request(Request { generation: 2, job });
    let shrunk = last(&events).unwrap();
    let cut = shrunk.cut().unwrap();
    assert!(!cut.is_least);
    assert!(!cut.files.is_empty() && cut.files.len() <= 26, "{cut:?}");
}

#[test]
fn who_stops_it_gets_nothing_at_once() {
    let place = TempDir::new().unwrap();
    let Some((worker, events)) = begin(place.path()) else {
        return;
    };
    let job = Job::Export(ExportJob::Stop);
    worker.request(Request { generation: 2, job });
    assert_eq!(last(&events).unwrap_err().as_str(), "stopped");
    // Nothing of it is left behind when the screen is closed.
    drop(worker);
    assert_eq!(names(place.path()), [place.path().join("run.jsonl")]);
}
