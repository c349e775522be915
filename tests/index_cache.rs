//! A run answers from the index cache as it answers from its tape: whatever the tape holds,
//! however it grew since, and whatever became of the cache.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "index_cache/answers.rs"]
mod answers;
#[path = "../benches/speed/tapes.rs"]
mod tapes;

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use answers::answers;
use jukebox::debugger::{Debugger, IndexCache, OpenOptions, Places, Refresh, Source};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_mins(1);

/// A tape in a directory of its own, with a cache beside it that keeps all tapes.
struct World {
    directory: TempDir,
    cache: IndexCache,
}

impl World {
    fn with(tape: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cache = IndexCache::new(directory.path().join("cache"), "a build").for_tapes_from(1);
        let world = Self { directory, cache };
        fs::write(world.tape(), tape).unwrap();
        world
    }

    fn tape(&self) -> PathBuf {
        self.directory.path().join("run.jsonl")
    }

    fn cached(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    /// The files of the cache: what is not whole yet is none of them.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cached()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The one file of the cache.
    fn file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// Opens the run, and waits until all is kept.
    fn open(&self) -> Debugger {
        let run = open(&self.tape(), Some(self.cache.clone())).unwrap();
        self.cache.finish(PATIENCE);
        run
    }

    /// Opens the run, which has to be in the cache.
    fn reopen(&self) -> Debugger {
        let file = self.file();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        File::open(&file).unwrap().set_modified(long_ago).unwrap();
        let before = fs::metadata(&file).unwrap().ino();
        let run = self.open();
        let after = fs::metadata(self.file()).unwrap();
        assert_eq!(after.ino(), before, "it was kept again");
        assert!(after.modified().unwrap() > long_ago, "it was not used");
        run
    }

    /// What the run answers without a cache.
    fn truth(&self) -> String {
        answers(&open(&self.tape(), None).unwrap())
    }

    fn append(&self, bytes: &[u8]) {
        let file = fs::OpenOptions::new().append(true).open(self.tape());
        file.unwrap().write_all(bytes).unwrap();
    }

    /// Changes the file of the cache behind our back.
    fn damage(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.file()).unwrap();
        change(&mut bytes);
        fs::write(self.file(), bytes).unwrap();
    }
}

fn open(tape: &Path, cache: Option<IndexCache>) -> Result<Debugger, String> {
    let options = OpenOptions {
        places: Places {
            cache,
            ..Places::default()
        },
        ..OpenOptions::default()
    };
    let run = Debugger::open(Source::Path(tape.to_owned()), &options);
    run.map_err(|error| error.to_string())
}

#[track_caller]
fn assert_same(found: &Debugger, truth: &str, what: &str) {
    let found = answers(found);
    let differing = found.lines().zip(truth.lines()).find(|(a, b)| a != b);
    assert!(found == *truth, "{what}: {differing:#?}");
}

/// Every tape of the project that can be opened, and what the benchmarks are run on.
fn all_tapes() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for directory in ["demo-tapes", "tests/fixtures/tape-v1", "tests/fixtures/cli"] {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let is_tape = path.extension().is_some_and(|end| end == "jsonl");
            if is_tape && path.file_stem().is_some_and(|name| name != "session") {
                all.push((path.display().to_string(), fs::read(path).unwrap()));
            }
        }
    }
    for shape in tapes::Shape::ALL {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tape.jsonl");
        shape.write(&path, 0.0001, 7).unwrap();
        all.push((shape.name().to_owned(), fs::read(path).unwrap()));
    }
    assert!(all.len() > 30);
    all
}

#[test]
fn every_answer_is_the_same_from_the_cache() {
    for (name, tape) in all_tapes() {
        let world = World::with(&tape);
        if open(&world.tape(), None).is_err() {
            // Nothing in it can be read: the cache makes it no better.
            let first = open(&world.tape(), Some(world.cache.clone())).unwrap_err();
            assert_eq!(
                open(&world.tape(), Some(world.cache.clone())).unwrap_err(),
                first
            );
            continue;
        }
        let truth = world.truth();
        assert_same(&world.open(), &truth, &format!("{name}, kept"));
        assert_same(&world.reopen(), &truth, &format!("{name}, from the cache"));
        assert_same(&world.reopen(), &truth, &format!("{name}, once more"));
    }
}

#[test]
fn a_tape_that_grew_is_read_on() {
    for (name, tape) in all_tapes() {
        // It is the same however much of it was there before.
        let mut whole = None;
        for cut in [tape.len() / 3, tape.len().saturating_sub(1)] {
            let (start, rest) = tape.split_at(cut);
            let world = World::with(start);
            if start.is_empty() || open(&world.tape(), None).is_err() {
                continue;
            }
            drop(world.open());
            // From the cache, and followed.
            let mut followed = world.reopen();
            world.append(rest);
            let refreshed = followed.refresh().unwrap();
            assert!(
                matches!(refreshed, Refresh::Grew { .. }),
                "{name} at {cut}: {refreshed:?}"
            );
            let truth = whole.get_or_insert_with(|| world.truth());
            assert_same(&followed, truth, &format!("{name} at {cut}, followed"));
            // From the cache, and the rest read.
            assert_same(&world.open(), truth, &format!("{name} at {cut}, read on"));
            drop(world.reopen());
        }
    }
}

/// A fork that leaves this tape in its middle, and says one thing.
fn fork_of(tape: &[u8]) -> String {
    let lines: Vec<&[u8]> = tape.split(|byte| *byte == b'\n').collect();
    let read = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).unwrap();
    let (header, last) = (read(lines[0]), read(lines[lines.len() / 2]));
    let seq = last["seq"].as_u64().unwrap();
    let parent = json!({"id": header["id"], "seq": seq, "path": "run.jsonl"});
    let own = json!({"seq": 0, "kind": "tape", "format": 1, "id": "f", "parent": parent});
    let said = json!({"seq": seq + 1, "kind": "prompt", "name": "user", "text": "else"});
    format!("{own}\n{said}\n")
}

#[test]
fn a_fork_is_known_by_what_the_cache_holds_of_its_parent() {
    let tapes = all_tapes().into_iter();
    let shapes = tapes::Shape::ALL.map(tapes::Shape::name);
    let large = tapes.filter(|(name, _)| shapes.contains(&name.as_str()));
    let mut tapes: Vec<(String, Vec<u8>)> = large.collect();
    tapes.push(("rich".to_owned(), RICH.to_vec()));
    assert_eq!(tapes.len(), 5);
    for (name, tape) in tapes {
        let world = World::with(&tape);
        let fork = world.directory.path().join("fork.jsonl");
        fs::write(&fork, fork_of(&tape)).unwrap();
        let truth = answers(&open(&fork, None).unwrap());
        assert!(truth.contains("else"), "{name}");
        drop(world.open());
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        set_time(&world.file(), long_ago);
        let run = open(&fork, Some(world.cache.clone())).unwrap();
        assert!(time_of(&world.file()) > long_ago, "{name} was not used");
        assert_same(&run, &truth, &name);
        // What the cache holds of a fork would outlive a change of its parent.
        world.cache.finish(PATIENCE);
        drop(world.file());
    }
}

/// A tape with branches, transactions and snapshots.
const RICH: &[u8] = include_bytes!("../demo-tapes/rolled-back.jsonl");

/// Opens a run whose file of the cache was changed: it has to answer all the same, and to
/// have put the cache right.
#[track_caller]
fn assert_harmless(world: &World, truth: &str, what: &str) {
    assert_same(&world.open(), truth, what);
    assert_same(&world.reopen(), truth, what);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_damaged_file_is_as_none(
        at in any::<prop::sample::Index>(),
        bit in 0..8_u32,
        sort in 0..4,
    ) {
        static TRUTH: LazyLock<String> = LazyLock::new(|| World::with(RICH).truth());
        let world = World::with(RICH);
        drop(world.open());
        world.damage(|bytes| {
            let at = at.index(bytes.len());
            match sort {
                0 | 1 => bytes[at] ^= 1 << bit,
                2 => bytes.truncate(at),
                _ => drop(bytes.splice(at..at, [0; 8])),
            }
        });
        assert_harmless(&world, &TRUTH, "damaged");
    }
}

#[test]
fn a_file_whose_start_is_damaged_is_as_none() {
    let world = World::with(RICH);
    let truth = answers(&world.open());
    let whole = fs::read(world.file()).unwrap();
    for at in 0..256 {
        let mut bytes = whole.clone();
        bytes[at] = !bytes[at];
        fs::write(world.file(), bytes).unwrap();
        let summary = format!("{:?}", world.open().summary());
        assert!(truth.contains(&summary), "byte {at}");
    }
    for foreign in [&b""[..], b"no index at all", &[0; 4096], RICH] {
        fs::write(world.file(), foreign).unwrap();
        assert_harmless(&world, &truth, "foreign");
    }
}

/// Something that is done to a tape that is in the cache; whether that is still of use.
#[track_caller]
fn check_change(is_of_use: bool, change: impl FnOnce(&Path)) {
    let world = World::with(RICH);
    drop(world.open());
    let before = fs::metadata(world.file()).unwrap().ino();
    change(&world.tape());
    assert_same(&world.open(), &world.truth(), "changed");
    let after = fs::metadata(world.file()).unwrap().ino();
    assert_eq!(before == after, is_of_use);
}

fn time_of(tape: &Path) -> SystemTime {
    fs::metadata(tape).unwrap().modified().unwrap()
}

fn set_time(tape: &Path, time: SystemTime) {
    File::open(tape).unwrap().set_modified(time).unwrap();
}

#[test]
fn only_the_very_tape_is_answered_from_the_cache() {
    // A copy with the time of the old one, as `cp -p` makes it.
    check_change(true, |tape| {
        let (bytes, time) = (fs::read(tape).unwrap(), time_of(tape));
        fs::remove_file(tape).unwrap();
        fs::write(tape, bytes).unwrap();
        set_time(tape, time);
    });
    // The same bytes, written again later.
    check_change(false, |tape| {
        set_time(tape, time_of(tape) + Duration::from_secs(1));
    });
    // As many bytes, one of them another.
    check_change(false, |tape| {
        let time = time_of(tape);
        let text = fs::read_to_string(tape).unwrap();
        fs::write(
            tape,
            text.replacen("\"outcome\":\"failed\"", "\"outcome\":\"fooled\"", 1),
        )
        .unwrap();
        set_time(tape, time);
    });
    // Shorter.
    check_change(false, |tape| {
        fs::write(tape, RICH.split_at(RICH.len() / 2).0).unwrap();
    });
    // Longer, and not by what was appended.
    check_change(false, |tape| {
        let (header, rest) =
            RICH.split_at(RICH.iter().position(|byte| *byte == b'\n').unwrap() + 1);
        let inserted = [header, b"not json\n", rest].concat();
        fs::write(tape, inserted).unwrap();
    });
}

#[test]
fn another_build_reads_the_tape_itself() {
    let world = World::with(RICH);
    let truth = answers(&world.open());
    let before = fs::metadata(world.file()).unwrap().ino();
    let other = IndexCache::new(world.cached(), "another build").for_tapes_from(1);
    let run = open(&world.tape(), Some(other.clone())).unwrap();
    other.finish(PATIENCE);
    assert_same(&run, &truth, "another build");
    assert_ne!(fs::metadata(world.file()).unwrap().ino(), before);
}

#[test]
fn what_is_kept_is_for_the_user_alone() {
    let world = World::with(RICH);
    drop(world.open());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.cached()), 0o700);
    assert_eq!(mode(&world.file()), 0o600);
}

#[test]
fn small_tapes_are_not_kept() {
    let world = World::with(RICH);
    let cache = IndexCache::new(world.cached(), "a build").for_tapes_from(RICH.len() as u64 + 1);
    drop(open(&world.tape(), Some(cache.clone())).unwrap());
    cache.finish(PATIENCE);
    assert_eq!(world.files(), [] as [PathBuf; 0]);
}

#[test]
fn where_nothing_can_be_kept_all_goes_on() {
    let world = World::with(RICH);
    let truth = world.truth();
    // A file stands where the directory should be.
    fs::write(world.cached(), "").unwrap();
    assert_same(&world.open(), &truth, "no directory");
    fs::remove_file(world.cached()).unwrap();
    // The cache is there for reading only. Root may write all the same, and that is fine.
    drop(world.open());
    let read_only = fs::Permissions::from_mode(0o500);
    fs::set_permissions(world.cached(), read_only).unwrap();
    assert_same(&world.open(), &truth, "read-only");
    world.append(b"{\"seq\":9999,\"kind\":\"note\",\"text\":\"more\"}\n");
    assert_same(&world.open(), &world.truth(), "read-only, and grown");
    fs::set_permissions(world.cached(), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_was_not_used_for_the_longest_time_leaves_first() {
    let world = World::with(RICH);
    drop(world.open());
    let size = fs::metadata(world.file()).unwrap().len();
    let cache = world.cache.clone().with_room(2 * size + size / 2);
    let tapes = ["one", "two", "three"].map(|name| world.directory.path().join(name));
    fs::remove_file(world.file()).unwrap();
    let left_part = world.cached().join(".part-left");
    fs::write(&left_part, "half of something").unwrap();
    set_time(&left_part, SystemTime::now() - Duration::from_hours(3));
    let mut seen = Vec::new();
    for (age, tape) in tapes.iter().enumerate() {
        fs::write(tape, RICH).unwrap();
        drop(open(tape, Some(cache.clone())).unwrap());
        cache.finish(PATIENCE);
        let files = world.files();
        let new = files
            .iter()
            .find(|file| !seen.contains(*file))
            .unwrap()
            .clone();
        let days = 30 - 10 * age as u64;
        if age < 2 {
            set_time(&new, SystemTime::now() - Duration::from_hours(24 * days));
        }
        // The first one is used again.
        if age == 1 {
            drop(open(&tapes[0], Some(cache.clone())).unwrap());
        }
        seen.push(new);
    }
    let mut left = world.files();
    left.sort();
    let mut expected = vec![seen[0].clone(), seen[2].clone()];
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn many_at_once_do_no_harm() {
    let world = World::with(RICH);
    let truth = world.truth();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..6 {
                    let run = open(&world.tape(), Some(world.cache.clone())).unwrap();
                    assert_same(&run, &truth, "at once");
                    // What is mapped stays, whatever becomes of its file.
                    for file in world.files() {
                        let _ = fs::remove_file(file);
                    }
                    assert_same(&run, &truth, "removed");
                }
            });
        }
    });
}

/// The program, on a tape that is large enough to be kept.
fn jukebox(world: &World, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_jukebox"))
        .args(arguments)
        .current_dir(world.directory.path())
        .env_clear()
        .env("XDG_CACHE_HOME", world.cached())
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn commands_keep_and_use_it_unless_told_not_to() {
    let long = "x".repeat(17 << 20);
    let note = format!("{{\"seq\":9999,\"kind\":\"note\",\"text\":\"{long}\"}}\n");
    let world = World::with(&[RICH, note.as_bytes()].concat());
    let kept = world.cached().join("jukebox/index");
    let plain = jukebox(&world, &["log", "run.jsonl", "--no-cache"]);
    assert!(!kept.exists());
    assert_eq!(jukebox(&world, &["log", "run.jsonl"]), plain);
    let file = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
    set_time(&file, long_ago);
    assert_eq!(jukebox(&world, &["log", "run.jsonl", "--no-cache"]), plain);
    assert_eq!(time_of(&file), long_ago);
    assert_eq!(jukebox(&world, &["log", "run.jsonl"]), plain);
    assert!(time_of(&file) > long_ago);
}

#[test]
fn what_is_given_up_leaves_nothing() {
    let world = World::with(RICH);
    let run = open(&world.tape(), Some(world.cache.clone())).unwrap();
    world.cache.finish(Duration::ZERO);
    world.cache.finish(PATIENCE);
    let is_whole = |file: &PathBuf| file.extension().is_some();
    assert!(world.files().iter().all(is_whole), "{:?}", world.files());
    assert_same(&run, &world.truth(), "given up");
    // It is the end of the program: nothing more is kept.
    let left = world.files().len();
    drop(open(&world.tape(), Some(world.cache.clone())).unwrap());
    world.cache.finish(PATIENCE);
    assert_eq!(world.files().len(), left);
}
