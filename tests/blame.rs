//! Which step wrote each line, as far as a tape can know.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::path::Path;

use jukebox::debugger::{BlameView, Debugger, OpenOptions, Source};
use jukebox::model::{Body, Event, FileChange, Header, Outcome, Place, SnapshotReason, TapePath};
use jukebox::tape::{Recorder, RecorderOptions};
use proptest::prelude::*;

const HEADER: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#;
/// It opens the first step.
const PROMPT: &str = r#"{"seq":1,"kind":"prompt","name":"user","text":"go"}"#;

/// A run with a first prompt and these events, which are numbered here.
fn open(events: &[&str]) -> Debugger {
    let numbered = (2..)
        .zip(events)
        .map(|(seq, event)| event.replacen('{', &format!("{{\"seq\":{seq},"), 1));
    let lines = [HEADER, PROMPT]
        .map(str::to_owned)
        .into_iter()
        .chain(numbered);
    let lines: Vec<String> = lines.collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    open_file(&path)
}

fn open_file(path: &Path) -> Debugger {
    Debugger::open(Source::Path(path.into()), &OpenOptions::default()).unwrap()
}

fn blame(run: &Debugger, place: &str, path: &str) -> BlameView {
    let spot = run.locate(&place.parse::<Place>().unwrap()).unwrap();
    run.blame(spot.cursor, &TapePath::new(path).unwrap())
        .unwrap()
}

/// A word a line: its number, the step, the sign.
fn told(blame: &BlameView) -> String {
    let line = |(at, line): (usize, &jukebox::debugger::BlameLine)| {
        let origin = blame.origin_of(at).unwrap();
        let step = origin
            .spot
            .map_or("-".to_owned(), |spot| spot.step.to_string());
        format!("{}:{step}{}", line.number, origin.sign())
            .trim_end()
            .to_owned()
    };
    let lines: Vec<String> = blame.lines.iter().enumerate().map(line).collect();
    lines.join(" ")
}

#[track_caller]
fn check(run: &Debugger, place: &str, path: &str, expected: &str) {
    assert_eq!(
        told(&blame(run, place, path)),
        expected,
        "{path} at {place}"
    );
}

#[test]
fn lines_belong_to_the_step_that_wrote_them_last() {
    let run = open(&[
        r#"{"kind":"fs.observe","path":"a","text":"one\ntwo\nthree\n"}"#,
        r#"{"kind":"tool.call","call":"c1","name":"Edit"}"#,
        r#"{"kind":"fs.write","call":"c1","path":"a","text":"one\n2\nthree\n"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Edit"}"#,
        r#"{"kind":"fs.write","call":"c2","path":"a","text":"zero\none\n2\nthree"}"#,
        r#"{"kind":"fs.write","by":"outside","path":"a","text":"zero\none\n2\nIII\n"}"#,
        r#"{"kind":"tool.call","call":"c3","name":"Bash"}"#,
        r#"{"kind":"fs.chmod","call":"c3","path":"a","mode":"755"}"#,
    ]);
    check(&run, "1", "a", "1:- 2:- 3:-");
    check(&run, "2", "a", "1:- 2:2 3:-");
    check(&run, "3", "a", "1:3 2:- 3:2 4:3");
    check(&run, "4", "a", "1:3 2:- 3:2 4:4≠");
    check(&run, "5", "a", "1:3 2:- 3:2 4:4≠");
}

#[test]
fn a_file_is_followed_to_the_names_it_had() {
    let run = open(&[
        r#"{"kind":"fs.observe","path":"d/a"}"#,
        r#"{"kind":"tool.call","call":"c1","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c1","path":"d/a","text":"one\ntwo\n"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Bash"}"#,
        r#"{"kind":"fs.rename","call":"c2","from":"d","path":"e"}"#,
        r#"{"kind":"tool.call","call":"c3","name":"Edit"}"#,
        r#"{"kind":"fs.write","call":"c3","path":"e/a","text":"one\n2\n"}"#,
        r#"{"kind":"tool.call","call":"c4","name":"Bash"}"#,
        r#"{"kind":"fs.remove","call":"c4","path":"e/a"}"#,
        r#"{"kind":"fs.write","call":"c4","path":"f","text":"one\n2\n"}"#,
        r#"{"kind":"tool.call","call":"c5","name":"Edit"}"#,
        r#"{"kind":"fs.write","call":"c5","path":"f","text":"one\n2\nthree\n"}"#,
    ]);
    check(&run, "5", "f", "1:2 2:4");
    check(&run, "6", "f", "1:2 2:4 3:6");
    let names: Vec<_> = blame(&run, "6", "f")
        .origins
        .into_iter()
        .map(|origin| origin.path)
        .collect();
    let path = |path: &str| Some(TapePath::new(path).unwrap());
    assert_eq!(names, [path("d/a"), path("e/a"), path("e/a"), None, None]);
}

#[test]
fn a_file_that_was_removed_begins_anew() {
    let run = open(&[
        r#"{"kind":"tool.call","call":"c1","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c1","path":"a","text":"one\n"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Bash"}"#,
        r#"{"kind":"fs.remove","call":"c2","path":"a"}"#,
        r#"{"kind":"tool.call","call":"c3","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c3","path":"a","text":"one\n"}"#,
    ]);
    check(&run, "2", "a", "1:2?");
    check(&run, "4", "a", "1:4");
    let gone = run.locate(&"3".parse::<Place>().unwrap()).unwrap();
    assert!(
        run.blame(gone.cursor, &TapePath::new("a").unwrap())
            .is_err()
    );
}

#[test]
fn what_may_have_been_written_unseen_is_told_with_a_doubt() {
    let run = open(&[
        r#"{"kind":"fs.observe","path":"a","text":"one\ntwo\n"}"#,
        r#"{"kind":"tool.call","call":"c1","name":"Bash"}"#,
        r#"{"kind":"fs.suspect","call":"c1","why":"a command ran"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c2","path":"a","text":"one\n2\n"}"#,
        r#"{"kind":"tool.call","call":"c3","name":"Edit"}"#,
        r#"{"kind":"fs.write","call":"c3","path":"a","text":"one\n2\nthree\n"}"#,
        r#"{"kind":"tool.call","call":"c4","name":"Bash"}"#,
        r#"{"kind":"fs.suspect","call":"c4","why":"a command ran"}"#,
    ]);
    check(&run, "4", "a", "1:- 2:3? 3:4");
    assert!(blame(&run, "4", "a").remarks.is_empty());
    let unseen = blame(&run, "5", "a");
    assert_eq!(told(&unseen), "1:- 2:3? 3:4");
    assert!(
        unseen
            .remarks
            .iter()
            .any(|remark| remark.as_str().contains("step 5"))
    );
}

#[test]
fn of_a_file_that_is_known_in_part_the_known_lines_are_told() {
    let run = open(&[
        r#"{"kind":"fs.observe","path":"a","enc":"lines","lines":[[10,"ten\neleven\n"]],"total":40}"#,
        r#"{"kind":"tool.call","call":"c1","name":"Edit"}"#,
        r#"{"kind":"fs.write","call":"c1","path":"a","enc":"lines","lines":[[10,"ten\n11\n"],[30,"thirty\n"]],"total":40}"#,
    ]);
    check(&run, "1", "a", "10:- 11:-");
    check(&run, "2", "a", "10:- 11:2? 30:2?");
}

#[test]
fn of_what_has_no_lines_it_is_told_who_wrote_it_by_then() {
    let run = open(&[
        r#"{"kind":"tool.call","call":"c1","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c1","path":"d/a","text":"\u0000"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c2","path":"d/a","text":"\u0000\u0000"}"#,
    ]);
    let remark = |place: &str, path: &str| {
        let blame = blame(&run, place, path);
        assert_eq!(blame.lines, []);
        blame
            .remarks
            .last()
            .map(|remark| remark.as_str().to_owned())
    };
    let wrote = |step: u32| Some(format!("no text: step {step} wrote it last"));
    assert_eq!(remark("2", "d/a"), wrote(2));
    assert_eq!(remark("3", "d/a"), wrote(3));
    assert_eq!(remark("3", "d"), Some("only a file has lines".to_owned()));
}

#[test]
fn a_committed_transaction_is_gone_into() {
    let run = open(&[
        r#"{"kind":"fs.observe","path":"a","text":"one\ntwo\n"}"#,
        r#"{"kind":"txn.begin","txn":"x"}"#,
        r#"{"kind":"tool.call","txn":"x","call":"c1","name":"Write"}"#,
        r#"{"kind":"fs.write","txn":"x","call":"c1","path":"a","text":"one\n2\n"}"#,
        r#"{"kind":"tool.call","txn":"x","call":"c2","name":"Write"}"#,
        r#"{"kind":"fs.write","txn":"x","call":"c2","path":"a","text":"1\n2\n"}"#,
        r#"{"kind":"txn.commit","txn":"x"}"#,
        r#"{"kind":"tool.call","call":"c3","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c3","path":"a","text":"1\n2\n3\n"}"#,
    ]);
    check(&run, "4", "a", "1:4 2:3");
    check(&run, "5", "a", "1:4 2:3");
    check(&run, "6", "a", "1:4 2:3 3:6");
}

#[test]
fn the_turn_that_asked_for_a_step_is_the_last_one_of_its_agent() {
    let run = open(&[
        r#"{"kind":"model.response","text":"I will"}"#,
        r#"{"kind":"tool.call","call":"c1","name":"Task"}"#,
        r#"{"kind":"model.response","agent":"sub","text":"me, too"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Edit"}"#,
        r#"{"kind":"tool.call","call":"c3","agent":"sub","name":"Edit"}"#,
    ]);
    let asked = |place: &str| {
        let spot = run.locate(&place.parse::<Place>().unwrap()).unwrap();
        run.asked_for_by(spot).map(|spot| spot.step.0)
    };
    assert_eq!(
        ["1", "3", "5", "6"].map(asked),
        [None, Some(2), Some(2), Some(4)]
    );
}

#[test]
fn a_change_that_does_not_give_its_blob_is_not_believed() {
    let hash = |text: &str| jukebox::model::BlobHash::of(text.as_bytes()).to_string();
    let splice = format!(
        r#"{{"kind":"fs.write","call":"c2","path":"a","blob":"{}","len":4,"enc":"splice","base":"{}","at_byte":0,"del":1,"ins":"X"}}"#,
        hash("x\nb\n"),
        hash("a\nb\n"),
    );
    let run = open(&[
        r#"{"kind":"tool.call","call":"c1","name":"Write"}"#,
        r#"{"kind":"fs.write","call":"c1","path":"a","text":"a\nb\n"}"#,
        r#"{"kind":"tool.call","call":"c2","name":"Edit"}"#,
        &splice,
    ]);
    let blame = blame(&run, "3", "a");
    assert_eq!(blame.lines, []);
    assert!(!blame.remarks.is_empty());
}

/// An edit of a file of lines that are all different: where, how many go, how many come, and
/// whether the file gets another name first.
type Edit = (usize, usize, usize, bool);

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_line_belongs_to_who_wrote_it(
        edits in prop::collection::vec((0..60_usize, 0..6_usize, 0..12_usize, any::<bool>()), 1..60),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("run.jsonl");
        let mut recorder =
            Recorder::create(&file, Header::default(), RecorderOptions::default()).unwrap();
        recorder.snapshot(SnapshotReason::Start).unwrap();
        // Each line, and the step that wrote it.
        let mut model: Vec<(String, u32)> = Vec::new();
        let mut name = 0;
        let mut at_steps = Vec::new();
        for (step, edit) in (1..).zip(edits) {
            let (at, gone, new, is_renamed): Edit = edit;
            let call = format!("c{step}");
            let body = Body::ToolCall { name: "edit".to_owned(), arguments: serde_json::Value::Null };
            recorder.append(Event::new(body).in_call(&call)).unwrap();
            let path = |name: u32| TapePath::new(format!("file-{name}")).unwrap();
            if is_renamed && step > 1 {
                let op = jukebox::model::FileOp::Rename { from: path(name) };
                name += 1;
                let change = FileChange::new(op, path(name));
                recorder.append(Event::new(Body::File(change)).in_call(&call)).unwrap();
            }
            let at = at.min(model.len());
            let end = (at + gone).min(model.len());
            // Long lines, so that changes are told as such.
            let line = |line| (format!("{step} {line} {}\n", "-".repeat(60)), step);
            model.splice(at..end, (0..new).map(line));
            let text: String = model.iter().map(|(line, _)| line.as_str()).collect();
            let change = FileChange::write(path(name), text.as_bytes());
            recorder.append(Event::new(Body::File(change)).in_call(&call)).unwrap();
            at_steps.push((step, path(name), model.clone()));
        }
        recorder.close(Outcome::Ok).unwrap();
        let run = open_file(&file);
        for (step, path, model) in at_steps {
            let spot = run.locate(&step.to_string().parse::<Place>().unwrap()).unwrap();
            let blame = run.blame(spot.cursor, &path).unwrap();
            let steps: Vec<u32> = (0..blame.lines.len())
                .map(|line| blame.origin_of(line).unwrap())
                .map(|origin| origin.spot.filter(|_| origin.is_certain).unwrap().step.0)
                .collect();
            let expected: Vec<u32> = model.iter().map(|(_, step)| *step).collect();
            prop_assert_eq!(steps, expected);
        }
    }
}
