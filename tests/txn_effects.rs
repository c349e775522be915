//! Effects of an open transaction, from a shell: the real program, a real sandbox, a holder that
//! outlives its command, and an outside world that is a file.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

#[path = "txn_effects/killed.rs"]
mod killed;
#[path = "txn_effects/secrets.rs"]
mod secrets;
#[path = "support/traces.rs"]
mod traces;
#[path = "txn_effects/undone.rs"]
mod undone;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Each command writes down what it did, what it read, and under which key; a file `NAME.fails`
/// lets it fail, `NAME.kills` lets it kill who runs it.
const ACT: &str = r#"if [ -e "$1.fails" ]; then echo "no $1 today" >&2; exit 7; fi
echo "$* [$(cat)] $IDEMPOTENCY_KEY" >> outside
if [ -e "$1.kills" ]; then rm "$1.kills"; kill -9 "$PPID"; sleep 60; fi
echo "$2"
"#;

const DECLARED: &str = r#"
[effects.look]
class = "read"
command = ["./shell", "act", "look", "{1}"]
[effects.charge]
class = "compensable"
command = ["./shell", "act", "charge", "{1}"]
compensate = ["./shell", "act", "refund", "{output}"]
[effects.mail]
command = ["./shell", "act", "mail", "{1}"]
[effects.slow]
command = ["sleep", "60"]
timeout = 1
[effects.whoami]
class = "read"
command = ["printenv", "TOKEN"]
"#;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jukebox");

struct World {
    place: TempDir,
}

/// How the program ended, and what it said.
#[derive(Debug, PartialEq)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl World {
    fn new() -> Self {
        let place = tempfile::Builder::new().prefix("eff-").tempdir().unwrap();
        let world = Self { place };
        for below in ["W", "home", "state", "run", "config"] {
            fs::create_dir(world.path(below)).unwrap();
        }
        fs::set_permissions(world.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(world.path("W/f.txt"), "before\n").unwrap();
        fs::write(world.path("config/jukebox.toml"), DECLARED).unwrap();
        fs::write(world.path("config/act"), ACT).unwrap();
        symlink("/bin/sh", world.path("config/shell")).unwrap();
        world
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.place.path().join(name)
    }

    fn program(&self) -> Command {
        self.command(PROGRAM)
    }

    /// A program as the user runs it.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TOKEN", "of the user")
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("home/config"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .current_dir(self.place.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &str) -> Ran {
        let mut program = self.program();
        Ran::of(program.args(words.split_whitespace()).output().unwrap())
    }

    /// Runs a command that must end well.
    #[track_caller]
    fn well(&self, words: &str) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words}: {ran:?}");
        ran.out
    }

    /// Begins a transaction; `None`, and a word about it, where the machine allows no sandbox.
    #[track_caller]
    fn begin(&self) -> Option<String> {
        Self::begin_by(&mut self.program())
    }

    /// The same, with this program.
    #[track_caller]
    fn begin_by(program: &mut Command) -> Option<String> {
        let words = "txn begin --dir W --config config/jukebox.toml";
        let ran = Ran::of(program.args(words.split(' ')).output().unwrap());
        if ran.code == 4 {
            eprintln!("skipped: {}", ran.err.trim());
            return None;
        }
        assert_eq!((ran.code, &*ran.err), (0, ""));
        Some(ran.out.trim().to_owned())
    }

    fn outside(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("config/outside")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn file(&self) -> String {
        fs::read_to_string(self.path("W/f.txt")).unwrap()
    }

    fn tell(&self, order: &str) {
        fs::write(self.path("config").join(order), "").unwrap();
    }

    fn tape(id: &str) -> String {
        format!("W/.jukebox/tapes/{id}.jsonl")
    }

    /// What became of each effect, as a stranger reads it from the tape.
    fn states(&self, id: &str) -> Vec<String> {
        let ran = self.run(&format!("effects {} --json", Self::tape(id)));
        let state = |line: &str| {
            let row: Value = serde_json::from_str(line).unwrap();
            row["state"].as_str().unwrap().to_owned()
        };
        ran.out.lines().map(state).collect()
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn object(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

#[test]
fn a_commit_writes_the_files_and_then_sends_what_waited() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn exec {id} -- sh -c echo>f.txt"));
    assert_eq!(
        world.well(&format!("txn effect {id} look --key l1 -- x")),
        "x\n"
    );
    let waits = world.run(&format!("txn effect {id} mail --key m1 -- a"));
    assert_eq!((waits.code, &*waits.out), (0, ""));
    assert!(
        waits.err.contains("effect 2 waits for the commit"),
        "{}",
        waits.err
    );
    world.well(&format!("txn effect {id} mail --key m2 -- b"));
    assert_eq!(world.outside(), ["look x [] l1"]);
    // What is known of it, while it is open.
    let diff = world.run(&format!("txn diff {id} --json")).object();
    let states: Vec<&Value> = diff["effects"].as_array().unwrap().iter().collect();
    assert_eq!(states.len(), 3);
    assert_eq!(states[1]["state"], "waiting");
    assert_eq!(states[1]["rollback"], "not-sent");
    let diff = world.run(&format!("txn diff {id}"));
    assert!(diff.err.contains("effect 3 mail b: waits"), "{}", diff.err);
    let status = world.well(&format!("txn status {id}"));
    assert!(status.contains("mail a"), "{status}");
    let done = world.run(&format!("txn commit {id} --yes --json"));
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.object()["sent"]["sent"], json!([2, 3]));
    assert_eq!(world.file(), "\n");
    let expected = ["look x [] l1", "mail a [] m1", "mail b [] m2"];
    assert_eq!(world.outside(), expected);
    assert_eq!(world.states(&id), ["done", "done", "done"]);
    world.well(&format!("verify {}", World::tape(&id)));
}

#[test]
fn a_rollback_takes_back_what_it_can_and_says_what_remains() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn exec {id} -- sh -c echo>f.txt"));
    world.well(&format!("txn effect {id} charge --key c1 -- 17"));
    world.well(&format!("txn effect {id} mail --key m1 -- a"));
    world.well(&format!("txn effect {id} mail --key m2 --now -- b"));
    let preview = world.run(&format!("txn rollback {id} --dry-run --json"));
    let effects = preview.object()["effects"].clone();
    let fates: Vec<&str> = (0..3)
        .map(|at| effects[at]["rollback"].as_str().unwrap())
        .collect();
    assert_eq!(fates, ["compensated", "not-sent", "remains"]);
    let done = world.run(&format!("txn rollback {id}"));
    let expected = "rolled back, with residue [effect 3, mail b, remains: it cannot be undone]\n";
    assert_eq!((done.code, &*done.out), (1, expected), "{}", done.err);
    assert_eq!(world.file(), "before\n");
    let expected = ["charge 17 [] c1", "mail b [] m2", "refund 17 [17] c1-undo"];
    assert_eq!(world.outside(), expected);
    assert_eq!(world.states(&id), ["compensated", "refused", "done"]);
}

#[test]
fn a_holder_that_is_killed_in_an_effect_leaves_a_doubt_that_a_person_ends() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn effect {id} charge --key c1 -- 17"));
    world.well(&format!("txn effect {id} mail --key m1 -- a"));
    world.tell("charge.kills");
    let lost = world.run(&format!("txn effect {id} charge --key c2 -- 18"));
    assert_eq!(lost.code, 125, "{lost:?}");
    let expected = ["charge 17 [] c1", "charge 18 [] c2"];
    assert_eq!(world.outside(), expected);
    assert_eq!(world.states(&id), ["done", "waiting", "in-doubt"]);
    let gone = world.run(&format!("txn effect {id} charge --key c2 -- 18"));
    assert!(gone.err.contains("abandoned"), "{}", gone.err);
    // Nothing was made again; the person looks, and says so.
    let tape = World::tape(&id);
    let with = "--config config/jukebox.toml";
    let left = world.run(&format!("effects {tape} --take-back --yes --json {with}"));
    assert_eq!(left.object()["compensated"], json!([1]));
    assert_eq!(left.object()["residue"][0]["number"], 3);
    world.well(&format!("effects {tape} --settle 3=not-done"));
    let done = world.well(&format!("effects {tape} --take-back --yes {with}"));
    assert!(done.contains("nothing to do"), "{done}");
    assert_eq!(world.outside().len(), 3);
    assert_eq!(world.file(), "before\n");
    world.run(&format!("txn recover {id} --drop"));
}

#[test]
fn what_may_have_been_committed_is_not_taken_back() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn effect {id} charge --key c1 -- 17"));
    world.tell("mail.kills");
    world.run(&format!("txn effect {id} mail --key m1 --now -- a"));
    // As a holder leaves it that is killed between the commit and the word about it.
    let entry = world.path(format!("state/jukebox/transactions/{id}/entry"));
    let mut held: Value = serde_json::from_slice(&fs::read(&entry).unwrap()).unwrap();
    assert_eq!(held["stage"], "Open");
    held["stage"] = "Committing".into();
    fs::write(&entry, held.to_string()).unwrap();
    let tape = World::tape(&id);
    let take_back = format!("effects {tape} --take-back --yes --config config/jukebox.toml");
    let refused = world.run(&take_back);
    assert_eq!((refused.code, &*refused.out), (3, ""), "{refused:?}");
    assert!(refused.err.contains("may have been committed"));
    assert_eq!(world.outside(), ["charge 17 [] c1", "mail a [] m1"]);
    // The person looked, and says that it was not.
    world.well(&format!("txn recover {id} --drop"));
    world.run(&take_back);
    assert_eq!(world.outside()[2..], ["refund 17 [17] c1-undo"]);
}

#[test]
fn nothing_is_committed_as_long_as_an_effect_is_in_doubt() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn exec {id} -- sh -c echo>f.txt"));
    let slow = world.run(&format!("txn effect {id} slow --key s1 --now"));
    assert_eq!(slow.code, 125);
    assert!(slow.err.contains("--settle 1=done"), "{}", slow.err);
    let refused = world.run(&format!("txn commit {id} --yes"));
    assert_eq!(refused.code, 3, "{refused:?}");
    assert_eq!(world.file(), "before\n");
    world.well(&format!("txn effect {id} --settle 1=done"));
    world.well(&format!("txn commit {id} --yes"));
    assert_eq!(world.file(), "\n");
}

#[test]
fn back_to_a_savepoint_the_effects_since_go_with_the_files() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn effect {id} charge --key c1 -- 17"));
    world.well(&format!("txn savepoint {id} s"));
    world.well(&format!("txn effect {id} charge --key c2 -- 18"));
    world.well(&format!("txn effect {id} mail --key m1 -- a"));
    let back = world.run(&format!("txn rollback {id} --to s --json"));
    assert_eq!(back.code, 0, "{back:?}");
    assert_eq!(back.object()["compensated"], json!([2]));
    assert_eq!(back.object()["not_sent"], json!([3]));
    world.well(&format!("txn commit {id} --yes"));
    let expected = [
        "charge 17 [] c1",
        "charge 18 [] c2",
        "refund 18 [18] c2-undo",
    ];
    assert_eq!(world.outside(), expected);
}

#[test]
fn an_effect_ends_with_its_commands_code_and_reads_its_request() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    let mut program = world.program();
    let words = format!("txn effect {id} look --key l1 -- x");
    program.args(words.split_whitespace()).stdin(Stdio::piped());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"body").unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, &*ran.out), (0, "x\n"), "{}", ran.err);
    assert_eq!(world.outside(), ["look x [body] l1"]);
    world.tell("look.fails");
    let failed = world.run(&format!("txn effect {id} look --key l2 -- x"));
    assert_eq!(failed.code, 7);
    assert!(failed.err.contains("no look today"), "{}", failed.err);
    let again = world.run(&format!("txn effect {id} look --key l2 --json -- x"));
    assert_eq!(
        (again.code, &again.object()["source"]),
        (7, &json!("record"))
    );
    for words in ["look --key l1 -- y", "nothing --key n1", "look --key l3"] {
        let refused = world.run(&format!("txn effect {id} {words}"));
        assert_eq!(refused.code, 125, "{words}: {refused:?}");
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    }
    // It has the user's variables, which nothing in the sandbox has.
    let token = world.well(&format!("txn effect {id} whoami"));
    assert_eq!(token, "of the user\n");
    let inside = world.run(&format!("txn exec {id} -- printenv TOKEN"));
    assert_eq!((inside.code, &*inside.out), (1, ""));
    world.well(&format!("txn rollback {id}"));
}

#[test]
fn an_outbox_that_stops_does_not_take_the_commit_back() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn exec {id} -- sh -c echo>f.txt"));
    world.well(&format!("txn effect {id} mail --key m1 -- a"));
    world.well(&format!("txn effect {id} mail --key m2 -- b"));
    world.tell("mail.fails");
    let done = world.run(&format!("txn commit {id} --yes"));
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.out.contains("stopped at effect 1: no mail today"),
        "{}",
        done.out
    );
    assert_eq!(world.file(), "\n");
    fs::remove_file(world.path("config/mail.fails")).unwrap();
    let tape = World::tape(&id);
    world.well(&format!(
        "effects {tape} --send --yes --config config/jukebox.toml"
    ));
    assert_eq!(world.outside(), ["mail a [] m1", "mail b [] m2"]);
}

#[test]
fn a_configuration_that_is_wrong_or_in_the_workspace_begins_nothing() {
    let world = World::new();
    fs::write(world.path("W/jukebox.toml"), DECLARED).unwrap();
    fs::write(world.path("wrong.toml"), "[effects.a]\n").unwrap();
    for (file, words) in [
        ("W/jukebox.toml", "lies in the workspace"),
        ("wrong.toml", "line 1, column 1: missing field `command`"),
        ("nowhere.toml", "cannot be read"),
    ] {
        let ran = world.run(&format!("txn begin --dir W --config {file}"));
        assert_eq!((ran.code, &*ran.out), (2, ""), "{file}");
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    assert!(!world.path("W/.jukebox").exists());
}
