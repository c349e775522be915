//! Answers put together from bytes, in every dialect, however the bytes are cut.

use jukebox::model::{BlockKind, Outcome};
use jukebox::models::{Answer, Assembly, Dialect};
use proptest::prelude::*;
use serde_json::json;

const MESSAGES: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüße"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" 😀"}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"write","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":".txt\"}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}

event: message_stop
data: {"type":"message_stop"}

"#;

const CHAT: &str = r#"data: {"id":"c","model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":"Grü"},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{"content":"ße 😀"}},{"index":1,"delta":{"content":"other"}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"write","arguments":""}}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"a.txt\"}"}}]},"finish_reason":"tool_calls"}]}

data: {"id":"c","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":42,"prompt_tokens_details":{"cached_tokens":3}}}

data: [DONE]

"#;

const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r","model":"gpt-x","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Grüße 😀"}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"t1","name":"write","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"path\": \"a.txt\"}"}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","model":"gpt-x","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Grüße 😀"}]},{"type":"function_call","call_id":"t1","name":"write","arguments":"{\"path\": \"a.txt\"}"}],"usage":{"input_tokens":10,"output_tokens":42,"input_tokens_details":{"cached_tokens":3}}}}

"#;

const STREAMS: [(Dialect, &str); 3] = [
    (Dialect::Messages, MESSAGES),
    (Dialect::ChatCompletions, CHAT),
    (Dialect::Responses, RESPONSES),
];

fn headers(kind: &str) -> Vec<(String, String)> {
    vec![("content-type".to_owned(), kind.to_owned())]
}

fn assemble<'a>(
    dialect: Dialect,
    status: u16,
    kind: &str,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    is_cut: bool,
) -> Answer {
    let mut assembly = Assembly::new(dialect, status, &headers(kind));
    for piece in pieces {
        assembly.push(piece);
    }
    assembly.finish(is_cut)
}

fn streamed(dialect: Dialect, stream: &[u8], is_cut: bool) -> Answer {
    let kind = "text/event-stream; charset=utf-8";
    assemble(dialect, 200, kind, [stream], is_cut)
}

/// The kinds and the words of the blocks.
fn words(answer: &Answer) -> Vec<(BlockKind, &str)> {
    let blocks = answer.blocks.iter();
    blocks
        .map(|block| (block.kind, block.text.as_str()))
        .collect()
}

#[test]
fn every_dialect_says_the_same() {
    for (dialect, stream) in STREAMS {
        let answer = streamed(dialect, stream.as_bytes(), false);
        let spoken = words(&answer);
        let spoken: Vec<_> = spoken
            .into_iter()
            .filter(|(kind, _)| *kind != BlockKind::Thinking)
            .collect();
        let expected = [
            (BlockKind::Text, "Grüße 😀"),
            (BlockKind::ToolCall, "write"),
        ];
        assert_eq!(spoken, expected, "{dialect:?}");
        let call = answer.blocks.last().unwrap();
        assert_eq!(call.call.as_deref(), Some("t1"));
        assert_eq!(call.data, json!({"path": "a.txt"}));
        assert_eq!(answer.outcome, Outcome::Ok);
        let usage = answer.usage.unwrap();
        assert_eq!((usage.input, usage.output, usage.cache_read), (7, 42, 3));
        assert!(answer.stop.is_some() && answer.model.is_some());
    }
}

#[test]
fn a_document_says_what_a_stream_says() {
    let check = |dialect, document: serde_json::Value, stop: &str| {
        let document = document.to_string();
        let kind = "application/json";
        let answer = assemble(dialect, 200, kind, [document.as_bytes()], false);
        let expected = [(BlockKind::Text, "Hi"), (BlockKind::ToolCall, "ls")];
        assert_eq!(words(&answer), expected, "{dialect:?}");
        assert_eq!(answer.blocks[1].data, json!({"a": 1}));
        assert_eq!(answer.stop.as_deref(), Some(stop));
        assert_eq!(answer.outcome, Outcome::Ok);
    };
    check(
        Dialect::Messages,
        json!({"model": "m", "stop_reason": "tool_use", "content": [
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t", "name": "ls", "input": {"a": 1}}]}),
        "tool_use",
    );
    check(
        Dialect::ChatCompletions,
        json!({"model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message":
            {"content": "Hi", "tool_calls": [
                {"id": "t", "function": {"name": "ls", "arguments": "{\"a\":1}"}}]}}]}),
        "tool_calls",
    );
    check(
        Dialect::Responses,
        json!({"model": "m", "status": "completed", "error": null, "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
            {"type": "function_call", "call_id": "t", "name": "ls", "arguments": "{\"a\":1}"}]}),
        "completed",
    );
}

#[test]
fn an_error_after_a_good_status_is_an_error() {
    let error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    let bare = "event: error\ndata: {\"error\":\"overloaded\"}\n\ndata: [DONE]\n\n";
    for (dialect, error) in [
        (Dialect::Messages, error),
        (Dialect::Responses, error),
        (Dialect::ChatCompletions, bare),
    ] {
        let (_, stream) = STREAMS.iter().find(|(other, _)| *other == dialect).unwrap();
        let half = &stream[..stream
            .find("😀")
            .map_or(0, |at| stream[..at].rfind("\n\n").unwrap() + 2)];
        let answer = streamed(dialect, format!("{half}{error}").as_bytes(), false);
        assert_eq!(answer.outcome, Outcome::Failed, "{dialect:?}");
        let last = answer.blocks.last().unwrap();
        assert_eq!((last.kind, last.text.as_str()), (BlockKind::Other, "error"));
    }
    let refused = json!({"type": "error", "error": {"type": "rate_limit_error"}}).to_string();
    let answer = assemble(
        Dialect::Messages,
        429,
        "application/json",
        [refused.as_bytes()],
        false,
    );
    assert_eq!(answer.outcome, Outcome::Failed);
    let page = b"<html>502</html>";
    let answer = assemble(Dialect::Messages, 502, "text/html", [&page[..]], false);
    assert_eq!(answer.outcome, Outcome::Failed);
    assert_eq!(answer.blocks[0].data, json!("<html>502</html>"));
}

#[test]
fn a_cut_stream_keeps_what_came_and_says_where_it_ends() {
    let end = MESSAGES.find('😀').unwrap() + 1;
    let answer = streamed(Dialect::Messages, &MESSAGES.as_bytes()[..end], true);
    assert_eq!(answer.outcome, Outcome::Interrupted);
    let expected = [
        (BlockKind::Thinking, "Hm."),
        (BlockKind::Text, "Grüße "),
        (BlockKind::Other, "cut"),
    ];
    assert_eq!(words(&answer), expected);
    let said = answer.blocks[2].data.as_str().unwrap();
    assert!(said.ends_with("in the middle of a character: f0"), "{said}");
    // A body that ends well in the middle of an answer was cut off before us.
    let answer = streamed(Dialect::Messages, &MESSAGES.as_bytes()[..end], false);
    assert_eq!(answer.outcome, Outcome::Interrupted);
    // Arguments that were not said to their end are kept as they are.
    let end = MESSAGES.find(".txt").unwrap();
    let answer = streamed(Dialect::Messages, &MESSAGES.as_bytes()[..end], true);
    assert_eq!(answer.blocks[2].data, json!("{\"path\": \"a"));
    // What is cut after its end is whole.
    let answer = streamed(Dialect::Messages, MESSAGES.as_bytes(), true);
    assert_eq!(answer.outcome, Outcome::Ok);
}

#[test]
fn it_is_known_at_once_that_an_answer_is_complete() {
    for (dialect, stream) in STREAMS {
        let mut assembly = Assembly::new(dialect, 200, &headers("text/event-stream"));
        let (most, last) = stream.as_bytes().split_at(stream.len() - 1);
        assembly.push(most);
        assert!(!assembly.is_over(), "{dialect:?}");
        assembly.push(last);
        assert!(assembly.is_over(), "{dialect:?}");
    }
}

proptest! {
    #[test]
    fn any_cuts_give_the_same_answer(
        which in 0..3_usize,
        mut cuts in prop::collection::vec(0..3000_usize, 0..40),
        end in 0..3000_usize,
        is_cut: bool,
    ) {
        let (dialect, stream) = STREAMS[which];
        let stream = stream.as_bytes();
        let stream = if is_cut { &stream[..end.min(stream.len())] } else { stream };
        cuts.retain(|cut| *cut < stream.len());
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&stream[from..cut]);
            from = cut;
        }
        pieces.push(&stream[from..]);
        let kind = "text/event-stream";
        let cut = assemble(dialect, 200, kind, pieces, is_cut);
        let whole = assemble(dialect, 200, kind, [stream], is_cut);
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn any_bytes_are_an_answer(
        which in 0..3_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        is_stream: bool,
        is_cut: bool,
        coding in prop::sample::select(vec!["", "gzip", "deflate", "zstd", "br"]),
    ) {
        let kind = if is_stream { "text/event-stream" } else { "application/json" };
        let mut headers = headers(kind);
        headers.push(("Content-Encoding".to_owned(), coding.to_owned()));
        let mut assembly = Assembly::new(STREAMS[which].0, 200, &headers);
        for piece in bytes.chunks(7) {
            assembly.push(piece);
        }
        // Nothing of it panics, and what broke off is no whole answer.
        let answer = assembly.finish(is_cut);
        prop_assert!(!is_cut || answer.outcome != Outcome::Ok);
    }
}
