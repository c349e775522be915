//! The paths of a run as a tree of names, each stored once.

use std::cmp::Ordering;
use std::hash::BuildHasher as _;
use std::sync::OnceLock;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::model::TapePath;
use crate::tape::cache::{Keep, Reader, Writer};

/// The number of a path in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub(super) u32);

impl PathId {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

const NONE: u32 = u32::MAX;

/// Paths as a tree: the workspace root, the root of what lies outside it, and below them
/// a node for every component that was named.
#[derive(Clone, Debug)]
pub struct PathTable {
    nodes: Vec<Node>,
    names: Vec<u8>,
    by_name: HashTable<u32>,
    /// By node, its place in the order of paths; made when it is wanted, and only as long
    /// as no node is added.
    ranks: OnceLock<Vec<u32>>,
}

/// Where less than one node in so many is to be put in order, their names are compared:
/// to rank all of them would cost more, and the more the longer the tape is.
const RANKED_FROM: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    name_end: u32,
    first_child: u32,
    next_sibling: u32,
}

impl Default for PathTable {
    fn default() -> Self {
        let root = Node {
            parent: NONE,
            name_end: 0,
            first_child: NONE,
            next_sibling: NONE,
        };
        Self {
            nodes: vec![root, root],
            names: Vec::new(),
            by_name: HashTable::new(),
            ranks: OnceLock::new(),
        }
    }
}

impl PathTable {
    /// The workspace root.
    pub const ROOT: PathId = PathId(0);
    /// The root of the files outside the workspace.
    pub const OUTSIDE: PathId = PathId(1);

    /// How many nodes there are, the roots included.
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no path was named.
    pub const fn is_empty(&self) -> bool {
        self.nodes.len() == 2
    }

    /// The node of a path, if it was named.
    pub fn find(&self, path: &TapePath) -> Option<PathId> {
        let mut node = Self::root_of(path);
        for name in path.components() {
            node = self.child(node, name)?;
        }
        Some(node)
    }

    /// The node of a path, new or known.
    pub(super) fn intern(&mut self, path: &TapePath) -> PathId {
        let mut node = Self::root_of(path);
        for name in path.components() {
            node = self.intern_child(node, name);
        }
        node
    }

    /// The node of a name in a directory, new or known.
    pub(super) fn intern_child(&mut self, parent: PathId, name: &[u8]) -> PathId {
        if let Some(child) = self.child(parent, name) {
            return child;
        }
        self.ranks.take();
        let id = self.nodes.len() as u32;
        self.names.extend_from_slice(name);
        let next_sibling = self
            .nodes
            .get_mut(parent.0 as usize)
            .map_or(NONE, |parent| {
                std::mem::replace(&mut parent.first_child, id)
            });
        self.nodes.push(Node {
            parent: parent.0,
            name_end: self.names.len() as u32,
            first_child: NONE,
            next_sibling,
        });
        let (nodes, names) = (&self.nodes, &self.names);
        self.by_name.insert_unique(hash(parent.0, name), id, |id| {
            let parent = nodes.get(*id as usize).map_or(NONE, |node| node.parent);
            hash(parent, name_in(nodes, names, *id))
        });
        PathId(id)
    }

    /// The first nodes: the table as it was when it had so many.
    pub(super) fn cut(&self, len: usize) -> Self {
        let mut nodes = self.nodes.get(..len).unwrap_or(&self.nodes).to_vec();
        for node in &mut nodes {
            node.first_child = NONE;
        }
        // A child comes before those that were there.
        for id in 2..nodes.len() {
            let parent = nodes.get(id).map_or(NONE, |node| node.parent);
            let parent = nodes.get_mut(parent as usize);
            let next = parent.map_or(NONE, |parent| {
                std::mem::replace(&mut parent.first_child, id as u32)
            });
            if let Some(node) = nodes.get_mut(id) {
                node.next_sibling = next;
            }
        }
        let names = nodes.last().map_or(0, |last| last.name_end as usize);
        let mut by_name = self.by_name.clone();
        by_name.retain(|id| (*id as usize) < nodes.len());
        Self {
            names: self.names.get(..names).unwrap_or_default().to_vec(),
            nodes,
            by_name,
            ranks: OnceLock::new(),
        }
    }

    /// The path of a node; `None` for the roots.
    pub fn path(&self, id: PathId) -> Option<TapePath> {
        let mut parts = Vec::new();
        let mut node = id;
        while let Some(parent) = self.parent(node) {
            parts.push(self.name(node));
            node = parent;
        }
        parts.reverse();
        let path = parts.join(&b'/');
        match node {
            Self::OUTSIDE => TapePath::new([b"/", path.as_slice()].concat()).ok(),
            _ => TapePath::new(path).ok(),
        }
    }

    /// The last component of a node's path.
    pub fn name(&self, id: PathId) -> &[u8] {
        name_in(&self.nodes, &self.names, id.0)
    }

    /// The directory of a node; `None` for the roots.
    pub fn parent(&self, id: PathId) -> Option<PathId> {
        let parent = self.nodes.get(id.0 as usize)?.parent;
        (parent != NONE).then_some(PathId(parent))
    }

    /// Puts nodes, each of them there once, in the order of their paths, as bytes.
    pub(super) fn sort(&self, ids: &mut Vec<PathId>) {
        if ids.len() < self.len() / RANKED_FROM {
            ids.sort_by_cached_key(|id| self.path(*id));
            return;
        }
        let ranks = self.ranks.get_or_init(|| self.rank());
        let mut by_rank = vec![NONE; self.len()];
        for id in ids.drain(..) {
            let rank = ranks.get(id.0 as usize).copied().unwrap_or_default();
            if let Some(place) = by_rank.get_mut(rank as usize) {
                *place = id.0;
            }
        }
        let placed = by_rank.into_iter().filter(|id| *id != NONE);
        ids.extend(placed.map(PathId));
    }

    /// By node, its place in the order of paths. Keeps its own stack: a tape chooses how
    /// deep its directories are.
    fn rank(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.nodes.len()];
        let mut next = 0;
        let mut top = self.parts(Self::ROOT);
        // The paths outside are those with nothing before their first slash.
        top.push(Part::Below(Self::OUTSIDE));
        self.sort_parts(&mut top);
        let mut open = vec![top.into_iter()];
        while let Some(parts) = open.last_mut() {
            match parts.next() {
                Some(Part::Node(id)) => {
                    if let Some(rank) = ranks.get_mut(id.0 as usize) {
                        *rank = next;
                    }
                    next += 1;
                }
                Some(Part::Below(id)) => {
                    let mut below = self.parts(id);
                    self.sort_parts(&mut below);
                    open.push(below.into_iter());
                }
                None => drop(open.pop()),
            }
        }
        ranks
    }

    /// What is in a directory, in no order.
    fn parts(&self, directory: PathId) -> Vec<Part> {
        let mut parts = Vec::new();
        for child in self.children(directory) {
            parts.push(Part::Node(child));
            if self.children(child).next().is_some() {
                parts.push(Part::Below(child));
            }
        }
        parts
    }

    fn sort_parts(&self, parts: &mut [Part]) {
        let bytes = |part: Part| {
            let (id, slash) = match part {
                Part::Node(id) => (id, &b""[..]),
                Part::Below(id) => (id, &b"/"[..]),
            };
            (self.name(id), slash)
        };
        parts.sort_unstable_by(|one, two| {
            let ((one, slash), (two, other)) = (bytes(*one), bytes(*two));
            let common = one.len().min(two.len());
            match one.get(..common).cmp(&two.get(..common)) {
                Ordering::Equal => {
                    let rest = one.iter().skip(common).chain(slash);
                    rest.cmp(two.iter().skip(common).chain(other))
                }
                order => order,
            }
        });
    }

    /// Adds some of these nodes, each of them once, in the order of their numbers.
    pub(super) fn add_each_once(&self, some: impl Iterator<Item = PathId>, to: &mut Vec<PathId>) {
        let mut is_among = vec![false; self.len()];
        for id in some {
            if let Some(place) = is_among.get_mut(id.0 as usize) {
                *place = true;
            }
        }
        to.extend(
            self.ids()
                .zip(is_among)
                .filter(|(_, is)| *is)
                .map(|(id, _)| id),
        );
    }

    /// All nodes, the roots included.
    pub(super) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.nodes.len() as u32).map(PathId)
    }

    /// The nodes directly below, in no order.
    pub fn children(&self, id: PathId) -> impl Iterator<Item = PathId> {
        let first = self
            .nodes
            .get(id.0 as usize)
            .map_or(NONE, |node| node.first_child);
        std::iter::successors((first != NONE).then_some(PathId(first)), |child| {
            let next = self.nodes.get(child.0 as usize)?.next_sibling;
            (next != NONE).then_some(PathId(next))
        })
    }

    /// The node and all below it.
    pub(super) fn subtree(&self, id: PathId) -> Vec<PathId> {
        let mut found = vec![id];
        let mut at = 0;
        while let Some(node) = found.get(at) {
            let children: Vec<_> = self.children(*node).collect();
            found.extend(children);
            at += 1;
        }
        found
    }

    /// The node of a name in a directory, if it was named.
    pub fn child(&self, parent: PathId, name: &[u8]) -> Option<PathId> {
        self.by_name
            .find(hash(parent.0, name), |id| {
                self.nodes
                    .get(*id as usize)
                    .is_some_and(|node| node.parent == parent.0)
                    && name_in(&self.nodes, &self.names, *id) == name
            })
            .map(|id| PathId(*id))
    }

    /// Writes the paths of nodes one after the other. Where neighbours follow each other,
    /// each costs its own name only.
    pub fn spelling(&self) -> Spelling<'_> {
        Spelling {
            paths: self,
            directory: None,
            path: Vec::new(),
            above: 0,
            way: Vec::new(),
        }
    }

    fn root_of(path: &TapePath) -> PathId {
        if path.is_outside() {
            Self::OUTSIDE
        } else {
            Self::ROOT
        }
    }
}

/// Paths that are written one after the other, in the same place.
#[derive(Clone, Debug)]
pub struct Spelling<'a> {
    paths: &'a PathTable,
    /// The directory of the node that was written last.
    directory: Option<PathId>,
    path: Vec<u8>,
    /// Bytes of it up to that node's name.
    above: usize,
    /// The nodes above one, from the nearest on.
    way: Vec<PathId>,
}

impl Spelling<'_> {
    /// The path of a node; `None` where [`PathTable::path`] knows none.
    pub fn of(&mut self, id: PathId) -> Option<&[u8]> {
        let directory = self.paths.parent(id)?;
        if self.directory != Some(directory) {
            self.directory = Some(directory);
            self.enter(directory);
        }
        self.path.truncate(self.above);
        self.path.extend_from_slice(self.paths.name(id));
        let is_path = self.path.len() <= TapePath::MAX_LEN && self.way.len() < TapePath::MAX_DEPTH;
        is_path.then_some(&self.path)
    }

    fn enter(&mut self, directory: PathId) {
        self.path.clear();
        self.way.clear();
        let mut node = directory;
        while let Some(above) = self.paths.parent(node) {
            self.way.push(node);
            node = above;
        }
        if node == PathTable::OUTSIDE {
            self.path.push(b'/');
        }
        for node in self.way.iter().rev() {
            self.path.extend_from_slice(self.paths.name(*node));
            self.path.push(b'/');
        }
        self.above = self.path.len();
    }
}

impl Keep for PathTable {
    fn write(&self, out: &mut Writer<'_>) {
        let row = |node: &Node| {
            [
                node.parent,
                node.name_end,
                node.first_child,
                node.next_sibling,
            ]
        };
        out.column(&self.nodes.iter().map(row).collect::<Vec<_>>());
        out.column(&self.names);
    }

    fn read(from: &mut Reader) -> Self {
        let rows = from.column::<[u32; 4]>();
        let node = |[parent, name_end, first_child, next_sibling]: &[u32; 4]| Node {
            parent: *parent,
            name_end: *name_end,
            first_child: *first_child,
            next_sibling: *next_sibling,
        };
        let nodes: Vec<Node> = rows.iter().map(node).collect();
        let names = from.column::<u8>().to_vec();
        let mut by_name = HashTable::with_capacity(nodes.len());
        for (id, node) in nodes.iter().enumerate().skip(2) {
            let name = name_in(&nodes, &names, id as u32);
            by_name.insert_unique(hash(node.parent, name), id as u32, |_| 0);
        }
        Self {
            nodes,
            names,
            by_name,
            ranks: OnceLock::new(),
        }
    }
}

/// A stretch of the order of paths. What is below a directory does not always follow it at
/// once: `a.b` stands between `a` and `a/b`.
#[derive(Clone, Copy)]
enum Part {
    /// A node alone.
    Node(PathId),
    /// All that is below a node.
    Below(PathId),
}

fn name_in<'a>(nodes: &[Node], names: &'a [u8], id: u32) -> &'a [u8] {
    let end = |id: usize| nodes.get(id).map_or(0, |node| node.name_end as usize);
    let id = id as usize;
    let start = id.checked_sub(1).map_or(0, end);
    names.get(start..end(id)).unwrap_or_default()
}

fn hash(parent: u32, name: &[u8]) -> u64 {
    FixedState::with_seed(u64::from(parent)).hash_one(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn many_paths_are_put_in_the_order_of_their_bytes(
            names in prop::collection::vec("/?[-.a0]{1,2}x(/[-.a0]{1,2}x){0,3}", 1..60),
            later in "[-.a0]{1,2}x",
        ) {
            let mut table = PathTable::default();
            for name in names.into_iter().chain([later]) {
                table.intern(&TapePath::new(name).unwrap());
                // All of them are ranked, a few are compared by name.
                let mut all: Vec<_> = table.ids().skip(2).collect();
                let mut expected = all.clone();
                expected.sort_by_cached_key(|id| table.path(*id));
                table.sort(&mut all);
                prop_assert_eq!(&all, &expected);
                let mut spelling = table.spelling();
                for id in all {
                    let path = table.path(id).unwrap();
                    prop_assert_eq!(spelling.of(id), Some(path.as_bytes()));
                }
            }
        }
    }

    #[test]
    fn paths_come_back_and_are_found() {
        let mut table = PathTable::default();
        let paths =
            ["a", "a/b", "a/c/d", "z", "/tmp/x", "/a/b"].map(|path| TapePath::new(path).unwrap());
        let ids: Vec<_> = paths.iter().map(|path| table.intern(path)).collect();
        for (path, id) in paths.iter().zip(&ids) {
            assert_eq!(table.path(*id).as_ref(), Some(path));
            assert_eq!(table.find(path), Some(*id));
            assert_eq!(table.intern(path), *id);
        }
        assert_eq!(table.find(&TapePath::new("a/x").unwrap()), None);
        assert_eq!(table.subtree(ids[0]).len(), 4);
    }
}
