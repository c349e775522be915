//! An agent that talks to a model over HTTP: a real process, recorded as it is, and run again
//! with a tape in place of the model.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::recorder::{check_whole, events};
use super::world::{Run, World, program_of_machine};

/// The agent: asks, runs the tools that the model calls, asks again, and writes down what it
/// heard, chunk by chunk.
pub(super) const AGENT: &str = r#"
import hashlib, http.client, json, os, socket, sys, urllib.parse, zlib
base = urllib.parse.urlparse(os.environ["ANTHROPIC_BASE_URL"])
heard = open("heard.txt", "w")
if os.path.exists("elsewhere"):
    try:
        socket.create_connection(("127.0.0.1", int(open("elsewhere").read())), 5)
        sys.exit("somebody else was reached")
    except OSError:
        pass
def ask(messages):
    body = json.dumps({"model": "m", "stream": True, "messages": messages,
        "metadata": {"user_id": "pid-%d" % os.getpid()}})
    connection = http.client.HTTPConnection(base.hostname, base.port)
    connection.request("POST", base.path + "/v1/messages", body, {
        "content-type": "application/json", "accept-encoding": "gzip",
        "x-api-key": os.environ.get("ANTHROPIC_API_KEY", "none")})
    answer = connection.getresponse()
    data, sizes = b"", []
    try:
        while answer.chunked:
            size = int(answer.fp.readline(), 16)
            chunk = answer.fp.read(size + 2)
            if size == 0:
                break
            sizes.append(size)
            data += chunk[:size]
    except ValueError:
        sizes.append("cut")
    print(answer.status, sizes, hashlib.sha256(data).hexdigest(), file=heard, flush=True)
    if answer.status != 200:
        sys.exit("no answer: " + data.decode())
    if answer.getheader("content-encoding") == "gzip":
        data = zlib.decompress(data, 31)
    blocks = {}
    for line in data.decode().splitlines():
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            if event["type"] == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"], given="")
            if event["type"] == "content_block_delta":
                delta = event["delta"]
                blocks[event["index"]]["given"] += delta.get("text") or delta["partial_json"]
    return list(blocks.values())
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    said, results = [], []
    for block in ask(messages):
        if block["type"] == "text":
            said.append({"type": "text", "text": block["given"]})
            print(block["given"], flush=True)
            continue
        given = json.loads(block["given"])
        with open(given["path"], "w") as file:
            file.write(given["text"])
        said.append({"type": "tool_use", "id": block["id"], "name": block["name"], "input": given})
        results.append({"type": "tool_result", "tool_use_id": block["id"], "content": "written"})
    messages.append({"role": "assistant", "content": said})
    if not results:
        break
    messages.append({"role": "user", "content": results})
"#;

/// A model that says each of these bodies once, in chunks of so many bytes.
pub(super) struct Model {
    pub(super) address: String,
    pub(super) asked: Arc<AtomicUsize>,
}

impl Model {
    pub(super) fn saying(bodies: Vec<(Vec<u8>, &'static str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for (body, coding) in bodies {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                count.fetch_add(1, Ordering::SeqCst);
                let mut source = BufReader::new(&stream);
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    source.read_line(&mut line).unwrap();
                    if let Some(told) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = told.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                }
                source.read_exact(&mut vec![0; length]).unwrap();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
                let mut answer = format!("{head}{coding}transfer-encoding: chunked\r\n\r\n");
                stream.write_all(answer.as_bytes()).unwrap();
                for chunk in body.chunks(37) {
                    answer = format!("{:x}\r\n", chunk.len());
                    stream.write_all(answer.as_bytes()).unwrap();
                    stream.write_all(chunk).unwrap();
                    stream.write_all(b"\r\n").unwrap();
                }
                stream.write_all(b"0\r\n\r\n").unwrap();
            }
        });
        Self { address, asked }
    }
}

pub(super) fn stream(blocks: &[Value]) -> Vec<u8> {
    let mut events =
        vec![json!({"type": "message_start", "message": {"model": "m", "content": []}})];
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = match block["text"].as_str() {
            Some(text) => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": text}),
            ),
            None => (
                json!({"type": "tool_use", "id": block["id"], "name": "write", "input": {}}),
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
            ),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    events.push(json!({"type": "message_stop"}));
    let event = |event: &Value| format!("data: {event}\n\n");
    events.iter().map(event).collect::<String>().into_bytes()
}

/// A model that has two files written, one after the other, and then says a word.
pub(super) fn model() -> Model {
    let write =
        |id: &str, path: &str, text: &str| json!({"id": id, "input": {"path": path, "text": text}});
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&stream(&[json!({"text": "Grüße 😀"})]))
        .unwrap();
    Model::saying(vec![
        (stream(&[write("toolu_1", "a.txt", "one\n")]), ""),
        (stream(&[write("toolu_2", "b.txt", "two\n")]), ""),
        (gzip.finish().unwrap(), "content-encoding: gzip\r\n"),
    ])
}

/// Runs the agent, recorded, with these options.
pub(super) fn record(world: &World, options: &[&str], prompt: &str) -> Option<Run> {
    let python = program_of_machine("python3")?;
    let mut program = world.program();
    program.env("ANTHROPIC_API_KEY", "k-3y");
    program.args([
        "record",
        "--model",
        "--env",
        "ANTHROPIC_API_KEY",
        "--dir",
        "project",
    ]);
    program.args(options).arg("--").arg(python);
    program.args(["-c", AGENT, prompt]);
    let run = Run::new(program.output().unwrap());
    if run.code() == 4 {
        skip("this machine allows no sandbox");
        return None;
    }
    Some(run)
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

pub(super) fn world() -> World {
    let world = World::new(&[]);
    world.put("project/README", "a project\n");
    world
}

#[track_caller]
fn check_said(run: &Run) {
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(run.stdout(), "Grüße 😀\n");
}

#[test]
fn an_agent_is_recorded_and_answered_again_to_the_byte() {
    let (world, model) = (world(), model());
    // Somebody listens there; the agent has a network of its own, in which nobody does.
    let port = model.address.rsplit(':').next().unwrap();
    world.put("project/elsewhere", port);
    let upstream = format!("anthropic={}", model.address);
    let first = ["--upstream", &upstream, "--commit", "-o", "one.jsonl"];
    let Some(run) = record(&world, &first, "Write.") else {
        return;
    };
    check_said(&run);
    assert!(
        run.stderr().contains("3 requests to models"),
        "{}",
        run.stderr()
    );
    check_whole(&world, "one.jsonl");
    let text = fs::read_to_string(world.path("one.jsonl")).unwrap();
    assert!(!text.contains("k-3y"), "the key is not on the tape");
    assert!(text.contains(&model.address), "where it went to is");

    // A step for each turn and each tool, with what the tool changed.
    let events = events(&world, "one.jsonl");
    let of = |kind: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["kind"] == kind)
            .collect()
    };
    let calls = |kind: &str| -> Vec<String> {
        let calls = of(kind).into_iter();
        calls
            .map(|event| event["call"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(calls("model.request"), ["m1", "m2", "m3"]);
    assert_eq!(calls("tool.call"), ["c1", "toolu_1", "toolu_2"]);
    assert_eq!(calls("tool.result"), ["toolu_1", "toolu_2", "c1"]);
    for (path, call) in [("a.txt", "toolu_1"), ("b.txt", "toolu_2")] {
        let written = of("fs.write")
            .into_iter()
            .find(|event| event["path"] == path);
        assert_eq!(written.unwrap()["call"], call, "{path}");
    }
    let log = world.type_in("log one.jsonl");
    assert!(log.stdout().contains("write"), "{}", log.stdout());

    // The same again from the tape, in a workspace as it was.
    let heard = fs::read(world.path("project/heard.txt")).unwrap();
    for name in ["a.txt", "b.txt", "heard.txt"] {
        fs::remove_file(world.path("project").join(name)).unwrap();
    }
    let again = ["--from", "one.jsonl", "--commit", "-o", "two.jsonl"];
    let run = record(&world, &again, "Write.").unwrap();
    check_said(&run);
    assert!(
        run.stderr().contains("3 of 3 recorded requests"),
        "{}",
        run.stderr()
    );
    assert_eq!(fs::read(world.path("project/heard.txt")).unwrap(), heard);
    assert_eq!(fs::read(world.path("project/b.txt")).unwrap(), b"two\n");
    assert_eq!(model.asked.load(Ordering::SeqCst), 3, "nothing was reached");
    check_whole(&world, "two.jsonl");

    // A replay gives no model, and says so of the agent.
    let replay = world.type_in("replay two.jsonl --json").stdout();
    let replay: Value = serde_json::from_str(&replay).unwrap();
    let agent = &replay["rows"][0];
    assert_eq!(
        (&agent["tool"], &agent["verdict"]),
        (&json!("exec"), &json!("not-attempted"))
    );
    let why = agent["why"].as_str().unwrap();
    assert!(why.contains("record --model --from"), "{why}");
}

#[test]
fn an_agent_without_a_sandbox_is_recorded_too() {
    let (world, model) = (world(), model());
    let upstream = format!("anthropic={}", model.address);
    let options = [
        "--upstream",
        &upstream,
        "--unsafe-no-sandbox",
        "-o",
        "one.jsonl",
    ];
    let Some(run) = record(&world, &options, "Write.") else {
        return;
    };
    check_said(&run);
    check_whole(&world, "one.jsonl");
    let calls: Vec<_> = events(&world, "one.jsonl")
        .into_iter()
        .filter(|event| event["kind"] == "tool.call")
        .collect();
    assert_eq!(calls.len(), 3);
    let again = [
        "--from",
        "one.jsonl",
        "--unsafe-no-sandbox",
        "-o",
        "two.jsonl",
    ];
    let run = record(&world, &again, "Write.").unwrap();
    assert!(
        run.stderr().contains("3 of 3 recorded requests"),
        "{}",
        run.stderr()
    );
    assert_eq!(model.asked.load(Ordering::SeqCst), 3, "nothing was reached");
}

#[test]
fn an_agent_that_asks_something_else_is_told_so_and_nothing_is_reached() {
    let (world, model) = (world(), model());
    let upstream = format!("anthropic={}", model.address);
    let first = ["--upstream", &upstream, "--rollback", "-o", "one.jsonl"];
    if record(&world, &first, "Write.").is_none() {
        return;
    }
    let again = ["--from", "one.jsonl", "--rollback", "-o", "two.jsonl"];
    let run = record(&world, &again, "Write more.").unwrap();
    assert_eq!(run.code(), 1, "{}", run.stderr());
    let said = "/messages/0/content";
    assert!(run.stderr().contains(said), "{}", run.stderr());
    assert!(
        run.stderr().contains("3 recorded ones were not made"),
        "{}",
        run.stderr()
    );
    assert_eq!(model.asked.load(Ordering::SeqCst), 3, "nothing was reached");
    let listed = [
        "--from",
        "one.jsonl",
        "--rollback",
        "--volatile",
        "/messages/0/content",
    ];
    let run = record(&world, &listed, "Write more.").unwrap();
    assert_eq!(run.code(), 0, "{}", run.stderr());
}

#[test]
fn a_tape_that_cannot_answer_runs_nothing() {
    let world = world();
    world.put("empty.jsonl", "");
    world.put(
        "header.jsonl",
        "{\"kind\":\"tape\",\"seq\":0,\"format\":1,\"id\":\"x\"}\n",
    );
    world.put("no-tape", "nothing\n");
    fs::create_dir(world.path("directory")).unwrap();
    for tape in [
        "empty.jsonl",
        "header.jsonl",
        "no-tape",
        "directory",
        "not-there.jsonl",
    ] {
        let options = ["--from", tape, "--rollback", "-o", "new.jsonl"];
        let Some(run) = record(&world, &options, "Write.") else {
            return;
        };
        assert_eq!(run.code(), 2, "{tape}: {}", run.stderr());
        assert!(
            run.stderr().contains("nothing was run"),
            "{tape}: {}",
            run.stderr()
        );
        assert!(!world.path("new.jsonl").exists(), "{tape}");
    }
    let say = |line: &str| world.type_in(&format!("record --model {line} --rollback -- true"));
    assert_eq!(say("--upstream anthropic=nowhere").code(), 2);
    assert_eq!(say("--upstream else=http://127.0.0.1").code(), 2);
    assert_eq!(say("--volatile messages --from empty.jsonl").code(), 2);
    assert_eq!(say("--backend copy").code(), 2);
    assert_eq!(
        world
            .type_in("record --from empty.jsonl --rollback -- true")
            .code(),
        2
    );
}
