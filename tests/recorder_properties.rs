//! Random runs: what was recorded is read back, wherever the recorder was stopped and went on.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use jukebox::model::{
    Body, Content, Edit, EditOf, Event, FileChange, Header, Outcome, Seq, SnapshotReason,
    StepNumber, TapePath,
};
use jukebox::tape::{
    BlobSource as _, CompactOptions, Recorder, RecorderOptions, SnapshotPolicy, SyncPolicy, Tape,
    TapeBytes, build, compact, verify,
};
use proptest::prelude::*;
use runs::any_run;
use serde_json::{Map, Value, json};

#[path = "support/runs.rs"]
mod runs;

fn header() -> Header {
    Header {
        id: "0198c0de-0000-7000-8000-0000000000ff".to_owned(),
        started: jukebox::model::WallTime::parse("2026-01-02T03:04:05Z"),
        covers: Map::from_iter([("caps".to_owned(), json!({"file": 1}))]),
        edit: Some(Edit {
            of: EditOf::File,
            step: StepNumber(3),
            branch: Some("a\"b".to_owned()),
            seq: Some(Seq(7)),
            path: Some(TapePath::new(b"odd/\xff").unwrap()),
            title: "Another é".to_owned(),
            then: Some("stop".to_owned()),
        }),
        ..Header::default()
    }
}

fn read(bytes: &[u8]) -> (Tape, Vec<Event>) {
    let tape = Tape::read(TapeBytes::Memory(bytes.into()), &mut ()).unwrap();
    assert_eq!(tape.problems(), []);
    let events = (0..tape.index.events.len())
        .map(|position| tape.event(position).unwrap())
        .collect();
    (tape, events)
}

/// The event without what the recorder gave it, its content by its bytes.
fn given(mut event: Event, tape: Option<&Tape>) -> Event {
    event.head.seq = None;
    event.head.step = None;
    if let Some(title) = &mut event.head.title {
        *title = title.chars().take(80).collect();
    }
    let content = match &mut event.body {
        Body::File(change) => {
            change.was = None;
            &mut change.content
        }
        Body::Blob(content) => content,
        _ => return event,
    };
    if let (
        Content::Blob {
            hash,
            len,
            redacted: false,
        },
        Some(tape),
    ) = (&*content, tape)
    {
        let bytes = tape.blob(hash).unwrap();
        assert_eq!(bytes.len() as u64, *len);
        *content = Content::Bytes(bytes);
    }
    event
}

fn problems(bytes: &[u8]) -> Vec<String> {
    let bytes = TapeBytes::Memory(bytes.into());
    let verified = verify(bytes, &mut |_| ControlFlow::Continue(())).unwrap();
    verified.problems.iter().map(ToString::to_string).collect()
}

fn record(path: &Path, run: &[Event], stops: &BTreeSet<usize>) -> Vec<u8> {
    let options = RecorderOptions {
        sync: SyncPolicy::None,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::create(path, header(), options.clone()).unwrap();
    for (at, event) in run.iter().enumerate() {
        if stops.contains(&at) {
            drop(recorder);
            recorder = Recorder::resume(path, options.clone()).unwrap();
        }
        recorder.append(event.clone()).unwrap();
    }
    recorder.close(Outcome::Ok).unwrap();
    std::fs::read(path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_was_recorded_is_read_back_and_verified(run in any_run()) {
        let bytes = build(header(), run.iter().cloned()).unwrap();
        let (tape, events) = read(&bytes);
        let seen: Vec<Event> = events
            .iter()
            .filter(|event| !matches!(event.body, Body::Snapshot { .. }))
            .map(|event| given(event.clone(), Some(&tape)))
            .collect();
        let (first, rest) = seen.split_first().unwrap();
        let Body::Tape(told) = &first.body else { panic!("no header") };
        prop_assert_eq!(&told.covers, &header().covers);
        prop_assert_eq!(&told.edit, &header().edit);
        let (end, rest) = rest.split_last().unwrap();
        prop_assert_eq!(&end.body, &Body::End { outcome: Outcome::Ok });
        let expected: Vec<Event> = run.iter().map(|event| given(event.clone(), None)).collect();
        prop_assert_eq!(rest, &expected[..]);
        prop_assert_eq!(problems(&bytes), Vec::<String>::new());
    }

    /// A resumed recorder knows by one scan what the first one knew: contents travel the
    /// same way, snapshots stand in the same places, steps go on.
    #[test]
    fn stopping_and_going_on_changes_nothing(
        run in any_run(),
        stops in prop::collection::btree_set(0..40usize, 0..4),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let one = record(&directory.path().join("one"), &run, &BTreeSet::new());
        let many = record(&directory.path().join("many"), &run, &stops);
        let timeless = |bytes: &[u8]| -> Vec<Value> {
            bytes
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(|line| {
                    let mut line: Value = serde_json::from_slice(line).unwrap();
                    // Snapshots and the end have the time of the clock.
                    line["t"] = Value::Null;
                    line["prev"] = Value::Null;
                    line
                })
                .collect()
        };
        prop_assert_eq!(timeless(&many), timeless(&one));
        prop_assert_eq!(problems(&many), Vec::<String>::new());
    }

    #[test]
    fn compacting_changes_nothing_that_is_told(run in any_run()) {
        let bytes = build(header(), run).unwrap();
        let (old, events) = read(&bytes);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("compact.jsonl");
        let compacted = compact(&old, &path, &CompactOptions::default()).unwrap();
        let written = std::fs::read(&path).unwrap();
        prop_assert_eq!(compacted.after, written.len() as u64);
        prop_assert!(compacted.after <= compacted.before);
        let (new, again) = read(&written);
        prop_assert_eq!(&again, &events);
        let content = |tape: &Tape, event: &Event| given(event.clone(), Some(tape));
        for event in &events {
            prop_assert_eq!(content(&new, event), content(&old, event));
        }
        prop_assert_eq!(problems(&written), Vec::<String>::new());
    }

    #[test]
    fn snapshots_stand_between_calls_and_cost_a_tenth_at_most(run in any_run()) {
        let bytes = build(header(), run).unwrap();
        let (tape, events) = read(&bytes);
        let (mut calls, mut txns) = (BTreeSet::new(), BTreeSet::new());
        let mut spent = 0;
        for (position, event) in events.iter().enumerate() {
            let id = |id: &Option<String>| id.clone().unwrap_or_default();
            match &event.body {
                Body::ToolCall { .. } => drop(calls.insert(id(&event.head.call))),
                Body::ToolResult { .. } => drop(calls.remove(&id(&event.head.call))),
                Body::TxnBegin => drop(txns.insert(id(&event.head.txn))),
                Body::TxnCommit | Body::TxnRollback { to: None } => {
                    txns.remove(&id(&event.head.txn));
                }
                Body::Snapshot { reason, .. } => {
                    spent += tape.record(position as u32).unwrap().len();
                    let entry = tape.index.events.get(position as u32).unwrap();
                    if *reason == SnapshotReason::Budget {
                        prop_assert!(calls.is_empty() && txns.is_empty(), "{}", position);
                        let tape = entry.offset as usize;
                        prop_assert!(spent * 10 <= tape + spent, "{} of {}", spent, tape);
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!(
            events.iter().filter(|event| matches!(
                event.body,
                Body::Snapshot { reason: SnapshotReason::End, .. }
            )).count(),
            1
        );
    }
}

#[test]
fn a_file_that_changes_a_little_a_thousand_times_takes_little_and_never_a_long_way_back() {
    let mut lines: Vec<String> = (0..300).map(|n| format!("line {n}\n")).collect();
    let write = |text: &str| {
        let path = TapePath::new("a").unwrap();
        Event::new(Body::File(FileChange::write(path, text.as_bytes())))
    };
    let mut versions = Vec::new();
    for n in 0..1000 {
        lines[n * 7 % 300] = format!("line changed in version {n}, ü\n");
        versions.push(lines.concat());
    }
    let options = RecorderOptions {
        snapshots: SnapshotPolicy::Never,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::in_memory(header(), options).unwrap();
    for version in &versions {
        recorder.append(write(version)).unwrap();
    }
    let bytes = recorder.bytes();
    recorder.close(Outcome::Ok).unwrap();
    let len = bytes.len().unwrap();
    let text: usize = versions.iter().map(String::len).sum();
    assert!(len < 1_000_000, "{len} bytes for {text} of text");
    let verified = verify(bytes.clone(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.problems, []);
    assert!(verified.stats.contents.splice > 900);
    let tape = Tape::read(bytes, &mut ()).unwrap();
    // From the end, so that no version is at hand from the one before.
    for (position, version) in versions.iter().enumerate().rev().step_by(97) {
        let Body::File(change) = tape.event(position as u32 + 1).unwrap().body else {
            panic!("no file event");
        };
        let Content::Blob { hash, .. } = change.content else {
            panic!("no content");
        };
        assert_eq!(&*tape.blob(&hash).unwrap(), version.as_bytes());
    }
}
