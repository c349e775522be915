//! What happens when the disk is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::model::{FileChange, TapePath};

fn recorder(on_failure: OnFailure) -> (Recorder, Arc<AtomicUsize>) {
    let room = Arc::new(AtomicUsize::new(usize::MAX));
    let sink = Sink::Full(Arc::default(), Arc::clone(&room));
    let options = RecorderOptions {
        on_failure,
        ..RecorderOptions::default()
    };
    let header = Header::default();
    let recorder =
        Recorder::begin(sink, header, serde_json::Map::new(), Clock::Still, options).unwrap();
    (recorder, room)
}

fn write(content: &[u8]) -> Event {
    let path = TapePath::new("a").unwrap();
    Event::new(Body::File(FileChange::write(path, content)))
}

#[test]
fn a_full_disk_stops_the_recorder_and_leaves_a_valid_tape() {
    let (mut recorder, room) = recorder(OnFailure::Stop);
    recorder.append(write(b"one")).unwrap();
    room.store(10, Ordering::Relaxed);
    let failed = recorder.append(write(b"two"));
    assert!(matches!(failed, Err(RecordError::Write(_))), "{failed:?}");
    room.store(usize::MAX, Ordering::Relaxed);
    let refused = recorder.append(write(b"three"));
    assert!(matches!(refused, Err(RecordError::Stopped(_))));
    let tape = Tape::read(recorder.bytes(), &mut ()).unwrap();
    assert_eq!(tape.problems(), []);
    assert_eq!(tape.index.events.len(), 2);
    assert!(matches!(
        recorder.close(Outcome::Ok),
        Err(RecordError::Stopped(_))
    ));
}

#[test]
fn what_a_full_disk_lost_is_said_where_it_was_lost_and_at_the_end() {
    let (mut recorder, room) = recorder(OnFailure::Continue);
    recorder.append(write(b"one")).unwrap();
    room.store(10, Ordering::Relaxed);
    assert_eq!(recorder.append(write(b"two")).unwrap(), Seq(2));
    assert_eq!(recorder.append(write(b"three")).unwrap(), Seq(2));
    room.store(usize::MAX, Ordering::Relaxed);
    recorder.append(write(b"four")).unwrap();
    let bytes = recorder.bytes();
    let closed = recorder.close(Outcome::Ok);
    assert!(
        matches!(closed, Err(RecordError::Lost { count: 2, .. })),
        "{closed:?}"
    );
    let tape = Tape::read(bytes, &mut ()).unwrap();
    let kinds: Vec<&str> = (0..tape.index.events.len())
        .map(|at| tape.index.events.kind(at).unwrap().as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "tape", "fs.write", "gap", "snapshot", "fs.write", "snapshot", "end"
        ]
    );
    assert_eq!(tape.problems(), []);
    match tape.event(2).unwrap().body {
        Body::Gap { why } => assert!(why.starts_with("2 events were lost: "), "{why}"),
        other => panic!("{other:?}"),
    }
    // The snapshot names what the lost event wrote: the run goes on from there.
    match tape.event(3).unwrap().body {
        Body::Snapshot { directories, .. } => {
            let text = String::from_utf8_lossy(&directories[0].1).into_owned();
            assert!(text.contains(&BlobHash::of(b"three").to_string()), "{text}");
        }
        other => panic!("{other:?}"),
    }
}
