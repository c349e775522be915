//! What the recorder writes is what a reader reads.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use jukebox::model::{
    Body, Content, Event, FileChange, FileOp, Header, Kind, Outcome, Seq, SnapshotReason, TapePath,
};
use jukebox::tape::{BlobSource as _, RecordError, Recorder, RecorderOptions, SyncPolicy, Tape};
use serde_json::Value;

fn path(path: &str) -> TapePath {
    TapePath::new(path).unwrap()
}

fn write(to: &str, bytes: &[u8]) -> Event {
    Event::new(Body::File(FileChange::write(path(to), bytes)))
}

fn prompt(text: &str) -> Event {
    Event::new(Body::Prompt {
        role: "user".to_owned(),
        text: text.to_owned(),
        attachments: Vec::new(),
    })
}

fn call(id: &str) -> Event {
    Event::new(Body::ToolCall {
        name: "edit".to_owned(),
        arguments: Value::Null,
    })
    .in_call(id)
}

fn result(id: &str) -> Event {
    Event::new(Body::ToolResult {
        outcome: Outcome::Ok,
        exit: None,
        output: "done".to_owned(),
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    })
    .in_call(id)
}

/// The events of a tape that has no problem.
fn read(path: &std::path::Path) -> (Tape, Vec<Event>) {
    let tape = Tape::open(path, &mut ()).unwrap();
    assert_eq!(tape.problems(), []);
    let events = (0..tape.index.events.len())
        .map(|position| tape.event(position).unwrap())
        .collect();
    (tape, events)
}

#[test]
fn a_run_is_read_back_with_its_numbers_steps_and_contents() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    let mut recorder =
        Recorder::create(&file, Header::default(), RecorderOptions::default()).unwrap();
    let text: String = (0..400).fold(String::new(), |text, line| format!("{text}line {line}\n"));
    let changed = text.replace("line 200\n", "line two hundred, ü\n");
    let noise: Vec<u8> = (0..20_000u32).map(|n| ((n * n) >> 3) as u8).collect();
    recorder.append(write("seen.txt", b"before")).unwrap();
    recorder.append(prompt("Do it.")).unwrap();
    recorder.append(call("c1")).unwrap();
    for content in [text.as_bytes(), changed.as_bytes(), text.as_bytes()] {
        recorder
            .append(write("a/b.txt", content).in_call("c1"))
            .unwrap();
    }
    recorder
        .append(write("noise", &noise).in_call("c1"))
        .unwrap();
    recorder.append(result("c1")).unwrap();
    recorder.close(Outcome::Ok).unwrap();

    let (tape, events) = read(&file);
    let kinds: Vec<Kind> = events.iter().map(Event::kind).collect();

    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(
        names.join(" "),
        "tape fs.write snapshot prompt tool.call fs.write fs.write fs.write fs.write tool.result \
         snapshot end"
    );
    for (position, event) in events.iter().enumerate() {
        assert_eq!(event.head.seq, Some(Seq(position as u64)));
        let step = tape.index.events.get(position as u32).unwrap().step;
        let number = step.and_then(|step| tape.index.number_of(step));
        assert_eq!(event.head.step, number.map(|number| number.0), "{event:?}");
    }
    let contents = [5, 6, 7, 8].map(|position: usize| match &events[position].body {
        Body::File(FileChange {
            content: Content::Blob { hash, .. },
            ..
        }) => tape.blob(hash).unwrap().to_vec(),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        contents,
        [text.as_bytes(), changed.as_bytes(), text.as_bytes(), &noise]
    );
    let lengths: Vec<usize> = (5..9).map(|at| tape.record(at).unwrap().len()).collect();
    assert!(lengths[1] < 700, "the second is a splice: {lengths:?}");
    assert!(
        lengths[2] < 500,
        "the third is on the tape already: {lengths:?}"
    );
    let was = |position: usize| match &events[position].body {
        Body::File(change) => change.was,
        other => panic!("{other:?}"),
    };
    assert_eq!(was(5), None);
    assert_eq!(
        was(6),
        was(7).map(|_| match &events[5].body {
            Body::File(FileChange {
                content: Content::Blob { hash, .. },
                ..
            }) => *hash,
            other => panic!("{other:?}"),
        })
    );
}

#[test]
fn a_file_is_never_written_over_and_a_tape_has_one_writer() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    let options = RecorderOptions {
        sync: SyncPolicy::None,
        ..RecorderOptions::default()
    };
    let recorder = Recorder::create(&file, Header::default(), options.clone()).unwrap();
    let again = Recorder::create(&file, Header::default(), options.clone());
    assert!(matches!(again, Err(RecordError::Exists(_))), "{again:?}");
    let other = Recorder::resume(&file, options.clone())
        .unwrap_err()
        .to_string();
    let me = format!("process {}", std::process::id());
    assert!(
        other.contains(&me) || other.contains("another process"),
        "{other}"
    );
    drop(recorder);
    Recorder::resume(&file, options)
        .unwrap()
        .close(Outcome::Ok)
        .unwrap();
    read(&file);
}

#[test]
fn a_torn_tail_is_set_aside_and_said() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    let options = RecorderOptions::default();
    let mut recorder = Recorder::create(&file, Header::default(), options.clone()).unwrap();
    recorder.append(write("a", b"one")).unwrap();
    drop(recorder);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, [&whole[..], b"{\"seq\":2,\"t\""].concat()).unwrap();
    let mut recorder = Recorder::resume(&file, options).unwrap();
    assert!(
        matches!(recorder.snapshot(SnapshotReason::Asked), Ok(Seq(3))),
        "the gap has the number of the torn event"
    );
    recorder
        .append(Event::new(Body::File(FileChange::new(
            FileOp::Remove,
            path("a"),
        ))))
        .unwrap();
    recorder.close(Outcome::Ok).unwrap();
    let tape = Tape::open(&file, &mut ()).unwrap();
    assert_eq!(tape.index.events.kind(2), Some(Kind::Gap));
    let aside = directory
        .path()
        .join(format!("run.jsonl.torn-{}", whole.len()));
    assert_eq!(std::fs::read(aside).unwrap(), b"{\"seq\":2,\"t\"");
}
