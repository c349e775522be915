//! Random runs: events of every sort, given to a recorder.

use jukebox::model::{
    BlockKind, Body, Content, Event, FileChange, FileOp, KnownLines, ModelBlock, Outcome, Scope,
    TapePath, Usage, Via,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,12}",
        "\\PC{0,8}",
        Just("\u{0}\u{1b}[31m\"\\\n\r\t\u{2028}😀".to_owned()),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Contents that compress, that do not, and that are near another one.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any_text().prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..40),
        (0..900usize, 0..60usize, any_text()).prop_map(|(lines, at, text)| {
            let line = |n: usize| {
                if n == at {
                    format!("{text}\n")
                } else {
                    format!("line {n} of a file\n")
                }
            };
            (0..lines).map(line).collect::<String>().into_bytes()
        }),
        (1..3000u32, any::<u8>()).prop_map(|(len, seed)| {
            (0..len)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 ^ seed)
                .collect()
        }),
    ]
}

fn any_path() -> impl Strategy<Value = TapePath> {
    prop_oneof![
        8 => prop::sample::select(vec!["a", "src/b", "src/lib/c", "d é", "/tmp/e"])
            .prop_map(|path| TapePath::new(path).unwrap()),
        1 => Just(TapePath::new(b"odd/\xff\xfe").unwrap()),
    ]
}

fn any_change() -> impl Strategy<Value = FileChange> {
    let mode = prop::option::of(0..0o7777u32);
    let content = prop_oneof![
        8 => any_bytes().prop_map(|bytes| Content::Bytes(bytes.into())),
        1 => (1..9u64, any_text()).prop_map(|(first, text)| Content::Lines(KnownLines {
            total: None,
            ranges: vec![(first, text)],
        })),
        1 => Just(Content::Unstored { hash: None, len: Some(7) }),
    ];
    let op = prop_oneof![
        8 => Just(FileOp::Write),
        1 => Just(FileOp::Observe),
        1 => Just(FileOp::Remove),
        1 => any_path().prop_map(|from| FileOp::Rename { from }),
        1 => Just(FileOp::Mkdir),
        1 => any_bytes().prop_map(|target| FileOp::Symlink { target }),
        1 => Just(FileOp::Chmod),
    ];
    (op, any_path(), mode, content).prop_map(|(op, path, mode, content)| {
        let holds = matches!(op, FileOp::Write | FileOp::Observe);
        FileChange {
            mode,
            content: if holds { content } else { Content::None },
            ..FileChange::new(op, path)
        }
    })
}

fn any_body() -> impl Strategy<Value = Body> {
    prop_oneof![
        8 => any_change().prop_map(Body::File),
        1 => any_text().prop_map(|text| Body::Prompt {
            role: "user".to_owned(),
            text,
            attachments: Vec::new(),
        }),
        1 => any_json().prop_map(|added| Body::ModelRequest {
            model: None,
            request: None,
            added,
        }),
        1 => (any_text(), any_json(), any::<u64>()).prop_map(|(text, data, tokens)| {
            let block = |kind| ModelBlock {
                kind,
                text: text.clone(),
                call: None,
                data: Value::Null,
            };
            let data = if data.is_null() { json!(1) } else { data };
            let call = Some("c".to_owned());
            Body::ModelResponse {
                model: Some(text.clone()),
                blocks: vec![
                    block(BlockKind::Text),
                    block(BlockKind::Thinking),
                    ModelBlock { call, data: data.clone(), ..block(BlockKind::ToolCall) },
                    ModelBlock { data, ..block(BlockKind::Other) },
                ],
                stop: Some(text),
                usage: Some(Usage { input: tokens, ..Usage::default() }),
                outcome: Outcome::Ok,
                duration: Some(tokens),
            }
        }),
        1 => any_text().prop_map(|why| Body::Suspect { scope: Scope::All, why }),
        1 => (any_path(), any_text()).prop_map(|(path, why)| Body::Suspect {
            scope: Scope::Path(path),
            why,
        }),
        1 => any_bytes().prop_map(|bytes| Body::Blob(Content::Bytes(bytes.into()))),
        1 => any_bytes().prop_map(|bytes| Body::Raw {
            format: "x".to_owned(),
            bytes: bytes.into(),
        }),
        1 => any_text().prop_map(|text| Body::Note { text }),
        1 => (any_text(), any_json()).prop_map(|(key, value)| Body::Other {
            kind: "dream".to_owned(),
            fields: Map::from_iter([(format!("x{key}"), value)]),
        }),
    ]
}

/// A run with calls and transactions that end, in random order.
pub(crate) fn any_run() -> impl Strategy<Value = Vec<Event>> {
    let step = (
        any_body(),
        0..10u8,
        any::<u32>(),
        prop::option::of(any_text()),
        prop::option::of(prop::sample::select(Via::ALL.to_vec())),
    );
    prop::collection::vec(step, 0..40).prop_map(|steps| {
        let mut run = Vec::new();
        let (mut calls, mut txns, mut saved, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (body, what, t, title, via) in steps {
            count += 1;
            let mut event = Event::new(body).at(u64::from(t));
            event.head.title = title;
            event.head.via = via;
            match what {
                0 => {
                    let call = format!("c\"{count}");
                    calls.push(call.clone());
                    let name = "edit".to_owned();
                    let arguments = json!({"n": count});
                    run.push(
                        Event::new(Body::ToolCall { name, arguments })
                            .in_call(call)
                            .at(1),
                    );
                }
                1 => {
                    txns.push(format!("t{count}"));
                    let mut begin = Event::new(Body::TxnBegin).at(1);
                    begin.head.txn = txns.last().cloned();
                    run.push(begin);
                }
                2 => {
                    if let Some(call) = calls.pop() {
                        let result = Body::ToolResult {
                            outcome: Outcome::Failed,
                            exit: Some(-1),
                            output: "no".to_owned(),
                            duration: None,
                            attachments: Vec::new(),
                            detail: json!([1]),
                        };
                        run.push(Event::new(result).in_call(call).at(1));
                    }
                }
                3 => {
                    if let Some(txn) = txns.pop() {
                        let ends = [Body::TxnCommit, Body::TxnRollback { to: None }];
                        let mut end = Event::new(ends[count % 2].clone()).at(1);
                        end.head.txn = Some(txn);
                        run.push(end);
                    }
                }
                4 => event.head.call = calls.last().cloned(),
                5 => event.head.txn = txns.last().cloned(),
                6 => event.head.agent = Some("helper é".to_owned()),
                7 => {
                    if let Some(txn) = txns.last() {
                        saved.push(txn.clone());
                        let name = "s".to_owned();
                        let mut savepoint = Event::new(Body::TxnSavepoint { name }).at(1);
                        savepoint.head.txn = Some(txn.clone());
                        run.push(savepoint);
                    }
                }
                8 => {
                    if let Some(txn) = txns.last().filter(|txn| saved.contains(txn)) {
                        let to = Some("s".to_owned());
                        let mut back = Event::new(Body::TxnRollback { to }).at(1);
                        back.head.txn = Some(txn.clone());
                        run.push(back);
                    }
                }
                _ => {}
            }
            // An event of these kinds is of no call of its own here.
            if !matches!(
                event.body,
                Body::File(_) | Body::Suspect { .. } | Body::Note { .. }
            ) {
                event.head.call = None;
            }
            run.push(event);
        }
        run
    })
}
