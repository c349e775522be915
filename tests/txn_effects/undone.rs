//! A commit that is taken back: its files are, and what it did outside is named, and taken back
//! by whoever asks for that.

use std::fs;

use serde_json::json;

use super::World;

#[test]
fn an_undo_names_what_remains_outside_and_the_ledger_takes_it_back() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn exec {id} -- sh -c echo>f.txt"));
    world.well(&format!("txn effect {id} look --key l1 -- x"));
    world.well(&format!("txn effect {id} charge --key c1 -- 17"));
    world.well(&format!("txn effect {id} mail --key m1 -- a"));
    world.well(&format!("txn commit {id} --yes"));
    assert_eq!(world.outside().len(), 3);
    let preview = world.well(&format!("txn undo {id} --dry-run"));
    assert!(preview.contains("2   charge 17"), "{preview}");
    assert!(preview.contains("3   mail a"), "{preview}");
    assert!(!preview.contains("look"), "it changed nothing: {preview}");
    let object = world
        .run(&format!("txn undo {id} --dry-run --json"))
        .object();
    assert_eq!(object["effects"][0]["number"], 2);
    assert_eq!(world.file(), "\n");

    let tape = World::tape(&id);
    let take_back = format!("effects {tape} --take-back --config config/jukebox.toml");
    let stands = world.well(&format!("{take_back} --dry-run"));
    assert!(stands.contains("nothing to do"), "{stands}");
    let undone = world.run(&format!("txn undo {id} --yes"));
    assert_eq!(undone.code, 1, "{undone:?}");
    assert_eq!(world.file(), "before\n");
    let named = "remains: effect 2, charge 17; effect 3, mail a; `jukebox effects ";
    assert!(undone.out.contains(named), "{}", undone.out);
    assert_eq!(world.outside().len(), 3, "nothing is taken back by itself");

    let preview = world.well(&format!("{take_back} --dry-run"));
    assert!(preview.contains("was undone"), "{preview}");
    assert!(preview.contains("take back 2 charge 17"), "{preview}");
    assert!(preview.contains("leave 3 mail a"), "{preview}");
    let done = world.run(&format!("{take_back} --yes --json"));
    assert_eq!(done.code, 1, "{done:?}");
    assert_eq!(done.object()["compensated"], json!([2]));
    assert_eq!(done.object()["residue"][0]["number"], 3);
    assert_eq!(world.outside()[3..], ["refund 17 [17] c1-undo"]);
}

#[test]
fn what_waits_after_an_undo_is_not_sent() {
    let world = World::new();
    let Some(id) = world.begin() else { return };
    world.well(&format!("txn exec {id} -- sh -c echo>f.txt"));
    world.well(&format!("txn effect {id} mail --key m1 -- a"));
    world.tell("mail.fails");
    assert_eq!(world.run(&format!("txn commit {id} --yes")).code, 1);
    fs::remove_file(world.path("config/mail.fails")).unwrap();
    world.run(&format!("txn undo {id} --yes"));
    assert_eq!(world.file(), "before\n");
    let tape = World::tape(&id);
    let sent = world.well(&format!(
        "effects {tape} --send --yes --config config/jukebox.toml"
    ));
    assert!(sent.contains("nothing to do"), "{sent}");
    assert_eq!(world.outside(), Vec::<String>::new());
}
