//! Sub-agents, branches and transactions on the timeline; what nobody sees; the views of
//! the state pane, on a tape that holds some of each.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{InlineWorker, Screen};

/// A tape that is being written by hand.
#[derive(Default)]
pub(crate) struct Tape {
    lines: String,
    seq: u64,
}

impl Tape {
    fn new() -> Self {
        let mut tape = Self::default();
        let id = "018f3a5c-7e00-7000-8000-000000000000";
        tape.event(
            "tape",
            json!({"format": 1, "id": id, "name": "an agent 2.1", "root": "/w",
                "covers": {"edits": "exact"}, "source": {"git_branch": "topic"}}),
        );
        tape
    }

    fn event(&mut self, kind: &str, fields: Value) {
        let mut line = json!({"seq": self.seq, "t": self.seq * 700_000, "kind": kind});
        let Value::Object(fields) = fields else {
            panic!("no object");
        };
        line.as_object_mut().unwrap().extend(fields);
        let _ = writeln!(self.lines, "{line}");
        self.seq += 1;
    }

    /// A call with its result: these fields in both, and what comes between.
    fn call(&mut self, lane: &Value, name: &str, title: &str, result: Value, files: &[Value]) {
        let id = format!("c{}", self.seq);
        let with = |fields: Value| {
            let mut all = lane.clone();
            let map = all.as_object_mut().unwrap();
            map.insert("call".to_owned(), id.clone().into());
            map.extend(fields.as_object().unwrap().clone());
            all
        };
        let call = with(json!({"name": name, "title": title, "args": {"of": title}}));
        self.event("tool.call", call);
        for file in files {
            let kind = file["kind"].as_str().unwrap_or("fs.write").to_owned();
            self.event(&kind, with(file.clone()));
        }
        self.event("tool.result", with(result));
    }

    fn model(&mut self, lane: &Value, text: &str, tokens: u64) {
        let mut fields = json!({"name": "model-x", "outcome": "ok",
            "blocks": [{"type": "thinking", "text": "a thought\nof two lines"}, {"type": "text", "text": text}],
            "usage": {"input_tokens": tokens, "output_tokens": 7, "cache_read_tokens": 1000}});
        let lane = lane.as_object().unwrap().clone();
        fields.as_object_mut().unwrap().extend(lane);
        self.event("model.response", fields);
    }

    /// What stands on it.
    pub(crate) fn lines(&self) -> &str {
        &self.lines
    }

    /// The screen on it, at its end.
    pub(crate) fn open(&self, columns: u16, rows: u16) -> (TempDir, Screen<InlineWorker>) {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("run.jsonl");
        std::fs::write(&path, &self.lines).unwrap();
        let screen = Screen::open(&path, columns, rows);
        (directory, screen)
    }
}

fn file(path: &str, text: &str) -> Value {
    json!({"path": path, "enc": "text", "text": text})
}

fn ok() -> Value {
    json!({"outcome": "ok", "output": "done"})
}

/// Steps 4 to 9 are those of a sub-agent; 7 and 8 of one that it started.
pub(crate) fn run() -> Tape {
    let mut tape = Tape::new();
    let (main, one, two) = (json!({}), json!({"agent": "a1"}), json!({"agent": "a2"}));
    tape.event("prompt", json!({"name": "system", "text": "Be careful."}));
    tape.event("prompt", json!({"name": "user", "text": "Find it."}));
    tape.event(
        "tool.call",
        json!({"call": "t1", "name": "Task", "title": "look around", "args": {}}),
    );
    tape.event(
        "agent.start",
        json!({"agent": "a1", "call": "t1", "name": "explore"}),
    );
    tape.model(&one, "I look.", 2000);
    tape.call(
        &one,
        "Bash",
        "make needle",
        json!({"outcome": "failed", "exit": 2, "output": "no"}),
        &[],
    );
    tape.event(
        "tool.call",
        json!({"agent": "a1", "call": "t2", "name": "Task", "title": "deeper", "args": {}}),
    );
    tape.event(
        "agent.start",
        json!({"agent": "a2", "call": "t2", "name": "reader"}),
    );
    tape.call(
        &two,
        "Read",
        "src/a.rs",
        ok(),
        &[json!({"kind": "fs.observe", "path": "src/a.rs", "enc": "text", "text": "needle\n"})],
    );
    tape.model(&two, "Read it.", 500);
    tape.event(
        "tool.result",
        json!({"agent": "a1", "call": "t2", "outcome": "ok", "output": "done"}),
    );
    tape.model(&one, "Found it.", 3000);
    tape.event(
        "tool.result",
        json!({"call": "t1", "outcome": "ok", "output": "found"}),
    );
    tape.model(&main, "Now I know.", 90_000);
    tape.call(
        &main,
        "Read",
        "src/b.rs",
        ok(),
        &[json!({"kind": "fs.observe", "path": "src/b.rs", "enc": "text", "text": "old\n"})],
    );
    tape.call(
        &main,
        "Edit",
        "src/b.rs",
        ok(),
        &[file("src/b.rs", "new \u{202e}hidden\n")],
    );
    tape.event("txn.begin", json!({"txn": "try"}));
    tape.call(
        &json!({"txn": "try"}),
        "Write",
        "src/c.rs",
        ok(),
        &[file("src/c.rs", "x\n")],
    );
    tape.event("txn.rollback", json!({"txn": "try"}));
    tape.event("effect.intent", json!({"call": "e1", "key": "mail"}));
    tape.model(&main, "Shorter now.", 4000);
    let at = tape.seq - 1;
    tape.event(
        "branch",
        json!({"branch": "second-try", "at": at, "why": "went back"}),
    );
    tape.event("prompt", json!({"name": "user", "text": "Go on."}));
    tape.event(
        "prompt",
        json!({"branch": "second-try", "name": "user", "text": "Or so."}),
    );
    tape.event("prompt", json!({"name": "user", "text": "The end."}));
    tape
}

#[test]
fn a_sub_agent_folds_to_one_row_and_steps_keep_their_numbers() {
    for (columns, rows) in [(160, 45), (100, 30), (80, 24), (60, 20), (30, 30)] {
        let (_directory, mut screen) = run().open(columns, rows);
        screen.keys("4 G");
        screen.shows("▾ ◆");
        screen.shows("╎ ▾ ○");
        screen.keys("l s");
        assert_eq!(screen.step(), 5, "folding moves nothing");
        screen.shows(if columns == 160 {
            "▹ agent explore · 6 steps · ✗ 1 failed"
        } else {
            " · ✗ 1"
        });
        screen.shows(" @5");
        screen.hides("▾ ◆");
        screen.keys("l");
        assert_eq!(screen.step(), 10);
        screen.keys("h");
        assert_eq!(screen.step(), 4, "the fold stands for its first step");
        screen.keys("h h l l l");
        assert_eq!(screen.step(), 10);
        screen.keys("e");
        assert_eq!(screen.step(), 5, "what is folded is found");
        screen.keys(": 7 Enter");
        assert_eq!(screen.step(), 7);
        screen.shows(" @7");
        screen.keys("/ n e e d l e Enter");
        if columns > 30 {
            screen.shows(" · • 1");
        }
        screen.keys("Esc 1 Enter");
        screen.shows("╎ ▾ ○");
        screen.keys("S");
        screen.shows("▹");
        screen.hides("▾ ◆");
        screen.keys("S");
        screen.shows("▾ ◆");
        screen.hides("▹ agent");
        screen.keys("G s");
        screen.shows("no sub-agent at this step");
        assert!(!screen.app.wants_tick());
    }
}

#[test]
fn inner_agents_fold_alone_and_folds_say_how_many_there_are() {
    let (_directory, mut screen) = run().open(160, 45);
    screen.keys("7 G s");
    screen.shows("╎ ▹ agent reader · 2 steps");
    screen.shows("steps, 1 folded");
    screen.keys("l");
    assert_eq!(screen.step(), 9);
    // At the call that started it, it is meant, too.
    screen.keys("6 G s");
    screen.hides("▹ agent");
    screen.keys(": 3 Enter s");
    screen.shows("▹ agent explore · 6 steps");
}

#[test]
fn branches_are_named_where_they_leave_and_what_is_undone_says_so() {
    let (_directory, mut screen) = run().open(160, 45);
    screen.keys("g");
    let row = |screen: &Screen<InlineWorker>, words: &str| {
        let text = screen.text();
        let row = text.lines().find(|line| line.contains(words));
        row.unwrap_or_else(|| panic!("{words}:\n{text}")).to_owned()
    };
    assert!(row(&screen, "Shorter now.").contains("⑂ second-try"));
    assert!(row(&screen, "begin try").contains("rolled back"));
    assert!(row(&screen, "src/c.rs").starts_with("┃┊"));
    assert!(screen.frame()[1].contains('⑂'));
    screen.keys("1 6 G b");
    screen.shows("Timeline · second-try");
    assert!(row(&screen, "16  ◆").contains("↶ main"));
    screen.shows("Or so.");
    screen.hides("Go on.");
}

#[test]
fn a_step_with_hidden_characters_has_a_badge() {
    for (columns, rows) in [(160, 45), (80, 24), (60, 20)] {
        let (_directory, mut screen) = run().open(columns, rows);
        screen.keys("1 2 G");
        let text = screen.text();
        let badges: Vec<&str> = text.lines().filter(|line| line.contains('◌')).collect();
        assert_eq!(badges.len(), 1, "{text}");
        assert!(badges[0].contains("▸12"), "{text}");
    }
}

#[test]
fn the_conversation_is_read_up_to_the_playhead() {
    for (columns, rows) in [(160, 45), (100, 30), (60, 20)] {
        let (_directory, mut screen) = run().open(columns, rows);
        screen.keys("1 0 G V z");
        screen.shows("2 Conversation @10");
        screen.shows("thinks, 2 lines: a thought");
        screen.shows("Now I know.");
        screen.hides("src/b.rs");
        screen.shows("╎ ◆ thinks");
        screen.hides("of two lines");
        screen.keys("Enter");
        screen.shows("of two lines");
        screen.keys("k");
        screen.shows("turn 9");
        screen.keys("g");
        screen.shows("turn 1");
        screen.shows("Be careful.");
        screen.keys("G Enter");
        screen.hides("of two lines");
        screen.keys("h");
        screen.shows("2 Conversation @9");
        screen.hides("Now I know.");
        assert!(!screen.app.wants_tick());
    }
}

#[test]
fn the_context_says_what_was_seen_and_how_stale_it_is() {
    let (_directory, mut screen) = run().open(160, 45);
    screen.keys("V V");
    screen.shows("2 Context @");
    screen.shows("91k tokens at most");
    screen.shows("step 16: from 91k to 5000 tokens");
    screen.shows("src/b.rs: read at 11, changed since at 12");
    screen.hides("src/a.rs: read");
    screen.shows("Be careful.");
    screen.shows("They are not recorded.");
    // Of a sub-agent, what that saw.
    screen.keys(": 8 Enter");
    screen.shows("tokens by turn of sub-agent reader");
    screen.shows("src/a.rs: read at 7");
}

#[test]
fn a_turn_of_the_conversation_leads_to_its_step() {
    let (_directory, mut screen) = run().open(160, 45);
    screen.keys("1 0 G V k k");
    let chosen = |screen: &Screen<InlineWorker>| {
        let text = screen.text();
        let (_, rest) = text.split_once("turn ").unwrap();
        rest.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
    };
    let turn = chosen(&screen);
    screen.shows("Enter go there");
    screen.keys("Enter");
    assert_eq!(screen.step().to_string(), turn);
    screen.shows("2 Conversation");
    screen.keys("u");
    assert_eq!(screen.step(), 10);
}

#[test]
fn a_row_of_the_context_leads_to_its_step() {
    for (columns, rows) in [(160, 45), (60, 20)] {
        let (_directory, mut screen) = run().open(columns, rows);
        screen.keys("2 V V");
        // The head of the first section is about no step.
        screen.keys("Enter");
        screen.shows("about no step");
        screen.keys("G k k k k k k");
        let mut tries = 0;
        while !screen.text().contains("Enter go there") {
            screen.keys("k");
            tries += 1;
            assert!(tries < 60, "{}", screen.text());
        }
        let before = screen.step();
        screen.keys("Enter");
        assert_ne!(screen.step(), before);
        screen.shows("2 Context @");
        screen.keys("u");
        assert_eq!(screen.step(), before);
    }
}

#[test]
fn the_environment_says_what_was_recorded_and_what_was_not() {
    let (_directory, mut screen) = run().open(160, 45);
    screen.keys("1 4 G V V V");
    screen.shows("2 Environment @14");
    screen.shows("an agent 2.1");
    screen.shows("git branch  topic");
    screen.shows("git commit  not recorded");
    screen.shows("try, since step 13");
    screen.shows("None were recorded up to here.");
    screen.keys("1 G 2");
    screen.shows("None is open here.");
    screen.shows("effect.intent");
    screen.keys("V");
    screen.shows("2 Transaction @");
    screen.shows("rolled back in step 15");
    screen.keys("V");
    screen.shows("2 Effects @");
    screen.keys("V");
    screen.shows("2 Numbers");
    screen.keys("V");
    screen.shows("2 State @");
}
