//! Effects brought to an end by the program itself, on tapes whose recorder is gone.

use std::fs;
use std::os::unix::fs::symlink;

use jukebox::tape::{Recorder, RecorderOptions};
use serde_json::{Value, json};

use super::world::{Run, World};

/// Each command writes down what it did and under which key; a file `NAME.fails` lets it
/// fail, `NAME.kills` lets it kill who runs it.
const ACT: &str = r#"if [ -e "$1.fails" ]; then echo "no $1 today" >&2; exit 7; fi
echo "$* $IDEMPOTENCY_KEY" >> outside
if [ -e "$1.kills" ]; then rm "$1.kills"; kill -9 "$PPID"; sleep 60; fi
"#;

const DECLARED: &str = r#"
[effects.charge]
class = "compensable"
command = ["./shell", "act", "charge", "{1}"]
compensate = ["./shell", "act", "refund", "{output}"]
[effects.label]
class = "idempotent"
command = ["./shell", "act", "label", "{1}", "{2}"]
[effects.mail]
command = ["./shell", "act", "mail", "{1}"]
"#;

/// A committed transaction of which two mails wait.
const COMMITTED: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"c","root":"/nowhere"}
{"seq":1,"kind":"txn.begin","txn":"t"}
{"seq":2,"kind":"effect.intent","txn":"t","call":"e1","name":"mail","key":"m1","args":["a"],"waits":true}
{"seq":3,"kind":"effect.intent","txn":"t","call":"e2","name":"mail","key":"m2","args":["b"],"waits":true}
{"seq":4,"kind":"txn.commit","txn":"t"}
"#;

fn world() -> World {
    let world = World::new(&["effects.jsonl"]);
    world.put("committed.jsonl", COMMITTED);
    world.put("config/jukebox.toml", DECLARED);
    world.put("config/act", ACT);
    // A file that was just written cannot be run while another test's child holds it open.
    symlink("/bin/sh", world.path("config/shell")).unwrap();
    world
}

/// Runs `jukebox effects TAPE …` with the configuration.
fn effects(world: &World, words: &str) -> Run {
    world.type_in(&format!("effects {words} --config config/jukebox.toml"))
}

fn outside(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.path("config/outside")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What became of each effect, as a stranger reads it from the tape.
fn states(world: &World, tape: &str) -> Vec<String> {
    let run = world.type_in(&format!("effects {tape} --json"));
    let state = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["state"].as_str().unwrap().to_owned()
    };
    run.stdout().lines().map(state).collect()
}

#[track_caller]
fn object(run: &Run) -> Value {
    serde_json::from_str(&run.stdout()).unwrap_or_else(|_| Value::String(run.stderr()))
}

#[test]
fn what_is_said_and_done() {
    let world = world();
    let commands = [
        "effects effects.jsonl --retry --dry-run",
        "effects effects.jsonl --retry",
        "effects effects.jsonl --retry --yes",
        "effects effects.jsonl --retry --yes --config config/jukebox.toml",
        "effects effects.jsonl --retry --yes --config config/jukebox.toml",
        "effects effects.jsonl --take-back --dry-run --config config/jukebox.toml",
        "effects effects.jsonl --take-back --yes --config config/jukebox.toml",
        "effects effects.jsonl",
        "effects effects.jsonl --settle 4=done",
        "effects effects.jsonl --settle 4=perhaps",
        "effects effects.jsonl --settle 99=done",
        "effects effects.jsonl@3 --retry --yes",
        "effects committed.jsonl --send --yes --config config/jukebox.toml",
        "effects committed.jsonl --send --take-back",
        "verify effects.jsonl",
    ];
    world.check_golden("effects_finished", &commands);
}

#[test]
fn a_dry_run_and_a_missing_answer_do_nothing() {
    let world = world();
    let before = fs::read(world.path("effects.jsonl")).unwrap();
    for words in [
        "--retry --dry-run",
        "--take-back --dry-run --json",
        "--take-back",
    ] {
        effects(&world, &format!("effects.jsonl {words}"));
    }
    assert_eq!(fs::read(world.path("effects.jsonl")).unwrap(), before);
    assert_eq!(outside(&world), [""; 0]);
}

#[test]
fn a_rollback_whose_process_is_killed_goes_on() {
    let world = world();
    world.put("config/refund.kills", "");
    let killed = effects(&world, "effects.jsonl --take-back --yes");
    assert_eq!(killed.code(), -1, "{}", killed.stderr());
    assert_eq!(outside(&world), ["refund 102 c3-undo"]);
    assert_eq!(states(&world, "effects.jsonl")[4], "compensation-in-doubt");
    let run = effects(&world, "effects.jsonl --take-back --yes --json");
    let done = object(&run);
    assert_eq!(done["compensated"], json!([5, 3]), "{done}");
    let expected = [
        "refund 102 c3-undo",
        "refund 102 c3-undo",
        "refund 101 c2-undo",
    ];
    assert_eq!(outside(&world), expected);
    // The mail that was sent at once, and the label that is in doubt.
    assert_eq!(done["residue"][0]["number"], 7);
    assert_eq!(done["residue"][1]["number"], 8);
    assert_eq!(run.code(), 1);
    assert_eq!(world.type_in("verify effects.jsonl").code(), 0);
}

#[test]
fn an_outbox_that_stopped_is_sent_on_and_asks_where_it_was_cut_off() {
    let world = world();
    world.put("config/mail.fails", "");
    let run = effects(&world, "committed.jsonl --send --yes --json");
    let sent = object(&run);
    assert_eq!(
        (run.code(), &sent["sent"], &sent["waiting"]),
        (1, &json!([]), &json!([2]))
    );
    assert_eq!(sent["stopped"]["reason"], "no mail today");
    fs::remove_file(world.path("config/mail.fails")).unwrap();
    world.put("config/mail.kills", "");
    effects(&world, "committed.jsonl --send --yes");
    assert_eq!(states(&world, "committed.jsonl"), ["in-doubt", "waiting"]);
    // Nothing is sent twice by itself, nor past what is in doubt.
    for act in ["--send", "--retry"] {
        let run = effects(&world, &format!("committed.jsonl {act} --yes --json"));
        assert!(run.code() <= 1, "{act}: {}", run.stderr());
    }
    assert_eq!(outside(&world), ["mail a m1"]);
    let settled = effects(&world, "committed.jsonl --settle 1=done --json");
    assert_eq!(object(&settled), json!({ "settled": [1] }));
    let sent = object(&effects(&world, "committed.jsonl --send --yes --json"));
    assert_eq!(sent["sent"], json!([2]), "{sent}");
    assert_eq!(outside(&world), ["mail a m1", "mail b m2"]);
}

#[test]
fn a_tape_that_is_being_written_is_left_alone() {
    let world = world();
    let path = world.path("effects.jsonl");
    let recorder = Recorder::resume(&path, RecorderOptions::default()).unwrap();
    for words in ["--retry --yes", "--settle 8=done"] {
        let run = effects(&world, &format!("effects.jsonl {words}"));
        assert_eq!(run.code(), 3, "{words}: {}", run.stderr());
    }
    drop(recorder);
    assert_eq!(outside(&world), [""; 0]);
    assert_eq!(effects(&world, "effects.jsonl --retry --yes").code(), 0);
}

#[test]
fn what_waits_in_a_transaction_that_was_rolled_back_is_not_sent() {
    let world = world();
    world.put("back.jsonl", COMMITTED.replace("commit", "rollback"));
    assert_eq!(states(&world, "back.jsonl"), ["refused", "refused"]);
    let sent = effects(&world, "back.jsonl --send --yes --json");
    let nothing = json!({ "done": false, "effects": [], "refused": [] });
    assert_eq!(object(&sent), nothing);
    let back = effects(&world, "back.jsonl --take-back --yes --json");
    assert_eq!(object(&back)["not_sent"], json!([2, 1]));
    assert_eq!(outside(&world), [""; 0]);
}

#[test]
fn a_configuration_of_the_workspace_runs_nothing() {
    let world = world();
    let tape = COMMITTED.replace("/nowhere", &world.path("").to_string_lossy());
    world.put("home.jsonl", tape);
    let run = effects(&world, "home.jsonl --send --yes");
    assert_eq!(run.code(), 2);
    assert!(
        run.stderr().contains("lies in the workspace"),
        "{}",
        run.stderr()
    );
    assert_eq!(outside(&world), [""; 0]);
    // Nor is one found that nobody named.
    world.put("jukebox.toml", DECLARED);
    let run = world.type_in("effects committed.jsonl --send --yes");
    let expected = "no effect `mail` is declared";
    assert!(run.stdout().contains(expected), "{}", run.stdout());
}

#[test]
fn a_mistake_in_the_configuration_is_told_with_its_place() {
    let world = world();
    world.put("config/jukebox.toml", "[effects.mail]\ncomand = ['x']\n");
    let run = effects(&world, "committed.jsonl --send --yes");
    assert_eq!(run.code(), 2);
    let expected = "line 2, column 1: unknown field `comand`";
    assert!(run.stderr().contains(expected), "{}", run.stderr());
}
