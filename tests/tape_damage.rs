//! Whatever happens to a tape's bytes: what is readable opens, and what is lost is said.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use jukebox::model::{Body, Event, Kind, Outcome, ProblemKind};
use jukebox::tape::{
    RecordError, Recorder, RecorderOptions, SnapshotPolicy, SyncPolicy, Tape, TapeBytes, verify,
};
use proptest::prelude::*;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("tests/fixtures/tape-v1/{name}.jsonl");
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn open(bytes: &[u8]) -> Tape {
    Tape::read(TapeBytes::Memory(bytes.into()), &mut ()).unwrap()
}

/// Reads everything there is to read, as `verify`, a screen and a search would.
fn read_all(bytes: &[u8]) -> Tape {
    let tape = open(bytes);
    for position in 0..tape.index.events.len() {
        tape.event(position).unwrap();
    }
    let bytes = TapeBytes::Memory(bytes.into());
    verify(bytes, &mut |_| ControlFlow::Continue(())).unwrap();
    tape
}

#[test]
fn a_tape_cut_at_any_byte_opens_as_far_as_its_last_whole_line() {
    let whole = fixture("full");
    for cut in 0..=whole.len() {
        let (kept, _) = whole.split_at(cut);
        let tape = open(kept);
        let lines = memchr::memchr_iter(b'\n', kept).count();
        let torn = kept.len()
            - kept
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
        assert_eq!(tape.index.events.len() as usize, lines, "cut at {cut}");
        assert_eq!(tape.end.torn as usize, torn, "cut at {cut}");
        let kinds: Vec<ProblemKind> = tape.problems().iter().map(|problem| problem.kind).collect();
        let expected: &[ProblemKind] = if torn > 0 {
            &[ProblemKind::TornTail]
        } else {
            &[]
        };
        assert_eq!(kinds, expected, "cut at {cut}");
        if cut % 101 == 0 {
            read_all(kept);
        }
    }
}

/// A tape as it is followed: opened early, and extended by what comes.
#[test]
fn a_tape_that_grows_in_any_portions_ends_as_one_that_was_there_whole() {
    let whole = fixture("full");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("growing.jsonl");
    for portion in [1, 7, 100, 1000] {
        fs::write(&path, b"").unwrap();
        let mut tape = Tape::open(&path, &mut ()).unwrap();
        let mut came = 0;
        for part in whole.chunks(portion) {
            use std::io::Write as _;
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(part).unwrap();
            came += tape.extend(&mut ()).unwrap();
        }
        assert_eq!(came, 52);
        assert_eq!(tape.problems(), []);
        assert_eq!(tape.index.steps.len(), open(&whole).index.steps.len());
    }
}

fn resume(path: &Path) -> Result<Recorder, RecordError> {
    let options = RecorderOptions {
        sync: SyncPolicy::None,
        snapshots: SnapshotPolicy::Never,
        ..RecorderOptions::default()
    };
    Recorder::resume(path, options)
}

/// What a crash leaves, at whatever byte it struck: the next recorder goes on, sets what was
/// cut aside, and says so.
#[test]
fn recording_goes_on_after_a_cut_at_any_byte() {
    let whole = fixture("small");
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // What is set aside is synced each time, and that is slow on a busy disk.
    for cut in (0..whole.len())
        .step_by(29)
        .chain(whole.len() - 3..=whole.len())
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tape.jsonl");
        let (kept, _) = whole.split_at(cut);
        fs::write(&path, kept).unwrap();
        let resumed = resume(&path);
        if cut < header {
            assert!(matches!(resumed, Err(RecordError::NotATape(_))), "{cut}");
            assert_eq!(fs::read(&path).unwrap(), kept, "nothing was written");
            continue;
        }
        let mut recorder = resumed.unwrap();
        let text = "it goes on".to_owned();
        recorder.append(Event::new(Body::Note { text })).unwrap();
        drop(recorder);
        let lines = memchr::memchr_iter(b'\n', kept).count() as u32;
        let tape = Tape::open(&path, &mut ()).unwrap();
        assert_eq!(tape.problems(), [], "{cut}");
        let end = kept.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let (_, torn) = kept.split_at(end);
        let aside = directory.path().join(format!("tape.jsonl.torn-{end}"));
        if torn.is_empty() {
            assert!(!aside.exists());
            assert_eq!(tape.index.events.len(), lines + 1);
        } else {
            assert_eq!(fs::read(aside).unwrap(), torn);
            assert_eq!(tape.index.events.len(), lines + 2);
            assert_eq!(tape.index.events.kind(lines), Some(Kind::Gap));
        }
        let bytes = TapeBytes::Memory(fs::read(&path).unwrap().into());
        let verified = verify(bytes, &mut |_| ControlFlow::Continue(())).unwrap();
        let others = |kind: ProblemKind| kind != ProblemKind::RecordedGap;
        assert!(
            !verified.problems.iter().any(|problem| others(problem.kind)),
            "{cut}"
        );
    }
}

#[test]
fn what_is_no_tape_is_not_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    assert!(matches!(resume(&path), Err(RecordError::Open { .. })));
    assert!(matches!(
        resume(directory.path()),
        Err(RecordError::Open { .. })
    ));
    for bytes in ["", "\n", "hello\n", "{\"seq\":0}\n", "\u{0}\u{1}"] {
        fs::write(&path, bytes).unwrap();
        assert!(
            matches!(resume(&path), Err(RecordError::NotATape(_))),
            "{bytes:?}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes.as_bytes());
    }
}

/// A small file system of its own runs full under a recorder. Needs the right to mount.
#[test]
fn a_disk_that_is_really_full_leaves_a_valid_tape() {
    let directory = tempfile::tempdir().unwrap();
    let mount = |program: &str, args: &[&str]| {
        let status = std::process::Command::new(program)
            .args(args)
            .arg(directory.path())
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        eprintln!("skipped: no right to mount a file system here");
        return;
    }
    let path = directory.path().join("tape.jsonl");
    let mut recorder = Recorder::create(
        &path,
        jukebox::model::Header::default(),
        RecorderOptions::default(),
    )
    .unwrap();
    let text = "x".repeat(3000);
    let failed = (0..100).find_map(|_| {
        let note = Event::new(Body::Note { text: text.clone() });
        recorder.append(note).err()
    });
    drop(recorder);
    let tape = Tape::open(&path, &mut ()).unwrap();
    let (events, problems) = (tape.index.events.len(), tape.problems());
    drop(tape);
    assert!(mount("umount", &[]));
    assert!(matches!(failed, Some(RecordError::Write(_))), "{failed:?}");
    assert_eq!(problems, []);
    assert!((10..30).contains(&events), "{events}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_bytes_open(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        read_all(&bytes);
    }

    /// Pieces of lines in any order: what a fuzzer would find after a long while.
    #[test]
    fn random_pieces_of_tapes_open(
        pieces in prop::collection::vec((0..12_000usize, 1..900usize, any::<bool>()), 0..12)
    ) {
        let whole = fixture("full");
        let mut bytes = Vec::new();
        for (start, len, ends) in pieces {
            bytes.extend(whole.iter().skip(start).take(len));
            if ends {
                bytes.push(b'\n');
            }
        }
        read_all(&bytes);
    }

    /// One line is damaged in any way that keeps it one line; every other event is read.
    #[test]
    fn damage_costs_one_line_at_most(
        line in 0..10usize,
        at in 0.0..1.0f64,
        del in 0..40usize,
        ins in prop::collection::vec(any::<u8>().prop_filter("a newline", |b| *b != b'\n'), 0..40),
    ) {
        let whole = fixture("small");
        let mut lines: Vec<Vec<u8>> = whole
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let all = open(&whole);
        let damaged = &mut lines[line];
        let end = damaged.len() - 1;
        let from = (at * end as f64) as usize;
        damaged.splice(from..(from + del).min(end), ins);
        let bytes = lines.concat();
        let tape = read_all(&bytes);
        for position in (0..10).filter(|position| *position != line as u32) {
            let expected = all.event(position).unwrap();
            // The damaged line may have become an event with this number: the first counts.
            let has_it = (0..tape.index.events.len())
                .any(|at| tape.event(at).unwrap() == expected);
            let is_taken = lines[line]
                .windows(8)
                .any(|window| window.starts_with(format!("\"seq\":{position}").as_bytes()));
            prop_assert!(has_it || is_taken, "event {} is lost", position);
        }
    }
}

#[test]
fn closing_says_how_the_run_ended() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape.jsonl");
    fs::write(&path, fixture("small")).unwrap();
    resume(&path).unwrap().close(Outcome::Interrupted).unwrap();
    let tape = Tape::open(&path, &mut ()).unwrap();
    let end = tape.event(tape.index.events.len() - 1).unwrap();
    assert_eq!(
        end.body,
        Body::End {
            outcome: Outcome::Interrupted
        }
    );
}
