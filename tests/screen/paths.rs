//! A difference told by paths, requests beside each other, and what is said in words.

use std::slice;

use jukebox::tui::worker::InlineWorker;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::Screen;
use crate::folds::{two_steps, write};

#[test]
fn a_file_of_json_is_told_by_paths_on_demand() {
    let old =
        r#"{"name": "app", "deps": [{"name": "a", "v": 1}], "n": 1.0, "text": "one\ntwo words\n"}"#;
    let new = r#"{"name": "app", "deps": [{"name": "b"}, {"name": "a", "v": 2}], "n": 1, "text": "one\ntwo verbs\n"}"#;
    for size in [(130, 30), (60, 20)] {
        let files = ([write("app.json", old)], [write("app.json", new)]);
        let (_tape, mut screen) = two_steps(&files.0, &files.1, size);
        screen.keys("p");
        screen.shows("+ deps[0]  {\"name\": \"b\"}");
        screen.shows("~ deps[1].v  1 → 2");
        screen.shows("~ n  1.0 → 1");
        screen.shows("  − two words");
        screen.shows("  + two verbs");
        screen.keys("p");
        screen.hides("deps[1].v");
    }
}

#[test]
fn what_is_no_json_stays_a_difference_of_lines_and_says_so() {
    let files = ([write("a.txt", "a\n")], [write("a.txt", "b\n")]);
    let (_tape, mut screen) = two_steps(&files.0, &files.1, (130, 30));
    let before = screen.text();
    screen.keys("p");
    screen.shows("not JSON on both sides");
    screen.keys("X");
    assert_eq!(screen.text(), before);
}

#[test]
fn a_request_stands_beside_the_one_before() {
    let request = |text: &str| {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let blob = format!("b3:{hash}");
        [
            json!({"kind": "blob", "blob": blob, "len": text.len(), "enc": "text", "text": text}),
            json!({"kind": "model.request", "blob": blob}),
            json!({"kind": "model.response", "blocks": []}),
        ]
    };
    let before =
        request(r#"{"system": "be brief", "messages": [{"role": "user", "content": "one"}]}"#);
    let after = request(
        r#"{"system": "be long", "messages": [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]}"#,
    );
    for size in [(130, 30), (90, 24), (60, 20)] {
        let (_tape, mut screen) = two_steps(&before, &after, size);
        // The tape has four steps: two prompts and two turns of the model.
        screen.keys("G : 4 Enter v");
        screen.shows("▸3 Request");
        screen.shows("request of step 4, beside that of step 2");
        screen.shows("messages: 1 added · system: 1 changed");
        screen.shows("+ messages[1]");
        screen.shows("~ system  \"be brief\" → \"be long\"");
        screen.keys(": 2 Enter");
        screen.shows("the first request of this agent");
        screen.keys(": 1 Enter");
        screen.shows("The model was not asked up to here.");
    }
}

#[test]
fn the_answer_stands_first_and_what_was_sent_is_a_line() {
    let asked: Vec<String> = (0..60).map(|line| format!("line {line}")).collect();
    let turn = |call: &str, answer: &str| {
        let text = [json!({"type": "text", "text": answer})];
        [
            json!({"kind": "model.request", "call": call, "added": {"messages": asked}}),
            json!({"kind": "model.response", "call": call, "blocks": text}),
        ]
    };
    for size in [(130, 30), (60, 20)] {
        let before = turn("r1", "One.");
        // Of one that is not answered yet, the request is all there is.
        let after = &turn("r2", "Two.")[..1];
        let (_tape, mut screen) = two_steps(&before, after, size);
        screen.keys(": 2 Enter 3");
        screen.shows("One.");
        screen.shows("request: 64 lines; v shows it");
        screen.hides("line 0");
        screen.keys(": 4 Enter");
        screen.shows("line 0");
        screen.hides("v shows it");
    }
}

#[test]
fn where_no_request_is_recorded_it_is_said_what_is() {
    let response = json!({"kind": "model.response", "blocks": [{"type": "text", "text": "hm"}]});
    let (_tape, mut screen) = two_steps(
        slice::from_ref(&response),
        slice::from_ref(&response),
        (130, 30),
    );
    screen.keys(": 4 Enter v");
    screen.shows("the tape does not record what the model was sent");
    screen.shows("recorded since the answer before");
    screen.shows("3  user  two");
}

/// A screen on one change of one path.
fn one_change(
    before: serde_json::Value,
    after: serde_json::Value,
) -> (NamedTempFile, Screen<InlineWorker>) {
    two_steps(&[before], &[after], (130, 30))
}

#[test]
fn what_lines_do_not_show_is_said_in_words() {
    let link = |target: &str| json!({"kind": "fs.symlink", "path": "a", "target": target});
    let check = |before, after, words: &[&str]| {
        let (_tape, screen) = one_change(before, after);
        for words in words {
            screen.shows(words);
        }
    };
    check(write("a", "x\n"), write("a", "x"), &["no newline at end"]);
    check(
        write("a", "x\n"),
        json!({"kind": "fs.chmod", "path": "a", "mode": "755"}),
        &["mode 644→755", "Only the mode differs."],
    );
    check(
        write("a", "x\u{0}"),
        write("a", "y\u{0}"),
        &["binary files differ"],
    );
    check(
        link("b"),
        link("c"),
        &["a symbolic link: its text is where it points"],
    );
    check(
        write("a", "x"),
        link("c"),
        &["a file became a symbolic link"],
    );
    check(
        link("c"),
        write("a", "x"),
        &["a symbolic link became a file"],
    );
    check(
        write("a", "x\r\ny\r\n"),
        write("a", "x\ny\n"),
        &["only line ends changed: CRLF to LF", "x^M↵", "x↵"],
    );
}

#[test]
fn a_renamed_file_is_told_with_both_names() {
    let (_tape, screen) = one_change(
        write("a", "words\n"),
        json!({"kind": "fs.rename", "path": "b", "from": "a"}),
    );
    screen.shows("R a → b");
    screen.hides("D a");
    screen.hides("file 1/2");
    screen.shows("renamed");
    screen.shows("Only the name differs.");
}

#[test]
fn blanks_are_seen_without_being_asked_for_where_they_are_what_differs() {
    let (_tape, screen) = one_change(
        write("a", "first line\n  if a {\nlast line\n"),
        write("a", "first line\n\tif  a {\nlast line\n"),
    );
    screen.shows("··if·a·{");
    screen.shows("→   if··a·{");
    screen.shows("first line");
    screen.hides("first·line");
}

#[test]
fn a_step_is_held_against_the_last_one_like_it_by_paths() {
    let call = |id: &str, name: &str, args: serde_json::Value| json!({"kind": "tool.call", "call": id, "name": name, "title": name, "args": args});
    let answer = |words: &str| {
        json!({"kind": "model.response", "name": "model-x", "outcome": "ok",
            "blocks": [{"type": "text", "text": words}]})
    };
    let (_tape, mut screen) = two_steps(
        &[
            call(
                "a",
                "Grep",
                json!({"pattern": "peek", "path": "src", "limit": 10}),
            ),
            answer("I look."),
            call("b", "Read", json!({"path": "README.md"})),
        ],
        &[
            call(
                "c",
                "Grep",
                json!({"pattern": "next", "path": "src", "limit": 10}),
            ),
            answer("I looked."),
        ],
        (130, 40),
    );
    // Step 7 is the second answer, 6 the second Grep, 4 the Read.
    screen.keys(": 7 Enter p");
    screen.shows("beside step 3, by paths");
    screen.shows("I looked.");
    screen.keys("h");
    screen.shows("beside step 2, by paths");
    screen.shows("~ arguments.pattern");
    screen.hides("limit");
    // A call of which there is only one.
    screen.keys("h h");
    screen.shows("stands before it");
    screen.keys("p");
    screen.shows("README.md");
    screen.hides("by paths");
}
