//! What a hand-written tape says of its steps and files, through the façade.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use jukebox::debugger::{Debugger, Direction, Expanded, FileContent, OpenOptions, Source};
use jukebox::model::{Certainty, Place, StepNumber, TapePath};

fn open(lines: &[&str]) -> Debugger {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    Debugger::open(Source::Path(path), &OpenOptions::default()).unwrap()
}

/// The file at a place: its certainty and its text.
fn file(run: &Debugger, place: &str, path: &str) -> (Certainty, String) {
    let spot = run.locate(&place.parse::<Place>().unwrap()).unwrap();
    match run.file(spot.cursor, &TapePath::new(path).unwrap()) {
        Ok(view) => {
            let text = match view.content {
                FileContent::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                FileContent::Lines(known) => format!("{:?}", known.ranges),
                FileContent::Nothing(_) => String::new(),
            };
            (view.certainty, text)
        }
        Err(_) => (Certainty::Absent, String::new()),
    }
}

const HEADER: &str = r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#;

#[test]
fn files_are_looked_up_at_every_step() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"tool.call","call":"c1","name":"Write"}"#,
        r#"{"seq":3,"kind":"fs.write","call":"c1","path":"a/x","text":"one"}"#,
        r#"{"seq":4,"kind":"tool.result","call":"c1"}"#,
        r#"{"seq":5,"kind":"tool.call","call":"c2","name":"Bash"}"#,
        r#"{"seq":6,"kind":"fs.suspect","call":"c2","why":"a command ran"}"#,
        r#"{"seq":7,"kind":"tool.result","call":"c2","outcome":"failed"}"#,
        r#"{"seq":8,"kind":"fs.write","by":"outside","path":"a/x","text":"two"}"#,
        r#"{"seq":9,"kind":"tool.call","call":"c3","name":"Bash"}"#,
        r#"{"seq":10,"kind":"fs.rename","call":"c3","from":"a","path":"b"}"#,
        r#"{"seq":11,"kind":"tool.result","call":"c3"}"#,
    ]);
    assert_eq!(file(&run, "1", "a/x").0, Certainty::Absent);
    assert_eq!(file(&run, "2", "a/x"), (Certainty::Exact, "one".into()));
    assert_eq!(file(&run, "3", "a/x"), (Certainty::Uncertain, "one".into()));
    assert_eq!(file(&run, "4", "a/x"), (Certainty::Exact, "two".into()));
    assert_eq!(file(&run, "5", "a/x").0, Certainty::Absent);
    assert_eq!(file(&run, "5", "b/x"), (Certainty::Exact, "two".into()));
    assert_eq!(run.locate(&"fail".parse().unwrap()).unwrap().step.0, 3);
    let spot = run.locate(&Place::END).unwrap();
    let rows = run.tree(spot.cursor, run.spot_before(spot).cursor, &Expanded::All);
    let names: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.path.to_text(),
                row.change.map(jukebox::model::ChangeKind::letter),
            )
        })
        .collect();
    let expected = [("a", 'D'), ("a/x", 'D'), ("b", 'M'), ("b/x", 'A')];
    assert_eq!(
        names,
        expected.map(|(path, change)| (path.to_owned(), Some(change)))
    );
}

#[test]
fn a_file_that_is_only_suspected_is_not_added() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"tool.call","call":"c1","name":"Bash"}"#,
        r#"{"seq":2,"kind":"fs.suspect","call":"c1","path":"old","why":"rm -f old"}"#,
        r#"{"seq":3,"kind":"tool.result","call":"c1"}"#,
    ]);
    let at = |place: &str| run.locate(&place.parse::<Place>().unwrap()).unwrap().cursor;
    for (from, to) in [("0", "1"), ("1", "0")] {
        let changes = run.changes(at(from), at(to));
        let letters: Vec<char> = changes.iter().map(|row| row.change.letter()).collect();
        assert_eq!(letters, ['?'], "{from} to {to}");
    }
}

#[test]
fn a_transaction_is_seen_from_inside_and_its_rollback_leaves_no_trace() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"a","text":"base"}"#,
        r#"{"seq":3,"kind":"txn.begin","txn":"x"}"#,
        r#"{"seq":4,"kind":"tool.call","txn":"x","call":"c1","name":"Write"}"#,
        r#"{"seq":5,"kind":"fs.write","txn":"x","call":"c1","path":"a","text":"inside"}"#,
        r#"{"seq":6,"kind":"tool.result","txn":"x","call":"c1"}"#,
        r#"{"seq":7,"kind":"txn.savepoint","txn":"x","name":"s"}"#,
        r#"{"seq":8,"kind":"tool.call","txn":"x","call":"c2","name":"Write"}"#,
        r#"{"seq":9,"kind":"fs.remove","txn":"x","call":"c2","path":"a"}"#,
        r#"{"seq":10,"kind":"tool.result","txn":"x","call":"c2"}"#,
        r#"{"seq":11,"kind":"txn.rollback","txn":"x","to":"s"}"#,
        r#"{"seq":12,"kind":"txn.rollback","txn":"x"}"#,
        r#"{"seq":13,"kind":"prompt","text":"on"}"#,
        r#"{"seq":14,"kind":"txn.begin","txn":"y"}"#,
        r#"{"seq":15,"kind":"fs.write","txn":"y","path":"a","text":"kept"}"#,
        r#"{"seq":16,"kind":"txn.commit","txn":"y"}"#,
    ]);
    let check = |place: &str, expected: &str| {
        assert_eq!(file(&run, place, "a").1, expected, "{place}");
    };
    check("1", "base");
    check("3", "inside");
    check("5", "");
    check("6", "inside");
    check("7", "base");
    check("8", "base");
    check("9", "kept");
    check("10", "kept");
}

#[test]
fn a_commit_brings_nothing_of_what_was_taken_back() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"a","text":"before"}"#,
        r#"{"seq":3,"kind":"fs.write","path":"d","text":"before"}"#,
        r#"{"seq":4,"kind":"txn.begin","txn":"x"}"#,
        r#"{"seq":5,"kind":"txn.savepoint","txn":"x","name":"s"}"#,
        r#"{"seq":6,"kind":"fs.write","txn":"x","path":"a","text":"inside"}"#,
        r#"{"seq":7,"kind":"fs.write","txn":"x","path":"b","text":"inside"}"#,
        r#"{"seq":8,"kind":"fs.suspect","txn":"x","why":"a command ran"}"#,
        r#"{"seq":9,"kind":"fs.suspect","txn":"x","path":"d","why":"a command ran"}"#,
        r#"{"seq":10,"kind":"prompt","text":"on"}"#,
        r#"{"seq":11,"kind":"fs.write","by":"outside","path":"a","text":"after"}"#,
        r#"{"seq":12,"kind":"fs.write","by":"outside","path":"b","text":"after"}"#,
        r#"{"seq":13,"kind":"txn.rollback","txn":"x","to":"s"}"#,
        r#"{"seq":14,"kind":"tool.call","txn":"x","call":"c1","name":"Write"}"#,
        r#"{"seq":15,"kind":"fs.write","txn":"x","call":"c1","path":"c","text":"inside"}"#,
        r#"{"seq":16,"kind":"tool.result","txn":"x","call":"c1"}"#,
        r#"{"seq":17,"kind":"txn.commit","txn":"x"}"#,
        r#"{"seq":18,"kind":"prompt","text":"see"}"#,
    ]);
    let exact = |text: &str| (Certainty::Exact, text.to_owned());
    // Inside, before and after it was taken back.
    assert_eq!(file(&run, "3", "d").0, Certainty::Uncertain);
    assert_eq!(file(&run, "6", "d"), exact("before"));
    assert_eq!(file(&run, "6", "a"), exact("before"));
    for (path, text) in [
        ("a", "after"),
        ("b", "after"),
        ("c", "inside"),
        ("d", "before"),
    ] {
        assert_eq!(file(&run, "end", path), exact(text), "{path}");
    }
}

#[test]
fn a_commit_of_what_was_in_doubt_makes_it_known() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"a","text":"same"}"#,
        r#"{"seq":3,"kind":"fs.suspect","why":"a command ran"}"#,
        r#"{"seq":4,"kind":"txn.begin","txn":"x"}"#,
        r#"{"seq":5,"kind":"fs.write","txn":"x","path":"a","text":"same"}"#,
        r#"{"seq":6,"kind":"txn.commit","txn":"x"}"#,
        r#"{"seq":7,"kind":"prompt","text":"see"}"#,
    ]);
    assert_eq!(file(&run, "1", "a").0, Certainty::Uncertain);
    let found = file(&run, "end", "a");
    assert_eq!(found, (Certainty::Exact, "same".to_owned()));
}

#[test]
fn a_rewind_begins_from_where_it_left() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"base"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"f","text":"base"}"#,
        r#"{"seq":3,"kind":"prompt","text":"try A"}"#,
        r#"{"seq":4,"kind":"fs.write","path":"f","text":"A"}"#,
        r#"{"seq":5,"kind":"branch","branch":"b2","at":2,"why":"rewind"}"#,
        r#"{"seq":6,"kind":"prompt","branch":"b2","text":"try B"}"#,
        r#"{"seq":7,"kind":"fs.write","branch":"b2","path":"f","text":"B"}"#,
    ]);
    let check = |place: &str, expected: &str| {
        assert_eq!(file(&run, place, "f").1, expected, "{place}");
    };
    check("main:1", "base");
    check("main:2", "A");
    check("b2:1", "base");
    check("b2:2", "B");
    check("2", "B");
    check("end", "B");
    let numbers: Vec<_> = run
        .timeline(1, 1..9)
        .iter()
        .map(|row| row.number.0)
        .collect();
    assert_eq!(numbers, [1, 2]);
    assert!(run.locate(&"main:3".parse().unwrap()).is_err());
}

#[test]
fn a_lost_event_makes_files_uncertain_until_they_are_proven() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"a","text":"one"}"#,
        r#"{"seq":5,"kind":"prompt","text":"later"}"#,
        r#"{"seq":6,"kind":"fs.observe","path":"a","text":"one"}"#,
    ]);
    assert_eq!(file(&run, "1", "a"), (Certainty::Exact, "one".into()));
    assert_eq!(file(&run, "2", "a"), (Certainty::Uncertain, "one".into()));
    assert_eq!(file(&run, "3", "a"), (Certainty::Exact, "one".into()));
    assert_eq!(run.problems().len(), 1);
}

#[test]
fn a_removed_directory_is_shown_with_what_was_in_it() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"old/a","text":"1"}"#,
        r#"{"seq":3,"kind":"fs.write","path":"old/in/b","text":"2"}"#,
        r#"{"seq":4,"kind":"prompt","text":"tidy"}"#,
        r#"{"seq":5,"kind":"fs.remove","path":"old"}"#,
    ]);
    let spot = run.locate(&"2".parse().unwrap()).unwrap();
    let rows = run.tree(spot.cursor, run.spot_before(spot).cursor, &Expanded::All);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.path.to_text(),
                row.change.unwrap().letter(),
                row.certainty,
            )
        })
        .collect();
    let gone = |path: &str| (path.to_owned(), 'D', Certainty::Absent);
    assert_eq!(shown, ["old", "old/in", "old/in/b", "old/a"].map(gone));
}

/// Some writers escape what others write as it is.
#[test]
fn a_name_is_the_same_however_it_is_escaped() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"base"}"#,
        r#"{"seq":2,"kind":"branch","branch":"essai-\u00e9","at":1}"#,
        r#"{"seq":3,"kind":"prompt","branch":"essai-\u00e9","text":"A"}"#,
        r#"{"seq":4,"kind":"branch","branch":"\"next\"","from":"essai-é","at":3}"#,
        r#"{"seq":5,"kind":"txn.begin","branch":"essai-é","txn":"\u00e9"}"#,
        r#"{"seq":6,"kind":"fs.write","branch":"essai-é","txn":"é","path":"f","text":"kept"}"#,
        r#"{"seq":7,"kind":"txn.savepoint","branch":"essai-é","txn":"é","name":"\u00fc"}"#,
        r#"{"seq":8,"kind":"fs.write","branch":"essai-é","txn":"é","path":"f","text":"undone"}"#,
        r#"{"seq":9,"kind":"txn.rollback","branch":"essai-é","txn":"é","to":"ü"}"#,
        r#"{"seq":10,"kind":"txn.commit","branch":"essai-é","txn":"\u00e9"}"#,
    ]);
    let branches = run.summary().branches;
    let branches: Vec<_> = branches
        .iter()
        .map(|branch| {
            (
                branch.name.as_str(),
                branch.parent.map(|(parent, _)| parent),
            )
        })
        .collect();
    assert_eq!(
        branches,
        [("main", None), ("essai-é", Some(0)), ("\"next\"", Some(1))]
    );
    assert_eq!(file(&run, "essai-é:end", "f").1, "kept");
}

/// A branch shares what happened before it left its parent, differences too.
#[test]
fn differences_from_before_a_branch_left_are_seen_on_it() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"one"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"a","text":"1"}"#,
        r#"{"seq":3,"kind":"prompt","text":"two"}"#,
        r#"{"seq":4,"kind":"fs.write","path":"b","text":"2"}"#,
        r#"{"seq":5,"kind":"branch","branch":"again","at":4}"#,
        r#"{"seq":6,"kind":"prompt","branch":"again","text":"three"}"#,
        r#"{"seq":7,"kind":"fs.write","branch":"again","path":"c","text":"3"}"#,
    ]);
    let cursor = |place: &str| run.locate(&place.parse().unwrap()).unwrap().cursor;
    let check = |from: &str, to: &str, expected: &[&str]| {
        let changes = run.changes(cursor(from), cursor(to));
        let paths: Vec<String> = changes.iter().map(|row| row.path.to_text()).collect();
        assert_eq!(paths, expected, "{from} to {to}");
    };
    check("again:1", "again:2", &["b"]);
    check("again:1", "again:3", &["b", "c"]);
    check("again:3", "main:1", &["b", "c"]);
    check("main:1", "again:2", &["b"]);
}

#[test]
fn a_file_stays_uncertain_when_it_is_moved_or_its_mode_is_set() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"prompt","text":"go"}"#,
        r#"{"seq":2,"kind":"fs.write","path":"d/x","text":"one"}"#,
        r#"{"seq":3,"kind":"fs.write","path":"y","text":"two"}"#,
        r#"{"seq":4,"kind":"fs.suspect","why":"a command ran"}"#,
        r#"{"seq":5,"kind":"prompt","text":"on"}"#,
        r#"{"seq":6,"kind":"fs.rename","from":"d","path":"e"}"#,
        r#"{"seq":7,"kind":"fs.chmod","path":"y","mode":"755"}"#,
        r#"{"seq":8,"kind":"prompt","text":"on"}"#,
        r#"{"seq":9,"kind":"fs.write","path":"e/x","text":"one"}"#,
        r#"{"seq":10,"kind":"fs.rename","from":"e","path":"f"}"#,
    ]);
    assert_eq!(file(&run, "2", "e/x"), (Certainty::Uncertain, "one".into()));
    assert_eq!(file(&run, "2", "y"), (Certainty::Uncertain, "two".into()));
    assert_eq!(file(&run, "3", "f/x"), (Certainty::Exact, "one".into()));
}

#[test]
fn a_file_stays_uncertain_when_a_transaction_is_rolled_back_to_before() {
    let run = open(&[
        HEADER,
        r#"{"seq":1,"kind":"txn.begin","txn":"t"}"#,
        r#"{"seq":2,"kind":"fs.write","txn":"t","path":"x","text":"one"}"#,
        r#"{"seq":3,"kind":"fs.suspect","txn":"t","why":"a command ran"}"#,
        r#"{"seq":4,"kind":"txn.savepoint","txn":"t","name":"s"}"#,
        r#"{"seq":5,"kind":"fs.write","txn":"t","path":"x","text":"two"}"#,
        r#"{"seq":6,"kind":"txn.rollback","txn":"t","to":"s"}"#,
    ]);
    assert_eq!(file(&run, "2", "x"), (Certainty::Exact, "two".into()));
    assert_eq!(file(&run, "3", "x"), (Certainty::Uncertain, "one".into()));
}

#[test]
fn a_directory_is_not_there_before_what_is_in_it() {
    use jukebox::model::{Body, Event, FileChange, Header, Outcome};
    use jukebox::tape::{Recorder, RecorderOptions};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    let options = RecorderOptions::default();
    let mut recorder = Recorder::create(&path, Header::default(), options).unwrap();
    let prompt = |text: &str| {
        Event::new(Body::Prompt {
            role: "user".to_owned(),
            text: text.to_owned(),
            attachments: Vec::new(),
        })
    };
    recorder.append(prompt("one")).unwrap();
    recorder.append(prompt("two")).unwrap();
    let file = TapePath::new("src/in/f").unwrap();
    let write = FileChange::write(file, *b"x");
    recorder.append(Event::new(Body::File(write))).unwrap();
    // The last snapshot names the directories, which no event made.
    recorder.close(Outcome::Ok).unwrap();
    let run = Debugger::open(Source::Path(path), &OpenOptions::default()).unwrap();
    let paths = |place: &str| -> Vec<String> {
        let cursor = run.locate(&place.parse().unwrap()).unwrap().cursor;
        let rows = run.tree(cursor, cursor, &Expanded::All);
        rows.iter().map(|row| row.path.to_text()).collect()
    };
    assert_eq!(paths("1"), [] as [&str; 0]);
    assert_eq!(paths("2"), ["src", "src/in", "src/in/f"]);
}

/// A call of a tool with one file event in it, numbered from `seq` on.
fn call(seq: u64, rest: &str, event: &str) -> [String; 3] {
    let (event_seq, result_seq) = (seq + 1, seq + 2);
    [
        format!(r#"{{"seq":{seq},{rest}"kind":"tool.call","call":"c{seq}","name":"Bash"}}"#),
        format!(r#"{{"seq":{event_seq},{rest}"call":"c{seq}","path":"a",{event}}}"#),
        format!(r#"{{"seq":{result_seq},{rest}"kind":"tool.result","call":"c{seq}"}}"#),
    ]
}

#[test]
fn the_steps_that_changed_a_file_are_found_from_any_step() {
    const STEPS: u32 = 700;
    const LEFT: u32 = 500;
    let mut lines = vec![HEADER.to_owned()];
    let mut text = 0;
    for step in 1..=STEPS {
        let event = if step % 2 == 1 {
            text = step;
            "fs.write"
        } else {
            // It finds what is known already.
            "fs.observe"
        };
        let event = format!(r#""kind":"{event}","text":"{text}""#);
        lines.extend(call(u64::from(3 * step - 2), "", &event));
    }
    let (at, next) = (3 * LEFT, 3 * STEPS + 1);
    lines.push(format!(
        r#"{{"seq":{next},"kind":"branch","branch":"b","at":{at}}}"#
    ));
    let branch = r#""branch":"b","#;
    lines.extend(call(
        u64::from(next) + 1,
        branch,
        r#""kind":"fs.write","text":"b""#,
    ));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let run = open(&lines);

    let path = TapePath::new("a").unwrap();
    let on_main: Vec<u32> = (1..=STEPS).step_by(2).collect();
    let to_branch: Vec<u32> = (1..=LEFT).step_by(2).chain([LEFT + 1]).collect();
    for (branch, changed, count) in [("main", &on_main, STEPS), ("b", &to_branch, LEFT + 1)] {
        for step in 0..=count {
            let place = format!("{branch}:{step}");
            let spot = run.locate(&place.parse().unwrap()).unwrap();
            // Many entries of one path.
            let changes = run.changes(run.spot(0, StepNumber(0)).cursor, spot.cursor);
            let paths: Vec<TapePath> = changes.iter().map(|change| change.path).collect();
            assert_eq!(
                paths,
                if step == 0 {
                    vec![]
                } else {
                    vec![path.clone()]
                },
                "{place}"
            );
            let behind = changed.partition_point(|changed| *changed <= step);
            let next = |direction| {
                run.next_version(spot, &path, direction)
                    .map(|spot| spot.step.0)
            };
            assert_eq!(
                next(Direction::Forward),
                changed.get(behind).copied(),
                "{place}"
            );
            let before = changed.iter().rev().find(|changed| **changed < step);
            assert_eq!(next(Direction::Back), before.copied(), "{place}");

            let versions = run.versions(spot.cursor, &path);
            let told: Vec<u32> = versions.rows.iter().map(|row| row.spot.step.0).collect();
            let from = behind.saturating_sub(100);
            let to = changed.len().min(behind + 100);
            assert_eq!(told, changed[from..to], "{place}");
            let more = (versions.has_earlier, versions.has_later);
            assert_eq!(more, (from > 0, to < changed.len()), "{place}");
            assert_eq!(versions.count, Some(changed.len()), "{place}");
        }
    }
}
