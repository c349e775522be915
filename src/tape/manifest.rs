//! The tree of files as the events tell it, in the simplest way: apply one after the other.
//!
//! The recorder keeps one to write snapshots from, `verify` one to compare them with. Whoever
//! wants the files of *any* step uses the table of the layer above: this knows only the
//! newest state of every branch. It holds no contents and reads none.

mod compare;
mod proven;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;

pub use compare::{Difference, Differences};
pub(super) use proven::{Place, Proven};
pub use tree::{Directory, DirectoryTexts, FileNode, Node};
use tree::{Replaced, Tree};

use crate::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Head, Scope, Seq, TapePath,
};

/// The files of every branch after the last event that was applied.
#[derive(Clone, Debug)]
pub struct Manifest {
    lines: HashMap<String, Line>,
    transactions: HashMap<String, Transaction>,
}

/// A line of events with its own files.
#[derive(Clone, Debug, Default)]
struct Line {
    tree: Tree,
    /// The line it left, and the last event it shares with it.
    left: Option<(String, Seq)>,
    /// What each change replaced: a later branch may leave here before it. A doubt is not
    /// taken back with it: that branch then knows less than it could, never more.
    log: Vec<Logged>,
}

#[derive(Clone, Debug)]
struct Logged {
    seq: Seq,
    path: TapePath,
    replaced: Replaced,
}

#[derive(Clone, Debug)]
struct Transaction {
    line: String,
    tree: Tree,
    changes: Vec<Change>,
    savepoints: Vec<(String, Tree, usize)>,
}

/// What a transaction brings to its line when it commits.
#[derive(Clone, Debug)]
enum Change {
    File(FileChange),
    Put(TapePath, Option<Node>),
    Doubt(Option<TapePath>),
}

const MAIN: &str = "main";

impl Default for Manifest {
    fn default() -> Self {
        Self {
            lines: HashMap::from([(MAIN.to_owned(), Line::default())]),
            transactions: HashMap::new(),
        }
    }
}

impl Manifest {
    /// Applies an event. `seq` is its number.
    pub fn apply(&mut self, seq: Seq, event: &Event) {
        let announces = matches!(event.body, Body::Branch { .. });
        if let Some(name) = event.head.branch.as_ref().filter(|_| !announces) {
            self.enter_line(name, seq);
        }
        match &event.body {
            Body::File(change) => self.change(seq, &event.head, Change::File(change.clone())),
            Body::Suspect { scope, .. } => {
                let path = match scope {
                    Scope::All => None,
                    Scope::Path(path) => Some(path.clone()),
                };
                self.change(seq, &event.head, Change::Doubt(path));
            }
            Body::Gap { .. } => self.doubt_everything(),
            Body::Branch { from, at, .. } => self.leave(&event.head, from.as_deref(), *at),
            Body::TxnBegin => {
                self.transaction(&event.head);
            }
            Body::TxnSavepoint { name } => {
                if let Some(transaction) = self.transaction(&event.head) {
                    let place = transaction.changes.len();
                    let tree = transaction.tree.clone();
                    transaction.savepoints.push((name.clone(), tree, place));
                }
            }
            Body::TxnCommit => self.commit(seq, &event.head),
            Body::TxnRollback { to: Some(name) } => {
                if let Some(transaction) = self.transaction(&event.head) {
                    transaction.roll_back_to(name);
                }
            }
            Body::TxnRollback { to: None } => {
                if let Some(name) = &event.head.txn {
                    self.transactions.remove(name);
                }
            }
            _ => {}
        }
    }

    /// Takes what stands at a path of the main line, of which no event tells.
    pub(super) fn found(&mut self, path: &TapePath, node: Node) {
        self.line(MAIN).tree.put(path, Some(node));
    }

    /// What is at a path, as an event with this head sees it.
    pub fn get(&self, head: &Head, path: &TapePath) -> Option<&Node> {
        let transaction = head
            .txn
            .as_ref()
            .and_then(|name| self.transactions.get(name));
        match transaction {
            Some(transaction) => transaction.tree.get(path),
            None => self.lines.get(line_of(head))?.tree.get(path),
        }
    }

    /// The workspace on a line; `None` is the main one.
    pub fn workspace(&self, line: Option<&str>) -> Option<&Directory> {
        Some(self.lines.get(line.unwrap_or(MAIN))?.tree.workspace())
    }

    /// Whether every file of the workspace on a line is proven.
    pub fn is_proven(&self, line: Option<&str>) -> bool {
        let line = self.lines.get(line.unwrap_or(MAIN));
        line.is_some_and(|line| line.tree.is_proven())
    }

    /// How many bytes the directories of a snapshot of a line would take now at most.
    pub fn snapshot_cost(&self, line: Option<&str>) -> u64 {
        let line = self.lines.get(line.unwrap_or(MAIN));
        line.map_or(0, |line| line.tree.snapshot_cost())
    }

    /// A snapshot of a line: the root directory's hash, and the texts of the directories that
    /// are not stored yet. Only directories that changed since the last one are written anew.
    pub fn snapshot(
        &mut self,
        line: Option<&str>,
        is_stored: &dyn Fn(&BlobHash) -> bool,
    ) -> (BlobHash, DirectoryTexts) {
        self.line(line.unwrap_or(MAIN)).tree.write(is_stored)
    }

    /// The line of this name, or the main one where it is unknown.
    fn line(&mut self, name: &str) -> &mut Line {
        let known = if self.lines.contains_key(name) {
            name
        } else {
            MAIN
        };
        self.lines.entry(known.to_owned()).or_default()
    }

    /// A line that nobody announced leaves the main line where it is first seen.
    fn enter_line(&mut self, name: &str, seq: Seq) {
        if !self.lines.contains_key(name) {
            let line = Line {
                tree: self.tree_at(MAIN, seq),
                left: Some((MAIN.to_owned(), seq)),
                log: Vec::new(),
            };
            self.lines.insert(name.to_owned(), line);
        }
    }

    /// The files of a line as they were after an event.
    fn tree_at(&self, name: &str, seq: Seq) -> Tree {
        let Some(line) = self.lines.get(name) else {
            return Tree::default();
        };
        if let Some((parent, left)) = &line.left
            && seq < *left
        {
            return self.tree_at(parent, seq);
        }
        let mut tree = line.tree.clone();
        for logged in line.log.iter().rev().take_while(|logged| logged.seq > seq) {
            tree.put_back(&logged.path, &logged.replaced);
        }
        tree
    }

    fn leave(&mut self, head: &Head, from: Option<&str>, at: Seq) {
        let name = line_of(head);
        if self.lines.contains_key(name) {
            return;
        }
        let parent = from.filter(|from| self.lines.contains_key(*from));
        let parent = parent.unwrap_or(MAIN).to_owned();
        let line = Line {
            tree: self.tree_at(&parent, at),
            left: Some((parent, at)),
            log: Vec::new(),
        };
        self.lines.insert(name.to_owned(), line);
    }

    /// The transaction of a head; one that nobody began begins here.
    fn transaction(&mut self, head: &Head) -> Option<&mut Transaction> {
        let name = head.txn.as_ref()?;
        if !self.transactions.contains_key(name) {
            let line = line_of(head).to_owned();
            let transaction = Transaction {
                tree: self.line(&line).tree.clone(),
                line,
                changes: Vec::new(),
                savepoints: Vec::new(),
            };
            self.transactions.insert(name.clone(), transaction);
        }
        self.transactions.get_mut(name)
    }

    fn change(&mut self, seq: Seq, head: &Head, change: Change) {
        if let Some(transaction) = self.transaction(head) {
            transaction.apply(change);
        } else {
            self.line(line_of(head)).apply(seq, &change);
        }
    }

    fn commit(&mut self, seq: Seq, head: &Head) {
        let name = head.txn.as_ref();
        let Some(transaction) = name.and_then(|name| self.transactions.remove(name)) else {
            return;
        };
        let line = self.line(&transaction.line);
        for change in &transaction.changes {
            line.apply(seq, change);
        }
    }

    fn doubt_everything(&mut self) {
        for line in self.lines.values_mut() {
            line.tree.doubt(None);
        }
        for transaction in self.transactions.values_mut() {
            transaction.tree.doubt(None);
            transaction.changes.push(Change::Doubt(None));
        }
    }
}

fn line_of(head: &Head) -> &str {
    head.branch.as_deref().unwrap_or(MAIN)
}

impl Line {
    fn apply(&mut self, seq: Seq, change: &Change) {
        let log = &mut self.log;
        change.apply(&mut self.tree, |path, replaced| {
            let path = path.clone();
            log.push(Logged {
                seq,
                path,
                replaced,
            });
        });
    }
}

impl Transaction {
    /// Makes a change inside, and keeps it for the commit. What it leaves of a file comes then
    /// as it is inside, also where the file outside became another one.
    fn apply(&mut self, change: Change) {
        let mut is_news = false;
        change.apply(&mut self.tree, |_, _| is_news = true);
        let Change::File(told) = &change else {
            return self.changes.push(change);
        };
        match self.tree.get(&told.path) {
            Some(Node::File(_) | Node::Link(_)) if !is_news => {}
            Some(node @ (Node::File(_) | Node::Link(_))) => {
                if let FileOp::Rename { from } = &told.op {
                    self.changes.push(Change::Put(from.clone(), None));
                }
                let put = Change::Put(told.path.clone(), Some(node.clone()));
                self.changes.push(put);
            }
            Some(Node::Directory(_)) | None => self.changes.push(change),
        }
    }

    fn roll_back_to(&mut self, name: &str) {
        let savepoint = self.savepoints.iter().rposition(|known| known.0 == name);
        let Some(savepoint) = savepoint else { return };
        self.savepoints.truncate(savepoint + 1);
        if let Some((_, tree, place)) = self.savepoints.last() {
            self.tree = tree.clone();
            self.changes.truncate(*place);
        }
    }
}

impl Change {
    fn apply(&self, tree: &mut Tree, mut log: impl FnMut(&TapePath, Replaced)) {
        let mut put = |tree: &mut Tree, path: &TapePath, node: Option<Node>| {
            if let Some(replaced) = tree.put(path, node) {
                log(path, replaced);
            }
        };
        let change = match self {
            Self::Doubt(path) => return tree.doubt(path.as_ref()),
            Self::Put(path, node) => return put(tree, path, node.clone()),
            Self::File(change) => change,
        };
        let path = &change.path;
        match &change.op {
            FileOp::Write => {
                let node = file_of(change, tree.get(path));
                put(tree, path, Some(node));
            }
            FileOp::Observe => match &change.content {
                Content::None => put(tree, path, None),
                // That there is something is no news of what is known to be there.
                Content::Unstored { hash: None, .. } if tree.get(path).is_some() => {}
                // Lines may not be those of the content that was known: they are all that is.
                _ => {
                    let node = file_of(change, tree.get(path));
                    put(tree, path, Some(node));
                }
            },
            FileOp::Remove => put(tree, path, None),
            FileOp::Rename { from } => {
                let unknown = || Node::File(FileNode::default());
                let node = tree.get(from).cloned().unwrap_or_else(unknown);
                put(tree, from, None);
                put(tree, path, Some(node));
            }
            FileOp::Mkdir => {
                let mut directory = match tree.get(path) {
                    Some(Node::Directory(directory)) => (**directory).clone(),
                    _ => Directory::default(),
                };
                directory.mode = change.mode.or(directory.mode);
                put(tree, path, Some(Node::Directory(Arc::new(directory))));
            }
            FileOp::Symlink { target } => {
                put(tree, path, Some(Node::Link(target.as_slice().into())));
            }
            FileOp::Chmod => {
                let node = match tree.get(path).cloned() {
                    Some(Node::Directory(mut directory)) => {
                        Arc::make_mut(&mut directory).mode = change.mode;
                        Node::Directory(directory)
                    }
                    Some(Node::File(file)) => Node::File(FileNode {
                        mode: change.mode,
                        ..file
                    }),
                    Some(link @ Node::Link(_)) => link,
                    None => Node::File(FileNode {
                        mode: change.mode,
                        ..FileNode::default()
                    }),
                };
                put(tree, path, Some(node));
            }
        }
    }
}

/// The file that a write or an observation leaves at its path.
fn file_of(change: &FileChange, before: Option<&Node>) -> Node {
    let mode_before = match before {
        Some(Node::File(file)) => file.mode,
        _ => None,
    };
    let (hash, len) = match &change.content {
        Content::Blob { hash, len, .. } => (Some(*hash), Some(*len)),
        Content::Bytes(bytes) => (Some(BlobHash::of(bytes)), Some(bytes.len() as u64)),
        Content::Unstored { hash, len } => (*hash, *len),
        Content::None | Content::Lines(_) => (None, None),
    };
    Node::File(FileNode {
        mode: change.mode.or(mode_before),
        hash,
        len,
        is_proven: hash.is_some(),
    })
}
