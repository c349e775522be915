//! A rollback takes back what it can, the last first, goes on after an error, and says what
//! remains.

use std::fs;

use jukebox::effects::{Call, Fate, ResidueReason, Scope, Settlement, When};
use jukebox::model::{Body, Event};

use super::world::{DECLARED, TXN, WHOLE, World, call};

#[test]
fn compensations_run_last_first_with_what_the_effect_answered() {
    let world = World::new();
    let mut run = world.begin();
    for (key, argument) in [("c1", "17"), ("c2", "18"), ("c3", "19")] {
        run.make("charge", key, argument);
    }
    run.make("look", "l1", "x");
    let rolled_back = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(rolled_back.to_string(), "rolled back");
    assert_eq!(rolled_back.compensated, [3, 2, 1]);
    let undone = world.outside_with_keys().split_off(4);
    let expected = [
        "refund 19 c3-undo",
        "refund 18 c2-undo",
        "refund 17 c1-undo",
    ];
    assert_eq!(undone, expected);
    // Done again, it has nothing to do.
    let again = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(again, jukebox::effects::RolledBack::default());
    assert_eq!(world.outside().len(), 7);
}

#[test]
fn a_compensation_that_fails_stops_no_other_and_is_tried_again() {
    let world = World::new();
    let mut run = world.begin();
    run.make("charge", "c1", "17");
    run.make("label", "l1", "x");
    run.make("charge", "c2", "18");
    world.tell("refund.fails");
    let rolled_back = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    let expected = "rolled back, with residue [effect 1, charge 17, remains: no refund today; \
                    effect 2, label x, remains: it cannot be undone; \
                    effect 3, charge 18, remains: no refund today]";
    assert_eq!(rolled_back.to_string(), expected);
    let failed = ["compensation-failed", "done", "compensation-failed"];
    assert_eq!(run.states(), failed);
    run.end_transaction(Body::TxnRollback { to: None });
    world.untell("refund.fails");
    drop(run);
    let mut run = world.resume();
    assert_eq!(run.states(), failed);
    let rolled_back = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(rolled_back.compensated, [3, 1]);
    assert_eq!(rolled_back.residue.len(), 1);
    let undone = world.outside_with_keys().split_off(3);
    assert_eq!(undone, ["refund 18 c2-undo", "refund 17 c1-undo"]);
    // A compensation is recorded outside of the transaction, which is over.
    assert_eq!(world.tape().index.transactions.len(), 1);
}

#[test]
fn a_preview_says_what_a_rollback_will_do_and_does_nothing() {
    let world = World::new();
    let mut run = world.begin();
    run.make("look", "l1", "x");
    run.make("charge", "c1", "17");
    run.make("label", "b1", "x");
    run.make("mail", "m1", "a");
    let now = Call {
        when: When::Now,
        ..call("mail", "m2", "b")
    };
    run.call(&now).unwrap();
    run.call(&Call {
        request: jukebox::model::EffectRequest::default(),
        when: When::Now,
        ..call("slow", "s1", "")
    })
    .unwrap();
    world.tell("charge.fails");
    run.make("charge", "c2", "18");
    let outside = world.outside();
    let preview = run.effects.preview(WHOLE);
    let preview: Vec<(u32, Fate)> = preview
        .iter()
        .map(|(entry, fate)| (entry.number, *fate))
        .collect();
    let expected = [
        (7, Fate::Nothing),
        (6, Fate::Asked),
        (5, Fate::Remains),
        (4, Fate::NotSent),
        (3, Fate::Remains),
        (2, Fate::Compensated),
        (1, Fate::Nothing),
    ];
    assert_eq!(preview, expected);
    assert_eq!(world.outside(), outside);
    // And that is what it does.
    let done = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!((done.not_sent, done.compensated), (vec![4], vec![2]));
    let residue = done.residue.iter();
    let residue: Vec<_> = residue
        .map(|row| (row.number, row.reason.clone()))
        .collect();
    let expected = [
        (3, ResidueReason::Irreversible),
        (5, ResidueReason::Irreversible),
        (6, ResidueReason::InDoubt),
    ];
    assert_eq!(residue, expected);
}

#[test]
fn back_to_a_savepoint_takes_back_only_what_came_after_it() {
    let world = World::new();
    let mut run = world.begin();
    run.make("charge", "c1", "17");
    run.make("mail", "m1", "a");
    let mut savepoint = Event::new(Body::TxnSavepoint {
        name: "s".to_owned(),
    });
    savepoint.head.txn = Some(TXN.to_owned());
    let since = Some(run.tape.append(savepoint).unwrap());
    run.make("charge", "c2", "18");
    run.make("mail", "m2", "b");
    let scope = Scope { txn: TXN, since };
    let done = run.effects.roll_back(&mut run.tape, scope).unwrap();
    assert_eq!((done.not_sent, done.compensated), (vec![4], vec![3]));
    run.end_transaction(Body::TxnRollback {
        to: Some("s".to_owned()),
    });
    assert_eq!(run.states(), ["done", "waiting", "compensated", "refused"]);
    let other = Scope {
        txn: "t2",
        since: None,
    };
    assert!(run.effects.preview(other).is_empty());
    run.end_transaction(Body::TxnCommit);
    run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    let expected = ["charge 17", "charge 18", "refund 18", "mail a"];
    assert_eq!(world.outside(), expected);
}

#[test]
fn what_runs_is_what_is_declared_now_and_nothing_from_the_tape() {
    let world = World::new();
    let mut run = world.begin();
    run.make("charge", "c1", "17");
    drop(run);
    fs::write(world.path("jukebox.toml"), "").unwrap();
    let mut run = world.resume();
    let done = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    let text = done.to_string();
    assert!(text.contains("no effect `charge` is declared in"), "{text}");
    drop(run);
    let declared = DECLARED.replace("\"refund\", \"{output}\"", "\"refund\", \"{effect-key}\"");
    fs::write(world.path("jukebox.toml"), declared).unwrap();
    let mut run = world.resume();
    run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(world.outside(), ["charge 17", "refund c1"]);
}

#[test]
fn without_an_answer_to_name_the_thing_nothing_is_taken_back() {
    let world = World::new();
    let mut run = world.begin();
    // A person says that it was done, and nobody knows what it answered.
    let declared = DECLARED.replace(
        "[\"./shell\", \"act\", \"charge\", \"{1}\"]",
        "[\"sleep\", \"{1}\"]\ntimeout = 1",
    );
    fs::write(world.path("jukebox.toml"), declared).unwrap();
    drop(run);
    run = world.resume();
    run.make("charge", "c1", "60");
    assert_eq!(run.states(), ["in-doubt"]);
    run.effects
        .settle(&mut run.tape, 1, Settlement::Done)
        .unwrap();
    let done = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    let reason = "its compensation needs what it answered, which is not known";
    assert!(done.to_string().contains(reason), "{done}");
    assert_eq!(world.outside(), [""; 0]);
}
