//! Calls, answered on a tree of files: edits and sights as functions of it, commands in a
//! real sandbox.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

#[path = "workbench/finds.rs"]
mod finds;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jukebox::model::{BlobHash, Certainty, Content, FileChange, FileOp, Outcome, TapePath};
use jukebox::replay::workbench::{
    Answer, Call, How, NotAttempted, Tree, Workbench, WorkbenchConfig, WorkbenchError,
};
use jukebox::tape::{BlobError, BlobSource};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No contents but those of the tree's own changes.
struct Nothing;

impl BlobSource for Nothing {
    fn blob(&self, hash: &BlobHash) -> Result<Arc<[u8]>, BlobError> {
        Err(BlobError::Missing(*hash))
    }
}

const ROOT: &str = "/nobody-has/project";

struct World {
    place: TempDir,
}

impl World {
    fn new() -> Self {
        let place = tempfile::Builder::new().prefix("workbench-").tempdir();
        Self {
            place: place.unwrap(),
        }
    }

    fn config(&self) -> WorkbenchConfig {
        WorkbenchConfig {
            place: self.place.path().to_owned(),
            program: env!("CARGO_BIN_EXE_jukebox").into(),
            home: None,
            hidden: Vec::new(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            root: Some(ROOT.to_owned()),
            keeps_directory: true,
            timeout: Duration::from_mins(1),
        }
    }

    fn workbench(&self, files: &[(&str, &str)]) -> Workbench<'static> {
        let mut tree = Tree::new(Vec::new(), true, &Nothing);
        for (path, text) in files {
            tree.apply(&write(path, text));
        }
        Workbench::new(self.config(), tree)
    }
}

fn path(text: &str) -> TapePath {
    TapePath::new(text).unwrap()
}

fn write(at: &str, text: &str) -> FileChange {
    FileChange::write(path(at), text.as_bytes())
}

fn call(name: &str, arguments: Value) -> Call {
    Call {
        name: name.to_owned(),
        arguments,
        time: None,
    }
}

fn bash(command: &str) -> Call {
    call("Bash", json!({ "command": command }))
}

/// An answer that must come; `None` where the machine has no sandbox.
fn answer(bench: &mut Workbench<'_>, call: &Call) -> Option<Answer> {
    match bench.answer(call, &|| false) {
        Err(WorkbenchError::Missing(missing)) => {
            println!("skipped: {missing}");
            None
        }
        answered => Some(answered.unwrap().unwrap()),
    }
}

fn refusal(bench: &mut Workbench<'_>, call: &Call) -> String {
    let answered = bench.answer(call, &|| false).unwrap();
    answered.unwrap_err().to_string()
}

/// Changes as text, a line for each.
fn lines(changes: &[FileChange]) -> Vec<String> {
    let line = |change: &FileChange| {
        let path = change.path.to_text();
        match (&change.op, &change.content) {
            (FileOp::Remove, _) => format!("- {path}"),
            (FileOp::Mkdir, _) => format!("d {path}"),
            (FileOp::Chmod, _) => format!("m {path} {:o}", change.mode.unwrap()),
            (FileOp::Symlink { target }, _) => {
                format!("l {path} {}", String::from_utf8_lossy(target))
            }
            (_, Content::Bytes(bytes)) => {
                format!("f {path} {:?}", String::from_utf8_lossy(bytes))
            }
            other => format!("{path}: {other:?}"),
        }
    };
    changes.iter().map(line).collect()
}

#[test]
fn edits_are_functions_of_the_tree() {
    let world = World::new();
    let mut bench = world.workbench(&[("a.txt", "one\ntwo\n"), ("d/b", "x x\n")]);
    let mut check = |name, arguments, outcome, expected: &[&str]| {
        let call = call(name, arguments);
        let answer = answer(&mut bench, &call).unwrap();
        assert_eq!(
            (answer.how, answer.outcome),
            (How::Computed, outcome),
            "{answer:?}"
        );
        assert_eq!(lines(&answer.changes), expected);
        bench.accept(&call, &answer);
    };
    check(
        "Edit",
        json!({"file_path": format!("{ROOT}/a.txt"), "old_string": "two", "new_string": "2"}),
        Outcome::Ok,
        &[r#"f a.txt "one\n2\n""#],
    );
    // The next one sees it.
    check(
        "MultiEdit",
        json!({"file_path": "a.txt", "edits": [
            {"old_string": "2", "new_string": "zwei"},
            {"old_string": "one", "new_string": "eins"},
        ]}),
        Outcome::Ok,
        &[r#"f a.txt "eins\nzwei\n""#],
    );
    check(
        "Edit",
        json!({"file_path": "d/b", "old_string": "x", "new_string": "y"}),
        Outcome::Failed,
        &[],
    );
    check(
        "Write",
        json!({"file_path": "n/new", "content": "new"}),
        Outcome::Ok,
        &[r#"f n/new "new""#],
    );
    check(
        "str_replace_editor",
        json!({"command": "create", "path": format!("{ROOT}/n/new"), "file_text": "other"}),
        Outcome::Failed,
        &[],
    );
    check(
        "str_replace_editor",
        json!({"command": "insert", "path": "n/new", "insert_line": 0, "new_str": "top"}),
        Outcome::Ok,
        &[r#"f n/new "top\nnew""#],
    );
    let patch = "*** Begin Patch\n*** Add File: p\n+1\n*** Update File: d/b\n*** Move to: d/c\n\
                 @@\n-x x\n+z\n*** Delete File: n/new\n*** End Patch\n";
    check(
        "apply_patch",
        json!({ "input": patch }),
        Outcome::Ok,
        &["- d/b", r#"f d/c "z\n""#, "- n/new", r#"f p "1\n""#],
    );
    // No process, no file.
    assert_eq!(fs::read_dir(world.place.path()).unwrap().count(), 0);
}

#[test]
fn a_file_is_shown_as_the_tool_shows_it() {
    let world = World::new();
    let mut bench = world.workbench(&[("a", "1\n2\n3\n")]);
    let mut check = |name, arguments, expected: &str| {
        let answer = answer(&mut bench, &call(name, arguments)).unwrap();
        assert_eq!(answer.output, expected);
        assert!(answer.changes.is_empty());
    };
    check("Read", json!({"path": "a"}), "1\n2\n3\n");
    check(
        "Read",
        json!({"file_path": "a", "offset": 2, "limit": 2}),
        "     2→2\n     3→3",
    );
    check(
        "Read",
        json!({"file_path": "nothing"}),
        "File does not exist.",
    );
}

#[test]
fn what_is_not_known_exactly_is_not_guessed() {
    let world = World::new();
    let mut bench = world.workbench(&[("a", "A")]);
    let mut lost = FileChange::new(FileOp::Write, path("lost"));
    lost.content = Content::Unstored {
        hash: None,
        len: None,
    };
    let target = b"a".to_vec();
    let link = FileChange::new(FileOp::Symlink { target }, path("l"));
    bench.apply(&[lost, link]);
    let edit = |path| {
        let arguments = json!({"file_path": path, "old_string": "A", "new_string": "B"});
        call("Edit", arguments)
    };
    let said = refusal(&mut bench, &edit("lost"));
    assert_eq!(said, "it depends on lost, which is unstored here");
    assert_eq!(
        refusal(&mut bench, &edit("l")),
        "l is a link, which is not followed"
    );
    assert!(refusal(&mut bench, &edit("/etc/passwd")).contains("unknown"));
    let said = refusal(&mut bench, &bash("cat a"));
    assert_eq!(said, "it depends on lost, which is unstored here");
    // What is written whole depends on nothing.
    let whole = call("Write", json!({"file_path": "lost", "content": "found"}));
    let found = answer(&mut bench, &whole).unwrap();
    bench.accept(&whole, &found);
    assert_eq!(
        bench.tree().get(&path("lost")).unwrap().certainty,
        Certainty::Exact
    );

    let mut bench = Workbench::new(world.config(), Tree::new(Vec::new(), false, &Nothing));
    let answered = bench.answer(&bash("true"), &|| false).unwrap();
    assert_eq!(answered, Err(NotAttempted::NotWhole));
    assert!(refusal(&mut bench, &call("WebFetch", json!({}))).contains("nothing is sent"));
}

#[test]
fn commands_and_edits_see_what_the_others_did() {
    let world = World::new();
    let mut bench = world.workbench(&[("a", "A"), ("d/b", "B"), ("e/f/g", "G")]);
    let mut step = |call: &Call| {
        let answer = answer(&mut bench, call)?;
        bench.accept(call, &answer);
        Some((answer.output, lines(&answer.changes)))
    };
    let Some(first) = step(&bash(
        "pwd; cat a; echo more >> a; rm -r e; ln -s a l; chmod 700 d/b",
    )) else {
        return;
    };
    assert_eq!(first.0, format!("{ROOT}\nA"));
    let expected = [r#"f a "Amore\n""#, "m d/b 700", "- e", "l l a"];
    assert_eq!(first.1, expected);
    let edit = json!({"file_path": "d/b", "old_string": "B", "new_string": "edited"});
    assert_eq!(step(&call("Edit", edit)).unwrap().1, [r#"f d/b "edited""#]);
    let second = step(&bash(
        "cat a l d/b; stat -c %a d/b; ls; echo t > /tmp/t; cd d",
    ));
    let expected = "Amore\nAmore\nedited700\na\nd\nl\n".to_owned();
    assert_eq!(second, Some((expected, Vec::new())));
    // A shell stays where it was left, and what is not of the workspace stays, too.
    let third = step(&bash("pwd; cat /tmp/t; mkdir x; mv b x; cd /"));
    let expected = vec![
        "- d/b".to_owned(),
        "d d/x".to_owned(),
        r#"f d/x/b "edited""#.to_owned(),
    ];
    assert_eq!(third, Some((format!("{ROOT}/d\nt\n"), expected)));
}

#[test]
fn an_answer_that_is_not_accepted_changes_nothing() {
    let world = World::new();
    let mut bench = world.workbench(&[("a", "A")]);
    for _ in 0..2 {
        let Some(answer) = answer(&mut bench, &bash("cat a; echo x > a; echo > b; exit 3")) else {
            return;
        };
        assert_eq!((answer.output.as_str(), answer.exit), ("A", Some(3)));
        assert_eq!(answer.outcome, Outcome::Failed);
        assert_eq!(lines(&answer.changes).len(), 2);
    }
}

#[test]
fn nothing_is_left_behind() {
    let world = World::new();
    let mut bench = world.workbench(&[("a", "A")]);
    let second = format!("{}", 200_000 + std::process::id());
    let command = bash(&format!(
        "mkdir d; chmod 0 d; (setsid sleep {second} >/dev/null 2>&1 &)"
    ));
    let Some(answered) = answer(&mut bench, &command) else {
        return;
    };
    bench.accept(&command, &answered);
    answer(&mut bench, &bash("true")).unwrap();
    assert_eq!(bench.seen_at(), Some(Path::new(ROOT)));
    drop(bench);
    assert_eq!(fs::read_dir(world.place.path()).unwrap().count(), 0);
    let sleeps = fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words
            .split(|byte| *byte == 0)
            .any(|word| word == second.as_bytes())
    });
    assert!(!sleeps);
}

#[test]
fn a_command_without_network_or_time_is_told_apart() {
    let world = World::new();
    let mut bench = world.workbench(&[]);
    let wants = bash("echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6");
    let Some(answer) = answer(&mut bench, &wants) else {
        return;
    };
    assert!(answer.needs_network);
    let late = call("Bash", json!({"command": "sleep 100", "timeout": 50}));
    assert!(refusal(&mut bench, &late).starts_with("it was ended after"));
    let stopped = bench.answer(&bash("sleep 100"), &|| true);
    assert!(matches!(stopped, Err(WorkbenchError::Stopped)));
}
