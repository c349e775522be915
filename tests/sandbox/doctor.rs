//! `jukebox doctor`, and what it says where something is missing.

use std::process::Command;

use serde_json::Value;

use super::who::{self, as_root_and_as_user};

as_root_and_as_user!(
    this_machine_allows_what_is_tested_here,
    a_machine_without_namespaces_is_told_why,
    a_place_that_cannot_be_written_is_named,
);

fn doctor(arguments: &[&str]) -> (Option<i32>, String, String) {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new(who::program())
        .arg("doctor")
        .args(arguments)
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn this_machine_allows_what_is_tested_here() {
    let (code, said, errors) = doctor(&["--json"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["backend"], "overlay");
    let findings = said["findings"].as_array().unwrap();
    for finding in findings {
        let is_needed = finding["needed"] != false;
        assert!(!is_needed || finding["verdict"] == "holds", "{finding}");
    }
    let (code, said, _) = doctor(&[]);
    assert_eq!(code, Some(0));
    assert_eq!(said.lines().last(), Some("sandbox: overlay"));
    assert_eq!(said.lines().count(), findings.len() + 1);
}

fn a_machine_without_namespaces_is_told_why() {
    if who::mounted().is_none() {
        let test = concat!(
            module_path!(),
            "::as_user::a_machine_without_namespaces_is_told_why"
        );
        // The number counts for this namespace and all in it.
        who::among_mounts(test, "echo 0 > /proc/sys/user/max_user_namespaces");
        return;
    }
    let (code, said, _) = doctor(&["--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    // There is something less than an overlay.
    assert_eq!((code, &said["backend"]), (Some(0), &Value::from("copy")));
    let findings = said["findings"].as_array().unwrap();
    let missing = findings
        .iter()
        .find(|finding| finding["what"] == "namespaces")
        .unwrap();
    assert_eq!(missing["verdict"], "missing");
    assert_eq!(missing["cure"], "raise /proc/sys/user/max_user_namespaces");
    let overlay = findings
        .iter()
        .find(|finding| finding["what"] == "overlay")
        .unwrap();
    assert_eq!(overlay["verdict"], "unknown");
}

fn a_place_that_cannot_be_written_is_named() {
    let (code, _, errors) = doctor(&["--dir", "/proc"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("`/proc`"), "{errors}");
}
