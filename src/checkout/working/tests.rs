//! A tree that became another is the same as one that was written anew.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Arc;

use proptest::prelude::*;

use super::super::Plan;
use super::*;
use crate::model::{BlobHash, Certainty};
use crate::tape::BlobError;

/// Contents of one to three bytes, each of a letter.
struct Letters;

fn content(letter: u8) -> Vec<u8> {
    vec![letter; usize::from(letter - b'a' + 1)]
}

impl BlobSource for Letters {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        let mut letters = b'a'..=b'c';
        let found = letters.find(|letter| BlobHash::of(&content(*letter)) == *hash);
        let found = found.ok_or(BlobError::Missing(*hash))?;
        Ok(content(found).into())
    }
}

type Tree = BTreeMap<&'static str, (Item, Option<u32>)>;

fn tree() -> impl Strategy<Value = Tree> {
    let paths = [
        "a", "a/b", "a/b/c", "a.x", "d", "d/e", "d/e/f", "/out", "g/h",
    ];
    let path = prop::sample::select(paths.to_vec());
    let file = |letter: u8| Item::File(Some(BlobHash::of(&content(letter))));
    let item = prop_oneof![
        4 => (b'a'..=b'd').prop_map(file),
        1 => Just(Item::File(None)),
        2 => Just(Item::Directory),
        1 => prop::sample::select(vec!["d", "../up", "e"])
            .prop_map(|target| Item::Link(target.as_bytes().to_vec())),
    ];
    let mode = prop::sample::select(vec![None, Some(0o644), Some(0o444)]);
    prop::collection::btree_map(path, (item, mode), 0..9).prop_map(with_directories)
}

/// A tree in which every directory is told of, and nothing but directories and links holds
/// anything.
fn with_directories(mut tree: Tree) -> Tree {
    for path in tree.keys().copied().collect::<Vec<_>>() {
        for directory in ["a", "a/b", "d", "d/e", "g"] {
            let rest = path.strip_prefix(directory);
            if rest.is_some_and(|rest| rest.starts_with('/')) {
                let above = tree.entry(directory).or_insert((Item::Directory, None));
                if matches!(above.0, Item::File(_)) {
                    *above = (Item::Directory, None);
                }
            }
        }
    }
    tree
}

fn entry(path: &str, (item, mode): &(Item, Option<u32>)) -> Entry {
    Entry {
        path: TapePath::new(path).unwrap(),
        mode: *mode,
        certainty: Certainty::Exact,
        item: item.clone(),
    }
}

/// What is below a directory: each path with its kind, mode and content.
fn look(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(above) = open.pop() {
        for entry in fs::read_dir(above).unwrap() {
            let path = entry.unwrap().path();
            let node = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            let says = if node.is_dir() {
                open.push(path);
                "directory".to_owned()
            } else if node.is_symlink() {
                format!("link {:?}", fs::read_link(&path).unwrap())
            } else {
                let mode = node.permissions().mode() & 0o777;
                assert_eq!(node.nlink(), 1);
                format!("file {mode:o} {:?}", fs::read(&path).unwrap())
            };
            found.insert(name, says);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_tree_that_became_another_is_as_if_written_anew(trees in prop::collection::vec(tree(), 1..6)) {
        let temp = tempfile::tempdir().unwrap();
        let tell = &mut |_| ControlFlow::Continue(());
        let mut working = WorkingTree::new(&temp.path().join("working")).unwrap();
        let mut before = Tree::new();
        for (number, tree) in trees.into_iter().enumerate() {
            let both = before.keys().chain(tree.keys());
            let differs = both.filter(|path| before.get(*path) != tree.get(*path));
            let changes = differs
                .map(|path| {
                    let entry = tree.get(path).map(|node| entry(path, node));
                    (TapePath::new(path).unwrap(), entry)
                })
                .collect();
            working.change(changes, &Letters, tell).unwrap();
            let entries = tree.iter().map(|(path, node)| entry(path, node)).collect();
            let fresh = temp.path().join(format!("fresh-{number}"));
            let report = Plan::new(entries, OutsideLinks::Skip).write(&fresh, &Letters, tell).unwrap();
            let skipped = |row: Row| (row.path, row.skipped);
            // What cannot be, because of what is there, depends on what was there first.
            let is_possible = report.skipped().all(|row| row.skipped != Some(Skipped::Occupied));
            if is_possible {
                let expected: BTreeMap<_, _> = report
                    .skipped()
                    .filter(|row| row.skipped != Some(Skipped::OutsideWorkspace))
                    .map(|row| skipped(row.clone()))
                    .collect();
                let told: BTreeMap<_, _> = working.left_out().map(skipped).collect();
                prop_assert_eq!(told, expected);
                let standing = look(&temp.path().join("working"));
                let expected = look(&fresh);
                prop_assert_eq!(standing, expected);
                before = tree;
            } else {
                break;
            }
        }
    }
}

#[test]
fn what_is_in_a_directory_without_rights_can_be_changed() {
    let temp = tempfile::tempdir().unwrap();
    let tell = &mut |_| ControlFlow::Continue(());
    let mut working = WorkingTree::new(&temp.path().join("working")).unwrap();
    let change = |path: &str, item: Option<Item>| {
        let mode = Some(0o500);
        let entry = item.map(|item| entry(path, &(item, mode)));
        vec![(TapePath::new(path).unwrap(), entry)]
    };
    let file = Item::File(Some(BlobHash::of(b"a")));
    for (path, item) in [
        ("d", Some(Item::Directory)),
        ("d/f", Some(file)),
        ("d/f", None),
        ("d", None),
    ] {
        working.change(change(path, item), &Letters, tell).unwrap();
        assert_eq!(working.left_out().count(), 0);
    }
    assert_eq!(look(&temp.path().join("working")), BTreeMap::new());
}
