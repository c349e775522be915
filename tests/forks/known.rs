//! What is known of a fork by the index of its parent is what its lines say: whatever the
//! parent holds, wherever the fork leaves it, and however it goes on.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use jukebox::model::{Header, Seq};
use jukebox::state::State;
use jukebox::tape::{Shared, Tape, TapeBytes, build};
use proptest::prelude::*;
use serde_json::json;

use crate::runs::any_run;
use crate::told::told;
use crate::{hand_made, memory, tape};

/// A tape that was read, with its files.
fn read(bytes: TapeBytes) -> (Tape, State) {
    let mut state = State::default();
    let tape = Tape::read(bytes, &mut state).unwrap();
    (tape, state)
}

/// A fork that is known by its parent, how many of its events were, and its bytes.
fn known(parent: &(Tape, State), seq: u64, own: &[u8]) -> Option<((Tape, State), u32, TapeBytes)> {
    let (parent, files) = parent;
    let shared = Shared::of(parent, "parent", Seq(seq)).unwrap()?;
    let bytes = shared.before(&memory(own)).unwrap();
    let mut tape = parent.known_fork(&shared, bytes.clone()).unwrap();
    let known = tape.index.events.len();
    let mut state = files.cut(&tape.index);
    tape.extend(&mut state).unwrap();
    Some(((tape, state), known, bytes))
}

/// Forks the parent behind this event, with these lines of its own, and forks that fork again;
/// how many events of the first one were known.
#[track_caller]
fn check(parent: &(Tape, State), seq: u64, own: &[u8]) -> u32 {
    let Some((fork, count, bytes)) = known(parent, seq, own) else {
        return 0;
    };
    let fresh = read(bytes);
    assert_same(&fork, &fresh, &format!("behind {seq}, {count} known"));
    // A fork of it, as far as it is known by what was known of it.
    let last = fork.0.index.events.len() / 2;
    let child = hand_made(fork.0.index.events.seq(last).0, &["no JSON"]);
    let seq = fork.0.index.events.seq(last).0;
    if let Some((child, count, bytes)) = known(&fork, seq, &child) {
        let what = format!("a fork behind {seq} of one, {count} known");
        assert_same(&child, &read(bytes), &what);
    }
    count
}

#[track_caller]
fn assert_same(found: &(Tape, State), expected: &(Tape, State), what: &str) {
    let (one, other) = (told(&found.0, &found.1), told(&expected.0, &expected.1));
    let differing = one.iter().zip(&other).find(|(one, other)| one != other);
    assert!(one == other, "{what}: {differing:#?}");
    assert_eq!(found.0.problems(), expected.0.problems(), "{what}");
}

/// Lines of every sort, of few branches, agents, transactions, calls and paths, a seq before
/// each of them.
fn any_lines() -> impl Strategy<Value = Vec<String>> {
    let small = 0..4_u32;
    let line = (0..46_u8, small.clone(), small.clone(), small, any::<u8>());
    prop::collection::vec(line, 1..70).prop_map(|lines| {
        let mut all = Vec::new();
        let mut calls = 0;
        for (sort, one, two, three, byte) in lines {
            let call = match byte % 8 {
                0 => format!("c{one}"),
                1 => format!("c{}", calls / 2),
                2 => format!("z{one}"),
                _ => format!("c{calls}"),
            };
            let path = ["a", "b/c", "b/d/e", "b"][two as usize];
            let body = match sort {
                // Now and then an id is used again.
                0 if byte < 64 => format!(r#""kind":"tool.call","call":"c{one}","name":"t""#),
                0..=5 => {
                    calls += 1;
                    format!(r#""kind":"tool.call","call":"c{calls}","name":"t""#)
                }
                6..=11 => format!(r#""kind":"tool.result","call":"{call}","exit":{}"#, one % 2),
                12 => {
                    calls += 1;
                    format!(r#""kind":"model.request","call":"c{calls}""#)
                }
                13 => r#""kind":"model.request""#.to_owned(),
                14..=15 => r#""kind":"model.response","outcome":"ok""#.to_owned(),
                16 => format!(r#""kind":"model.response","call":"{call}","via":"live""#),
                17..=18 => r#""kind":"prompt","text":"p""#.to_owned(),
                19..=23 => {
                    let text = byte % 4;
                    format!(r#""kind":"fs.write","path":"{path}","call":"{call}","text":"{text}""#)
                }
                24 => format!(r#""kind":"fs.remove","path":"{path}","call":"{call}""#),
                25 => format!(r#""kind":"fs.rename","path":"m{one}","from":"{path}""#),
                26 => format!(r#""kind":"fs.observe","path":"{path}","call":"{call}","text":"x""#),
                27 => format!(r#""kind":"fs.suspect","path":"{path}""#),
                28 => format!(r#""kind":"fs.write","path":"{path}","by":"outside","text":"o""#),
                29 => format!(r#""kind":"blob","text":"{byte}""#),
                30 => format!(r#""kind":"branch","branch":"l{one}","at":{}"#, byte % 16),
                31 => format!(r#""kind":"agent.start","agent":"g{one}","call":"{call}""#),
                32 => format!(r#""kind":"txn.begin","txn":"x{one}""#),
                33 => format!(r#""kind":"txn.savepoint","txn":"x{one}","name":"s""#),
                34 => format!(r#""kind":"txn.commit","txn":"x{one}""#),
                35 => format!(r#""kind":"txn.rollback","txn":"x{one}","to":"s""#),
                36 => r#""kind":"note","text":"n""#.to_owned(),
                37 => r#""kind":"fs.suspect""#.to_owned(),
                38 => r#""kind":"end""#.to_owned(),
                // A content that is named, and stands elsewhere or nowhere.
                39 => {
                    let hash = blake3::hash((byte % 4).to_string().as_bytes());
                    format!(r#""kind":"fs.write","path":"{path}","blob":"b3:{hash}""#)
                }
                40 => {
                    let held = blake3::hash((byte % 4).to_string().as_bytes());
                    let root = format!("[\"a\",\"file\",\"644\",\"b3:{held}\",1]\n");
                    let hash = blake3::hash(root.as_bytes());
                    let dirs = json!({format!("b3:{hash}"): root});
                    format!(
                        r#""kind":"snapshot","reason":"budget","blob":"b3:{hash}","dirs":{dirs}"#
                    )
                }
                _ => "DAMAGE".to_owned(),
            };
            let mut line = body;
            let mut add = |name: &str, value: String| {
                let field = format!(r#""{name}":"#);
                if !line.contains(&field) {
                    let _ = write!(line, r#",{field}"{value}""#);
                }
            };
            if three == 1 && byte.is_multiple_of(3) {
                add("branch", format!("l{one}"));
            }
            if three == 2 && byte.is_multiple_of(2) {
                add("agent", format!("g{one}"));
            }
            if three == 3 && byte.is_multiple_of(3) {
                add("txn", format!("x{one}"));
            }
            all.push(line);
        }
        all
    })
}

/// These lines with numbers from `first` on, and some damage in between.
fn numbered(lines: &[String], first: u64, is_damaged: bool) -> Vec<String> {
    let mut seq = first;
    let mut all = Vec::new();
    for line in lines {
        if line.starts_with("DAMAGE") {
            if is_damaged {
                match seq % 4 {
                    0 => seq += 2,
                    1 => all.push("no JSON".to_owned()),
                    2 => all.push(String::new()),
                    _ => all.push(format!(r#"{{"seq":{},"kind":"note"}}"#, seq - 1)),
                }
            }
            continue;
        }
        all.push(format!(r#"{{"seq":{seq},"t":{},{line}}}"#, seq * 10));
        seq += 1;
    }
    all
}

fn texts(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_the_lines_say(
        lines in any_lines(),
        own in any_lines(),
        is_damaged in prop::bool::weighted(0.3),
        seqs in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let lines = numbered(&lines, 1, is_damaged);
        let parent = read(memory(&tape("p", &texts(&lines))));
        for seq in seqs {
            let seq = seq.index(lines.len() + 1) as u64;
            let own = numbered(&own, seq + 1, is_damaged);
            check(&parent, seq, &hand_made(seq, &texts(&own)));
        }
    }

    #[test]
    fn whatever_a_recorder_wrote(
        run in any_run(),
        own in any_lines(),
        seqs in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let header = Header { id: "p".to_owned(), ..Header::default() };
        let parent = read(memory(&build(header, run).unwrap()));
        for seq in seqs {
            let seq = seq.index(parent.0.index.events.len() as usize) as u64;
            let own = numbered(&own, seq + 1, false);
            check(&parent, seq, &hand_made(seq, &texts(&own)));
        }
    }
}

#[test]
fn whatever_the_tapes_of_the_project_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut asked, mut known) = (0, 0);
    for directory in ["demo-tapes", "tests/fixtures/tape-v1"] {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            let parent = read(memory(&fs::read(path).unwrap()));
            let events = parent.0.index.events.len();
            for position in (0..events).step_by(1 + events as usize / 6) {
                let seq = parent.0.index.events.seq(position).0;
                let number = seq + 1;
                let line = format!(r#"{{"seq":{number},"kind":"prompt","text":"else"}}"#);
                let count = check(&parent, seq, &hand_made(seq, &[&line]));
                asked += position;
                known += count;
            }
        }
    }
    // Most of what is shared is not read again.
    assert!(known * 2 > asked, "{known} of {asked}");
}
