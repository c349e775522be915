//! A tree of a tape cannot reach anything outside the directory that was named.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::*;
use crate::tape::BlobSource;

/// Contents by hash; what is not in it is damaged.
#[derive(Default)]
struct Blobs(HashMap<BlobHash, Arc<[u8]>>);

impl Blobs {
    fn put(&mut self, bytes: &[u8]) -> BlobHash {
        let hash = BlobHash::of(bytes);
        self.0.insert(hash, bytes.into());
        hash
    }
}

impl BlobSource for Blobs {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        let found = self.0.get(hash).map(Arc::clone);
        found.ok_or_else(|| BlobError::Damaged(*hash, "a bit fell over".to_owned()))
    }
}

/// An empty `dest` beside an `outside` with a canary.
struct World {
    temp: TempDir,
    blobs: Blobs,
}

impl World {
    fn new() -> Self {
        let temp = TempDir::new().unwrap();
        let outside = temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("canary.txt"), "canary").unwrap();
        set_mode(&outside.join("canary.txt"), 0o600);
        set_mode(&outside, 0o700);
        fs::create_dir(temp.path().join("dest")).unwrap();
        Self {
            temp,
            blobs: Blobs::default(),
        }
    }

    fn dest(&self) -> PathBuf {
        self.temp.path().join("dest")
    }

    fn entry(&mut self, path: &str, item: &str) -> Entry {
        let (item, mode) = match item.split_once(' ') {
            Some(("->", target)) => (Item::Link(target.into()), None),
            Some(("dir", mode)) => (Item::Directory, u32::from_str_radix(mode, 8).ok()),
            Some((mode, text)) => {
                let hash = self.blobs.put(text.as_bytes());
                (Item::File(Some(hash)), u32::from_str_radix(mode, 8).ok())
            }
            None => (Item::Directory, None),
        };
        Entry {
            path: TapePath::new(path).unwrap(),
            mode,
            certainty: Certainty::Exact,
            item,
        }
    }

    fn write(&self, entries: Vec<Entry>, links: OutsideLinks) -> Report {
        Plan::new(entries, links)
            .write(
                &self.dest(),
                &self.blobs,
                &mut |_| ControlFlow::Continue(()),
            )
            .unwrap()
    }

    /// Everything there is to know of what lies outside.
    fn outside(&self) -> Vec<(PathBuf, u32, i64, i64, Vec<u8>)> {
        let directory = self.temp.path().join("outside");
        let mut paths = vec![directory.clone()];
        paths.extend(
            fs::read_dir(directory)
                .unwrap()
                .map(|entry| entry.unwrap().path()),
        );
        paths.sort();
        let facts = paths.into_iter().map(|path| {
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = fs::read(&path).unwrap_or_default();
            (path, meta.mode(), meta.mtime(), meta.mtime_nsec(), bytes)
        });
        facts.collect()
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// The entries that try to write, make directories or change modes through links.
const HOSTILE: [(&str, &str); 11] = [
    ("out", "-> ../outside"),
    ("out/evil.txt", "644 e"),
    ("sub/link", "-> ../../outside"),
    ("sub/link/x/y/z.txt", "644 e"),
    ("d", "-> ../outside"),
    ("d", "dir 777"),
    ("f", "-> ../outside/canary.txt"),
    ("f", "644 overwritten"),
    ("in", "-> sub"),
    ("in/link/evil.txt", "644 e"),
    (".ok", "-> ../outside/canary.txt"),
];

#[test]
fn no_entry_reaches_outside_through_a_link() {
    let check = |entries: &[(&str, &str)]| {
        for links in [OutsideLinks::Skip, OutsideLinks::Write] {
            let mut world = World::new();
            let before = world.outside();
            let entries: Vec<Entry> = entries
                .iter()
                .map(|(path, item)| world.entry(path, item))
                .collect();
            let count = entries.len();
            let report = world.write(entries, links);
            assert_eq!(report.rows.len(), count);
            assert_eq!(world.outside(), before, "{links:?}");
        }
    };
    check(&HOSTILE);
    let mut reversed = HOSTILE;
    reversed.reverse();
    check(&reversed);
    for one in HOSTILE {
        for two in HOSTILE {
            check(&[one, two]);
        }
    }
}

#[test]
fn links_that_leave_are_left_out_unless_asked_for() {
    let mut world = World::new();
    let entries = vec![
        world.entry("ok", "-> sub/file"),
        world.entry("sub/file", "600 x"),
        world.entry("out", "-> ../outside"),
        world.entry("out/evil.txt", "644 e"),
    ];
    let report = world.write(entries.clone(), OutsideLinks::Skip);
    let skipped: Vec<_> = report
        .skipped()
        .map(|row| (row.path.to_text(), row.skipped.clone().unwrap()))
        .collect();
    let expected = [
        ("out".to_owned(), Skipped::LinkLeaves),
        ("out/evil.txt".to_owned(), Skipped::BelowLink),
    ];
    assert_eq!(skipped, expected);
    assert!(!report.is_exact());
    assert_eq!(fs::read_to_string(world.dest().join("ok")).unwrap(), "x");
    assert_eq!(mode(&world.dest().join("sub/file")), 0o600);

    let world = World {
        temp: TempDir::new().unwrap(),
        ..world
    };
    let report = world.write(entries, OutsideLinks::Write);
    assert_eq!(report.skipped().count(), 1);
    let target = fs::read_link(world.dest().join("out")).unwrap();
    assert_eq!(target, Path::new("../outside"));
}

#[test]
fn a_directory_that_holds_anything_is_refused() {
    let world = World::new();
    let plan = Plan::new(Vec::new(), OutsideLinks::Skip);
    symlink("../outside", world.dest().join("out")).unwrap();
    let refused = plan.write(&world.dest(), &world.blobs, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(matches!(refused, Err(CheckoutError::NotEmpty(_))));

    // Neither a link to an empty directory nor a file is one, with or without a slash.
    fs::create_dir(world.temp.path().join("empty")).unwrap();
    symlink("empty", world.temp.path().join("link")).unwrap();
    fs::write(world.temp.path().join("file"), "").unwrap();
    for name in ["link", "link/", "link/.", "file"] {
        let refused = plan.write(&world.temp.path().join(name), &world.blobs, &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(
            matches!(refused, Err(CheckoutError::NotADirectory(_))),
            "{name}"
        );
    }
    let refused = plan.write(&world.temp.path().join("a/b"), &world.blobs, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(matches!(refused, Err(CheckoutError::Directory { .. })));
    assert!(
        plan.write(&world.temp.path().join("new"), &world.blobs, &mut |_| {
            ControlFlow::Continue(())
        })
        .is_ok()
    );
}

#[test]
fn modes_are_kept_but_not_the_bits_that_lend_rights() {
    let mut world = World::new();
    let entries = vec![
        world.entry("locked", "dir 555"),
        world.entry("locked/tool", "6755 x"),
        world.entry("locked/deep", "dir 1777"),
        world.entry("locked/deep/plain", "640 y"),
    ];
    let report = world.write(entries, OutsideLinks::Skip);
    assert!(report.is_exact());
    let at = |path: &str| mode(&world.dest().join(path));
    assert_eq!((at("locked"), at("locked/deep")), (0o555, 0o777));
    assert_eq!((at("locked/tool"), at("locked/deep/plain")), (0o755, 0o640));
    set_mode(&world.dest().join("locked"), 0o755);
}

#[test]
fn what_cannot_be_written_is_a_row_and_the_rest_is_written() {
    let mut world = World::new();
    let certain = |mut entry: Entry, certainty| {
        entry.certainty = certainty;
        entry
    };
    let long = "n".repeat(300);
    let mut damaged = world.entry("damaged", "644 x");
    damaged.item = Item::File(Some(BlobHash::of(b"lost")));
    let mut partial = certain(world.entry("partial", "644 x"), Certainty::Partial);
    partial.item = Item::File(None);
    let entries = vec![
        world.entry("/tmp/elsewhere", "644 x"),
        damaged,
        partial,
        certain(
            world.entry("uncertain", "644 last known"),
            Certainty::Uncertain,
        ),
        world.entry(&long, "644 x"),
        world.entry("twice", "644 one"),
        world.entry("twice", "644 two"),
        world.entry("twice/below", "644 x"),
        world.entry("last", "644 x"),
    ];
    let plan = Plan::new(entries, OutsideLinks::Skip);
    let rehearsed = plan.rehearse(&world.blobs);
    assert!(!rehearsed.is_exact());
    assert_eq!(fs::read_dir(world.dest()).unwrap().count(), 0);

    let report = plan
        .write(&world.dest(), &world.blobs, &mut |_| {
            ControlFlow::Continue(())
        })
        .unwrap();
    let words: Vec<_> = report
        .rows
        .iter()
        .map(|row| row.skipped.as_ref().map_or("written", Skipped::as_str))
        .collect();
    let expected = [
        "outside-workspace",
        "unreadable",
        "not-known",
        "written",
        "failed",
        "written",
        "occupied",
        "below-link",
        "written",
    ];
    assert_eq!(words, expected);
    assert_eq!(report.doubtful().count(), 1);
    let read = |path: &str| fs::read_to_string(world.dest().join(path)).unwrap();
    assert_eq!(
        (read("uncertain"), read("twice"), read("last")),
        ("last known".into(), "one".into(), "x".into())
    );
}

#[test]
fn a_directory_that_becomes_a_link_meanwhile_is_not_followed() {
    let mut world = World::new();
    let before = world.outside();
    let entries: Vec<Entry> = (0..400)
        .map(|number| world.entry(&format!("sub/{}/{number}", number % 7), "644 e"))
        .collect();
    let (dest, outside) = (world.dest(), world.temp.path().join("outside"));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (sub, aside) = (dest.join("sub"), dest.join("aside"));
            while !is_done.load(Ordering::Relaxed) {
                if fs::rename(&sub, &aside).is_ok() {
                    let _ = symlink(&outside, &sub);
                    let _ = fs::remove_file(&sub);
                    let _ = fs::remove_dir_all(&aside);
                }
            }
        });
        let report = world.write(entries, OutsideLinks::Write);
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(report.rows.len(), 400);
    });
    assert_eq!(world.outside(), before);
}

#[test]
fn a_tree_is_brought_to_another_state() {
    let mut world = World::new();
    let before = world.outside();
    let first = [
        ("a", "644 old"),
        ("d/b", "644 b"),
        ("d/e/f", "600 f"),
        ("kept", "755 k"),
        ("out", "-> ../outside"),
    ];
    let first = first.map(|(path, item)| world.entry(path, item));
    world.write(first.into(), OutsideLinks::Write);
    let inode = fs::metadata(world.dest().join("kept")).unwrap().ino();
    // A directory gives way to a file, a file to a directory, and a link to one of its own.
    let gone = ["a", "d", "out", "never/was", "out/canary.txt"];
    let gone = gone.map(|path| TapePath::new(path).unwrap());
    let second = [
        ("a/new", "644 n"),
        ("d", "640 file"),
        ("out", "dir 700"),
        ("out/canary.txt", "644 ours"),
    ];
    let second = second.map(|(path, item)| world.entry(path, item));
    let plan = Plan::new(second.into(), OutsideLinks::Write);
    let report = plan.renew(&world.dest(), &gone, &world.blobs).unwrap();
    assert!(report.is_exact(), "{report:?}");
    let text = |path: &str| fs::read_to_string(world.dest().join(path)).unwrap();
    assert_eq!(
        (text("a/new"), text("d")),
        ("n".to_owned(), "file".to_owned())
    );
    assert_eq!(text("out/canary.txt"), "ours");
    assert_eq!(mode(&world.dest().join("out")), 0o700);
    assert_eq!(
        fs::metadata(world.dest().join("kept")).unwrap().ino(),
        inode
    );
    assert_eq!(world.outside(), before);
}

#[test]
fn nothing_is_removed_through_a_link() {
    let mut world = World::new();
    let before = world.outside();
    let link = world.entry("out", "-> ../outside");
    world.write(vec![link], OutsideLinks::Write);
    let gone = [TapePath::new("out/canary.txt").unwrap()];
    let nothing = Plan::new(Vec::new(), OutsideLinks::Write);
    nothing.renew(&world.dest(), &gone, &world.blobs).unwrap();
    assert_eq!(world.outside(), before);
}
