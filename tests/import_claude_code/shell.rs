//! What shell commands and tools that are not known do to files.

use jukebox::model::{Body, Certainty, Content, Kind};
use serde_json::json;

use crate::session::{Session, exact};

#[test]
fn a_shell_command_that_may_write_makes_files_uncertain() {
    let mut session = Session::new();
    session.user("clean up");
    session.write("T1", "/w/a.txt", "alpha\n");
    session.bash(
        "T2",
        "sed -i s/alpha/beta/ a.txt && rm -f old.txt && printf x > b.txt",
    );
    session.edit("T3", "/w/a.txt", Some("beta\n"), "beta", "gamma");
    let run = session.run();
    assert_eq!(run.after("T1", "a.txt"), exact("alpha\n"));
    assert_eq!(
        run.after("T2", "a.txt"),
        (Certainty::Uncertain, "alpha\n".to_owned())
    );
    for path in ["old.txt", "b.txt"] {
        assert_ne!(run.after("T2", path).0, Certainty::Exact, "{path}");
    }
    let suspicions = run.events.iter().filter_map(|event| match event.body {
        Body::Suspect { .. } => event.head.title.as_deref(),
        _ => None,
    });
    let expected = ["any file", "a.txt", "old.txt", "b.txt"];
    let expected = expected.map(|what| format!("{what}: a shell command may have written files"));
    assert_eq!(suspicions.collect::<Vec<_>>(), expected);
    assert_eq!(run.after("T3", "a.txt"), exact("gamma\n"));
    let [change] = run.outside()[..] else {
        panic!("{:?}", run.outside());
    };
    assert_eq!(change.content, Content::Bytes(b"beta\n"[..].into()));
    assert_eq!(change.candidates, ["T2"]);
}

#[test]
fn commands_that_only_read_leave_files_as_they_were() {
    let mut session = Session::new();
    session.write("T1", "/w/a.txt", "x");
    session.bash("T2", "cat a.txt | head -3 && git status");
    assert_eq!(session.run().after("T2", "a.txt"), exact("x"));
}

#[test]
fn plain_shell_commands_are_understood() {
    let mut session = Session::new();
    session.write("T1", "/w/a.txt", "x");
    session.bash("T2", "mkdir -p d && mv a.txt d/ && cat > b.txt <<'E'\nb\nE");
    session.bash("T3", "cp b.txt c.txt && rm b.txt");
    session.bash("T4", "rm -rf d");
    let run = session.run();
    assert_eq!(run.after("T2", "d/a.txt"), exact("x"));
    assert_eq!(run.after("T2", "a.txt").0, Certainty::Absent);
    assert_eq!(run.after("T3", "c.txt"), exact("b\n"));
    assert_eq!(run.after("T3", "b.txt").0, Certainty::Absent);
    assert_eq!(run.after("T4", "d/a.txt").0, Certainty::Absent);
    assert!(!run.shape().contains(&"fs.suspect".to_owned()));
}

#[test]
fn a_shell_that_went_elsewhere_is_not_believed_about_relative_paths() {
    let mut session = Session::new();
    session.write("T1", "/w/a.txt", "x");
    session.bash("T2", "cd sub && make");
    session.bash("T3", "rm a.txt");
    session.bash("T4", "rm /w/b.txt");
    let run = session.run();
    assert_eq!(
        run.after("T3", "a.txt"),
        (Certainty::Uncertain, "x".to_owned())
    );
    let removed = run
        .events
        .iter()
        .filter(|event| event.kind() == Kind::FsRemove);
    assert_eq!(removed.count(), 1);
}

#[test]
fn a_tool_that_is_not_known_may_write_anything() {
    let mut session = Session::new();
    session.write("T1", "/w/a", "x");
    session.call("T2", "Grep", &json!({"pattern": "x"}));
    session.result("T2", "a", &json!({"mode": "content"}));
    session.call("T3", "mcp__files__put", &json!({"path": "a"}));
    session.result("T3", "done", &json!({}));
    let run = session.run();
    assert_eq!(run.after("T2", "a"), exact("x"));
    assert_eq!(run.after("T3", "a").0, Certainty::Uncertain);
}
