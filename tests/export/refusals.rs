//! Tools that refuse for what their agent had read, or for what a file is: the case knows enough of
//! it to be refused again for the same reason.

use jukebox::model::{Body, Event, Outcome, Scope};
use serde_json::{Value, json};

use super::world::{Told, World, call, tape, verdicts};

const FILE: &str = "/home/nobody-here/app/a.txt";

fn told<'a>(name: &'a str, arguments: &Value, said: &'a str, outcome: Outcome) -> Told<'a> {
    Told {
        name,
        arguments: arguments.clone(),
        said,
        exit: None,
        outcome,
    }
}

fn edit(old: &str) -> Value {
    json!({"file_path": FILE, "old_string": old, "new_string": "x"})
}

/// Exports the failed call of the tape, and makes it again: how it was refused, or that it
/// reproduces.
fn exported(world: &World, number: usize) -> Result<Value, String> {
    let case = format!("case-{number}");
    let run = world.run(&["export", "run.jsonl@fail", "-o", &case]);
    if run.code != 0 {
        assert_eq!(run.code, 2, "{}", run.error);
        return Err(run.error);
    }
    let (_, report) = world.test(&[&case]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    let manifest = std::fs::read(world.path(&case).join("case.json")).unwrap();
    Ok(serde_json::from_slice(&manifest).unwrap())
}

const UNREAD: &str = "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>";
const STALE: &str = "<tool_use_error>File has been modified since read, either by the user or by a \
                     linter.</tool_use_error>";

#[test]
fn what_was_not_read_is_not_written() {
    let world = World::new();
    let write = json!({"file_path": FILE, "content": "new"});
    for (number, (name, arguments)) in [("Edit", edit("there")), ("Write", write)]
        .iter()
        .enumerate()
    {
        // The text is there: only that it was not read speaks against it.
        let call = told(name, arguments, UNREAD, Outcome::Failed);
        tape(&world, &[("a.txt", "there")], &[], &call);
        let manifest = exported(&world, number).unwrap();
        assert_eq!(
            manifest["session"],
            json!([{"path": "a.txt", "seen": null}])
        );
        // The run that is made again is refused for it, too.
        let replay = world.run(&["replay", "run.jsonl", "--json"]);
        assert_eq!(replay.code, 0, "{}{}", replay.output, replay.error);
        // It is the file that counts, and not what it holds.
        world.put("other/a.txt", "there, and more");
        let (_, report) = world
            .test(&[&format!("case-{number}"), "--with", "other"])
            .unwrap();
        assert_eq!(verdicts(&report), ["reproduces"], "{name}");
        // Of a file that nobody saw it is known that it is there: the tool says so.
        tape(
            &world,
            &[("b.txt", "x")],
            &[],
            &told(name, arguments, UNREAD, Outcome::Failed),
        );
        assert!(
            exported(&world, number + 10).is_err(),
            "the tape shows that it is not there"
        );
    }
}

#[test]
fn what_changed_since_it_was_read_is_not_written() {
    let world = World::new();
    let read = |said| {
        call(
            "r",
            &told("Read", &json!({"file_path": FILE}), said, Outcome::Ok),
        )
    };
    let change = |text: &str| {
        let mut change = jukebox::model::FileChange::write(
            jukebox::model::TapePath::new("a.txt").unwrap(),
            text.as_bytes(),
        );
        change.outside = true;
        Event::new(jukebox::model::Body::File(change))
    };
    let [asked, answered] = read("     1→there");
    let before = [asked.clone(), answered.clone(), change("there now")];
    tape(
        &world,
        &[("a.txt", "there")],
        &before,
        &told("Edit", &edit("there"), STALE, Outcome::Failed),
    );
    let manifest = exported(&world, 0).unwrap();
    assert!(manifest["session"][0]["seen"].is_string(), "{manifest:#}");
    // What the tape shows speaks against what was said: no case is made of that.
    let same = told("Edit", &edit("there"), STALE, Outcome::Failed);
    tape(
        &world,
        &[("a.txt", "there")],
        &[asked.clone(), answered.clone()],
        &same,
    );
    let error = exported(&world, 1).unwrap_err();
    assert!(error.contains("it succeeds"), "{error}");
    tape(&world, &[("a.txt", "there")], &[], &same);
    let error = exported(&world, 2).unwrap_err();
    assert!(error.contains("no step read it"), "{error}");
    let unread = told("Edit", &edit("there"), UNREAD, Outcome::Failed);
    tape(&world, &[("a.txt", "there")], &[asked, answered], &unread);
    // Whether it was read its program says, and nobody else: that a step did is a remark.
    let manifest = exported(&world, 3).unwrap();
    let remark = manifest["remarks"][0].as_str().unwrap();
    assert!(remark.ends_with("and step 1 read it"), "{remark}");
}

#[test]
fn the_reason_counts_and_not_its_words() {
    let world = World::new();
    let read = json!({"file_path": FILE});
    let directory = json!({"file_path": "/home/nobody-here/app/d"});
    let not_found =
        "<tool_use_error>String to replace not found in file.\nString: gone</tool_use_error>";
    let several = "<tool_use_error>Found 2 matches of the string to replace.</tool_use_error>";
    let cases = [
        ("Edit", edit("gone"), not_found, "e e", true),
        ("Edit", edit("e"), several, "e e", true),
        ("Edit", edit("e"), not_found, "e e", false),
        ("Edit", edit("gone"), several, "e e", false),
        (
            "Read",
            read,
            "<tool_use_error>File does not exist.</tool_use_error>",
            "",
            true,
        ),
        (
            "Read",
            directory,
            "EISDIR: illegal operation on a directory, read",
            "e",
            true,
        ),
    ];
    for (number, (name, arguments, said, text, is_so)) in cases.iter().enumerate() {
        let path = if text.is_empty() { "b.txt" } else { "a.txt" };
        let files = [(path, *text), ("d/x", "x")];
        tape(
            &world,
            &files,
            &[],
            &told(name, arguments, said, Outcome::Failed),
        );
        let exported = exported(&world, number);
        assert_eq!(exported.is_ok(), *is_so, "{name} {arguments}: {exported:?}");
    }
}

/// Something that may have written any file.
fn suspect() -> [Event; 3] {
    let ran = told("Bash", &json!({"command": "make"}), "", Outcome::Ok);
    let [asked, answered] = call("s", &ran);
    let scope = Scope::All;
    let why = "a command".to_owned();
    let suspect = Event::new(Body::Suspect { scope, why }).in_call("s");
    [asked, suspect, answered]
}

#[test]
fn what_the_call_itself_says_of_its_file_needs_no_certainty() {
    let world = World::new();
    let not_found = "<tool_use_error>String to replace not found in file.</tool_use_error>";
    let several = "<tool_use_error>Found 2 matches of the string to replace.</tool_use_error>";
    let cases = [
        (edit("gone"), not_found, "was not in it"),
        (edit("e"), several, "was in it more than once"),
    ];
    for (number, (arguments, said, remark)) in cases.iter().enumerate() {
        let failed = told("Edit", arguments, said, Outcome::Failed);
        tape(&world, &[("a.txt", "e e")], &suspect(), &failed);
        let manifest = exported(&world, number).unwrap();
        assert_eq!(manifest["doubts"], json!([]), "{manifest:#}");
        let found = manifest["remarks"][0].as_str().unwrap();
        assert!(found.starts_with("a.txt may have been written"), "{found}");
        assert!(found.ends_with(remark), "{found}");
        let report = format!("report-{number}");
        let words = ["export", "run.jsonl@fail", "--as", "md", "-o", &report];
        assert_eq!(world.run(&words).code, 0);
        let report = std::fs::read_to_string(world.path(&report).join("REPORT.md")).unwrap();
        assert!(report.contains(found), "{report}");
    }
    // Where what is known of the file speaks against it, it was written, and nobody knows how.
    let failed = told("Edit", &edit("e"), not_found, Outcome::Failed);
    tape(&world, &[("a.txt", "e e")], &suspect(), &failed);
    let error = exported(&world, 2).unwrap_err();
    assert!(error.contains("a.txt is uncertain here"), "{error}");
    // What is said in words that nobody knows proves nothing.
    let failed = told("Edit", &edit("gone"), "no", Outcome::Failed);
    tape(&world, &[("a.txt", "e e")], &suspect(), &failed);
    let error = exported(&world, 3).unwrap_err();
    assert!(error.contains("a.txt is uncertain here"), "{error}");
    assert!(error.contains("--allow-uncertain"), "{error}");
    let words = ["export", "run.jsonl@fail", "--allow-uncertain", "-o", "u"];
    let run = world.run(&words);
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(run.output.contains("not known: a.txt is uncertain"));
    let (_, report) = world.test(&["u"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn a_file_that_is_too_large_to_be_shown_is_so_by_what_its_tool_says() {
    let world = World::new();
    let large = "File content (1.5KB) exceeds maximum allowed size (1KB). Please use offset and \
                 limit parameters to read specific portions of the file.";
    let read = json!({"file_path": FILE});
    let failed = told("Read", &read, large, Outcome::Failed);
    let text = "a line\n".repeat(200);
    tape(&world, &[("a.txt", &text)], &[], &failed);
    let manifest = exported(&world, 0).unwrap();
    assert_eq!(manifest["largest"], 1024);
    // The run that is made again is refused for it, too.
    let replay = world.run(&["replay", "run.jsonl", "--json"]);
    assert_eq!(replay.code, 0, "{}{}", replay.output, replay.error);
    // A smaller file is shown.
    world.put("other/a.txt", "a line\n");
    let (_, report) = world.test(&["case-0", "--with", "other"]).unwrap();
    assert_eq!(verdicts(&report), ["fixed"], "{report:#}");
    tape(&world, &[("a.txt", "a line\n")], &[], &failed);
    let error = exported(&world, 1).unwrap_err();
    assert!(error.contains("it succeeds"), "{error}");
    // Some of its lines are shown, whatever its size.
    let some = json!({"file_path": FILE, "limit": 3});
    let failed = told("Read", &some, large, Outcome::Failed);
    tape(&world, &[("a.txt", &text)], &[], &failed);
    let error = exported(&world, 2).unwrap_err();
    assert!(error.contains("it succeeds"), "{error}");
    // How many tokens a file has its model alone knows.
    let tokens = "File content (28375 tokens) exceeds maximum allowed tokens (25000).";
    let failed = told("Read", &read, tokens, Outcome::Failed);
    tape(&world, &[("a.txt", &text)], &[], &failed);
    let error = exported(&world, 3).unwrap_err();
    assert!(error.contains("counts the tokens"), "{error}");
    let unsaid = "File content exceeds maximum allowed size.";
    let failed = told("Read", &read, unsaid, Outcome::Failed);
    tape(&world, &[("a.txt", &text)], &[], &failed);
    let error = exported(&world, 4).unwrap_err();
    assert!(error.contains("does not say how large"), "{error}");
}
