//! The tapes that the benchmarks are run on are whole: a figure from a broken one is none.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

#[path = "../benches/speed/tapes.rs"]
mod tapes;

use jukebox::model::{Body, Content, LineHash};
use jukebox::tape::{BlobSource, Tape};

fn check(shape: tapes::Shape, scale: f64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape.jsonl");
    let written = shape.write(&path, scale, 7).unwrap();
    let tape = Tape::open(&path, &mut ()).unwrap();
    assert_eq!(tape.problems(), [], "{}", shape.name());
    assert_eq!(u64::from(tape.index.events.len()), written.events);
    assert_eq!(
        u64::from(tape.index.steps.len()),
        written.steps + written.side_steps
    );
    let main = tape.index.branches.first().unwrap();
    assert_eq!(u64::from(main.steps()), written.steps);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), written.bytes);
    check_chain(&std::fs::read(&path).unwrap());
    let mut file_events = 0;
    for position in 0..tape.index.events.len() {
        let Body::File(change) = tape.event(position).unwrap().body else {
            continue;
        };
        file_events += 1;
        if let Content::Blob { hash, len, .. } = change.content {
            assert_eq!(tape.blob(&hash).unwrap().len() as u64, len);
        }
    }
    assert_eq!(file_events, written.file_events);
}

/// Every line names the hash of the line before it.
fn check_chain(tape: &[u8]) {
    let lines: Vec<&[u8]> = tape.split(|byte| *byte == b'\n').collect();
    let (end, lines) = lines.split_last().unwrap();
    assert!(end.is_empty());
    for pair in lines.windows(2) {
        let prev = format!(r#","prev":"{}","#, LineHash::of(pair[0]));
        let line = String::from_utf8_lossy(pair[1]);
        assert!(
            line.contains(&prev) || line.contains(&prev.replace("\",", "\"}")),
            "{line}"
        );
    }
}

#[test]
fn generated_tapes_are_whole() {
    for shape in tapes::Shape::ALL {
        check(shape, 0.0005);
    }
}
