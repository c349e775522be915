//! A running agent, recorded through its hooks: real processes are called as the agent calls
//! them, files change between them, and the tape is looked at as anybody would look at it.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use rustix::process::{Signal, geteuid, kill_process};
use serde_json::{Value, json};

use super::agent::{
    Agent, check_content, check_silent, check_story, check_whole, events, give, kill, recorders,
    story,
};
use super::world::World;

#[test]
fn a_session_is_recorded_with_what_each_call_changed() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "one");
    agent.write("a.txt", "before\n");
    agent.hook(
        "SessionStart",
        json!({"source": "startup", "model": "a-model"}),
    );
    agent.hook("UserPromptSubmit", json!({"prompt": "Fix it."}));
    agent.says("r1", "m1", json!({"type": "text", "text": "I make it."}));
    let ask = json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "./c1"}});
    agent.says("r2", "m1", ask);
    agent.bash("c1");
    assert!(agent.is_recorded(), "it outlives the hooks");
    agent.write("a.txt", "after\n");
    agent.write("b.txt", "new\n");
    agent.result("c1");
    agent.write("a.txt", "by hand\n");
    agent.call(
        "c2",
        "Write",
        json!({"file_path": agent.workspace.join("c.txt")}),
    );
    let tape = agent.tape();
    assert!(story(&tape).ends_with("tool.call c2\n"), "while it grows");
    let denied = json!({"tool_name": "Write", "tool_use_id": "c2", "reason": "not this one"});
    agent.hook("PermissionDenied", denied);
    agent.bash("c3");
    let failed = json!({"tool_name": "Bash", "tool_use_id": "c3", "error": "Exit code 3\nno", "is_interrupt": false});
    agent.hook("PostToolUseFailure", failed);
    agent.says("r3", "m2", json!({"type": "text", "text": "Done."}));
    agent.hook("Stop", json!({"stop_hook_active": false, "mine": [1]}));
    agent.end();
    agent.wait_for_recorder();
    check_story(
        &agent,
        "prompt
        model.response m1 ok
        model.response m1 ok
        tool.call c1
        fs.write c1 a.txt
        fs.write c1 b.txt
        tool.result c1 ok
        fs.write a.txt outside
        tool.call c2
        tool.result c2 refused
        tool.call c3
        tool.result c3 failed
        model.response m2 ok
        raw Stop
        raw SessionEnd
        end ok",
    );
    check_content(&agent, "a.txt", "by hand\n");
    let events = events(&tape);
    let result = events
        .iter()
        .find(|event| event["call"] == "c3" && event["kind"] == "tool.result");
    assert_eq!(result.unwrap()["exit"], 3);
    let result = events
        .iter()
        .find(|event| event["call"] == "c1" && event["kind"] == "tool.result");
    assert_eq!(result.unwrap()["output"], "c1 is done");
    let prompt = events
        .iter()
        .find(|event| event["kind"] == "prompt")
        .unwrap();
    assert_eq!(
        prompt["hook"]["permission_mode"], "default",
        "what is unknown is kept"
    );
    let stop = events
        .iter()
        .find(|event| event["title"] == "Stop")
        .unwrap();
    assert!(stop["text"].as_str().unwrap().contains("\"mine\":[1]"));
    assert_eq!(events[0]["source"]["start"]["model"], "a-model");
    assert_eq!(
        fs::metadata(&tape).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn turns_that_the_transcript_shows_late_are_appended_once() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "late");
    agent.hook("UserPromptSubmit", json!({"prompt": "Go."}));
    agent.bash("c1");
    agent.result("c1");
    let ask = json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {}});
    agent.says("r1", "m1", ask);
    agent.hook("Stop", json!({}));
    kill(&world);
    agent.says("r2", "m2", json!({"type": "text", "text": "Done."}));
    agent.hook("Stop", json!({}));
    agent.end();
    check_story(
        &agent,
        "prompt
        tool.call c1
        tool.result c1 ok
        model.response m1 ok
        raw Stop
        model.response m2 ok
        raw Stop
        raw SessionEnd
        end ok",
    );
    let tape = agent.tape();
    let events = events(&tape);
    let response = events.iter().find(|event| event["call"] == "m1").unwrap();
    assert_eq!(response["blocks"][0]["call"], "c1", "the call is named");
    assert_eq!(response["hook"]["record"], "r1");
}

#[test]
fn what_was_before_the_tape_is_not_taken_from_the_transcript() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "older");
    let old = json!({"id": "m0", "role": "assistant", "content": [{"type": "text", "text": "Long ago."}]});
    agent.note(json!({"type": "assistant", "uuid": "r0", "timestamp": "2020-01-01T00:00:00Z", "message": old}));
    let ask = json!({"type": "tool_use", "id": "c1", "name": "Bash", "input": {}});
    let new = json!({"id": "m1", "role": "assistant", "content": [ask]});
    agent.note(json!({"type": "assistant", "uuid": "r1", "timestamp": "2020-01-01T00:00:01Z", "message": new}));
    agent.bash("c1");
    agent.result("c1");
    agent.end();
    check_story(
        &agent,
        "model.response m1 ok
        tool.call c1
        tool.result c1 ok
        raw SessionEnd
        end ok",
    );
}

#[test]
fn a_call_that_nobody_ended_is_over_with_the_turn() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "open");
    agent.bash("c1");
    agent.write("a.txt", "a");
    agent.bash("c2");
    let block = json!({"type": "tool_result", "tool_use_id": "c1", "content": "User rejected tool use", "is_error": true});
    agent.note(
        json!({"type": "user", "uuid": "r1", "message": {"role": "user", "content": [block]}}),
    );
    agent.hook("Stop", json!({}));
    agent.write("b.txt", "b");
    agent.hook("UserPromptSubmit", json!({"prompt": "And now?"}));
    agent.result("c3");
    agent.end();
    check_story(
        &agent,
        "tool.call c1
        fs.write c1 a.txt
        tool.call c2
        raw Stop
        tool.result c1 refused
        tool.result c2
        fs.write b.txt outside
        prompt
        tool.call c3
        tool.result c3 ok
        raw SessionEnd
        end ok",
    );
}

/// No directory is the user's alone, so that a hook and its recorder cannot meet.
fn close_meeting_places(world: &World) {
    let fallback = world.path(format!("../jukebox-{}", geteuid().as_raw()));
    let _is_there = fs::create_dir(&fallback);
    for directory in [fallback, world.path("../run/jukebox")] {
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    }
}

fn open_meeting_place(world: &World) {
    let directory = world.path("../run/jukebox");
    fs::set_permissions(directory, Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_happened_while_no_recorder_could_run_is_taken_in_later() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "spooled");
    agent.write("gone.txt", "gone");
    agent.write("kept.txt", "kept");
    agent.hook("UserPromptSubmit", json!({"prompt": "Go."}));
    agent.call("c1", "Bash", json!({"command": "touch one.txt"}));
    kill(&world);
    close_meeting_places(&world);
    agent.write("one.txt", "1");
    agent.result("c1");
    agent.call(
        "c2",
        "Bash",
        json!({"command": "touch two.txt; rm gone.txt"}),
    );
    agent.write("two.txt", "2");
    fs::remove_file(agent.workspace.join("gone.txt")).unwrap();
    agent.result("c2");
    let status: Value =
        serde_json::from_str(&world.type_in("hook status --json").stdout()).unwrap();
    assert_eq!(status["waiting"], 1, "{status}");
    open_meeting_place(&world);
    agent.hook("Stop", json!({}));
    agent.hook("Stop", json!({}));
    agent.end();
    check_story(
        &agent,
        "prompt
        tool.call c1
        tool.call c2
        fs.remove c2 gone.txt
        fs.write c1 one.txt
        fs.write c2 two.txt
        tool.result c1 ok
        tool.result c2 ok
        raw Stop
        raw Stop
        raw SessionEnd
        end ok",
    );
    let status: Value =
        serde_json::from_str(&world.type_in("hook status --json").stdout()).unwrap();
    assert_eq!(status["waiting"], 0, "{status}");
}

#[test]
fn a_recorder_that_is_killed_at_any_time_costs_nothing() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "killed");
    for round in 0..6 {
        let call = format!("c{round}");
        agent.bash(&call);
        if round % 3 == 0 {
            kill(&world);
        }
        agent.write("a.txt", &call);
        if round % 3 == 1 {
            kill(&world);
        }
        agent.result(&call);
        if round % 3 == 2 {
            kill(&world);
        }
    }
    agent.end();
    let expected: String = (0..6).fold(String::new(), |mut text, round| {
        let _ = writeln!(
            text,
            "tool.call c{round}\nfs.write c{round} a.txt\ntool.result c{round} ok"
        );
        text
    });
    check_story(&agent, &format!("{expected}raw SessionEnd\nend ok"));
}

#[test]
fn a_recorder_that_is_stopped_or_hears_nothing_ends_its_tape_and_the_next_goes_on_with_it() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "stopped");
    agent.bash("c1");
    agent.write("a.txt", "a");
    kill_process(recorders(&world)[0], Signal::TERM).unwrap();
    agent.wait_for_recorder();
    close_meeting_places(&world);
    agent.bash("c2");
    open_meeting_place(&world);
    let idle = world.type_in("hook serve --session=stopped --idle 0");
    check_silent(&idle);
    check_story(
        &agent,
        "tool.call c1
        fs.write c1 a.txt
        tool.result c1
        end interrupted
        tool.call c2
        tool.result c2
        end",
    );
}

#[test]
fn a_tape_that_could_not_be_begun_is_begun_anew() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "empty");
    agent.bash("c1");
    let tape = agent.tape();
    kill(&world);
    fs::write(&tape, "").unwrap();
    // Under the name of an earlier time, so that the new one finds its own free.
    let name = tape
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .replacen("20", "19", 1);
    fs::rename(&tape, tape.with_file_name(name)).unwrap();
    agent.result("c1");
    agent.end();
    check_story(
        &agent,
        "tool.call c1\ntool.result c1 ok\nraw SessionEnd\nend ok",
    );
}

#[test]
fn first_hooks_at_once_start_one_recorder() {
    const CALLS: usize = 6;
    let world = World::new(&[]);
    let agent = Agent::new(&world, "many");
    let in_parallel = |what: &(dyn Fn(usize) + Sync)| {
        thread::scope(|scope| {
            for number in 0..CALLS {
                scope.spawn(move || what(number));
            }
        });
    };
    in_parallel(&|number| {
        let path = agent.workspace.join(format!("{number}.txt"));
        agent.call(&format!("c{number}"), "Write", json!({"file_path": path}));
    });
    assert_eq!(recorders(&world).len(), 1);
    in_parallel(&|number| {
        agent.write(&format!("{number}.txt"), "text");
        agent.result(&format!("c{number}"));
    });
    agent.end();
    let told = story(&agent.tape());
    for number in 0..CALLS {
        let own = format!("fs.write c{number} {number}.txt\n");
        assert_eq!(told.matches(&own).count(), 1, "{told}");
        assert_eq!(
            told.matches(&format!("tool.result c{number} ok\n")).count(),
            1
        );
    }
    check_whole(&agent);
    let tapes = fs::read_dir(agent.tape().parent().unwrap())
        .unwrap()
        .count();
    assert_eq!(tapes, 1);
}

#[test]
fn sessions_in_one_workspace_share_its_changes_and_others_know_nothing() {
    let world = World::new(&[]);
    let one = Agent::new(&world, "one");
    let two = Agent::new(&world, "two");
    let far = Agent::below(&world, "far", "elsewhere");
    for agent in [&one, &two, &far] {
        agent.hook("UserPromptSubmit", json!({"prompt": "Go."}));
    }
    one.bash("c1");
    two.bash("c2");
    far.bash("c3");
    one.write("a.txt", "a");
    far.write("far.txt", "far");
    for (agent, call) in [(&one, "c1"), (&two, "c2"), (&far, "c3")] {
        agent.result(call);
    }
    one.bash("c4");
    one.write("b.txt", "b");
    one.result("c4");
    for agent in [&one, &two, &far] {
        agent.end();
    }
    check_story(
        &one,
        "prompt\ntool.call c1\nfs.write a.txt [\"c1\",\"c2\"]\ntool.result c1 ok
        tool.call c4\nfs.write c4 b.txt\ntool.result c4 ok\nraw SessionEnd\nend ok",
    );
    check_story(
        &two,
        "prompt\ntool.call c2\nfs.write a.txt [\"c2\",\"c1\"]\ntool.result c2 ok
        fs.write b.txt outside [\"c4\"]\nraw SessionEnd\nend ok",
    );
    check_story(
        &far,
        "prompt\ntool.call c3\nfs.write c3 far.txt\ntool.result c3 ok\nraw SessionEnd\nend ok",
    );
}

#[test]
fn sub_agents_have_edges_calls_and_turns_of_their_own() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "agents");
    agent.call(
        "t1",
        "Task",
        json!({"prompt": "Look.", "subagent_type": "looker"}),
    );
    let of_agent = |more: Value| {
        let mut fields = json!({"agent_id": "a1", "agent_type": "looker"});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        fields
    };
    agent.hook("SubagentStart", of_agent(json!({})));
    let turn = json!({"id": "m1", "role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]});
    let beside = world.put("agents/subagents/agent-a1.jsonl", format!("{}\n", json!({
        "type": "assistant", "uuid": "r1", "isSidechain": true, "agentId": "a1", "message": turn,
    })));
    agent.hook(
        "PreToolUse",
        of_agent(
            json!({"tool_name": "Bash", "tool_input": {"command": "./x"}, "tool_use_id": "c1"}),
        ),
    );
    agent.write("a.txt", "a");
    agent.hook(
        "PostToolUse",
        of_agent(json!({"tool_name": "Bash", "tool_use_id": "c1", "tool_response": "ok"})),
    );
    agent.hook(
        "SubagentStop",
        of_agent(json!({"agent_transcript_path": beside})),
    );
    agent.result("t1");
    agent.end();
    check_story(
        &agent,
        "tool.call t1
        agent.start a1 t1
        model.response a1 m1 ok
        tool.call a1 c1
        fs.write a1 c1 a.txt
        tool.result a1 c1 ok
        agent.end a1 ok
        tool.result t1 ok
        raw SessionEnd
        end ok",
    );
}

#[test]
fn what_is_no_record_disturbs_nobody() {
    let world = World::new(&[]);
    let inputs = [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "\u{feff}{}",
        "{\"session_id\":7,\"hook_event_name\":\"Stop\"}",
        "{\"session_id\":\"\",\"hook_event_name\":\"Stop\"}",
        "{\"session_id\":\"x\"}",
    ];
    for input in inputs {
        check_silent(&give(&world, input));
    }
    assert!(recorders(&world).is_empty());
    let status: Value =
        serde_json::from_str(&world.type_in("hook status --json").stdout()).unwrap();
    assert!(status["refused"].as_u64().unwrap() > 0, "{status}");
    // Records that lack what they should have are kept as they are.
    let agent = Agent::new(&world, "odd");
    agent.hook("PreToolUse", json!({"tool_name": ["x"], "tool_use_id": 5}));
    agent.hook(
        "PostToolUse",
        json!({"tool_use_id": "c1", "tool_response": {"a": 1}}),
    );
    agent.hook("Brandnew", json!({"what": null}));
    agent.hook("UserPromptSubmit", json!({"prompt": "\u{1b}[2J", "cwd": 5}));
    agent.end();
    check_story(
        &agent,
        "raw PreToolUse\ntool.call c1\ntool.result c1 ok\nraw Brandnew\nprompt\nraw SessionEnd\nend ok",
    );
}

#[test]
fn a_home_directory_is_not_watched_and_the_tape_says_so() {
    let world = World::new(&[]);
    let home = world.path("../home").canonicalize().unwrap();
    let agent = Agent::below(&world, "home", "../home");
    agent.bash("c1");
    fs::write(home.join("secret"), "mine").unwrap();
    agent.result("c1");
    agent.end();
    check_story(
        &agent,
        "tool.call c1\ntool.result c1 ok\nraw SessionEnd\nend ok",
    );
    let covers = events(&agent.tape())[0]["covers"]["files"].clone();
    assert!(
        covers.as_str().unwrap().contains("home directory"),
        "{covers}"
    );
}

#[test]
fn a_session_that_goes_on_after_its_end_goes_on_with_its_tape() {
    let world = World::new(&[]);
    let agent = Agent::new(&world, "again");
    agent.hook("SessionStart", json!({"source": "startup"}));
    agent.bash("c1");
    agent.result("c1");
    agent.end();
    agent.write("a.txt", "between");
    agent.hook("SessionStart", json!({"source": "resume"}));
    agent.bash("c2");
    agent.write("a.txt", "then");
    agent.result("c2");
    agent.end();
    check_story(
        &agent,
        "tool.call c1
        tool.result c1 ok
        raw SessionEnd
        end ok
        fs.write a.txt outside
        raw SessionStart
        tool.call c2
        fs.write c2 a.txt
        tool.result c2 ok
        raw SessionEnd
        end ok",
    );
}
