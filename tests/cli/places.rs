//! A place is typed the same way at every command that takes a run.

use super::world::World;

/// The first word of each line: the numbers of the steps.
fn steps(listed: &str) -> Vec<u32> {
    let first = |line: &str| {
        line.split_whitespace()
            .next()
            .and_then(|word| word.parse().ok())
    };
    listed.lines().filter_map(first).collect()
}

#[test]
fn a_log_ends_at_the_place_and_lists_the_branch_that_is_named_in_it() {
    let world = World::new(&["run.jsonl"]);
    let log = |words: &str| {
        let run = world.type_in(&format!("log {words}"));
        assert_eq!(run.code(), 0, "{words}: {}", run.stderr());
        run.stdout()
    };
    assert_eq!(log("run.jsonl@again:end"), log("run.jsonl"));
    assert_eq!(log("run.jsonl@main:end"), log("run.jsonl --branch main"));
    assert!(log("run.jsonl@main:end").contains("try.txt"));
    assert_eq!(steps(&log("run.jsonl@3")), [1, 2, 3]);
    assert_eq!(steps(&log("run.jsonl@fail")), [1, 2, 3, 4, 5]);
    assert_eq!(log("run.jsonl@0"), "");
    let both = world.type_in("log run.jsonl@3 --all");
    assert_eq!(both.code(), 2);
    assert!(
        both.stderr().contains("leave out the place"),
        "{}",
        both.stderr()
    );
}

#[test]
fn a_search_and_a_count_end_at_the_place() {
    let world = World::new(&["run.jsonl"]);
    let hits = |place: &str| steps(&world.run(&["search", place, "parse.rs"]).stdout());
    let (all, some) = (hits("run.jsonl@main:end"), hits("run.jsonl@main:4"));
    assert!(all.iter().any(|step| *step > 4), "{all:?}");
    assert!(
        !some.is_empty() && some.iter().all(|step| *step <= 4),
        "{some:?}"
    );
    let count = |place: &str| {
        let run = world.run(&["stats", place, "--json"]);
        let counted: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
        counted["steps"].as_u64().unwrap()
    };
    assert_eq!(count("run.jsonl@main:end"), 13);
    assert_eq!(count("run.jsonl@main:4"), 4);
}

#[test]
fn where_the_whole_run_is_meant_a_place_is_no_name_of_a_file() {
    let world = World::new(&["run.jsonl"]);
    for words in ["verify run.jsonl@2", "compact run.jsonl@2 -o new.jsonl"] {
        let run = world.type_in(words);
        assert_eq!(run.code(), 2, "{words}");
        assert!(
            run.stderr().contains("without @2"),
            "{words}: {}",
            run.stderr()
        );
    }
    assert!(!world.path("new.jsonl").exists());
}
