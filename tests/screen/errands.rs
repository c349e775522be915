//! What people come for, in few keys: the first failure, the file it broke, the step that
//! changed that file last, the same file ten steps earlier.

use std::fmt::Write as _;

use tempfile::TempDir;

use crate::{Screen, demo};

/// Sixteen steps; the last but one fails and names a file that step 13 changed last.
fn tape() -> String {
    let mut tape = String::from(
        "{\"seq\":0,\"t\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"018f3a5c-7e00-7000-8000-000000000000\"}\n",
    );
    let mut seq = 0;
    let mut event = |fields: &str| {
        seq += 1;
        let _ = writeln!(tape, "{{\"seq\":{seq},\"t\":{seq},{fields}}}");
    };
    for step in 1..=16 {
        if step == 15 {
            event(
                r#""kind":"tool.call","call":"t","name":"Bash","title":"make test","args":{"command":"make -C tests/all.mk"}"#,
            );
            event(
                r#""kind":"tool.result","call":"t","outcome":"failed","exit":2,"output":"cc src/other.c\nsrc/parse.c:41:7: error: no such thing\n""#,
            );
            continue;
        }
        let path = match step {
            3 | 13 => "src/parse.c",
            14 => "docs/notes.txt",
            _ => "src/other.c",
        };
        event(&format!(
            r#""kind":"tool.call","call":"c{step}","name":"Edit","title":"{path}","args":{{}}"#
        ));
        let lines: Vec<String> = (1..60)
            .map(|line| format!("line {line} at {step}\\n"))
            .collect();
        let lines = lines.concat();
        event(&format!(
            r#""kind":"fs.write","call":"c{step}","path":"{path}","enc":"text","text":"{lines}""#
        ));
        event(&format!(
            r#""kind":"tool.result","call":"c{step}","outcome":"ok","output":"""#
        ));
    }
    tape
}

#[test]
fn each_errand_takes_three_keys_at_most() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run.jsonl");
    std::fs::write(&path, tape()).unwrap();
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let mut screen = Screen::open(&path, columns, rows);
        assert_eq!(screen.step(), 16);
        // The first failure.
        screen.shows("e/E failure");
        screen.keys("e");
        assert_eq!(screen.step(), 15);
        // The file it broke, at the line that is named.
        if columns > 60 {
            screen.keys("Esc");
            screen.shows("i file of step");
        }
        screen.keys("i");
        screen.shows("2 File @15");
        screen.shows("src/parse.c");
        screen.shows("line 41 at 13");
        // The step that changed it last.
        screen.keys("{");
        assert_eq!(screen.step(), 13);
        screen.shows("2 File @13");
        // The same file ten steps earlier.
        screen.keys("1 0 h");
        assert_eq!(screen.step(), 3);
        screen.shows("2 File @3");
        screen.shows("line 41 at 3");
        assert!(!screen.app.wants_tick());
    }
}

#[test]
fn a_file_that_is_not_the_right_one_is_followed_by_the_next() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run.jsonl");
    std::fs::write(&path, tape()).unwrap();
    let mut screen = Screen::open(&path, 160, 45);
    screen.keys("e i");
    screen.shows("file 1 of 3 that the step may be about; i: the next one");
    screen.keys("i");
    screen.shows("┃ src/other.c");
    screen.keys("i");
    screen.shows("┃ docs/notes.txt");
    screen.keys("i");
    screen.shows("┃ src/parse.c");
}

#[test]
fn behind_the_last_failure_comes_the_first() {
    let mut screen = Screen::open(&demo("bug-hunt"), 160, 45);
    screen.keys("e");
    assert_eq!(screen.step(), 3);
    screen.shows("no later failure: the first one again");
    screen.keys("E");
    assert_eq!(screen.step(), 24);
    screen.shows("no earlier failure: the last one again");
    let mut screen = Screen::open(&demo("damaged"), 160, 45);
    screen.keys("e");
    screen.shows("no step failed");
}
