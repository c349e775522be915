//! Commits on the real file system.

use std::fs as std_fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::simulated::Chance;
use super::trees::{Thing, Tree, build, changed_tree, is_cleared, plan, random_tree, survey};
use crate::model::{BlobHash, TapePath};
use crate::transaction::fs::Disk;
use crate::transaction::{
    Fingerprint, Operation, Pending, Plan, Supply, TransactionError, Want, Workspace,
};

/// A directory that is gone when it is dropped, whatever the modes in it forbid.
pub(super) struct Work(TempDir);

impl Work {
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut open = vec![self.path().to_owned()];
        while let Some(directory) = open.pop() {
            let mode = std_fs::Permissions::from_mode(0o700);
            let _ = std_fs::set_permissions(&directory, mode);
            for entry in std_fs::read_dir(&directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(entry.path());
                }
            }
        }
    }
}

/// A directory whose barriers cost little, where there is one.
pub(super) fn directory() -> Work {
    let memory = Path::new("/dev/shm");
    let made = tempfile::Builder::new()
        .prefix("jukebox")
        .tempdir_in(memory);
    Work(made.or_else(|_| TempDir::new()).unwrap())
}

fn file(text: &str, mode: u32) -> Thing {
    Thing::File {
        bytes: text.into(),
        mode,
    }
}

fn tree<const N: usize>(things: [(&str, Thing); N]) -> Tree {
    things.map(|(path, thing)| (path.to_owned(), thing)).into()
}

fn conflicts(error: TransactionError) -> Vec<String> {
    match error {
        TransactionError::Conflicts(conflicts) => {
            conflicts.iter().map(|one| one.path.to_text()).collect()
        }
        error => panic!("{error}"),
    }
}

#[test]
fn random_changes_are_committed_and_undone_to_the_bit() {
    for seed in 0..400 {
        let mut chance = Chance::new(seed);
        let old = random_tree(&mut chance, 25);
        let new = changed_tree(&mut chance, &old, 25);
        let work = directory();
        let disk = Disk::open(work.path()).unwrap();
        build(&disk, &old);
        let original = survey(&disk);
        let mut workspace = Workspace::open(work.path()).unwrap();
        let done = workspace.commit(&plan(&old, &new)).unwrap();
        assert!(done.late.is_empty(), "seed {seed}");
        assert_eq!(survey(&disk).0, new, "seed {seed}");
        assert!(is_cleared(&disk), "seed {seed}");
        if old != new {
            workspace.undo().unwrap();
            assert_eq!(survey(&disk), original, "seed {seed}");
        }
    }
}

#[test]
fn as_many_undos_as_commits_lead_back_to_the_start() {
    let work = directory();
    let disk = Disk::open(work.path()).unwrap();
    let trees = ["1", "2", "3"].map(|text| tree([("f", file(text, 0o640))]));
    build(&disk, &trees[0]);
    let original = survey(&disk);
    let mut workspace = Workspace::open(work.path()).unwrap();
    for pair in trees.windows(2) {
        workspace.commit(&plan(&pair[0], &pair[1])).unwrap();
    }
    workspace.undo().unwrap();
    assert_eq!(survey(&disk).0, trees[1]);
    workspace.undo().unwrap();
    assert_eq!(survey(&disk), original);
    let nothing = workspace.undo();
    assert!(matches!(nothing, Err(TransactionError::NothingToUndo)));
}

#[test]
fn an_undo_never_takes_what_was_written_since() {
    let work = directory();
    let disk = Disk::open(work.path()).unwrap();
    let (old, new) = (
        tree([("f", file("1", 0o644)), ("g", file("1", 0o644))]),
        tree([
            ("f", file("2", 0o644)),
            ("d", Thing::Directory { mode: 0o755 }),
        ]),
    );
    build(&disk, &old);
    let mut workspace = Workspace::open(work.path()).unwrap();
    workspace.commit(&plan(&old, &new)).unwrap();
    std_fs::write(work.path().join("d/mine"), "mine").unwrap();
    std_fs::write(work.path().join("f"), "2 and mine").unwrap();
    let before = survey(&disk);
    assert_eq!(conflicts(workspace.undo().unwrap_err()), ["d/mine", "f"]);
    assert_eq!(survey(&disk), before);
    std_fs::remove_file(work.path().join("d/mine")).unwrap();
    std_fs::write(work.path().join("f"), "2").unwrap();
    workspace.undo().unwrap();
    assert_eq!(survey(&disk).0, old);
}

/// The workspace of a transaction that writes `w`, deletes `d` and creates `s/c`, while
/// somebody else does something; which paths conflict.
#[track_caller]
fn while_somebody(does: impl Fn(&Path), expected: &[&str]) {
    let work = directory();
    let disk = Disk::open(work.path()).unwrap();
    let sub = || Thing::Directory { mode: 0o755 };
    let old = tree([
        ("w", file("old", 0o644)),
        ("d", file("d", 0o644)),
        ("r", file("read", 0o644)),
        ("s", sub()),
    ]);
    let new = tree([
        ("w", file("new", 0o644)),
        ("r", file("read", 0o644)),
        ("s", sub()),
        ("s/c", file("c", 0o644)),
    ]);
    build(&disk, &old);
    does(work.path());
    let before = survey(&disk);
    let mut workspace = Workspace::open(work.path()).unwrap();
    let preview = workspace.preview(&plan(&old, &new)).unwrap();
    let found: Vec<_> = preview
        .conflicts
        .iter()
        .map(|one| one.path.to_text())
        .collect();
    assert_eq!(found, expected);
    assert!(
        !work.path().join(".jukebox").exists(),
        "a look wrote something"
    );
    match workspace.commit(&plan(&old, &new)) {
        Ok(done) => {
            assert!(expected.is_empty() && done.late.is_empty());
            assert_eq!(survey(&disk).0, new);
            let again = workspace.commit(&plan(&old, &new)).unwrap();
            assert_eq!((again.id, again.changed), (None, 0));
        }
        Err(error) => {
            assert_eq!(conflicts(error), expected);
            assert_eq!(survey(&disk), before);
        }
    }
}

#[test]
fn what_somebody_else_changed_is_a_conflict_and_what_only_looks_so_is_none() {
    let write = |name: &'static str, text: &'static str| {
        move |work: &Path| std_fs::write(work.join(name), text).unwrap()
    };
    while_somebody(|_| {}, &[]);
    while_somebody(write("w", "theirs"), &["w"]);
    while_somebody(write("w", "new"), &[]);
    while_somebody(write("w", "old"), &[]);
    while_somebody(write("d", "theirs"), &["d"]);
    while_somebody(write("s/c", "theirs"), &["s/c"]);
    while_somebody(|work| std_fs::remove_file(work.join("d")).unwrap(), &[]);
    while_somebody(
        |work| {
            let mode = std_fs::Permissions::from_mode(0o600);
            std_fs::set_permissions(work.join("w"), mode).unwrap();
        },
        &["w"],
    );
    while_somebody(
        |work| {
            std_fs::remove_dir(work.join("s")).unwrap();
            symlink("/tmp", work.join("s")).unwrap();
        },
        &["s"],
    );
}

#[test]
fn a_read_that_is_no_longer_true_is_a_conflict_where_that_was_asked_for() {
    let work = directory();
    std_fs::write(work.path().join("r"), "2").unwrap();
    let mut plan = plan(&Tree::new(), &tree([("w", file("w", 0o644))]));
    let read = Fingerprint::File {
        hash: BlobHash::of(b"1"),
        len: Some(1),
        mode: None,
    };
    plan.reads.push((TapePath::new("r").unwrap(), read));
    let mut workspace = Workspace::open(work.path()).unwrap();
    assert_eq!(conflicts(workspace.commit(&plan).unwrap_err()), ["r"]);
    assert!(!work.path().join("w").exists());
}

#[test]
fn a_plan_reaches_nothing_outside_and_not_its_own_state() {
    for path in ["/etc/jukebox", ".jukebox/lock", ".jukebox"] {
        let work = directory();
        let mut workspace = Workspace::open(work.path()).unwrap();
        let plan = plan(&Tree::new(), &tree([(path, file("x", 0o644))]));
        let refused = workspace.commit(&plan);
        assert!(
            matches!(refused, Err(TransactionError::Refused { .. })),
            "{path}"
        );
    }
}

#[test]
fn a_state_directory_that_is_a_link_is_refused_and_not_followed() {
    let (work, outside) = (directory(), directory());
    symlink(outside.path(), work.path().join(".jukebox")).unwrap();
    let mut workspace = Workspace::open(work.path()).unwrap();
    let plan = plan(&Tree::new(), &tree([("a", file("x", 0o644))]));
    assert!(matches!(
        workspace.commit(&plan),
        Err(TransactionError::State)
    ));
    assert!(matches!(workspace.status(), Err(TransactionError::State)));
    assert_eq!(std_fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_becomes_a_link_meanwhile_leads_nowhere() {
    let (work, outside) = (directory(), directory());
    std_fs::write(outside.path().join("canary"), "canary").unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let (sub, away) = (work.path().join("sub"), work.path().join("away"));
    std_fs::create_dir(&sub).unwrap();
    symlink(outside.path(), &away).unwrap();
    let swapper = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &sub, CWD, &away, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    for round in 0..200 {
        let mut workspace = Workspace::open(work.path()).unwrap();
        let name = format!("sub/{round}");
        let mut plan = plan(&Tree::new(), &tree([(&*name, file("x", 0o777))]));
        plan.operations.push(Operation {
            path: TapePath::new("sub/canary").unwrap(),
            base: Fingerprint::File {
                hash: BlobHash::of(b"canary"),
                len: None,
                mode: None,
            },
            want: Want::Absent,
        });
        let _ = workspace.commit(&plan);
    }
    is_over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let names: Vec<_> = std_fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(names.len(), 1);
    let canary = std_fs::read(outside.path().join("canary")).unwrap();
    assert_eq!(canary, b"canary");
}

#[test]
fn modes_survive_and_never_lend_rights() {
    let work = directory();
    let put = |path: &str, mode| Operation {
        path: TapePath::new(path).unwrap(),
        base: Fingerprint::Absent,
        want: Want::File {
            content: Supply::Bytes(Arc::from(&b"x"[..])),
            mode,
            mtime: None,
        },
    };
    std_fs::create_dir(work.path().join("private")).unwrap();
    let mode = std_fs::Permissions::from_mode(0o700);
    std_fs::set_permissions(work.path().join("private"), mode).unwrap();
    let plan = Plan {
        operations: vec![
            put("key", Some(0o600)),
            put("run", Some(0o755)),
            put("suid", Some(0o6755)),
            put("private/new/file", None),
        ],
        ..Plan::default()
    };
    Workspace::open(work.path()).unwrap().commit(&plan).unwrap();
    let mode = |path: &str| std_fs::metadata(work.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(mode("key"), 0o600);
    assert_eq!(mode("run"), 0o755);
    assert_eq!(mode("suid"), 0o755);
    assert_eq!(mode("private/new"), 0o700);
    assert_eq!(mode("private/new/file"), 0o600);
    assert_eq!(mode(".jukebox"), 0o700);
    let ignored = std_fs::read(work.path().join(".jukebox/.gitignore")).unwrap();
    assert_eq!(ignored, b"*\n");
}

#[test]
fn a_damaged_journal_stops_everything_and_touches_nothing() {
    let work = directory();
    std_fs::create_dir(work.path().join(".jukebox")).unwrap();
    std_fs::write(
        work.path().join(".jukebox/commit"),
        "jukebox-commit 1 1 -\n",
    )
    .unwrap();
    std_fs::write(work.path().join("f"), "1").unwrap();
    let mut workspace = Workspace::open(work.path()).unwrap();
    assert!(matches!(
        workspace.recover(),
        Err(TransactionError::Damaged)
    ));
    let plan = plan(&Tree::new(), &tree([("a", file("x", 0o644))]));
    assert!(matches!(
        workspace.commit(&plan),
        Err(TransactionError::Damaged)
    ));
    assert_eq!(workspace.status().unwrap().pending, Pending::Damaged);
    assert!(!work.path().join("a").exists());
    assert!(work.path().join(".jukebox/commit").exists());
}

#[test]
fn one_process_at_a_time_commits() {
    let work = directory();
    let mut one = Workspace::open(work.path()).unwrap();
    let mut two = Workspace::open(work.path()).unwrap();
    let first = plan(&Tree::new(), &tree([("a", file("x", 0o644))]));
    one.commit(&first).unwrap();
    let second = plan(&Tree::new(), &tree([("b", file("x", 0o644))]));
    two.patience = Duration::ZERO;
    assert!(matches!(two.commit(&second), Err(TransactionError::Locked)));
    drop(one);
    two.commit(&second).unwrap();
}

#[test]
fn a_commit_waits_for_another_one() {
    let work = directory();
    let mut one = Workspace::open(work.path()).unwrap();
    let first = plan(&Tree::new(), &tree([("a", file("x", 0o644))]));
    one.commit(&first).unwrap();
    let (begins, begun) = mpsc::channel();
    let other = work.path().to_owned();
    let second = thread::spawn(move || {
        let mut two = Workspace::open(&other).unwrap();
        two.patience = Duration::from_mins(1);
        begins.send(()).unwrap();
        let plan = plan(&Tree::new(), &tree([("b", file("x", 0o644))]));
        two.commit(&plan).unwrap();
    });
    begun.recv().unwrap();
    // The other one is to find it locked; should it come later, it has less to show.
    thread::sleep(Duration::from_millis(50));
    drop(one);
    second.join().unwrap();
    assert!(work.path().join("b").exists());
}

/// A small file system, as long as it lives.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(bytes: usize) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]);
        let mounted = mount.arg(directory.path()).output();
        mounted.ok()?.status.success().then_some(Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_leaves_the_old_tree() {
    let Some(disk) = SmallDisk::mount(256 * 1024) else {
        super::skipped("no small file system can be mounted");
        return;
    };
    let big = "x".repeat(100 * 1024);
    let work = disk.0.path();
    let old = tree([("a", file(&big, 0o644)), ("b", file("b", 0o644))]);
    let mut new = tree([("a", file("a", 0o644))]);
    for name in ["c", "d"] {
        new.insert(name.to_owned(), file(&big, 0o644));
    }
    let fs = Disk::open(work).unwrap();
    build(&fs, &old);
    let before = survey(&fs);
    let mut workspace = Workspace::open(work).unwrap();
    let full = workspace.commit(&plan(&old, &new));
    assert!(
        matches!(full, Err(TransactionError::Prepare(_))),
        "{full:?}"
    );
    assert_eq!(survey(&fs), before);
    assert!(is_cleared(&fs));
    new.remove("d");
    workspace.commit(&plan(&old, &new)).unwrap();
    assert_eq!(survey(&fs).0, new);
}
