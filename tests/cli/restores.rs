//! A restore puts back what the run made, and touches nothing that is anybody else's.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::world::{Run, World};

/// A run that changes `src/a.txt`, makes `src/b.txt`, a tool and a directory, and deletes
/// `old.txt`. A command in its last step may have written anything.
const TAPE: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t","root":"/w"}
{"seq":1,"kind":"prompt","name":"user","text":"go"}
{"seq":2,"kind":"tool.call","call":"c1","name":"Edit"}
{"seq":3,"kind":"fs.observe","call":"c1","path":"src/a.txt","mode":"640","text":"one\n"}
{"seq":4,"kind":"fs.write","call":"c1","path":"src/a.txt","mode":"640","text":"two\n"}
{"seq":5,"kind":"tool.result","call":"c1","outcome":"ok"}
{"seq":6,"kind":"tool.call","call":"c2","name":"Write"}
{"seq":7,"kind":"fs.observe","call":"c2","path":"src/b.txt"}
{"seq":8,"kind":"fs.write","call":"c2","path":"src/b.txt","text":"made\n"}
{"seq":9,"kind":"fs.observe","call":"c2","path":"made"}
{"seq":10,"kind":"fs.mkdir","call":"c2","path":"made"}
{"seq":11,"kind":"fs.observe","call":"c2","path":"made/tool"}
{"seq":12,"kind":"fs.write","call":"c2","path":"made/tool","mode":"755","text":"run\n"}
{"seq":13,"kind":"tool.result","call":"c2","outcome":"ok"}
{"seq":14,"kind":"tool.call","call":"c3","name":"Bash"}
{"seq":15,"kind":"fs.observe","call":"c3","path":"old.txt","mode":"644","text":"old\n"}
{"seq":16,"kind":"fs.remove","call":"c3","path":"old.txt"}
{"seq":17,"kind":"tool.result","call":"c3","outcome":"ok"}
{"seq":18,"kind":"tool.call","call":"c4","name":"Bash"}
{"seq":19,"kind":"fs.suspect","call":"c4","why":"a command ran"}
{"seq":20,"kind":"tool.result","call":"c4","outcome":"ok"}
"#;

/// A world with the workspace `w` as the run left it, and with files of the user's.
fn world() -> World {
    let world = World::new(&[]);
    world.put("run.jsonl", TAPE);
    let put = |name: &str, text: &str, mode: u32| {
        let path = world.put(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    put("w/src/a.txt", "two\n", 0o640);
    put("w/src/b.txt", "made\n", 0o644);
    put("w/made/tool", "run\n", 0o755);
    put("w/data/big.out", "mine", 0o644);
    put("w/.env", "SECRET=1", 0o600);
    put("w/src/notes.md", "mine", 0o644);
    put("other/x", "not in it", 0o644);
    world
}

type Seen = BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>;

/// Every path below the working directory, with mode, time and bytes.
fn seen(world: &World) -> Seen {
    let mut seen = Seen::new();
    let mut open = vec![world.path("")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".jukebox") {
                continue;
            }
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = match found.is_dir() {
                true => Vec::new(),
                false if found.is_symlink() => fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
                false => fs::read(&path).unwrap(),
            };
            if found.is_dir() {
                open.push(path.clone());
            }
            let it = (found.mode(), found.mtime(), found.mtime_nsec(), bytes);
            seen.insert(path, it);
        }
    }
    seen
}

fn read(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.path(name)).ok()
}

#[track_caller]
fn expect_code(run: &Run, code: i32) {
    assert_eq!(run.code(), code, "{}{}", run.stdout(), run.stderr());
}

#[test]
fn what_a_restore_and_its_undo_print() {
    let world = world();
    let commands = [
        "restore run.jsonl@2 --dir w",
        "restore run.jsonl@0 --dir w --dry-run",
        "txn status --dir w",
        "restore run.jsonl@2 --dir w --yes",
        "restore run.jsonl@2 --dir w --yes",
        "txn status --dir w",
        "txn status --dir w --json",
        "txn undo --dir w",
        "txn undo --dir w --dry-run",
        "txn undo --dir w --yes",
        "txn undo --dir w --yes",
        "txn recover --dir w",
        "restore run.jsonl --dir w --yes",
        "restore run.jsonl --dir nowhere --yes",
    ];
    world.check_golden("restore", &commands);
}

#[test]
fn a_restore_touches_what_the_run_made_and_nothing_else() {
    let world = world();
    let before = seen(&world);
    let run = world.type_in("restore run.jsonl@1 --dir w --dry-run --json");
    expect_code(&run, 0);
    assert_eq!(seen(&world), before);
    assert!(!world.path("w/.jukebox").exists());

    expect_code(&world.type_in("restore run.jsonl@1 --dir w --yes"), 0);
    assert_eq!(read(&world, "w/src/a.txt").unwrap(), "one\n");
    assert_eq!(read(&world, "w/old.txt").unwrap(), "old\n");
    assert!(!world.path("w/src/b.txt").exists());
    assert!(!world.path("w/made").exists());
    let mode = fs::metadata(world.path("w/src/a.txt")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let after = seen(&world);
    for mine in ["w/data/big.out", "w/.env", "w/src/notes.md", "other/x"] {
        let path = world.path(mine);
        assert_eq!(after.get(&path), before.get(&path), "{mine}");
    }
}

#[test]
fn every_restore_is_undone_to_the_bit_and_in_turn() {
    let world = world();
    let start = seen(&world);
    expect_code(&world.type_in("restore run.jsonl@2 --dir w --yes"), 0);
    let middle = seen(&world);
    expect_code(&world.type_in("restore run.jsonl@1 --dir w --yes"), 0);
    expect_code(&world.type_in("restore run.jsonl@3 --dir w --yes"), 0);
    assert_eq!(read(&world, "w/made/tool").unwrap(), "run\n");
    expect_code(&world.type_in("txn undo --dir w --yes"), 0);
    expect_code(&world.type_in("txn undo --dir w --yes"), 0);
    let mut undone = seen(&world);
    // The workspace itself holds `.jukebox`.
    let workspace = world.path("w");
    undone.insert(workspace.clone(), middle[&workspace].clone());
    assert_eq!(undone, middle);
    expect_code(&world.type_in("txn undo --dir w --yes"), 0);
    let mut undone = seen(&world);
    undone.insert(workspace.clone(), start[&workspace].clone());
    assert_eq!(undone, start);
    expect_code(&world.type_in("txn undo --dir w --yes"), 1);
}

/// Somebody does something before a restore; it is a conflict, and nothing is written.
#[track_caller]
fn conflicts_with(does: impl Fn(&World), path: &str) {
    let world = world();
    does(&world);
    let before = seen(&world);
    let run = world.type_in("restore run.jsonl@1 --dir w --yes --json");
    expect_code(&run, 3);
    assert_eq!(seen(&world), before);
    let said: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(said["written"], false);
    assert_eq!(said["conflicts"][0]["path"], path, "{said}");
}

#[test]
fn what_somebody_changed_since_is_a_conflict_and_stops_everything() {
    conflicts_with(
        |world| drop(world.put("w/src/a.txt", "mine\n")),
        "src/a.txt",
    );
    conflicts_with(
        |world| drop(world.put("w/src/b.txt", "made\nmine")),
        "src/b.txt",
    );
    conflicts_with(|world| drop(world.put("w/old.txt", "mine\n")), "old.txt");
    conflicts_with(
        |world| {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(world.path("w/src/a.txt"), mode).unwrap();
        },
        "src/a.txt",
    );
    conflicts_with(
        |world| {
            fs::remove_file(world.path("w/src/b.txt")).unwrap();
            fs::create_dir(world.path("w/src/b.txt")).unwrap();
        },
        "src/b.txt",
    );
}

#[test]
fn a_directory_of_the_run_stays_while_somebody_keeps_files_in_it() {
    let world = world();
    world.put("w/made/mine", "mine");
    expect_code(&world.type_in("restore run.jsonl@1 --dir w --yes"), 0);
    assert_eq!(read(&world, "w/made/mine").unwrap(), "mine");
    assert!(!world.path("w/made/tool").exists());
}

#[test]
fn a_link_that_leads_out_is_not_followed() {
    let world = world();
    fs::rename(world.path("w/src"), world.path("outside")).unwrap();
    symlink("../outside", world.path("w/src")).unwrap();
    let before = seen(&world);
    let run = world.type_in("restore run.jsonl@1 --dir w --yes");
    expect_code(&run, 3);
    assert_eq!(seen(&world), before);
}

#[test]
fn what_is_not_known_for_certain_is_left_and_listed() {
    let world = world();
    let before = seen(&world);
    let run = world.type_in("restore run.jsonl --dir w --yes --json");
    expect_code(&run, 1);
    let said: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    let left: Vec<_> = said["left"].as_array().unwrap().iter().collect();
    assert!(
        left.iter().any(|left| left["path"] == "src/a.txt"),
        "{said}"
    );
    assert!(
        left.iter().all(|left| left["reason"] == "uncertain"),
        "{said}"
    );
    assert_eq!(said["commit"], serde_json::Value::Null);
    let mut after = seen(&world);
    let workspace = world.path("w");
    after.insert(workspace.clone(), before[&workspace].clone());
    assert_eq!(after, before);
}

#[test]
fn nobody_saw_whether_a_file_was_there_so_it_is_not_deleted() {
    let world = world();
    let looked = r#"{"seq":7,"kind":"fs.observe","call":"c2","path":"src/b.txt"}"#;
    let looked_elsewhere = r#"{"seq":7,"kind":"fs.observe","call":"c2","path":"src/c.txt"}"#;
    assert!(TAPE.contains(looked));
    world.put("run.jsonl", TAPE.replace(looked, looked_elsewhere));
    let run = world.type_in("restore run.jsonl@1 --dir w --yes --json");
    expect_code(&run, 1);
    let said: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(said["left"][0]["path"], "src/b.txt", "{said}");
    assert_eq!(said["left"][0]["reason"], "unseen");
    assert_eq!(read(&world, "w/src/b.txt").unwrap(), "made\n");
}

#[test]
fn a_damaged_journal_is_left_alone_by_every_command() {
    let world = world();
    world.put("w/.jukebox/commit", "jukebox-commit 1 1 -\nchange");
    let before = seen(&world);
    let commands = [
        ("restore run.jsonl@1 --dir w --yes", 3),
        ("txn undo --dir w --yes", 3),
        ("txn recover --dir w", 3),
        ("txn status --dir w", 1),
    ];
    for (command, code) in commands {
        expect_code(&world.type_in(command), code);
    }
    assert_eq!(seen(&world), before);
    let journal = read(&world, "w/.jukebox/commit").unwrap();
    assert!(journal.ends_with("change"));
}

#[test]
fn git_sees_nothing_of_what_is_kept() {
    let Some(git) = super::world::program_of_machine("git") else {
        return;
    };
    let world = world();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&git);
        world.settle(&mut command);
        command.current_dir(world.path("w")).args(arguments);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    expect_code(&world.type_in("restore run.jsonl@1 --dir w --yes"), 0);
    assert!(Path::new(&world.path("w/.jukebox")).is_dir());
    let status = git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(
        status.contains("src/a.txt") && !status.contains(".jukebox"),
        "{status}"
    );
}

/// A run that writes a secret, which the tape has not: into a file that had none, as a name and
/// into a link; and takes it out of the file again.
const REDACTED: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t","root":"/w"}
{"seq":1,"kind":"prompt","name":"user","text":"go"}
{"seq":2,"kind":"tool.call","call":"c1","name":"Write"}
{"seq":3,"kind":"fs.observe","call":"c1","path":"a.txt"}
{"seq":4,"kind":"fs.write","call":"c1","path":"a.txt","text":"one\n"}
{"seq":5,"kind":"fs.observe","call":"c1","path":"key"}
{"seq":6,"kind":"fs.write","call":"c1","path":"key","text":"[REDACTED:1]\n","redacted":true}
{"seq":7,"kind":"fs.observe","call":"c1","path":"of-[REDACTED:1]"}
{"seq":8,"kind":"fs.write","call":"c1","path":"of-[REDACTED:1]","text":"x\n"}
{"seq":9,"kind":"fs.observe","call":"c1","path":"link"}
{"seq":10,"kind":"fs.symlink","call":"c1","path":"link","target":"to-[REDACTED:1]","redacted":true}
{"seq":11,"kind":"tool.result","call":"c1","outcome":"ok"}
{"seq":12,"kind":"tool.call","call":"c2","name":"Write"}
{"seq":13,"kind":"fs.write","call":"c2","path":"a.txt","text":"two\n"}
{"seq":14,"kind":"fs.write","call":"c2","path":"key","text":"none\n"}
{"seq":15,"kind":"fs.remove","call":"c2","path":"link"}
{"seq":16,"kind":"tool.result","call":"c2","outcome":"ok"}
"#;

#[test]
fn a_placeholder_is_never_written_into_a_workspace() {
    let world = World::new(&[]);
    world.put("run.jsonl", REDACTED);
    world.put("w/a.txt", "two\n");
    world.put("w/key", "none\n");
    let run = world.type_in("restore run.jsonl@2 --dir w --yes");
    expect_code(&run, 1);
    let said = run.stdout();
    for path in ["key", "link", "of-[REDACTED:1]"] {
        let line = said.lines().find(|line| line.starts_with(path)).unwrap();
        assert!(line.contains("left as it is: it is redacted"), "{line}");
    }
    assert_eq!(read(&world, "w/a.txt").unwrap(), "one\n");
    assert_eq!(read(&world, "w/key").unwrap(), "none\n");
    assert!(fs::symlink_metadata(world.path("w/link")).is_err());
    assert!(!world.path("w/of-[REDACTED:1]").exists());
}

#[test]
fn what_the_run_wrote_with_a_secret_is_not_taken_for_somebody_elses() {
    let world = World::new(&[]);
    world.put("run.jsonl", REDACTED);
    world.put("w/a.txt", "one\n");
    world.put("w/key", "open sesame\n");
    let run = world.type_in("restore run.jsonl@1 --dir w --yes --json");
    expect_code(&run, 1);
    let object: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
    let left = object["left"].as_array().unwrap().iter();
    let left: Vec<_> = left
        .map(|row| {
            (
                row["path"].as_str().unwrap(),
                row["reason"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        left,
        [("key", "unrecognised"), ("of-[REDACTED:1]", "redacted")]
    );
    assert_eq!(read(&world, "w/key").unwrap(), "open sesame\n");
    assert!(!world.path("w/a.txt").exists());
}

#[test]
fn who_gets_placeholders_is_told() {
    let world = World::new(&[]);
    world.put("run.jsonl", REDACTED);
    let run = world.type_in("checkout run.jsonl@2 out");
    expect_code(&run, 0);
    let line = "key  (redacted: placeholders stand where secrets were taken out)";
    assert!(run.stdout().contains(line), "{}", run.stdout());
    let run = world.type_in("cat run.jsonl@2 key");
    expect_code(&run, 0);
    assert!(run.stderr().contains("key is redacted"), "{}", run.stderr());
}
