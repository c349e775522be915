//! Forks that the run's own agent goes on with: a real process, which hears the tape up to the
//! edit, then the edit, and behind it nobody, or an endpoint that was named.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::models::{AGENT, Model, model, record, stream, world};
use super::recorder::{check_whole, events};
use super::world::{Run, World, program_of_machine};

/// A recorded run of the agent, whose changes were rolled back; `None`: there is no sandbox.
fn recorded() -> Option<(World, Model)> {
    let (world, model) = (world(), model());
    let upstream = format!("anthropic={}", model.address);
    let options = ["--upstream", &upstream, "--rollback", "-o", "one.jsonl"];
    let run = record(&world, &options, "Write.")?;
    assert_eq!(run.code(), 0, "{}", run.stderr());
    world.put(
        "other.txt",
        "== call write\n{\"path\": \"c.txt\", \"text\": \"three\\n\"}\n",
    );
    Some((world, model))
}

/// The step of a model's turn.
fn step_of(world: &World, turn: usize) -> String {
    let log = world.type_in("log one.jsonl --json");
    let rows = log.stdout();
    let rows = rows.lines().map(|line| serde_json::from_str(line).unwrap());
    let turns: Vec<Value> = rows.filter(|row: &Value| row["kind"] == "model").collect();
    turns[turn - 1]["step"].to_string()
}

/// Forks at the second turn with other words, and runs the agent with this prompt.
fn fork(world: &World, options: &[&str], prompt: &str) -> Run {
    let mut program = world.program();
    let place = format!("one.jsonl@{}", step_of(world, 2));
    program.args(["fork", &place, "--response", "other.txt", "--then", "agent"]);
    program.args(options).args(["-o", "fork.jsonl", "--"]);
    program.arg(program_of_machine("python3").unwrap());
    program.args(["-c", AGENT, prompt]);
    Run::new(program.output().unwrap())
}

fn made(run: &Run) -> Value {
    assert_eq!(run.code(), 0, "{}", run.stderr());
    serde_json::from_str(&run.stdout()).unwrap()
}

fn vias(fork: &Value) -> Vec<&str> {
    let steps = fork["steps"].as_array().unwrap().iter();
    steps.map(|step| step["via"].as_str().unwrap()).collect()
}

/// What was written on a tape, each with its text.
fn written(world: &World, tape: &str) -> Vec<String> {
    let events = events(world, tape);
    let writes = events.iter().filter(|event| event["kind"] == "fs.write");
    let paths = writes.map(|event| event["path"].as_str().unwrap().to_owned());
    paths.filter(|path| path != "heard.txt").collect()
}

#[test]
fn the_agent_hears_the_tape_then_the_edit_and_then_nobody() {
    let Some((world, model)) = recorded() else {
        return;
    };
    let before = fs::read(world.path("one.jsonl")).unwrap();
    let run = fork(&world, &["--json"], "Write.");
    let fork = made(&run);
    let labels = ["recorded", "rerun", "edit", "rerun", "unknown"];
    assert_eq!(vias(&fork), labels, "{fork:#}");
    assert_eq!(fork["stopped"]["why"], "model");
    let agent = &fork["agent"];
    assert_eq!(agent["exit"], 1, "it was told that nobody answers");
    assert_eq!(
        (&agent["answered"], &agent["behind"], &agent["live"]),
        (&json!(2), &json!(1), &json!(0))
    );
    assert_eq!(agent["files"], json!([]), "{fork:#}");
    assert!(
        run.stderr().contains("the fork stops here"),
        "{}",
        run.stderr()
    );

    // It wrote what the edit says, in the fork alone.
    assert_eq!(written(&world, "fork.jsonl"), ["a.txt", "c.txt"]);
    let text = fs::read_to_string(world.path("fork.jsonl")).unwrap();
    assert!(!text.contains("b.txt"), "nothing of what came later");
    let listed = fs::read_dir(world.path("project")).unwrap();
    let names = listed.map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.filter(|name| name != ".jukebox").collect();
    assert_eq!(names, ["README"]);
    assert_eq!(fs::read(world.path("one.jsonl")).unwrap(), before);
    assert_eq!(model.asked.load(Ordering::SeqCst), 3, "nothing was reached");

    // It is a fork as others are.
    check_whole(&world, "fork.jsonl");
    let forks = world.type_in("forks one.jsonl");
    assert!(forks.stdout().contains("fork.jsonl"), "{}", forks.stdout());
    let parted = world.type_in("compare one.jsonl fork.jsonl");
    assert_eq!(parted.code(), 1, "{}", parted.stderr());
    let header = &events(&world, "fork.jsonl")[0];
    assert_eq!(header["parent"]["seq"], 0);
    assert_eq!(header["edit"]["of"], "response");
}

#[test]
fn behind_the_edit_a_named_endpoint_may_answer() {
    let Some((world, model)) = recorded() else {
        return;
    };
    let live = Model::saying(vec![(stream(&[json!({"text": "And now live."})]), "")]);
    let address = format!("anthropic={}", live.address);
    let run = fork(&world, &["--json", "--live", &address], "Write.");
    let fork = made(&run);
    assert_eq!(
        vias(&fork),
        ["recorded", "rerun", "edit", "rerun", "live"],
        "{fork:#}"
    );
    assert_eq!(fork["agent"]["exit"], 0);
    assert!(run.stderr().contains("And now live."), "{}", run.stderr());
    assert_eq!(live.asked.load(Ordering::SeqCst), 1, "only behind the edit");
    assert_eq!(model.asked.load(Ordering::SeqCst), 3);
}

#[test]
fn a_compressed_answer_behind_the_edit_is_one_as_any_other() {
    let Some((world, _model)) = recorded() else {
        return;
    };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&stream(&[json!({"text": "And now live."})]))
        .unwrap();
    let body = gzip.finish().unwrap();
    let live = Model::saying(vec![(body, "content-encoding: gzip\r\n")]);
    let address = format!("anthropic={}", live.address);
    let run = fork(&world, &["--json", "--live", &address], "Write.");
    assert_eq!(vias(&made(&run)).last(), Some(&"live"));
    assert!(run.stderr().contains("And now live."), "{}", run.stderr());
    check_whole(&world, "fork.jsonl");
    let said = events(&world, "fork.jsonl");
    let last = said.iter().rfind(|event| event["kind"] == "model.response");
    assert_eq!(last.unwrap()["blocks"][0]["text"], "And now live.");
}

#[test]
fn an_agent_whose_time_is_up_is_ended() {
    let Some((world, _model)) = recorded() else {
        return;
    };
    // It takes the request, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("anthropic=http://{}", silent.local_addr().unwrap());
    let options = ["--json", "--live", &address, "--timeout", "2"];
    let fork = made(&fork(&world, &options, "Write."));
    assert_eq!(fork["stopped"]["why"], "time-up", "{fork:#}");
    assert!(vias(&fork).contains(&"edit"), "{fork:#}");
    check_whole(&world, "fork.jsonl");
}

#[test]
fn an_agent_that_asks_something_else_makes_no_fork() {
    let Some((world, _model)) = recorded() else {
        return;
    };
    let live = Model::saying(vec![(stream(&[json!({"text": "No."})]), "")]);
    let address = format!("anthropic={}", live.address);
    let run = fork(&world, &["--live", &address], "Write more.");
    assert_eq!(run.code(), 1, "{}", run.stderr());
    assert!(
        run.stderr().contains("/messages/0/content"),
        "{}",
        run.stderr()
    );
    assert!(
        run.stderr().contains("no fork was kept"),
        "{}",
        run.stderr()
    );
    assert!(!world.path("fork.jsonl").exists());
    assert_eq!(live.asked.load(Ordering::SeqCst), 0, "nobody was asked");
    // Where that part does not count, it is the same request.
    let run = fork(
        &world,
        &["--json", "--volatile", "/messages/0/content"],
        "Write more.",
    );
    assert_eq!(vias(&made(&run))[2], "edit");
}

#[test]
fn an_agent_that_is_not_there_is_a_mistake_in_the_call() {
    let Some((world, _model)) = recorded() else {
        return;
    };
    let place = format!("one.jsonl@{}", step_of(&world, 2));
    let run = world.type_in(&format!(
        "fork {place} --response other.txt --then agent -o fork.jsonl -- not-there"
    ));
    assert_eq!(run.code(), 2, "{}", run.stderr());
    let said = run.stderr();
    assert!(
        said.contains("not-there") || said.contains("No such file"),
        "{said}"
    );
    assert!(!world.path("fork.jsonl").exists());
}

#[test]
fn an_agent_that_is_interrupted_makes_no_fork_and_says_so() {
    let Some((world, _model)) = recorded() else {
        return;
    };
    let place = format!("one.jsonl@{}", step_of(&world, 2));
    let mut program = world.program();
    program.args(["fork", &place, "--response", "other.txt", "--then", "agent"]);
    program.args([
        "-o",
        "fork.jsonl",
        "--",
        "sh",
        "-c",
        "echo begun >&2; sleep 60",
    ]);
    let mut running = program
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "begun"));
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    let rest: Vec<String> = said.map(Result::unwrap).collect();
    assert_eq!(running.wait().unwrap().code(), Some(130), "{rest:?}");
    assert_eq!(
        rest,
        ["jukebox: interrupted: no fork was made, and the run is as it was"]
    );
    assert!(!world.path("fork.jsonl").exists());
}

#[test]
fn a_damaged_run_is_not_gone_through_again() {
    let Some((world, _model)) = recorded() else {
        return;
    };
    let live = Model::saying(vec![(stream(&[json!({"text": "No."})]), "")]);
    let address = format!("anthropic={}", live.address);
    let text = fs::read_to_string(world.path("one.jsonl")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines
        .iter()
        .rposition(|line| line.contains("\"status\":200"));
    lines.remove(last.expect("there are answers"));
    world.put("one.jsonl", lines.join("\n") + "\n");
    let run = fork(&world, &["--live", &address], "Write.");
    assert_eq!(run.code(), 2, "{}", run.stderr());
    assert!(run.stderr().contains("nothing was run"), "{}", run.stderr());
    assert!(!world.path("fork.jsonl").exists());
    assert_eq!(live.asked.load(Ordering::SeqCst), 0, "nobody was asked");
}

#[test]
fn what_an_agent_cannot_hear_is_refused() {
    let world = world();
    world.put(
        "one.jsonl",
        "{\"seq\":0,\"kind\":\"tape\",\"format\":1,\"id\":\"x\"}\n\
         {\"seq\":1,\"kind\":\"prompt\",\"name\":\"user\",\"text\":\"go\"}\n\
         {\"seq\":2,\"kind\":\"model.response\",\"call\":\"m1\",\"blocks\":\
         [{\"type\":\"text\",\"text\":\"done\"}],\"outcome\":\"ok\"}\n",
    );
    world.put("said.txt", "something else\n");
    let said = |line: &str, expected: &str| {
        let run = world.type_in(&format!("fork one.jsonl{line}"));
        assert_eq!(run.code(), 2, "{line}: {}", run.stderr());
        assert!(run.stderr().contains(expected), "{line}: {}", run.stderr());
    };
    said("@2 --response said.txt --then agent", "-- CMD");
    said("@2 --response said.txt -- true", "--then agent");
    said(
        "@1 --prompt said.txt --then agent -- true",
        "--response FILE",
    );
    said(
        "@2 --response said.txt --then agent --live else -- true",
        "nothing was run",
    );
    said(
        "@2 --response said.txt --then agent -- true",
        "no exchange with a model",
    );
}
