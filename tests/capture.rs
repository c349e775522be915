//! A directory that is changed at random between looks: what the looks tell leads, step by
//! step, to the directory as it is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use jukebox::capture::{Capture, CaptureOptions, Hearing, Session};
use jukebox::model::{BlobHash, Body, Event, Head, Header, Outcome, TapePath};
use jukebox::tape::{Node, Recorder, RecorderOptions, verify};
use proptest::prelude::*;
use serde_json::Value;

/// Something that is done to a directory. What cannot be done is not.
#[derive(Clone, Debug)]
enum Operation {
    Write(String, u8),
    Append(String),
    Remove(String),
    Rename(String, String),
    Mkdir(String),
    Chmod(String, u32),
    Link(String, String),
    HardLink(String, String),
}

impl Operation {
    fn run(&self, root: &Path) {
        let at = |path: &String| root.join(path);
        let _may_fail = match self {
            Self::Write(path, byte) => fs::write(at(path), [*byte; 20]),
            Self::Append(path) => fs::read(at(path)).and_then(|mut bytes| {
                bytes.push(b'+');
                fs::write(at(path), bytes)
            }),
            Self::Remove(path) => {
                fs::remove_file(at(path)).or_else(|_| fs::remove_dir_all(at(path)))
            }
            Self::Rename(from, to) => fs::rename(at(from), at(to)),
            Self::Mkdir(path) => fs::create_dir_all(at(path)),
            Self::Chmod(path, mode) => match fs::symlink_metadata(at(path)) {
                Ok(seen) if !seen.is_symlink() => {
                    fs::set_permissions(at(path), Permissions::from_mode(*mode))
                }
                _ => Ok(()),
            },
            Self::Link(path, target) => symlink(target, at(path)),
            Self::HardLink(from, to) => fs::hard_link(at(from), at(to)),
        };
    }
}

fn path() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "a", "b", "c", "d", "d/a", "d/b", "d/c", "d/d", "d/d/a", "d/d/b", "e", "e/a", "e/d",
        "e/d/a", "e/d/b",
    ])
    .prop_map(str::to_owned)
}

/// The same among so many files that several threads look at them.
fn path_of_many() -> impl Strategy<Value = String> {
    let file =
        (0..DIRECTORIES, 0..FILES + 2).prop_map(|(directory, file)| format!("{directory}/{file}"));
    prop_oneof![4 => file, 1 => (0..DIRECTORIES).prop_map(|directory| directory.to_string())]
}

const DIRECTORIES: usize = 40;
const FILES: usize = 30;

fn many_files() -> Vec<Operation> {
    let directory = |directory: usize| {
        let file = move |file| Operation::Write(format!("{directory}/{file}"), b'0');
        let made = Operation::Mkdir(directory.to_string());
        std::iter::once(made).chain((0..FILES).map(file))
    };
    (0..DIRECTORIES).flat_map(directory).collect()
}

fn operation<P: Strategy<Value = String>>(path: fn() -> P) -> impl Strategy<Value = Operation> {
    let mode = proptest::sample::select(vec![0o700, 0o711, 0o744, 0o755, 0o777]);
    prop_oneof![
        3 => (path(), 0..4u8).prop_map(|(path, byte)| Operation::Write(path, b'0' + byte)),
        1 => path().prop_map(Operation::Append),
        2 => path().prop_map(Operation::Remove),
        4 => (path(), path()).prop_map(|(from, to)| Operation::Rename(from, to)),
        2 => path().prop_map(Operation::Mkdir),
        1 => (path(), mode).prop_map(|(path, mode)| Operation::Chmod(path, mode)),
        1 => (path(), path()).prop_map(|(path, target)| Operation::Link(path, target)),
        1 => (path(), path()).prop_map(|(from, to)| Operation::HardLink(from, to)),
    ]
}

/// Checks that what the tape says is what is there; how many entries there are.
fn compare(root: &Path, session: &Session) -> Result<usize, TestCaseError> {
    let mut pending = vec![root.to_owned()];
    let mut count = 0;
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            count += 1;
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes();
            let node = session
                .recorder()
                .node(&Head::default(), &TapePath::new(name).unwrap());
            let seen = entry.metadata().unwrap();
            let mode = Some(seen.permissions().mode() & 0o7777);
            let is_same = match node {
                Some(Node::File(file)) if seen.is_file() => {
                    let hash = BlobHash::of(&fs::read(&path).unwrap());
                    file.hash == Some(hash) && file.mode == mode
                }
                Some(Node::Link(target)) if seen.is_symlink() => {
                    fs::read_link(&path).unwrap().as_os_str().as_bytes() == &**target
                }
                Some(Node::Directory(known)) if seen.is_dir() => known.mode == mode,
                _ => false,
            };
            prop_assert!(is_same, "{}: {node:?}", entry.path().display());
            if seen.is_dir() {
                pending.push(path);
            }
        }
    }
    Ok(count)
}

/// How many entries the tape says there are.
fn told(session: &Session) -> usize {
    fn below(directory: &jukebox::tape::Directory) -> usize {
        let entries = directory.entries();
        entries
            .map(|(_, node)| match node {
                Node::Directory(directory) => 1 + below(directory),
                Node::File(_) | Node::Link(_) => 1,
            })
            .sum()
    }
    session.recorder().workspace().map_or(0, below)
}

fn check(hearing: Hearing, calls: &[Vec<Operation>]) -> Result<(), TestCaseError> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let options = CaptureOptions {
        hearing,
        ..CaptureOptions::default()
    };
    for operation in &calls[0] {
        operation.run(root);
    }
    let recorder = Recorder::in_memory(Header::default(), RecorderOptions::default()).unwrap();
    let capture = Capture::workspace(root, options).unwrap();
    let mut session = Session::begin(recorder, vec![capture]).unwrap();
    prop_assert_eq!(compare(root, &session)?, told(&session));
    for (number, operations) in calls.iter().enumerate().skip(1) {
        let id = number.to_string();
        let call = Body::ToolCall {
            name: "x".to_owned(),
            arguments: Value::Null,
        };
        session.append(Event::new(call).in_call(&id)).unwrap();
        for operation in operations {
            operation.run(root);
        }
        let result = Body::ToolResult {
            outcome: Outcome::Ok,
            exit: None,
            output: String::new(),
            duration: None,
            attachments: Vec::new(),
            detail: Value::Null,
        };
        session.append(Event::new(result).in_call(&id)).unwrap();
        prop_assert_eq!(compare(root, &session)?, told(&session));
    }
    let bytes = session.recorder().bytes();
    session.close(Outcome::Ok).unwrap();
    let verified = verify(bytes, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    prop_assert_eq!(verified.problems, []);
    Ok(())
}

fn runs() -> impl Strategy<Value = Vec<Vec<Operation>>> {
    let operations = proptest::collection::vec(operation(path), 0..14);
    proptest::collection::vec(operations, 2..5)
}

fn runs_over_many() -> impl Strategy<Value = Vec<Vec<Operation>>> {
    let operations = proptest::collection::vec(operation(path_of_many), 20..40);
    let runs = proptest::collection::vec(operations, 3);
    runs.prop_map(|runs| std::iter::once(many_files()).chain(runs).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_told_leads_to_what_is_there_where_the_system_tells(calls in runs()) {
        check(Hearing::Asked, &calls)?;
    }

    #[test]
    fn what_is_told_leads_to_what_is_there_by_looking_everywhere(calls in runs()) {
        check(Hearing::Never, &calls)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_several_threads_look_at_leads_to_what_is_there(calls in runs_over_many()) {
        check(Hearing::Never, &calls)?;
    }
}
