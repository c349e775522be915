//! Tapes that were made to hurt their reader: few bytes that ask for endless depth, endless
//! trees or endless work. Each opens in the time that its bytes deserve, and is looked at.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;

use jukebox::debugger::{CheckoutOptions, Debugger, Expanded, OpenOptions, Source, Spot};
use jukebox::model::{BlobHash, Certainty, EntryKind, Place, TapePath};
use serde_json::{Value, json};

/// Opens a tape of these events, numbered in order.
fn open(events: impl IntoIterator<Item = Value>) -> Debugger {
    let header = json!({"kind": "tape", "format": 1, "id": "t"});
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut tape = String::new();
    for (seq, event) in std::iter::once(header).chain(events).enumerate() {
        let body = event.to_string();
        writeln!(tape, r#"{{"seq":{seq},{}"#, body.strip_prefix('{').unwrap()).unwrap();
    }
    file.write_all(tape.as_bytes()).unwrap();
    Debugger::open(Source::Path(file.path().into()), &OpenOptions::default()).unwrap()
}

fn end(run: &Debugger) -> Spot {
    run.locate(&Place::END).unwrap()
}

/// The paths of the tree at the end.
fn paths(run: &Debugger) -> Vec<String> {
    let at = end(run).cursor;
    let rows = run.tree(at, at, &Expanded::All).into_iter();
    rows.map(|row| row.path.to_text()).collect()
}

fn write(path: &str) -> Value {
    json!({"kind": "fs.write", "path": path, "text": "x"})
}

#[test]
fn a_path_of_a_hundred_thousand_directories_is_no_path() {
    let deep = vec!["d"; 100_000].join("/");
    let run = open([write(&deep), write("a")]);
    assert_eq!(paths(&run), ["a"]);
}

#[test]
fn deep_directories_need_no_deep_stack() {
    const DEPTH: usize = 300;
    let run = open([write(&vec!["d"; DEPTH].join("/")), write("a")]);
    let look = || {
        assert_eq!(paths(&run).len(), DEPTH + 1);
        let new = tempfile::tempdir().unwrap();
        let written = run.checkout(
            end(&run).cursor,
            new.path(),
            CheckoutOptions::default(),
            &mut |_| ControlFlow::Continue(()),
        );
        assert!(written.unwrap().report.is_exact());
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    std::thread::scope(|scope| {
        let looking = thread.spawn_scoped(scope, look).unwrap();
        looking.join().unwrap();
    });
}

#[test]
fn a_directory_that_is_moved_into_itself_does_not_grow_for_ever() {
    let moves = (0..1100).map(|_| json!({"kind": "fs.rename", "from": "a", "path": "a/a"}));
    let run = open(std::iter::once(write("a/f")).chain(moves));
    assert!(paths(&run).len() <= TapePath::MAX_DEPTH);
}

#[test]
fn a_snapshot_of_a_few_lines_that_names_endless_paths_is_cut() {
    let mut directories = serde_json::Map::new();
    let mut put = |text: String| {
        let hash = BlobHash::of(text.as_bytes()).to_string();
        directories.insert(hash.clone(), text.into());
        hash
    };
    let mut hash = put(String::new());
    for _ in 0..60 {
        let line = |name: &str| format!("{}\n", json!([name, "dir", "755", hash]));
        hash = put(["a", "b", "c", "d"].map(line).concat());
    }
    let run = open([
        write("f"),
        json!({"kind": "snapshot", "blob": hash, "reason": "end", "dirs": directories}),
    ]);
    assert!(run.summary().events >= 2);
}

#[test]
fn a_row_is_as_short_as_its_title_is_long() {
    let long = "x".repeat(1 << 16);
    let run = open([
        json!({"kind": "prompt", "title": long, "text": "go"}),
        json!({"kind": "tool.call", "call": "c", "name": long, "args": {"command": long}}),
        json!({"kind": "gap", "why": long}),
    ]);
    let rows = run.timeline(0, 0..10);
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert!(row.title.as_str().len() + row.actor.as_str().len() < 1000);
    }
}

#[test]
fn moving_many_files_to_and_fro_ends_in_doubt_and_not_in_endless_memory() {
    let files = (0..2000).map(|n| write(&format!("a/{n}")));
    let moves = (0..200).map(|n| match n % 2 {
        0 => json!({"kind": "fs.rename", "from": "a", "path": "b"}),
        _ => json!({"kind": "fs.rename", "from": "b", "path": "a"}),
    });
    let run = open(files.chain(moves));
    let at = end(&run).cursor;
    let rows = run.tree(at, at, &Expanded::All);
    let files = rows.iter().filter(|row| row.kind == EntryKind::File);
    assert!(files.clone().count() >= 2000);
    assert!(
        files
            .clone()
            .all(|row| row.certainty == Certainty::Uncertain)
    );
}

#[test]
fn more_branches_than_can_be_told_apart_are_said_to_be() {
    let mut text = String::new();
    for seq in 0..70_000 {
        let branch = format!("b{seq}");
        let event = json!({"seq": seq, "t": 0, "kind": "prompt", "branch": branch, "text": "x"});
        writeln!(text, "{event}").unwrap();
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let source = Source::Path(file.path().to_owned());
    let run = Debugger::open(source, &OpenOptions::default()).unwrap();
    let crowded = |problem: &&jukebox::model::Problem| problem.message.contains("65,534");
    assert_eq!(run.problems().iter().filter(crowded).count(), 1);
    assert!(run.timeline(0, 0..10).is_empty());
}
