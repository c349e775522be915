//! The real process, killed at every call it makes to the real file system.
//!
//! The test runs itself in a directory with instructions, as a process of its own, which
//! kills itself at the call that they name. What it left is then recovered in place.

use std::cell::Cell;
use std::fs as std_fs;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::real::directory;
use super::trees::{Thing, Tree, build, is_cleared, plan, survey};
use crate::transaction::fs::{Disk, Fs, Node, Time};
use crate::transaction::settle::KindGuard;
use crate::transaction::{Plan, Recovery, Verdict, Workspace};

const INSTRUCTIONS: &str = "instructions";
const WORK: &str = "work";
const TRANSACTION: &str = "its id";

/// Where the process is killed: before the call of this number.
struct Deadly {
    disk: Disk,
    calls_left: Cell<usize>,
}

impl Deadly {
    fn disk(&self) -> &Disk {
        if let Some(left) = self.calls_left.get().checked_sub(1) {
            self.calls_left.set(left);
        } else {
            use rustix::process::{Signal, getpid, kill_process};
            kill_process(getpid(), Signal::KILL).unwrap();
        }
        &self.disk
    }
}

/// Passes calls on to the disk, as long as the process lives.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Fs for Deadly {
            $(fn $name(&self, $($argument: $type),*) -> io::Result<$result> {
                self.disk().$name($($argument),*)
            })*
        }
    };
}

pass_on! {
    look(path: &[u8]) -> Option<Node>;
    list(path: &[u8]) -> Vec<Vec<u8>>;
    open(path: &[u8]) -> Box<dyn Read>;
    target(path: &[u8]) -> Vec<u8>;
    create(path: &[u8], content: &mut dyn Read, mode: u32) -> ();
    make_directory(path: &[u8]) -> ();
    make_link(path: &[u8], target: &[u8]) -> ();
    add_name(path: &[u8], name: &[u8]) -> ();
    rename(from: &[u8], to: &[u8]) -> ();
    replace(from: &[u8], to: &[u8]) -> ();
    exchange(one: &[u8], two: &[u8]) -> ();
    remove(path: &[u8]) -> ();
    remove_directory(path: &[u8]) -> ();
    set_mode(path: &[u8], mode: u32) -> ();
    set_mtime(path: &[u8], mtime: Time) -> ();
    sync(path: &[u8]) -> ();
    barrier() -> ();
    lock(path: &[u8]) -> bool;
}

fn things(list: &[(&str, &str)]) -> Tree {
    let thing = |text: &str| match text.split_at(1) {
        ("d", mode) => Thing::Directory {
            mode: u32::from_str_radix(mode, 8).unwrap(),
        },
        ("l", target) => Thing::Link(target.into()),
        ("x", text) => Thing::File {
            bytes: text.into(),
            mode: 0o755,
        },
        (_, text) => Thing::File {
            bytes: text.into(),
            mode: 0o644,
        },
    };
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), thing(text)))
        .collect()
}

fn old() -> Tree {
    things(&[
        ("changed", "f1"),
        ("deleted", "f2"),
        ("mode", "f3"),
        ("renamed-from", "f4"),
        ("link", "lchanged"),
        ("file-to-dir", "f5"),
        ("file-to-link", "f6"),
        ("dir-to-file", "d755"),
        ("dir-to-file/a", "f7"),
        ("dir-to-file/sub", "d755"),
        ("dir-to-file/sub/b", "f8"),
        ("dir-to-link", "d700"),
        ("dir-to-link/c", "f9"),
        ("link-to-file", "ldeleted"),
        ("link-to-dir", "ldir-to-file"),
        ("read-only", "d555"),
        ("read-only/inside", "f10"),
        ("untouched", "d750"),
        ("untouched/file", "f11"),
    ])
}

fn new() -> Tree {
    things(&[
        ("changed", "f1 and more"),
        ("mode", "x3"),
        ("renamed-to", "f4"),
        ("link", "lmode"),
        ("file-to-dir", "d755"),
        ("file-to-dir/a", "f12"),
        ("file-to-link", "lchanged"),
        ("dir-to-file", "f13"),
        ("dir-to-link", "l/nowhere"),
        ("link-to-file", "f14"),
        ("link-to-dir", "d711"),
        ("link-to-dir/deep", "d755"),
        ("link-to-dir/deep/er", "f15"),
        ("read-only", "d555"),
        ("read-only/inside", "f16"),
        ("untouched", "d750"),
        ("untouched/file", "f11"),
    ])
}

fn its_plan() -> Plan {
    Plan {
        transaction: Some(TRANSACTION.to_owned()),
        ..plan(&old(), &new())
    }
}

/// The process that is to be killed. Without instructions, as in every other run of the
/// tests, there is nothing to do.
#[test]
fn victim() {
    let Ok(instructions) = std_fs::read_to_string(INSTRUCTIONS) else {
        return;
    };
    let (doing, calls) = instructions.split_once(' ').unwrap();
    let deadly = Deadly {
        disk: Disk::open(Path::new(WORK)).unwrap(),
        calls_left: Cell::new(calls.parse().unwrap()),
    };
    let mut workspace = Workspace::on(Box::new(deadly), KindGuard::On);
    match doing {
        "commit" => drop(workspace.commit(&its_plan()).unwrap()),
        "undo" => drop(workspace.undo().unwrap()),
        _ => drop(workspace.recover().unwrap()),
    }
}

/// Does something in a process of its own; whether it was killed at the call.
fn is_killed(place: &Path, doing: &str, calls: usize) -> bool {
    std_fs::write(place.join(INSTRUCTIONS), format!("{doing} {calls}")).unwrap();
    let status = Command::new("/proc/self/exe")
        .args(["--exact", "transaction::tests::killed::victim"])
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    match status.signal() {
        Some(9) => true,
        None if status.success() => false,
        _ => panic!("{doing} {calls}: {status}"),
    }
}

/// Kills at each call from the first on, recovers, and looks; how many calls there were.
fn kill_everywhere(doing: &str, has_to_recover_twice: bool) -> usize {
    for calls in 0.. {
        let place = directory();
        let work = place.path().join(WORK);
        std_fs::create_dir(&work).unwrap();
        let disk = Disk::open(&work).unwrap();
        build(&disk, &old());
        let original = survey(&disk);
        if doing == "undo" {
            let mut workspace = Workspace::open(&work).unwrap();
            workspace.commit(&its_plan()).unwrap();
        }
        let was_killed = is_killed(place.path(), doing, calls);
        if has_to_recover_twice && was_killed {
            // Later in the recovery the later the commit was killed.
            is_killed(place.path(), "recover", calls % 97);
        }
        let mut workspace = Workspace::open(&work).unwrap();
        let told = workspace.verdict(TRANSACTION, Some(1)).unwrap();
        let found = workspace.recover().unwrap();
        let (tree, times) = survey(&disk);
        let context = format!("{doing} killed at {calls}");
        let is_finished = matches!(found, Recovery::Finished(_));
        let after = match (doing, tree == new()) {
            ("commit", false) => Verdict::NotCommitted,
            _ => Verdict::Committed(1),
        };
        let before = match doing {
            "commit" if is_finished => Verdict::CutOff,
            _ => after,
        };
        assert_eq!(told, before, "{context}");
        let told = workspace.verdict(TRANSACTION, Some(1)).unwrap();
        assert_eq!(told, after, "{context}");
        assert!(tree == old() || tree == new(), "{context}: {tree:#?}");
        if tree == old() {
            assert_eq!(times, original.1, "{context}");
        }
        assert!(is_cleared(&disk), "{context}");
        assert_eq!(workspace.recover().unwrap(), Recovery::Nothing, "{context}");
        if !was_killed {
            let expected = if doing == "undo" { old() } else { new() };
            assert_eq!(tree, expected, "{context}");
            return calls;
        }
    }
    0
}

#[test]
fn what_later_commits_covered_is_not_made_up() {
    let place = directory();
    let disk = Disk::open(place.path()).unwrap();
    build(&disk, &old());
    let mut workspace = Workspace::open(place.path()).unwrap();
    let told = |workspace: &Workspace| workspace.verdict(TRANSACTION, Some(1)).unwrap();
    assert_eq!(told(&workspace), Verdict::NotCommitted);
    workspace.commit(&its_plan()).unwrap();
    let (back, forth) = (plan(&new(), &old()), plan(&old(), &new()));
    let mut back_and_forth = [&back, &forth].into_iter().cycle();
    for plan in back_and_forth.by_ref().take(15) {
        workspace.commit(plan).unwrap();
        assert_eq!(told(&workspace), Verdict::Committed(1));
    }
    workspace.commit(back_and_forth.next().unwrap()).unwrap();
    assert_eq!(told(&workspace), Verdict::Forgotten);
    // One that began to try later is known not to have come through.
    let later = workspace.next_commit().unwrap();
    workspace.commit(back_and_forth.next().unwrap()).unwrap();
    let told = workspace.verdict("another", Some(later)).unwrap();
    assert_eq!(told, Verdict::NotCommitted);
}

#[test]
fn a_commit_that_is_killed_at_any_call_is_all_or_nothing() {
    assert!(kill_everywhere("commit", false) > 100);
}

#[test]
fn a_recovery_that_is_killed_is_done_again() {
    assert!(kill_everywhere("commit", true) > 100);
}

#[test]
fn an_undo_that_is_killed_at_any_call_is_all_or_nothing() {
    assert!(kill_everywhere("undo", false) > 100);
}
