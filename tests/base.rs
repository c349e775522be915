//! Opening a transcript with a base: where its first contents come from is said.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::fs;
use std::path::Path;
use std::process::Command;

use jukebox::debugger::{Debugger, OpenOptions, Places, Source};

fn git(directory: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn the_recorded_branch_is_proposed_for_a_directory_that_has_it() {
    let world = tempfile::tempdir().unwrap();
    let repository = world.path().join("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q", "-b", "trunk"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let notices = |branch: &str, base: &str| -> Vec<String> {
        let path = world.path().join("session.jsonl");
        let record = serde_json::json!({
            "type": "user", "uuid": "u1", "parentUuid": null, "sessionId": "s", "cwd": "/w",
            "gitBranch": branch, "timestamp": "2026-01-01T10:00:00Z",
            "message": {"role": "user", "content": "hello"},
        });
        fs::write(&path, format!("{record}\n")).unwrap();
        let options = OpenOptions {
            base: Some(base.to_owned()),
            places: Places {
                here: Some(world.path().to_owned()),
                ..Places::default()
            },
            ..OpenOptions::default()
        };
        let run = Debugger::open(Source::Path(path), &options).unwrap();
        let notices = run.summary().notices;
        notices.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        notices("trunk", "repository"),
        [
            "the run was on the branch trunk; in repository, `--base git:trunk` gives the files as committed"
        ]
    );
    assert!(notices("elsewhere", "repository").is_empty());
    assert!(notices("trunk", ".").is_empty());
}
