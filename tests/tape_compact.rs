//! A compacted tape says what the old one says, whatever is wrong with it.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jukebox::model::{Body, Content, Event, FileChange, Header, ProblemKind, TapePath};
use jukebox::tape::{BlobSource as _, CompactError, Recorder, RecorderOptions, Tape, compact};

fn fixtures() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tape-v1");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

#[test]
fn every_fixture_says_the_same_when_it_is_compacted() {
    let directory = tempfile::tempdir().unwrap();
    for path in fixtures() {
        let before = fs::read(&path).unwrap();
        let old = Tape::open(&path, &mut ()).unwrap();
        let target = directory.path().join(path.file_name().unwrap());
        compact(&old, &target).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(
            fs::read(&path).unwrap(),
            before,
            "the old one is left alone"
        );
        let new = Tape::open(&target, &mut ()).unwrap();
        assert_eq!(
            fs::metadata(&target).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let expected: Vec<ProblemKind> = old
            .problems()
            .iter()
            .map(|problem| problem.kind)
            // These are gone: a torn tail is no line, and a repeat no event.
            .filter(|kind| !matches!(kind, ProblemKind::TornTail | ProblemKind::RepeatedSeq))
            .collect();
        let kinds: Vec<ProblemKind> = new.problems().iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, expected, "{}", path.display());
        for position in 0..new.index.events.len() {
            let Body::File(change) = old.event(position).unwrap().body else {
                continue;
            };
            if let Content::Blob { hash, .. } = change.content {
                assert_eq!(
                    new.blob(&hash).ok(),
                    old.blob(&hash).ok(),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn unknown_fields_are_carried_over() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["unknown", "other-order", "promise", "bad-field"] {
        let path = format!("tests/fixtures/tape-v1/{name}.jsonl");
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
        let target = directory.path().join(name);
        compact(&Tape::open(&path, &mut ()).unwrap(), &target).unwrap();
        let fields = |path: &PathBuf| -> Vec<serde_json::Value> {
            let text = fs::read_to_string(path).unwrap();
            let line = |line: &str| {
                let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
                let line_fields = line.as_object_mut().unwrap();
                // What the new tape writes for itself; a hand-written one lacks them.
                for field in ["t", "prev", "blob", "len", "enc"] {
                    line_fields.remove(field);
                }
                line
            };
            text.lines().map(line).collect()
        };
        assert_eq!(fields(&target), fields(&path), "{name}");
    }
}

#[test]
fn large_contents_get_small() {
    let directory = tempfile::tempdir().unwrap();
    let (path, target) = (directory.path().join("old"), directory.path().join("new"));
    let mut recorder =
        Recorder::create(&path, Header::default(), RecorderOptions::default()).unwrap();
    for version in 0..40 {
        let line = |n: u32| format!("let x{n} = {}; // version\n", n * 7 % (version + 3));
        let text: String = (0..200).map(line).collect();
        let to = TapePath::new("src/main.rs").unwrap();
        let change = FileChange::write(to, text.into_bytes());
        recorder.append(Event::new(Body::File(change))).unwrap();
    }
    recorder.close(jukebox::model::Outcome::Ok).unwrap();
    let compacted = compact(&Tape::open(&path, &mut ()).unwrap(), &target).unwrap();
    assert!(compacted.after * 3 < compacted.before, "{compacted:?}");
    assert_eq!(compacted.after, fs::metadata(&target).unwrap().len());
}

#[test]
fn no_file_is_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("there");
    fs::write(&target, b"mine").unwrap();
    let tape = Tape::open(&fixtures()[0], &mut ()).unwrap();
    let refused = compact(&tape, &target);
    assert!(
        matches!(refused, Err(CompactError::Exists(_))),
        "{refused:?}"
    );
    assert_eq!(fs::read(&target).unwrap(), b"mine");
}
