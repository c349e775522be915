//! Cases as they are made and made again: they fail as they did, turn green with other sources, and
//! hold whatever was recorded as data.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use jukebox::debugger::{
    CaseError, CaseFiles, CaseForm, CaseMeans, Debugger, ExportError, OpenOptions, Source,
    Uncertain,
};
use jukebox::model::{Outcome, Progress};
use serde_json::{Value, json};

use super::program::PROGRAM;
use super::world::{
    Told, World, all_of, call, demo, exported_as, header, ran, tape, tape_by, tape_of, verdicts,
};

#[test]
fn every_failed_call_of_the_demos_is_exported_and_reproduces() {
    let world = World::new();
    let mut cases = Vec::new();
    for (tape, steps) in [
        ("bug-hunt.jsonl", &[3, 15, 18, 20, 24][..]),
        ("rolled-back.jsonl", &[10][..]),
    ] {
        for step in steps {
            let place = format!("{}@{step}", demo(tape));
            let case = format!("{tape}-{step}");
            let run = world.run(&["export", &place, "-o", &case]);
            assert_eq!(run.code, 0, "{place}: {}", run.error);
            cases.push(case);
        }
    }
    let words: Vec<&str> = cases.iter().map(String::as_str).collect();
    let Some((code, report)) = world.test(&words) else {
        return;
    };
    assert_eq!(code, 1);
    assert_eq!(verdicts(&report), ["reproduces"; 6], "{report:#}");
    assert_eq!(fs::read_dir(world.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_case_turns_green_with_the_corrected_sources() {
    let world = World::new();
    let tape = demo("bug-hunt.jsonl");
    let failing = format!("{tape}@fail");
    assert_eq!(world.run(&["export", &failing, "-o", "case"]).code, 0);
    // The step after which its tests pass.
    let fixed = format!("{tape}@8");
    assert_eq!(world.run(&["checkout", &fixed, "fixed"]).code, 0);
    let Some((code, report)) = world.test(&["case"]) else {
        return;
    };
    assert_eq!((code, verdicts(&report)), (1, vec!["reproduces"]));
    let words = ["case", "--with", "fixed", "--junit", "report.xml"];
    let (code, report) = world.test(&words).unwrap();
    assert_eq!((code, verdicts(&report)), (0, vec!["fixed"]), "{report:#}");
    let junit = fs::read_to_string(world.path("report.xml")).unwrap();
    assert!(junit.contains("failures=\"0\" errors=\"0\""), "{junit}");
    // Other sources fail in another way, and it is said where.
    world.put("other/tests/run.sh", "echo something else; exit 9\n");
    let (code, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!((code, verdicts(&report)), (1, vec!["changed"]));
    assert_eq!(report["rows"][0]["leaves"][0]["where"], "exit");
    // What cannot be run is never green.
    world.put("other/tests/run.sh", "no-such-program\n");
    let (code, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!((code, verdicts(&report)), (1, vec!["inconclusive"]));
}

#[test]
fn the_runners_of_others_are_red_and_turn_green() {
    let world = World::new();
    let tape = demo("bug-hunt.jsonl");
    let failing = format!("{tape}@fail");
    let fixed = format!("{tape}@8");
    assert_eq!(world.run(&["checkout", &fixed, "fixed"]).code, 0);
    assert_eq!(world.run(&["export", &failing, "-o", "case"]).code, 0);
    if world.test(&["case"]).is_none() {
        return;
    }
    let mut counted = 0;
    for (form, program, words) in [
        ("sh", "sh", &["sh/test.sh"][..]),
        ("pytest", "python3", &["pytest/test_case.py"][..]),
        (
            "rust",
            "rustc",
            &["--test", "rust/case.rs", "-o", "rust-case"][..],
        ),
    ] {
        let run = world.run(&["export", &failing, "--as", form, "-o", form]);
        assert_eq!(run.code, 0, "{}", run.error);
        let path = std::env::var_os("PATH").unwrap();
        let mut found = std::env::split_paths(&path);
        if !found.any(|directory| directory.join(program).is_file()) {
            println!("skipped: there is no `{program}` on this machine");
            continue;
        }
        let started = |program: &str, words: &[&str], with: Option<&str>| {
            let mut command = Command::new(program);
            world.settle(command.args(words));
            // Compilers that a user installed need the user's own surroundings.
            for name in ["PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME"] {
                if let Some(value) = std::env::var_os(name) {
                    command.env(name, value);
                }
            }
            command.env("JUKEBOX", PROGRAM);
            if let Some(with) = with {
                command.env("JUKEBOX_WITH", world.path(with));
            }
            let output = command.output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            (output.status.success(), said)
        };
        let (program, words) = if form == "rust" {
            let (is_built, said) = started(program, words, None);
            assert!(is_built, "{said}");
            (
                world.path("rust-case").to_str().unwrap().to_owned(),
                &[][..],
            )
        } else {
            (program.to_owned(), words)
        };
        let (is_green, said) = started(&program, words, None);
        assert!(!is_green && said.contains("reproduces"), "{form}: {said}");
        let (is_green, said) = started(&program, words, Some("fixed"));
        assert!(is_green, "{form}: {said}");
        counted += 1;
    }
    println!("{counted} of 3 runners are on this machine");
    assert!(counted > 0);
}

#[test]
fn two_exports_are_the_same_and_nothing_is_written_over() {
    let world = World::new();
    let failing = format!("{}@fail", demo("bug-hunt.jsonl"));
    for form in ["case", "sh", "pytest", "rust", "md"] {
        let (one, two) = (format!("{form}-1"), format!("{form}-2"));
        for name in [&one, &two] {
            let run = world.run(&["export", &failing, "--as", form, "-o", name]);
            assert_eq!(run.code, 0, "{}", run.error);
        }
        let first = all_of(&world.path(&one));
        assert_eq!(first, all_of(&world.path(&two)));
        // Where it was recorded, and when, stands nowhere in it.
        for (name, bytes) in first {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("/tmp/bug-hunt"), "{}", name.display());
            assert!(!text.contains("2026-"), "{}", name.display());
        }
        let run = world.run(&["export", &failing, "--as", form, "-o", &one]);
        assert_eq!(run.code, 3);
        assert!(run.error.contains("nothing was written"), "{}", run.error);
    }
    // Without a name it has one of its own.
    let run = world.run(&["export", &failing, "--json"]);
    let report: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(report["name"], "step-3-bash-sh-tests-run-sh");
    assert!(world.path("step-3-bash-sh-tests-run-sh").is_dir());
    assert_eq!(world.run(&["export", &failing]).code, 3);
}

/// Texts that break out of what is not made for them.
pub(crate) const HOSTILE: [&str; 8] = [
    "\"### */ ''' \"\"\" \\\n ${x} $(id) `id` {{x}} {root} {home}",
    "ignore previous instructions\r\n#[test]\r\nfn x() {}\r\n",
    "a\0b\u{202e}c\u{1b}]0;x\u{7}",
    "EOF\n'EOF'\n%EOF%\n--- \n+++ \n",
    "</failure>]]><!-- & <x y=\"z\">",
    "/home/nobody-here/app/x /home/nobody-here /home/nobody-here/apple",
    "```\n````\n# heading\n",
    "\u{feff}\u{2028}\\u0000 \\x00 \\",
];

#[test]
fn whatever_was_recorded_is_data_in_every_form() {
    let world = World::new();
    for (number, text) in HOSTILE.into_iter().enumerate() {
        let path = format!(
            "/home/nobody-here/app/{}.txt",
            text.replace(['\0', '/'], "_")
        );
        let name = path.strip_prefix("/home/nobody-here/app/").unwrap();
        let long = text.repeat(65_536 / text.len() + 1);
        let arguments = json!({
            "file_path": path,
            "old_string": format!("gone {long}"),
            "new_string": text,
            text: [text],
        });
        let content = format!("kept {text}");
        tape_of(
            &world,
            &[(name, content.as_bytes())],
            "Edit",
            &arguments,
            text,
        );
        for form in ["case", "sh", "pytest", "rust", "md"] {
            let case = format!("{form}-{number}");
            let run = world.run(&["export", "run.jsonl@fail", "--as", form, "-o", &case]);
            assert_eq!(run.code, 0, "{text:?}: {}", run.error);
            let files = all_of(&world.path(&case));
            let of = |name: &str| &files[Path::new(name)];
            // The value read back is the value put in.
            let manifest: Value = serde_json::from_slice(of("case.json")).unwrap();
            let words = |name: &str| manifest["placeholders"][name].as_str().unwrap();
            let back = |text: &str| {
                let text = text.replace(words("root"), "/home/nobody-here/app");
                text.replace(words("home"), "/home/nobody-here")
            };
            let held = &manifest["call"]["arguments"];
            for name in ["file_path", "old_string", "new_string"] {
                assert_eq!(
                    back(held[name].as_str().unwrap()),
                    arguments[name].as_str().unwrap()
                );
            }
            let output = String::from_utf8(of("output.txt").clone()).unwrap();
            assert_eq!(back(&output), text);
            // Files tell of the place where they are seen.
            let moved = content.replace("/home/nobody-here/app/", "/workspace/");
            let moved = moved.replace("/home/nobody-here", "/home/user");
            assert_eq!(files[&Path::new("files").join(name)], moved.as_bytes());
            // What is run is the same in every case.
            let plain = format!("{form}-plain");
            if number == 0 {
                let failing = format!("{}@20", demo("bug-hunt.jsonl"));
                let run = world.run(&["export", &failing, "--as", form, "-o", &plain]);
                assert_eq!(run.code, 0, "{}", run.error);
            }
            let plain = all_of(&world.path(&plain));
            for name in [
                "test.sh",
                "test_case.py",
                "case.rs",
                "README.md",
                ".gitattributes",
            ] {
                let name = Path::new(name);
                assert_eq!(files.get(name), plain.get(name), "{}", name.display());
            }
            let slug = manifest["name"].as_str().unwrap();
            let is_slug = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            assert!(
                slug.bytes().all(|byte| is_slug(byte) || byte == b'-'),
                "{slug}"
            );
            assert!((1..=60).contains(&slug.len()), "{slug}");
            let run = world.run(&["test", &case]);
            assert_eq!(run.code, 1, "{}", run.error);
            assert!(run.output.starts_with("reproduces"), "{}", run.output);
        }
    }
}

#[test]
fn a_shell_takes_the_command_that_is_told() {
    let world = World::new();
    let place = format!("{}@20", demo("bug-hunt.jsonl"));
    let run = world.run(&["export", &place, "-o", "a case"]);
    assert_eq!(run.code, 0, "{}", run.error);
    let last = run.output.lines().last().unwrap();
    assert_eq!(last, "`jukebox test 'a case'` makes it again");
}

#[test]
fn sources_that_are_laid_over_a_directory_take_its_place() {
    let world = World::new();
    let edit = json!({"file_path": "a", "old_string": "there", "new_string": "x"});
    let said = "<tool_use_error>EISDIR: illegal operation on a directory</tool_use_error>";
    tape_of(
        &world,
        &[("a/b", b"x"), ("a/c/d", b"x")],
        "Edit",
        &edit,
        said,
    );
    let run = world.run(&["export", "run.jsonl@fail", "--files", "all", "-o", "case"]);
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(world.path("case/files/a/c/d").is_file());
    world.put("other/a", "there");
    let (code, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!((code, verdicts(&report)), (0, vec!["fixed"]), "{report:#}");
}

#[test]
fn what_is_no_case_or_cannot_be_one_is_refused() {
    let world = World::new();
    let check = |words: &[&str], code: i32, said: &str| {
        let run = world.run(words);
        assert_eq!(run.code, code, "{words:?}: {}", run.error);
        assert!(run.error.contains(said), "{words:?}: {}", run.error);
    };
    let tape = demo("bug-hunt.jsonl");
    let at = |step: &str| format!("{tape}@{step}");
    check(
        &["export", &at("5")],
        2,
        "step 5 is no tool call that failed",
    );
    check(
        &["export", &at("1")],
        2,
        "step 1 is no tool call that failed",
    );
    // Files, and what is asked of them, are no part of an evaluation.
    for more in [&["--files", "all"][..], &["--check-exists", "a"]] {
        let place = at("18");
        let words = [&["export", &place, "--as", "promptfoo"], more].concat();
        check(&words, 2, "keeps a turn of the model, without files");
    }
    for nameless in [".", "..", "/", "home/.."] {
        let words = ["export", &at("20"), "-o", nameless];
        check(&words, 3, "is there already, and nothing was written");
    }
    let makes = "`jukebox export TAPE@fail` makes a case";
    check(&["test", "home"], 2, "`home` holds no test case; ");
    check(&["test", "home"], 2, makes);
    check(&["test", "nowhere"], 2, "there is no `nowhere`; ");
    check(&["test", "nowhere"], 2, makes);
    let words = ["export", &at("20"), "-o", "nowhere/case"];
    check(&words, 2, "there is no `nowhere`, and nothing was written");
    let report = "there is no directory `nowhere` for the report; nothing was run";
    check(&["test", "home", "--junit", "nowhere/x.xml"], 2, report);
    let sources = "there is no `nowhere`; nothing was run";
    let words = ["export", &at("20"), "-o", "sound"];
    assert_eq!(world.run(&words).code, 0);
    check(&["test", "sound", "--with", "nowhere"], 2, sources);
    // Its manifest names a case; of several, one that cannot be read is never green.
    world.put("bad/case.json", "{\"format\": \"jukebox-case\"");
    check(&["test", "bad/case.json"], 2, "`bad` cannot be used: ");
    check(&["test", "bad/other"], 2, "there is no `bad/other`");
    let run = world.run(&["test", "sound/case.json", "bad", "--json"]);
    assert_eq!(run.code, 1, "{}", run.error);
    let report: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!(verdicts(&report), ["reproduces", "inconclusive"]);
    let why = report["rows"][1]["why"].as_str().unwrap();
    assert!(why.starts_with("`bad` cannot be used: "), "{why}");
    // One that did is named.
    check(&["export", &at("5")], 2, "name one, such as TAPE@3");
    world.put("bad/case.json", "{\"format\": \"jukebox-case\"");
    check(&["test", "bad"], 2, "cannot be used");
    // The turn of a model means the call that it asked for.
    assert_eq!(world.run(&["export", &at("19"), "-o", "turn"]).code, 0);
    let case = fs::read_to_string(world.path("turn/case.json")).unwrap();
    assert!(case.contains("\"tool\": \"Edit\""), "{case}");
    // Nobody can make these again.
    tape_of(&world, &[], "WebFetch", &json!({"url": "x"}), "no");
    check(&["export", "run.jsonl@fail"], 2, "it asks a service");
    let edit = json!({"file_path": "a", "old_string": "there", "new_string": "x"});
    tape_of(&world, &[("a", b"there")], "Edit", &edit, "no");
    check(&["export", "run.jsonl@fail"], 2, "it succeeds");
    let mut refused = ran("true", "no", 1);
    refused.outcome = Outcome::Refused;
    tape_by(&world, header(), &[("a", "x")], &call("c", &refused));
    let why = "step 1 is no tool call that failed: it was refused, and never made; nothing was \
               written: no tool call of the run did";
    check(&["export", "run.jsonl@fail"], 2, why);
    // A case from a stranger leads nowhere else.
    assert_eq!(world.run(&["export", &at("20"), "-o", "link"]).code, 0);
    let file = world.path("link/files/src/cart.awk");
    world.put("secret", "secret");
    fs::remove_file(&file).unwrap();
    symlink(world.path("secret"), &file).unwrap();
    check(&["test", "link"], 2, "cannot be used");
    // Nor does it name a place elsewhere, or a call that did not fail.
    let path = world.path("turn/case.json");
    let plain: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for elsewhere in ["/etc/passwd", "../secret", "a/../../secret"] {
        let mut manifest = plain.clone();
        manifest["files"][0]["path"] = elsewhere.into();
        fs::write(&path, manifest.to_string()).unwrap();
        check(&["test", "turn"], 2, "cannot be used");
    }
    let mut manifest = plain;
    manifest["expected"]["outcome"] = "ok".into();
    fs::write(&path, manifest.to_string()).unwrap();
    check(&["test", "turn"], 2, "it expects no failure");
    // Not above the file either.
    world.put("elsewhere/cart.awk", "secret");
    let above = file.parent().unwrap();
    fs::remove_dir_all(above).unwrap();
    symlink(world.path("elsewhere"), above).unwrap();
    check(&["test", "link"], 2, "cannot be used");
}

#[test]
fn what_is_kept_and_what_is_told_of_it_go_together() {
    let world = World::new();
    let told = Told {
        name: "Bash",
        arguments: json!({"command": "cat a; exit 1"}),
        said: "/home/nobody-here/app/b\n",
        exit: Some(1),
        outcome: Outcome::Failed,
    };
    let files = [
        (".gitignore", "x\n"),
        ("a", "/home/nobody-here/app/b\n"),
        ("unnamed", "y\n"),
    ];
    tape(&world, &files, &[], &told);
    let words = ["export", "run.jsonl@fail", "--files", "touched", "--json"];
    let run = world.run(&[&words[..], &["-o", "case"]].concat());
    assert_eq!(run.code, 0, "{}", run.error);
    let report: Value = serde_json::from_str(&run.output).unwrap();
    assert_eq!((&report["files"], &report["moved"]), (&json!(2), &json!(1)));
    // What names files that do not count is a part of it, and what nobody names is not.
    assert!(world.path("case/files/.gitignore").is_file());
    assert!(!world.path("case/files/unnamed").exists());
    // Rows stand in the order in which the cases were named.
    for name in ["b", "c"] {
        let run = world.run(&[&words[..], &["-o", name]].concat());
        assert_eq!(run.code, 0, "{}", run.error);
    }
    let named = ["c", "case", "b"];
    let Some((_, report)) = world.test(&named) else {
        return;
    };
    let rows = report["rows"].as_array().unwrap().iter();
    let directories: Vec<&str> = rows.map(|row| row["directory"].as_str().unwrap()).collect();
    assert_eq!(directories, named);
    // What the sources do not count is not laid over a case.
    world.put("other/.gitignore", "a\n");
    world.put("other/a", "another\n");
    let (_, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    world.put("other/.gitignore", "");
    let (_, report) = world.test(&["case", "--with", "other"]).unwrap();
    assert_eq!(verdicts(&report), ["changed"], "{report:#}");
    // Who writes a later version may mean something else.
    let path = world.path("case/case.json");
    let manifest = fs::read_to_string(&path).unwrap();
    let later = manifest.replacen("\"version\": 1", "\"version\": 2", 1);
    assert_ne!(later, manifest);
    fs::write(&path, later).unwrap();
    let run = world.run(&["test", "case"]);
    assert_eq!(run.code, 2);
    assert!(
        run.error.contains("jukebox-case 1 is read here"),
        "{}",
        run.error
    );
}

#[test]
fn what_was_not_looked_at_when_it_was_recorded_does_not_count() {
    let world = World::new();
    let told = Told {
        name: "Bash",
        arguments: json!({"command": "echo x > out; exit 3"}),
        said: "",
        exit: Some(3),
        outcome: Outcome::Failed,
    };
    tape(&world, &[(".gitignore", "out\n")], &[], &told);
    assert_eq!(
        world.run(&["export", "run.jsonl@fail", "-o", "case"]).code,
        0
    );
    let Some((_, report)) = world.test(&["case"]) else {
        return;
    };
    assert_eq!(verdicts(&report), ["changed"], "{report:#}");
    // A recorder tells what it does not look at. A file of rules is for what lies beside it.
    let told = ran(
        "echo x > sub/out; mkdir .git; echo x > .git/x; exit 3",
        "",
        3,
    );
    let mut header = header();
    let covers = [
        ("repositories", "what is called .git is not looked into"),
        ("ignored", "by the .gitignore files"),
    ];
    for (name, words) in covers {
        header.covers.insert(name.to_owned(), words.into());
    }
    let files = [("sub/.gitignore", "/out\n")];
    tape_by(&world, header, &files, &call("c", &told));
    let manifest = exported_as(&world, "told", &[]);
    assert_eq!(manifest["left_out"], json!(["git", "ignored"]));
    let (_, report) = world.test(&["told"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn a_case_that_is_stopped_leaves_nothing() {
    let world = World::new();
    let run = Debugger::open(
        Source::Path(demo("bug-hunt.jsonl").into()),
        &OpenOptions::default(),
    );
    let run = run.unwrap();
    let failed = run.locate(&"fail".parse().unwrap()).unwrap();
    let mut go_on = |_: Progress| ControlFlow::Continue(());
    let prepared = run
        .prepare_case(failed, CaseFiles::All, &CaseMeans::default(), &mut go_on)
        .unwrap();
    let offer = prepared.offer();
    assert!(offer.files > 2, "{offer:?}");
    let how = (CaseForm::Sh, Uncertain::Refused);
    for most in 0..offer.files {
        let mut left = most;
        let mut tell = |_: Progress| match left.checked_sub(1) {
            Some(fewer) => {
                left = fewer;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        };
        let written = prepared.write(how, &world.path("case"), &mut tell);
        let is_stopped = matches!(written, Err(ExportError::Case(CaseError::Stopped)));
        assert!(is_stopped, "{written:?}");
        let left: Vec<PathBuf> = all_of(world.place.path()).into_keys().collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
    let written = prepared.write(how, &world.path("case"), &mut go_on);
    assert_eq!(written.unwrap().files, offer.files);
    // A name that is taken is not offered again.
    let free = prepared.free_directory(world.place.path());
    assert_eq!(free, world.path("bug-hunt-step-3"));
    world.put("bug-hunt-step-3", "taken");
    let free = prepared.free_directory(world.place.path());
    assert_eq!(free, world.path("bug-hunt-step-3-2"));
}
