//! A disk that is full under a running agent: its hooks stay silent, and what they were told is
//! on the tape once there is room again.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::world::{Run, World, program_of_machine};

/// What the script ends with where nothing can be mounted.
const NO_MOUNT: i32 = 99;

/// Gives the hooks their records in order. `$SMALL` is a small disk, which is full while `2-*`
/// are given, and has room again for `3-*`. What the hooks say is kept.
const SCRIPT: &str = r#"
mkdir -p "$SMALL"
mount -t tmpfs -o size=1m small "$SMALL" || exit 99
give() { for record in "$1"-*; do "$0" hook < "$record" >> said 2>&1 || echo "code $?" >> said; done; }
give 1
head -c 9000000 /dev/zero > "$SMALL/fill" 2> /dev/null
give 2
rm "$SMALL/fill"
give 3
until "$0" hook status --json | grep -q '"recorders":\[\]'; do sleep 0.05; done
for tape in "$XDG_DATA_HOME"/jukebox/recorded/*.jsonl; do "$0" verify "$tape" >> verified 2>&1; done
cat "$XDG_DATA_HOME"/jukebox/recorded/*.jsonl > tape
"#;

/// A record of a hook.
fn record(world: &World, name: &str, event: &str, more: &Value) {
    let mut record = json!({
        "session_id": "full",
        "transcript_path": world.path("full.jsonl"),
        "cwd": world.path("w"),
        "permission_mode": "default",
        "hook_event_name": event,
    });
    let fields = record.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    world.put(name, record.to_string());
}

/// A session in which the small disk, a directory of the user's, is full for a while; the events
/// on its tape. `None`, and a word about it: nothing can be mounted here.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn session(small: &str, noise: &str) -> Option<(World, Vec<Value>)> {
    let unshare = program_of_machine("unshare")?;
    let world = World::new(&[]);
    fs::create_dir(world.path("w")).unwrap();
    let call =
        |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": id}});
    let result = |id: &str, stdout: &str| {
        json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {},
            "tool_response": {"stdout": stdout, "stderr": "", "interrupted": false}})
    };
    record(
        &world,
        "1-a",
        "UserPromptSubmit",
        &json!({"prompt": "before"}),
    );
    record(&world, "1-b", "PreToolUse", &call("c1"));
    record(&world, "2-a", "PostToolUse", &result("c1", noise));
    record(&world, "2-b", "PreToolUse", &call("c2"));
    record(
        &world,
        "2-c",
        "PostToolUse",
        &result("c2", "while it was full"),
    );
    record(
        &world,
        "3-a",
        "UserPromptSubmit",
        &json!({"prompt": "there is room again"}),
    );
    record(&world, "3-b", "SessionEnd", &json!({"reason": "other"}));
    let mut command = Command::new(unshare);
    world.settle(&mut command);
    command.args([
        "-rm",
        "/bin/sh",
        "-c",
        SCRIPT,
        env!("CARGO_BIN_EXE_jukebox"),
    ]);
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("SMALL", world.path("../home").join(small));
    let run = Run::new(command.output().unwrap());
    if run.code() == NO_MOUNT || run.stderr().contains("unshare") {
        eprintln!("skipped: nothing can be mounted here: {}", run.stderr());
        return None;
    }
    let read = |name: &str| fs::read_to_string(world.path(name)).unwrap_or_default();
    assert_eq!(run.code(), 0, "{}", run.stderr());
    assert_eq!(read("said"), "", "a hook says nothing, and ends with 0");
    let tape = read("tape");
    let events = tape.lines().map(serde_json::from_str);
    let events = events.map(Result::unwrap).collect();
    Some((world, events))
}

/// How many events there are of a kind and a call.
fn count(events: &[Value], kind: &str, call: &str) -> usize {
    let is_it = |event: &&Value| event["kind"] == kind && event["call"] == call;
    events.iter().filter(is_it).count()
}

/// Nothing that becomes small on a tape.
fn noise() -> String {
    let numbers = (0..20_000u32).map(|number| number.wrapping_mul(2_654_435_761));
    let words: Vec<String> = numbers.map(|number| format!("{number:08x}")).collect();
    words.concat()
}

#[test]
fn a_full_disk_costs_the_agent_nothing_and_the_tape_gets_it_later() {
    let noise = noise();
    let Some((world, events)) = session("data", &noise) else {
        return;
    };
    let verified = fs::read_to_string(world.path("verified")).unwrap();
    assert!(verified.ends_with(": 0 problems\n"), "{verified}");
    for call in ["c1", "c2"] {
        let [calls, results] = ["tool.call", "tool.result"].map(|kind| count(&events, kind, call));
        assert_eq!((calls, results), (1, 1), "{call}");
    }
    let outputs = events.iter().filter(|event| event["kind"] == "tool.result");
    let outputs: Vec<&Value> = outputs.map(|event| &event["output"]).collect();
    assert_eq!(outputs, [noise.as_str(), "while it was full"]);
    let gaps = events.iter().filter(|event| event["kind"] == "gap");
    assert_eq!(gaps.count(), 0, "nothing was lost");
    let left = fs::read_dir(world.path("../home/state/jukebox/hooks"));
    let left = left.into_iter().flatten();
    let left = left.map(|entry| entry.unwrap().metadata().unwrap().len());
    assert_eq!(left.sum::<u64>(), 0, "nothing waits any more");
}

#[test]
fn what_can_be_written_nowhere_is_counted_on_the_tape() {
    let noise = noise();
    let Some((world, events)) = session("", &noise) else {
        return;
    };
    // Little things may still find a place in the last block of the tape.
    let gaps = events.iter().filter(|event| event["kind"] == "gap");
    let gaps: Vec<&str> = gaps.map(|event| event["why"].as_str().unwrap()).collect();
    assert!(!gaps.is_empty());
    for why in &gaps {
        assert!(
            why.ends_with("could be written nowhere: the disk was full"),
            "{why}"
        );
    }
    let outputs = events.iter().map(|event| &event["output"]);
    assert!(
        !outputs.into_iter().any(|output| *output == noise),
        "there was no room for it"
    );
    let verified = fs::read_to_string(world.path("verified")).unwrap();
    let problems = verified
        .lines()
        .filter(|line| !line.starts_with("recorded-gap"));
    assert_eq!(
        problems.count(),
        1,
        "the tape is whole but for that: {verified}"
    );
    let last = events.last().unwrap();
    assert_eq!(
        (&last["kind"], &last["outcome"]),
        (&json!("end"), &json!("ok"))
    );
}
