//! Forks on disk: what a fork shares with its parent is read as the parent's own, and what goes
//! on behind it follows from there.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::fmt::Write as _;
use std::ops::ControlFlow;

use jukebox::model::{
    Body, Content, Cursor, Event, FileChange, FileOp, Header, KnownLines, Outcome, Problem, Seq,
    TapePath,
};
use jukebox::state::State;
use jukebox::tape::{
    Behind, BlobSource as _, Recorder, RecorderOptions, Shared, SnapshotPolicy, Tape, TapeBytes,
    build, header_of, verify,
};
use proptest::prelude::*;
use runs::any_run;

#[path = "forks/known.rs"]
mod known;
#[path = "support/runs.rs"]
mod runs;
#[path = "support/told.rs"]
mod told;

fn header(id: &str) -> Header {
    Header {
        id: id.to_owned(),
        ..Header::default()
    }
}

fn memory(bytes: &[u8]) -> TapeBytes {
    TapeBytes::Memory(bytes.into())
}

fn all(bytes: &TapeBytes) -> Vec<u8> {
    let len = bytes.len().unwrap() as usize;
    bytes.read_exact_at(0, len).unwrap()
}

/// The bytes of a fork's own file, for one that was recorded in memory.
fn fork(parent: &TapeBytes, seq: u64, id: &str, events: &[Event]) -> Vec<u8> {
    let mut files = State::default();
    let parent = Tape::read(parent.clone(), &mut files).unwrap();
    let shared = Shared::of(&parent, "parent", Seq(seq)).unwrap();
    let behind = Behind {
        parent: &parent,
        files: &files,
        shared: &shared.unwrap(),
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fork.jsonl");
    let options = RecorderOptions {
        snapshots: SnapshotPolicy::Never,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::fork(&path, behind, None, header(id), options).unwrap();
    for event in events {
        recorder.append(event.clone()).unwrap();
    }
    drop(recorder);
    std::fs::read(path).unwrap()
}

/// A fork and what it shares, as one tape.
fn stitched(parent: &TapeBytes, own: &[u8]) -> TapeBytes {
    let own = memory(own);
    let link = header_of(&own).unwrap().unwrap().parent.unwrap();
    let shared = Shared::find(parent.clone(), "parent", link.seq).unwrap();
    let shared = shared.unwrap();
    assert!(shared.is_of(&link));
    shared.before(&own).unwrap()
}

/// What a tape is read as: its events but for the header, its steps, and its files after each
/// event.
fn story(bytes: &TapeBytes) -> (Vec<String>, Vec<String>) {
    let mut state = State::default();
    let tape = Tape::read(bytes.clone(), &mut state).unwrap();
    let mut rows = Vec::new();
    for position in 1..tape.index.events.len() {
        let entry = tape.index.events.get(position).unwrap();
        let event = tape.event(position).unwrap();
        rows.push(format!("{} {:?} {event:?}", entry.t, entry.step));
        let cursor = Cursor {
            position: position + 1,
            branch: 0,
        };
        let mut files = String::new();
        state.walk(&tape.index.blobs, cursor, &mut |child| {
            let _ = write!(files, "{:?} ", child.state);
        });
        rows.push(files);
    }
    for step in 0..tape.index.steps.len() {
        let number = tape.index.number_of(step);
        rows.push(format!("{number:?} {:?}", tape.index.steps.get(step)));
    }
    (rows, lines_of(&tape.problems()))
}

fn lines_of(problems: &[Problem]) -> Vec<String> {
    let row = |problem: &Problem| {
        let Problem {
            line,
            offset,
            kind,
            message,
            ..
        } = problem;
        format!("{line} {offset} {kind:?} {message}")
    };
    problems.iter().map(row).collect()
}

fn problems(bytes: &TapeBytes) -> Vec<String> {
    let verified = verify(bytes.clone(), &mut |_| ControlFlow::Continue(())).unwrap();
    verified.problems.iter().map(ToString::to_string).collect()
}

fn lines_in(tape: &[u8]) -> usize {
    tape.split_inclusive(|byte| *byte == b'\n').count()
}

/// The lines of a tape up to the one of this event, for one whose events are all there.
fn prefix(tape: &[u8], seq: u64) -> Vec<u8> {
    let lines = tape.split_inclusive(|byte| *byte == b'\n');
    lines.take(seq as usize + 1).flatten().copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_fork_without_events_is_what_it_shares(run in any_run(), cut in any::<prop::sample::Index>()) {
        let parent = build(header("p"), run).unwrap();
        let count = lines_in(&parent);
        let seq = 1 + cut.index(count - 1) as u64;
        let own = fork(&memory(&parent), seq, "f", &[]);
        prop_assert_eq!(lines_in(&own), 1);
        prop_assert!(own.len() <= 4096);
        let whole = stitched(&memory(&parent), &own);
        let shared = memory(&prefix(&parent, seq));
        prop_assert_eq!(story(&whole), story(&shared));
        prop_assert_eq!(problems(&whole), problems(&shared));
    }

    /// The same events behind the same prefix: they are read as they were in the parent, and
    /// contents that it holds travel no second time.
    #[test]
    fn a_fork_that_goes_on_like_its_parent_is_read_like_it(run in any_run(), cut in any::<prop::sample::Index>()) {
        let options = RecorderOptions { snapshots: SnapshotPolicy::Never, ..RecorderOptions::default() };
        let mut recorder = Recorder::in_memory(header("p"), options).unwrap();
        for event in &run {
            recorder.append(event.clone()).unwrap();
        }
        let parent = recorder.bytes();
        recorder.close(Outcome::Ok).unwrap();
        let seq = cut.index(run.len() + 1) as u64;
        prop_assume!(seq > 0);
        let (_, rest) = run.split_at(seq as usize);
        let own = fork(&parent, seq, "f", rest);
        let whole = stitched(&parent, &own);
        let before = all(&parent);
        let shared = memory(&prefix(&before, run.len() as u64));
        let ((fork_rows, fork_problems), (rows, _)) = (story(&whole), story(&shared));
        prop_assert_eq!(fork_rows, rows);
        prop_assert_eq!(fork_problems, Vec::<String>::new());
        prop_assert_eq!(problems(&whole), Vec::<String>::new());
        let taken = before.len() - prefix(&before, seq).len();
        prop_assert!(own.len() <= taken + 4096, "{} for {taken}", own.len());
        prop_assert_eq!(all(&parent), before);

        // And a fork of the fork, at its last event.
        let last = run.len() as u64;
        let child = fork(&whole, last, "c", &[]);
        prop_assert_eq!(story(&stitched(&whole, &child)), story(&whole));
        prop_assert_eq!(problems(&stitched(&whole, &child)), Vec::<String>::new());
    }
}

/// Lines of a tape written by hand.
fn tape(id: &str, lines: &[&str]) -> Vec<u8> {
    let mut text = format!("{{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"{id}\"}}\n");
    for line in lines {
        text += line;
        text.push('\n');
    }
    text.into_bytes()
}

/// A fork written by hand, behind so many events of the parent `p`.
fn hand_made(seq: u64, lines: &[&str]) -> Vec<u8> {
    let mut text = format!(
        "{{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"f\",\"parent\":{{\"id\":\"p\",\"seq\":{seq}}}}}\n"
    );
    for line in lines {
        text += line;
        text.push('\n');
    }
    text.into_bytes()
}

#[test]
fn a_problem_is_told_where_it_lies() {
    let parent = tape(
        "p",
        &[
            r#"{"seq":1,"kind":"prompt","text":"go"}"#,
            "no json",
            r#"{"seq":3,"kind":"note","text":"on"}"#,
        ],
    );
    let own = hand_made(3, &[r#"{"seq":4,"kind":"note","text":"a"}"#, "nor this"]);
    let whole = stitched(&memory(&parent), &own);
    let found = Tape::read(whole, &mut ()).unwrap().problems();
    let rows: Vec<String> = found
        .iter()
        .map(|problem| {
            let file = problem.file.as_deref().unwrap_or("-");
            format!("{file} {} {}", problem.line, problem.offset)
        })
        .collect();
    let offset = |bytes: &[u8], what: &str| {
        let text = std::str::from_utf8(bytes).unwrap();
        text.find(what).unwrap()
    };
    assert_eq!(
        rows,
        [
            format!("parent 3 {}", offset(&parent, "no json")),
            format!("- 3 {}", offset(&own, "nor this")),
        ]
    );
    let shown = found.first().unwrap().to_string();
    assert!(shown.starts_with("parent, line 3 (byte "), "{shown}");
}

#[test]
fn what_its_parent_says_later_is_not_the_forks() {
    let mut parent = tape("p", &[r#"{"seq":1,"kind":"prompt","text":"go"}"#]);
    let own = hand_made(1, &[r#"{"seq":2,"kind":"note","text":"mine"}"#]);
    let before = story(&stitched(&memory(&parent), &own));
    parent.extend(b"{\"seq\":2,\"kind\":\"note\",\"text\":\"its\"}\n{\"torn");
    assert_eq!(story(&stitched(&memory(&parent), &own)), before);
}

#[test]
fn later_events_that_stand_before_the_last_shared_one_are_left_out() {
    let parent = tape(
        "p",
        &[
            r#"{"seq":1,"kind":"prompt","text":"go"}"#,
            r#"{"seq":3,"kind":"note","text":"three"}"#,
            r#"{"seq":2,"kind":"note","text":"two"}"#,
        ],
    );
    let own = hand_made(2, &[r#"{"seq":3,"kind":"note","text":"mine"}"#]);
    let whole = stitched(&memory(&parent), &own);
    let text = String::from_utf8(all(&whole)).unwrap();
    let numbers: Vec<&str> = text.lines().filter_map(|line| line.get(7..8)).collect();
    assert_eq!(numbers, ["0", "1", "2", "3"]);
    assert!(text.ends_with("\"mine\"}\n") && !text.contains("three"));
    assert_eq!(story(&whole).1, Vec::<String>::new());
}

#[test]
fn a_line_that_holds_two_events_is_not_cut() {
    let parent = tape(
        "p",
        &[
            r#"{"seq":1,"kind":"prompt","text":"go"}{"seq":2,"kind":"note","text":"two"}"#,
            r#"{"seq":3,"kind":"note","text":"three"}"#,
        ],
    );
    let shared = |seq| Shared::find(memory(&parent), "parent", Seq(seq)).unwrap();
    assert!(shared(1).is_none() && shared(2).is_none());
    assert!(shared(3).is_some());
    assert!(shared(4).is_none());
}

#[test]
fn a_tape_that_was_changed_is_not_the_parent() {
    let lines = [
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"note","text":"two"}"#,
    ];
    let parent = tape("p", &lines);
    let own = fork(&memory(&parent), 2, "f", &[]);
    let link = header_of(&memory(&own)).unwrap().unwrap().parent.unwrap();
    let is_of = |bytes: &[u8]| {
        let shared = Shared::find(memory(bytes), "parent", link.seq).unwrap();
        shared.is_some_and(|shared| shared.is_of(&link))
    };
    assert!(is_of(&parent));
    let text = String::from_utf8(parent).unwrap();
    assert!(!is_of(text.replace("two", "2").as_bytes()));
    assert!(!is_of(text.replace("\"p\"", "\"q\"").as_bytes()));
}

#[test]
fn a_content_that_the_parent_holds_is_named_and_read() {
    let content = "a line of a file\n".repeat(5_000);
    let write = |path: &str| {
        let path = TapePath::new(path).unwrap();
        let change = jukebox::model::FileChange::write(path, content.as_bytes());
        Event::new(jukebox::model::Body::File(change))
    };
    let parent = memory(&build(header("p"), [write("a")]).unwrap());
    let own = fork(&parent, 1, "f", &[write("b")]);
    assert!(own.len() < 1024, "{}", own.len());
    let whole = stitched(&parent, &own);
    let tape = Tape::read(whole, &mut ()).unwrap();
    let hash = jukebox::model::BlobHash::of(content.as_bytes());
    assert_eq!(&*tape.blob(&hash).unwrap(), content.as_bytes());
}

/// Of a file that was seen in part, or not at all, a fork's recorder says the same as its
/// parent's: not that it still holds what it was written as.
#[test]
fn a_file_of_which_lines_were_seen_is_not_proven_to_hold_what_it_held() {
    let path = || TapePath::new("a").unwrap();
    let file = |op, content| {
        let change = FileChange {
            content,
            ..FileChange::new(op, path())
        };
        Event::new(Body::File(change))
    };
    let write = |text: &str| {
        let content = Content::Bytes(text.as_bytes().into());
        file(FileOp::Write, content)
    };
    let lines = Content::Lines(KnownLines {
        total: None,
        ranges: vec![(1, "one".to_owned())],
    });
    let somehow = Content::Unstored {
        hash: None,
        len: None,
    };
    for (seen, was_known) in [(lines, false), (somehow, true)] {
        let run = [write("one\n"), file(FileOp::Observe, seen), write("two\n")];
        let whole = build(header("p"), run.clone()).unwrap();
        let own = fork(&memory(&prefix(&whole, 2)), 2, "f", &run[2..]);
        let was = |tape: &[u8]| {
            let text = std::str::from_utf8(tape).unwrap();
            let mut lines = text.lines().filter(|line| line.contains("two\\n"));
            lines.next().unwrap().contains("\"was\"")
        };
        assert_eq!((was(&whole), was(&own)), (was_known, was_known));
    }
}
