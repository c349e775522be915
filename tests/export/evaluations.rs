//! Turns of a model, kept as evaluations: what was recorded is data, and is had back as it was; an
//! answer is judged by the calls that are known.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use jukebox::model::{BlockKind, Body, Event, ModelBlock, Outcome};
use serde_json::{Value, json};

use super::cases::HOSTILE;
use super::world::{Told, World, all_of, demo, tape};

fn prompt(text: &str) -> Event {
    Event::new(Body::Prompt {
        role: "user".to_owned(),
        text: text.to_owned(),
        attachments: Vec::new(),
    })
}

fn answer(text: &str, call: &str, told: &Told<'_>) -> Event {
    let block = |kind, text: &str| ModelBlock {
        kind,
        text: text.to_owned(),
        call: None,
        data: Value::Null,
    };
    Event::new(Body::ModelResponse {
        model: None,
        blocks: vec![
            block(BlockKind::Thinking, "secret thoughts"),
            block(BlockKind::Text, text),
            ModelBlock {
                call: Some(call.to_owned()),
                data: told.arguments.clone(),
                ..block(BlockKind::ToolCall, told.name)
            },
        ],
        stop: None,
        usage: None,
        outcome: Outcome::Ok,
        duration: None,
    })
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&path);
    found.any(|directory| directory.join(program).is_file())
}

/// What a program says to these words, in the world; it must end well.
fn said(world: &World, program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    world.settle(command.args(words));
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Reads the configuration as YAML, and each text as it stands in the file that it names.
const READ_BACK: &str = "
import json, sys, yaml
top = sys.argv[1]
config = yaml.safe_load(open(top + '/promptfooconfig.yaml', encoding='utf-8'))
test, = config['tests']
named = lambda value: value.removeprefix('file://')
texts = {name: open(top + '/' + named(value), newline='', encoding='utf-8').read()
         for name, value in test['vars'].items()}
prompt, = config['prompts']
prompt = json.load(open(top + '/' + named(prompt), encoding='utf-8'))
print(json.dumps({'texts': texts, 'prompt': prompt, 'assert': test['assert'],
                  'name': test['description'], 'keys': sorted(config)}))
";

#[test]
fn whatever_was_recorded_is_had_back() {
    let has_yaml = is_on_path("python3")
        && Command::new("python3")
            .args(["-c", "import yaml"])
            .status()
            .unwrap()
            .success();
    if !has_yaml {
        println!(
            "skipped: python3 has no yaml here; {} texts are not read back",
            HOSTILE.len()
        );
        return;
    }
    let world = World::new();
    for (number, text) in HOSTILE.into_iter().enumerate() {
        // Places are others in an evaluation: that is tested elsewhere.
        let text = text.replace("nobody-here", "nobody");
        let told = Told {
            name: "Edit",
            arguments: json!({"file_path": "a", "old_string": text, "new_string": "", &text: [text]}),
            said: "no",
            exit: None,
            outcome: Outcome::Failed,
        };
        let before = [prompt(&text), answer(&text, "c", &told)];
        tape(&world, &[("a", &text)], &before, &told);
        let place = format!("case-{number}");
        let words = [
            "export",
            "run.jsonl@fail",
            "--as",
            "promptfoo",
            "-o",
            &place,
        ];
        let run = world.run(&words);
        assert_eq!(run.code, 0, "{text:?}: {}", run.error);
        let read = said(&world, "python3", &["-c", READ_BACK, &place]);
        let read: Value = serde_json::from_str(&read).unwrap();
        let texts: BTreeMap<String, String> =
            serde_json::from_value(read["texts"].clone()).unwrap();
        let content = read["prompt"][0]["content"].as_str().unwrap();
        let name = content
            .strip_prefix("{{ ")
            .unwrap()
            .strip_suffix(" }}")
            .unwrap();
        assert_eq!(texts[name], text);
        assert_eq!(texts.len(), 1);
        // No text names a value, so that none is put into another.
        assert!(!texts.values().any(|text| text.contains(name)));
        assert_eq!(read["prompt"][0]["role"], "user");
        assert_eq!(
            read["keys"],
            json!(["description", "prompts", "providers", "tests"])
        );
        assert_eq!(
            read["assert"],
            json!([{"type": "javascript", "value": "file://assert.cjs"}])
        );
        let slug = read["name"].as_str().unwrap();
        assert!(
            slug.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
        let files = all_of(&world.path(&place));
        let calls: Value = serde_json::from_slice(&files[Path::new("calls.json")]).unwrap();
        assert_eq!(
            calls,
            json!({"must_not": [{"tool": "Edit", "arguments": told.arguments}], "must": []})
        );
        for file in [
            "promptfooconfig.yaml",
            "prompt.json",
            "assert.cjs",
            "README.md",
        ] {
            let held = String::from_utf8_lossy(&files[Path::new(file)]).into_owned();
            for line in text.lines().filter(|line| line.len() > 8) {
                assert!(!held.contains(line), "{file}: {line}");
            }
        }
    }
    println!("{} texts were read back", HOSTILE.len());
}

/// Judges each answer by what lies in a directory.
fn judged(world: &World, place: &str, answers: &[&str]) -> Vec<bool> {
    let script = "const judge = require(process.cwd() + '/' + process.argv[1] + '/assert.cjs');
        for (const answer of process.argv.slice(2)) console.log(judge(answer).pass);";
    let words = [&["-e", script, place][..], answers].concat();
    said(world, "node", &words)
        .lines()
        .map(|line| line == "true")
        .collect()
}

#[test]
fn an_answer_is_judged_by_the_calls_that_are_known() {
    let world = World::new();
    let place = format!("{}@19", demo("bug-hunt.jsonl"));
    let run = world.run(&["export", &place, "--as", "promptfoo", "-o", "case"]);
    assert_eq!(run.code, 0, "{}", run.error);
    assert!(run.output.contains("promptfoo eval"), "{}", run.output);
    let files = all_of(&world.path("case"));
    let calls: Value = serde_json::from_slice(&files[Path::new("calls.json")]).unwrap();
    let failed = calls["must_not"][0].clone();
    assert_eq!(failed["tool"], "Edit");
    // What was said before, and nothing of the turn itself; no thinking.
    let of = |number: u32| {
        let name = format!("messages/{number:04}.txt");
        String::from_utf8_lossy(&files[Path::new(&name)]).into_owned()
    };
    assert!(of(1).starts_with("With a discount of 10"), "{}", of(1));
    assert!(of(2).contains(r#"{"tool":"Bash","arguments":{"command":"sh tests/run.sh"}}"#));
    assert!(
        of(3).starts_with("[failed, exit code 1]\nok    a plain cart"),
        "{}",
        of(3)
    );
    let all: String = files
        .values()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .collect();
    assert!(!all.contains("I try to put it back"));
    if !is_on_path("node") {
        println!("skipped: there is no node here; 7 answers are not judged");
        return;
    }
    let again = failed.to_string();
    let arguments = failed["arguments"].to_string();
    let openai =
        json!([{"type": "function", "function": {"name": "Edit", "arguments": arguments}}]);
    let anthropic =
        json!({"type": "tool_use", "id": "x", "name": "Edit", "input": failed["arguments"]});
    let other = json!({"tool": "Edit", "arguments": {"path": "src/cart.awk"}});
    let answers = [
        format!("I do it again.\n{again}\n"),
        openai.to_string(),
        format!("Again: {{ not json }}\n\n{anthropic}"),
        format!("I write it anew. {other}"),
        "I look at the file first.".to_owned(),
        String::new(),
        "} { \" {\"tool\": {}".to_owned(),
    ];
    let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let expected = [false, false, false, true, true, false, true];
    assert_eq!(judged(&world, "case", &answers), expected);
}

#[test]
fn what_a_fork_did_right_is_wanted() {
    let world = World::new();
    let better = "== text\nOnly where it is asked for.\n\n== call Edit\n{\"path\": \"src/cart.awk\", \
                  \"old_string\": \"if (total < 100) total\", \"new_string\": \"if (shipping && total < 100) total\"}\n";
    world.put("better.txt", better);
    let place = format!("{}@16", demo("bug-hunt.jsonl"));
    let words = [
        "fork",
        &place,
        "--response",
        "better.txt",
        "-o",
        "fork.jsonl",
    ];
    let run = world.run(&words);
    assert!(run.code < 2, "{}", run.error);
    let run = world.run(&["export", "fork.jsonl@16", "--as", "promptfoo", "-o", "case"]);
    assert_eq!(run.code, 0, "{}", run.error);
    let files = all_of(&world.path("case"));
    let calls: Value = serde_json::from_slice(&files[Path::new("calls.json")]).unwrap();
    assert_eq!(calls["must_not"], json!([]));
    assert_eq!(
        calls["must"][0]["arguments"]["old_string"],
        "if (total < 100) total"
    );
    if is_on_path("node") {
        let right = calls["must"][0].to_string();
        let answers = [right.as_str(), "I would rather not."];
        assert_eq!(judged(&world, "case", &answers), [true, false]);
    }
    // A turn of which nothing is known to be wrong or right is no evaluation.
    let place = format!("{}@4", demo("bug-hunt.jsonl"));
    let run = world.run(&["export", &place, "--as", "promptfoo", "-o", "none"]);
    assert_eq!(run.code, 2);
    assert!(
        run.error.contains("asked for no call that failed"),
        "{}",
        run.error
    );
    assert!(!world.path("none").exists());
}
