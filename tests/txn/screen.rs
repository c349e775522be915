//! A transaction that somebody holds, ended from the screen: keys go in, and the workspace is
//! what they said, or untouched.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::pty::Pty;
use super::who::{self, as_root_and_as_user};
use super::world::World;

as_root_and_as_user!(
    a_commit_is_shown_first_and_done_by_a_yes,
    a_conflict_writes_nothing_and_a_rollback_leaves_what_others_wrote,
    what_changed_since_it_was_shown_is_shown_again,
    somebody_else_may_be_quicker,
    whose_holder_is_gone_is_told_how_to_salvage,
    a_command_that_is_recorded_holds_its_transaction_by_itself,
);

/// Much longer than anything here takes, also on a machine with other work.
const PATIENCE: Duration = Duration::from_mins(1);

/// The screen on the tape of a transaction.
struct Screen(Pty);

impl Screen {
    fn open(world: &World, id: &str) -> Self {
        let tape = format!("W/.jukebox/tapes/{id}.jsonl");
        let command = [who::program(), "open".into(), world.path(tape)];
        let [home, state, run] = ["home", "state", "run"].map(|name| {
            let path = world.path(name);
            path.to_str().unwrap().to_owned()
        });
        let environment = [
            ("HOME", &*home),
            ("XDG_STATE_HOME", &*state),
            ("XDG_RUNTIME_DIR", &*run),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("TERM", "xterm-256color"),
        ];
        Self(Pty::spawn((120, 40), command, &environment).unwrap())
    }

    /// Types keys, and waits until the screen says this.
    #[track_caller]
    fn types(&mut self, keys: &str, words: &str) {
        self.0.send(keys.as_bytes()).unwrap();
        let is_said = |screen: &vt100::Screen| screen.contents().contains(words);
        let is_said = self.0.wait_for(PATIENCE, is_said).unwrap();
        assert!(is_said, "`{words}`:\n{}", self.0.screen().contents());
    }

    #[track_caller]
    fn quit(mut self) {
        self.0.send(b"\x03").unwrap();
        let status = self.0.wait(PATIENCE).unwrap().unwrap();
        assert!(status.success(), "{status}");
    }
}

fn a_commit_is_shown_first_and_done_by_a_yes() {
    let world = World::new(&[("a", "A\n"), ("b", "B\n")]);
    let id = world.begin("");
    world.say(&id, "echo more >> a; rm b; echo new > c");
    let before = world.tree();
    let mut screen = Screen::open(&world, &id);
    screen.types("", "transaction open");
    screen.types("2VVVV", "open: a process");
    screen.types("C", "Change 3 paths in");
    screen.types("\r", "+more");
    screen.types("q", "D b");
    assert_eq!(world.tree(), before);
    screen.types("Y", "Committed: 3 paths changed in");
    assert_eq!(
        (&*world.read("a"), &*world.read("c")),
        ("A\nmore\n", "new\n")
    );
    assert!(!world.workspace().join("b").exists());
    // What the tape tells of it is on the screen as well.
    screen.types("q", &format!("commit {id}"));
    screen.types("C", "was committed");
    screen.quit();
    world.nothing_is_left();
}

fn a_conflict_writes_nothing_and_a_rollback_leaves_what_others_wrote() {
    let world = World::new(&[("a", "A\n"), ("b", "B\n")]);
    let id = world.begin("");
    world.say(&id, "echo ours > a; echo ours > b");
    world.write("a", "theirs\n");
    let before = world.tree();
    let mut screen = Screen::open(&world, &id);
    screen.types("C", "Nothing was written: somebody else changed 1 path");
    screen.types("\r", "-theirs");
    screen.types("Yqq", "transaction open");
    screen.types("U", "Forget what changed?");
    screen.types("Y", "Rolled back: the workspace is as it was.");
    assert_eq!(world.tree(), before);
    screen.types("qU", "no process of yours holds a transaction");
    screen.quit();
    world.nothing_is_left();
}

fn what_changed_since_it_was_shown_is_shown_again() {
    let world = World::new(&[("a", "A\n")]);
    let id = world.begin("");
    world.say(&id, "echo one > a");
    let mut screen = Screen::open(&world, &id);
    screen.types("C", "Change 1 path in");
    world.say(&id, "echo two > b");
    screen.types("Y", "It changed since it was shown; nothing was done.");
    screen.types("", "Change 2 paths in");
    assert_eq!(world.read("a"), "A\n");
    screen.types("Y", "Committed: 2 paths changed in");
    assert_eq!(world.read("b"), "two\n");
    screen.quit();
}

fn somebody_else_may_be_quicker() {
    let world = World::new(&[("a", "A\n")]);
    let id = world.begin("");
    world.say(&id, "echo one > a");
    let mut screen = Screen::open(&world, &id);
    screen.types("C", "Change 1 path in");
    assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
    screen.types("Y", &format!("`{id}` was committed"));
    assert_eq!(world.read("a"), "one\n");
    screen.quit();
}

fn whose_holder_is_gone_is_told_how_to_salvage() {
    let world = World::new(&[("a", "A\n")]);
    let id = world.begin("");
    world.say(&id, "echo one > a");
    world.kill_holder(&id);
    let mut screen = Screen::open(&world, &id);
    screen.types("", "▎ abandoned");
    screen.types("C", &format!("`jukebox txn recover {id}`"));
    screen.quit();
    assert_eq!(world.read("a"), "A\n");
    assert_eq!(world.txn(&format!("recover {id} --drop")).code, 0);
}

fn a_command_that_is_recorded_holds_its_transaction_by_itself() {
    let world = World::new(&[("a", "A\n")]);
    let mut command: Command = world.command(who::program());
    let script = "echo one > a; while ! test -e /dev/full/never; do sleep 0.1; done";
    command.args(["record", "--dir", "W", "--commit", "--", "sh", "-c", script]);
    let mut recording = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let transactions = world.path("state/jukebox/transactions");
    let id = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(20));
        let entries = fs::read_dir(&transactions).into_iter().flatten().flatten();
        let mut noted = entries.filter(|entry| entry.path().join("entry").exists());
        Some(noted.next()?.file_name().into_string().unwrap())
    });
    let id = id.take(3000).flatten().next().unwrap();
    let ran = world.txn(&format!("commit {id} --yes"));
    assert_eq!(ran.code, 3);
    assert!(
        ran.err.contains("is that of a `jukebox record` that runs"),
        "{}",
        ran.err
    );
    recording.kill().unwrap();
    recording.wait().unwrap();
    world.wait_until_nobody_is_there();
    assert_eq!(world.read("a"), "A\n");
    assert_eq!(world.txn(&format!("recover {id} --drop")).code, 0);
}
