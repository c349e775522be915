//! Turns of a model, kept as evaluations: what was recorded is data, and is had back as it was; an
//! answer is judged by the calls that are known.

use std::path::Path;
use std::process::Command;

use jukebox::model::{BlockKind, Body, Event, ModelBlock, Outcome};
use serde_json::{Value, json};

use super::cases::HOSTILE;
use super::world::{Told, World, all_of, call, demo, header, tape, tape_by};

fn prompt(text: &str) -> Event {
    Event::new(Body::Prompt {
        role: "user".to_owned(),
        text: text.to_owned(),
        attachments: Vec::new(),
    })
}

fn block(kind: BlockKind, text: &str) -> ModelBlock {
    ModelBlock {
        kind,
        text: text.to_owned(),
        call: None,
        data: Value::Null,
    }
}

fn answer(text: &str, call: &str, told: &Told<'_>) -> Event {
    response(vec![
        block(BlockKind::Thinking, "secret thoughts"),
        block(BlockKind::Text, text),
        ModelBlock {
            call: Some(call.to_owned()),
            data: told.arguments.clone(),
            ..block(BlockKind::ToolCall, told.name)
        },
    ])
}

fn response(blocks: Vec<ModelBlock>) -> Event {
    Event::new(Body::ModelResponse {
        model: None,
        blocks,
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

/// What is no good as a value of a template, or at the end of one.
const TEMPLATES: [&str; 4] = [
    "{{ toString }} {{constructor}} {{ message_1 }} {{message_2}} {{ env.HOME }} {{ 1 + 1 }}",
    "{% raw %} {% endraw %} {% include 'x' %} {# never closed {{{ {%- x -%}{{{{ [-] {[-]{ a }}",
    "\u{feff} \u{a0}\n  spaces at both ends \u{2028}\n\n",
    "file:///etc/hostname",
];

/// Reads the configuration as YAML, and renders the prompt as promptfoo does: a value is what
/// stands in its file, without the space around it; names in braces in it are looked for among
/// the values and what every object of JavaScript has; then the prompt is rendered, once.
const READ_BACK: &str = r"
import json, re, sys, yaml
top = sys.argv[1]
config = yaml.safe_load(open(top + '/promptfooconfig.yaml', encoding='utf-8'))
test, = config['tests']
named = lambda value: value.removeprefix('file://')
SPACE = '\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
INHERITED = ['toString', 'constructor', 'valueOf', 'hasOwnProperty', '__proto__']
texts = {name: open(top + '/' + named(value), newline='', encoding='utf-8').read().strip(SPACE)
         for name, value in test['vars'].items()}
for _ in range(5):
    for name, text in texts.items():
        found = re.search(r'\{\{\s*(\w+)\s*\}\}', text)
        if found and found[1] in texts:
            texts[name] = text.replace(found[0], texts[found[1]], 1)
        elif found and found[1] in INHERITED:
            texts[name] = text.replace(found[0], '[object Undefined]', 1)
def rendered(template):
    name, gone = re.fullmatch(r'''\{\{ (\w+) \| replace\('([^']*)', ''\) \}\}''', template).groups()
    return texts[name].replace(gone, '')
prompt, = config['prompts']
prompt = json.load(open(top + '/' + named(prompt), encoding='utf-8'))
print(json.dumps({'said': [[message['role'], rendered(message['content'])] for message in prompt],
                  'templates': [sign for sign in ['{{', '{%', '{#'] for text in texts.values() if sign in text],
                  'assert': test['assert'], 'name': test['description'], 'keys': sorted(config)}))
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
            HOSTILE.len() + TEMPLATES.len()
        );
        return;
    }
    let world = World::new();
    let texts = HOSTILE.into_iter().chain(TEMPLATES);
    for (number, text) in texts.enumerate() {
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
        assert_eq!(read["said"], json!([["user", text]]));
        // Nor would anything be rendered that is put into a text.
        assert_eq!(read["templates"], json!([]));
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
    println!("{} texts were read back", HOSTILE.len() + TEMPLATES.len());
}

#[test]
fn promptfoo_itself_says_what_was_recorded() {
    if !is_on_path("promptfoo") {
        println!("skipped: there is no promptfoo here");
        return;
    }
    let world = World::new();
    let texts = HOSTILE.into_iter().chain(TEMPLATES);
    let texts = texts.map(|text| text.replace("nobody-here", "nobody"));
    let texts: Vec<String> = texts.collect();
    let told = Told {
        name: "Edit",
        arguments: json!({"file_path": "a", "old_string": "x", "new_string": ""}),
        said: "no",
        exit: None,
        outcome: Outcome::Failed,
    };
    let said = texts
        .iter()
        .enumerate()
        .map(|(number, text)| match number % 2 {
            0 => prompt(text),
            _ => response(vec![block(BlockKind::Text, text)]),
        });
    let before: Vec<Event> = said.chain([answer("x", "c", &told)]).collect();
    tape(&world, &[("a", "")], &before, &told);
    let words = [
        "export",
        "run.jsonl@fail",
        "--as",
        "promptfoo",
        "-o",
        "case",
    ];
    let run = world.run(&words);
    assert_eq!(run.code, 0, "{}", run.error);
    let mut command = Command::new("promptfoo");
    let config = "case/promptfooconfig.yaml";
    world.settle(command.args(["eval", "--no-cache", "-c", config, "-o", "out.json"]));
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.env("PROMPTFOO_DISABLE_TELEMETRY", "1");
    command.env("PROMPTFOO_DISABLE_UPDATE", "1");
    // It says what it is asked.
    command.env("JUKEBOX_PROVIDER", "echo");
    let output = command.output().unwrap();
    let report = std::fs::read(world.path("out.json"));
    let report = report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stdout)));
    let report: Value = serde_json::from_slice(&report).unwrap();
    let echo = report["results"]["results"][0]["response"]["output"].as_str();
    let messages: Value = serde_json::from_str(echo.unwrap()).unwrap();
    let messages = messages.as_array().unwrap().iter();
    let echo: Vec<&str> = messages.map(|it| it["content"].as_str().unwrap()).collect();
    assert_eq!(echo, texts);
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
        String::from_utf8_lossy(&files[Path::new(&name)]).replace("[-]", "")
    };
    assert!(of(1).starts_with("With a discount of 10"), "{}", of(1));
    // Once, though the answer and the call itself tell of it.
    let asked = r#"{"tool":"Bash","arguments":{"command":"sh tests/run.sh"}}"#;
    assert_eq!(of(2).matches(asked).count(), 1, "{}", of(2));
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
    // What its next answer asked for, nobody altered.
    world.put(
        "answers.jsonl",
        r#"{"response":"And less.","calls":[{"name":"Edit","args":{"path":"src/cart.awk","old_string":"total < 100","new_string":"total < 90"}}]}"#,
    );
    let how = ["--response", "better.txt", "--then", "script:answers.jsonl"];
    let run = world.run(&[&["fork", &place, "-o", "two.jsonl"][..], &how].concat());
    assert!(run.code < 2, "{}", run.error);
    let run = world.run(&["export", "two.jsonl@16", "--as", "promptfoo", "-o", "two"]);
    assert_eq!(run.code, 0, "{}", run.error);
    let run = world.run(&["export", "two.jsonl@18", "--as", "promptfoo", "-o", "none"]);
    assert_eq!(run.code, 2, "{}", run.output);
    let why = "step 18 asked for no call that failed";
    assert!(run.error.contains(why), "{}", run.error);
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

#[test]
fn a_turn_is_that_of_its_agent() {
    let world = World::new();
    let failed = |old: &str| Told {
        name: "Edit",
        arguments: json!({"file_path": "a", "old_string": old, "new_string": ""}),
        said: "no",
        exit: None,
        outcome: Outcome::Failed,
    };
    let (own, other) = (failed("own"), failed("other"));
    let by_other = |mut event: Event| {
        event.head.agent = Some("a1".to_owned());
        event
    };
    let start = Event::new(Body::AgentStart {
        name: "explore".to_owned(),
    });
    let system = Event::new(Body::Prompt {
        role: "system".to_owned(),
        text: "What it is.".to_owned(),
        attachments: Vec::new(),
    });
    let mut events = vec![system, prompt("What the agent is asked.")];
    let told = [
        start,
        prompt("Another is asked."),
        answer("Another.", "s", &other),
    ];
    events.extend(told.map(by_other));
    events.extend(call("s", &other).map(by_other));
    events.push(answer("Its own.", "c", &own));
    events.push(by_other(response(vec![block(BlockKind::Text, "More.")])));
    events.extend(call("c", &own));
    tape_by(&world, header(), &[("a", "x")], &events);
    let run = world.run(&["export", "run.jsonl", "--as", "promptfoo", "-o", "case"]);
    assert_eq!(run.code, 0, "{}", run.error);
    let files = all_of(&world.path("case"));
    let calls: Value = serde_json::from_slice(&files[Path::new("calls.json")]).unwrap();
    let own = json!({"tool": "Edit", "arguments": own.arguments});
    assert_eq!(calls["must_not"], json!([own]));
    let said = files
        .iter()
        .filter(|(path, _)| path.starts_with("messages"));
    let said: Vec<&[u8]> = said.map(|(_, text)| text.as_slice()).collect();
    let asked = "[-]What the agent is asked.[-]".as_bytes();
    assert_eq!(said, ["[-]What it is.[-]".as_bytes(), asked]);
    let prompt: Value = serde_json::from_slice(&files[Path::new("prompt.json")]).unwrap();
    assert_eq!(
        (&prompt[0]["role"], &prompt[1]["role"]),
        (&json!("system"), &json!("user"))
    );
    // The turn of the other means what that asked for.
    let run = world.run(&["export", "run.jsonl@5", "--as", "promptfoo", "-o", "other"]);
    assert_eq!(run.code, 0, "{}", run.error);
    let calls = std::fs::read_to_string(world.path("other/calls.json")).unwrap();
    assert!(
        calls.contains("\"other\"") && !calls.contains("\"own\""),
        "{calls}"
    );
}
