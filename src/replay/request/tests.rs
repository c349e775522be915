//! Which requests are the same, and where others differ.

use super::*;

fn first(recorded: &str, replayed: &str, volatile: &[&str]) -> Option<String> {
    let root = Some("/work");
    let volatile = VolatileParts::read(volatile.iter().copied(), root, root).unwrap();
    miss(recorded.as_bytes(), replayed.as_bytes(), &volatile).map(|miss| miss.path)
}

fn check(recorded: &str, replayed: &str, expected: Option<&str>) {
    let found = first(recorded, replayed, &[]);
    assert_eq!(found.as_deref(), expected, "{recorded} / {replayed}");
}

#[test]
fn the_order_of_members_and_blanks_mean_nothing_and_all_else_does() {
    let one = r#"{"m":"x","n":1,"t":["p","q"]}"#;
    check(one, r#"{ "n": 1, "t": ["p", "q"], "m": "x" }"#, None);
    check(one, r#"{"m":"x","n":1,"t":["q","p"]}"#, Some("/t/0"));
    check(one, r#"{"m":"x","n":"1","t":["p","q"]}"#, Some("/n"));
    check(one, r#"{"m":"x","n":1.0,"t":["p","q"]}"#, Some("/n"));
    check(one, r#"{"m":"x","n":1}"#, Some("/t"));
    check(one, r#"{"m":"x","n":1,"t":["p","q","r"]}"#, Some("/t/2"));
    check(
        one,
        r#"{"m":"x","n":1,"t":["p","q"],"a/b":2}"#,
        Some("/a~1b"),
    );
    check(r#""\u00e9""#, r#""é""#, None);
}

#[test]
fn no_number_is_rounded() {
    let of = |digits: &str| format!(r#"{{"n":{digits}}}"#);
    for (one, two) in [
        ("12345678901234567890", "12345678901234567891"),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567891",
        ),
        ("0.1", "0.10000000000000001"),
    ] {
        check(&of(one), &of(one), None);
        check(&of(one), &of(two), Some("/n"));
    }
}

#[test]
fn what_is_another_in_the_tools_is_named() {
    check(
        r#"{"tools":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"tools":[{"name":"a"},{"name":"c"}]}"#,
        Some("/tools/1/name"),
    );
}

#[test]
fn a_boundary_may_be_another() {
    let body = |mark: &str, value: &str| {
        format!(
            "--{mark}\r\nContent-Disposition: form-data; name=x\r\n\r\n{value}\r\n--{mark}--\r\n"
        )
    };
    check(&body("AAA", "1"), &body("BBB", "1"), None);
    check(&body("AAA", "1"), &body("BBB", "2"), Some("line 4"));
    // A line that looks like one, in a body that has none.
    check("--AAA\nx", "--BBB\nx", Some("line 1"));
}

#[test]
fn a_placeholder_stands_for_one_text_wherever_it_stands() {
    let body = |one: &str, two: &str| format!(r#"{{"a":"Bearer {one}","b":"{two}!"}}"#);
    let recorded = body("[REDACTED:1]", "[REDACTED:1]");
    check(&recorded, &recorded, None);
    check(&recorded, &body("sk-123", "sk-123"), None);
    check(&recorded, &body("sk-123", "sk-124"), Some("/b"));
    check(&recorded, &body("", "sk-123"), Some("/a"));
    check(&recorded, &body("sk 123", "sk-123"), Some("/a"));
    check(&body("[REDACTED:1]", "x"), &body("sk-123", "y"), Some("/b"));
    check(
        r#""k=[REDACTED:1]&s=[REDACTED:2].""#,
        r#""k=abc&s=def.""#,
        None,
    );
    check(r#""[REDACTED:1][REDACTED:2]""#, r#""abcdef""#, Some(""));
}

#[test]
fn what_is_volatile_is_named_and_nothing_is_by_itself() {
    let body = |date: &str, id: &str| {
        format!(r#"{{"messages":[{{"id":"{id}","text":"on {date}"}}],"n":1}}"#)
    };
    let (one, two) = (body("2026-01-31", "a"), body("2026-02-01", "b"));
    let check = |volatile: &[&str], expected: Option<&str>| {
        assert_eq!(first(&one, &two, volatile).as_deref(), expected);
    };
    check(&[], Some("/messages/0/id"));
    check(&["/messages/*/id"], Some("/messages/0/text"));
    check(&["/messages/*/id", "times"], None);
    check(&["/messages"], None);
    check(&["/messages/1", "times"], Some("/messages/0/id"));
    let none = VolatileParts::read(["dates"], None, None);
    assert_eq!(none.unwrap_err(), UnknownPart("dates".to_owned()));
}

#[test]
fn bytes_that_are_no_text_are_the_same_or_not() {
    let miss = |one: &[u8], two: &[u8]| miss(one, two, &VolatileParts::default());
    assert_eq!(miss(&[0xff, 1], &[0xff, 1]), None);
    assert_eq!(miss(&[0xff, 1], &[0xff, 2]).unwrap().path, "body");
}

#[test]
fn no_depth_is_too_much() {
    let deep = |inside: &str| format!("{}{inside}{}", "[".repeat(50_000), "]".repeat(50_000));
    let found = first(&deep("1"), &deep("2"), &[]).unwrap();
    assert_eq!(found.len(), 100_000);
}
