//! Records: damaged, unknown, repeated, out of order, still being written.

use std::ops::ControlFlow;
use std::path::Path;

use jukebox::import::Collected;
use jukebox::import::claude_code::{Ending, Importer, Line, Options, Survey, Transcript, import};
use jukebox::model::{BlockKind, Body, Certainty, Content, Event, Kind, ProblemKind};
use proptest::prelude::*;
use serde_json::json;

use crate::session::{Run, Session, exact};

#[test]
fn a_torn_last_line_costs_only_itself() {
    let mut session = Session::new();
    session.user("hello");
    session.write("T1", "/w/a", "x\n");
    let whole = session.text();
    session.says("bye");
    let torn = session.text();
    let torn = torn.get(..whole.len() + 40).unwrap();
    let run = Run::of(torn);
    let [problem] = &run.report.problems[..] else {
        panic!("{:?}", run.report.problems);
    };
    assert_eq!(problem.kind, ProblemKind::TornTail);
    assert_eq!((problem.line, problem.offset), (4, whole.len() as u64));
    assert_eq!(run.shape().last().unwrap(), "gap");
    assert_eq!(run.after("T1", "a"), exact("x\n"));

    let complete = session.text();
    let run = Run::of(complete.trim_end());
    assert_eq!(
        run.report.problems,
        [],
        "a last line without its newline may be whole"
    );
    assert_eq!(run.shape().last().unwrap(), "model.response");
}

#[test]
fn damage_costs_the_line_it_is_in() {
    let mut session = Session::new();
    session.user("one");
    session.user("two");
    session.user("thr\\ud83dee");
    session.user("four");
    let mut lines = session.lines.clone();
    let glued = lines.remove(1);
    lines[0].push_str(&glued);
    let lone = lines.iter_mut().find(|line| line.contains("thr")).unwrap();
    *lone = lone.replace("\\\\ud83d", "\\ud83d");
    lines.insert(1, "\0\0\0".to_owned());
    let cut: String = lines[3].chars().take(100).collect();
    lines.insert(3, format!("{cut}{}", session.lines[3].replace("u4", "u5")));
    let run = Run::of(&(lines.join("\n") + "\n"));
    let texts: Vec<&str> = run.prompts().iter().map(|prompt| prompt.1).collect();
    assert_eq!(texts, ["one", "two", "thr\u{fffd}ee", "four", "four"]);
    let kinds: Vec<ProblemKind> = run
        .report
        .problems
        .iter()
        .map(|problem| problem.kind)
        .collect();
    let expected = [
        ProblemKind::GluedRecords,
        ProblemKind::NulBytes,
        ProblemKind::LoneSurrogate,
        ProblemKind::NotJson,
    ];
    assert_eq!(kinds, expected);
    let gaps = run.shape().iter().filter(|kind| *kind == "gap").count();
    assert_eq!(gaps, 2, "the NULs and the cut record");
}

#[test]
fn the_records_of_one_answer_are_one_event_and_the_last_usage_counts() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let usage = |output: u64| json!({"input_tokens": 100, "output_tokens": output});
    let mut session = Session::new();
    session.user("q");
    session.answer("m", &text("part 0"), &usage(1));
    session.answer("m", &text("part 1"), &usage(9));
    session.record("progress", &json!({"data": {"type": "hook_progress"}}));
    session.answer("m", &text("part 2"), &usage(159));
    session.user("again");
    session.answer("n", &text("a"), &usage(3));
    session.record(
        "system",
        &json!({"subtype": "informational", "content": "x"}),
    );
    session.answer("n", &text("b"), &usage(4));
    let run = session.run();
    let answers = run.events.iter().filter_map(|event| match &event.body {
        Body::ModelResponse { blocks, usage, .. } => {
            let texts: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
            Some((
                event.head.call.as_deref(),
                texts,
                usage.map(|usage| usage.output),
            ))
        }
        _ => None,
    });
    let answers: Vec<_> = answers.collect();
    let expected = [
        (Some("m"), vec!["part 0", "part 1", "part 2"], Some(159)),
        (Some("n"), vec!["a"], Some(3)),
        (Some("n"), vec!["b"], Some(4)),
    ];
    assert_eq!(answers, expected);
}

#[test]
fn what_is_not_understood_is_kept_byte_for_byte() {
    let unknown = r#"{"type":"some-future-latch", "payload":{"k":1.0},"sessionId":"s"}"#;
    let block = r#"{"type":"future_block", "data":{"x":[1,2.50]}}"#;
    let mut session = Session::new();
    session.user("q");
    session.lines.push(unknown.to_owned());
    session.says("still readable");
    let readable = session.lines.pop().unwrap();
    let readable = readable.replace("\"content\":[", &format!("\"content\":[{block},"));
    session.lines.push(readable);
    session.lines.push("[\"not\",\"an\",\"object\"]".to_owned());
    session.lines.push("42".to_owned());
    session.record(
        "user",
        &json!({"message": {"role": "user", "content": {"weird": 1}}}),
    );
    session.says("end");
    let run = session.run();
    let understood: Vec<(&str, u64)> = run
        .report
        .not_understood
        .iter()
        .map(|(what, count)| (what.as_str(), *count))
        .collect();
    let expected = [
        ("a line that is no object", 2),
        ("future_block", 1),
        ("some-future-latch", 1),
    ];
    assert_eq!(understood, expected);
    let raw: Vec<String> = run
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Raw { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(raw, [unknown, block, "[\"not\",\"an\",\"object\"]", "42"]);
    let kinds: Vec<BlockKind> = run
        .events
        .iter()
        .find_map(|event| match &event.body {
            Body::ModelResponse { blocks, .. } => {
                Some(blocks.iter().map(|block| block.kind).collect())
            }
            _ => None,
        })
        .unwrap();
    assert_eq!(kinds, [BlockKind::Other, BlockKind::Text]);
    assert_eq!(run.prompts(), [("user", "q"), ("user", "{\"weird\":1}")]);
}

#[test]
fn progress_is_counted_and_not_kept() {
    let mut session = Session::new();
    session.user("q");
    for _ in 0..20 {
        session.record(
            "progress",
            &json!({"data": {"normalizedMessages": vec!["x".repeat(1000); 9]}}),
        );
    }
    session.says("a");
    let run = session.run();
    assert_eq!(run.shape(), ["prompt", "model.response", "note"]);
    assert!(
        run.notes()[0].starts_with("20 progress records, "),
        "{:?}",
        run.notes()
    );
    assert_eq!(run.report.progress.records, 20);
    assert_eq!(run.report.unreachable, 0, "progress is a link of the chain");
}

/// Longer than any buffer: what is said is kept whole, what only tells of progress is not.
#[test]
fn a_line_of_megabytes_is_neither_dropped_nor_the_end() {
    let long = "x".repeat(9 << 20);
    let mut session = Session::new();
    session.user("before");
    session.user(&long);
    session.record("progress", &json!({"data": {"fullOutput": long}}));
    session.user("after");
    let run = session.run();
    assert_eq!(run.report.problems, []);
    assert_eq!(run.report.progress.records, 1);
    let lengths: Vec<usize> = run.prompts().iter().map(|prompt| prompt.1.len()).collect();
    assert_eq!(lengths, [6, long.len(), 5]);
}

#[test]
fn results_without_calls_and_calls_without_results_are_kept() {
    let mut session = Session::new();
    session.result(
        "R1",
        "edited",
        &json!({"filePath": "/w/a", "oldString": "x", "newString": "y",
        "originalFile": "x\n"}),
    );
    session.call("C1", "Bash", &json!({"command": "make"}));
    session.call("C2", "Glob", &json!({"pattern": "*"}));
    // The same id once more, before any result; and a result before its call.
    session.call("C2", "Glob", &json!({"pattern": "*"}));
    session.result("C2", "1", &json!({}));
    session.result("C2", "2", &json!({}));
    session.result("C3", "early", &json!({}));
    session.call("C3", "Glob", &json!({"pattern": "*"}));
    let run = session.run();
    assert_eq!(run.after("R1", "a"), exact("y\n"));
    let count = |call: &str, kind| {
        let events = run.events.iter();
        events
            .filter(|event| event.head.call.as_deref() == Some(call) && event.kind() == kind)
            .count()
    };
    assert_eq!(
        (count("C2", Kind::ToolCall), count("C2", Kind::ToolResult)),
        (2, 2)
    );
    assert_eq!(
        (count("C3", Kind::ToolCall), count("C3", Kind::ToolResult)),
        (1, 1)
    );
    assert_eq!(
        (count("C1", Kind::ToolCall), count("C1", Kind::FsSuspect)),
        (1, 1)
    );
    assert_eq!(
        run.at(run.seq("C1", Kind::FsSuspect), "a").0,
        Certainty::Uncertain
    );
}

#[test]
fn images_and_kept_outputs_are_blobs() {
    let mut session = Session::new();
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}});
    session.record(
        "user",
        &json!({"message": {"role": "user", "content": [
        {"type": "text", "text": "look"}, image]}}),
    );
    session.call("T1", "Bash", &json!({"command": "ls"}));
    session.result(
        "T1",
        "…",
        &json!({"stdout": "…", "persistedOutputPath": "/home/x/.claude/t/s/tool-results/o1.txt"}),
    );
    let beside = [("s/tool-results/o1.txt", "all of it"), ("s/secret", "no")];
    let run = Run::with(&session.text(), &beside, &Options::default());
    let blobs: Vec<&[u8]> = run
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Blob(Content::Bytes(bytes)) => Some(&**bytes),
            _ => None,
        })
        .collect();
    assert_eq!(blobs, [&b"hello"[..], b"all of it"]);
}

#[test]
fn a_growing_transcript_can_be_followed() {
    let mut session = Session::new();
    session.user("go");
    session.call("T1", "Write", &json!({"file_path": "/w/a", "content": "x"}));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    std::fs::write(&path, session.text()).unwrap();
    let survey = Survey::of(Transcript::At(&path), &Options::default(), &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let sink = Collected::new(survey.header());
    let mut importer = Importer::begin(&survey, Options::default(), sink);
    let push = |importer: &mut Importer<Collected>, lines: &[String]| {
        for bytes in lines {
            let line = Line {
                number: 1,
                offset: 0,
                bytes: bytes.as_bytes(),
                ending: Ending::Newline,
            };
            importer.push_line(line).unwrap();
        }
    };
    push(&mut importer, &session.lines);
    assert!(importer.has_open_call("T1"));
    importer.flush().unwrap();
    importer.flush().unwrap();
    session.result(
        "T1",
        "written",
        &json!({"type": "create", "filePath": "/w/a", "content": "x"}),
    );
    push(&mut importer, &session.lines[2..]);
    assert!(!importer.has_open_call("T1"));
    let (_, collected) = importer.finish().unwrap();
    let kinds: Vec<Kind> = collected.events.iter().map(Event::kind).collect();
    let expected = [
        Kind::Tape,
        Kind::Prompt,
        Kind::ModelResponse,
        Kind::ToolCall,
        Kind::FsObserve,
        Kind::FsWrite,
        Kind::ToolResult,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn the_header_says_where_the_tape_comes_from() {
    let mut session = Session::new();
    session
        .lines
        .push(r#"{"type":"summary","summary":"s","leafUuid":"x"}"#.to_owned());
    session.user("q");
    let run = session.run();
    let Body::Tape(header) = &run.events[0].body else {
        panic!("{:?}", run.events[0])
    };
    assert_eq!(header.root.as_deref(), Some("/w"));
    assert_eq!(header.agent.as_deref(), Some("claude-code 2.1.0"));
    assert_eq!(header.source["name"], "session.jsonl");
    assert_eq!(header.source["bytes"], session.text().len());
    let again = session.run();
    let Body::Tape(same) = &again.events[0].body else {
        panic!("{:?}", again.events[0])
    };
    assert_eq!(header.id, same.id, "equal bytes give an equal id");
    assert_eq!(
        uuid::Uuid::parse_str(&header.id).unwrap().get_version_num(),
        8
    );
    assert!(!Path::new(header.source["name"].as_str().unwrap()).is_absolute());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the order of the records, and however often they stand there: every prompt,
    /// every call and every result is there once.
    #[test]
    fn no_order_of_records_loses_any(order in Just((0..13).chain(3..6).collect::<Vec<usize>>()).prop_shuffle()) {
        let mut session = Session::new();
        session.user("one");
        session.write("T1", "/w/a", "x");
        session.edit("T2", "/w/a", Some("x"), "x", "y");
        session.last = Some("u1".to_owned());
        session.user("two");
        session.bash("T3", "make");
        session.edit("T4", "/w/a", None, "y", "z");
        session.call("T5", "Task", &json!({"prompt": "p"}));
        session.says("bye");
        session.user("three");
        let lines: Vec<&str> = order.iter().filter_map(|at| session.lines.get(*at)).map(String::as_str).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        let open = |header| Ok(Collected::new(header));
        let (report, sink) = import(Transcript::At(&path), &Options::default(), open).unwrap();
        let count = |kind: Kind| sink.events.iter().filter(|event| event.kind() == kind).count();
        let counts = (count(Kind::Prompt), count(Kind::ToolCall), count(Kind::ToolResult));
        prop_assert_eq!(counts, (3, 5, 4));
        prop_assert_eq!(report.repeated, 3);
        let events = sink.events.len() as u64 - 1;
        prop_assert_eq!(report.events, events);
    }
}
