//! A transaction as a shell script uses it, from its beginning to its undo.

use std::fs;

use super::who::{self, as_root_and_as_user};
use super::world::{Ran, World};

as_root_and_as_user!(
    a_script_begins_runs_saves_goes_back_looks_and_commits,
    a_tape_tells_of_the_transaction_while_it_is_open,
    nobody_is_asked_who_is_not_there,
);

const SCRIPT: &str = r#"
set -eu
id=$($JUKEBOX txn begin --dir W)
$JUKEBOX txn exec $id -- sh -c 'echo two >> notes; mkdir -p made/deep; echo new > made/deep/file'
test "$(cat W/notes)" = one
$JUKEBOX txn savepoint $id before
$JUKEBOX txn exec $id -- rm -r made notes
$JUKEBOX txn exec $id -- test ! -e made
$JUKEBOX txn rollback $id --to before
$JUKEBOX txn exec $id -- cat made/deep/file notes
$JUKEBOX txn exec $id -- rm old
code=0; $JUKEBOX txn exec $id -- sh -c 'exit 7' || code=$?
test $code = 7
$JUKEBOX txn diff $id > patch
test ! -e W/made
$JUKEBOX txn commit $(echo $id | cut -c1-6) --yes
test "$(tail -n 1 W/notes)" = two
cp -r W after; rm -r after/.jukebox
$JUKEBOX txn undo $id --yes
test "$(cat W/notes)" = one
test -e W/old
git init -q again; cp W/notes W/old again; cd again; git apply ../patch
rm -r .git; cd ..; diff -r again after
code=0; $JUKEBOX txn exec $id -- true || code=$?
test $code = 125
"#;

fn a_script_begins_runs_saves_goes_back_looks_and_commits() {
    let world = World::new(&[("notes", "one\n"), ("old", "gone\n")]);
    if !has_git(&world) {
        println!("skipped: there is no git");
        return;
    }
    let before = world.tree();
    let ran = Ran::of(world.command("sh").args(["-c", SCRIPT]));
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.starts_with("new\none\ntwo\n"), "{}", ran.out);
    assert!(ran.err.contains("was committed"), "{}", ran.err);
    assert_eq!(world.tree(), before);
    world.nothing_is_left();
}

fn has_git(world: &World) -> bool {
    world.command("git").arg("--version").output().is_ok()
}

fn a_tape_tells_of_the_transaction_while_it_is_open() {
    let world = World::new(&[("a", "A\n")]);
    let id = world.begin("");
    let tape = world.workspace().join(format!(".jukebox/tapes/{id}.jsonl"));
    let ask = |verb: &str, step: &str, more: &[&str]| {
        let mut place = tape.clone().into_os_string();
        place.push(step);
        let mut command = world.command(who::program());
        command.arg(verb).arg(place).args(more);
        let ran = Ran::of(&mut command);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{verb} {step}");
        ran.out
    };
    let said = world.exec(
        &id,
        "echo seen; echo more >> a; mkdir d; echo x > d/x; exit 3",
    );
    assert_eq!((said.code, &*said.out), (3, "seen\n"));
    assert_eq!(ask("cat", "@2", &["a"]), "A\nmore\n");
    assert_eq!(ask("cat", "@0", &["a"]), "A\n");
    let step: serde_json::Value = serde_json::from_str(&ask("show", "@2", &["--json"])).unwrap();
    assert!(step.to_string().contains("seen"), "{step}");
    world.say(&id, "rm -r d; chmod 600 a; ln -s a link");
    ask("verify", "", &[]);
    assert_eq!(ask("cat", "@2", &["d/x"]), "x\n");
    assert!(!ask("tree", "@3", &[]).contains("d/x"));
    assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
    ask("verify", "", &[]);
    assert_eq!(ask("cat", "@2", &["d/x"]), "x\n");
    assert_eq!(ask("cat", "@-1", &["a"]), "A\n");
}

fn nobody_is_asked_who_is_not_there() {
    let world = World::new(&[]);
    let id = world.begin("");
    world.say(&id, "echo x > x");
    let refused = world.txn(&format!("commit {id}"));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--yes"), "{}", refused.err);
    let shown = world.txn(&format!("commit {id} --dry-run"));
    assert_eq!((shown.code, &*shown.out), (0, "A x\nnothing was written\n"));
    assert!(fs::symlink_metadata(world.workspace().join("x")).is_err());
    assert_eq!(world.txn(&format!("rollback {id}")).code, 0);
}
