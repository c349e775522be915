//! The process that makes effects, killed by SIGKILL: by the command that it runs, so exactly
//! between intent and result, and before each thing it records.
//!
//! The test runs itself in a directory with instructions, as a process of its own.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use jukebox::effects::{Log, Settlement};
use jukebox::model::{Body, Event, Seq};
use jukebox::tape::{RecordError, Recorder};

use super::world::{Run, TXN, WHOLE, World, call};

const INSTRUCTIONS: &str = "instructions";

/// Records as told, and is killed before the record of this number.
struct Deadly {
    tape: Recorder,
    left: usize,
}

impl Deadly {
    fn live(&mut self) {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
        } else {
            use rustix::process::{Signal, getpid, kill_process};
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    }
}

impl Log for Deadly {
    fn append(&mut self, event: Event) -> Result<Seq, RecordError> {
        self.live();
        self.tape.append(event)
    }

    fn promise(&mut self, event: Event) -> Result<Seq, RecordError> {
        self.live();
        self.tape.promise(event)
    }

    fn event(&self, seq: Seq) -> io::Result<Event> {
        self.tape.event(seq)
    }
}

/// The process that is to be killed. Without instructions it is nobody's.
#[test]
fn the_process_that_is_killed() {
    let here = std::env::current_dir().unwrap();
    let Ok(instructions) = fs::read_to_string(here.join(INSTRUCTIONS)) else {
        return;
    };
    let world = World::at(&here);
    let words: Vec<&str> = instructions.split_whitespace().collect();
    match words.as_slice() {
        ["make", name] => drop(world.begin().make(name, "k1", "x")),
        ["roll-back"] => {
            let mut run = world.begin();
            run.make("charge", "k1", "x");
            run.make("charge", "k2", "y");
            run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
        }
        ["send"] => {
            let mut run = world.begin();
            run.make("mail", "k1", "x");
            run.make("mail", "k2", "y");
            run.end_transaction(Body::TxnCommit);
            run.effects.send_waiting(&mut run.tape, TXN).unwrap();
        }
        [how, left] => {
            let Run { mut effects, tape } = world.begin();
            let left = left.parse().unwrap();
            let mut tape = Deadly { tape, left };
            for (name, key) in ALL {
                effects.call(&mut tape, &call(name, key, "x")).unwrap();
            }
            match *how {
                "commit" => drop(effects.send_waiting(&mut tape, TXN).unwrap()),
                _ => drop(effects.roll_back(&mut tape, WHOLE).unwrap()),
            }
        }
        other => panic!("{other:?}"),
    }
}

/// One effect of each class, and two that wait.
const ALL: [(&str, &str); 5] = [
    ("look", "a"),
    ("label", "b"),
    ("charge", "c"),
    ("mail", "d"),
    ("mail", "e"),
];

/// Runs these instructions in a process of its own; whether it was killed.
#[track_caller]
fn is_killed(world: &World, instructions: &str) -> bool {
    fs::write(world.path(INSTRUCTIONS), instructions).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::the_process_that_is_killed"])
        .current_dir(&world.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() || status.signal() == Some(9), "{status}");
    !status.success()
}

/// Lets a process make an effect whose command kills it.
#[track_caller]
pub(crate) fn die_in(world: &World, name: &str, order: &str) {
    world.tell(order);
    assert!(is_killed(world, &format!("make {name}")));
}

#[test]
fn a_rollback_that_was_cut_off_goes_on_where_it_was() {
    let world = World::new();
    world.tell("refund.kills");
    assert!(is_killed(&world, "roll-back"));
    let mut run = world.resume();
    assert_eq!(run.states(), ["done", "compensation-in-doubt"]);
    let done = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(
        (done.to_string(), done.compensated),
        ("rolled back".to_owned(), vec![2, 1])
    );
    let undone = world.outside_with_keys().split_off(2);
    assert_eq!(
        undone,
        ["refund y k2-undo", "refund y k2-undo", "refund x k1-undo"]
    );
}

#[test]
fn an_outbox_that_was_cut_off_asks_and_sends_nothing_twice() {
    let world = World::new();
    world.tell("mail.kills");
    assert!(is_killed(&world, "send"));
    for (verdict, expected) in [
        (Settlement::Done, &["mail x k1", "mail y k2"][..]),
        (
            Settlement::NotDone,
            &["mail x k1", "mail x k1", "mail y k2"],
        ),
    ] {
        let copy = World::new();
        for file in ["run.jsonl", "outside"] {
            fs::copy(world.path(file), copy.path(file)).unwrap();
        }
        let mut run = copy.resume();
        assert_eq!(run.effects.retry_doubts(&mut run.tape).unwrap(), [1]);
        let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
        let stopped = sent.stopped.unwrap();
        assert_eq!((stopped.number, stopped.is_in_doubt), (1, true));
        assert_eq!((sent.sent, sent.waiting), (vec![], vec![2]));
        assert_eq!(copy.outside_with_keys(), ["mail x k1"]);
        run.effects.settle(&mut run.tape, 1, verdict).unwrap();
        let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
        assert_eq!(sent.stopped, None);
        assert_eq!(copy.outside_with_keys(), expected);
    }
}

/// Wherever it is killed: nothing irreversible or compensable is made a second time by itself,
/// and whoever goes on comes to a known end.
#[test]
fn killed_before_any_record_it_comes_to_a_known_end() {
    for how in ["commit", "rollback"] {
        let mut points = 0;
        loop {
            let world = World::new();
            if !is_killed(&world, &format!("{how} {points}")) {
                break;
            }
            points += 1;
            check(&world, how);
        }
        // Four records for each thing that is made, four for each that waits.
        assert!(points >= 20, "{how}: {points}");
    }
}

fn check(world: &World, how: &str) {
    let mut run = world.resume();
    let made = world.outside_with_keys();
    run.effects.retry_doubts(&mut run.tape).unwrap();
    for number in run.effects.doubts(None) {
        let key = &run.effects.ledger().entry(number).unwrap().key;
        // The person looks.
        let is_done = made.iter().any(|line| line.ends_with(&format!(" {key}")));
        let verdict = if is_done {
            Settlement::Done
        } else {
            Settlement::NotDone
        };
        run.effects.settle(&mut run.tape, number, verdict).unwrap();
    }
    let states = if how == "commit" {
        let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
        assert_eq!(sent.stopped, None);
        ["done", "done", "done", "done", "done"]
    } else {
        run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
        ["done", "done", "compensated", "refused", "refused"]
    };
    let found = run.states();
    // What was never asked for is not there.
    for (index, state) in found.iter().enumerate() {
        let may_be = [states[index], "failed", "done"];
        assert!(may_be.contains(state), "{how}: {found:?}");
    }
    let lines = world.outside_with_keys();
    for key in ["c", "d", "e"] {
        let times = lines
            .iter()
            .filter(|line| line.ends_with(&format!(" {key}")));
        assert!(times.count() <= 1, "{how}: {lines:?}");
    }
    if how == "rollback" {
        assert!(
            !lines.iter().any(|line| line.starts_with("mail")),
            "{lines:?}"
        );
    }
    // What the tape says and what this process knows are the same.
    let effects = world.tape();
    let ledger = jukebox::effects::Ledger::of(&effects);
    assert_eq!(ledger.entries(), run.effects.ledger().entries());
}
