//! Recording what calls change: files are changed beside a real recorder, and what its tape
//! says of them is looked at.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use super::recorder::{Recorder, changes, check_same_tree, check_whole, events};
use super::world::World;

#[test]
fn what_a_call_changes_stands_between_it_and_its_result() {
    let world = World::new(&[]);
    for (name, text) in [
        ("w/a", "a\n"),
        ("w/b", "b\n"),
        ("w/c", "c\n"),
        ("w/old", "x\n"),
    ] {
        world.put(name, text);
    }
    for name in ["w/dir/one", "w/dir/deep/two", "w/gone/three", "w/kind/four"] {
        world.put(name, name);
    }
    symlink("a", world.path("w/link")).unwrap();
    symlink(".", world.path("w/loop")).unwrap();
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    recorder.say(json!({"kind": "prompt", "text": "Go."}));
    recorder.call("c1", json!({}));
    let at = |name: &str| world.path("w").join(name);
    fs::write(at("new"), "new\n").unwrap();
    fs::write(at("a"), "a, changed\n").unwrap();
    fs::remove_file(at("b")).unwrap();
    fs::set_permissions(at("c"), Permissions::from_mode(0o755)).unwrap();
    fs::rename(at("old"), at("moved")).unwrap();
    fs::rename(at("dir"), at("folder")).unwrap();
    fs::write(at("folder/deep/two"), "two, changed").unwrap();
    fs::remove_dir_all(at("gone")).unwrap();
    fs::remove_dir_all(at("kind")).unwrap();
    fs::write(at("kind"), "a file now").unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("c", at("link")).unwrap();
    let bytes = std::ffi::OsStr::from_bytes(b"n\xffme");
    fs::write(world.path("w").join(bytes), [0, 159, 146, 150]).unwrap();
    let found = recorder.result("c1");
    assert_eq!(recorder.end(), 0);
    let expected = "\
rename folder <-dir [c1]
rename moved <-old [c1]
remove b [c1]
remove gone [c1]
remove kind [c1]
write a [c1]
chmod c 755 [c1]
write folder/deep/two [c1]
write kind [c1]
symlink link ->c [c1]
write new [c1]
write n\u{fffd}me [c1]
";
    assert_eq!(changes(&world, "run.jsonl"), expected);
    assert_eq!(found, expected.lines().count() as u64);
    check_whole(&world, "run.jsonl");
    check_same_tree(&world, "run.jsonl", "w");
    assert_eq!(
        world.type_in("cat run.jsonl@0 a").stdout(),
        "a\n",
        "as it was before"
    );
    assert_eq!(
        world.type_in("cat run.jsonl@0 dir/deep/two").stdout(),
        "w/dir/deep/two"
    );
}

#[test]
fn what_changes_while_no_call_runs_is_nobodys() {
    let world = World::new(&[]);
    world.put("w/a", "a\n");
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    recorder.say(json!({"kind": "prompt", "text": "Go."}));
    fs::write(world.path("w/a"), "by hand\n").unwrap();
    recorder.call("c1", json!({}));
    assert_eq!(recorder.result("c1"), 0);
    fs::write(world.path("w/b"), "late\n").unwrap();
    assert_eq!(recorder.end(), 0);
    assert_eq!(
        changes(&world, "run.jsonl"),
        "write a outside\nwrite b outside\n"
    );
    check_whole(&world, "run.jsonl");
    check_same_tree(&world, "run.jsonl", "w");
}

#[test]
fn of_calls_that_overlap_arguments_decide_or_all_are_candidates() {
    let world = World::new(&[]);
    world.put("w/a", "a\n");
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    recorder.call("c1", json!({"path": world.path("w/a")}));
    recorder.call("c2", json!({"command": "tee b.txt < a"}));
    for name in ["w/a", "w/b.txt", "w/other"] {
        world.put(name, "changed\n");
    }
    assert_eq!(recorder.result("c2"), 3);
    fs::write(world.path("w/b.txt"), "again\n").unwrap();
    assert_eq!(recorder.result("c1"), 1);
    recorder.call("c3", json!({}));
    recorder.call("c4", json!({}));
    let refused = json!({"kind": "tool.result", "call": "c4", "outcome": "refused", "output": ""});
    fs::write(world.path("w/a"), "by c3\n").unwrap();
    assert_eq!(
        recorder.say(refused)["changes"],
        1,
        "what was refused did nothing"
    );
    recorder.result("c3");
    assert_eq!(recorder.end(), 0);
    let expected = "\
write a [c1]
write b.txt [c2]
write other [\"c1\",\"c2\"]
write b.txt [c1]
write a [c3]
";
    assert_eq!(changes(&world, "run.jsonl"), expected);
    check_whole(&world, "run.jsonl");
}

#[test]
fn a_change_that_was_told_is_not_told_twice() {
    let world = World::new(&[]);
    world.put("w/a", "a\n");
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    recorder.call("c1", json!({}));
    fs::write(world.path("w/a"), "b\n").unwrap();
    // By its absolute path, as tools often have it.
    let path = fs::canonicalize(world.path("w/a")).unwrap();
    recorder.say(json!({"kind": "fs.write", "call": "c1", "path": path, "text": "b\n"}));
    assert_eq!(recorder.result("c1"), 0);
    assert_eq!(recorder.end(), 0);
    assert_eq!(changes(&world, "run.jsonl"), "write a [c1]\n");
    check_whole(&world, "run.jsonl");
}

#[test]
fn a_write_that_leaves_size_and_time_alone_is_found() {
    let world = World::new(&[]);
    world.put("w/a", "one\n");
    let before = fs::metadata(world.path("w/a")).unwrap().modified().unwrap();
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    for (number, text) in ["two\n", "six\n", "ten\n"].into_iter().enumerate() {
        let id = format!("c{number}");
        recorder.call(&id, json!({}));
        let mut file = File::options().write(true).open(world.path("w/a")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(before).unwrap();
        assert_eq!(recorder.result(&id), 1, "{text}");
    }
    assert_eq!(recorder.end(), 0);
    check_whole(&world, "run.jsonl");
    assert_eq!(world.type_in("cat run.jsonl a").stdout(), "ten\n");
}

#[test]
fn ten_thousand_files_and_huge_and_binary_ones() {
    let world = World::new(&[]);
    for number in 0..1_000 {
        world.put(format!("w/d{}/f{number}", number % 100), number.to_string());
    }
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    recorder.say(json!({"kind": "prompt", "text": "Go."}));
    recorder.call("c1", json!({}));
    fs::write(world.path("w/d7/f907"), "changed").unwrap();
    fs::write(world.path("w/binary"), [0xff; 3000]).unwrap();
    // More than is kept; it has holes, and takes no room.
    File::create(world.path("w/huge"))
        .unwrap()
        .set_len(17 << 20)
        .unwrap();
    assert_eq!(recorder.result("c1"), 3);
    recorder.call("c2", json!({}));
    fs::remove_dir_all(world.path("w/d8")).unwrap();
    assert_eq!(recorder.result("c2"), 1);
    // More than the system keeps in mind.
    recorder.call("c3", json!({}));
    for number in 0..9_000 {
        world.put(format!("w/more/f{number}"), "new");
    }
    assert_eq!(recorder.result("c3"), 9_001);
    assert_eq!(recorder.end(), 0);
    check_whole(&world, "run.jsonl");
    let tree = world.type_in("tree run.jsonl --json").stdout();
    let rows: Vec<Value> = tree
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let files = rows.iter().filter(|row| row["type"] == "file").count();
    assert_eq!(files, 9_992, "{}", rows[0]);
    let huge = rows.iter().find(|row| row["path"] == "huge").unwrap();
    assert_eq!(huge["certainty"], "unstored");
    assert_eq!(world.type_in("cat run.jsonl d7/f907").stdout(), "changed");
    assert_eq!(world.type_in("cat run.jsonl@1 d8/f8").stdout(), "8");
}

#[test]
fn a_workspace_that_was_made_anew_is_watched_on() {
    let world = World::new(&[]);
    world.put("w/a", "a\n");
    world.put("w/b/c", "c\n");
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w");
    recorder.call("c1", json!({}));
    fs::rename(world.path("w"), world.path("away")).unwrap();
    world.put("w/a", "another\n");
    assert_eq!(recorder.result("c1"), 2);
    recorder.call("c2", json!({}));
    world.put("w/a", "once more\n");
    world.put("away/a", "not this one\n");
    assert_eq!(recorder.result("c2"), 1);
    assert_eq!(recorder.end(), 0);
    let expected = "remove b [c1]\nwrite a [c1]\nwrite a [c2]\n";
    assert_eq!(changes(&world, "run.jsonl"), expected);
    check_whole(&world, "run.jsonl");
    check_same_tree(&world, "run.jsonl", "w");
}

#[test]
fn what_is_not_covered_is_said_and_left_alone() {
    let world = World::new(&[]);
    for (name, text) in [
        (".gitignore", "target/\n*.log\n"),
        ("target/debug/x", "x"),
        ("a.log", "log"),
        (".git/HEAD", "ref"),
        ("nested/.git/HEAD", "ref"),
        ("nested/plain.txt", "plain"),
        (".jukebox/lock", ""),
        ("secret", "s"),
    ] {
        world.put(format!("w/{name}"), text);
    }
    let pipe = world.path("w/pipe");
    let at = rustix::fs::CWD;
    rustix::fs::mknodat(at, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    fs::set_permissions(world.path("w/secret"), Permissions::from_mode(0o0)).unwrap();
    let mut recorder = Recorder::start(&world, "-o w/run.jsonl --watch w");
    recorder.say(json!({"kind": "prompt", "text": "Go."}));
    recorder.call("c1", json!({}));
    for name in [
        "w/target/y",
        "w/b.log",
        "w/.git/index",
        "w/nested/.git/x",
        "w/.jukebox/x",
    ] {
        world.put(name, "not covered");
    }
    world.put("w/nested/plain.txt", "covered");
    world.put("w/.gitignore", "*.txt\n");
    assert_eq!(recorder.result("c1"), 2);
    assert_eq!(recorder.end(), 0);
    let run = world.type_in("verify w/run.jsonl");
    assert_eq!(run.code(), 0, "{}", run.stdout());
    assert_eq!(
        changes(&world, "w/run.jsonl"),
        "write .gitignore [c1]\nwrite nested/plain.txt [c1]\n"
    );
    let covers = &events(&world, "w/run.jsonl")[0]["covers"];
    let says = |what: &str, words: &str| {
        let said = covers[what].as_str().unwrap_or_default();
        assert!(said.contains(words), "{what}: {said}");
    };
    says("ignored", "target/ (1 file)");
    says("ignored", "a.log");
    says("special", "pipe (named pipe)");
    says("repositories", ".git");
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        says("unreadable", "secret");
        let secret = world.type_in("cat w/run.jsonl secret");
        assert_ne!(secret.code(), 0);
    }
    let names = world.type_in("tree w/run.jsonl").stdout();
    for name in ["log", "HEAD", "index", "lock", "run.jsonl", "debug"] {
        assert!(!names.contains(name), "{name}: {names}");
    }
}

#[test]
fn a_home_directory_is_watched_only_when_that_is_meant() {
    let world = World::new(&[]);
    let home = world.path("../home");
    fs::create_dir_all(home.join("project")).unwrap();
    let check = |watch: &str, code, words: &str| {
        let run = world.type_in(&format!("record --stdin -o run.jsonl {watch}"));
        assert_eq!(run.code(), code, "{watch}: {}", run.stderr());
        assert!(run.stderr().contains(words), "{}", run.stderr());
        let _unless_refused = fs::remove_file(world.path("run.jsonl"));
    };
    check(
        "--watch ../home",
        2,
        "holds the home directory; nothing was recorded",
    );
    check("--watch ..", 2, "holds the home directory");
    check("--watch /", 2, "holds the home directory");
    check("--watch ../home --allow-home", 0, "");
    check("--watch ../home/project", 0, "");
    check("--watch nowhere", 2, "cannot be watched");
    check("--watch . --watch ../work", 2, "which is watched");
    world.put("run.jsonl", "mine");
    let run = world.type_in("record --stdin -o run.jsonl");
    assert_eq!((run.code(), run.stdout()), (3, String::new()));
    assert_eq!(fs::read_to_string(world.path("run.jsonl")).unwrap(), "mine");
}

#[test]
fn a_second_directory_is_told_by_its_absolute_paths() {
    let world = World::new(&[]);
    world.put("w/a", "a\n");
    let other = world.put("other/b", "b\n");
    let mut recorder = Recorder::start(&world, "-o run.jsonl --watch w --watch other");
    recorder.call("c1", json!({}));
    fs::write(&other, "b, changed\n").unwrap();
    assert_eq!(recorder.result("c1"), 1);
    assert_eq!(recorder.end(), 0);
    check_whole(&world, "run.jsonl");
    let path = fs::canonicalize(&other).unwrap();
    let path = path.to_str().unwrap();
    let expected = format!("observe {path}\nwrite {path} [c1]\n");
    assert_eq!(changes(&world, "run.jsonl"), expected);
    assert_eq!(world.run(&["cat", "run.jsonl@0", path]).stdout(), "b\n");
}
