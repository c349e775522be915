//! The manifest against a model that anyone can check by reading: whole maps, copied.

#![expect(clippy::unwrap_used, reason = "a test may unwrap")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jukebox::model::{
    BlobHash, Body, Content, Event, FileChange, FileOp, Head, Scope, Seq, TapePath,
};
use jukebox::tape::wire::v1::{DirectoryEntry, decode_directory};
use jukebox::tape::{Directory, Manifest, Node};
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
enum Entry {
    /// Content, mode, proven.
    File(Option<BlobHash>, Option<u32>, bool),
    Link(Vec<u8>),
    Directory(Option<u32>),
}

type Files = BTreeMap<String, Entry>;

#[derive(Clone, Debug)]
enum Op {
    Write(String, u8, Option<u32>),
    Lines(String),
    Observe(String, Option<u8>),
    Remove(String),
    Rename(String, String),
    Mkdir(String, Option<u32>),
    Symlink(String),
    Chmod(String, u32),
    Suspect(Option<String>),
    Gap,
    /// What a transaction brings of a file.
    Put(String, Entry),
    Branch(String, Option<String>, u64),
    Begin,
    Savepoint(String),
    Commit,
    Rollback(Option<String>),
}

/// Every line as it was after every event, and the open transactions.
#[derive(Default)]
struct Model {
    history: Vec<HashMap<String, Files>>,
    parents: HashMap<String, (String, u64)>,
    lines: HashMap<String, Files>,
    transactions: HashMap<String, Txn>,
}

struct Txn {
    line: String,
    files: Files,
    ops: Vec<Op>,
    savepoints: Vec<(String, Files, usize)>,
}

impl Model {
    fn at(&self, line: &str, seq: u64) -> Files {
        match self.parents.get(line) {
            Some((parent, left)) if seq < *left => self.at(parent, seq),
            _ => match self.history.get(seq as usize) {
                Some(lines) => lines.get(line).cloned().unwrap_or_default(),
                None => self.lines.get(line).cloned().unwrap_or_default(),
            },
        }
    }

    fn apply(&mut self, seq: u64, line: &str, txn: Option<&str>, op: &Op) {
        self.lines.entry("main".to_owned()).or_default();
        if let Op::Branch(name, from, at) = op {
            if !self.lines.contains_key(name) {
                let known = from.clone().filter(|from| self.lines.contains_key(from));
                let parent = known.unwrap_or_else(|| "main".to_owned());
                self.lines.insert(name.clone(), self.at(&parent, *at));
                self.parents.insert(name.clone(), (parent, *at));
            }
            return self.history.push(self.lines.clone());
        }
        if !self.lines.contains_key(line) {
            self.lines
                .insert(line.to_owned(), self.lines["main"].clone());
            self.parents
                .insert(line.to_owned(), ("main".to_owned(), seq));
        }
        match (op, txn) {
            (Op::Gap, _) => {
                for files in self.lines.values_mut() {
                    doubt(files, None);
                }
                for txn in self.transactions.values_mut() {
                    doubt(&mut txn.files, None);
                    txn.ops.push(Op::Suspect(None));
                }
            }
            (Op::Commit, Some(name)) => {
                if let Some(txn) = self.transactions.remove(name) {
                    let files = self.lines.get_mut(&txn.line).unwrap();
                    for op in &txn.ops {
                        change(files, op);
                    }
                }
            }
            (Op::Rollback(None), Some(name)) => {
                self.transactions.remove(name);
            }
            (op, Some(name)) => {
                let files = &self.lines[line];
                let txn = self
                    .transactions
                    .entry(name.to_owned())
                    .or_insert_with(|| Txn {
                        line: line.to_owned(),
                        files: files.clone(),
                        ops: Vec::new(),
                        savepoints: Vec::new(),
                    });
                match op {
                    Op::Begin => {}
                    Op::Savepoint(name) => {
                        let savepoint = (name.clone(), txn.files.clone(), txn.ops.len());
                        txn.savepoints.push(savepoint);
                    }
                    Op::Rollback(Some(to)) => {
                        if let Some(at) = txn.savepoints.iter().rposition(|s| s.0 == *to) {
                            txn.savepoints.truncate(at + 1);
                            let (_, files, ops) = &txn.savepoints[at];
                            txn.files = files.clone();
                            txn.ops.truncate(*ops);
                        }
                    }
                    op => {
                        change(&mut txn.files, op);
                        txn.ops.extend(brought(&txn.files, op));
                    }
                }
            }
            (op, None) => change(self.lines.get_mut(line).unwrap(), op),
        }
        self.history.push(self.lines.clone());
    }
}

fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn put(files: &mut Files, path: &str, entry: Entry) {
    let mut parent = path;
    while let Some((above, _)) = parent.rsplit_once('/') {
        if !matches!(files.get(above), Some(Entry::Directory(_))) {
            files.insert(above.to_owned(), Entry::Directory(None));
        }
        parent = above;
    }
    if !matches!(entry, Entry::Directory(_)) {
        files.retain(|known, _| !is_within(known, path));
    }
    files.insert(path.to_owned(), entry);
}

fn doubt(files: &mut Files, path: Option<&str>) {
    for (known, entry) in files {
        if let Entry::File(_, _, proven) = entry
            && path.is_none_or(|path| is_within(known, path))
        {
            *proven = false;
        }
    }
}

/// What a commit does for an operation that left these files inside: files come as they were
/// there.
fn brought(files: &Files, op: &Op) -> Vec<Op> {
    let (Op::Write(path, ..)
    | Op::Lines(path)
    | Op::Observe(path, _)
    | Op::Rename(_, path)
    | Op::Symlink(path)
    | Op::Chmod(path, _)) = op
    else {
        return vec![op.clone()];
    };
    match files.get(path) {
        Some(entry @ (Entry::File(..) | Entry::Link(_))) => {
            let put = Op::Put(path.clone(), entry.clone());
            match op {
                Op::Rename(from, _) => vec![Op::Remove(from.clone()), put],
                _ => vec![put],
            }
        }
        _ => vec![op.clone()],
    }
}

fn change(files: &mut Files, op: &Op) {
    let mode_of = |files: &Files, path: &str| match files.get(path) {
        Some(Entry::File(_, mode, _)) => *mode,
        _ => None,
    };
    match op {
        Op::Write(path, content, mode) => {
            let mode = mode.or(mode_of(files, path));
            put(
                files,
                path,
                Entry::File(Some(BlobHash::of(&[*content])), mode, true),
            );
        }
        Op::Lines(path) => {
            let mode = mode_of(files, path);
            put(files, path, Entry::File(None, mode, false));
        }
        Op::Observe(path, Some(content)) => {
            let mode = mode_of(files, path);
            put(
                files,
                path,
                Entry::File(Some(BlobHash::of(&[*content])), mode, true),
            );
        }
        Op::Observe(path, None) | Op::Remove(path) => {
            files.retain(|known, _| !is_within(known, path));
        }
        Op::Rename(from, to) => {
            let moved: Vec<(String, Entry)> = files
                .iter()
                .filter_map(|(known, entry)| {
                    let rest = known.strip_prefix(from.as_str())?;
                    is_within(known, from).then(|| (format!("{to}{rest}"), entry.clone()))
                })
                .collect();
            files.retain(|known, _| !is_within(known, from));
            files.retain(|known, _| !is_within(known, to));
            if moved.is_empty() {
                put(files, to, Entry::File(None, None, false));
            }
            for (path, entry) in moved {
                put(files, &path, entry);
            }
        }
        Op::Mkdir(path, mode) => {
            let before = match files.get(path) {
                Some(Entry::Directory(mode)) => *mode,
                _ => None,
            };
            put(files, path, Entry::Directory(mode.or(before)));
        }
        Op::Symlink(path) => put(files, path, Entry::Link(b"x".to_vec())),
        Op::Chmod(path, mode) => match files.get_mut(path) {
            Some(Entry::Directory(known) | Entry::File(_, known, _)) => *known = Some(*mode),
            Some(Entry::Link(_)) => {}
            None => put(files, path, Entry::File(None, Some(*mode), false)),
        },
        Op::Suspect(path) => doubt(files, path.as_deref()),
        Op::Put(path, entry) => put(files, path, entry.clone()),
        _ => {}
    }
}

fn event(op: &Op, line: &str, txn: Option<&str>) -> Event {
    let file = |op: FileOp, path: &str| FileChange::new(op, TapePath::new(path).unwrap());
    let bytes = |content: u8| Content::Bytes(Arc::from([content]));
    let body = match op {
        Op::Write(path, content, mode) => Body::File(FileChange {
            mode: *mode,
            content: bytes(*content),
            ..file(FileOp::Write, path)
        }),
        Op::Lines(path) => Body::File(FileChange {
            content: Content::Lines(jukebox::model::KnownLines::default()),
            ..file(FileOp::Write, path)
        }),
        Op::Observe(path, content) => Body::File(FileChange {
            content: content.map_or(Content::None, bytes),
            ..file(FileOp::Observe, path)
        }),
        Op::Remove(path) => Body::File(file(FileOp::Remove, path)),
        Op::Rename(from, to) => {
            let from = TapePath::new(from).unwrap();
            Body::File(file(FileOp::Rename { from }, to))
        }
        Op::Mkdir(path, mode) => Body::File(FileChange {
            mode: *mode,
            ..file(FileOp::Mkdir, path)
        }),
        Op::Symlink(path) => {
            let target = b"x".to_vec();
            Body::File(file(FileOp::Symlink { target }, path))
        }
        Op::Chmod(path, mode) => Body::File(FileChange {
            mode: Some(*mode),
            ..file(FileOp::Chmod, path)
        }),
        Op::Suspect(path) => Body::Suspect {
            scope: path
                .as_ref()
                .map_or(Scope::All, |path| Scope::Path(TapePath::new(path).unwrap())),
            why: String::new(),
        },
        Op::Put(..) => unreachable!("no event says it"),
        Op::Gap => Body::Gap { why: String::new() },
        Op::Branch(_, from, at) => Body::Branch {
            from: from.clone(),
            at: Seq(*at),
            why: String::new(),
        },
        Op::Begin => Body::TxnBegin,
        Op::Savepoint(name) => Body::TxnSavepoint { name: name.clone() },
        Op::Commit => Body::TxnCommit,
        Op::Rollback(to) => Body::TxnRollback { to: to.clone() },
    };
    let branch = match op {
        Op::Branch(name, ..) => name,
        _ => line,
    };
    Event {
        head: Head {
            branch: Some(branch.to_owned()).filter(|branch| branch != "main"),
            txn: txn.map(str::to_owned),
            ..Head::default()
        },
        ..Event::new(body)
    }
}

fn flatten(directory: &Directory, above: &str, files: &mut Files) {
    for (name, node) in directory.entries() {
        let path = format!("{above}{}", String::from_utf8_lossy(name));
        let entry = match node {
            Node::File(file) => Entry::File(file.hash, file.mode, file.is_proven),
            Node::Link(target) => Entry::Link(target.to_vec()),
            Node::Directory(child) => {
                flatten(child, &format!("{path}/"), files);
                Entry::Directory(child.mode)
            }
        };
        files.insert(path, entry);
    }
}

/// The files that a snapshot tells of, from the texts of its directories.
fn read_back(root: BlobHash, texts: &HashMap<BlobHash, Arc<[u8]>>, above: &str) -> Files {
    let mut files = Files::new();
    for (name, entry) in decode_directory(&texts[&root]).unwrap() {
        let path = format!("{above}{}", String::from_utf8_lossy(&name));
        let entry = match entry {
            DirectoryEntry::File { mode, hash, .. } => Entry::File(hash, mode, hash.is_some()),
            DirectoryEntry::Link { target } => Entry::Link(target.to_vec()),
            DirectoryEntry::Directory { mode, hash } => {
                files.append(&mut read_back(hash, texts, &format!("{path}/")));
                Entry::Directory(mode)
            }
        };
        files.insert(path, entry);
    }
    files
}

fn doubted(entry: &Entry) -> Entry {
    match entry {
        Entry::File(hash, mode, _) => Entry::File(*hash, *mode, false),
        entry => entry.clone(),
    }
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn any_op(at: u64) -> impl Strategy<Value = Op> {
    let mode = prop::option::of(prop::sample::select(vec![0o644u32, 0o755]));
    let line = || prop::sample::select(vec!["main", "left", "right"]).prop_map(str::to_owned);
    let savepoint = || prop::sample::select(vec!["s1", "s2"]).prop_map(str::to_owned);
    prop_oneof![
        8 => (any_path(), 0..4u8, mode.clone()).prop_map(|(path, content, mode)| {
            Op::Write(path, content, mode)
        }),
        1 => any_path().prop_map(Op::Lines),
        2 => (any_path(), prop::option::of(0..4u8)).prop_map(|(path, content)| {
            Op::Observe(path, content)
        }),
        3 => any_path().prop_map(Op::Remove),
        3 => (any_path(), any_path())
            .prop_filter("into itself", |(from, to)| {
                !is_within(to, from) && !is_within(from, to)
            })
            .prop_map(|(from, to)| Op::Rename(from, to)),
        2 => (any_path(), mode).prop_map(|(path, mode)| Op::Mkdir(path, mode)),
        1 => any_path().prop_map(Op::Symlink),
        2 => any_path().prop_map(|path| Op::Chmod(path, 0o600)),
        1 => prop::option::of(any_path()).prop_map(Op::Suspect),
        1 => Just(Op::Gap),
        1 => (line(), prop::option::of(line()), 0..=at).prop_map(|(name, from, at)| {
            Op::Branch(name, from, at)
        }),
        1 => Just(Op::Begin),
        1 => savepoint().prop_map(Op::Savepoint),
        1 => Just(Op::Commit),
        1 => prop::option::of(savepoint()).prop_map(Op::Rollback),
    ]
}

fn any_run() -> impl Strategy<Value = Vec<(&'static str, Option<&'static str>, Op)>> {
    let line = prop::sample::select(vec!["main", "main", "left", "right"]);
    let txn = prop::option::weighted(0.3, prop::sample::select(vec!["t1", "t2"]));
    prop::collection::vec((line, txn, any_op(60)), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_events_leave_the_same_files_as_the_model(run in any_run()) {
        let mut manifest = Manifest::default();
        let mut model = Model::default();
        let mut stored = HashSet::new();
        let mut texts = HashMap::new();
        let leaves_the_past = run.iter().any(|(.., op)| matches!(op, Op::Branch(..)));
        for (at, (line, txn, op)) in run.iter().enumerate() {
            // A branch leaves from what has happened.
            let mut op = op.clone();
            if let Op::Branch(_, _, from) = &mut op {
                *from = (*from).min((at as u64).saturating_sub(1));
            }
            model.apply(at as u64, line, *txn, &op);
            manifest.apply(Seq(at as u64), &event(&op, line, *txn));
            if at % 7 == 0 {
                let (_, directories) = manifest.snapshot(Some(line), &|hash| stored.contains(hash));
                for (hash, text) in directories {
                    stored.insert(hash);
                    texts.insert(hash, text);
                }
            }
        }
        for (line, expected) in &model.lines {
            let mut files = Files::new();
            flatten(manifest.workspace(Some(line)).unwrap(), "", &mut files);
            if leaves_the_past {
                // What was doubted later stays doubted: less is said than is known, never more.
                for (path, entry) in &files {
                    let known = &expected[path];
                    prop_assert!(*entry == *known || *entry == doubted(known), "{} {}", line, path);
                }
                prop_assert_eq!(files.len(), expected.len());
            } else {
                prop_assert_eq!(&files, expected, "{}", line);
            }
            let is_proven = files.values().all(|entry| !matches!(entry, Entry::File(_, _, false)));
            prop_assert_eq!(manifest.is_proven(Some(line)), is_proven);
            let (root, directories) = manifest.snapshot(Some(line), &|hash| stored.contains(hash));
            texts.extend(directories.iter().cloned());
            stored.extend(directories.into_iter().map(|(hash, _)| hash));
            let told: Files = files
                .iter()
                .map(|(path, entry)| {
                    let entry = match entry {
                        Entry::File(_, mode, false) => Entry::File(None, *mode, false),
                        entry => entry.clone(),
                    };
                    (path.clone(), entry)
                })
                .collect();
            prop_assert_eq!(read_back(root, &texts, ""), told);
            prop_assert_eq!(manifest.snapshot_cost(Some(line)), 0);
            prop_assert!(manifest.snapshot(Some(line), &|hash| stored.contains(hash)).1.is_empty());
        }
        for (name, txn) in &model.transactions {
            for path in ["a", "a/b", "b", "c/a/b"] {
                let head = Head { txn: Some(name.clone()), ..Head::default() };
                let node = manifest.get(&head, &TapePath::new(path).unwrap());
                prop_assert_eq!(node.is_some(), txn.files.contains_key(path), "{} {}", name, path);
            }
        }
    }
}

#[test]
fn a_path_deeper_than_any_system_allows_is_left_out() {
    let mut manifest = Manifest::default();
    let file = Op::Write("a/f".to_owned(), 1, None);
    manifest.apply(Seq(1), &event(&file, "main", None));
    for seq in 2..3000 {
        // Each rename puts what there is one directory deeper.
        let (from, to) = if seq % 2 == 0 {
            ("a", "b/a")
        } else {
            ("b", "a/b")
        };
        manifest.apply(
            Seq(seq),
            &event(&Op::Rename(from.to_owned(), to.to_owned()), "main", None),
        );
    }
    manifest.apply(Seq(3000), &event(&Op::Suspect(None), "main", None));
    let (_, texts) = manifest.snapshot(None, &|_| false);
    assert!(texts.len() < 1100, "{}", texts.len());
}
