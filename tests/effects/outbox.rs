//! What is irreversible waits for the commit, and is sent then, in order.

use jukebox::effects::{Call, EffectError, Settlement, Source, When};
use jukebox::model::{Body, Outcome};

use super::world::{TXN, WHOLE, World, call};

#[test]
fn an_irreversible_effect_waits_for_the_commit_and_keeps_its_order() {
    let world = World::new();
    let mut run = world.begin();
    let first = run.make("mail", "m1", "a");
    assert_eq!(
        (first.source, first.outcome),
        (Source::Outbox, Outcome::Pending)
    );
    run.make("charge", "c1", "17");
    run.make("mail", "m2", "b");
    run.make("mail", "m3", "c");
    assert_eq!(run.make("mail", "m2", "b").source, Source::Outbox);
    assert_eq!(world.outside(), ["charge 17"]);
    run.end_transaction(Body::TxnCommit);
    let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    assert_eq!(sent.sent, [1, 3, 4]);
    assert_eq!((sent.stopped, sent.waiting), (None, vec![]));
    let expected = ["charge 17 c1", "mail a m1", "mail b m2", "mail c m3"];
    assert_eq!(world.outside_with_keys(), expected);
    // A second time there is nothing to send.
    let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    assert_eq!(sent.sent, [0; 0]);
    assert_eq!(run.states(), ["done"; 4]);
    // What was sent behind the commit belongs to no transaction.
    let tape = world.tape();
    assert_eq!(tape.index.transactions.len(), 1);
}

#[test]
fn what_fails_stops_what_is_behind_it_until_it_is_tried_again_or_dropped() {
    let world = World::new();
    let mut run = world.begin();
    for (key, argument) in [("m1", "a"), ("m2", "b"), ("m3", "c")] {
        run.make("mail", key, argument);
    }
    run.end_transaction(Body::TxnCommit);
    world.tell("mail.fails");
    let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    let stopped = sent.stopped.unwrap();
    assert_eq!((stopped.number, stopped.is_in_doubt), (1, false));
    assert_eq!(stopped.reason, "no mail today");
    assert_eq!((sent.sent, sent.waiting), (vec![], vec![2, 3]));
    world.untell("mail.fails");
    drop(run);
    let mut run = world.resume();
    run.effects
        .settle(&mut run.tape, 2, Settlement::Dropped)
        .unwrap();
    let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    assert_eq!(sent.sent, [1, 3]);
    assert_eq!(world.outside_with_keys(), ["mail a m1", "mail c m3"]);
    assert_eq!(run.states(), ["done", "refused", "done"]);
}

#[test]
fn who_needs_the_answer_now_has_it_and_a_rollback_leaves_it() {
    let world = World::new();
    let mut run = world.begin();
    let now = Call {
        when: When::Now,
        ..call("mail", "m1", "a")
    };
    let answer = run.call(&now).unwrap();
    assert_eq!((answer.source, answer.outcome), (Source::Made, Outcome::Ok));
    run.make("mail", "m2", "b");
    let rolled_back = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    let expected = "rolled back, with residue [effect 1, mail a, remains: it cannot be undone]";
    assert_eq!(rolled_back.to_string(), expected);
    assert_eq!(rolled_back.not_sent, [2]);
    assert_eq!(world.outside(), ["mail a"]);
}

#[test]
fn outside_of_a_transaction_nothing_waits() {
    let world = World::new();
    let mut run = world.begin();
    let asked = Call {
        txn: None,
        ..call("mail", "m1", "a")
    };
    assert_eq!(run.call(&asked).unwrap().source, Source::Made);
}

#[test]
fn what_waits_is_not_sent_out_of_order() {
    let world = World::new();
    let mut run = world.begin();
    run.make("mail", "m1", "a");
    let now = Call {
        when: When::Now,
        ..call("mail", "m1", "a")
    };
    let refused = run.call(&now);
    assert!(matches!(refused, Err(EffectError::Waits { number: 1, .. })));
    // Who drops it has its key back.
    run.effects
        .settle(&mut run.tape, 1, Settlement::Dropped)
        .unwrap();
    assert_eq!(run.call(&now).unwrap().number, 2);
    assert_eq!(world.outside_with_keys(), ["mail a m1"]);
    let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    assert_eq!(sent.sent, [0; 0]);
}

#[test]
fn after_a_rollback_nothing_is_ever_sent() {
    let world = World::new();
    let mut run = world.begin();
    run.make("mail", "m1", "a");
    run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    run.end_transaction(Body::TxnRollback { to: None });
    drop(run);
    let mut run = world.resume();
    let sent = run.effects.send_waiting(&mut run.tape, TXN).unwrap();
    assert_eq!(sent, jukebox::effects::Sent::default());
    assert_eq!(world.outside(), [""; 0]);
}
