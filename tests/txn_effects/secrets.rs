//! A secret in a transaction: whoever is asked gets it, and no file of ours keeps it. Who comes
//! after the holder has placeholders, and makes nothing from them.

use std::fs;

use serde_json::json;

use super::traces::{KEY, traces, traces_below};
use super::{Ran, World};

impl World {
    /// A transaction whose holder knows the secret by a variable.
    fn begin_knowing(&self) -> Option<String> {
        Self::begin_by(self.program().env("SERVICE_API_KEY", KEY))
    }

    fn sh(&self, id: &str, script: &str) -> Ran {
        let mut program = self.program();
        program.args(["txn", "exec", id, "--", "sh", "-c", script]);
        Ran::of(program.output().unwrap())
    }

    /// What is kept of the secret in the directories that are the program's own.
    fn kept(&self) -> Vec<String> {
        let mut kept = traces_below(&self.path("W/.jukebox"));
        kept.extend(traces_below(&self.path("state")));
        kept
    }

    fn tape_text(&self, id: &str) -> String {
        fs::read_to_string(self.path(Self::tape(id))).unwrap()
    }

    fn finish(&self, id: &str, what: &str) -> Ran {
        let tape = Self::tape(id);
        self.run(&format!(
            "effects {tape} {what} --yes --config config/jukebox.toml"
        ))
    }
}

#[test]
fn a_commit_sends_the_secret_and_no_file_keeps_it() {
    let world = World::new();
    let Some(id) = world.begin_knowing() else {
        return;
    };
    let said = world.sh(&id, &format!("echo '{KEY}' > made; echo 'it is {KEY}'"));
    assert_eq!((said.code, said.out), (0, format!("it is {KEY}\n")));
    let charged = world.well(&format!("txn effect {id} charge --key c1 -- {KEY}"));
    assert_eq!(charged, format!("{KEY}\n"));
    let again = world.well(&format!("txn effect {id} charge --key c1 -- {KEY}"));
    assert_eq!(again, charged, "from the record");
    world.well(&format!("txn effect {id} mail --key m1 -- {KEY}"));
    assert_eq!(
        traces(world.tape_text(&id).as_bytes()),
        Vec::<String>::new()
    );
    let done = world.run(&format!("txn commit {id} --yes --json"));
    assert_eq!(
        (done.code, &done.object()["sent"]["sent"]),
        (0, &json!([2])),
        "{done:?}"
    );
    let expected = [format!("charge {KEY} [] c1"), format!("mail {KEY} [] m1")];
    assert_eq!(world.outside(), expected);
    assert_eq!(
        fs::read_to_string(world.path("W/made")).unwrap(),
        format!("{KEY}\n")
    );
    assert_eq!(world.kept(), Vec::<String>::new());
    let tape = world.tape_text(&id);
    for said in ["it is [REDACTED:1]", "\"args\":[\"[REDACTED:1]\"]"] {
        assert!(tape.contains(said), "{said}: {tape}");
    }
    world.well(&format!("verify {}", World::tape(&id)));
}

#[test]
fn a_rollback_takes_back_with_the_secret_and_no_file_keeps_it() {
    let world = World::new();
    let Some(id) = world.begin_knowing() else {
        return;
    };
    world.sh(&id, &format!("echo '{KEY}' > made"));
    world.well(&format!("txn effect {id} charge --key c1 -- {KEY}"));
    world.well(&format!("txn rollback {id}"));
    assert_eq!(world.outside()[1], format!("refund {KEY} [{KEY}] c1-undo"));
    assert_eq!(world.kept(), Vec::<String>::new());
    assert!(!world.path("W/made").exists());
}

#[test]
fn nothing_is_made_from_a_placeholder_after_the_holder_is_gone() {
    let world = World::new();
    let Some(id) = world.begin_knowing() else {
        return;
    };
    world.well(&format!("txn effect {id} charge --key c1 -- {KEY}"));
    world.well(&format!("txn effect {id} charge --key c2 -- 18"));
    world.tell("look.kills");
    world.run(&format!("txn effect {id} look --key l1 -- {KEY}"));
    let before = world.outside();
    assert_eq!(before.len(), 3);
    // It was only looked at, and yet it is not known what at.
    let retried = world.finish(&id, "--retry");
    assert_eq!(
        (retried.code, &*retried.out),
        (
            3,
            "make again 3 look [REDACTED:1]  will be refused: of a secret in it, the tape has a \
             placeholder\n"
        ),
        "{retried:?}"
    );
    assert!(
        retried.err.contains("effect 3 held a secret"),
        "{}",
        retried.err
    );
    let (tape, config) = (World::tape(&id), "--config config/jukebox.toml");
    let would = world.run(&format!(
        "effects {tape} --take-back --dry-run --json {config}"
    ));
    assert_eq!(would.object()["refused"], json!([1]), "{would:?}");
    let back = world.finish(&id, "--take-back --json");
    assert_eq!(
        (back.code, &back.object()["compensated"]),
        (1, &json!([2])),
        "{back:?}"
    );
    let why = back.object()["residue"][0]["why"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(why.contains("effect 1 held a secret"), "{why}");
    assert_eq!(world.outside()[3..], ["refund 18 [18] c2-undo"]);
    world.run(&format!("txn recover {id} --drop"));
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn a_key_of_our_own_is_no_secret_and_is_known_to_who_comes_after() {
    let world = World::new();
    let Some(id) = world.begin_knowing() else {
        return;
    };
    world.sh(&id, "echo > f.txt");
    world.well(&format!("txn effect {id} mail -- b"));
    world.tell("mail.fails");
    assert_eq!(world.run(&format!("txn commit {id} --yes")).code, 1);
    fs::remove_file(world.path("config/mail.fails")).unwrap();
    let ledger = world.run(&format!("effects {} --json", World::tape(&id)));
    let ledger = ledger.object();
    let key = ledger["key"].as_str().unwrap();
    assert!(!key.contains("REDACTED"), "{key}");
    assert_eq!(world.finish(&id, "--send").code, 0);
    assert_eq!(world.outside(), [format!("mail b [] {key}")]);
}

#[test]
fn what_waits_with_a_secret_is_asked_about_once_its_holder_is_gone() {
    let world = World::new();
    let Some(id) = world.begin_knowing() else {
        return;
    };
    world.sh(&id, "echo > f.txt");
    world.well(&format!("txn effect {id} mail --key m1 -- {KEY}"));
    world.well(&format!("txn effect {id} mail --key m2 -- b"));
    world.tell("mail.fails");
    assert_eq!(world.run(&format!("txn commit {id} --yes")).code, 1);
    fs::remove_file(world.path("config/mail.fails")).unwrap();
    let tape = World::tape(&id);
    let config = "--config config/jukebox.toml";
    let would = world.run(&format!("effects {tape} --send --dry-run --json {config}"));
    let expected = json!({ "done": false, "effects": [1, 2], "refused": [1] });
    assert_eq!((would.code, would.object()), (0, expected));
    let stopped = world.finish(&id, "--send");
    assert_eq!(stopped.code, 1, "{stopped:?}");
    assert!(
        stopped
            .out
            .contains("stopped at effect 1: effect 1 held a secret"),
        "{}",
        stopped.out
    );
    assert_eq!(world.outside(), Vec::<String>::new());
    world.well(&format!("effects {} --settle 1=dropped", World::tape(&id)));
    assert_eq!(world.finish(&id, "--send").code, 0);
    assert_eq!(world.outside(), ["mail b [] m2"]);
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn what_was_not_taken_out_is_sent_by_whoever_comes_later() {
    let world = World::new();
    let mut program = world.program();
    program.env("SERVICE_API_KEY", KEY);
    program.args(["txn", "begin", "--keep-secrets", "--dir", "W"]);
    let begun = Ran::of(
        program
            .args(["--config", "config/jukebox.toml"])
            .output()
            .unwrap(),
    );
    if begun.code == 4 {
        eprintln!("skipped: {}", begun.err.trim());
        return;
    }
    let id = begun.out.trim();
    world.well(&format!("txn effect {id} charge --key c1 -- {KEY}"));
    world.tell("look.kills");
    world.run(&format!("txn effect {id} look --key l1 -- x"));
    let back = world.finish(id, "--take-back --json");
    assert_eq!(back.object()["compensated"], json!([1]), "{back:?}");
    assert_eq!(world.outside()[2], format!("refund {KEY} [{KEY}] c1-undo"));
    world.run(&format!("txn recover {id} --drop"));
}
