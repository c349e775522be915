//! Test cases made on the screen: what a failed call would leave in a directory is shown, nothing
//! but a clear yes writes it, and it is said how it is run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jukebox::debugger::{CaseFiles, CaseForm, Debugger, OpenOptions, Source};
use jukebox::model::{Progress, Unit};
use jukebox::text::SafeText;
use jukebox::tui::effect::Effect;
use jukebox::tui::event::Event;
use jukebox::tui::job::{Answer, ExportAnswer, ExportJob, Job, Reply, Request};
use jukebox::tui::key::Key;
use jukebox::tui::worker::InlineWorker;
use serde_json::json;
use tempfile::TempDir;

use crate::folds::two_steps;
use crate::forks::{SECRET, ground, screen_on};
use crate::{Run, SIZES, Screen, demo};

/// The demo at a step, and a directory to write into.
pub(crate) fn world(step: u32, (columns, rows): (u16, u16)) -> (TempDir, Screen<InlineWorker>) {
    let mut screen = Screen::open(&demo("bug-hunt"), columns, rows);
    screen.keys(":");
    screen.send(Event::Paste(step.to_string()));
    screen.keys("Enter");
    (TempDir::new().unwrap(), screen)
}

/// Says where the case is to go.
fn into<R: Run>(screen: &mut Screen<R>, directory: &Path) {
    screen.keys("j j Enter");
    screen.send(Event::Paste(directory.display().to_string()));
    screen.keys("Enter");
}

/// What lies in a directory.
pub(crate) fn names(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory).unwrap();
    let mut names: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn a_failed_call_is_shown_then_written_and_told_how_it_is_run() {
    let (place, mut screen) = world(18, (120, 40));
    screen.keys("x");
    screen.shows("Keep the failed call of step 18 as a test case?");
    screen.shows("Bash  sh tests/run.sh");
    screen.shows("failed, exit code 5, 6 lines of output");
    screen.shows("6 files, ");
    screen.shows("src/cart.awk");
    screen.shows("./bug-hunt-step-18");
    let directory = place.path().join("a case");
    into(&mut screen, &directory);
    screen.shows("a case");
    // No other key writes it.
    screen.keys("y x f G C");
    assert_eq!(names(place.path()), Vec::<PathBuf>::new());
    screen.keys("Y");
    screen.shows("Written: step 18 (Bash) with 6 files.");
    screen.shows("jukebox test '");
    let effects = screen.keys("y");
    let copied = effects.iter().find_map(|effect| match effect {
        Effect::Copy(lines) => Some(lines.clone()),
        _ => None,
    });
    let [command] = &copied.unwrap()[..] else {
        panic!("more than a line");
    };
    screen.shows("copied the command");
    screen.keys("q");
    screen.hides("Written:");
    // The command, as a shell takes it, makes the case again.
    let program = Path::new(env!("CARGO_BIN_EXE_jukebox"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{command} --json")]);
    shell.env("PATH", program.parent().unwrap());
    shell.env("HOME", place.path()).env("TMPDIR", place.path());
    let output = shell.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(4) {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert!(said.contains("\"reproduces\""), "{said}");
}

#[test]
fn forms_and_files_are_those_of_the_command() {
    let (place, mut screen) = world(18, (160, 45));
    screen.keys("x");
    for form in CaseForm::ALL {
        screen.shows(&format!(
            "form          {}: {}",
            form.as_str(),
            form.in_words()
        ));
        screen.keys("l");
    }
    screen.keys("h h");
    let last = CaseForm::ALL[CaseForm::ALL.len() - 2];
    screen.shows(&format!("form          {}", last.as_str()));
    screen.keys("h j");
    for files in CaseFiles::ALL {
        screen.shows(&format!("files         {}", files.as_str()));
        screen.keys("Tab");
    }
    // A command may read any file; of those that it names there are fewer.
    screen.shows("6 files, ");
    screen.keys("Tab");
    screen.shows("leaves out    5 other files");
    screen.keys("k k");
    while !screen.text().contains("pytest: ") {
        screen.keys("Tab");
    }
    let directory = place.path().join("case");
    into(&mut screen, &directory);
    screen.keys("Y");
    assert!(directory.join("test_case.py").is_file());
    assert!(!directory.join("files/data").exists());
}

#[test]
fn a_turn_of_the_model_is_shown_then_written_for_promptfoo() {
    let (place, mut screen) = world(18, (120, 40));
    screen.keys("x h");
    screen.shows("Keep the turn of step 16 as an evaluation of a model?");
    screen.shows("It asked for the call of step 18.");
    screen.shows("11 messages that it was told before");
    screen
        .shows("must not call {\"tool\":\"Bash\",\"arguments\":{\"command\":\"sh tests/run.sh\"}}");
    screen.shows("./bug-hunt-step-16-model");
    screen.hides("files ");
    let directory = place.path().join("a turn");
    screen.keys("j Enter");
    screen.send(Event::Paste(directory.display().to_string()));
    screen.keys("Enter Y");
    screen.shows("Written: step 16 (model) with 11 messages.");
    screen.shows("promptfoo eval -c '");
    screen.shows("JUKEBOX_PROVIDER names the model");
    assert!(directory.join("promptfooconfig.yaml").is_file());
    let first = fs::read_to_string(directory.join("messages/0001.txt")).unwrap();
    assert!(first.contains("discount"), "{first}");
    // From the turn itself it is the same; back from it, the case is there as before.
    screen.keys("q : 1 6 Enter x h");
    screen.shows("Keep the turn of step 16 as an evaluation of a model?");
    screen.hides("It asked for");
    screen.keys("l");
    screen.shows("Keep the failed call of step 18 as a test case?");
}

#[test]
fn a_step_that_makes_no_evaluation_says_why_and_one_that_makes_only_that_offers_it() {
    let (_place, mut screen) = world(20, (100, 30));
    screen.keys("x h");
    screen.shows("Keep the turn of step 19 as an evaluation");
    // Its call went well, and so did all that the turn asked for.
    screen.keys("q : 5 Enter x");
    screen.shows("step 5 is no tool call that failed");
    screen.hides("form ");
    screen.shows("▸check         none");
    // The turn asked for two calls, of which the other one failed.
    screen.keys("q : 1 7 Enter x");
    screen.shows("step 17 is no tool call that failed");
    screen.shows("▸form          case");
    screen.keys("l");
    screen.shows("Keep the turn of step 16 as an evaluation");
    // Without a turn of the model before it, a call is no evaluation.
    let call = [
        json!({"kind": "tool.call", "call": "c1", "name": "Bash", "args": {"command": "false"}}),
        json!({"kind": "tool.result", "call": "c1", "outcome": "failed", "exit": 1}),
    ];
    let (_tape, mut screen) = two_steps(&[], &call, (100, 30));
    screen.keys(": 3 Enter x h");
    screen.shows("is no turn of a model, and none leads to it");
    screen.shows("▸form          promptfoo");
    screen.shows("An evaluation is made of a turn of the model");
    screen.keys("l");
    screen.shows("Keep the failed call");
}

#[test]
fn what_the_user_calls_a_secret_is_in_no_case_of_the_screen() {
    let call = [
        json!({"kind": "tool.call", "call": "c1", "name": "Bash", "args": {"command": "cat a"}}),
        json!({"kind": "tool.result", "call": "c1", "outcome": "failed", "exit": 1,
               "output": format!("no such {SECRET}")}),
    ];
    let place = TempDir::new().unwrap();
    let (tape, _) = two_steps(&[], &call, (120, 40));
    let source = Source::Path(tape.path().to_owned());
    let run = Debugger::open(source, &OpenOptions::default()).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_jukebox"));
    let ground = ground(place.path(), program);
    let mut screen = screen_on(run, Some(ground), 120, 40);
    screen.keys("G x");
    screen.shows("Keep the failed call");
    let directory = place.path().join("case");
    into(&mut screen, &directory);
    screen.keys("Y");
    if screen.text().contains("something is not known") {
        screen.keys("Enter Y");
    }
    screen.shows("Written: ");
    let said = fs::read_to_string(directory.join("output.txt")).unwrap();
    assert_eq!(said, "no such [REDACTED:1]");
}

#[test]
fn a_step_that_makes_no_case_says_where_one_is() {
    let (_place, mut screen) = world(17, (100, 30));
    screen.keys("x");
    screen.shows("step 17 is no tool call that failed");
    screen.shows("The next step that failed is 18: e goes there.");
    screen.keys("Y");
    screen.shows("no tool call that failed");
    screen.keys("e");
    assert_eq!(screen.step(), 18);
    screen.hides("no tool call that failed");
    screen.keys(": 2 9 Enter x");
    screen.shows("The last step that failed is 24: E goes there.");
    screen.keys("E");
    assert_eq!(screen.step(), 24);
    // The turn of a model is about the call that it asked for.
    screen.keys(": 1 9 Enter x");
    screen.shows("Keep the failed call of step 20");
    screen.shows("Step 19 asked for it.");
    screen.keys("q");
    let nothing = json!({"kind": "note", "text": "hm"});
    let (_tape, mut screen) = two_steps(&[nothing], &[], (100, 30));
    screen.keys("x");
    screen.shows("No step of this run failed.");
}

#[test]
fn any_call_is_kept_with_a_check_of_what_is_to_be_so_after_it() {
    let check = |screen: &mut Screen<InlineWorker>, typed: &str| {
        screen.keys("Enter");
        screen.send(Event::Paste(typed.to_owned()));
        screen.keys("Enter");
    };
    let (place, mut screen) = world(12, (100, 40));
    screen.keys("x");
    screen.shows("step 12 is no tool call that failed");
    screen.shows("Any other call makes one with a check");
    screen.keys("j");
    // What is no question, and what is so, is said; another one may be typed.
    check(&mut screen, "make test");
    screen.shows("`make test`: --grep PATTERN PATH");
    screen.keys("Enter Ctrl-u");
    screen.send(Event::Paste("--exists src/cart.awk".to_owned()));
    screen.keys("Enter");
    screen.shows("after step 12, it is as it should be");
    screen.keys("Enter Ctrl-u");
    let typed = "--grep 'shipping && total < 100' src/cart.awk";
    screen.send(Event::Paste(typed.to_owned()));
    screen.keys("Enter");
    screen.shows("Keep the call of step 12 as a test case?");
    screen.shows(&format!("to be so after it: {typed}"));
    // Which files it takes to fail in the same way is not asked of a check.
    screen.keys("k k");
    for words in ["touched: ", "all: ", "needed: "] {
        screen.keys("Enter");
        screen.shows(words);
    }
    screen.keys("k");
    let directory = place.path().join("case");
    into(&mut screen, &directory);
    screen.keys("Y");
    screen.shows("Written: step 12 (Edit) with 1 file.");
    let manifest = fs::read(directory.join("case.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let expected = json!({
        "path": "src/cart.awk", "is": "grep", "word": "shipping && total < 100", "not": false
    });
    assert_eq!(manifest["check"], expected);
    // A failed call may have one, too, and lose it again.
    let (_place, mut screen) = world(18, (100, 40));
    screen.keys("x j j j");
    check(&mut screen, "--absent data/large.csv");
    screen.shows("Keep the call of step 18 as a test case?");
    screen.keys("Enter Ctrl-u Enter");
    screen.shows("Keep the failed call of step 18 as a test case?");
    screen.shows("none: passes when the call succeeds");
}

/// A run whose last call failed, of which not everything is known.
fn uncertain(size: (u16, u16)) -> (tempfile::NamedTempFile, Screen<InlineWorker>) {
    let call = [
        json!({"kind": "fs.write", "path": "a", "text": "one\n"}),
        json!({"kind": "fs.write", "path": "key", "text": "[REDACTED:1]\n", "redacted": true}),
        json!({"kind": "tool.call", "call": "c1", "name": "Bash", "args": {"command": "cat b"}}),
        json!({"kind": "tool.result", "call": "c1", "outcome": "failed", "exit": 1,
               "output": "cat: b: No such file", "detail": {"dropped": 812}}),
    ];
    let (tape, mut screen) = two_steps(&[], &call, size);
    screen.keys(": 3 Enter");
    (tape, screen)
}

#[test]
fn what_is_not_known_wants_a_word_before_it_is_written() {
    let (_tape, mut screen) = uncertain((120, 30));
    let place = TempDir::new().unwrap();
    let directory = place.path().join("case");
    screen.keys("x");
    screen.shows("! not known: a command may read any file");
    screen.shows("! not known: key is redacted here");
    screen.shows("! not known: not all that it said was kept");
    screen.shows("not written as long as something is not known");
    screen.hides("Y does it");
    into(&mut screen, &directory);
    screen.keys("Y");
    screen.shows("something is not known: Enter here has it written nonetheless");
    assert!(!directory.exists());
    screen.keys("Enter");
    screen.shows("written, and the case says what is not known");
    screen.shows("Y does it");
    screen.keys("Y");
    screen.shows("Written: ");
    screen.shows("not known: a command may read any file");
    let manifest = fs::read_to_string(directory.join("case.json")).unwrap();
    assert!(
        manifest.contains("a command may read any file"),
        "{manifest}"
    );
    // What stands in the place of a secret is no file.
    assert!(!directory.join("files/key").exists());
}

#[test]
fn a_directory_that_cannot_be_had_is_told_and_another_one_takes_it() {
    let (place, mut screen) = world(18, (140, 40));
    let taken = place.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("mine"), "mine").unwrap();
    screen.keys("x");
    for (directory, why) in [
        (taken.clone(), "is there already"),
        (place.path().join("none/case"), "✗ there is no `"),
        (PathBuf::from("/proc/case"), "✗ `/proc`: "),
    ] {
        into(&mut screen, &directory);
        screen.keys("Y");
        screen.shows(why);
        screen.shows("Nothing was written.");
        screen.hides("Written: ");
        // The sheet is as it was, with the same wish to be changed.
        screen.keys("k k");
    }
    assert_eq!(names(place.path()), std::slice::from_ref(&taken));
    assert_eq!(names(&taken), [taken.join("mine")]);
    into(&mut screen, &place.path().join("case"));
    screen.keys("Y");
    screen.shows("Written: ");
}

/// What the screen asks about a case, if it does.
pub(crate) fn asked(effects: Vec<Effect>) -> Option<Request> {
    effects.into_iter().find_map(|effect| match effect {
        Effect::Request(request) => matches!(request.job, Job::Export(_)).then_some(request),
        _ => None,
    })
}

#[test]
fn it_is_told_how_far_the_writing_is_and_escape_stops_it() {
    for size in SIZES {
        let (_place, mut screen) = world(18, size);
        let press = |screen: &mut Screen<InlineWorker>, key: &str| {
            let key: Key = key.parse().unwrap();
            asked(screen.app.update(Event::Key(key.press())))
        };
        // Who asked and waits no longer says so.
        let first = press(&mut screen, "x").unwrap();
        assert!(matches!(first.job, Job::Export(ExportJob::Prepare { .. })));
        screen.shows("Test case");
        let stop = press(&mut screen, "q").unwrap();
        assert_eq!(stop.job, Job::Export(ExportJob::Stop));
        screen.keys("x");
        let Request { generation, job } = press(&mut screen, "Y").unwrap();
        assert!(
            matches!(job, Job::Export(ExportJob::Write { .. })),
            "{job:?}"
        );
        let reply = |answer| {
            let answer = Answer::Export(answer);
            Event::Reply(Reply { generation, answer })
        };
        let (done, of, unit) = (3, 6, Unit::Entries);
        let wrote = ExportAnswer::Wrote(Progress { done, of, unit });
        screen.app.update(reply(wrote));
        screen.shows("writing it  50 %");
        assert!(screen.app.wants_tick());
        let stop = press(&mut screen, "Esc").unwrap();
        assert_eq!(stop.job, Job::Export(ExportJob::Stop));
        let words = SafeText::literal("stopped");
        screen.app.update(reply(ExportAnswer::Written(Err(words))));
        screen.shows("✗ stopped");
        screen.shows("Nothing was written.");
        screen.shows("Keep the failed call");
        screen.keys("q");
        screen.hides("Test case");
        assert!(!screen.app.wants_tick());
    }
}

#[test]
fn each_stage_can_be_read_at_every_size() {
    for size in SIZES {
        let (place, mut screen) = world(18, size);
        screen.keys("x");
        screen.shows("Keep the failed call");
        screen.keys("j j");
        screen.shows("▸into");
        let directory = place.path().join("case");
        screen.keys("Enter");
        screen.send(Event::Paste(directory.display().to_string()));
        screen.keys("Enter");
        // Behind the last wish, the keys lead through what is said.
        screen.keys(&"j ".repeat(40));
        screen.shows("Nothing is run");
        screen.keys(&"k ".repeat(40));
        screen.shows("▸form");
        screen.keys("Y");
        screen.shows("Written: step 18");
        assert!(directory.join("case.json").is_file());
        screen.keys("q");
        screen.hides("Written");
    }
}

#[test]
fn the_key_is_hinted_at_where_a_call_failed() {
    let (_place, mut screen) = world(18, (120, 30));
    screen.shows("x export");
    screen.keys("h");
    screen.hides("x export");
}
