//! A real holder that dies while it commits: what became of the files decides what becomes of
//! the effects. None of a commit that stands is taken back, and none is sent twice.
//!
//! The holder is killed by the kernel when it writes more into one file than it may, so that it
//! dies at that very write; or by a signal, as soon as the journal has its name.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};

use super::{Ran, World};

/// More than the registry writes of a transaction.
const LITTLE: u64 = 2000;
/// More than that, and less than the tape.
const MUCH: u64 = 3000;

impl World {
    /// A transaction that changes a file, charged 17, and has a mail that waits.
    fn charged(&self) -> Option<String> {
        let id = self.begin()?;
        self.fill(&id);
        Some(id)
    }

    fn fill(&self, id: &str) {
        self.well(&format!("txn exec {id} -- truncate -s {MUCH} f.txt"));
        self.well(&format!("txn effect {id} charge --key c1 -- 17"));
        self.well(&format!("txn effect {id} mail --key m1 -- a"));
    }

    /// The process that holds a transaction.
    fn holder(&self, id: &str) -> Pid {
        let lock = self.path(format!("state/jukebox/transactions/{id}/lock"));
        let holds = |process: &fs::DirEntry| {
            let files = fs::read_dir(process.path().join("fd"));
            let mut files = files.into_iter().flatten().flatten();
            files.any(|file| fs::read_link(file.path()).is_ok_and(|to| to == lock))
        };
        let mut processes = fs::read_dir("/proc").unwrap().flatten();
        let process = processes.find(holds).unwrap().file_name();
        Pid::from_raw(process.to_str().unwrap().parse().unwrap()).unwrap()
    }

    /// From now on no file that the holder writes becomes larger.
    fn limit(&self, id: &str, bytes: u64) {
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        prlimit(Some(self.holder(id)), Resource::Fsize, limit).unwrap();
    }

    /// From now on nothing is added to the tape; its length.
    fn limit_to_tape(&self, id: &str) -> u64 {
        let len = self.tape_len(id);
        assert!(len > MUCH, "{len}");
        self.limit(id, len);
        len
    }

    fn tape_len(&self, id: &str) -> u64 {
        fs::metadata(self.path(Self::tape(id))).unwrap().len()
    }

    /// What `txn status` says of it.
    fn state(&self, id: &str) -> Value {
        let status = self.run(&format!("txn status {id} --json")).object();
        status["transactions"][0].clone()
    }

    fn effects(&self, id: &str, what: &str) -> Ran {
        let tape = Self::tape(id);
        self.run(&format!(
            "effects {tape} {what} --config config/jukebox.toml"
        ))
    }

    /// Nothing is taken back, what waited is sent, and that once, whatever is asked how often.
    fn stands_and_is_sent_once(&self, id: &str) {
        for _ in 0..2 {
            let kept = self.effects(id, "--take-back --yes");
            assert_eq!(kept.code, 0, "{kept:?}");
            assert!(kept.out.contains("nothing to do"), "{kept:?}");
            let sent = self.effects(id, "--send --yes");
            assert_eq!(sent.code, 0, "{sent:?}");
        }
        assert_eq!(self.outside(), ["charge 17 [] c1", "mail a [] m1"]);
        assert_eq!(self.states(id), ["done", "done"]);
        assert_eq!(self.file().len() as u64, MUCH);
        self.well(&format!("verify {}", Self::tape(id)));
    }
}

#[test]
fn before_it_is_decided_nothing_was_committed_and_all_can_be_taken_back() {
    let world = World::new();
    let Some(id) = world.charged() else { return };
    // It dies where it stages what the file is to be.
    world.limit(&id, LITTLE);
    let lost = world.run(&format!("txn commit {id} --yes"));
    assert_eq!(lost.code, 4, "{lost:?}");
    assert_eq!(world.state(&id)["state"], "abandoned");
    assert_eq!(world.file(), "before\n");
    let sent = world.effects(&id, "--send --yes");
    assert!(sent.out.contains("nothing to do"), "{sent:?}");
    let back = world.effects(&id, "--take-back --yes --json");
    assert_eq!(back.object()["compensated"], json!([1]), "{back:?}");
    assert_eq!(back.object()["not_sent"], json!([2]));
    let expected = ["charge 17 [] c1", "refund 17 [17] c1-undo"];
    assert_eq!(world.outside(), expected);
    world.run("txn recover --dir W");
    world.well(&format!("txn recover {id} --drop"));
    assert_eq!(world.file(), "before\n");
}

#[test]
fn between_the_commit_and_the_word_about_it_the_journal_knows() {
    for how in ["effects", "dry-run", "recover-id", "recover-dir"] {
        let world = World::new();
        let Some(id) = world.charged() else { return };
        // It dies where it tells the tape.
        let len = world.limit_to_tape(&id);
        let lost = world.run(&format!("txn commit {id} --yes"));
        assert_eq!(lost.code, 4, "{lost:?}");
        assert_eq!(world.tape_len(&id), len);
        assert_eq!(world.state(&id)["state"], "committed");
        assert_eq!(world.state(&id)["commit"], 1);
        match how {
            "dry-run" => {
                let kept = world.effects(&id, "--take-back --dry-run");
                assert!(kept.out.contains("its effects stand"), "{kept:?}");
                assert_eq!(world.tape_len(&id), len);
            }
            "recover-id" => {
                let told = world.run(&format!("txn recover {id} --json"));
                let expected = json!({
                    "id": id, "commit": 1, "told": true, "waiting": [2], "late": [],
                });
                assert_eq!((told.code, told.object()), (0, expected), "{told:?}");
                let again = world.well(&format!("txn recover {id} --json"));
                assert!(again.contains(r#""told":false"#), "{again}");
            }
            "recover-dir" => {
                let told = world.well("txn recover --dir W");
                assert!(
                    told.contains("its tape says so now; 1 effect not sent yet"),
                    "{told}"
                );
            }
            _ => {}
        }
        world.stands_and_is_sent_once(&id);
        // What was charged and sent remains.
        let undone = world.run(&format!("txn undo {id} --yes"));
        assert_eq!(undone.code, 1, "{undone:?}");
        assert_eq!(world.file(), "before\n");
    }
}

#[test]
fn a_commit_that_was_cut_off_is_finished_before_anything_else() {
    // The signal may come late, when all is done already.
    assert!((0..9).any(|_| is_finished_if_cut_off()));
}

/// Whether the signal came in time.
fn is_finished_if_cut_off() -> bool {
    let world = World::new();
    let Some(id) = world.begin() else { return true };
    let many = "i=0; while [ $i -lt 500 ]; do echo $i > n$i; i=$((i+1)); done";
    fs::write(world.path("W/many"), many).unwrap();
    world.well(&format!("txn exec {id} -- sh many"));
    world.fill(&id);
    let holder = world.holder(&id);
    let journal = world.path("W/.jukebox/commit");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !journal.exists() {
                std::thread::sleep(Duration::from_micros(50));
            }
            kill_process(holder, Signal::KILL).unwrap();
        });
        let lost = world.run(&format!("txn commit {id} --yes"));
        assert_eq!(lost.code, 4, "{lost:?}");
    });
    if world.state(&id)["state"] == "committed" {
        world.stands_and_is_sent_once(&id);
        return false;
    }
    assert_eq!(world.state(&id)["state"], "cut-off");
    for what in ["--take-back", "--send"] {
        let refused = world.effects(&id, &format!("{what} --yes"));
        assert_eq!((refused.code, &*refused.out), (3, ""), "{refused:?}");
        assert!(refused.err.contains("cut off"), "{}", refused.err);
    }
    let dropped = world.run(&format!("txn recover {id} --drop"));
    assert_eq!(dropped.code, 2, "{dropped:?}");
    let told = world.well(&format!("txn recover {id}"));
    assert!(told.contains("committed by commit 1"), "{told}");
    for number in [0, 249, 499] {
        let file = fs::read_to_string(world.path(format!("W/n{number}"))).unwrap();
        assert_eq!(file, format!("{number}\n"));
    }
    world.stands_and_is_sent_once(&id);
    true
}

#[test]
fn in_the_outbox_it_leaves_a_doubt_and_sends_nothing_twice() {
    let world = World::new();
    let Some(id) = world.charged() else { return };
    world.well(&format!("txn effect {id} mail --key m2 -- b"));
    world.tell("mail.kills");
    let lost = world.run(&format!("txn commit {id} --yes"));
    assert_eq!(lost.code, 4, "{lost:?}");
    assert_eq!(world.state(&id)["state"], "committed");
    let kept = world.effects(&id, "--take-back --yes");
    assert!(kept.out.contains("nothing to do"), "{kept:?}");
    let stopped = world.effects(&id, "--send --yes");
    assert_eq!(stopped.code, 1, "{stopped:?}");
    assert_eq!(world.outside(), ["charge 17 [] c1", "mail a [] m1"]);
    world.effects(&id, "--settle 2=done");
    assert_eq!(world.effects(&id, "--send --yes").code, 0);
    let expected = ["charge 17 [] c1", "mail a [] m1", "mail b [] m2"];
    assert_eq!(world.outside(), expected);
}

#[test]
fn what_the_tape_cannot_be_told_is_said_and_nothing_is_sent() {
    let world = World::new();
    // Who ignores that signal is told that the file cannot become larger.
    let begin = "txn begin --dir W --config config/jukebox.toml";
    let mut shell = world.command("sh");
    shell.args(["-c", &format!("trap '' XFSZ; exec \"$0\" {begin}")]);
    let begun = Ran::of(shell.arg(super::PROGRAM).output().unwrap());
    if begun.code == 4 {
        eprintln!("skipped: {}", begun.err.trim());
        return;
    }
    let id = begun.out.trim();
    world.fill(id);
    world.limit_to_tape(id);
    let done = world.run(&format!("txn commit {id} --yes --json"));
    assert_eq!(done.code, 1, "{done:?}");
    let object = done.object();
    assert_eq!(object["commit"], 1);
    assert!(object["untold"].as_str().unwrap().contains("not recorded"));
    assert_eq!(object["sent"]["waiting"], json!([2]));
    assert_eq!(world.outside(), ["charge 17 [] c1"]);
    world.stands_and_is_sent_once(id);
}
