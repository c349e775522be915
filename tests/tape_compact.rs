//! A compacted tape says what the old one says, whatever is wrong with it.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jukebox::debugger::{Debugger, Expanded, FileContent, OpenOptions, Source};
use jukebox::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Header, LineHash, Outcome, ProblemKind,
    Seq, StepNumber, TapePath,
};
use jukebox::tape::{
    BlobSource as _, CompactError, CompactOptions, Recorder, RecorderOptions, Tape, TapeBytes,
    compact, verify,
};

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
        let compacted = match compact(&old, &target, &CompactOptions::default()) {
            Err(error) if path.ends_with("fork.jsonl") => {
                assert!(error.to_string().contains("only with what it shares"));
                continue;
            }
            compacted => compacted.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        };
        assert!(compacted.after <= compacted.before, "{}", path.display());
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
        compact(
            &Tape::open(&path, &mut ()).unwrap(),
            &target,
            &CompactOptions::default(),
        )
        .unwrap();
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
    recorder.close(Outcome::Ok).unwrap();
    let compacted = compact(
        &Tape::open(&path, &mut ()).unwrap(),
        &target,
        &CompactOptions::default(),
    )
    .unwrap();
    assert!(compacted.after * 3 < compacted.before, "{compacted:?}");
    assert_eq!(compacted.after, fs::metadata(&target).unwrap().len());
}

#[test]
fn no_file_is_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("there");
    fs::write(&target, b"mine").unwrap();
    let tape = Tape::open(&fixtures()[0], &mut ()).unwrap();
    let refused = compact(&tape, &target, &CompactOptions::default());
    assert!(
        matches!(refused, Err(CompactError::Exists(_))),
        "{refused:?}"
    );
    assert_eq!(fs::read(&target).unwrap(), b"mine");
}

/// What a screen shows of every step from one on: title, files with certainty and text.
fn shown(path: &std::path::Path, from: u32) -> Vec<String> {
    let run = Debugger::open(Source::Path(path.to_owned()), &OpenOptions::default()).unwrap();
    let steps = run.summary().branches[0].steps;
    let mut shown = Vec::new();
    for number in from..=steps {
        let row = run.row(0, StepNumber(number)).unwrap();
        shown.push(format!("{number} {} {}", row.seq, row.title));
        for file in run.tree(row.spot.cursor, row.spot.cursor, &Expanded::All) {
            let Ok(view) = run.file(row.spot.cursor, &file.path) else {
                continue;
            };
            let FileContent::Bytes(bytes) = view.content else {
                continue;
            };
            let hash = BlobHash::of(&bytes).short();
            let path = file.path.to_text();
            shown.push(format!("  {path} {} {hash}", view.certainty));
        }
    }
    shown
}

fn tool(recorder: &mut Recorder, n: u32, changes: Vec<FileChange>) {
    let call = format!("c{n}");
    let (name, arguments) = ("edit".to_owned(), serde_json::json!({"n": n}));
    let body = Body::ToolCall { name, arguments };
    recorder
        .append(Event::new(body).in_call(&call).titled(format!("edit {n}")))
        .unwrap();
    for change in changes {
        recorder
            .append(Event::new(Body::File(change)).in_call(&call))
            .unwrap();
    }
    let body = Body::ToolResult {
        outcome: Outcome::Ok,
        exit: None,
        output: String::new(),
        duration: None,
        attachments: Vec::new(),
        detail: serde_json::Value::Null,
    };
    recorder.append(Event::new(body).in_call(&call)).unwrap();
}

/// Forty edits of six files, a directory that comes and goes, and a transaction.
fn long_run(path: &std::path::Path) {
    let mut recorder =
        Recorder::create(path, Header::default(), RecorderOptions::default()).unwrap();
    let at = |path: String| TapePath::new(path).unwrap();
    for n in 0..40u32 {
        let text = format!("file {} in version {n}\n", n % 6).repeat(40);
        let mut changes = vec![FileChange::write(
            at(format!("src/{}/f", n % 6)),
            text.into_bytes(),
        )];
        if n % 10 == 5 {
            changes.push(FileChange::new(FileOp::Remove, at("src/3".to_owned())));
        }
        if n == 20 {
            let mut begin = Event::new(Body::TxnBegin);
            begin.head.txn = Some("t".to_owned());
            recorder.append(begin).unwrap();
        }
        if n == 24 {
            let mut end = Event::new(Body::TxnCommit);
            end.head.txn = Some("t".to_owned());
            recorder.append(end).unwrap();
        }
        tool(&mut recorder, n, changes);
    }
    recorder.close(Outcome::Ok).unwrap();
}

#[test]
fn dropping_the_history_keeps_numbers_and_files_of_what_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.jsonl");
    long_run(&path);
    let old = Tape::open(&path, &mut ()).unwrap();
    let last = old.index.events.len();
    for asked in (2..last).step_by(11) {
        let target = directory.path().join(format!("kept-{asked}.jsonl"));
        let options = CompactOptions {
            keep_from: Some(Seq(u64::from(asked))),
            ..CompactOptions::default()
        };
        let compacted = match compact(&old, &target, &options) {
            Ok(compacted) => compacted,
            Err(CompactError::KeepFrom(_)) if asked < 8 => continue,
            Err(error) => panic!("{asked}: {error}"),
        };
        let new = Tape::open(&target, &mut ()).unwrap();
        assert_eq!(new.problems(), [], "{asked}");
        let from = compacted.kept_from.unwrap();
        assert!(
            from.0 <= u64::from(asked) && from.0 + 40 > u64::from(asked),
            "{from}"
        );
        let first = old.index.events.position(from).unwrap();
        let step = old.index.events.get(first).unwrap().step.unwrap();
        let number = old.index.number_of(step).unwrap().0;
        let expected = shown(&path, number);
        assert_eq!(shown(&target, number), expected, "{asked}");
        // Once more: what was dropped stays dropped, and the numbers stay.
        let again = directory.path().join(format!("again-{asked}.jsonl"));
        compact(&new, &again, &CompactOptions::default()).unwrap();
        assert_eq!(shown(&again, number), expected, "{asked}");
        let twice = directory.path().join(format!("twice-{asked}.jsonl"));
        let later = CompactOptions {
            keep_from: Some(Seq(u64::from(asked) + 11)),
            ..CompactOptions::default()
        };
        let compacted = compact(&new, &twice, &later).unwrap();
        if compacted.kept_from.unwrap() > from {
            assert!(compacted.after < compacted.before, "{asked}");
        }
        // Whoever goes on with it knows the files that stand in the snapshot alone.
        let recorder = Recorder::resume(&twice, RecorderOptions::default()).unwrap();
        recorder.close(Outcome::Ok).unwrap();
        let bytes = TapeBytes::Memory(fs::read(&twice).unwrap().into());
        let verified = verify(bytes, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(verified.problems, [], "{asked}");
    }
}

#[test]
fn the_lines_that_forks_name_are_told_after_compacting() {
    let directory = tempfile::tempdir().unwrap();
    let (path, first, second) = (
        directory.path().join("old.jsonl"),
        directory.path().join("first.jsonl"),
        directory.path().join("second.jsonl"),
    );
    long_run(&path);
    let old = Tape::open(&path, &mut ()).unwrap();
    let hash = |tape: &Tape, seq: u64| {
        let position = tape.index.events.position(Seq(seq)).unwrap();
        LineHash::of(&tape.record(position).unwrap()).to_string()
    };
    let point = |seq: u64| CompactOptions {
        fork_points: vec![Seq(seq)],
        ..CompactOptions::default()
    };
    compact(&old, &first, &point(7)).unwrap();
    let new = Tape::open(&first, &mut ()).unwrap();
    compact(&new, &second, &point(9)).unwrap();
    let newest = Tape::open(&second, &mut ()).unwrap();
    let told = newest.event(0).unwrap().extra;
    let lines = &told["compacted"]["lines"];
    assert_eq!(lines["7"], hash(&old, 7));
    assert_eq!(lines["9"], hash(&new, 9));
}
