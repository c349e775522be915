//! Searching as people type it: patterns, globs, and what was written to files.

use std::ffi::OsStr;

use serde_json::{Value, json};

use super::queries::{MISTAKES, QUERIES};
use super::recorder::Recorder;
use super::world::{World, project};

/// A run that writes two files, one of them twice.
fn recorded() -> World {
    let world = World::new(&[]);
    let mut recorder = Recorder::start(&world, "-o run.jsonl");
    let mut say = |event| recorder.say(event);
    say(json!({"kind": "prompt", "text": "Rename alpha to beta-7."}));
    for (call, path, text) in [
        (
            "c1",
            "src/deep/a.rs",
            "fn alpha() {}\nlet error: i32 = 1;\n",
        ),
        ("c2", "notes.md", "alpha was here\n"),
        (
            "c3",
            "src/deep/a.rs",
            "fn beta7() {}\nlet error: i32 = 1;\n",
        ),
    ] {
        say(json!({"kind": "tool.call", "call": call, "name": "write", "args": {"path": path}}));
        say(json!({"kind": "fs.write", "call": call, "path": path, "text": text}));
        say(json!({"kind": "tool.result", "call": call, "output": "done", "exit": 0}));
    }
    assert_eq!(recorder.end(), 0);
    world
}

#[test]
fn what_was_written_to_files_is_found_at_the_step_that_wrote_it() {
    let world = recorded();
    let check = |query: &str, expected: &[&str]| {
        let run = world.run(&["search", "run.jsonl", query]);
        let found = run.stdout();
        let found: Vec<String> = found
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, expected, "{query}: {}", run.stderr());
        assert_eq!(run.code(), i32::from(expected.is_empty()), "{query}");
    };
    let line = "2 file src/deep/a.rs:2: let error: i32 = 1;";
    check("file:error", &[line]);
    check("file:\"error: i32\"", &[line]);
    check("file:re:^let\\s+ERR", &[line]);
    check("file:re:(?-i)^let\\s+ERR", &[]);
    check(
        "file:alpha",
        &[
            "2 file src/deep/a.rs:1: fn alpha() {}",
            "3 file notes.md:1: alpha was here",
        ],
    );
    check(
        "file:alpha path:*.md",
        &["3 file notes.md:1: alpha was here"],
    );
    check(
        "path:src/** beta7",
        &["4 file src/deep/a.rs:1: fn beta7() {}"],
    );
    check("path:src/*.rs", &[]);
    check("path:src/** step:3..", &["4 path src/deep/a.rs"]);
    check("re:beta-[0-9]", &["1 prompt Rename alpha to beta-7."]);
    check("error:", &[]);
}

#[test]
fn every_sort_of_query_is_answered_and_what_is_none_is_said() {
    let world = World::new(&[]);
    let demo = project().join("demo-tapes/bug-hunt.jsonl");
    let search = |query: &str| {
        let words = [OsStr::new("search"), demo.as_os_str(), OsStr::new(query)];
        world.run(&[&words[..], &[OsStr::new("--json")]].concat())
    };
    for (query, expected) in QUERIES {
        let run = search(query);
        let found = run.stdout();
        let step = |line: &str| {
            let hit: Value = serde_json::from_str(line).unwrap();
            hit["step"].as_u64().unwrap() as u32
        };
        let mut steps: Vec<u32> = found.lines().map(step).collect();
        steps.dedup();
        assert_eq!(steps, expected, "{query}: {}", run.stderr());
    }
    for (query, said) in MISTAKES {
        let run = search(query);
        assert_eq!(run.code(), 2, "{query}");
        assert!(run.stderr().contains(said), "{query}: {}", run.stderr());
    }
}

#[test]
fn a_field_that_is_none_and_a_pattern_that_is_none_are_said() {
    let world = recorded();
    let check = |query: &str, expected: &str| {
        let run = world.run(&["search", "run.jsonl", query]);
        assert_eq!(run.code(), 2, "{query}");
        let said = run.stderr();
        assert!(
            said.contains(expected) && said.lines().count() == 1,
            "{said}"
        );
    };
    check("too:bash", "there is no field `too:`; fields: tool: kind:");
    check("re:(", "`(` is no pattern: unclosed group");
    // It would take for ever where patterns are tried one way after the other.
    let slow = world.run(&["search", "run.jsonl", "re:(a*)*(a*)*b(x+x+)+y$"]);
    assert_eq!(slow.code(), 1, "{}", slow.stderr());
}

#[test]
fn what_is_looked_for_is_found_wherever_it_was_said_and_nowhere_else() {
    let world = World::new(&[]);
    let lines = [
        r#"{"seq":0,"kind":"tape","format":1,"id":"t"}"#,
        r#"{"seq":1,"kind":"prompt","name":"user","text":"go"}"#,
        r#"{"seq":2,"kind":"model.request","added":[{"role":"user","content":"word asked"}]}"#,
        r#"{"seq":3,"kind":"model.response","text":"I look"}"#,
        r#"{"seq":4,"kind":"tool.call","call":"c1","name":"Read","args":{}}"#,
        r#"{"seq":5,"kind":"tool.result","call":"c1","output":"","detail":{"file":"word told"}}"#,
        r#"{"seq":6,"kind":"agent.start","agent":"a1","call":"c9","name":"explore"}"#,
        r#"{"seq":7,"kind":"tool.call","agent":"a1","call":"c2","name":"ReadMany","args":{"what":"word"}}"#,
        r#"{"seq":8,"kind":"fs.observe","call":"c2","agent":"a1","path":"part","enc":"lines","lines":[[10,"ten\n"],[30,"a line\nword\n"]],"total":40}"#,
        r#"{"seq":9,"kind":"raw","name":"x","text":"{\"word\":1}"}"#,
    ];
    world.put("run.jsonl", lines.join("\n") + "\n");
    let fields = |query: &str| -> Vec<String> {
        let run = world.run(&["search", "run.jsonl", query, "--json"]);
        let found = run.stdout();
        let hits = found
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        hits.map(|hit: Value| format!("{} {}", hit["field"].as_str().unwrap(), hit["line"]))
            .collect()
    };
    let all = fields("word");
    let is_told = |field: &str| all.iter().any(|hit| hit.starts_with(field));
    for field in ["request", "detail", "arguments", "record"] {
        assert!(is_told(field), "{field}: {all:?}");
    }
    assert_eq!(fields("word agent:explore").len(), 1, "{all:?}");
    assert_eq!(fields("word agent:A1").len(), 1);
    assert_eq!(fields("word agent:nobody").len(), 0);
    assert_eq!(fields("word kind:model").len(), 1);
    // The name of a tool is meant as a whole.
    let of_tool = fields("word tool:read");
    assert!(of_tool.iter().any(|hit| hit.starts_with("detail")));
    assert!(!of_tool.iter().any(|hit| hit.starts_with("arguments")));
    assert_eq!(fields("word tool:rea").len(), 0);
    // A line has the number that it has in the file.
    let hit = fields("file:word");
    assert_eq!(hit, ["file \"part:31: word\""]);
}
