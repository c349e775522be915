//! Effects of which nobody knows whether they were made.

use jukebox::effects::{Call, EffectError, Settlement, Source, When};
use jukebox::model::{EffectRequest, Outcome};

use super::world::{TXN, WHOLE, World, call};

fn slow() -> Call<'static> {
    Call {
        request: EffectRequest::default(),
        when: When::Now,
        ..call("slow", "s1", "")
    }
}

#[test]
fn a_command_that_runs_out_of_time_leaves_a_doubt_and_is_not_run_again() {
    let world = World::new();
    let mut run = world.begin();
    let answer = run.call(&slow()).unwrap();
    assert_eq!((answer.outcome, answer.exit), (Outcome::Interrupted, None));
    let remark = "its command ran out of time and was stopped";
    assert_eq!(answer.remark.as_deref(), Some(remark));
    let before = run.tape.next_seq();
    let again = run.call(&slow());
    assert!(matches!(again, Err(EffectError::InDoubt { number: 1, .. })));
    assert_eq!(run.effects.retry_doubts(&mut run.tape).unwrap(), [1]);
    assert_eq!(run.effects.doubts(Some(TXN)), [1]);
    assert_eq!(run.tape.next_seq(), before);
    // A person says what it came to.
    let settle =
        |run: &mut super::world::Run, verdict| run.effects.settle(&mut run.tape, 1, verdict);
    settle(&mut run, Settlement::NotDone).unwrap();
    assert_eq!(run.states(), ["failed"]);
    let again = settle(&mut run, Settlement::Done);
    assert!(matches!(again, Err(EffectError::Settled { number: 1, .. })));
    let none = run.effects.settle(&mut run.tape, 2, Settlement::Done);
    assert!(matches!(none, Err(EffectError::NoEffect(2))));
}

#[test]
fn a_command_that_never_ran_leaves_no_doubt() {
    let world = World::new();
    let mut run = world.begin();
    let asked = Call {
        request: EffectRequest::default(),
        when: When::Now,
        ..call("missing", "x1", "")
    };
    let answer = run.call(&asked).unwrap();
    assert_eq!((answer.outcome, answer.exit), (Outcome::Failed, Some(127)));
    let done = run.effects.roll_back(&mut run.tape, WHOLE).unwrap();
    assert_eq!(done.to_string(), "rolled back");
}

#[test]
fn what_may_be_repeated_is_made_again_with_the_same_key() {
    let world = World::new();
    for (name, again) in [("label", true), ("look", true), ("charge", false)] {
        let world = World::new();
        super::killed::die_in(&world, name, &format!("{name}.kills"));
        let mut run = world.resume();
        assert_eq!(run.states(), ["in-doubt"], "{name}");
        let left = run.effects.retry_doubts(&mut run.tape).unwrap();
        let line = format!("{name} x k1");
        if again {
            assert_eq!((run.states(), left), (vec!["done"], vec![]), "{name}");
            assert_eq!(world.outside_with_keys(), [line.clone(), line], "{name}");
        } else {
            assert_eq!((run.states(), left), (vec!["in-doubt"], vec![1]), "{name}");
            assert_eq!(world.outside_with_keys(), [line], "{name}");
        }
    }
    assert_eq!(world.outside(), [""; 0]);
}

#[test]
fn the_same_call_again_is_the_retry_where_that_may_be() {
    let world = World::new();
    super::killed::die_in(&world, "label", "label.kills");
    let mut run = world.resume();
    let answer = run.make("label", "k1", "x");
    assert_eq!((answer.number, answer.source), (1, Source::Made));
    assert_eq!(world.outside_with_keys(), ["label x k1", "label x k1"]);

    let world = World::new();
    super::killed::die_in(&world, "charge", "charge.kills");
    let mut run = world.resume();
    let refused = run.call(&call("charge", "k1", "x"));
    assert!(matches!(
        refused,
        Err(EffectError::InDoubt { number: 1, .. })
    ));
    assert_eq!(world.outside_with_keys(), ["charge x k1"]);
}
