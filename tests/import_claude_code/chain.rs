//! Which record descends from which.

use jukebox::model::{Body, Kind, ProblemKind};
use serde_json::json;

use crate::session::{Session, exact};

#[test]
fn a_missing_parent_hides_nothing() {
    let mut session = Session::new();
    session.user("first");
    session.says("answer one");
    session.last = Some("never-written".to_owned());
    session.user("second");
    session.says("answer two");
    let run = session.run();
    assert_eq!(run.prompts(), [("user", "first"), ("user", "second")]);
    assert_eq!(
        run.gaps(),
        ["chain broken here: parent never-written is missing"]
    );
    let shape = [
        "prompt",
        "model.response",
        "gap",
        "prompt",
        "model.response",
    ];
    assert_eq!(run.shape(), shape);
    assert_eq!(run.report.unreachable, 2);
    assert_eq!(run.report.problems[0].kind, ProblemKind::BrokenReference);
}

#[test]
fn a_rewind_is_a_branch_with_the_files_of_where_it_left() {
    let mut session = Session::new();
    session.user("base");
    session.write("T1", "/w/f", "base\n");
    let parent = session.last.clone();
    session.user("try A");
    session.edit("T2", "/w/f", Some("base\n"), "base", "A");
    session.last = parent.clone();
    session.user("try B");
    session.edit("T3", "/w/f", Some("base\n"), "base", "B");
    let run = session.run();
    assert_eq!(run.after("T2", "f"), exact("A\n"));
    assert_eq!(run.before("T3", "f"), exact("base\n"));
    assert_eq!(run.after("T3", "f"), exact("B\n"));
    assert_eq!(run.report.outside_changes, 0);
    let branch = run
        .events
        .iter()
        .find(|event| event.kind() == Kind::Branch)
        .unwrap();
    assert_eq!(branch.head.branch.as_deref(), Some("b2"));
    let Body::Branch { from, at, .. } = &branch.body else {
        unreachable!()
    };
    assert_eq!((from, at.0), (&None, run.seq("T1", Kind::ToolResult)));

    // A rewind of the conversation alone leaves the files, and the pre-image shows it.
    session.last = parent;
    session.user("try C");
    session.edit("T4", "/w/f", Some("B\n"), "B", "C");
    let run = session.run();
    assert_eq!(run.report.outside_changes, 1);
    assert_eq!(run.after("T4", "f"), exact("C\n"));
}

#[test]
fn side_branches_of_one_answer_are_no_rewind() {
    let mut session = Session::new();
    session.user("go");
    let above = session.call("T1", "Glob", &json!({"pattern": "*"}));
    session.result("T1", "none", &json!({}));
    session.last = Some(above.clone());
    session.record(
        "attachment",
        &json!({"attachment": {"type": "hook_success"}}),
    );
    session.last = Some(above);
    session.record(
        "user",
        &json!({"isMeta": true, "message": {"role": "user", "content": "hook"}}),
    );
    let run = session.run();
    assert_eq!(run.report.branches, 0);
    assert_eq!(run.prompts(), [("user", "go"), ("system", "hook")]);
}

#[test]
fn a_compaction_goes_on_with_the_conversation() {
    let mut session = Session::new();
    session.user("q");
    session.write("T1", "/w/a", "x");
    let before = session.last.take();
    session.record(
        "system",
        &json!({"subtype": "compact_boundary", "logicalParentUuid": before,
            "compactMetadata": {"trigger": "auto", "preTokens": 1000}}),
    );
    session.record(
        "user",
        &json!({"isCompactSummary": true, "message": {"role": "user", "content": "so far"}}),
    );
    session.edit("T2", "/w/a", Some("x"), "x", "y");
    let run = session.run();
    assert_eq!(
        run.notes(),
        ["the conversation was compacted (auto, 1000 tokens before)"]
    );
    assert_eq!(run.prompts(), [("user", "q"), ("system", "so far")]);
    assert_eq!(run.after("T2", "a"), exact("y"));
    assert_eq!((run.report.unreachable, run.report.branches), (0, 0));
}

#[test]
fn rewritten_history_is_left_out() {
    let mut session = Session::new();
    session.user("q");
    session.write("T1", "/w/a", "x");
    session.edit("T2", "/w/a", Some("x"), "x", "y");
    let mut lines = session.lines.clone();
    lines.extend(session.lines.iter().cloned());
    session.lines = lines;
    session.edit("T3", "/w/a", Some("y"), "y", "z");
    let run = session.run();
    assert_eq!(run.report.repeated, 5);
    assert_eq!(run.report.outside_changes, 0);
    assert_eq!(run.after("T3", "a"), exact("z"));
}
