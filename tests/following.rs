//! A run that is still being written, looked at again and again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jukebox::debugger::{Debugger, FileContent, Look, OpenOptions, Refresh, Source};
use jukebox::model::{Place, ProblemKind, TapePath};

fn prompt(seq: u32) -> String {
    format!("{{\"seq\":{seq},\"kind\":\"prompt\",\"text\":\"r{seq}\"}}\n")
}

fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn follow(path: &Path) -> Debugger {
    let options = OpenOptions {
        awaits_content: true,
        ..OpenOptions::default()
    };
    Debugger::open(Source::Path(path.to_owned()), &options).unwrap()
}

fn steps(run: &Debugger) -> Vec<String> {
    let rows = run.timeline(0, 0..100);
    rows.iter()
        .map(|row| row.title.as_str().to_owned())
        .collect()
}

fn place(directory: &Path) -> PathBuf {
    directory.join("run.jsonl")
}

#[test]
fn a_tape_is_followed_through_all_that_can_happen_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(directory.path());
    fs::write(&path, "").unwrap();
    let mut run = follow(&path);
    let mut check = |expected: Refresh, titles: &[&str]| {
        assert_eq!(run.refresh().unwrap(), expected);
        assert_eq!(steps(&run), titles);
        assert_eq!(run.refresh().unwrap(), Refresh::Unchanged);
    };
    append(&path, &(prompt(0) + &prompt(1)));
    check(Refresh::Grew { events: 2 }, &["r0", "r1"]);
    let third = prompt(2);
    let (half, rest) = third.split_at(14);
    append(&path, half);
    check(Refresh::Grew { events: 0 }, &["r0", "r1"]);
    append(&path, rest);
    check(Refresh::Grew { events: 1 }, &["r0", "r1", "r2"]);
    fs::write(&path, prompt(0)).unwrap();
    check(Refresh::Truncated, &["r0"]);
    let other = directory.path().join("other");
    fs::write(&other, prompt(0) + &prompt(1)).unwrap();
    fs::rename(&other, &path).unwrap();
    check(Refresh::Replaced, &["r0", "r1"]);
    fs::remove_file(&path).unwrap();
    check(Refresh::Gone, &["r0", "r1"]);
    fs::write(&path, prompt(0)).unwrap();
    check(Refresh::Back, &["r0"]);
}

#[test]
fn files_of_a_truncated_tape_are_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(directory.path());
    let write = "{\"seq\":1,\"kind\":\"fs.write\",\"path\":\"a\",\"text\":\"old\"}\n";
    fs::write(&path, prompt(0) + write).unwrap();
    let mut run = follow(&path);
    let read = |run: &Debugger| {
        let end = run.locate(&Place::END).unwrap();
        match run.file(end.cursor, &TapePath::new("a").unwrap()) {
            Ok(view) => match view.content {
                FileContent::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok(),
                _ => None,
            },
            Err(_) => None,
        }
    };
    assert_eq!(read(&run).as_deref(), Some("old"));
    fs::write(&path, prompt(0)).unwrap();
    assert_eq!(run.refresh().unwrap(), Refresh::Truncated);
    assert_eq!(read(&run), None);
}

#[test]
fn a_transcript_holds_back_its_unfinished_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(directory.path());
    let line = |uuid: &str, parent: &str, text: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"uuid\":\"{uuid}\",\"type\":\"user\",\"sessionId\":\"s\",\
             \"cwd\":\"/w\",\"timestamp\":\"2026-01-01T10:00:01.000Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let second = line("u2", "\"u1\"", "two");
    let (half, rest) = second.split_at(40);
    fs::write(&path, line("u1", "null", "one") + half).unwrap();
    let before = fs::read(&path).unwrap();
    let mut run = follow(&path);
    let prompts = |run: &Debugger| -> Vec<String> {
        let titles = steps(run).into_iter();
        titles.filter(|title| !title.contains("line")).collect()
    };
    assert_eq!(prompts(&run), ["one"]);
    assert_eq!(steps(&run), ["one"], "what is not whole yet is no gap");
    let torn = run.problems();
    assert_eq!(torn[0].kind, ProblemKind::TornTail);
    assert_eq!(
        (torn[0].line, torn[0].offset),
        (2, line("u1", "null", "one").len() as u64)
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    append(&path, rest);
    // It is imported beside the run that is open, which answers meanwhile.
    let Look::Anew(anew) = run.look().unwrap() else {
        panic!("a transcript is imported again");
    };
    let fresh = anew.open().unwrap().unwrap();
    assert_eq!(prompts(&run), ["one"]);
    assert!(matches!(run.replace(&anew, fresh), Refresh::Grew { .. }));
    assert_eq!(prompts(&run), ["one", "two"]);
    assert_eq!(run.problems(), []);
}
