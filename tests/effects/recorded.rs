//! What stands on the tape, and what is answered from it.

use std::fs;
use std::sync::Arc;

use jukebox::effects::{Call, EffectError, Ledger, Source, When};
use jukebox::model::{BlobHash, Body, EffectEvent, EffectRequest, Kind, Outcome, Seq};
use jukebox::tape::effect_of;

use super::world::{TXN, World, call};

#[test]
fn the_intent_is_on_disk_before_the_call_and_the_result_before_the_answer() {
    let world = World::new();
    // The command itself looks at the tape.
    let config = r#"
        [effects.look]
        class = "read"
        command = ["sh", "-c", "cat run.jsonl"]
    "#;
    fs::write(world.path("jukebox.toml"), config).unwrap();
    let mut run = world.begin();
    let asked = Call {
        name: "look",
        key: Some("k1"),
        ..Call::default()
    };
    let answer = run.call(&asked).unwrap();
    let seen = String::from_utf8_lossy(&answer.output).into_owned();
    let last = seen.lines().last().unwrap();
    assert!(last.contains(r#""kind":"effect.intent""#), "{last}");
    assert!(last.contains(r#""key":"k1""#), "{last}");
    let hash = BlobHash::of(config.as_bytes()).to_string();
    assert!(last.contains(&hash), "{last}");
    // The recorder is still open: the result is there for whoever reads now.
    let tape = world.tape();
    let kinds = (0..tape.index.events.len()).map(|at| tape.index.events.kind(at).unwrap());
    let kinds: Vec<Kind> = kinds.skip(2).collect();
    let expected = [
        Kind::ToolCall,
        Kind::EffectIntent,
        Kind::EffectResult,
        Kind::ToolResult,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn one_key_stands_for_one_request_and_is_made_once() {
    let world = World::new();
    let mut run = world.begin();
    let first = run.make("charge", "k1", "17");
    assert_eq!((first.source, first.outcome), (Source::Made, Outcome::Ok));
    assert_eq!(&*first.output, b"17\n");
    let again = run.make("charge", "k1", "17");
    assert_eq!(again.source, Source::Record);
    assert_eq!((again.number, again.output), (first.number, first.output));
    let other = run.call(&call("charge", "k1", "18"));
    assert!(matches!(
        other,
        Err(EffectError::KeyReused { number: 1, .. })
    ));
    let other = run.call(&call("label", "k1", "17"));
    assert!(matches!(
        other,
        Err(EffectError::KeyReused { number: 1, .. })
    ));
    assert_eq!(world.outside_with_keys(), ["charge 17 k1"]);
    // So it is for whoever goes on with the tape.
    drop(run);
    let mut run = world.resume();
    let again = run.make("charge", "k1", "17");
    assert_eq!(
        (again.source, &*again.output),
        (Source::Record, &b"17\n"[..])
    );
    assert_eq!(world.outside_with_keys(), ["charge 17 k1"]);
}

#[test]
fn a_failure_is_answered_from_the_record_too() {
    let world = World::new();
    let mut run = world.begin();
    world.tell("look.fails");
    let first = run.make("look", "k1", "x");
    assert_eq!((first.outcome, first.exit), (Outcome::Failed, Some(7)));
    assert_eq!(first.complaint, "no look today\n");
    world.untell("look.fails");
    let again = run.make("look", "k1", "x");
    assert_eq!((again.source, again.exit), (Source::Record, Some(7)));
    let second = run.make("look", "k2", "x");
    assert_eq!((second.source, second.exit), (Source::Made, Some(0)));
}

#[test]
fn without_a_key_each_call_has_one_of_its_own() {
    let world = World::new();
    let mut run = world.begin();
    for _ in 0..2 {
        let asked = Call {
            key: None,
            ..call("look", "", "x")
        };
        run.call(&asked).unwrap();
    }
    let keys = world.outside_with_keys();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is_recorded() {
    let world = World::new();
    let mut run = world.begin();
    let before = run.tape.next_seq();
    let with = |key, arguments: &[&str]| Call {
        key: Some(key),
        request: EffectRequest {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            body: Arc::default(),
        },
        ..call("mail", "", "")
    };
    let long = "k".repeat(201);
    for key in ["", "a b", "a\r\nX-Evil: 1", "ü", "k-undo", &long] {
        let refused = run.call(&with(key, &["x"]));
        assert!(matches!(refused, Err(EffectError::Key)), "{key:?}");
    }
    for arguments in [&[][..], &["a", "b"], &["a\0b"]] {
        let refused = run.call(&with("k", arguments));
        assert!(matches!(refused, Err(EffectError::Arguments { .. })));
    }
    let undeclared = run.call(&call("rm", "k", "x"));
    assert!(matches!(undeclared, Err(EffectError::Undeclared { .. })));
    assert_eq!(run.tape.next_seq(), before);
    assert_eq!(world.outside(), [""; 0]);
}

#[test]
fn a_request_is_read_by_the_command_and_kept_to_the_byte() {
    let world = World::new();
    let mut run = world.begin();
    let body: Arc<[u8]> = (0..=255).cycle().take(300_000).collect();
    let asked = Call {
        name: "words",
        key: Some("k1"),
        request: EffectRequest {
            arguments: Vec::new(),
            body: Arc::clone(&body),
        },
        ..Call::default()
    };
    let answer = run.call(&asked).unwrap();
    assert_eq!(answer.output, body);
    let tape = world.tape();
    let mut events = (0..tape.index.events.len()).map(|at| tape.event(at).unwrap());
    let intent = events.find_map(|event| match effect_of(&event)? {
        EffectEvent::Intent(intent) => Some(intent),
        _ => None,
    });
    assert_eq!(intent.unwrap().request.body, body);
    assert_eq!(run.call(&asked).unwrap().source, Source::Record);
}

#[test]
fn an_answer_is_kept_up_to_a_size_and_the_rest_is_counted() {
    let world = World::new();
    let mut run = world.begin();
    let asked = Call {
        name: "flood",
        key: Some("k1"),
        ..Call::default()
    };
    let answer = run.call(&asked).unwrap();
    assert_eq!(answer.output.len() as u64 + answer.omitted, 6_000_000);
    assert_eq!(answer.output.len(), 4 << 20);
    let again = run.call(&asked).unwrap();
    assert_eq!(
        (again.output, again.omitted),
        (answer.output, answer.omitted)
    );
}

#[test]
fn an_effect_can_belong_to_a_call_that_is_under_way() {
    let world = World::new();
    let mut run = world.begin();
    let tool = Body::ToolCall {
        name: "charge_card".to_owned(),
        arguments: serde_json::json!({}),
    };
    run.tape
        .append(jukebox::model::Event::new(tool).in_call("c7"))
        .unwrap();
    let asked = Call {
        call: Some("c7"),
        ..call("charge", "k1", "17")
    };
    run.call(&asked).unwrap();
    let tape = world.tape();
    let last = tape.index.events.len() - 1;
    for position in [last - 1, last] {
        let event = tape.event(position).unwrap();
        assert!(effect_of(&event).is_some());
        assert_eq!(event.head.call.as_deref(), Some("c7"));
        assert_eq!(event.head.txn.as_deref(), Some(TXN));
    }
    assert_eq!(tape.index.steps.len(), 2);
}

#[test]
fn the_ledger_knows_what_was_known_at_any_place() {
    let world = World::new();
    let mut run = world.begin();
    run.make("charge", "k1", "1");
    let after_charge = run.tape.next_seq();
    run.make("mail", "k2", "2");
    let after_mail = run.tape.next_seq();
    run.effects
        .roll_back(&mut run.tape, super::world::WHOLE)
        .unwrap();
    let ledger = Ledger::of(&world.tape());
    assert_eq!(ledger.entries(), run.effects.ledger().entries());
    let at = |seq: Seq| -> Vec<&str> {
        let entries = ledger.before(seq).iter();
        entries
            .map(|entry| entry.state_before(seq).as_str())
            .collect()
    };
    assert_eq!(at(Seq(0)), [""; 0]);
    assert_eq!(at(after_charge), ["done"]);
    assert_eq!(at(after_mail), ["done", "waiting"]);
    assert_eq!(at(run.tape.next_seq()), ["compensated", "refused"]);
    let intent = ledger.entries()[0].asked();
    assert_eq!(at(Seq(intent.0 + 1)), ["in-doubt"]);
}

#[test]
fn an_effect_may_be_kept_from_the_network() {
    let world = World::new();
    let mut run = world.begin();
    let asked = Call {
        name: "offline",
        when: When::Now,
        ..Call::default()
    };
    let answer = match run.call(&asked) {
        Err(error @ EffectError::Network(_)) => {
            return super::skipped(&error.to_string());
        }
        answer => answer.unwrap(),
    };
    let devices = String::from_utf8_lossy(&answer.output).into_owned();
    let devices: Vec<&str> = devices.lines().skip(2).map(str::trim).collect();
    assert!(
        devices.iter().all(|line| line.starts_with("lo:")),
        "{devices:?}"
    );
}

#[test]
fn bytes_that_are_no_text_are_answered_as_they_are() {
    let world = World::new();
    let mut run = world.begin();
    let asked = Call {
        name: "binary",
        key: Some("k"),
        ..Call::default()
    };
    let answer = run.call(&asked).unwrap();
    assert_eq!(&*answer.output, b"\xff\0\x1b[31m");
    drop(run);
    let again = world.resume().call(&asked).unwrap();
    assert_eq!(
        (again.source, again.output),
        (Source::Record, answer.output)
    );
}

#[test]
fn commands_have_the_variables_that_they_are_given_and_their_key() {
    let world = World::new();
    let config = "[effects.env]\nclass = 'read'\ncommand = ['env']\n";
    fs::write(world.path("jukebox.toml"), config).unwrap();
    let run = world.begin();
    let path = std::env::var_os("PATH").unwrap();
    let given = [("PATH".into(), path.clone()), ("TOKEN".into(), "x".into())];
    let mut effects = run.effects.in_environment(given.to_vec());
    let mut tape = run.tape;
    let asked = Call {
        name: "env",
        key: Some("k1"),
        ..Call::default()
    };
    let answer = effects.call(&mut tape, &asked).unwrap();
    let found = String::from_utf8_lossy(&answer.output).into_owned();
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    let path = format!("PATH={}", path.to_string_lossy());
    assert_eq!(found, ["IDEMPOTENCY_KEY=k1", &*path, "TOKEN=x"]);
}
