//! What edits, reads and attachments say of files.

use std::sync::Arc;

use jukebox::import::claude_code::Options;
use jukebox::model::{Body, Certainty, Outcome, Scope, TapePath};
use serde_json::json;

use crate::session::{Run, Session, exact};

#[test]
fn each_edit_is_made_on_the_state_before_it() {
    let mut session = Session::new();
    session.user("make a list");
    session.write("T1", "/w/list.txt", "one\ntwo\n");
    session.edit("T2", "/w/list.txt", Some("one\ntwo\n"), "two", "TWO");
    session.edit(
        "T3",
        "/w/list.txt",
        Some("one\nTWO\n"),
        "TWO\n",
        "TWO\nthree\n",
    );
    let run = session.run();
    assert_eq!(run.before("T1", "list.txt").0, Certainty::Absent);
    assert_eq!(run.after("T1", "list.txt"), exact("one\ntwo\n"));
    assert_eq!(run.after("T2", "list.txt"), exact("one\nTWO\n"));
    assert_eq!(run.after("T3", "list.txt"), exact("one\nTWO\nthree\n"));
    assert_eq!(run.outside().len(), 0);
    let edits = run.report.edits;
    assert_eq!(
        (
            edits.all,
            edits.with_preimage,
            edits.base_known,
            edits.matched
        ),
        (2, 2, 2, 2)
    );
}

#[test]
fn what_was_changed_outside_stands_before_the_edit_that_shows_it() {
    let mut session = Session::new();
    session.user("tweak");
    session.write("T1", "/w/cfg", "port = 1\n");
    session.edit(
        "T2",
        "/w/cfg",
        Some("# mine\nport = 2\n"),
        "port = 2",
        "port = 3",
    );
    let run = session.run();
    assert_eq!(run.before("T2", "cfg"), exact("# mine\nport = 2\n"));
    assert_eq!(run.after("T2", "cfg"), exact("# mine\nport = 3\n"));
    let shape = run.shape();
    let expected = ["fs.write", "tool.call", "fs.write", "tool.result"];
    assert_eq!(shape[shape.len() - 4..], expected, "{shape:?}");
    assert_eq!(run.report.outside_changes, 1);
}

#[test]
fn a_read_that_differs_shows_an_outside_change() {
    let mut session = Session::new();
    session.write("T1", "/w/a", "1\n2\n3\n");
    session.read("T2", "/w/a", "1\n2\n3\n", 1, 4);
    session.read("T3", "/w/a", "one\n2\n3\n", 1, 4);
    session.read("T4", "/w/a", "2", 2, 4);
    session.read("T5", "/w/a", "two", 2, 4);
    session.read("T6", "/w/new", "a\nb", 3, 9);
    let run = session.run();
    assert_eq!(run.report.outside_changes, 2);
    assert_eq!(run.before("T3", "a"), exact("one\n2\n3\n"));
    assert_eq!(run.after("T4", "a"), exact("one\n2\n3\n"));
    let lines = r#"[(2, "two\n")]"#.to_owned();
    assert_eq!(run.after("T5", "a"), (Certainty::Partial, lines));
    let lines = r#"[(3, "a\nb\n")]"#.to_owned();
    assert_eq!(run.after("T6", "new"), (Certainty::Partial, lines));
}

#[test]
fn a_read_proves_a_file_again_after_a_command() {
    let mut session = Session::new();
    session.write("T1", "/w/a", "x\n");
    session.bash("T2", "make");
    session.read("T3", "/w/a", "x\n", 1, 2);
    let run = session.run();
    assert_eq!(run.after("T2", "a").0, Certainty::Uncertain);
    assert_eq!(run.after("T3", "a"), exact("x\n"));
    assert_eq!(run.report.outside_changes, 0);
}

#[test]
fn an_edit_without_a_pre_image_shows_the_lines_it_changed() {
    let patch = json!([{"oldStart": 10, "oldLines": 3, "newStart": 10, "newLines": 4,
        "lines": [" a", "-  b", "+  c", "+  d", " e"]}]);
    let mut session = Session::new();
    session.read("T1", "/w/big", "e\nf", 12, 99);
    session.edit_shown("T2", "/w/big", None, "\tb", "\tc\n\td", &patch);
    let run = session.run();
    let lines = r#"[(11, "\tc\n\td\ne\nf\n")]"#.to_owned();
    assert_eq!(run.after("T2", "big"), (Certainty::Partial, lines));
    assert_eq!(run.report.edits.partial, 1);
    assert_eq!(run.report.outside_changes, 0);
}

#[test]
fn an_edit_that_does_not_fit_shows_that_the_file_was_another() {
    let mut session = Session::new();
    session.write("T1", "/w/a", "x\n");
    session.edit("T2", "/w/a", None, "y", "z");
    let run = session.run();
    assert_eq!(run.report.outside_changes, 1);
    assert_ne!(run.after("T2", "a").0, Certainty::Exact);
    assert_eq!(run.report.edits.unknown, 1);
}

#[test]
fn the_base_and_the_file_history_fill_in_what_the_transcript_lacks() {
    let mut session = Session::new();
    session.edit("T1", "/w/a", None, "old", "new");
    session.edit("T2", "/w/b", None, "nowhere", "new");
    let base = |path: &TapePath| {
        (path.as_bytes() == b"a" || path.as_bytes() == b"b").then(|| b"old\n".to_vec())
    };
    let options = Options {
        base: Some(Arc::new(base)),
        ..Options::default()
    };
    let run = Run::with(&session.text(), &[], &options);
    assert_eq!(run.before("T1", "a"), exact("old\n"));
    assert_eq!(run.after("T1", "a"), exact("new\n"));
    assert_ne!(
        run.after("T2", "b").0,
        Certainty::Exact,
        "the edit does not fit the base"
    );

    let mut session = Session::new();
    session.call("T1", "Edit", &json!({"file_path": "/w/a"}));
    session.record(
        "file-history-delta",
        &json!({"trackingPath": "a",
        "backup": {"backupFileName": "0123@v1", "version": 1}}),
    );
    session.result(
        "T1",
        "edited",
        &json!({"filePath": "/w/a", "oldString": "x", "newString": "y",
        "originalFile": null}),
    );
    let beside = [("file-history/s/0123@v1", "x\n")];
    let run = Run::with(&session.text(), &beside, &Options::default());
    assert_eq!(run.after("T1", "a"), exact("y\n"));
    assert_eq!(run.report.guessed["from the file history"], 1);
}

#[test]
fn failed_and_refused_calls_change_nothing() {
    let mut session = Session::new();
    session.write("T1", "/w/a", "x\n");
    session.call(
        "T2",
        "Edit",
        &json!({"file_path": "/w/a", "old_string": "zzz", "new_string": "y"}),
    );
    session.fails("T2", "String to replace not found in file.");
    session.call(
        "T3",
        "Write",
        &json!({"file_path": "/w/a", "content": "never"}),
    );
    session.fails("T3", "The user doesn't want to proceed with this tool use.");
    session.call("T4", "Bash", &json!({"command": "rm -rf /w"}));
    session.fails("T4", "The user doesn't want to proceed with this tool use.");
    session.call("T5", "Bash", &json!({"command": "false"}));
    session.fails("T5", "Exit code 1");
    let run = session.run();
    for call in ["T2", "T3", "T4", "T5"] {
        assert_eq!(run.after(call, "a"), exact("x\n"), "{call}");
    }
    let outcomes = ["T1", "T2", "T3", "T4", "T5"].map(|call| run.outcome(call));
    let expected = [
        Outcome::Ok,
        Outcome::Failed,
        Outcome::Refused,
        Outcome::Refused,
        Outcome::Failed,
    ];
    assert_eq!(outcomes, expected);
    let fail = run.tape.locate(&"fail".parse().unwrap()).unwrap();
    assert_eq!(run.tape.row(0, fail.step).unwrap().outcome, Outcome::Failed);
}

#[test]
fn crlf_and_byte_order_mark_are_kept() {
    let before = "\u{feff}first\r\nsecond\r\nthird\r\n";
    let mut session = Session::new();
    session.edit(
        "T1",
        "/w/w.txt",
        Some(before),
        "second\nthird",
        "2nd\nthird",
    );
    // The tool shows the file with both taken off; that is no outside change.
    session.edit(
        "T2",
        "/w/w.txt",
        Some("first\n2nd\nthird\n"),
        "first",
        "1st",
    );
    let run = session.run();
    assert_eq!(run.before("T1", "w.txt"), exact(before));
    assert_eq!(
        run.after("T1", "w.txt"),
        exact("\u{feff}first\r\n2nd\r\nthird\r\n")
    );
    assert_eq!(
        run.after("T2", "w.txt"),
        exact("\u{feff}1st\r\n2nd\r\nthird\r\n")
    );
    assert_eq!(run.report.outside_changes, 0);
    assert_eq!(run.report.guessed["line endings assumed"], 1);
}

#[test]
fn a_notebook_is_known_by_what_its_edit_returned() {
    let mut session = Session::new();
    session.call(
        "T1",
        "NotebookEdit",
        &json!({"notebook_path": "/w/n.ipynb"}),
    );
    session.result(
        "T1",
        "edited",
        &json!({"notebook_path": "/w/n.ipynb", "original_file": "{}", "updated_file": "{1}"}),
    );
    let run = session.run();
    assert_eq!(run.before("T1", "n.ipynb"), exact("{}"));
    assert_eq!(run.after("T1", "n.ipynb"), exact("{1}"));
}

#[test]
fn attachments_show_what_the_user_changed() {
    let mut session = Session::new();
    session.write("T1", "/w/a", "1\n2\n3\n");
    session.record(
        "attachment",
        &json!({"attachment": {"type": "edited_text_file",
        "filename": "/w/a", "snippet": "2\ttwo\n3\t3"}}),
    );
    session.record(
        "attachment",
        &json!({"attachment": {"type": "queued_command",
        "prompt": "and then?", "commandMode": "prompt"}}),
    );
    session.user("<bash-input>make</bash-input>");
    let run = session.run();
    assert_eq!(run.report.outside_changes, 1);
    assert_eq!(run.prompts()[0], ("user", "and then?"));
    let suspects = run.events.iter().filter(|event| {
        matches!(
            &event.body,
            Body::Suspect {
                scope: Scope::All,
                ..
            }
        )
    });
    assert_eq!(suspects.count(), 1, "the user ran a command");
}
