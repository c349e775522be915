//! Trees to start from and to arrive at, on any file system, and the plan between two.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::simulated::Chance;
use crate::model::TapePath;
use crate::transaction::fs::{Fs, Kind, Time};
use crate::transaction::{Fingerprint, Operation, Plan, Supply, Want};

/// A path of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    File { bytes: Vec<u8>, mode: u32 },
    Directory { mode: u32 },
    Link(Vec<u8>),
}

/// A tree by path.
pub(super) type Tree = BTreeMap<String, Thing>;

/// Names that meet often, so that sorts of things change into each other.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

pub(super) fn random_tree(chance: &mut Chance, things: usize) -> Tree {
    let mut tree = Tree::new();
    for _ in 0..things {
        let mut path = String::new();
        for depth in 0..=chance.below(3) {
            if depth > 0 {
                if !matches!(tree.get(&path), None | Some(Thing::Directory { .. })) {
                    break;
                }
                let mode = [0o755, 0o700, 0o555][chance.below(3)];
                tree.entry(path.clone())
                    .or_insert(Thing::Directory { mode });
                path.push('/');
            }
            path.push_str(NAMES[chance.below(NAMES.len())]);
        }
        if path.ends_with('/') || tree.contains_key(&path) {
            continue;
        }
        let thing = match chance.below(6) {
            0 => Thing::Directory { mode: 0o750 },
            1 => Thing::Link(format!("../{}", chance.below(3)).into_bytes()),
            _ => Thing::File {
                bytes: vec![b'0' + chance.below(10) as u8; chance.below(40)],
                mode: [0o644, 0o600, 0o755, 0o444][chance.below(4)],
            },
        };
        tree.insert(path, thing);
    }
    tree
}

/// A tree that has much in common with another one.
pub(super) fn changed_tree(chance: &mut Chance, tree: &Tree, things: usize) -> Tree {
    let mut changed = tree.clone();
    for (path, thing) in random_tree(chance, things) {
        let above = path.rsplit_once('/').map(|(above, _)| above.to_owned());
        let fits = |changed: &Tree| match &above {
            Some(above) => matches!(changed.get(above), Some(Thing::Directory { .. })),
            None => true,
        };
        if chance.is(30) {
            remove(&mut changed, &path);
        } else if fits(&changed) {
            remove(&mut changed, &path);
            changed.insert(path, thing);
        }
    }
    changed
}

fn remove(tree: &mut Tree, path: &str) {
    let below = format!("{path}/");
    tree.retain(|other, _| other != path && !other.starts_with(&below));
}

/// Builds a tree, as a workspace that lies there.
pub(super) fn build(fs: &dyn Fs, tree: &Tree) {
    for (path, thing) in tree {
        let path = path.as_bytes();
        match thing {
            Thing::File { bytes, mode } => {
                fs.create(path, &mut bytes.as_slice(), *mode).unwrap();
                fs.set_mtime(path, (77, 5)).unwrap();
            }
            Thing::Directory { .. } => fs.make_directory(path).unwrap(),
            Thing::Link(target) => fs.make_link(path, target).unwrap(),
        }
    }
    for (path, thing) in tree.iter().rev() {
        if let Thing::Directory { mode } = thing {
            fs.set_mtime(path.as_bytes(), (66, 6)).unwrap();
            fs.set_mode(path.as_bytes(), *mode).unwrap();
        }
    }
}

/// The tree that lies there, and all times in it.
pub(super) fn survey(fs: &dyn Fs) -> (Tree, BTreeMap<String, Time>) {
    let (mut tree, mut times) = (Tree::new(), BTreeMap::new());
    let mut open = vec![String::new()];
    while let Some(directory) = open.pop() {
        for name in fs.list(directory.as_bytes()).unwrap() {
            let name = String::from_utf8(name).unwrap();
            if name == ".jukebox" {
                continue;
            }
            let path = match directory.as_str() {
                "" => name,
                directory => format!("{directory}/{name}"),
            };
            let node = fs.look(path.as_bytes()).unwrap().unwrap();
            let thing = match node.kind {
                Kind::File => {
                    let mut bytes = Vec::new();
                    let mut file = fs.open(path.as_bytes()).unwrap();
                    file.read_to_end(&mut bytes).unwrap();
                    Thing::File {
                        bytes,
                        mode: node.mode,
                    }
                }
                Kind::Directory => {
                    open.push(path.clone());
                    Thing::Directory { mode: node.mode }
                }
                Kind::Link => Thing::Link(fs.target(path.as_bytes()).unwrap()),
                Kind::Other => panic!("{path}"),
            };
            times.insert(path.clone(), node.mtime);
            tree.insert(path, thing);
        }
    }
    (tree, times)
}

/// What makes one tree the other.
pub(super) fn plan(from: &Tree, to: &Tree) -> Plan {
    let mut plan = Plan::default();
    let paths = from.keys().chain(to.keys());
    let paths: std::collections::BTreeSet<_> = paths.collect();
    for path in paths {
        let (before, after) = (from.get(path), to.get(path));
        if before == after {
            continue;
        }
        let want = match after {
            None => Want::Absent,
            Some(Thing::File { bytes, mode }) => Want::File {
                content: Supply::Bytes(Arc::from(bytes.as_slice())),
                mode: Some(*mode),
                mtime: Some((88, 8)),
            },
            Some(Thing::Directory { mode }) => Want::Directory { mode: Some(*mode) },
            Some(Thing::Link(target)) => Want::Link(target.clone()),
        };
        plan.operations.push(Operation {
            path: TapePath::new(path).unwrap(),
            base: fingerprint(before),
            want,
        });
    }
    plan
}

fn fingerprint(thing: Option<&Thing>) -> Fingerprint {
    match thing {
        None => Fingerprint::Absent,
        Some(Thing::File { bytes, mode }) => Fingerprint::File {
            hash: crate::model::BlobHash::of(bytes),
            len: Some(bytes.len() as u64),
            mode: Some(*mode),
        },
        Some(Thing::Directory { mode }) => Fingerprint::Directory { mode: Some(*mode) },
        Some(Thing::Link(target)) => Fingerprint::Link(target.clone()),
    }
}

/// Whether no name of `.jukebox` is left that a commit should have cleared.
pub(super) fn is_cleared(fs: &dyn Fs) -> bool {
    use crate::transaction::layout;
    let gone = |path: &[u8]| fs.look(path).unwrap().is_none();
    let is_empty = |path: &[u8]| fs.list(path).unwrap().is_empty();
    gone(layout::COMMIT)
        && gone(layout::COMMIT_TMP)
        && is_empty(layout::STAGED)
        && is_empty(layout::ASIDE)
}

/// Whether these bytes lie at a path, or among the conflicts that were kept.
pub(super) fn is_kept(fs: &dyn Fs, path: &str, bytes: &[u8]) -> bool {
    use crate::transaction::layout;
    let mut places = vec![path.as_bytes().to_vec()];
    for id in fs.list(layout::CONFLICTS).unwrap() {
        let directory = layout::below(layout::CONFLICTS, id);
        let names = fs.list(&directory).unwrap().into_iter();
        places.extend(names.map(|name| layout::below(&directory, name)));
    }
    places.iter().any(|place| {
        let mut found = Vec::new();
        let is_file = fs
            .look(place)
            .unwrap()
            .is_some_and(|node| node.kind == Kind::File);
        is_file && fs.open(place).unwrap().read_to_end(&mut found).is_ok() && found == bytes
    })
}
