//! Two runs held against each other: what is told of them, to the letter, and with which
//! code it ends.

use std::fmt::Write as _;

use serde_json::Value;

use super::world::World;

/// A run in `/home/me/one`: it reads, edits the parser, and its tests pass.
const PARSER: [&str; 14] = [
    r#"{"kind":"prompt","name":"user","text":"make the tests pass"}"#,
    r#"{"kind":"model.response","call":"m1","blocks":[{"type":"text","text":"I look around."}]}"#,
    r#"{"kind":"tool.call","call":"toolu_0123456789","name":"Bash","args":{"command":"cd /home/me/one && ls"}}"#,
    r#"{"kind":"tool.result","call":"toolu_0123456789","outcome":"ok","exit":0,"output":"src\ntook 0.31s\n"}"#,
    r#"{"kind":"model.response","call":"m2","blocks":[{"type":"thinking","text":"hm"},{"type":"text","text":"The parser is wrong."}]}"#,
    r#"{"kind":"tool.call","call":"b","name":"Edit","title":"src/parse.rs","args":{"file_path":"/home/me/one/src/parse.rs","old_string":"a","new_string":"b"}}"#,
    r#"{"kind":"fs.write","call":"b","path":"src/parse.rs","mode":"644","text":"b\n"}"#,
    r#"{"kind":"tool.result","call":"b","outcome":"ok","output":"done"}"#,
    r#"{"kind":"tool.call","call":"c","name":"Bash","args":{"command":"cargo test"}}"#,
    r#"{"kind":"tool.result","call":"c","outcome":"failed","exit":101,"output":"running 2 tests\n1 failed\n"}"#,
    r#"{"kind":"tool.call","call":"d","name":"Write","args":{"file_path":"notes.md"}}"#,
    r#"{"kind":"fs.write","call":"d","path":"notes.md","mode":"644","text":"parser\n"}"#,
    r#"{"kind":"tool.result","call":"d","outcome":"ok","output":"done"}"#,
    r#"{"kind":"prompt","name":"user","text":"thanks"}"#,
];

/// The same in `/srv/two`, until the model says something else.
const LEXER: [&str; 16] = [
    r#"{"kind":"prompt","name":"user","text":"make the tests pass"}"#,
    r#"{"kind":"model.response","call":"n1","blocks":[{"type":"text","text":"I look around."}]}"#,
    r#"{"kind":"tool.call","call":"toolu_9876543210","name":"Bash","args":{"command":"cd /srv/two && ls"}}"#,
    r#"{"kind":"tool.result","call":"toolu_9876543210","outcome":"ok","exit":0,"output":"src\ntook 1.02s\n"}"#,
    r#"{"kind":"model.response","call":"n2","blocks":[{"type":"text","text":"The lexer is wrong."}]}"#,
    r#"{"kind":"tool.call","call":"a","name":"Read","title":"src/lex.rs","args":{"file_path":"/srv/two/src/lex.rs"}}"#,
    r#"{"kind":"tool.result","call":"a","outcome":"ok","output":"x"}"#,
    r#"{"kind":"tool.call","call":"b","name":"Edit","title":"src/lex.rs","args":{"file_path":"/srv/two/src/lex.rs","old_string":"x","new_string":"y"}}"#,
    r#"{"kind":"fs.write","call":"b","path":"src/lex.rs","mode":"644","text":"y\n"}"#,
    r#"{"kind":"tool.result","call":"b","outcome":"ok","output":"done"}"#,
    r#"{"kind":"tool.call","call":"c","name":"Bash","args":{"command":"cargo test"}}"#,
    r#"{"kind":"tool.result","call":"c","outcome":"ok","exit":0,"output":"running 2 tests\nall passed\n"}"#,
    r#"{"kind":"tool.call","call":"d","name":"Write","args":{"file_path":"notes.md"}}"#,
    r#"{"kind":"fs.write","call":"d","path":"notes.md","mode":"644","text":"lexer\n"}"#,
    r#"{"kind":"tool.result","call":"d","outcome":"ok","output":"done"}"#,
    r#"{"kind":"prompt","name":"user","text":"thanks"}"#,
];

/// A branch that leaves after the first command.
const REWIND: [&str; 3] = [
    r#"{"kind":"branch","branch":"b2","at":4,"why":"rewind"}"#,
    r#"{"kind":"prompt","branch":"b2","name":"user","text":"look at the lexer"}"#,
    r#"{"kind":"fs.write","branch":"b2","path":"src/lex.rs","mode":"644","text":"y\n"}"#,
];

fn put(world: &World, name: &str, root: &str, events: &[&str]) {
    let mut text = format!(r#"{{"seq":0,"kind":"tape","format":1,"id":"t","root":"{root}"}}"#);
    text.push('\n');
    for (seq, event) in (1..).zip(events) {
        let fields = event.strip_prefix('{').unwrap();
        let _ = writeln!(text, r#"{{"seq":{seq},"t":{seq}000,{fields}"#);
    }
    world.put(name, text);
}

fn world() -> World {
    let world = World::new(&[]);
    put(&world, "parser.jsonl", "/home/me/one", &PARSER);
    put(&world, "lexer.jsonl", "/srv/two", &LEXER);
    let rewound: Vec<&str> = PARSER.into_iter().chain(REWIND).collect();
    put(&world, "rewound.jsonl", "/home/me/one", &rewound);
    world
}

#[test]
fn two_runs_to_the_letter() {
    world().check_golden(
        "compare",
        &[
            "compare parser.jsonl lexer.jsonl",
            "compare parser.jsonl lexer.jsonl --json",
            "compare lexer.jsonl parser.jsonl",
            "compare rewound.jsonl@main:end @b2:end",
            "compare parser.jsonl parser.jsonl",
            "compare parser.jsonl@3 lexer.jsonl@3",
            "compare parser.jsonl@3 lexer.jsonl@5",
            "compare parser.jsonl lexer.jsonl@99",
            "compare parser.jsonl nowhere.jsonl",
            "compare parser.jsonl",
            "compare parser.jsonl lexer.jsonl --color always",
        ],
    );
}

/// What `--json` says of two runs.
fn compared(world: &World, left: &str, right: &str) -> (i32, Value) {
    let run = world.run(&["compare", left, right, "--json"]);
    assert_eq!(run.stderr(), "", "{left} {right}");
    (run.code(), serde_json::from_str(&run.stdout()).unwrap())
}

#[test]
fn what_differs_by_itself_is_no_difference() {
    let world = world();
    let elsewhere: Vec<String> = PARSER
        .iter()
        .map(|event| {
            event
                .replace("/home/me/one", "/tmp/two")
                .replace("0.31s", "7.5s")
                .replace("toolu_0123456789", "toolu_abcdefghij")
                .replace(r#"{"type":"thinking","text":"hm"},"#, "")
        })
        .collect();
    let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
    put(&world, "elsewhere.jsonl", "/tmp/two", &elsewhere);
    let (code, compared) = compared(&world, "parser.jsonl", "elsewhere.jsonl");
    assert_eq!((code, &compared["divergence"]), (0, &Value::Null));
    assert_eq!(compared["same"], 8);
}

#[test]
fn a_tape_that_ends_inside_a_step_is_the_same_as_far_as_it_goes() {
    let world = world();
    // The tape ends inside the second command, before its answer.
    put(&world, "cut.jsonl", "/home/me/one", PARSER.split_at(9).0);
    let (code, whole) = compared(&world, "cut.jsonl", "parser.jsonl@6");
    assert_eq!((code, &whole["divergence"]), (0, &Value::Null));
    // What the whole run did after it is a difference.
    let (code, whole) = compared(&world, "cut.jsonl", "parser.jsonl");
    assert_eq!((code, &whole["only_right"]), (1, &2.into()));
    assert_eq!(whole["divergence"]["left"], Value::Null);
}

#[test]
fn files_that_differ_though_no_step_does_are_a_difference() {
    let world = world();
    let base = |text: &str| {
        let seen = format!(r#"{{"kind":"fs.observe","path":"base","mode":"644","text":"{text}"}}"#);
        let prompt = r#"{"kind":"prompt","name":"user","text":"go"}"#;
        [prompt.to_owned(), seen]
    };
    for (name, text) in [("one.jsonl", "1"), ("two.jsonl", "2")] {
        let events = base(text);
        put(&world, name, "/w", &[&events[0], &events[1]]);
    }
    let (code, compared) = compared(&world, "one.jsonl", "two.jsonl");
    assert_eq!((code, &compared["divergence"]), (1, &Value::Null));
    assert_eq!(compared["files"][0]["path"], "base");
    assert_eq!(compared["files"][0]["change"], "M");
}
