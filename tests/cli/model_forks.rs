//! Forks that a configured model goes on with: what it is sent, what comes of its answers, and
//! that nothing is sent but to whom it was named, and no key is kept.

use std::fs;
use std::path::Path;

use jukebox::model::{
    BlobHash, BlockKind, Body, Content, Event, FileChange, Header, HttpFrame, ModelBlock, Outcome,
    TapePath,
};
use jukebox::tape::{Recorder, RecorderOptions, http_event};
use serde_json::{Value, json};

use super::dialects::{APIS, Api, told, write};
use super::endpoint::{Endpoint, answer};
use super::world::{Run, World};

/// A key that no rule would know by its looks.
const KEY: &str = "violet-mountain-42-K";

fn block(kind: BlockKind, text: &str, call: Option<&str>, data: Value) -> ModelBlock {
    ModelBlock {
        kind,
        text: text.to_owned(),
        call: call.map(str::to_owned),
        data,
    }
}

fn result(output: &str) -> Body {
    Body::ToolResult {
        outcome: Outcome::Ok,
        exit: None,
        output: output.to_owned(),
        duration: None,
        attachments: Vec::new(),
        detail: Value::Null,
    }
}

/// A turn of a model, as it is recorded: the events of its exchange.
fn turn(api: Api, call: &str, turns: &Value, blocks: Vec<ModelBlock>) -> Vec<Event> {
    let request = api.request(turns).to_string().into_bytes();
    let hash = BlobHash::of(&request);
    let asked = HttpFrame::Request {
        api: api.company().to_owned(),
        method: "POST".to_owned(),
        path: api.path().to_owned(),
        headers: vec![
            ("anthropic-beta".to_owned(), "b-1".to_owned()),
            ("user-agent".to_owned(), "agent/1".to_owned()),
        ],
        body: Some(hash),
    };
    let answered = HttpFrame::Answer {
        status: 200,
        headers: Vec::new(),
    };
    vec![
        Event::new(Body::Blob(Content::Bytes(request.into()))).in_call(call),
        Event::new(Body::ModelRequest {
            model: Some("old".to_owned()),
            request: Some(hash),
            added: turns.clone(),
        })
        .in_call(call),
        http_event(call, &asked),
        http_event(call, &answered),
        Event::new(Body::ModelResponse {
            model: Some("old".to_owned()),
            blocks,
            stop: None,
            usage: None,
            outcome: Outcome::Ok,
            duration: None,
        })
        .in_call(call),
        http_event(call, &HttpFrame::End { cut: None }),
    ]
}

/// A run of which the model's turns are recorded: A is written, and it is done.
fn world(api: Api) -> World {
    let done = vec![block(BlockKind::Text, "done", None, Value::Null)];
    world_with(api, turn(api, "m2", &second(), done))
}

/// What the agent asks when A is written.
fn second() -> Value {
    json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": "…"}])
}

/// A call of a tool and what it returned, as they are recorded.
fn called(call: &str, name: &str, arguments: Value, more: Vec<Body>) -> Vec<Event> {
    let name = name.to_owned();
    let first = Body::ToolCall { name, arguments };
    let bodies = std::iter::once(first).chain(more);
    bodies.map(|body| Event::new(body).in_call(call)).collect()
}

/// The same, with these events when A is written.
fn world_with(api: Api, behind: Vec<Event>) -> World {
    let world = World::new(&[]);
    let header = Header {
        root: Some("/work".to_owned()),
        ..Header::default()
    };
    let options = RecorderOptions::default();
    let mut recorder = Recorder::create(&world.path("run.jsonl"), header, options).unwrap();
    let first = json!([{"role": "user", "content": "go"}]);
    let arguments = json!({"file_path": "/work/f", "content": "A"});
    let calls = vec![
        block(BlockKind::Text, "use A", None, Value::Null),
        block(BlockKind::ToolCall, "Write", Some("c1"), arguments.clone()),
    ];
    let mut events = turn(api, "m1", &first, calls);
    let file = FileChange::write(TapePath::new("f").unwrap(), *b"A");
    let written = vec![Body::File(file), result("written")];
    events.extend(called("c1", "Write", arguments, written));
    for event in events.into_iter().chain(behind) {
        recorder.append(event).unwrap();
    }
    recorder.close(Outcome::Ok).unwrap();
    world.put(
        "b.txt",
        "== text\nuse B\n\n== call Write\n{\"file_path\": \"/work/f\", \"content\": \"B\"}\n",
    );
    world
}

/// Declares the model `live` at this endpoint.
fn declare(world: &World, api: Api, address: &str, more: &str) {
    let (word, known) = (api.word(), "key_env = \"LIVE\"\nmodel = \"m-live\"");
    let text = format!("[models.live]\napi = \"{word}\"\nurl = \"{address}\"\n{known}\n{more}");
    world.put("../home/config/jukebox/jukebox.toml", text);
}

fn fork(world: &World, words: &str) -> Run {
    let mut program = world.program();
    program.env("LIVE", KEY);
    program.args(["fork"]).args(words.split_whitespace());
    Run::new(program.output().unwrap())
}

const EDITED: &str = "run.jsonl@1 --response b.txt -o new.jsonl --then model:live";

#[track_caller]
fn made(run: &Run) -> Value {
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert!(!run.stdout().contains(KEY), "{}", run.stdout());
    serde_json::from_str(&run.stdout()).unwrap()
}

fn vias(fork: &Value) -> Vec<&str> {
    let steps = fork["steps"].as_array().unwrap().iter();
    steps.map(|step| step["via"].as_str().unwrap()).collect()
}

/// The bodies that an endpoint was sent.
fn asked(endpoint: &Endpoint) -> Vec<Value> {
    let asked = endpoint.asked.lock().unwrap();
    let bodies = asked.iter().inspect(|message| assert!(message.is_whole));
    bodies
        .map(|message| serde_json::from_str(&message.body()).unwrap())
        .collect()
}

/// No file below a directory has these bytes in it.
#[track_caller]
fn check_nowhere(directory: &Path, text: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_nowhere(&path, text);
        } else if let Ok(bytes) = fs::read(&path) {
            let mut windows = bytes.windows(text.len());
            assert!(
                !windows.any(|it| it == text.as_bytes()),
                "{}",
                path.display()
            );
        }
    }
}

/// What the altered answer and its result are in the next request.
fn behind_the_edit(api: Api) -> Value {
    let input = json!({"file_path": "/work/f", "content": "B"});
    let output = "The file /work/f has been updated successfully.";
    match api {
        Api::Messages => json!([
            {"role": "assistant", "content": [{"type": "text", "text": "use B"},
                {"type": "tool_use", "id": "ID", "name": "Write", "input": input}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "ID",
                "content": output, "is_error": false}]},
        ]),
        Api::Chat => json!([
            {"role": "assistant", "content": "use B", "tool_calls": [{"id": "ID",
                "type": "function",
                "function": {"name": "Write", "arguments": input.to_string()}}]},
            {"role": "tool", "tool_call_id": "ID", "content": output},
        ]),
        Api::Responses => json!([
            {"type": "message", "role": "assistant", "content": [{"type": "output_text",
                "text": "use B", "annotations": []}]},
            {"type": "function_call", "call_id": "ID", "name": "Write",
                "arguments": input.to_string()},
            {"type": "function_call_output", "call_id": "ID", "output": output},
        ]),
    }
}

#[test]
fn a_model_goes_on_in_its_own_words_until_it_calls_nothing() {
    for (api, is_stream) in APIS.iter().flat_map(|api| [(*api, false), (*api, true)]) {
        let world = world(api);
        let before = fs::read(world.path("run.jsonl")).unwrap();
        let endpoint = Endpoint::saying(vec![
            told(api, is_stream, "now g", &[write("l1", "g", "live")]),
            told(api, is_stream, "all done", &[]),
        ]);
        let stream = format!("stream = {is_stream}\nheaders = {{ x-mine = \"h-1\" }}");
        declare(&world, api, &endpoint.address, &stream);
        let fork = made(&fork(&world, &format!("{EDITED} --json")));
        let labels = ["edit", "rerun", "live", "rerun", "live"];
        assert_eq!(vias(&fork), labels, "{api:?}: {fork:#}");
        assert_eq!(fork["stopped"]["why"], "turn-ended", "{fork:#}");
        assert_eq!(world.type_in("cat new.jsonl f").stdout(), "B");
        assert_eq!(world.type_in("cat new.jsonl g").stdout(), "live");
        let verified = world.type_in("verify new.jsonl");
        assert_eq!(verified.code(), 0, "{}", verified.stdout());
        assert_eq!(fs::read(world.path("run.jsonl")).unwrap(), before);

        // What it was sent is the recorded request, with the edit and what tools returned.
        let bodies = asked(&endpoint);
        let call = serde_json::to_string(&bodies[0]).unwrap();
        let id = call.split("fork-").nth(1).unwrap();
        let id = format!("fork-{}", id.split('"').next().unwrap());
        let behind = behind_the_edit(api).to_string().replace("ID", &id);
        let behind: Value = serde_json::from_str(&behind).unwrap();
        let mut expected = api.request(&json!([{"role": "user", "content": "go"}]));
        let turns = expected[api.conversation()].as_array_mut().unwrap();
        turns.extend(behind.as_array().unwrap().clone());
        expected["model"] = "m-live".into();
        expected["stream"] = is_stream.into();
        assert_eq!(bodies[0], expected, "{api:?}");
        // And then its own answer, which is as it gave it where that came as one document.
        let turns = &bodies[1][api.conversation()].as_array().unwrap()[..];
        let own = api.document("now g", &[write("l1", "g", "live")]);
        let said = &turns[expected[api.conversation()].as_array().unwrap().len()];
        match api {
            Api::Messages if !is_stream => assert_eq!(said["content"], own["content"]),
            Api::Responses if !is_stream => assert_eq!(*said, own["output"][0]),
            _ => assert!(said.to_string().contains("now g")),
        }
        let last = turns.last().unwrap().to_string();
        assert!(last.contains("l1") && last.contains("/work/g"), "{last}");

        // Who it was asked by, and with what key; and where that stands.
        let first = endpoint.asked.lock().unwrap()[0].clone();
        assert_eq!(first.first, format!("POST {} HTTP/1.1\r\n", api.path()));
        let bearer = format!("Bearer {KEY}");
        let key = match api {
            Api::Messages => first.header("x-api-key") == Some(KEY),
            _ => first.header("authorization") == Some(bearer.as_str()),
        };
        assert!(key, "{first:?}");
        assert_eq!(first.header("x-mine"), Some("h-1"));
        assert_eq!(first.header("anthropic-beta"), Some("b-1"));
        assert!(first.header("user-agent").unwrap().starts_with("jukebox/"));
        check_nowhere(world.path("..").as_path(), KEY);
        let tape = fs::read_to_string(world.path("new.jsonl")).unwrap();
        assert!(!tape.contains("h-1"), "{tape}");
        let header = tape.lines().next().unwrap();
        assert!(header.contains(&endpoint.address), "{header}");
    }
}

#[test]
fn an_altered_result_is_told_to_the_model_that_called_for_it() {
    let world = world(Api::Messages);
    world.put("r.txt", "== result failed\nno room\n");
    let endpoint = Endpoint::saying(vec![told(Api::Messages, false, "I stop.", &[])]);
    declare(&world, Api::Messages, &endpoint.address, "max_tokens = 7");
    let fork = made(&fork(
        &world,
        "run.jsonl@2 --result r.txt -o new.jsonl --then model:live --json",
    ));
    assert_eq!(vias(&fork), ["edit", "live"], "{fork:#}");
    let body = &asked(&endpoint)[0];
    let turns = body["messages"].as_array().unwrap();
    let called = json!({"type": "tool_use", "id": "c1", "name": "Write",
        "input": {"file_path": "/work/f", "content": "A"}});
    assert_eq!(turns[1]["content"][1], called);
    let told = json!({"type": "tool_result", "tool_use_id": "c1", "content": "no room",
        "is_error": true});
    assert_eq!(turns[2]["content"], json!([told]));
    assert_eq!(body["max_tokens"], 7);
}

#[test]
fn a_fork_goes_on_from_the_last_request_that_was_still_the_recorded_one() {
    let api = Api::Chat;
    let look = json!({"file_path": "/work/x"});
    let calls = vec![block(BlockKind::ToolCall, "Read", Some("c2"), look.clone())];
    let mut behind = turn(api, "m2", &second(), calls);
    behind.extend(called("c2", "Read", look, vec![result("     1→old")]));
    let done = vec![block(BlockKind::Text, "done", None, Value::Null)];
    behind.extend(turn(api, "m3", &json!([]), done));
    let world = world_with(api, behind);
    world.put("x.txt", "new");
    let endpoint = Endpoint::saying(vec![told(api, false, "It is new.", &[])]);
    declare(&world, api, &endpoint.address, "");
    let options = "run.jsonl@2 --file x=x.txt -o new.jsonl --then model:live --json";
    let fork = made(&fork(&world, options));
    assert_eq!(
        vias(&fork),
        ["edit", "recorded", "rerun", "live"],
        "{fork:#}"
    );
    let mut turns = second();
    turns.as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c2",
            "type": "function",
            "function": {"name": "Read", "arguments": "{\"file_path\":\"/work/x\"}"}}]}),
        json!({"role": "tool", "tool_call_id": "c2", "content": "     1→new"}),
    ]);
    assert_eq!(asked(&endpoint)[0]["messages"], turns);
    // What was taken over of the run is whole on the fork's tape.
    let verified = world.type_in("verify new.jsonl");
    assert_eq!(verified.code(), 0, "{}", verified.stdout());
    assert!(
        fs::read_to_string(world.path("new.jsonl"))
            .unwrap()
            .contains("\"call\":\"m2\"")
    );
}

#[test]
fn an_error_or_half_an_answer_ends_the_fork() {
    let api = Api::Messages;
    let cut = told(api, false, "half", &[write("l1", "g", "live")]);
    let cut = cut[..cut.len() - 3].to_vec();
    let half = told(api, true, "half", &[write("l1", "g", "live")]);
    let half = half[..half.len() - 4].to_vec();
    let error = |status: &str, message: &str| {
        let body = json!({"type": "error", "error": {"message": message}}).to_string();
        let head = format!("{status}\r\ncontent-type: application/json");
        answer(&head, &[body.as_bytes()], true)
    };
    let unlike = answer("200 OK\r\ncontent-type: application/json", &[b"{}"], true);
    for (said, expected) in [
        (
            error("401 Unauthorized", &format!("{KEY} is no key")),
            "status 401: [key] is no key",
        ),
        (error("500 Oops", "overloaded"), "status 500: overloaded"),
        (cut, "cut off"),
        (half, "cut off"),
        (unlike, "nothing that is an answer"),
    ] {
        let world = world(api);
        let endpoint = Endpoint::saying(vec![said, told(api, false, "again", &[])]);
        declare(&world, api, &endpoint.address, "");
        let fork = made(&fork(&world, &format!("{EDITED} --json")));
        let labels = vias(&fork);
        assert_eq!(labels[..2], ["edit", "rerun"], "{fork:#}");
        assert_eq!(labels.last(), Some(&"unknown"), "{fork:#}");
        assert_eq!(fork["stopped"]["why"], "no-answer", "{fork:#}");
        let message = fork["stopped"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{expected}: {message}");
        assert_eq!(asked(&endpoint).len(), 1, "it is not tried again");
        assert_eq!(
            world.type_in("cat new.jsonl g").code(),
            1,
            "nothing was done"
        );
        let verified = world.type_in("verify new.jsonl");
        assert_eq!(verified.code(), 0, "{}", verified.stdout());
        check_nowhere(world.path("..").as_path(), KEY);
    }
    // Nobody is there at all.
    let world = world(api);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    declare(&world, api, &address, "");
    let fork = made(&fork(&world, &format!("{EDITED} --json")));
    assert_eq!(vias(&fork), ["edit", "rerun", "unknown"], "{fork:#}");
    let message = fork["stopped"]["message"].as_str().unwrap();
    assert!(message.contains("could not be reached"), "{message}");
}

#[test]
fn a_call_that_nobody_can_answer_and_the_last_turn_end_the_fork() {
    let api = Api::Chat;
    let world = world(api);
    let fetch = ("l1", "WebFetch", json!({"url": "http://example.org"}));
    let endpoint = Endpoint::saying(vec![told(api, false, "look", &[fetch])]);
    declare(&world, api, &endpoint.address, "");
    let fetched = made(&fork(&world, &format!("{EDITED} --json")));
    assert_eq!(vias(&fetched), ["edit", "rerun", "live", "unknown"]);
    assert_eq!(fetched["stopped"]["why"], "not-answered");

    let again = |id: &'static str| told(api, false, "more", &[write(id, id, "x")]);
    let endpoint = Endpoint::saying(vec![again("l1"), again("l2"), again("l3")]);
    declare(&world, api, &endpoint.address, "");
    fs::remove_file(world.path("new.jsonl")).unwrap();
    let ended = made(&fork(&world, &format!("{EDITED} --json --max-turns 2")));
    assert_eq!(ended["stopped"]["why"], "max-turns", "{ended:#}");
    assert_eq!(asked(&endpoint).len(), 2);
}

#[test]
fn nothing_is_sent_before_it_is_said_what_goes_where() {
    let world = world(Api::Messages);
    let endpoint = Endpoint::saying(vec![told(Api::Messages, false, "x", &[])]);
    declare(&world, Api::Messages, &endpoint.address, "");
    let dry = fork(&world, &format!("{EDITED} --dry-run"));
    assert_eq!(dry.code(), 0, "{}", dry.stderr());
    let said = dry.stdout();
    let where_to = format!("live: m-live at {}, 20 answers at most", endpoint.address);
    for part in [where_to.as_str(), "1 message, 1 tool"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!world.path("new.jsonl").exists());
    // Without its name, nobody is asked.
    let stopped = made(&fork(
        &world,
        "run.jsonl@1 --response b.txt -o new.jsonl --json",
    ));
    assert_eq!(stopped["stopped"]["why"], "model");
    assert_eq!(asked(&endpoint), Vec::<Value>::new());
}

#[test]
fn a_model_that_cannot_go_on_is_sent_nothing() {
    let world = world(Api::Messages);
    let endpoint = Endpoint::saying(vec![told(Api::Messages, false, "x", &[])]);
    let refused = |line: &str, expected: &str| {
        let run = fork(&world, line);
        assert_eq!(run.code(), 2, "{line}: {}", run.stderr());
        let said = run.stderr();
        assert!(said.contains("nothing was sent"), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(!world.path("new.jsonl").exists());
    };
    refused(EDITED, "no model `live`");
    declare(&world, Api::Chat, &endpoint.address, "");
    refused(EDITED, "speaks `messages`");
    refused(&EDITED.replace("live", "other"), "it declares live");
    declare(&world, Api::Messages, &endpoint.address, "");
    let silent = world.type_in(&format!("fork {EDITED}"));
    assert_eq!(silent.code(), 2);
    assert!(silent.stderr().contains("LIVE"), "{}", silent.stderr());
    // A run of which it is not recorded what its model was asked.
    world.put(
        "run.jsonl",
        "{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"x\"}\n\
         {\"seq\":1,\"kind\":\"model.response\",\"call\":\"m1\",\"blocks\":\
         [{\"type\":\"text\",\"text\":\"done\"}],\"outcome\":\"ok\"}\n",
    );
    refused(EDITED, "jukebox record --model");
    assert_eq!(asked(&endpoint), Vec::<Value>::new());
}

#[test]
fn a_model_that_was_declared_in_the_workspace_is_no_model() {
    let world = world(Api::Messages);
    let root = world.path("project");
    let text = fs::read_to_string(world.path("run.jsonl")).unwrap();
    let text = text.replace("\"/work\"", &format!("{:?}", root.to_str().unwrap()));
    // Lines are not chained to a header that was written by hand.
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("prev");
        line.to_string() + "\n"
    });
    world.put("run.jsonl", lines.collect::<String>());
    let endpoint = Endpoint::saying(vec![told(Api::Messages, false, "x", &[])]);
    let declared = format!(
        "[models.live]\napi='messages'\nmodel='m'\nurl='{}'\n",
        endpoint.address
    );
    world.put("project/jukebox.toml", declared);
    let run = fork(&world, &format!("{EDITED} --config project/jukebox.toml"));
    assert_eq!(run.code(), 2, "{}", run.stdout());
    assert!(
        run.stderr().contains("in the workspace"),
        "{}",
        run.stderr()
    );
    assert_eq!(asked(&endpoint), Vec::<Value>::new());
}
