//! An index that grew in slices is the one that is built at once, wherever the bytes are cut.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, RwLock};

use jukebox::model::{Cursor, Problem};
use jukebox::state::State;
use jukebox::tape::{Tape, TapeBytes};
use proptest::prelude::*;

/// All that can be asked of a tape and its files, as text to compare.
fn told(tape: &Tape, state: &State) -> Vec<String> {
    let index = &tape.index;
    let mut told = Vec::new();
    for position in 0..index.events.len() {
        told.push(format!("{:?}", index.events.get(position)));
    }
    for step in 0..index.steps.len() {
        let number = index.number_of(step);
        told.push(format!("{:?} {number:?}", index.steps.get(step)));
    }
    told.push(format!("{:?}", index.branches));
    told.push(format!("{:?}", index.agents));
    told.push(format!("{:?} {:?}", index.transactions, index.snapshots));
    told.push(format!("{} {:?}", index.current_line, tape.end));
    let end = index.events.len();
    let branches = 0..index.branches.len();
    for (branch, position) in branches.flat_map(|branch| [(branch, end / 2), (branch, end)]) {
        let branch = branch as u16;
        let at = Cursor { position, branch };
        state.walk(&index.blobs, at, &mut |child| {
            let path = state.paths.path(child.path);
            told.push(format!("{at:?} {path:?} {:?}", child.state));
        });
    }
    told
}

fn whole(bytes: &[u8]) -> (Vec<String>, Vec<Problem>) {
    let mut state = State::default();
    let tape = Tape::read(TapeBytes::Memory(bytes.into()), &mut state).unwrap();
    (told(&tape, &state), tape.problems())
}

fn in_slices(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<Problem>) {
    let mut state = State::default();
    let mut tape = Tape::unread(TapeBytes::Memory(bytes.into()));
    let (mut growth, _) = tape.grow().unwrap();
    for slice in slices(bytes, cuts) {
        assert!(tape.take(&mut growth, slice, &mut state).is_continue());
    }
    tape.settle(growth, &mut state);
    (told(&tape, &state), tape.problems())
}

fn followed(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Vec<Problem>) {
    let written = Arc::new(RwLock::new(Vec::new()));
    let mut state = State::default();
    let mut tape = Tape::read(TapeBytes::Growing(Arc::clone(&written)), &mut state).unwrap();
    for slice in slices(bytes, cuts) {
        written.write().unwrap().extend_from_slice(slice);
        tape.extend(&mut state).unwrap();
    }
    (told(&tape, &state), tape.problems())
}

/// The parts between the cuts, which are given in thousandths of the whole.
fn slices<'a>(bytes: &'a [u8], cuts: &[usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut * bytes.len() / 1000).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut from = 0;
    ends.into_iter().map(move |end| {
        let slice = &bytes[from..end];
        from = end;
        slice
    })
}

/// Every tape that is kept for the tests, and what it is when it is read at once.
fn check(cuts: &[usize]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for folder in ["tests/fixtures/tape-v1", "demo-tapes"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "jsonl") {
                let bytes = fs::read(&path).unwrap();
                let sliced = in_slices(&bytes, cuts);
                assert_eq!(sliced, whole(&bytes), "{} {cuts:?}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 30, "the fixtures are gone");
}

/// Lines so long that their heads are told before their ends were seen.
fn long_lines() -> Vec<u8> {
    let header = "{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"x\"}\n".to_owned();
    let words = "long ".repeat(20_000);
    let line = |seq| format!("{{\"seq\":{seq},\"kind\":\"prompt\",\"text\":\"{words}\"}}\n");
    let tape = header + &line(1) + &line(2) + &line(3);
    tape.into_bytes()
}

#[test]
fn a_tape_that_comes_in_a_thousand_slices_is_the_same() {
    check(&(0..1000).collect::<Vec<_>>());
}

#[test]
fn a_line_that_is_told_by_its_head_stands_once() {
    let bytes = long_lines();
    let expected = whole(&bytes);
    assert_eq!(expected.1, []);
    for cut in (0..1000).step_by(37) {
        assert_eq!(in_slices(&bytes, &[cut]), expected, "cut at {cut}");
        assert_eq!(followed(&bytes, &[cut]), expected, "followed from {cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_the_bytes_are_cut_the_index_is_the_same(
        cuts in prop::collection::vec(0..1000_usize, 0..12),
    ) {
        check(&cuts);
    }
}
