//! An index that grew in slices is the one that is built at once, wherever the bytes are cut;
//! a run that is shown before it was read is the same in the end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/told.rs"]
mod told;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, RwLock};

use jukebox::debugger::{Debugger, Expanded, OpenOptions, Places, Refresh, Source};
use jukebox::model::{Place, Problem};
use jukebox::state::State;
use jukebox::tape::{Block, Tape, TapeBytes};
use proptest::prelude::*;
use serde_json::json;
use told::told;

fn whole(bytes: &[u8]) -> (Vec<String>, Vec<Problem>) {
    let mut state = State::default();
    let tape = Tape::read(TapeBytes::Memory(bytes.into()), &mut state).unwrap();
    (told(&tape, &state), tape.problems())
}

fn in_slices(
    bytes: &[u8],
    cuts: &[usize],
    block_of: impl Fn(Vec<u8>) -> Block,
) -> (Vec<String>, Vec<Problem>) {
    let mut state = State::default();
    let mut tape = Tape::unread(TapeBytes::Memory(bytes.into()));
    let (mut growth, _) = tape.grow().unwrap();
    for slice in slices(bytes, cuts) {
        let block = block_of(slice.to_vec());
        assert!(tape.take(&mut growth, &block, &mut state).is_continue());
        assert_eq!(tape.problem_count(), tape.problems().len());
    }
    tape.settle(growth, &mut state);
    (told(&tape, &state), tape.problems())
}

/// As the thread does it that reads a large tape.
fn with_heads(bytes: Vec<u8>) -> Block {
    Block::from(bytes).with_heads()
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
                let expected = whole(&bytes);
                let sliced = in_slices(&bytes, cuts, Block::from);
                assert_eq!(sliced, expected, "{} {cuts:?}", path.display());
                let found = in_slices(&bytes, cuts, with_heads);
                assert_eq!(found, expected, "with heads, {} {cuts:?}", path.display());
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
        assert_eq!(
            in_slices(&bytes, &[cut], Block::from),
            expected,
            "cut at {cut}"
        );
        let found = in_slices(&bytes, &[cut], with_heads);
        assert_eq!(found, expected, "with heads, cut at {cut}");
        assert_eq!(followed(&bytes, &[cut]), expected, "followed from {cut}");
    }
}

/// Short lines in some blocks of a file; now and then one that is long, cut, glued or empty.
fn many_lines() -> Vec<u8> {
    let mut lines = b"{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"x\"}\n".to_vec();
    for seq in 1..7000_u32 {
        let words = "long ".repeat(if seq % 1501 == 0 { 60_000 } else { 1 });
        let prev = format!("{seq:032x}");
        let line = format!(
            "{{\"seq\":{seq},\"t\":{seq}0,\"kind\":\"tool.call\",\"call\":\"c{seq}\",\"title\":\"\\\"a\\\"\",\"prev\":\"{prev}\",\"args\":\"{words}\"}}"
        );
        let whole = match seq % 997 {
            1 => line.split_at(line.len() / 2).0,
            _ => &line,
        };
        lines.extend(whole.as_bytes());
        let between = match seq % 499 {
            2 => "",
            3 => "\n\n",
            _ => "\n",
        };
        lines.extend(between.as_bytes());
    }
    lines
}

#[test]
fn a_large_file_that_is_read_by_a_thread_is_the_tape_that_lies_in_memory() {
    let bytes = many_lines();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let mut state = State::default();
    let tape = Tape::read(TapeBytes::File(Arc::new(file)), &mut state).unwrap();
    let expected = whole(&bytes);
    assert!(expected.1.len() > 20, "{} problems", expected.1.len());
    assert_eq!((told(&tape, &state), tape.problems()), expected);
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

/// All that the screen would show of a run.
fn shown(run: &Debugger) -> String {
    let mut summary = run.summary();
    // Of a transcript, the end has the time at which it was imported.
    summary.duration = 0;
    let steps = summary.branches.first().unwrap().steps;
    let middle = steps / 2;
    let rows = run.timeline(0, middle..middle + 9);
    let spot = run.locate(&Place::END).unwrap();
    let tree = run.tree(spot.cursor, spot.cursor, &Expanded::All);
    let (header, problems) = (run.header(), run.problems());
    format!("{summary:?}\n{rows:?}\n{spot:?}\n{tree:?}\n{header:?}\n{problems:?}")
}

/// Begins to open a run, and reads the rest; how many steps there were at first.
fn begun(source: &Path, options: &OpenOptions) -> (Debugger, u32) {
    let source = Source::Path(source.to_owned());
    let (mut run, rest) = Debugger::begin(source, options).unwrap();
    let mut rest = rest.unwrap();
    assert!(!run.is_whole());
    let first = run.summary().branches[0].steps;
    assert_eq!(run.problems(), [], "what is still to come is no problem");
    assert!(run.refresh().is_ok_and(|found| found == Refresh::Unchanged));
    let mut percent = 0;
    while let Some(slice) = rest.next_slice().unwrap() {
        run.take_in(&mut rest, slice);
        assert!(percent <= rest.progress().percent());
        percent = rest.progress().percent();
    }
    run.finish(rest);
    assert!(run.is_whole());
    (run, first)
}

#[test]
fn a_large_tape_is_there_before_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    let words = "word ".repeat(200);
    let mut tape = String::from("{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"x\"}\n");
    for seq in 1..12_000 {
        let line = json!({"seq": seq, "kind": "prompt", "text": format!("{seq} {words}")});
        tape += &line.to_string();
        tape.push('\n');
    }
    fs::write(&path, tape).unwrap();
    let options = OpenOptions::default();
    let (run, first) = begun(&path, &options);
    assert!((1000..12_000).contains(&first), "{first}");
    let whole = Debugger::open(Source::Path(path), &options).unwrap();
    assert_eq!(shown(&run), shown(&whole));
}

/// A transcript of so many prompts and answers, with a line in the middle that is cut.
fn transcript(turns: usize) -> String {
    let record = |number: usize, kind: &str, message: serde_json::Value| {
        let parent = number.checked_sub(1).map(|parent| format!("u{parent}"));
        json!({"parentUuid": parent, "uuid": format!("u{number}"), "type": kind,
            "sessionId": "s", "cwd": "/w", "version": "2.1.0",
            "timestamp": "2026-01-01T10:00:01.000Z", "message": message})
        .to_string()
    };
    let mut lines = Vec::new();
    for turn in 0..turns {
        let words = format!("{turn} {}", "word ".repeat(100));
        let prompt = json!({"role": "user", "content": words});
        lines.push(record(2 * turn, "user", prompt));
        let answer = json!({"role": "assistant", "id": format!("m{turn}"), "model": "m",
            "content": [{"type": "text", "text": words}]});
        lines.push(record(2 * turn + 1, "assistant", answer));
        if turn == turns / 2 {
            lines.push("{\"type\":\"user\",\"mess".to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_large_transcript_is_there_before_it_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    fs::write(&path, transcript(4000)).unwrap();
    let imports = |name: &str| OpenOptions {
        places: Places {
            imports: Some(directory.path().join(name)),
            ..Places::default()
        },
        ..OpenOptions::default()
    };
    let (run, first) = begun(&path, &imports("begun"));
    assert!((1..7000).contains(&first), "{first}");
    let whole = Debugger::open(Source::Path(path.clone()), &imports("whole")).unwrap();
    assert_eq!(shown(&run), shown(&whole));
    assert_eq!(run.problems().len(), 1);
    let kept = |name: &str| -> Vec<_> {
        let entries = fs::read_dir(directory.path().join(name)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let tapes = [kept("begun"), kept("whole")];
    let [begun, whole] = tapes.map(|tapes| {
        assert_eq!(tapes.len(), 1, "{tapes:?}");
        let bytes = fs::read(&tapes[0]).unwrap();
        let lines: Vec<_> = bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        lines
    });
    assert_eq!(begun.len(), whole.len());
    assert!(
        begun[..8000] == whole[..8000],
        "the tapes that were kept differ"
    );
    // The next time it is there, and large enough to be read behind its first rows or not.
    let (run, _) = Debugger::begin(Source::Path(path.clone()), &imports("begun")).unwrap();
    assert!(run.summary().branches[0].steps > first);

    // Who looks no further leaves nothing behind.
    let source = Source::Path(path);
    let (_, rest) = Debugger::begin(source, &imports("dropped")).unwrap();
    drop(rest.unwrap());
    assert_eq!(kept("dropped"), Vec::<std::path::PathBuf>::new());
}
