//! Tapes of format 1 open for ever: each fixture, what is on it, and what is wrong with it.
//!
//! `small` is a plain run that the recorder wrote, `full` one with an event of every kind;
//! `minimal`, `other-order` and `unknown` were written by hand. The others are `small` with
//! one damage each.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use jukebox::model::{Body, Content, Event, FileChange, Kind, Problem};
use jukebox::tape::wire::v1::{Stored, decode_event, encode_event, parse_record};
use jukebox::tape::{BlobSource as _, Tape, TapeBytes, Verified, verify};

/// Name, events, steps, problems on opening, and those that only `verify` finds: each the
/// line and the kind.
const FIXTURES: &[(&str, u32, u32, &str, &str)] = &[
    ("minimal", 4, 1, "", ""),
    ("small", 10, 3, "", ""),
    ("full", 52, 12, "", "50 recorded-gap"),
    ("other-order", 5, 2, "", ""),
    ("unknown", 5, 2, "", ""),
    ("fork", 6, 2, "2 missing-seq", ""),
    ("empty", 0, 0, "", ""),
    ("torn", 5, 2, "6 torn-tail", ""),
    (
        "nul",
        11,
        5,
        "4 nul-bytes, 7 nul-bytes",
        "5 broken-chain, 8 broken-chain",
    ),
    ("glued", 10, 3, "4 glued-records", "5 broken-chain"),
    ("invalid-utf8", 10, 3, "", "2 invalid-utf8, 3 broken-chain"),
    (
        "lone-surrogate",
        10,
        3,
        "",
        "2 lone-surrogate, 3 broken-chain",
    ),
    ("not-json", 10, 4, "5 not-json", "6 broken-chain"),
    (
        "not-an-object",
        11,
        5,
        "5 not-an-object, 6 not-an-object",
        "7 broken-chain",
    ),
    (
        "bad-field",
        10,
        3,
        "5 bad-field, 5 bad-field",
        "6 broken-chain",
    ),
    ("bad-header", 9, 3, "1 bad-header", ""),
    ("format-2", 10, 3, "1 bad-header", "2 broken-chain"),
    (
        "missing-seq",
        9,
        4,
        "5 missing-seq, 6 broken-reference",
        "5 broken-chain, 5 broken-reference",
    ),
    ("repeated-seq", 10, 3, "5 repeated-seq", ""),
    (
        "conflicting-seq",
        11,
        4,
        "5 conflicting-seq",
        "5 broken-chain, 6 broken-chain",
    ),
    (
        "reordered",
        11,
        4,
        "5 missing-seq, 6 broken-chain",
        "5 broken-chain, 6 broken-chain, 7 broken-chain",
    ),
    ("broken-chain", 10, 3, "", "3 broken-chain"),
    ("bad-hash", 10, 3, "", "4 bad-hash, 5 broken-chain"),
    ("missing-blob", 10, 3, "", "4 missing-blob, 5 broken-chain"),
    ("behind-the-head", 10, 4, "", "4 not-json, 5 broken-chain"),
    ("promise", 10, 3, "", "5 bad-field, 6 broken-chain"),
    ("wrong-step", 10, 3, "", "5 bad-field, 6 broken-chain"),
    (
        "leaked-secret",
        10,
        3,
        "",
        "2 leaked-secret, 3 broken-chain",
    ),
    ("base-differs", 4, 1, "", "3 base-differs"),
    (
        "snapshot-differs",
        6,
        1,
        "",
        "4 snapshot-differs, 4 snapshot-differs, 4 snapshot-differs, 6 missing-blob",
    ),
    (
        "broken-reference",
        10,
        6,
        "2 broken-reference",
        "3 broken-reference, 5 broken-reference, 6 broken-reference, 7 broken-reference, \
         8 broken-reference, 9 broken-reference, 10 missing-blob",
    ),
];

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tape-v1")
}

fn open(name: &str) -> Tape {
    Tape::open(&fixtures().join(format!("{name}.jsonl")), &mut ()).unwrap()
}

fn verified(name: &str) -> Verified {
    let bytes = fs::read(fixtures().join(format!("{name}.jsonl"))).unwrap();
    verify(TapeBytes::Memory(bytes.into()), &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap()
}

fn rows(problems: &[Problem]) -> Vec<String> {
    let row = |problem: &Problem| format!("{} {}", problem.line, problem.kind.as_str());
    problems.iter().map(row).collect()
}

#[test]
fn every_fixture_opens_and_tells_its_damage() {
    for (name, events, steps, on_opening, on_verifying) in FIXTURES {
        let tape = open(name);
        assert_eq!(rows(&tape.problems()).join(", "), *on_opening, "{name}");
        let verified = verified(name);
        let mut more = rows(&verified.problems);
        for row in rows(&tape.problems()) {
            let found = more.iter().position(|known| *known == row);
            more.remove(found.unwrap_or_else(|| panic!("{name}: verify does not tell {row}")));
        }
        assert_eq!(more.join(", "), *on_verifying, "{name}");
        assert_eq!(
            (verified.events, verified.steps),
            (*events, *steps),
            "{name}"
        );
        assert!(verified.is_complete);
        for position in 0..tape.index.events.len() {
            tape.event(position).unwrap();
        }
    }
}

#[test]
fn no_fixture_is_forgotten() {
    let named: BTreeSet<String> = FIXTURES
        .iter()
        .map(|fixture| format!("{}.jsonl", fixture.0))
        .collect();
    let there: BTreeSet<String> = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, named);
}

#[test]
fn what_can_be_read_of_a_damaged_tape_is_what_stood_there() {
    let whole = open("small");
    let events = |tape: &Tape| -> Vec<(u64, String)> {
        (0..tape.index.events.len())
            .filter(|position| tape.index.events.kind(*position) != Some(Kind::Gap))
            .map(|position| {
                let event = tape.event(position).unwrap();
                (event.head.seq.unwrap().0, format!("{:?}", event.body))
            })
            .collect()
    };
    let all = events(&whole);
    let check = |name: &str, lost: &[u64]| {
        let mut seen = events(&open(name));
        seen.sort();
        let expected: Vec<_> = all
            .iter()
            .filter(|event| !lost.contains(&event.0))
            .collect();
        assert_eq!(seen.iter().collect::<Vec<_>>(), expected, "{name}");
    };
    check("torn", &[5, 6, 7, 8, 9]);
    check("nul", &[3]);
    check("glued", &[]);
    check("not-json", &[4]);
    check("not-an-object", &[4]);
    check("bad-header", &[0]);
    check("missing-seq", &[4, 5]);
    check("repeated-seq", &[]);
    check("conflicting-seq", &[]);
    check("reordered", &[]);
}

#[test]
fn every_kind_is_on_the_full_tape_and_comes_back_from_its_own_line() {
    let tape = open("full");
    let mut kinds: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    kinds.remove("unknown");
    for position in 0..tape.index.events.len() {
        let event = tape.event(position).unwrap();
        kinds.remove(event.body.kind_name());
        let record = String::from_utf8(tape.record(position).unwrap()).unwrap();
        let (line, _) = parse_record(&record).unwrap();
        // The bytes of a content are fetched by hash; all else is in the event.
        let again = encode_event(&event, &Stored::Elsewhere, None);
        let again = String::from_utf8(again).unwrap();
        let (again, _) = parse_record(&again).unwrap();
        let told = decode_event(&again);
        match (&event.body, &told.body) {
            (Body::Raw { bytes, .. }, _) => assert!(!bytes.is_empty()),
            _ => assert_eq!(told, event, "{record}"),
        }
        assert_eq!(line.bad_fields, Vec::<String>::new());
        if let Body::File(FileChange {
            content: Content::Blob { hash, len, .. },
            ..
        }) = event.body
        {
            assert_eq!(tape.blob(&hash).unwrap().len() as u64, len, "{record}");
        }
    }
    assert_eq!(kinds, BTreeSet::new());
}

#[test]
fn a_tape_written_by_hand_needs_no_hashes() {
    let tape = open("other-order");
    let Body::File(change) = tape.event(3).unwrap().body else {
        panic!("no file event");
    };
    let Content::Blob { hash, .. } = change.content else {
        panic!("no content");
    };
    assert_eq!(&*tape.blob(&hash).unwrap(), "xü\n".as_bytes());
    assert_eq!(change.mode, Some(0o600));
    assert_eq!(tape.event(2).unwrap().head.call.as_deref(), Some("c1"));
}

#[test]
fn unknown_kinds_and_fields_are_kept() {
    let tape = open("unknown");
    let Event { body, extra, .. } = tape.event(1).unwrap();
    assert!(matches!(body, Body::Prompt { .. }));
    assert_eq!(extra["mood"], serde_json::json!({"is": ["odd"]}));
    assert_eq!(
        extra["exit"], 4,
        "a field of the head that a prompt does not use"
    );
    let Body::Other { kind, fields } = tape.event(2).unwrap().body else {
        panic!("a known kind");
    };
    assert_eq!(kind, "dream");
    assert_eq!(fields["of"][1]["sheep"], 2);
    assert_eq!(fields["path"], "a/b");
    assert_eq!(fields["text"], "baa");
    assert_eq!(tape.event(0).unwrap().extra["colour"], "blue");
}
