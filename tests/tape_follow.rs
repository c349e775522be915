//! Following a tape that is being written, cut, replaced, moved away and deleted.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jukebox::tape::{Change, FollowState, Tape, TapeBytes, Watch};

fn line(seq: u32) -> String {
    format!("{{\"seq\":{seq},\"kind\":\"note\",\"text\":\"r{seq}\"}}\n")
}

fn append(path: &Path, text: &str) {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A tape as somebody follows it.
struct Follower {
    path: PathBuf,
    tape: Tape,
    state: FollowState,
}

impl Follower {
    fn open(path: &Path) -> Self {
        let file = Arc::new(File::open(path).unwrap());
        let state = FollowState::new(path.to_owned(), Arc::clone(&file)).unwrap();
        let tape = Tape::read(TapeBytes::File(file), &mut ()).unwrap();
        let path = path.to_owned();
        Self { path, tape, state }
    }

    fn look(&mut self) -> Change {
        let change = self.state.look().unwrap();
        match change {
            Change::Grew => {
                self.tape.extend(&mut ()).unwrap();
            }
            Change::Truncated | Change::Replaced | Change::Back => *self = Self::open(&self.path),
            Change::Unchanged | Change::Gone => {}
        }
        change
    }

    fn events(&self) -> u32 {
        self.tape.index.events.len()
    }
}

#[test]
fn every_fate_of_a_file_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    append(&path, &line(1));
    let mut follower = Follower::open(&path);
    let mut check = |change: Change, events: u32, torn: u64| {
        assert_eq!(follower.look(), change);
        assert_eq!((follower.events(), follower.tape.end.torn), (events, torn));
    };
    check(Change::Unchanged, 1, 0);
    append(&path, &line(2));
    check(Change::Grew, 2, 0);
    append(&path, "{\"seq\":3,\"kind\":\"no");
    check(Change::Grew, 2, 19);
    append(&path, "te\"}\n");
    check(Change::Grew, 3, 0);
    fs::write(&path, line(1)).unwrap();
    check(Change::Truncated, 1, 0);
    // Cut and written again between two looks, longer than before.
    fs::write(&path, [line(7), line(8)].concat()).unwrap();
    check(Change::Truncated, 2, 0);
    let other = directory.path().join("t.tmp");
    append(&other, &[line(1), line(2), line(3), line(4)].concat());
    fs::rename(&other, &path).unwrap();
    check(Change::Replaced, 4, 0);
    fs::rename(&path, directory.path().join("t.1")).unwrap();
    append(&path, &line(1));
    check(Change::Replaced, 1, 0);
    fs::remove_file(&path).unwrap();
    check(Change::Gone, 1, 0);
    check(Change::Unchanged, 1, 0);
    append(&path, &line(1));
    check(Change::Back, 1, 0);
    check(Change::Unchanged, 1, 0);
}

/// Looks whenever the watch calls, until there are so many events.
fn wait_for(follower: &mut Follower, calls: &Receiver<()>, events: u32, torn: bool) {
    let begun = Instant::now();
    let limit = Duration::from_secs(20);
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        assert!(
            calls.recv_timeout(left).is_ok(),
            "not seen within {limit:?}"
        );
        follower.look();
        if follower.events() == events && (follower.tape.end.torn > 0) == torn {
            return;
        }
    }
}

fn follow_to_the_end(start: impl Fn(&Path, Box<dyn Fn() + Send>) -> std::io::Result<Watch>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    append(&path, "");
    let (call, calls) = channel();
    let watch = start(&path, Box::new(move || call.send(()).unwrap_or_default())).unwrap();
    let mut follower = Follower::open(&path);
    append(&path, &[line(1), line(2)].concat());
    wait_for(&mut follower, &calls, 2, false);
    append(&path, "{\"seq\":3,\"kind\":\"no");
    wait_for(&mut follower, &calls, 2, true);
    append(&path, "te\"}\n");
    wait_for(&mut follower, &calls, 3, false);
    fs::write(&path, line(0)).unwrap();
    wait_for(&mut follower, &calls, 1, false);
    let other = directory.path().join("t.tmp");
    append(&other, &[line(0), line(1), line(2), line(3)].concat());
    fs::rename(&other, &path).unwrap();
    wait_for(&mut follower, &calls, 4, false);
    fs::remove_file(&path).unwrap();
    append(&path, &[line(0), line(1)].concat());
    wait_for(&mut follower, &calls, 2, false);
    drop(watch);
    // Its callback is gone with it: nobody calls any more.
    while calls.try_recv().is_ok() {}
    append(&path, &line(2));
    assert!(calls.recv().is_err());
}

#[test]
fn a_watch_calls_after_every_change() {
    follow_to_the_end(Watch::start);
}

#[test]
fn a_watch_calls_where_the_system_tells_nothing() {
    follow_to_the_end(Watch::poll);
}

#[test]
fn a_fast_writer_is_not_told_line_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    append(&path, "");
    let (call, calls) = channel();
    let watch = Watch::start(&path, move || call.send(()).unwrap_or_default()).unwrap();
    let begun = Instant::now();
    let mut lines = 0;
    while begun.elapsed() < Duration::from_millis(300) {
        append(&path, &line(lines));
        lines += 1;
    }
    let mut follower = Follower::open(&path);
    wait_for(&mut follower, &calls, lines, false);
    drop(watch);
    let told = calls.try_iter().count();
    // On a busy machine it takes longer; there is never more than a call in 33 ms.
    let most = 2 + begun.elapsed().as_millis() / 33;
    assert!(told as u128 <= most, "{told} calls for {lines} lines");
}
