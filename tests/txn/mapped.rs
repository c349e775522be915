//! Files that commands write through mappings: what no stat tells is missed nowhere.

use std::fs;
use std::path::Path;

use super::who::{self, as_root_and_as_user};
use super::world::{Ran, World};

as_root_and_as_user!(
    what_is_written_through_a_mapping_is_told_when_the_call_has_ended,
    what_somebody_left_writes_through_a_mapping_is_told_and_committed,
    a_commit_reads_again_what_changed_without_a_trace,
);

/// Perl that maps `f`, and puts bytes there: by reading a pipe into the mapping. Its calls are
/// those of one machine by their numbers.
const MAP: &str = "open F, q(+<), q(f); $at = syscall(9, 0, 4096, 3, 1, fileno(F), 0); \
    pipe(R, W); syscall(1, fileno(W), $at, 1); sysread(R, $seen, 1); \
    sub put { syswrite(W, $_[0]); syscall(0, fileno(R), $at, length $_[0]) == 4 or exit 1 } \
    sub wait_for { until (-e $_[0]) { select(undef, undef, undef, 0.01) } } \
    sub say_so { open S, q(>), $_[0]; close S } ";

fn can_map() -> bool {
    let can_map = cfg!(target_arch = "x86_64") && Path::new("/usr/bin/perl").exists();
    if !can_map {
        println!("skipped: no perl that maps files by the calls of this machine");
    }
    can_map
}

/// A file as the tape of a transaction has it in the end.
#[track_caller]
fn on_tape(world: &World, workspace: &Path, id: &str, file: &str) -> String {
    let tape = workspace.join(format!(".jukebox/tapes/{id}.jsonl"));
    let mut cat = world.command(who::program());
    let ran = Ran::of(cat.arg("cat").arg(tape).arg(file));
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

fn what_is_written_through_a_mapping_is_told_when_the_call_has_ended() {
    let world = World::new(&[("f", "0000")]);
    if !can_map() {
        return;
    }
    let id = world.begin("");
    // Long enough for a look to find it at rest, and to tell what it holds then.
    let script = format!("perl -e '{MAP} put(q(1111)); sleep 1; put(q(2222))'");
    world.say(&id, &script);
    assert_eq!(on_tape(&world, &world.workspace(), &id, "f"), "2222");
    assert_eq!(world.txn(&format!("commit {id} --yes")).code, 0);
    assert_eq!(world.read("f"), "2222");
}

fn what_somebody_left_writes_through_a_mapping_is_told_and_committed() {
    let world = World::new(&[("f", "0000")]);
    if !can_map() {
        return;
    }
    let id = world.begin("");
    let left = format!(
        "perl -e '{MAP} put(q(1111)); say_so(q(one)); wait_for(q(go)); put(q(2222)); \
         say_so(q(two)); sleep 600' & while ! test -e one; do sleep 0.01; done"
    );
    world.say(&id, &left);
    assert_eq!(on_tape(&world, &world.workspace(), &id, "f"), "1111");
    world.say(
        &id,
        "touch go; while ! test -e two; do sleep 0.01; done; cat f",
    );
    let commit = world.txn(&format!("commit {id} --yes"));
    assert_eq!(commit.code, 0, "{}", commit.err);
    assert_eq!(world.read("f"), "2222");
    assert_eq!(on_tape(&world, &world.workspace(), &id, "f"), "2222");
    world.nothing_is_left();
}

/// In memory, a file system keeps no time of what is written through a mapping that was read
/// before.
fn a_commit_reads_again_what_changed_without_a_trace() {
    let world = World::new(&[]);
    let Ok(place) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no file system in memory");
        return;
    };
    if !can_map() {
        return;
    }
    let workspace = place.path().join("W");
    fs::create_dir(&workspace).unwrap();
    let begun = world.txn(&format!("begin --dir {}", workspace.display()));
    if begun.code == 4 {
        println!("skipped: {}", begun.err);
        return;
    }
    let id = begun.out.trim();
    world.say(id, "printf 0000 > f");
    world.say(id, &format!("perl -e '{MAP} put(q(1111))'"));
    let commit = world.txn(&format!("commit {id} --yes"));
    assert_eq!(commit.code, 0, "{}", commit.err);
    assert_eq!(fs::read_to_string(workspace.join("f")).unwrap(), "1111");
    assert_eq!(on_tape(&world, &workspace, id, "f"), "1111");
}
