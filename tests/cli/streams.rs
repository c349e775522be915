//! A service that a run talked to over a connection that stayed open: its tape answers a real
//! process in the sandbox in its place, frame by frame.

use serde_json::{Value, json};

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
