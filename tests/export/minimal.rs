//! The smallest set of files: what is needed is left, what is left fails in the same way, and
//! nothing by itself can go.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use jukebox::model::{Body, Event, FileChange, FileOp, Outcome, TapePath};
use serde_json::{Value, json};

use super::program::{PROGRAM, Run};
use super::world::{Told, World, all_of, call, demo, header, ran, tape, tape_by, verdicts};

/// Exports with few files; `None`: this machine has no sandbox.
fn export(world: &World, place: &str, words: &[&str]) -> Option<Run> {
    let start = ["export", place, "--files", "minimal"];
    let run = world.run(&[&start[..], words].concat());
    if run.code == 4 {
        println!("skipped: {}", run.error);
        return None;
    }
    Some(run)
}

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the README shows of it is what is printed and written.
#[test]
fn the_readme_shows_what_is_left_of_the_demo_run() {
    const START: &str = "<!-- minimal -->\n";
    const END: &str = "<!-- end of minimal -->";
    let world = World::new();
    let tape = demo("bug-hunt.jsonl");
    fs::copy(tape, world.path("session.jsonl")).unwrap();
    let words = ["-o", "smallest"];
    let Some(run) = export(&world, "session.jsonl@fail", &words) else {
        return;
    };
    assert_eq!(run.code, 0, "{}", run.error);
    let mut shown =
        String::from("    $ jukebox export session.jsonl@fail --files minimal -o smallest\n");
    let indent = |shown: &mut String, text: &str| {
        for line in text.lines() {
            let line = format!("    {line}");
            shown.push_str(line.trim_end());
            shown.push('\n');
        }
    };
    indent(&mut shown, &run.output);
    for name in ["tests/run.sh", "src/cart.awk"] {
        let text = fs::read_to_string(world.path("smallest/files").join(name)).unwrap();
        indent(&mut shown, &format!("$ cat smallest/files/{name}\n{text}"));
    }
    let path = project().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{START}\n{shown}\n{END}{after}");
    if expected != readme && std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let readme = fs::read_to_string(&path).unwrap();
    assert_eq!(readme, expected, "UPDATE=1 writes the README anew");

    let (code, report) = world.test(&["smallest"]).unwrap();
    assert_eq!(
        (code, verdicts(&report)),
        (1, vec!["reproduces"]),
        "{report:#}"
    );
    // What turns the whole case green turns this one green.
    let fixed = world.run(&["cat", "session.jsonl@8", "src/cart.awk"]);
    world.put("fixed/src/cart.awk", fixed.output);
    let (code, report) = world.test(&["smallest", "--with", "fixed"]).unwrap();
    assert_eq!((code, verdicts(&report)), (0, vec!["fixed"]), "{report:#}");
}

#[test]
fn two_exports_are_the_same_and_say_what_was_left_out() {
    let world = World::new();
    let files: Vec<(String, String)> = (0..40)
        .map(|number| {
            (
                format!("d{}/f{number}", number % 4),
                format!("line {number}\n"),
            )
        })
        .chain([
            ("bytes".to_owned(), "\0".to_owned()),
            (
                "run.sh".to_owned(),
                "echo ok one\n. lib/a.sh\n# a remark\n".to_owned(),
            ),
            (
                "lib/a.sh".to_owned(),
                "true\necho 'FAIL: 3 is not 4'\nexit 7\n".to_owned(),
            ),
        ])
        .collect();
    let told = Told {
        name: "Bash",
        arguments: json!({"command": "sh run.sh"}),
        said: "ok one\nFAIL: 3 is not 4\n",
        exit: Some(7),
        outcome: Outcome::Failed,
    };
    tape(&world, &files, &[], &told);
    for name in ["one", "two"] {
        let Some(run) = export(&world, "run.jsonl@fail", &["-o", name, "--json"]) else {
            return;
        };
        assert_eq!(run.code, 0, "{}", run.error);
        let report: Value = serde_json::from_str(&run.output).unwrap();
        assert_eq!(report["files"], 2);
        assert_eq!(report["minimal"]["least"], true);
        let cut = report["minimal"]["cut"].as_array().unwrap();
        assert_eq!(cut.len(), 43, "{report:#}");
        let of = |path: &str| cut.iter().find(|row| row["path"] == path).unwrap();
        assert_eq!(
            of("run.sh"),
            &json!({"path": "run.sh", "lines": 1, "of": 3})
        );
        assert_eq!(
            of("d1/f1"),
            &json!({"path": "d1/f1", "lines": null, "of": 1})
        );
        assert_eq!(
            of("bytes"),
            &json!({"path": "bytes", "lines": null, "of": null})
        );
    }
    let one = all_of(&world.path("one"));
    assert_eq!(one, all_of(&world.path("two")));
    let of = |name: &str| String::from_utf8_lossy(&one[Path::new(name)]).into_owned();
    assert_eq!(of("files/run.sh"), ". lib/a.sh\n");
    assert_eq!(of("files/lib/a.sh"), "echo 'FAIL: 3 is not 4'\nexit 7\n");
    assert_eq!(of("output.txt"), "FAIL: 3 is not 4\n");
    assert_eq!(of("recorded.txt"), "ok one\nFAIL: 3 is not 4\n");
    assert!(
        of("README.md").contains("run.sh  (2 of its 3 lines)"),
        "{}",
        of("README.md")
    );
    let (code, report) = world.test(&["one"]).unwrap();
    assert_eq!(
        (code, verdicts(&report)),
        (1, vec!["reproduces"]),
        "{report:#}"
    );
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}

#[test]
fn what_mended_it_mends_what_is_left_and_counts_only_where_it_does() {
    let world = World::new();
    let script = "test -e bad || exit 0; echo failed; exit 3";
    let failed = ran(script, "failed\n", 3);
    let better = Told {
        said: "",
        exit: Some(0),
        outcome: Outcome::Ok,
        ..ran(script, "", 3)
    };
    let removed = Event::new(Body::File(FileChange::new(
        FileOp::Remove,
        TapePath::new("bad").unwrap(),
    )));
    let files = [("bad", "x\n"), ("a", "x\n"), ("b", "x\n")];
    let [first, second] = [call("c", &failed), call("d", &better)];
    for (number, (between, green)) in [(vec![removed], json!(2)), (vec![], Value::Null)]
        .into_iter()
        .enumerate()
    {
        // It went well without a file that was there; or nobody knows why.
        let events = [&first[..], &between, &second].concat();
        tape_by(&world, header(), &files, &events);
        let case = format!("case-{number}");
        let Some(run) = export(&world, "run.jsonl@fail", &["-o", &case, "--json"]) else {
            return;
        };
        assert_eq!(run.code, 0, "{}", run.error);
        let report: Value = serde_json::from_str(&run.output).unwrap();
        assert_eq!(report["files"], 1, "{report:#}");
        let minimal = &report["minimal"];
        assert_eq!(
            (&minimal["least"], minimal["turns_green"].is_null()),
            (&json!(true), green.is_null()),
            "{report:#}"
        );
    }
}

#[test]
fn a_program_that_is_not_here_is_told_of() {
    let world = World::new();
    tape(
        &world,
        &[("a", "x")],
        &[],
        &ran("no-such-program", "no\n", 1),
    );
    let Some(run) = export(&world, "run.jsonl@fail", &["-o", "case"]) else {
        return;
    };
    assert_eq!(run.code, 2, "{}", run.output);
    let why = "step 1: a program is not here: ";
    assert!(run.error.contains(why), "{}", run.error);
    assert!(run.error.contains("no-such-program"), "{}", run.error);
}

/// A call whose every try takes a tenth of a second, on a good many files.
fn slow(world: &World) {
    let files: Vec<(String, String)> = (0..32)
        .map(|number| (format!("f{number}"), "x\n".to_owned()))
        .collect();
    let script = "sleep 0.1; for f in f3 f9 f14 f20 f27 f31; do test -e $f || exit 0; done; echo failed; exit 3";
    let told = Told {
        name: "Bash",
        arguments: json!({ "command": script }),
        said: "failed\n",
        exit: Some(3),
        outcome: Outcome::Failed,
    };
    tape(world, &files, &[], &told);
}

#[test]
fn when_the_time_is_up_the_smallest_so_far_is_kept() {
    let world = World::new();
    slow(&world);
    let words = ["-o", "case", "--budget", "1s"];
    let Some(run) = export(&world, "run.jsonl@fail", &words) else {
        return;
    };
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(run.output.contains("the time was up"), "{}", run.output);
    let (_, report) = world.test(&["case"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

/// It takes the two seconds that a try may take in any case.
#[test]
fn a_try_that_does_not_end_is_none_that_fails_so() {
    let world = World::new();
    let told = Told {
        name: "Bash",
        arguments: json!({"command": "test -e f || sleep 600; echo failed; exit 3"}),
        said: "failed\n",
        exit: Some(3),
        outcome: Outcome::Failed,
    };
    tape(&world, &[("f", b"\0")], &[], &told);
    let words = ["-o", "case", "--budget", "30s", "--json"];
    let Some(run) = export(&world, "run.jsonl@fail", &words) else {
        return;
    };
    assert_eq!(run.code, 0, "{}", run.error);
    let report: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        (&report["files"], &report["minimal"]["least"]),
        (&json!(1), &json!(true))
    );
}

#[test]
fn whoever_stops_it_gets_nothing() {
    let world = World::new();
    slow(&world);
    let mut command = Command::new(PROGRAM);
    let words = [
        "export",
        "run.jsonl@fail",
        "--files",
        "minimal",
        "-o",
        "case",
    ];
    world.settle(command.args(words));
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    // Its own directory tells that it has begun.
    let has_begun = || fs::read_dir(world.path("tmp")).unwrap().count() > 0;
    let mut left = 600;
    while !has_begun() && left > 0 {
        thread::sleep(Duration::from_millis(10));
        left -= 1;
    }
    let asked = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(4) {
        println!("skipped: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(!world.path("case").exists());
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}

#[test]
fn what_does_not_fail_as_recorded_is_refused() {
    let world = World::new();
    let files = [("a".to_owned(), "x\n".to_owned())];
    let told = |said| Told {
        name: "Bash",
        arguments: json!({"command": "cat a; echo 'error: one'; exit 2"}),
        said,
        exit: Some(2),
        outcome: Outcome::Failed,
    };
    tape(&world, &files, &[], &told("x\nerror: two\n"));
    let Some(run) = export(&world, "run.jsonl@fail", &["-o", "case"]) else {
        return;
    };
    assert_eq!(run.code, 2);
    assert!(
        run.error.contains("does not fail twice as it was recorded"),
        "{}",
        run.error
    );
    assert!(!world.path("case").exists());
    // What is kept must be had again as it is.
    let noise = "cat a; echo $(head -c 8 /dev/urandom | od -An -tu1); echo 'error: one'; exit 2";
    let noisy = Told {
        arguments: json!({ "command": noise }),
        ..told("x\n1 2 3 4 5 6 7 8\nerror: one\n")
    };
    tape(&world, &files, &[], &noisy);
    let run = export(&world, "run.jsonl@fail", &["-o", "case"]).unwrap();
    assert_eq!(run.code, 2, "{}", run.output);
    let why = "the smallest set of files does not fail twice in the same way";
    assert!(run.error.contains(why), "{}", run.error);
    // What is said beside the failure may differ.
    tape(&world, &files, &[], &told("another\nerror: one\n"));
    let run = export(&world, "run.jsonl@fail", &["-o", "case"]).unwrap();
    assert_eq!(run.code, 0, "{}", run.error);
    let (_, report) = world.test(&["case"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn of_an_edit_its_file_is_all_there_is() {
    let world = World::new();
    let place = format!("{}@20", demo("bug-hunt.jsonl"));
    let run = world.run(&[
        "export", &place, "--files", "minimal", "-o", "edit", "--json",
    ]);
    assert_eq!(run.code, 0, "{}", run.error);
    let report: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(
        (&report["files"], &report["minimal"]),
        (&json!(1), &Value::Null)
    );
}
