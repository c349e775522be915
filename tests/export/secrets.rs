//! What stays out of an export: secrets, and the place of the recording.

use std::path::Path;

use jukebox::model::{Body, Event, FileChange, FileOp, Outcome, TapePath};
use serde_json::{Value, json};

use super::world::{Told, World, all_of, tape, verdicts};

/// A token that says itself what it is.
const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
/// The forms of an export, with the options that each needs.
const FORMS: [&str; 6] = ["case", "sh", "pytest", "rust", "md", "promptfoo"];

/// A run in which a secret stands everywhere: an edit that failed.
fn leaky(world: &World) {
    let prompt = Event::new(Body::Prompt {
        role: "user".to_owned(),
        text: format!("Use {TOKEN} in /home/nobody-here/app/a.env"),
        attachments: Vec::new(),
    });
    let arguments = json!({
        "file_path": "/home/nobody-here/app/a.env",
        "old_string": format!("KEY={TOKEN} "),
        "new_string": "KEY=",
    });
    let response = Event::new(Body::ModelResponse {
        model: None,
        blocks: vec![jukebox::model::ModelBlock {
            kind: jukebox::model::BlockKind::ToolCall,
            text: "Edit".to_owned(),
            call: Some("c".to_owned()),
            data: arguments.clone(),
        }],
        stop: None,
        usage: None,
        outcome: Outcome::Ok,
        duration: None,
    });
    let said = format!("String to replace not found in file.\nString: KEY={TOKEN} ");
    let told = Told {
        name: "Edit",
        arguments,
        said: &said,
        exit: None,
        outcome: Outcome::Failed,
    };
    let text = format!("KEY={TOKEN}\nHOME=/home/nobody-here/app/x:/home/nobody-here/bin\n");
    tape(world, &[("a.env", text)], &[prompt, response], &told);
}

#[test]
fn no_export_holds_a_secret_or_tells_where_it_was_recorded() {
    let world = World::new();
    leaky(&world);
    for form in FORMS {
        let (one, two) = (format!("{form}-1"), format!("{form}-2"));
        for name in [&one, &two] {
            let run = world.run(&["export", "run.jsonl@fail", "--as", form, "-o", name]);
            assert_eq!(run.code, 0, "{form}: {}", run.error);
            assert!(
                run.output.contains("1 secret taken out"),
                "{form}: {}",
                run.output
            );
        }
        let first = all_of(&world.path(&one));
        assert_eq!(first, all_of(&world.path(&two)), "{form}");
        let mut placeholders = 0;
        for (name, bytes) in &first {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains("ghp_"), "{form}: {}", name.display());
            assert!(!text.contains("nobody-here"), "{form}: {}", name.display());
            placeholders += text.matches("[REDACTED:1]").count();
        }
        assert!(placeholders >= 2, "{form}: {placeholders}");
        if form != "promptfoo" {
            let text = &first[Path::new("files/a.env")];
            let text = String::from_utf8_lossy(text);
            assert_eq!(text, "KEY=[REDACTED:1]\nHOME=/workspace/x:/home/user/bin\n");
            // What was taken out was taken out everywhere: it fails as it did.
            let (code, report) = world.test(&[&one]).unwrap();
            assert_eq!(
                (code, verdicts(&report)),
                (1, vec!["reproduces"]),
                "{form}: {report:#}"
            );
        }
    }
}

#[test]
fn what_the_user_calls_a_secret_is_one() {
    let world = World::new();
    leaky(&world);
    world.put("jukebox.toml", "[redact]\nvalues = [\"nobody-knows\"]\n");
    let told = Told {
        name: "Bash",
        arguments: json!({"command": "echo nobody-knows; false"}),
        said: "nobody-knows\n",
        exit: Some(1),
        outcome: Outcome::Failed,
    };
    tape(
        &world,
        &[("nobody-knows.txt", "[REDACTED:4] nobody-knows\n")],
        &[],
        &told,
    );
    let words = [
        "export",
        "run.jsonl@fail",
        "--config",
        "jukebox.toml",
        "-o",
        "case",
    ];
    let run = world.run(&words);
    assert_eq!(run.code, 0, "{}", run.error);
    let files = all_of(&world.path("case"));
    // A placeholder that stood there already stands for something else.
    let text = &files[Path::new("files/[REDACTED:5].txt")];
    assert_eq!(String::from_utf8_lossy(text), "[REDACTED:4] [REDACTED:5]\n");
    assert_eq!(files[Path::new("output.txt")], b"[REDACTED:5]\n");
    if let Some((_, report)) = world.test(&["case"]) {
        assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
    }
}

#[test]
fn what_an_agent_had_read_and_where_links_lead_tell_no_secret() {
    let world = World::new();
    let name = format!("{TOKEN}.txt");
    let told = Told {
        name: "Edit",
        arguments: json!({
            "file_path": format!("/home/nobody-here/app/{name}"),
            "old_string": "there",
            "new_string": "x",
        }),
        said: "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>",
        exit: None,
        outcome: Outcome::Failed,
    };
    let link = Event::new(Body::File(FileChange::new(
        FileOp::Symlink {
            target: format!("/home/nobody-here/app/{name}").into_bytes(),
        },
        TapePath::new("link").unwrap(),
    )));
    tape(&world, &[(name.as_str(), "there")], &[link], &told);
    let run = world.run(&["export", "run.jsonl@fail", "--files", "all", "-o", "case"]);
    assert_eq!(run.code, 0, "{}", run.error);
    for (path, bytes) in all_of(&world.path("case")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("ghp_"), "{}: {text}", path.display());
        assert!(!text.contains("nobody-here"), "{}: {text}", path.display());
    }
    let manifest = std::fs::read(world.path("case/case.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let seen = json!([{"path": "[REDACTED:1].txt", "seen": null}]);
    assert_eq!(manifest["session"], seen);
    let link = &manifest["files"].as_array().unwrap()[1];
    assert_eq!(link["target"], "/workspace/[REDACTED:1].txt");
    let (_, report) = world.test(&["case"]).unwrap();
    assert_eq!(verdicts(&report), ["reproduces"], "{report:#}");
}

#[test]
fn bytes_that_tell_where_it_was_recorded_are_refused() {
    let world = World::new();
    let told = Told {
        name: "Bash",
        arguments: json!({"command": "echo failed; exit 1"}),
        said: "failed\n",
        exit: Some(1),
        outcome: Outcome::Failed,
    };
    let bytes = b"\xff\0/home/nobody-here/app/a.o\0";
    tape(&world, &[("a.o", bytes)], &[], &told);
    let run = world.run(&["export", "run.jsonl@fail", "-o", "case"]);
    assert_eq!(run.code, 2, "{}", run.output);
    assert!(
        run.error
            .contains("a.o tells of the place of the recording"),
        "{}",
        run.error
    );
    let words = [
        "export",
        "run.jsonl@fail",
        "--allow-uncertain",
        "-o",
        "case",
    ];
    assert_eq!(world.run(&words).code, 0);
}
