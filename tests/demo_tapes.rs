//! The demo tapes are what really happened: recorded again, in the sandbox, they tell the same, but
//! for times.
//!
//! A tape that is spoiled on purpose cannot be read line by line, and is left out.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What is another each time: times, what is named by a time, and hashes of lines with them.
const OTHERWISE: [&str; 5] = ["t", "dur", "started", "id", "prev"];

#[test]
fn a_bug_hunt_is_recorded_as_it_was() {
    is_recorded_as_it_was("bug-hunt");
}

#[test]
fn rolled_back_transactions_are_recorded_as_they_were() {
    is_recorded_as_it_was("rolled-back");
}

fn is_recorded_as_it_was(name: &str) {
    let place = tempfile::tempdir().unwrap();
    let Some(recorder) = recorder() else {
        eprintln!("skipped: `cargo build --example record-demos` builds what records them");
        return;
    };
    let ran = Command::new(recorder)
        .args([name, "--to"])
        .arg(place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    // Somebody else may be recording it just now, and a machine may allow no sandbox.
    if said.contains("exists") || said.contains("doctor") {
        eprintln!("skipped: {}", said.trim());
        return;
    }
    assert!(ran.status.success(), "{said}");
    let file = format!("{name}.jsonl");
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo-tapes");
    let known = events(&known.join(&file));
    let now = events(&place.path().join(&file));
    for (known, now) in known.iter().zip(&now) {
        assert_eq!(known, now, "{name}: `record-demos` records it anew");
    }
    assert_eq!(known.len(), now.len());
    // The model asks for each call that is made.
    let asked = known.iter().filter_map(|event| event["blocks"].as_array());
    let asked = asked.flatten().filter(|block| block["type"] == "tool_call");
    let made = known.iter().filter(|event| event["kind"] == "tool.call");
    assert_eq!(asked.count(), made.count());
}

/// The example. A run of all tests builds it; one of this file alone takes the one that is there.
fn recorder() -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap();
    let target = own.parent().and_then(Path::parent).unwrap();
    let recorder = target.join("examples/record-demos");
    recorder.exists().then_some(recorder)
}

fn events(tape: &Path) -> Vec<Value> {
    let text = fs::read_to_string(tape).unwrap();
    let events = text.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        fields.retain(|name, _| !OTHERWISE.contains(&name.as_str()));
        event
    });
    events.collect()
}
