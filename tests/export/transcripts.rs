//! Every failed call of the transcripts at hand: exported and made again, or refused for a reason.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::transcripts_at_hand::claude_code;
use super::world::{World, verdicts};

/// Why most calls are refused.
const UNKNOWN: &str = "a file, or what it did, is not known";

/// A call that is refused for what is not known is exported where that is wanted, and says it.
fn says_what_is_not_known(world: &World, place: &str, error: &str) {
    assert!(error.contains("--allow-uncertain"), "{error}");
    let words = ["export", place, "--allow-uncertain", "--json", "-o", "told"];
    let run = world.run(&words);
    assert_eq!(run.code, 0, "{place}: {}", run.error);
    let told: Value = serde_json::from_str(&run.output).unwrap();
    let manifest = fs::read(world.path("told/case.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_ne!(told["doubts"], Value::Array(Vec::new()), "{place}");
    assert_eq!(told["doubts"], manifest["doubts"], "{place}");
    fs::remove_dir_all(world.path("told")).unwrap();
}

/// Why a call is refused, in a few words.
fn reason(error: &str) -> &'static str {
    const REASONS: [(&str, &str); 6] = [
        ("is not known as a whole", UNKNOWN),
        ("it is not known what this tool does", "an unknown tool"),
        ("it starts another agent", "another agent"),
        ("it is for a person", "a person"),
        ("about a command that runs in the background", "background"),
        ("it depends on", "its file is not known"),
    ];
    let found = REASONS.iter().find(|(words, _)| error.contains(words));
    found.map_or("other", |(_, reason)| *reason)
}

#[test]
fn failed_calls_are_exported_and_reproduce_or_are_refused_for_a_reason() {
    let transcripts = claude_code();
    if transcripts.is_empty() {
        return;
    }
    let world = World::new();
    let mut table: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut cases = Vec::new();
    for path in &transcripts {
        let path = path.to_str().unwrap();
        // The shell of a place: a tape is read faster than a transcript, again and again.
        let imported = world.run(&["import", path, "-o", "imported.jsonl"]);
        assert!(imported.code < 2, "{path}: {}", imported.error);
        let log = world.run(&["log", "imported.jsonl", "--json"]).output;
        let rows = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        for row in rows.filter(|row| row["kind"] == "tool" && row["outcome"] == "failed") {
            let case = format!("case-{}", cases.len());
            let place = format!("imported.jsonl@{}", row["step"]);
            let run = world.run(&["export", &place, "-o", &case]);
            let tool = row["tool"].as_str().unwrap_or_default().to_owned();
            let came_to = if run.code == 0 {
                cases.push(case);
                "exported"
            } else {
                assert_eq!(run.code, 2, "{place}: {}", run.error);
                assert_eq!(run.error.lines().count(), 1, "{}", run.error);
                let reason = reason(&run.error);
                if reason == UNKNOWN {
                    says_what_is_not_known(&world, &place, &run.error);
                }
                reason
            };
            *table.entry((tool, came_to)).or_default() += 1;
        }
        fs::remove_file(world.path("imported.jsonl")).unwrap();
    }
    for ((tool, came_to), count) in &table {
        println!("{count:3}  {tool:12} {came_to}");
    }
    let words: Vec<&str> = cases.iter().map(String::as_str).collect();
    let (_, report) = world.test(&words).unwrap();
    assert!(
        verdicts(&report).iter().all(|it| *it == "reproduces"),
        "{report:#}"
    );
    let of = |tool: &str| -> usize {
        let exported = table
            .iter()
            .filter(|((name, came_to), _)| name == tool && *came_to == "exported");
        exported.map(|(_, count)| count).sum()
    };
    println!("{} exported", cases.len());
    // The other read is of a file elsewhere.
    assert_eq!(["Edit", "MultiEdit", "Write", "Read"].map(of), [8, 2, 5, 4]);
}
