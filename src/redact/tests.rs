//! Secrets that are found, and what is not taken for one.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Made up, in the manner of a real one.
const KEY: &str = "Zk3-fake/9f+QxT7.r2LmW8uYv0c";

/// A text, each of its bytes written in another way.
fn each(text: &str, way: impl Fn(u8) -> String) -> String {
    text.bytes().map(way).collect::<Vec<_>>().concat()
}

fn redaction(rules: &Rules) -> Redaction {
    Redaction::new(Arc::new(Redactor::new(rules).unwrap()), [7; 32])
}

fn knowing(values: &[&str]) -> Redaction {
    let known = values
        .iter()
        .map(|value| value.as_bytes().to_vec())
        .collect();
    redaction(&Rules {
        known,
        ..Rules::default()
    })
}

fn taken_out(redaction: &mut Redaction, text: &str) -> String {
    let mut text = text.to_owned();
    redaction.text(&mut text);
    text
}

#[test]
fn the_key_of_a_request_that_may_be_made_again_is_no_secret() {
    let key = "0193a7b2-6c1d-7e4f-8a90-b1c2d3e4f567";
    for name in ["Idempotency-Key", "IDEMPOTENCY_KEY", "idempotencyKey"] {
        let text = format!("{name}: {key}\n");
        assert_eq!(taken_out(&mut redaction(&Rules::default()), &text), text);
        assert!(!is_secret_name(name));
    }
    let text = format!("api_key: {key}\n");
    let without = taken_out(&mut redaction(&Rules::default()), &text);
    assert_eq!(without, "api_key: [REDACTED:1]\n");
}

#[test]
fn a_known_value_is_found_in_every_encoding_and_has_one_number() {
    let escaped: String = each(KEY, |byte| format!("\\u{byte:04x}"));
    let percent: String = each(KEY, |byte| format!("%{byte:02x}"));
    let hex: String = each(KEY, |byte| format!("{byte:02x}"));
    let check = |text: &str, expected: &str| {
        assert_eq!(taken_out(&mut knowing(&[KEY]), text), expected, "{text}");
    };
    check(&format!("it is {KEY}."), "it is [REDACTED:1].");
    check(&escaped, "[REDACTED:1]");
    check(&percent, "[REDACTED:1]");
    check(&hex, "[REDACTED:1]");
    check(&hex.to_uppercase(), "[REDACTED:1]");
    check(&format!("{KEY} and {hex}"), "[REDACTED:1] and [REDACTED:1]");
    for before in ["", "k", "k=", "k=1", "user:"] {
        for encoded in [
            STANDARD.encode(format!("{before}{KEY}&more")),
            URL_SAFE_NO_PAD.encode(format!("{before}{KEY}")),
        ] {
            let text = taken_out(&mut knowing(&[KEY]), &format!("body {encoded} end"));
            assert!(text.contains("[REDACTED:1]"), "{text}");
            // No character that is left holds bits of it.
            let left = text.split_whitespace().nth(1).unwrap();
            let around = left.split_once("[REDACTED:1]").unwrap();
            assert!(
                around.0.len() <= before.len() * 8 / 6 && around.1.len() <= 9,
                "{text}"
            );
        }
    }
}

#[test]
fn a_value_in_json_in_json_in_base64_is_found() {
    let inner = json!({"k": format!("a\"{KEY}")}).to_string();
    let outer = json!({ "body": inner }).to_string();
    let text = taken_out(&mut knowing(&[KEY]), &STANDARD.encode(outer));
    assert!(text.contains("[REDACTED:1]"), "{text}");
    let quoted = "p4ss\"w\\rd/with'all";
    let once = json!(quoted).to_string();
    let twice = json!(once).to_string();
    for text in [quoted, &once, &twice] {
        let text = taken_out(&mut knowing(&[quoted]), text);
        assert!(
            text.contains("[REDACTED:1]") && !text.contains("p4ss"),
            "{text}"
        );
    }
}

#[test]
fn tokens_say_themselves_what_they_are() {
    // Put together here, so that no scanner takes this file for a leak.
    let body = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7b";
    let check = |text: &str, kind: &str| {
        let found = Redactor::new(&Rules::default())
            .unwrap()
            .secrets(text.as_bytes());
        let kinds: Vec<String> = found.iter().map(|secret| secret.kind.to_string()).collect();
        assert_eq!(kinds, [kind], "{text}");
    };
    check(
        &format!("x gh{}_{} y", "p", body.get(..36).unwrap()),
        "a GitHub token",
    );
    check(
        &format!("AK{}{}", "IA", "ABCDEFGHIJKLMN12"),
        "an AWS key id",
    );
    check(&format!("'sk-{}-{body}'", "ant"), "an Anthropic key");
    check(&format!("sk-{body}"), "an OpenAI key");
    check(&format!("xox{}-123456789012-{body}", "b"), "a Slack token");
    check(
        &format!("gl{}-{}", "pat", body.get(..20).unwrap()),
        "a GitLab token",
    );
    check(&format!("sk_{}_{body}", "live"), "a Stripe key");
    check(&format!("npm_{}", body.get(..36).unwrap()), "an npm token");
    check(
        &format!("ey{0}.ey{0}.{1}", "JhbGciOiJIUzI1", body),
        "a JSON Web Token",
    );
    check(
        "git clone https://me:hunter22@host.example/x",
        "a password in a URL",
    );
    let key = format!(
        "-----BEGIN {0} KEY-----\\n{body}\\n{body}\\n-----END {0} KEY-----",
        "PRIVATE"
    );
    check(&key, "a private key");
    let lines = key.replace("\\n", "\n");
    let mut one = redaction(&Rules::default());
    assert_eq!(taken_out(&mut one, &key), "[REDACTED:1]");
    assert_eq!(
        taken_out(&mut one, &lines),
        "[REDACTED:1]",
        "however its lines are broken"
    );
}

#[test]
fn headers_and_names_say_what_stands_behind_them() {
    let check = |text: &str, expected: &str| {
        assert_eq!(
            taken_out(&mut redaction(&Rules::default()), text),
            expected,
            "{text}"
        );
    };
    check(
        "Authorization: Bearer abcdefgh12",
        "Authorization: Bearer [REDACTED:1]",
    );
    check(
        "curl -H 'x-API-key: abc-defg-hij' -v",
        "curl -H 'x-API-key: [REDACTED:1]' -v",
    );
    check(
        "cookie: sid=0a1b2c3d4e; lang=en; HttpOnly",
        "cookie: sid=[REDACTED:1]; lang=en; HttpOnly",
    );
    check("API_KEY=q8Zr2Lw9Xc4Vb6Nm1Ty3", "API_KEY=[REDACTED:1]");
    check(
        r#"{\"client_secret\": \"q8Zr2Lw9Xc4Vb6Nm1Ty3\"}"#,
        r#"{\"client_secret\": \"[REDACTED:1]\"}"#,
    );
    check("--token q8Zr2Lw9Xc4Vb6Nm1Ty3", "--token [REDACTED:1]");
    check("--token=q8Zr2Lw9Xc4Vb6Nm1Ty3", "--token=[REDACTED:1]");
    for harmless in [
        "let token = tokenizer.next_token(input)?;",
        "token = Base.url_encode64(bytes)",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <your token>",
        "password: String, secret_key: SecretKey256::new()",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "max_tokens=4096 input_tokens: 123456789012345678",
        "the authorization: who may do what, and when",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "https://user@host.example:8080/path and https://host/a:b@c",
        "sk-learn-contrib-estimator-html-repr",
    ] {
        check(harmless, harmless);
    }
}

#[test]
fn values_are_walked_with_their_names() {
    let mut value = json!({
        "headers": {"Authorization": "Bearer abcdefgh12xyz", "X-Api-KEY": "abcdefgh12xyz", "Accept": "*/*"},
        "list": [["Cookie", "sid=abcdefgh12xyz"], {"name": "private-token", "value": "abcdefgh12xyz"}],
        "argv": ["run", "--api-key", "q8Zr2Lw9Xc4Vb6Nm1Ty3"],
        "sse": ["data: abcd", "efgh12x", "yz\n\n"],
        "abcdefgh12xyz": 1,
    });
    let mut redaction = redaction(&Rules::default());
    assert!(redaction.value(&mut value));
    let expected = json!({
        "headers": {"Authorization": "Bearer [REDACTED:1]", "X-Api-KEY": "[REDACTED:1]", "Accept": "*/*"},
        "list": [["Cookie", "sid=[REDACTED:1]"], {"name": "private-token", "value": "[REDACTED:1]"}],
        "argv": ["run", "--api-key", "[REDACTED:2]"],
        "sse": ["data: [REDACTED:1]", "", "\n\n"],
        "[REDACTED:1]": 1,
    });
    assert_eq!(value, expected);
    let numbers: Vec<u32> = redaction
        .take_fresh()
        .iter()
        .map(|fresh| fresh.number)
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn patterns_of_the_user_count_in_every_encoding_and_may_spare_some() {
    let rules = Rules {
        patterns: vec!["acme-[0-9a-f]{12}".to_owned(), "pin: ([0-9]{4})".to_owned()],
        allow: vec!["^acme-0{12}$".to_owned()],
        ..Rules::default()
    };
    let secret = "acme-0123456789ab";
    let hex: String = each(secret, |byte| format!("{byte:02x}"));
    let text = format!(
        "{secret} {hex} {} acme-000000000000 pin: 1234",
        STANDARD.encode(secret)
    );
    let text = taken_out(&mut redaction(&rules), &text);
    let expected = "[REDACTED:1] [REDACTED:1] [REDACTED:1]= acme-000000000000 pin: [REDACTED:2]";
    assert_eq!(text, expected);
    for bad in ["(", "a*", ""] {
        let rules = Rules {
            patterns: vec![bad.to_owned()],
            ..Rules::default()
        };
        assert!(
            matches!(Redactor::new(&rules), Err(RuleError::Pattern { .. })),
            "{bad}"
        );
    }
}

#[test]
fn what_waits_at_the_end_of_a_stream_is_what_may_begin_a_secret() {
    let known = knowing(&["correct horse battery"]);
    let check = |text: &str, expected: &str| {
        let at = text.len() - known.unfinished(text.as_bytes());
        assert_eq!(text.get(at..), Some(expected), "{text}");
    };
    check("done.\n", "");
    check("all done ", "");
    check("it is correct ho", "correct ho");
    check("x EXAMPLE-not", "EXAMPLE-not");
    check("ok\nAuthorization: Bearer ", "Authorization: Bearer ");
    check(
        "a -----BEGIN RSA PRIVATE KEY-----\nabc\n",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n",
    );
}

/// Each of them was learned in a pass of its own, which took minutes of a few megabytes.
#[test]
fn a_text_of_many_tokens_has_a_number_for_each_and_for_its_encoding() {
    const TOKENS: usize = 1000;
    let token = |number: usize| {
        let body = blake3::hash(&number.to_le_bytes()).to_hex();
        format!("ghp_{:.36}", body.as_str())
    };
    let line = |number: usize| format!("{} is {}", token(number), STANDARD.encode(token(number)));
    let lines: Vec<String> = (0..TOKENS).map(line).collect();
    let expected = (1..=TOKENS).map(|number| format!("[REDACTED:{number}] is [REDACTED:{number}]"));
    let taken_out = taken_out(&mut knowing(&[]), &lines.join("\n"));
    // What pads an encoding tells nothing.
    let told = taken_out.replace('=', "");
    assert!(told.lines().eq(expected), "{told}");
}

#[test]
fn numbers_are_kept_from_one_opening_to_the_next() {
    let mut first = knowing(&[KEY, "another-secret-9"]);
    taken_out(&mut first, &format!("{KEY} another-secret-9"));
    let mut second = knowing(&["another-secret-9", "third-secret-77", KEY]);
    for placeholder in first.take_fresh() {
        second.remember(&placeholder);
    }
    let text = taken_out(
        &mut second,
        &format!("third-secret-77 another-secret-9 {KEY}"),
    );
    assert_eq!(text, "[REDACTED:3] [REDACTED:2] [REDACTED:1]");
    assert!(is_placeholder("[REDACTED:3]") && !is_placeholder("[REDACTED:]"));
    assert!(has_placeholder(b"a [REDACTED:x] [REDACTED:12]\xff"));
    assert!(!has_placeholder(b"[REDACTED:] [REDACTED:1 [REDACTED:"));
}

fn secret() -> impl Strategy<Value = String> {
    "[A-Za-z0-9+/_=!#. -]{12,40}".prop_filter("one that tells something", |text| {
        is_telling(text.as_bytes()) && text.trim() == text
    })
}

proptest! {
    #[test]
    fn no_known_secret_survives_any_context(
        secret in secret(),
        before in ".{0,12}",
        behind in ".{0,12}",
        ways in prop::collection::vec(0..6_u8, 0..3),
    ) {
        let mut text = format!("{before}{secret}{behind}");
        for way in ways {
            text = match way {
                0 => STANDARD.encode(&text),
                1 => URL_SAFE_NO_PAD.encode(&text),
                2 => each(&text, |byte| format!("{byte:02x}")),
                3 => each(&text, |byte| format!("%{byte:02X}")),
                4 => json!({ "body": text }).to_string(),
                _ => {
                    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                    units.collect::<Vec<_>>().concat()
                }
            };
        }
        let text = taken_out(&mut knowing(&[&secret]), &text);
        prop_assert!(text.contains("[REDACTED:"), "{text}");
        prop_assert!(!text.contains(&secret));
        // Taken out once, nothing is left to find.
        let again = taken_out(&mut knowing(&[&secret]), &text);
        prop_assert_eq!(again, text);
    }

    #[test]
    fn text_of_any_sort_is_borne(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut redaction = knowing(&[KEY]);
        let before = text.clone();
        let mut text = text;
        if !redaction.text(&mut text) {
            prop_assert_eq!(text, before);
        }
        redaction.bytes(&bytes);
        redaction.unfinished(&bytes);
    }
}
