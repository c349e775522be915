//! What others do to the workspace while a transaction is open.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::who::as_root_and_as_user;
use super::world::World;

as_root_and_as_user!(
    who_changes_what_a_transaction_changes_is_in_conflict_with_it,
    everything_must_be_as_it_was_where_that_is_asked_for,
    the_second_of_two_transactions_sees_the_first_as_somebody_else,
    a_file_is_known_as_a_call_found_it,
);

/// What somebody does in the workspace.
type Meanwhile = fn(&Path);

/// Begins, reads `r`, writes `w`, deletes `d` and creates `sub/c`; what a commit then comes to,
/// and the paths that it says are in conflict.
#[track_caller]
fn check(isolation: &str, meanwhile: Meanwhile, expected: i32, conflicts: &[&str]) {
    let world = World::new(&[("r", "1"), ("w", "old"), ("d", "gone"), ("sub/kept", "k")]);
    let id = world.begin(isolation);
    world.say(&id, "cat r; printf new > w; rm d; printf c > sub/c");
    meanwhile(&world.workspace());
    let before = world.tree();
    let committed = world.txn(&format!("commit {id} --yes --json"));
    assert_eq!(committed.code, expected, "{}", committed.err);
    let answer: serde_json::Value = serde_json::from_str(&committed.out).unwrap();
    let found = answer["conflicts"].as_array().unwrap();
    let paths: Vec<_> = found
        .iter()
        .map(|row| row["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, conflicts);
    if expected == 0 {
        assert_eq!(world.read("w"), "new");
        assert!(!world.workspace().join("d").exists());
        assert_eq!(world.read("sub/c"), "c");
        let again = world.txn(&format!("commit {id} --yes"));
        assert_eq!(again.code, 2);
        assert!(again.err.contains("was committed"), "{}", again.err);
    } else {
        assert!(found.iter().all(|row| row.get("base").is_some()
            && row.get("ours").is_some()
            && row.get("theirs").is_some()));
        assert_eq!(world.tree(), before, "something was written");
        assert_eq!(world.say(&id, "cat w"), "new", "it is no longer open");
        assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
        assert_eq!(world.tree(), before);
    }
    world.nothing_is_left();
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn who_changes_what_a_transaction_changes_is_in_conflict_with_it() {
    check("", |_| {}, 0, &[]);
    check("", |w| write(&w.join("w"), "other"), 3, &["w"]);
    check("", |w| write(&w.join("w"), "new"), 0, &[]);
    check("", |w| write(&w.join("r"), "9"), 0, &[]);
    check("", |w| write(&w.join("d"), "x"), 3, &["d"]);
    check("", |w| write(&w.join("sub/c"), "mine"), 3, &["sub/c"]);
    let replace_by_link: Meanwhile = |w| {
        fs::remove_dir_all(w.join("sub")).unwrap();
        symlink("/tmp", w.join("sub")).unwrap();
    };
    check("", replace_by_link, 3, &["sub"]);
    // The same bytes once more, with a new time.
    check("", |w| write(&w.join("w"), "old"), 0, &[]);
    let forbid: Meanwhile = |w| {
        fs::set_permissions(w.join("w"), fs::Permissions::from_mode(0o600)).unwrap();
    };
    check("", forbid, 3, &["w"]);
}

fn everything_must_be_as_it_was_where_that_is_asked_for() {
    let base = "--isolation base";
    check(base, |_| {}, 0, &[]);
    check(base, |w| write(&w.join("r"), "9"), 3, &["r"]);
    check(base, |w| write(&w.join("r"), "1"), 0, &[]);
    check(base, |w| write(&w.join("mine"), "m"), 3, &["mine"]);
    check(base, |w| fs::remove_file(w.join("r")).unwrap(), 3, &["r"]);
}

fn the_second_of_two_transactions_sees_the_first_as_somebody_else() {
    let world = World::new(&[("a", "1"), ("b", "1")]);
    let (one, two) = (world.begin(""), world.begin(""));
    world.say(&one, "printf one > a");
    world.say(&two, "cat a; printf two > a; printf two > b");
    assert_eq!(world.txn(&format!("commit {one} --yes")).code, 0);
    let refused = world.txn(&format!("commit {two} --yes"));
    assert_eq!(refused.code, 3);
    assert!(
        refused.out.starts_with("! a  was a file"),
        "{}",
        refused.out
    );
    assert!(refused.err.contains("still open"), "{}", refused.err);
    assert_eq!((&*world.read("a"), &*world.read("b")), ("one", "1"));
    assert_eq!(world.txn(&format!("rollback {two}")).code, 0);
    world.nothing_is_left();
}

/// What somebody changed before any call touched it is what the calls saw: no conflict, where
/// it could still be read; and one where nobody knows what it was.
fn a_file_is_known_as_a_call_found_it() {
    let world = World::new(&[
        (".gitignore", "cache/\n"),
        ("cache/x", "1"),
        ("cache/y", "1"),
    ]);
    let id = world.begin("");
    world.write("cache/y", "2");
    world.say(&id, "printf ours > cache/x; printf ours > cache/y");
    let refused = world.txn(&format!("commit {id} --yes"));
    assert_eq!(refused.code, 3);
    assert!(
        refused
            .out
            .starts_with("! cache/y  was a file that nobody had read"),
        "{}",
        refused.out
    );
    assert!(!refused.out.contains("cache/x"), "{}", refused.out);
    assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
}
