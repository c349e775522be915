//! Random operations: the version table against a model that simply replays them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;

use jukebox::debugger::{Debugger, Expanded, FileContent, OpenOptions, Source};
use jukebox::model::{BlobHash, Certainty, ChangeKind, EntryKind, StepNumber};
use proptest::prelude::*;
use serde_json::json;

#[derive(Clone, Debug)]
enum Op {
    Write(String, u8),
    Remove(String),
    Rename(String, String),
    Begin,
    Savepoint,
    RollBackTo,
    Commit,
    RollBack,
    /// A snapshot, after something outside wrote a file that is there; with 0, removed it.
    Snapshot(String, u8),
}

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "e/a", "a/x"])
        .prop_map(str::to_owned)
}

fn place() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "d", "d/e", "e", "d/a"]).prop_map(str::to_owned)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (path(), any::<u8>()).prop_map(|(path, byte)| Op::Write(path, byte)),
        3 => place().prop_map(Op::Remove),
        3 => (place(), place()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => Just(Op::Begin),
        1 => Just(Op::Savepoint),
        1 => Just(Op::RollBackTo),
        1 => Just(Op::Commit),
        1 => Just(Op::RollBack),
        3 => (path(), 0..3_u8).prop_map(|(path, byte)| Op::Snapshot(path, byte)),
    ]
}

/// Files by path: all that the model knows.
type Files = BTreeMap<String, String>;

fn is_within(path: &str, directory: &str) -> bool {
    path == directory
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn write(files: &mut Files, path: &str, text: &str) {
    files.retain(|other, _| !is_within(other, path) && !is_within(path, other));
    files.insert(path.to_owned(), text.to_owned());
}

/// The model: what the files are after each step, as the agent sees them.
#[derive(Default)]
struct Model {
    real: Files,
    /// The hashes of the directories that are on the tape.
    sent: HashSet<String>,
    inside: Option<(u32, Files, Option<Files>)>,
    transactions: u32,
    lines: Vec<String>,
    expected: Vec<Files>,
}

impl Model {
    fn files(&mut self) -> &mut Files {
        match &mut self.inside {
            Some((_, files, _)) => files,
            None => &mut self.real,
        }
    }

    fn txn(&self) -> String {
        match &self.inside {
            Some((number, ..)) => format!(r#","txn":"x{number}""#),
            None => String::new(),
        }
    }

    fn line(&mut self, body: &str) {
        let seq = self.lines.len();
        self.lines.push(format!(r#"{{"seq":{seq},{body}}}"#));
    }

    /// A step of a call with one file event.
    fn call(&mut self, body: &str) {
        let (txn, call) = (self.txn(), self.lines.len());
        self.line(&format!(
            r#""kind":"tool.call","name":"t","call":"c{call}"{txn}"#
        ));
        self.line(&format!(r#"{body},"call":"c{call}"{txn}"#));
        self.line(&format!(r#""kind":"tool.result","call":"c{call}"{txn}"#));
        let files = self.files().clone();
        self.expected.push(files);
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Write(path, byte) => {
                let text = format!("{byte}");
                write(self.files(), path, &text);
                self.call(&format!(
                    r#""kind":"fs.write","path":"{path}","text":"{text}""#
                ));
            }
            Op::Remove(path) => {
                self.files().retain(|other, _| !is_within(other, path));
                self.call(&format!(r#""kind":"fs.remove","path":"{path}""#));
            }
            Op::Rename(from, to) => {
                let is_sound = !is_within(from, to) && !is_within(to, from);
                let moved: Files = self
                    .files()
                    .iter()
                    .filter(|(path, _)| is_within(path, from))
                    .map(|(path, text)| (path.replacen(from.as_str(), to, 1), text.clone()))
                    .collect();
                if !is_sound || moved.is_empty() {
                    return;
                }
                let files = self.files();
                files.retain(|path, _| !is_within(path, from) && !is_within(path, to));
                for (path, text) in &moved {
                    write(files, path, text);
                }
                self.call(&format!(
                    r#""kind":"fs.rename","path":"{to}","from":"{from}""#
                ));
            }
            Op::Begin if self.inside.is_none() => {
                self.transactions += 1;
                self.inside = Some((self.transactions, self.real.clone(), None));
                self.edge("txn.begin", "");
            }
            Op::Savepoint => {
                if let Some((_, files, saved)) = &mut self.inside {
                    *saved = Some(files.clone());
                    self.edge("txn.savepoint", r#","name":"s""#);
                }
            }
            Op::RollBackTo => {
                if let Some((_, files, Some(saved))) = &mut self.inside {
                    *files = saved.clone();
                    self.edge("txn.rollback", r#","to":"s""#);
                }
            }
            Op::Commit | Op::RollBack => {
                let Some((_, files, _)) = self.inside.clone() else {
                    return;
                };
                let is_commit = matches!(op, Op::Commit);
                self.edge(
                    if is_commit {
                        "txn.commit"
                    } else {
                        "txn.rollback"
                    },
                    "",
                );
                if is_commit {
                    self.real = files;
                }
                self.inside = None;
                let real = self.real.clone();
                *self.expected.last_mut().unwrap() = real;
            }
            Op::Snapshot(path, byte) if self.inside.is_none() && !self.expected.is_empty() => {
                // A file that was never named before would be taken to have been there.
                if self.real.remove(path).is_some() && *byte > 0 {
                    self.real.insert(path.clone(), byte.to_string());
                }
                self.line(&format!(r#""kind":"blob","text":"{byte}""#));
                let mut texts = Vec::new();
                let root = directory(&self.real, "", &mut texts);
                texts.retain(|(hash, _)| self.sent.insert(hash.clone()));
                let texts: serde_json::Map<_, _> = texts
                    .into_iter()
                    .map(|(hash, text)| (hash, text.into()))
                    .collect();
                let texts = serde_json::Value::Object(texts);
                self.line(&format!(
                    r#""kind":"snapshot","reason":"budget","blob":"{root}","dirs":{texts}"#
                ));
                *self.expected.last_mut().unwrap() = self.real.clone();
            }
            Op::Begin | Op::Snapshot(..) => {}
        }
    }

    fn edge(&mut self, kind: &str, more: &str) {
        let txn = self.txn();
        self.line(&format!(r#""kind":"{kind}"{txn}{more}"#));
        let files = self.files().clone();
        self.expected.push(files);
    }
}

/// The hash of a directory as snapshots write it, and its text with those of all below it.
fn directory(files: &Files, above: &str, texts: &mut Vec<(String, String)>) -> String {
    let mut entries = BTreeMap::new();
    for (path, text) in files {
        let Some(below) = path.strip_prefix(above) else {
            continue;
        };
        let entry = match below.split_once('/') {
            None => {
                let hash = BlobHash::of(text.as_bytes()).to_string();
                (below, json!([below, "file", null, hash, text.len()]))
            }
            Some((name, _)) => (name, json!(null)),
        };
        entries.insert(entry.0, entry.1);
    }
    let mut text = String::new();
    for (name, mut entry) in entries {
        if entry.is_null() {
            let hash = directory(files, &format!("{above}{name}/"), texts);
            entry = json!([name, "dir", null, hash]);
        }
        writeln!(text, "{entry}").unwrap();
    }
    let hash = BlobHash::of(text.as_bytes()).to_string();
    texts.push((hash.clone(), text));
    hash
}

/// What is there after a step: the text of a file, or nothing of a directory.
fn tree_of(run: &Debugger, step: u32) -> BTreeMap<String, Option<String>> {
    let cursor = run.spot(0, StepNumber(step)).cursor;
    let rows = run.tree(cursor, cursor, &Expanded::All).into_iter();
    let mut files = files_of(run, step);
    rows.map(|row| {
        let path = row.path.to_text();
        (path.clone(), files.remove(&path))
    })
    .collect()
}

/// The rows of a tree with their marks, as two trees side by side tell them.
fn marks_of(run: &Debugger, from: u32, to: u32) -> BTreeMap<String, Option<ChangeKind>> {
    let (before, after) = (tree_of(run, from), tree_of(run, to));
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |path: &str| match (before.get(path), after.get(path)) {
        (Some(None), None) | (None, Some(None)) => false,
        (one, two) => one != two,
    };
    let mut marks = BTreeMap::new();
    for path in &paths {
        let mut above = paths.iter().filter(|above| **above != *path);
        if above
            .any(|above| is_within(path, above) && after.get(*above).is_some_and(Option::is_some))
        {
            continue;
        }
        let below = paths
            .iter()
            .any(|other| *other != *path && is_within(other, path) && differs(other));
        let mark = match (before.get(*path), after.get(*path)) {
            (one, two) if differs(path) => Some(match (one, two) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Removed,
                _ => ChangeKind::Modified,
            }),
            (_, Some(None)) => below.then_some(ChangeKind::Modified),
            (_, Some(Some(_))) => None,
            (_, None) if below => Some(ChangeKind::Removed),
            (_, None) => continue,
        };
        marks.insert((*path).clone(), mark);
    }
    marks
}

fn files_of(run: &Debugger, step: u32) -> Files {
    let cursor = run.spot(0, StepNumber(step)).cursor;
    run.tree(cursor, cursor, &Expanded::All)
        .into_iter()
        .filter(|row| row.kind == EntryKind::File)
        .map(|row| {
            assert_eq!(row.certainty, Certainty::Exact, "{:?}", row.path);
            let text = match run.file(cursor, &row.path).unwrap().content {
                FileContent::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                _ => String::new(),
            };
            (row.path.to_text(), text)
        })
        .collect()
}

/// A tape of these operations, and what its files are after each step.
fn run_of(ops: &[Op]) -> (Debugger, Vec<Files>) {
    let mut model = Model::default();
    model.line(r#""kind":"tape","format":1,"id":"t""#);
    for op in ops {
        model.apply(op);
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    std::fs::write(&file, model.lines.join("\n") + "\n").unwrap();
    let run = Debugger::open(Source::Path(file), &OpenOptions::default()).unwrap();
    (run, model.expected)
}

#[test]
fn a_snapshot_may_name_a_directory_that_travelled_with_any_earlier_one() {
    let write = |path: &str| Op::Write(path.to_owned(), 0);
    let snapshot_without = |path: &str| Op::Snapshot(path.to_owned(), 0);
    // The workspace is empty at the first snapshot and at the last, and not between them.
    let (run, files) = run_of(&[
        write("a"),
        snapshot_without("a"),
        write("d/e/a"),
        snapshot_without("none"),
        snapshot_without("d/e/a"),
    ]);
    assert_eq!(files_of(&run, 2), files[1]);
    assert_eq!(files[1], Files::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_table_says_what_replaying_says(ops in prop::collection::vec(op(), 1..40)) {
        let (run, expected) = run_of(&ops);
        prop_assert_eq!(run.problems(), vec![]);
        for (at, expected) in expected.iter().enumerate() {
            let step = at as u32 + 1;
            prop_assert_eq!(&files_of(&run, step), expected, "step {}", step);
        }
        // What changed between any two steps is what differs between their files.
        let last = expected.len() as u32;
        for (from, to) in [(0, last), (last / 2, last), (last, last / 3)] {
            let files = |step: u32| match step {
                0 => Files::new(),
                step => expected[step as usize - 1].clone(),
            };
            let cursor = |step| run.spot(0, StepNumber(step)).cursor;
            let changes = run.changes(cursor(from), cursor(to));
            // A rename is one row for two paths.
            let mut changed: Vec<String> = changes.iter()
                .flat_map(|change| [Some(change.path), change.from])
                .flatten().map(|path| path.to_text())
                .collect();
            changed.sort();
            let (one, two) = (files(from), files(to));
            let mut differing: Vec<String> = one.keys().chain(two.keys())
                .filter(|path| one.get(*path) != two.get(*path))
                .cloned().collect();
            differing.sort();
            differing.dedup();
            // A file that became a directory is a change of its own row, too.
            changed.retain(|path| one.contains_key(path) || two.contains_key(path));
            prop_assert_eq!(changed, differing);
            // And so do the marks of the tree, also above what differs and where it is gone.
            let rows = run.tree(cursor(to), cursor(from), &Expanded::All).into_iter();
            let marked: BTreeMap<_, _> = rows.map(|row| (row.path.to_text(), row.change)).collect();
            prop_assert_eq!(marked, marks_of(&run, from, to), "{} to {}", from, to);
        }
    }
}
