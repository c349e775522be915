//! The document in which a step's output is edited: what was written is read back, whatever
//! stands in it, and a mistake is found where it is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use jukebox::model::{BlobHash, BlockKind, ModelBlock, Outcome};
use jukebox::replay::document::{Document, Output, Reading, write};
use proptest::prelude::*;
use serde_json::{Value, json};

fn block(kind: BlockKind, text: &str, data: Value) -> ModelBlock {
    ModelBlock {
        kind,
        text: text.to_owned(),
        call: (kind == BlockKind::ToolCall).then(|| "call-1".to_owned()),
        data,
    }
}

fn said() -> Output {
    Output::Response(vec![
        block(BlockKind::Thinking, "Which file?", Value::Null),
        block(BlockKind::Text, "I look.", Value::Null),
        block(BlockKind::ToolCall, "Bash", json!({"command": "ls"})),
        block(BlockKind::Other, "image", json!({"type": "image", "n": 1})),
    ])
}

fn read(text: &str, original: &Output) -> Output {
    let read = Document::read(text, original, Reading::Sections);
    read.map_err(|error| format!("{error}\n{text}"))
        .unwrap()
        .output
}

fn mistake(text: &str, original: &Output) -> String {
    let read = Document::read(text, original, Reading::Sections);
    read.unwrap_err().to_string()
}

#[test]
fn a_response_is_readable() {
    let written = write(&said(), &["step 3".to_owned()]);
    let expected = "# step 3\n\n== thinking\nWhich file?\n\n== text\nI look.\n\n== call Bash\n{\n  \
                    \"command\": \"ls\"\n}\n\n== block image\n{\n  \"type\": \"image\",\n  \
                    \"n\": 1\n}\n\n";
    assert_eq!(written, expected);
}

#[test]
fn what_was_not_touched_is_the_very_block_and_what_was_has_no_id() {
    let written = write(&said(), &[]);
    assert_eq!(read(&written, &said()), said());
    let Output::Response(blocks) = read(&written.replace("\"ls\"", "\"ls -l\""), &said()) else {
        panic!("a response stays one");
    };
    let call = blocks.get(2).unwrap();
    assert_eq!(call.call, None);
    assert_eq!(call.data, json!({"command": "ls -l"}));
    assert_eq!(
        blocks.get(3),
        Some(&block(
            BlockKind::Other,
            "image",
            json!({"type": "image", "n": 1})
        ))
    );
}

#[test]
fn blocks_can_be_added_taken_out_and_moved() {
    let text = "== call Bash\n{}\n== text\nNow.\n";
    let expected = Output::Response(vec![
        ModelBlock {
            call: None,
            ..block(BlockKind::ToolCall, "Bash", json!({}))
        },
        block(BlockKind::Text, "Now.", Value::Null),
    ]);
    assert_eq!(read(text, &said()), expected);
}

#[test]
fn a_mistake_is_found_where_it_is() {
    let check = |text: &str, original: &Output, expected: &str| {
        let found = mistake(text, original);
        assert!(found.starts_with(expected), "{found}");
    };
    check("", &said(), "line 1: there is no section");
    check(
        "# only\n# remarks\n",
        &said(),
        "line 1: there is no section",
    );
    check(
        "# a remark\nHello\n",
        &said(),
        "line 2: a section is expected first",
    );
    check(
        "== texts\nHello\n",
        &said(),
        "line 1: `== texts` is no section here",
    );
    check(
        "== call\n{}\n",
        &said(),
        "line 1: `== call` is to be followed by a name",
    );
    check(
        "== text\nx\n\n== call Bash\n{\n  \"a\": 1,\n  b\n}\n",
        &said(),
        "line 7, column 3: no JSON",
    );
    check(
        "== call Bash\n{} {}\n",
        &said(),
        "line 2, column 4: no JSON: trailing characters",
    );
    check(
        "== call \"Ba\n{}\n",
        &said(),
        "line 1: the name is no JSON string",
    );
    let result = Output::Result {
        outcome: Outcome::Ok,
        exit: None,
        output: String::new(),
        attachments: Vec::new(),
        detail: Value::Null,
    };
    check("== result fine\n", &result, "line 1: `fine` is no outcome");
    check(
        "== result ok exit one\n",
        &result,
        "line 1: `one` is no exit code",
    );
    check(
        "== result ok\n== result ok\n",
        &result,
        "line 2: there is a result already",
    );
    check(
        "== detail\n{}\n",
        &result,
        "line 1: `== result OUTCOME` is missing",
    );
    check(
        "== result ok\n\n== attachment b3:1\n",
        &result,
        "line 3: `b3:1` names no content",
    );
    check("== text\n", &result, "line 1: `== text` is no section here");
}

#[test]
fn a_text_alone_may_stand_for_all_of_it() {
    let read = |text: &str, original: &Output| {
        Document::read(text, original, Reading::MayBePlain)
            .unwrap()
            .output
    };
    let words = Output::Response(vec![block(BlockKind::Text, "# Use B\n", Value::Null)]);
    assert_eq!(read("# Use B\n\n", &said()), words);
    let prompt = |text: &str| Output::Prompt {
        role: "user".to_owned(),
        text: text.to_owned(),
        attachments: vec![BlobHash::of(b"image")],
    };
    assert_eq!(read("Do it.\n", &prompt("Do.")), prompt("Do it."));
}

/// Text that looks like a document, that a terminal acts upon, and that is odd at its ends.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z# ]{0,6}",
        "\\\\{0,3}== ?(text|call Bash|block x|prompt user)?",
        "=+",
        Just("\u{1b}[2J\r\u{0}\u{feff}\u{2028}".to_owned()),
    ];
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_block() -> impl Strategy<Value = ModelBlock> {
    prop_oneof![
        any_text().prop_map(|text| block(BlockKind::Text, &text, Value::Null)),
        any_text().prop_map(|text| block(BlockKind::Thinking, &text, Value::Null)),
        (any_text(), any_json()).prop_map(|(name, data)| block(BlockKind::ToolCall, &name, data)),
        (any_text(), any_json()).prop_map(|(name, data)| block(BlockKind::Other, &name, data)),
    ]
}

fn any_output() -> impl Strategy<Value = Output> {
    let attachments = prop::collection::vec(any::<u8>().prop_map(|n| BlobHash::of(&[n])), 0..3);
    let outcome = prop::sample::select(vec![Outcome::Ok, Outcome::Failed, Outcome::None]);
    prop_oneof![
        prop::collection::vec(any_block(), 1..5).prop_map(Output::Response),
        (
            outcome,
            any::<Option<i32>>(),
            any_text(),
            attachments.clone(),
            any_json()
        )
            .prop_map(
                |(outcome, exit, output, attachments, detail)| Output::Result {
                    outcome,
                    exit,
                    output,
                    attachments,
                    detail,
                }
            ),
        (any_text(), any_text(), attachments).prop_map(|(role, text, attachments)| {
            Output::Prompt {
                role,
                text,
                attachments,
            }
        }),
    ]
}

/// The same, as if nothing of it had been there before: calls have no ids.
fn without_ids(output: &Output) -> Output {
    match output.clone() {
        Output::Response(blocks) => Output::Response(
            blocks
                .into_iter()
                .map(|block| ModelBlock {
                    call: None,
                    ..block
                })
                .collect(),
        ),
        other => other,
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(output in any_output(), remarks in prop::collection::vec(any_text(), 0..2)) {
        let written = write(&output, &remarks);
        prop_assert_eq!(&read(&written, &output), &output);
        // Nothing that stood there before is needed for it.
        let other = match &output {
            Output::Response(_) => Output::Response(Vec::new()),
            other => other.clone(),
        };
        prop_assert_eq!(read(&written, &other), without_ids(&output));
    }

    #[test]
    fn whatever_was_typed_is_read_or_refused(text in any_text(), output in any_output()) {
        let read = Document::read(&text, &output, Reading::Sections);
        if let Err(error) = read {
            let lines = text.split('\n').count();
            prop_assert!((1..=lines).contains(&error.line), "{error}");
        }
    }
}
