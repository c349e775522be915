//! The step that broke it, looked for from the screen: by a question about a file, by a command
//! in the real sandbox, and never without being asked.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use jukebox::debugger::{
    BisectOutcome, BisectScope, BisectVerdict, Bisection, Debugger, OpenOptions, Places, ProbeRow,
    Sandboxing, Source,
};
use jukebox::text::SafeText;
use jukebox::tui::app::AppOptions;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, BisectStep, Job, Reply, Request};
use jukebox::tui::key::Key;
use tempfile::TempDir;

use crate::{Fake, InlineWorker, SIZES, Screen};

/// A run of so many steps; from one on, `state` says that it is broken.
fn tape(steps: u32, broken_from: u32) -> String {
    let mut tape = String::from("{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"t\"}\n");
    let mut seq = 0;
    let mut say = |event: String| {
        seq += 1;
        let _ = writeln!(tape, "{{\"seq\":{seq},\"t\":{seq},{event}}}");
    };
    say(r#""kind":"prompt","name":"user","text":"go""#.to_owned());
    say(r#""kind":"fs.write","path":"state","text":"fine\n""#.to_owned());
    for step in 2..=steps {
        let call = format!("\"call\":\"c{step}\"");
        say(format!(r#""kind":"tool.call",{call},"name":"Edit""#));
        let (path, text) = if step == broken_from {
            ("state", "broken".to_owned())
        } else {
            ("log", step.to_string())
        };
        say(format!(
            r#""kind":"fs.write",{call},"path":"{path}","text":"{text}\n""#
        ));
    }
    tape
}

fn open(sandboxing: Option<Sandboxing>) -> Screen<InlineWorker> {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run.jsonl");
    std::fs::write(&path, tape(80, 47)).unwrap();
    let places = Places {
        sandboxing,
        ..Places::default()
    };
    let options = OpenOptions {
        places,
        ..OpenOptions::default()
    };
    let debugger = Debugger::open(Source::Path(path), &options).unwrap();
    let run = InlineWorker::new(Arc::new(RwLock::new(debugger)));
    Screen::on(run, AppOptions::default(), 160, 45)
}

fn ask(screen: &mut Screen<InlineWorker>, question: &str) {
    screen.keys("B");
    screen.send(Event::Paste(question.to_owned()));
    screen.keys("Enter");
}

#[test]
fn a_question_about_a_file_leads_to_the_step_and_back() {
    let mut screen = open(None);
    // From the start of the run it is bad already: there is no file.
    ask(&mut screen, "--grep ^fine state");
    screen.shows("bad at the start already; d at step 1 would begin where it is good");
    assert_eq!(screen.step(), 80);
    screen.keys("Esc : 1 Enter d u");
    ask(&mut screen, "--grep ^fine state");
    screen.shows("the first bad step is 47");
    assert_eq!(screen.step(), 47);
    screen.keys("u");
    assert_eq!(screen.step(), 80);
    screen.shows("✘");
    screen.keys("Esc");
    screen.hides("✘");
    screen.hides("✓");
}

#[test]
fn nothing_is_run_but_what_was_entered_and_nothing_where_that_is_not_possible() {
    let mut screen = open(None);
    screen.keys("B");
    screen.shows("run in the sandbox, bad if it fails $");
    screen.send(Event::Paste("touch /tmp/x".to_owned()));
    screen.keys("Esc");
    screen.hides("bisect");
    ask(&mut screen, "true");
    screen.shows("no command can be run here");
    ask(&mut screen, "--grep ( state");
    screen.shows("no pattern");
    ask(&mut screen, "--frob state");
    screen.shows("--exists PATH");
    ask(&mut screen, "--exists 'state");
    screen.shows("a quote is not closed");
}

#[test]
fn a_command_runs_in_the_sandbox_on_the_files_of_each_step() {
    let place = TempDir::new().unwrap();
    let sandboxing = Sandboxing {
        program: PathBuf::from(env!("CARGO_BIN_EXE_jukebox")),
        home: None,
        hidden: Vec::new(),
        temporary: place.path().to_owned(),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
    };
    let mut screen = open(Some(sandboxing));
    ask(&mut screen, "! grep -q broken state && echo x > state");
    screen.shows("the first bad step is 47");
    assert_eq!(screen.step(), 47);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

/// What the screen asks the worker for, if it is this.
fn request(effects: Vec<Effect>) -> Option<Request> {
    let mut requests = effects.into_iter().filter_map(|effect| match effect {
        Effect::Request(request) => Some(request),
        _ => None,
    });
    requests.find(|request| matches!(request.job, Job::Bisect { .. } | Job::StopBisect))
}

#[test]
fn every_tree_is_asked_about_and_each_change_of_the_answer_told() {
    let mut screen = open(None);
    screen.keys(": 1 Enter d u");
    ask(&mut screen, "--all --grep ^fine state");
    screen.shows("the answer changes once: good from 1, bad from 47");
    assert_eq!(screen.step(), 80, "no step is the one to blame");
    ask(&mut screen, "--all --not --grep 5$ log");
    screen.shows("the answer changes 16 times: good from 1, bad from 5, good from 6, bad from 15");
    let strip = screen.frame().swap_remove(1);
    assert_eq!(strip.matches('✘').count(), 8, "{strip}");
    ask(&mut screen, "--all --exists nowhere");
    screen.shows("the answer never changes: bad from 1");
}

#[test]
fn a_question_that_is_answered_otherwise_the_second_time_is_said() {
    let mut screen = Screen::new(120, 30, 100);
    screen.keys("B");
    screen.send(Event::Paste("make test".to_owned()));
    let enter: Key = "Enter".parse().unwrap();
    let effects = screen.app.update(Event::Key(enter.press()));
    let Request { generation, .. } = request(effects).unwrap();
    let spot = Fake::new(100).spot(0, 40);
    let found = Bisection {
        outcome: BisectOutcome::Flaky(spot, [BisectVerdict::Bad, BisectVerdict::Good]),
        probes: Vec::new(),
        trees: 64,
        steps: 100,
        seen_at: None,
    };
    let answer = Answer::Bisect(BisectStep::Ended(Ok(Box::new(found))));
    screen
        .app
        .update(Event::Reply(Reply { generation, answer }));
    screen.shows("not to be relied on: of step 40 it said bad, then good");
    assert_eq!(screen.step(), 100, "the playhead stays");
}

#[test]
fn probes_stand_on_the_strip_as_they_come_and_escape_stops_it() {
    for (columns, rows) in SIZES {
        let mut screen = Screen::new(columns, rows, 100);
        let asked = |spot: u32| Fake::new(100).spot(0, spot);
        screen.keys("B");
        screen.send(Event::Paste("make test".to_owned()));
        let enter: Key = "Enter".parse().unwrap();
        let effects = screen.app.update(Event::Key(enter.press()));
        let Request { generation, job } = request(effects).unwrap();
        let Job::Bisect {
            question, to, from, ..
        } = job
        else {
            panic!("{job:?}");
        };
        assert_eq!((&*question, to.step.0, from), ("make test", 100, None));
        let row = |step, verdict| ProbeRow {
            spot: asked(step),
            verdict,
            code: Some(0),
            duration: Duration::ZERO,
        };
        for step in [
            BisectStep::Looks(BisectScope::Edge.looks(64)),
            BisectStep::Answered(row(0, BisectVerdict::Good)),
            BisectStep::Answered(row(90, BisectVerdict::Bad)),
            BisectStep::Asks(asked(50)),
        ] {
            let answer = Answer::Bisect(step);
            screen
                .app
                .update(Event::Reply(Reply { generation, answer }));
        }
        let strip = screen
            .frame()
            .into_iter()
            .find(|row| row.contains('✓'))
            .unwrap();
        assert!(strip.contains('✘') && strip.contains('▾'), "{strip}");
        screen.shows("bisect make test");
        if columns >= 60 {
            screen.shows("run 3 of about 10; Esc stops it");
        }
        let escape: Key = "Esc".parse().unwrap();
        let effects = screen.app.update(Event::Key(escape.press()));
        assert!(matches!(request(effects).unwrap().job, Job::StopBisect));
        screen.hides("bisect make test");
        screen.hides("✘");
        // What still comes is nobody's.
        let answer = Answer::Bisect(BisectStep::Ended(Err(SafeText::literal("late"))));
        screen
            .app
            .update(Event::Reply(Reply { generation, answer }));
        screen.hides("late");
    }
}
