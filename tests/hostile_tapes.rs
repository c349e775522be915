//! Tapes that were made to hurt their reader: few bytes that ask for endless depth, endless
//! trees or endless work. Each opens in the time that its bytes deserve, and is looked at.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::io::Write as _;

use jukebox::debugger::{CheckoutOptions, Debugger, Expanded, OpenOptions, Source, Spot};
use jukebox::model::{BlobHash, Place, TapePath};
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
fn the_deepest_path_is_walked() {
    let deep = vec!["d"; TapePath::MAX_DEPTH].join("/");
    let run = open([write(&deep), write("a")]);
    assert_eq!(paths(&run).len(), TapePath::MAX_DEPTH + 1);
    let empty = tempfile::tempdir().unwrap();
    let report = run.checkout(end(&run).cursor, empty.path(), CheckoutOptions::default());
    assert!(report.unwrap().report.is_exact());
}

#[test]
fn a_directory_that_is_moved_into_itself_does_not_grow_for_ever() {
    let moves = (0..3000).map(|_| json!({"kind": "fs.rename", "from": "a", "path": "a/a"}));
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
