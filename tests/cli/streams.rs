//! A service that a run talked to over a connection that stayed open: its tape answers a real
//! process in the sandbox in its place, frame by frame.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::models::{Model, stream};
use super::recorder::{Recorder, check_whole, events};
use super::world::{Run, World, program_of_machine};

/// A client of an MCP server over HTTP, whose requests have other ids in every run.
const CLIENT: &str = r#"
import json, os, sys, urllib.request, uuid
at, session = os.environ["JUKEBOX_STREAMS"] + "/files", None
def say(frame):
    global session
    headers = {"content-type": "application/json"}
    if session:
        headers["mcp-session-id"] = session
    asked = urllib.request.Request(at, json.dumps(frame).encode(), headers)
    with urllib.request.urlopen(asked) as answer:
        session = session or answer.headers["mcp-session-id"]
        text = answer.read().decode()
        if answer.headers["content-type"] == "text/event-stream":
            lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
            return [json.loads(line) for line in lines]
        return [json.loads(text)] if text else []
def ask(method, params):
    me = str(uuid.uuid4())
    heard = say({"jsonrpc": "2.0", "id": me, "method": method, "params": params})
    assert heard[-1]["id"] == me, heard
    return heard
print(ask("initialize", {})[-1]["result"])
say({"jsonrpc": "2.0", "method": "notifications/initialized"})
for frame in ask("tools/call", {"name": "read", "arguments": {"path": sys.argv[1]}}):
    print(frame.get("method") or frame["result"], flush=True)
"#;

/// Records a run that talked to a server of files.
fn record(world: &World) {
    let frame = |dir: &str, data: Value| json!({"kind": "stream.frame", "name": "files", "dir": dir, "data": data});
    let call = json!({"name": "read", "arguments": {"path": "a.txt"}});
    let mut recorder = Recorder::start(world, "-o run.jsonl");
    for event in [
        json!({"kind": "prompt", "text": "Read a.txt."}),
        frame(
            "out",
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
        ),
        frame(
            "in",
            json!({"jsonrpc": "2.0", "id": 0, "result": "files 1.0"}),
        ),
        frame(
            "out",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ),
        frame(
            "out",
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
        ),
        frame(
            "in",
            json!({"jsonrpc": "2.0", "method": "notifications/message"}),
        ),
        frame(
            "in",
            json!({"jsonrpc": "2.0", "id": 1, "result": "what a.txt holds"}),
        ),
    ] {
        assert!(recorder.say(event)["seq"].is_u64());
    }
    assert_eq!(recorder.end(), 0);
    check_whole(world, "run.jsonl");
}

/// Runs the client with the tape in place of the server.
fn run_again(world: &World, (from, to): (&str, &str), path: &str) -> Option<Run> {
    let python = program_of_machine("python3")?;
    let mut program = world.program();
    program.args(["record", "--model", "--from", from, "-o", to]);
    program.args(["--dir", "project", "--rollback", "--"]);
    program.arg(python).args(["-c", CLIENT, path]);
    let run = Run::new(program.output().unwrap());
    let has_sandbox = run.code() != 4;
    has_sandbox.then_some(run)
}

#[test]
fn a_process_in_the_sandbox_is_answered_from_the_tape_frame_by_frame() {
    let world = World::new(&[]);
    world.put("project/README", "a project\n");
    record(&world);
    let Some(run) = run_again(&world, ("run.jsonl", "two.jsonl"), "a.txt") else {
        return;
    };
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let said = "files 1.0\nnotifications/message\nwhat a.txt holds\n";
    assert_eq!(run.stdout(), said, "{}", run.stderr());
    let told = "1 of 1 recorded streams were opened again, and answered from the tape\n";
    assert!(run.stderr().contains(told), "{}", run.stderr());
    check_whole(&world, "two.jsonl");
    let shown = world.run(&["show", "run.jsonl@1"]).stdout();
    for section in ["to files", "from files"] {
        assert!(shown.contains(section), "{shown}");
    }
    let frames = events(&world, "two.jsonl");
    let frames = frames.iter().filter(|event| event["name"] == "files");
    assert_eq!(frames.count(), 6);
    // What was recorded then answers as well.
    let run = run_again(&world, ("two.jsonl", "three.jsonl"), "a.txt").unwrap();
    assert_eq!(
        (run.code(), run.stdout()),
        (0, said.to_owned()),
        "{}",
        run.stderr()
    );
}

#[test]
fn a_process_that_says_something_else_is_told_where() {
    let world = World::new(&[]);
    world.put("project/README", "a project\n");
    record(&world);
    let Some(run) = run_again(&world, ("run.jsonl", "two.jsonl"), "b.txt") else {
        return;
    };
    assert_eq!(run.code(), 1);
    assert_eq!(run.stdout(), "files 1.0\n");
    let line = "no answer on the tape: a frame to files: the client's frame is not the one in event 5: \
                /params/arguments/path: recorded \"a.txt\", replayed \"b.txt\"";
    assert!(run.stderr().contains(line), "{}", run.stderr());
    assert!(
        run.stderr()
            .contains("1 recorded frames were not said again"),
        "{}",
        run.stderr()
    );
}

/// A service that speaks line by line, and leaves a sign that it ran.
const SERVICE: &str = r#"
import json, sys
open("service-ran", "a").write("once\n")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "read":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}), flush=True)
    answer = asked["method"] + " of " + asked["params"].get("path", "nothing")
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
sys.exit(3)
"#;

/// An agent that runs such a service, and asks it with other ids in every run.
const AGENT: &str = r#"
import json, subprocess, sys, uuid
program, path, script = sys.argv[1:]
words = [program, "stream", "files", "--", sys.executable, "-c", script]
service = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(method, params):
    me = str(uuid.uuid4())
    frame = {"jsonrpc": "2.0", "id": me, "method": method, "params": params}
    service.stdin.write(json.dumps(frame) + "\n")
    service.stdin.flush()
    for line in service.stdout:
        said = json.loads(line)
        if said.get("id") == me:
            return said.get("result") or said["error"]["message"]
        print(said["method"])
    sys.exit("the service is gone")
print(ask("initialize", {}))
print(ask("read", {"path": path}))
service.stdin.close()
print("ended with", service.wait(), flush=True)
"#;

/// The program, where commands in the sandbox find it.
fn program_at_home(world: &World) -> PathBuf {
    let place = world.path("../home/bin/jukebox");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let program = env!("CARGO_BIN_EXE_jukebox");
    if fs::hard_link(program, &place).is_err() {
        fs::copy(program, &place).unwrap();
    }
    place.canonicalize().unwrap()
}

/// Runs the agent, recorded with these options.
fn run_agent(world: &World, program: &Path, options: &[&str], path: &str) -> Option<Run> {
    let python = program_of_machine("python3")?;
    let mut recorder = world.program();
    recorder.args(["record", "--model", "--dir", "project", "--commit"]);
    recorder
        .args(options)
        .arg("--")
        .arg(python)
        .args(["-c", AGENT]);
    recorder.arg(program).args([path, SERVICE]);
    let run = Run::new(recorder.output().unwrap());
    let has_sandbox = run.code() != 4;
    has_sandbox.then_some(run)
}

#[test]
fn a_service_of_lines_is_recorded_and_its_tape_speaks_in_its_place() {
    let world = World::new(&[]);
    world.put("project/README", "a project\n");
    let program = program_at_home(&world);
    let Some(run) = run_agent(&world, &program, &["-o", "one.jsonl"], "a.txt") else {
        return;
    };
    assert_eq!(run.code(), 0, "{}", run.stderr());
    let said = "initialize of nothing\nnotifications/message\nread of a.txt\n";
    assert_eq!(
        run.stdout(),
        format!("{said}ended with 3\n"),
        "{}",
        run.stderr()
    );
    check_whole(&world, "one.jsonl");
    let frames = |tape: &str| -> Vec<String> {
        let events = events(&world, tape).into_iter();
        let frames = events.filter(|event| event["name"] == "files");
        let words = |event: Value| match event.get("end") {
            Some(end) => format!("{} {}", event["dir"], end),
            None => event["dir"].to_string(),
        };
        frames.map(words).collect()
    };
    let recorded = frames("one.jsonl");
    let (out, told) = ("\"out\"", "\"in\"");
    let end = ["\"out\" \"complete\"", "\"in\" \"complete\""];
    assert_eq!(recorded, [&[out, told, out, told, told], &end[..]].concat());

    // The service is not run again: the tape says what it said.
    fs::remove_file(world.path("project/service-ran")).unwrap();
    let again = ["--from", "one.jsonl", "-o", "two.jsonl"];
    let run = run_agent(&world, &program, &again, "a.txt").unwrap();
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(
        run.stdout(),
        format!("{said}ended with 0\n"),
        "{}",
        run.stderr()
    );
    assert!(!world.path("project/service-ran").exists());
    assert_eq!(frames("two.jsonl"), recorded);

    // What it is asked now was not recorded.
    let other = ["--from", "one.jsonl", "-o", "three.jsonl"];
    let run = run_agent(&world, &program, &other, "b.txt").unwrap();
    assert_eq!(run.code(), 1, "{}", run.stdout());
    let why = "/params/path: recorded \"a.txt\", replayed \"b.txt\"";
    assert!(run.stdout().contains(why), "{}", run.stdout());
    assert!(run.stdout().ends_with("ended with 1\n"), "{}", run.stdout());
    assert!(run.stderr().contains(why), "{}", run.stderr());
    assert!(!world.path("project/service-ran").exists());
}

#[test]
fn a_service_runs_as_it_is_where_nothing_is_recorded() {
    let world = World::new(&[]);
    let run = world.run(&[
        "stream",
        "files",
        "--",
        "/bin/sh",
        "-c",
        "echo said; exit 3",
    ]);
    assert_eq!((run.code(), run.stdout()), (3, "said\n".to_owned()));
    let run = world.run(&["stream", "files", "--", "/nowhere/service"]);
    assert_eq!(run.code(), 127);
    // Nobody else is connected to than the recorder on this machine.
    let mut program = world.program();
    program.env("JUKEBOX_STREAMS", "http://192.0.2.1:80/streams");
    let run = Run::new(
        program
            .args(["stream", "files", "--", "/bin/true"])
            .output()
            .unwrap(),
    );
    assert_eq!(run.code(), 125);
    assert!(run.stderr().contains("nothing was run"), "{}", run.stderr());
}

/// An agent that asks the service for what its model names first.
const LED: &str = r#"
import http.client, os, urllib.parse
base = urllib.parse.urlparse(os.environ["ANTHROPIC_BASE_URL"])
connection = http.client.HTTPConnection(base.hostname, base.port)
asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Which?"}]}
connection.request("POST", base.path + "/v1/messages", json.dumps(asked), {"content-type": "application/json"})
lines = connection.getresponse().read().decode().splitlines()
events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
path = "".join(delta["text"] for delta in deltas).split()[0]
"#;

#[test]
fn the_agent_of_a_fork_opens_the_streams_of_its_run_again() {
    let world = World::new(&[]);
    world.put("project/README", "a project\n");
    let (program, python) = (program_at_home(&world), program_of_machine("python3"));
    let Some(python) = python else { return };
    // It knows the path from its model, and not from its caller.
    let (imports, rest) = AGENT
        .split_once("program, path, script = sys.argv[1:]\n")
        .unwrap();
    let agent = format!("{imports}{LED}program, script = sys.argv[1:]\n{rest}");
    let command: [&OsStr; 5] = [
        python.as_ref(),
        "-c".as_ref(),
        agent.as_ref(),
        program.as_ref(),
        SERVICE.as_ref(),
    ];
    let model = Model::saying(vec![(stream(&[json!({"text": "a.txt"})]), "")]);
    let mut recorder = world.program();
    let upstream = format!("anthropic={}", model.address);
    recorder.args([
        "record",
        "--model",
        "--upstream",
        &upstream,
        "--dir",
        "project",
    ]);
    recorder.args(["--rollback", "-o", "one.jsonl", "--"]);
    let run = Run::new(recorder.args(command).output().unwrap());
    if run.code() == 4 {
        return;
    }
    assert_eq!(run.code(), 0, "{}", run.stderr());

    let fork = |words: &str, to: &str| {
        world.put("other.txt", words);
        let turn = events(&world, "one.jsonl");
        let turn = turn.iter().find(|event| event["kind"] == "model.response");
        let place = format!("one.jsonl@seq:{}", turn.unwrap()["seq"]);
        let mut program = world.program();
        program.args(["fork", &place, "--response", "other.txt", "--then", "agent"]);
        program.args(["--json", "-o", to, "--"]).args(command);
        Run::new(program.output().unwrap())
    };
    // Other words, and the same question to the service.
    let run = fork("a.txt as I said\n", "same.jsonl");
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert!(
        run.stderr().contains("read of a.txt\nended with 0\n"),
        "{}",
        run.stderr()
    );
    let told: Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(
        told["agent"]["streams"],
        json!({"recorded": 1, "opened": 1, "awaited": 0})
    );
    // Another question, which nobody answers: the fork stands, and says so.
    let run = fork("b.txt\n", "other.jsonl");
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let told: Value = serde_json::from_str(&run.stdout()).unwrap();
    let divergence = &told["agent"]["divergences"][0];
    assert_eq!(divergence["path"], "/params/path", "{told:#}");
    assert_eq!(told["agent"]["streams"]["awaited"], 1);
    check_whole(&world, "other.jsonl");
}
