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
    format!(
        "{{\"seq\":{seq},\"t\":{seq},\"kind\":\"prompt\",\"name\":\"user\",\"text\":\"prompt {seq}\"}}\n"
    )
}
