//! Sub-agents, in each of the layouts of the years.

use jukebox::import::claude_code::Options;
use jukebox::model::{Certainty, Kind, ProblemKind};
use serde_json::{Value, json};

use crate::session::{Run, Session, exact};

/// A main file that delegates, and the lines of the sub-agent.
fn delegation() -> (Session, Session) {
    let mut main = Session::new();
    main.user("delegate");
    main.write("T1", "/w/m.txt", "main\n");
    main.call(
        "T2",
        "Task",
        &json!({"prompt": "sub work", "subagent_type": "general"}),
    );
    main.seconds += 30;
    main.result(
        "T2",
        "sub done",
        &json!({"agentId": "ag1", "status": "completed"}),
    );
    main.edit("T3", "/w/m.txt", Some("sub\n"), "sub", "final");
    let mut agent = Session {
        sidechain: true,
        prefix: "a",
        seconds: 10,
        ..Session::default()
    };
    agent.user("sub work");
    agent.edit("S1", "/w/m.txt", Some("main\n"), "main", "sub");
    agent.says("sub done");
    (main, agent)
}

#[test]
fn sub_agents_are_found_in_every_layout() {
    let (main, agent) = delegation();
    let check = |run: &Run, id: &str| {
        assert_eq!(run.after("T1", "m.txt"), exact("main\n"));
        assert_eq!(run.after("S1", "m.txt"), exact("sub\n"));
        assert_eq!(run.after("T2", "m.txt"), exact("sub\n"));
        assert_eq!(run.after("T3", "m.txt"), exact("final\n"));
        assert_eq!(run.report.outside_changes, 0);
        let agents: Vec<String> = run
            .shape()
            .into_iter()
            .filter(|line| line.ends_with(id))
            .collect();
        let expected = [
            "agent.start",
            "prompt",
            "model.response",
            "tool.call",
            "fs.write",
            "tool.result",
            "model.response",
            "agent.end",
        ];
        assert_eq!(agents, expected.map(|kind| format!("{kind} {id}")));
        let order = [
            run.seq("T2", Kind::ToolCall),
            run.seq("T2", Kind::AgentStart),
            run.seq("S1", Kind::ToolCall),
            run.seq("T2", Kind::AgentEnd),
            run.seq("T2", Kind::ToolResult),
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!(run.report.agents, 1);
    };
    let options = Options::default();
    for place in [
        "agent-ag1.jsonl",
        "session/subagents/agent-ag1.jsonl",
        "s/subagents/agent-ag1.jsonl",
        "session/subagents/workflows/wf_1/agent-ag1.jsonl",
    ] {
        let run = Run::with(&main.text(), &[(place, &agent.text())], &options);
        check(&run, "ag1");
    }

    // In the main file, as records of a side chain.
    let mut inline = main.lines.clone();
    let at = inline
        .iter()
        .position(|line| line.contains("agentId"))
        .unwrap();
    inline.splice(at..at, agent.lines.iter().cloned());
    check(&Run::of(&inline.join("\n")), "agent-1");

    // In the main file, within progress records.
    let mut inline = main.lines.clone();
    let progress = agent.lines.iter().map(|line| {
        let nested: Value = serde_json::from_str(line).unwrap();
        json!({"type": "progress", "uuid": format!("p{}", nested["uuid"]), "parentUuid": null,
            "sessionId": "s", "timestamp": nested["timestamp"], "parentToolUseID": "T2",
            "data": {"type": "agent_progress", "agentId": "ag1", "message": nested}})
        .to_string()
    });
    inline.splice(at..at, progress);
    check(&Run::of(&inline.join("\n")), "ag1");
}

#[test]
fn a_missing_sub_agent_is_said_and_its_doings_are_suspected() {
    let (main, other) = delegation();
    let foreign = other
        .text()
        .replace("\"sessionId\":\"s\"", "\"sessionId\":\"t\"");
    let run = Run::with(
        &main.text(),
        &[("agent-zz.jsonl", &foreign)],
        &Options::default(),
    );
    assert_eq!(run.notes(), ["sub-agent log not found: ag1"]);
    assert_eq!(run.report.problems[0].kind, ProblemKind::MissingPart);
    assert_eq!(run.after("T2", "m.txt").0, Certainty::Uncertain);
    assert_eq!(
        run.report.agents, 0,
        "another session's sub-agent is not ours"
    );
}
