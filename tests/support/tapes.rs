//! Tapes for tests, written by hand: no `prev`, the fields in any order.

use serde_json::json;

/// The words of the last step of every tape here.
pub(crate) const LAST_STEP: &str = "the last step";

const HEADER: &str = concat!(
    r#"{"seq":0,"t":0,"kind":"tape","format":1,"id":"018f3a5c-7e00-7000-8000-000000000000"}"#,
    "\n"
);

/// A small run: a prompt, two commands of which one fails, an edit, a last prompt.
pub(crate) fn small() -> String {
    [
        r#"{"seq":0,"t":0,"kind":"tape","format":1,"id":"018f3a5c-7e00-7000-8000-000000000000"}"#,
        r#"{"seq":1,"t":1,"kind":"prompt","name":"user","text":"make it work"}"#,
        r#"{"seq":2,"t":2,"kind":"tool.call","call":"a","name":"Bash","title":"cargo test","args":{}}"#,
        r#"{"seq":3,"t":3,"kind":"tool.result","call":"a","outcome":"failed","exit":1,"output":"no\n"}"#,
        r#"{"seq":4,"t":4,"kind":"tool.call","call":"b","name":"Write","title":"src/lib.rs","args":{}}"#,
        r#"{"seq":5,"t":5,"kind":"fs.write","call":"b","path":"src/lib.rs","enc":"text","text":"pub fn works() {}\n"}"#,
        r#"{"seq":6,"t":6,"kind":"tool.result","call":"b","outcome":"ok","output":"written\n"}"#,
        r#"{"seq":7,"t":7,"kind":"prompt","name":"user","text":"the last step"}"#,
        "",
    ]
    .join("\n")
}

/// A run of so many prompts, the last of them the last step.
pub(crate) fn prompts(steps: usize) -> String {
    let mut tape = String::from(HEADER);
    for seq in 1..steps {
        tape += &prompt(seq);
    }
    let last =
        json!({"seq": steps, "t": steps, "kind": "prompt", "name": "user", "text": LAST_STEP});
    tape + &last.to_string() + "\n"
}

/// The line of a prompt.
pub(crate) fn prompt(seq: usize) -> String {
    let words = format!("prompt {seq}");
    let line = json!({"seq": seq, "t": seq, "kind": "prompt", "name": "user", "text": words});
    line.to_string() + "\n"
}

/// A tape with something that fools a terminal in every field that can hold text.
pub(crate) fn hostile() -> String {
    let evil = concat!(
        "evil \x1b]52;c;aGVsbG8=\x07 \x1b]0;title\x1b\\ \x1b[2J\x1b[31m \x1bP1$r\x1b\\ \x1b_a\x1b\\ \x1b]8;;http://x\x07link ",
        "\u{9b}31m \u{9d}0;c1\u{9c} \x08\x08\x08 \rrm -rf / \x07 \x0e\x0f \x7f \u{202e}evil\u{202c} \u{200b}\u{feff} \u{e0041} ",
        "\x1b]9;7;cmd\x07 \x1b[?1049l \x1b]777;notify;a;b\x1b\\ unterminated \x1b]2;"
    );
    let call = |seq: u64, id: &str| {
        json!({"seq": seq, "t": seq, "kind": "tool.call", "call": id, "name": evil,
            "title": evil, "agent": evil, "args": {evil: evil, "command": evil, "nested": [{evil: [evil]}]}})
    };
    let lines = [
        json!({"seq": 0, "t": 0, "kind": "tape", "name": evil, "format": 1, "id": evil,
            "started": evil, "root": evil, "recorder": evil, "covers": {evil: evil}, "source": {evil: evil}}),
        json!({"seq": 1, "t": 1, "kind": "prompt", "name": evil, "title": evil, "text": evil}),
        json!({"seq": 2, "t": 2, "kind": "model.response", "name": evil, "call": evil, "outcome": "ok",
            "blocks": [{"type": "text", "text": evil}, {"type": "thinking", "text": evil},
                {"type": evil, "text": evil, "data": {evil: evil}},
                {"type": "tool_call", "name": evil, "call": "a", "args": {evil: evil}}], "stop": evil}),
        call(3, "a"),
        json!({"seq": 4, "t": 4, "kind": "fs.write", "call": "a", "path": evil.replace('/', "|"), "mode": "644",
            "enc": "text", "text": evil, "remark": evil}),
        json!({"seq": 5, "t": 5, "kind": "fs.write", "call": "a", "path": format!("src/{}.rs", evil.replace('/', "|")),
            "enc": "text", "text": format!("{evil}\n{evil}\n")}),
        json!({"seq": 6, "t": 6, "kind": "fs.symlink", "call": "a", "path": "link", "target": evil}),
        json!({"seq": 7, "t": 7, "kind": "fs.suspect", "call": "a", "why": evil}),
        json!({"seq": 8, "t": 8, "kind": "tool.result", "call": "a", "outcome": "failed", "exit": 1,
            "output": evil, "detail": {evil: evil}}),
        json!({"seq": 9, "t": 9, "kind": evil, "text": evil, evil: evil}),
        json!({"seq": 10, "t": 10, "kind": "note", "text": evil}),
        json!({"seq": 11, "t": 11, "kind": "gap", "why": evil}),
        json!({"seq": 12, "t": 12, "kind": "branch", "branch": evil, "at": 8, "why": evil}),
        json!({"seq": 13, "t": 13, "kind": "agent.start", "agent": evil, "name": evil}),
        json!({"seq": 14, "t": 14, "kind": "txn.begin", "txn": evil}),
        json!({"seq": 15, "t": 15, "kind": "txn.savepoint", "txn": evil, "name": evil}),
        json!({"seq": 16, "t": 16, "kind": "raw", "name": evil, "text": evil}),
        json!({"seq": 17, "t": 17, "kind": "effect.intent", "call": evil, "key": evil}),
        json!({"seq": 18, "t": 18, "kind": "prompt", "name": "user", "text": LAST_STEP}),
    ];
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let mut tape = lines.join("\n") + "\n";
    // A line that is no JSON is quoted in a problem.
    let header = tape.find('\n').unwrap() + 1;
    tape.insert_str(header, &format!("{evil}\n"));
    tape
}
