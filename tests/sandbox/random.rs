//! Random change sets: what the layers say, done to a copy of the base, is what was seen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use jukebox::model::TapePath;
use jukebox::sandbox::{Below, Change, ChangeSet, Sandbox, Since, Sweep};

use super::dice::Dice;
use super::who::as_root_and_as_user;
use super::world::{World, run, say, shell};

as_root_and_as_user!(random_changes_read_from_layers_are_what_was_seen);

/// Change sets that are tried, by each of the two.
const SETS: u64 = 20;
/// Operations in each.
const OPERATIONS: usize = 25;

/// Far more, for whoever changes anything here: `cargo test --test sandbox -- --ignored`.
#[test]
#[ignore = "takes minutes: for whoever changes the sandbox"]
fn a_thousand_random_change_sets() {
    try_sets(1..=1_000);
}

fn random_changes_read_from_layers_are_what_was_seen() {
    try_sets(1..=SETS);
}

fn try_sets(seeds: std::ops::RangeInclusive<u64>) {
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let world = World::new(&[]);
        let workspace = world.workspace();
        let build: Vec<String> = (0..OPERATIONS).map(|_| dice.operation()).collect();
        // The base is made the same way, without a sandbox.
        let made = std::process::Command::new("/bin/sh")
            .args(["-c", &build.join("\n")])
            .current_dir(&workspace)
            .stderr(std::process::Stdio::null())
            .status();
        made.unwrap();
        let copy = world.home().join("copy");
        let copied = std::process::Command::new("cp")
            .args(["-a"])
            .args([&workspace, &copy])
            .status();
        assert!(copied.unwrap().success());
        let before = tree(&workspace);

        let mut sandbox = world.start();
        let mut script = Vec::new();
        let mut rolled_back = None;
        let mut looks = Looks::default();
        for number in 0..OPERATIONS {
            script.push(dice.operation());
            if dice.below(10) == 0 || number + 1 == OPERATIONS {
                run(&mut sandbox, &shell(&script.join("\n"))).unwrap();
                script.clear();
                looks.look(&sandbox, seed);
                match (dice.below(3), &rolled_back) {
                    (0, _) => {
                        let name = format!("s{number}");
                        sandbox.savepoint(&name).unwrap();
                        rolled_back = Some(name);
                    }
                    (1, Some(name)) => {
                        sandbox.roll_back_to(name).unwrap();
                        looks = Looks::of(&sandbox);
                    }
                    _ => {}
                }
            }
        }
        let set = sandbox.change_set().unwrap();
        apply(&set, &copy);
        let seen = say(&mut sandbox, LIST);
        let done = std::process::Command::new("/bin/sh")
            .args(["-c", LIST])
            .current_dir(&copy)
            .output();
        let done = String::from_utf8(done.unwrap().stdout).unwrap();
        assert_eq!(done, seen, "seed {seed}: {set:?}");
        drop(sandbox);
        assert_eq!(tree(&workspace), before, "seed {seed}");
    }
}

/// A change set that is kept up to date by what changed since it was looked at last.
#[derive(Default)]
struct Looks {
    sweep: Sweep,
    changes: BTreeMap<TapePath, Change>,
}

impl Looks {
    fn of(sandbox: &Sandbox) -> Self {
        Self {
            changes: changes(sandbox),
            ..Self::default()
        }
    }

    /// It is the one that is read whole.
    #[track_caller]
    fn look(&mut self, sandbox: &Sandbox, seed: u64) {
        match sandbox.changes().since(&mut self.sweep).unwrap() {
            Since::All => self.changes = changes(sandbox),
            Since::Paths(paths) => {
                for (path, change) in paths {
                    match change {
                        Some(change) => self.changes.insert(path, change),
                        None => self.changes.remove(&path),
                    };
                }
            }
        }
        self.sweep.told();
        assert_eq!(self.changes, changes(sandbox), "seed {seed}");
    }
}

fn changes(sandbox: &Sandbox) -> BTreeMap<TapePath, Change> {
    sandbox.change_set().unwrap().changes.into_iter().collect()
}

/// Every path with its sort, its mode, its link's text and its bytes.
const LIST: &str = "find . -name .jukebox -prune -o ! -path . \
    \\( -type l -printf 'l %P %l\\n' -o -printf '%y %P %m\\n' \\) | sort; \
    find . -name .jukebox -prune -o -type f -exec md5sum {} + | sort -k 2";

/// Does to a directory what a change set says.
fn apply(set: &ChangeSet, directory: &Path) {
    for (path, change) in &set.changes {
        let place = directory.join(path.to_text());
        let found = fs::symlink_metadata(&place).ok();
        let clear = || match &found {
            Some(found) if found.is_dir() => fs::remove_dir_all(&place).unwrap(),
            Some(_) => fs::remove_file(&place).unwrap(),
            None => {}
        };
        match change {
            Change::Deleted => clear(),
            Change::Directory { mode, below } => {
                let is_directory = found.as_ref().is_some_and(fs::Metadata::is_dir);
                if *below == Below::Replaced || !is_directory {
                    clear();
                    fs::create_dir(&place).unwrap();
                }
                fs::set_permissions(&place, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Change::File {
                mode, content, len, ..
            } => {
                clear();
                assert_eq!(fs::copy(content, &place).unwrap(), *len);
                fs::set_permissions(&place, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Change::Link(target) => {
                clear();
                let target = String::from_utf8(target.clone()).unwrap();
                std::os::unix::fs::symlink(target, &place).unwrap();
            }
        }
    }
    assert!(set.refused.is_empty());
}

/// All that is to be the same after: names, sorts, modes, inodes, times, bytes.
fn tree(directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            let inside = fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            open.extend(inside.filter(|path| !path.ends_with(".jukebox")));
        }
        let bytes = if found.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        // The state directory comes into the workspace itself.
        let time = if path == directory {
            0
        } else {
            found.mtime_nsec()
        };
        lines.push(format!(
            "{} {:o} {} {time} {bytes:?}",
            path.display(),
            found.mode(),
            found.ino()
        ));
    }
    lines.sort();
    lines
}
