//! Forks, as people make them: what is run again and what is not, where each stops, and that the
//! run they leave is not touched.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::commands;
use super::world::{World, project};

/// A tape of these events, each with its `seq`.
pub(super) fn tape(world: &World, events: &[Value]) {
    let header = json!({"seq": 0, "kind": "tape", "format": 1, "root": "/work",
        "id": "018f3a5c-7e00-7000-8000-0000000000aa"});
    let mut text = format!("{header}\n");
    for (index, event) in events.iter().enumerate() {
        let mut event = event.clone();
        event["seq"] = json!(index + 1);
        text.push_str(&event.to_string());
        text.push('\n');
    }
    world.put("run.jsonl", text);
}

pub(super) fn said(call: &str, text: &str, calls: &[(&str, &str, Value)]) -> Value {
    let mut blocks = vec![json!({"type": "text", "text": text})];
    for (id, name, args) in calls {
        blocks.push(json!({"type": "tool_call", "name": name, "call": id, "args": args}));
    }
    json!({"kind": "model.response", "call": call, "blocks": blocks, "outcome": "ok"})
}

pub(super) fn called(id: &str, name: &str, args: Value) -> Value {
    json!({"kind": "tool.call", "call": id, "name": name, "args": args})
}

pub(super) fn returned(id: &str, output: &str) -> Value {
    json!({"kind": "tool.result", "call": id, "outcome": "ok", "output": output})
}

pub(super) fn wrote(id: &str, path: &str, text: &str) -> Value {
    let hash = blake3::hash(text.as_bytes());
    json!({"kind": "fs.write", "call": id, "path": path, "mode": "644",
        "blob": format!("b3:{hash}"), "len": text.len(), "enc": "text", "text": text})
}

/// A run of seven steps: A is written, a person is asked, what they say is written, and it ends.
fn what_if(world: &World) {
    tape(
        world,
        &[
            json!({"kind": "snapshot", "reason": "start", "blob": format!("b3:{}", blake3::hash(b"")),
                "dirs": {format!("b3:{}", blake3::hash(b"")): ""}}),
            json!({"kind": "prompt", "name": "user", "text": "go"}),
            said(
                "m1",
                "use A",
                &[(
                    "c1",
                    "Write",
                    json!({"file_path": "/work/f", "content": "A"}),
                )],
            ),
            called(
                "c1",
                "Write",
                json!({"file_path": "/work/f", "content": "A"}),
            ),
            wrote("c1", "f", "A"),
            returned("c1", "written"),
            said(
                "m2",
                "ask",
                &[("c2", "AskUserQuestion", json!({"question": "on?"}))],
            ),
            called("c2", "AskUserQuestion", json!({"question": "on?"})),
            returned("c2", "yes"),
            said(
                "m3",
                "write",
                &[(
                    "c3",
                    "Write",
                    json!({"file_path": "/work/g", "content": "yes"}),
                )],
            ),
            called(
                "c3",
                "Write",
                json!({"file_path": "/work/g", "content": "yes"}),
            ),
            wrote("c3", "g", "yes"),
            returned("c3", "written"),
            said("m4", "done", &[]),
            json!({"kind": "end", "outcome": "ok"}),
        ],
    );
}

/// Makes a fork; what it says of itself.
#[track_caller]
pub(super) fn fork(world: &World, words: &str) -> Value {
    let run = world.type_in(&format!("fork run.jsonl{words} --json"));
    assert_eq!(run.code(), 0, "{}", run.stderr());
    serde_json::from_str(&run.stdout()).unwrap()
}

pub(super) fn vias(fork: &Value) -> Vec<&str> {
    let steps = fork["steps"].as_array().unwrap().iter();
    steps.map(|step| step["via"].as_str().unwrap()).collect()
}

fn hash(world: &World) -> blake3::Hash {
    blake3::hash(&fs::read(world.path("run.jsonl")).unwrap())
}

const USE_B: &str =
    "== text\nuse B\n\n== call Write\n{\"file_path\": \"/work/f\", \"content\": \"B\"}\n";

#[test]
fn another_answer_takes_the_place_of_the_models_and_nothing_behind_it_comes_in() {
    let world = World::new(&[]);
    what_if(&world);
    let before = hash(&world);
    world.put("b.txt", USE_B);
    let made = fork(&world, "@2 --response b.txt -o b.jsonl");
    assert_eq!(vias(&made), ["edit", "rerun", "unknown"], "{made}");
    assert_eq!(made["stopped"]["why"], "model");
    let listed = world.type_in("forks b.jsonl").stdout();
    let said = "1 edited, 1 re-run, 1 not known; then stop; stopped: the model must speak here";
    assert!(listed.contains(said), "{listed}");
    assert_eq!(hash(&world), before, "the run is not touched");
    assert_eq!(world.type_in("cat b.jsonl f").stdout(), "B");
    assert_eq!(
        world.type_in("cat b.jsonl g").code(),
        1,
        "g is of later steps"
    );
    let size = |name: &str| fs::metadata(world.path(name)).unwrap().len();
    assert!(size("b.jsonl") < 4096, "only the difference is stored");
    let checked = world.type_in("verify b.jsonl");
    assert_eq!(checked.code(), 0, "{}", checked.stdout());
    let log = world.type_in("log b.jsonl").stdout();
    assert_eq!(log.lines().count(), 4, "{log}");
}

#[test]
fn a_person_who_was_asked_before_has_not_answered_now() {
    let world = World::new(&[]);
    what_if(&world);
    world.put("b.txt", USE_B);
    let answers = [
        json!({"response": "ask", "calls": [{"name": "AskUserQuestion", "args": {"question": "on?"}}]}),
        json!({"result": "no"}),
        json!({"response": "then not"}),
    ];
    let script = answers.map(|answer| answer.to_string()).join("\n");
    world.put("whole.jsonl", &script);
    let first: Vec<&str> = script.lines().take(1).collect();
    world.put("short.jsonl", first.join("\n"));

    let made = fork(
        &world,
        "@2 --response b.txt --then script:short.jsonl -o short-fork.jsonl",
    );
    assert_eq!(
        vias(&made),
        ["edit", "rerun", "script", "unknown"],
        "{made}"
    );
    assert_eq!(made["stopped"]["why"], "not-answered");

    let made = fork(
        &world,
        "@2 --response b.txt --then script:whole.jsonl -o whole-fork.jsonl",
    );
    assert_eq!(
        vias(&made),
        ["edit", "rerun", "script", "script", "script"],
        "{made}"
    );
    assert_eq!(made["stopped"]["why"], "turn-ended");

    let made = fork(
        &world,
        "@2 --response b.txt --then assume-recorded -o stale.jsonl",
    );
    let expected = [
        "edit", "rerun", "stale", "stale", "stale", "recorded", "stale",
    ];
    assert_eq!(vias(&made), expected, "{made}");
    assert_eq!(made["stopped"]["why"], "end-of-tape");
    assert_eq!(world.type_in("cat stale.jsonl g").stdout(), "yes");
    assert_eq!(world.type_in("cat stale.jsonl f").stdout(), "B");
}

#[test]
fn a_file_that_no_answer_depends_on_changes_no_answer() {
    let world = World::new(&[]);
    what_if(&world);
    world.put("other", "other");
    let made = fork(&world, "@3 --file notes=other -o fork.jsonl");
    // The model saw nothing of it, and may answer as recorded; a person may have seen anything.
    assert_eq!(vias(&made), ["edit", "recorded", "unknown"], "{made}");
    assert_eq!(made["stopped"]["why"], "not-answered");
    assert_eq!(world.type_in("cat fork.jsonl notes").stdout(), "other");
    // What was there when the person was asked is there now.
    let made = fork(&world, "@5 --file notes=other -o late.jsonl");
    let expected = ["edit", "recorded", "recorded", "recorded"];
    assert_eq!(vias(&made), expected, "{made}");
    assert_eq!(made["stopped"]["why"], "end-of-tape");
    assert_eq!(world.type_in("cat late.jsonl g").stdout(), "yes");
}

#[test]
fn a_fork_can_be_made_at_the_first_and_at_the_last_step_and_of_a_fork() {
    let world = World::new(&[]);
    what_if(&world);
    world.put("prompt.txt", "stay");
    let first = fork(&world, "@1 --prompt prompt.txt -o first.jsonl");
    assert_eq!(vias(&first), ["edit", "unknown"], "{first}");
    world.put("words.txt", "all done");
    let last = fork(&world, "@-1 --response words.txt -o last.jsonl");
    assert_eq!(vias(&last), ["edit"], "{last}");
    assert_eq!(last["stopped"]["why"], "turn-ended");
    world.put("b.txt", USE_B);
    fork(&world, "@2 --response b.txt -o b.jsonl");
    world.put("refused.txt", "== result refused\nno\n");
    let run = world.type_in("fork b.jsonl@3 --result refused.txt -o bb.jsonl --json");
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let made: Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(vias(&made), ["edit", "unknown"], "{made}");
    assert_eq!(
        world.type_in("cat bb.jsonl f").stdout(),
        "B",
        "what it did before stays"
    );
    assert_eq!(world.type_in("verify bb.jsonl").code(), 0);
}

#[test]
fn a_fork_inside_a_sub_agent_goes_on_behind_its_step() {
    let world = World::new(&[]);
    let of_agent = |mut event: Value| {
        event["agent"] = json!("a1");
        event
    };
    let writes = |id: &str, text: &str| {
        let args = json!({"file_path": "/work/h", "content": text});
        [
            of_agent(said(id, text, &[(id, "Write", args.clone())])),
            of_agent(called(id, "Write", args)),
            of_agent(wrote(id, "h", text)),
            of_agent(returned(id, "written")),
        ]
    };
    let task = json!({"prompt": "write h"});
    let mut events = vec![
        json!({"kind": "prompt", "name": "user", "text": "go"}),
        said("m1", "I have it done", &[("c6", "Task", task.clone())]),
        called("c6", "Task", task),
        json!({"kind": "agent.start", "agent": "a1", "call": "c6", "name": "writer"}),
    ];
    events.extend(writes("w1", "1"));
    events.extend(writes("w2", "2"));
    events.extend([
        json!({"kind": "agent.end", "agent": "a1", "call": "c6", "outcome": "ok"}),
        returned("c6", "done"),
        said("m2", "all done", &[]),
    ]);
    tape(&world, &events);
    world.put("other", "other");
    // Steps: the prompt, the answer, the task, and in it 4 and 5 that write 1, 6 and 7 that write 2.
    let made = fork(&world, "@5 --file notes=other -o fork.jsonl");
    let expected = ["edit", "recorded", "recorded", "recorded", "recorded"];
    assert_eq!(vias(&made), expected, "{made}");
    assert_eq!(world.type_in("cat fork.jsonl@5 h").stdout(), "1");
    assert_eq!(world.type_in("cat fork.jsonl h").stdout(), "2");
    // What the agent saw differs: it would have to speak, and its task has no answer.
    world.put("full.txt", "== result failed\nthe disk is full\n");
    let made = fork(&world, "@5 --result full.txt -o full.jsonl");
    assert_eq!(vias(&made), ["edit", "unknown"], "{made}");
}

#[test]
fn a_fork_can_share_nothing_but_what_the_header_says() {
    let world = World::new(&[]);
    tape(
        &world,
        &[
            json!({"kind": "prompt", "name": "user", "text": "go"}),
            said("m1", "yes", &[]),
        ],
    );
    world.put("prompt.txt", "stay");
    let made = fork(&world, "@1 --prompt prompt.txt -o fork.jsonl");
    assert_eq!(vias(&made), ["edit", "unknown"], "{made}");
    assert_eq!(world.type_in("verify fork.jsonl").code(), 0);
}

#[test]
fn a_run_that_cannot_be_written_can_be_forked() {
    let world = World::new(&[]);
    what_if(&world);
    world.put("b.txt", USE_B);
    fs::set_permissions(world.path("run.jsonl"), Permissions::from_mode(0o400)).unwrap();
    let (one, two) = (
        fork(&world, "@2 --response b.txt"),
        fork(&world, "@2 --response b.txt"),
    );
    assert_ne!(one["fork"], two["fork"], "two forks are two files");
    let taken = world.type_in("fork run.jsonl@2 --response b.txt -o b.txt");
    assert_eq!(taken.code(), 3, "{}", taken.stderr());
    assert_eq!(fs::read_to_string(world.path("b.txt")).unwrap(), USE_B);
}

#[test]
fn nothing_changed_and_a_mistake_make_no_fork() {
    let world = World::new(&[]);
    what_if(&world);
    let shown = world.type_in("fork run.jsonl@2 --show");
    world.put("same.txt", shown.stdout());
    let same = world.type_in("fork run.jsonl@2 --response same.txt -o x.jsonl");
    assert_eq!(same.code(), 0, "{}", same.stderr());
    assert!(
        same.stderr().contains("nothing was changed"),
        "{}",
        same.stderr()
    );
    world.put(
        "wrong.txt",
        "== text\nx\n\n== call Write\n{\"file_path\": }\n",
    );
    world.put("line.txt", "{\"respond\":\"x\"}");
    for (words, expected) in [
        (
            "@2 --response wrong.txt",
            "wrong.txt: line 5, column 15: no JSON",
        ),
        (
            "@2 --result same.txt",
            "step 2 has no result but a response",
        ),
        ("@0 --response same.txt", "before the first step"),
        ("@2 --response missing.txt", "could not be read"),
        (
            "@2 --response wrong.txt --then script:line.txt",
            "line.txt: line 1: no answer",
        ),
        (
            "@2 --response wrong.txt --then live",
            "`live` is no way to go on",
        ),
        ("@2 --file notes", "`notes` names no content"),
        (
            "@2 --file notes=same.txt --volatile dates",
            "`dates` names no volatile part",
        ),
    ] {
        let run = world.type_in(&format!("fork run.jsonl{words} -o x.jsonl"));
        assert_eq!(run.code(), 2, "{words}: {}", run.stderr());
        assert!(run.stderr().contains(expected), "{words}: {}", run.stderr());
        assert_eq!(run.stderr().lines().count(), 1, "{}", run.stderr());
    }
    assert!(!world.path("x.jsonl").exists());
}

#[test]
fn a_dry_run_says_what_would_run_and_runs_nothing() {
    let world = World::new(&[]);
    what_if(&world);
    world.put(
        "b.txt",
        "== call Write\n{\"file_path\": \"/work/f\", \"content\": \"A\"}\n\n== call Bash\n{\"command\": \
         \"true\"}\n\n== call WebFetch\n{\"url\": \"http://localhost\"}\n",
    );
    let run = world.type_in("fork run.jsonl@2 --response b.txt --dry-run --json -o x.jsonl");
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let plan: Value = serde_json::from_str(&run.stdout()).unwrap();
    let calls = plan["plan"]["calls"].as_array().unwrap().iter();
    let hows: Vec<&str> = calls.map(|call| call["how"].as_str().unwrap()).collect();
    assert_eq!(hows, ["recorded", "sandbox", "nobody"]);
    let warned = run.stderr();
    assert!(
        warned.contains("line 4: no call of Bash is on this tape"),
        "{warned}"
    );
    assert!(!world.path("x.jsonl").exists());
}

#[test]
fn a_command_runs_once_where_the_fork_asks_for_it_and_never_before() {
    let Some(world) = commands::world() else {
        return;
    };
    let counted = "echo ran >> /tmp/count; wc -l < /tmp/count";
    let bash = |id: &str| called(id, "Bash", json!({"command": counted}));
    let ask = |id| [(id, "Bash", json!({"command": counted}))];
    let empty = format!("b3:{}", blake3::hash(b""));
    tape(
        &world,
        &[
            json!({"kind": "snapshot", "reason": "start", "blob": empty, "dirs": {empty.clone(): ""}}),
            json!({"kind": "prompt", "name": "user", "text": "count"}),
            said("m1", "one", &ask("c1")),
            bash("c1"),
            returned("c1", "1\n"),
            said("m2", "two", &ask("c2")),
            bash("c2"),
            // An answer that would be wrong for any run but the recorded one.
            returned("c2", "poisoned\n"),
            said("m3", "done", &[]),
        ],
    );
    world.put("file", "x");
    // Behind the first call a file is another: the second one sees it, and has to run.
    let made = fork(&world, "@3 --file seen=file -o fork.jsonl");
    assert_eq!(
        vias(&made),
        ["edit", "recorded", "rerun", "unknown"],
        "{made}"
    );
    let shown = world.type_in("show fork.jsonl@6").stdout();
    assert!(
        shown.contains("\n1\n") && !shown.contains("poisoned"),
        "{shown}"
    );
    // With no file changed, the same call is answered by the tape: nothing runs.
    let edit = said("m2", "again", &ask("c2"));
    let document = format!(
        "== text\nagain\n\n== call Bash\n{}\n",
        edit["blocks"][1]["args"]
    );
    world.put("again.txt", document);
    let made = fork(&world, "@4 --response again.txt -o again.jsonl");
    assert_eq!(vias(&made), ["edit", "recorded", "unknown"], "{made}");
}

#[test]
fn the_tests_pass_in_a_fork_of_the_demo_where_the_run_failed() {
    let Some(world) = commands::world() else {
        return;
    };
    let demo = project().join("demo-tapes/bug-hunt.jsonl");
    fs::copy(demo, world.path("run.jsonl")).unwrap();
    world.put(
        "fix.txt",
        "== text\nOnly where it is asked for.\n\n== call Edit\n{\"path\": \"src/cart.awk\", \
         \"old_string\": \"if (total < 100) total\", \"new_string\": \"if (shipping && total < 100) \
         total\"}\n\n== call Bash\n{\"command\": \"sh tests/run.sh\"}\n",
    );
    // The answer that says what the edit before it had forgotten.
    let log = world.type_in("log run.jsonl --json").stdout();
    let step = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|step| step["kind"] == "model" && step["title"].to_string().contains("must depend"))
        .and_then(|step| step["step"].as_u64())
        .unwrap();
    let made = fork(&world, &format!("@{step} --response fix.txt -o fork.jsonl"));
    assert_eq!(vias(&made), ["edit", "rerun", "rerun", "unknown"], "{made}");
    let outcomes: Vec<&str> = made["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["ok", "ok", "ok", "pending"]);
    let show = |tape: &str| {
        let words = format!("show {tape}@{}", step + 2);
        world.type_in(&words).stdout()
    };
    let (now, then) = (show("fork.jsonl"), show("run.jsonl"));
    assert!(now.contains("\n0 failed"), "{now}");
    assert!(
        then.contains(" failed") && !then.contains("\n0 failed"),
        "{then}"
    );
}
