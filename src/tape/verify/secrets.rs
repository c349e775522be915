//! A lint for secrets that slipped into a tape: well-known shapes of tokens, and nothing
//! cleverer. What it finds is worth a look; what it does not find is no proof.

/// The shape of a secret: how it begins, and how many characters of which sort follow.
struct Shape {
    what: &'static str,
    prefix: &'static str,
    at_least: usize,
    is_part: fn(u8) -> bool,
}

const SHAPES: [Shape; 19] = [
    token("an Anthropic key", "sk-ant-", 24),
    token("an OpenAI key", "sk-proj-", 24),
    token("a GitHub token", "ghp_", 36),
    token("a GitHub token", "gho_", 36),
    token("a GitHub token", "ghu_", 36),
    token("a GitHub token", "ghs_", 36),
    token("a GitHub token", "github_pat_", 36),
    token("a GitLab token", "glpat-", 20),
    token("a Slack token", "xoxb-", 20),
    token("a Slack token", "xoxp-", 20),
    token("a Stripe key", "sk_live_", 20),
    token("an npm token", "npm_", 36),
    token("a Hugging Face token", "hf_", 30),
    token("a Google key", "AIza", 35),
    upper("an AWS access key", "AKIA", 16),
    upper("an AWS access key", "ASIA", 16),
    private_key("-----BEGIN PRIVATE KEY-----"),
    private_key("-----BEGIN RSA PRIVATE KEY-----"),
    private_key("-----BEGIN OPENSSH PRIVATE KEY-----"),
];

const fn token(what: &'static str, prefix: &'static str, at_least: usize) -> Shape {
    Shape {
        what,
        prefix,
        at_least,
        is_part: |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
    }
}

const fn upper(what: &'static str, prefix: &'static str, at_least: usize) -> Shape {
    Shape {
        what,
        prefix,
        at_least,
        is_part: |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit(),
    }
}

const fn private_key(prefix: &'static str) -> Shape {
    Shape {
        what: "a private key",
        prefix,
        at_least: 0,
        is_part: |_| false,
    }
}

/// Calls `found` with the offset and the sort of everything that looks like a secret.
pub(super) fn find_secrets(text: &[u8], mut found: impl FnMut(usize, &'static str)) {
    for shape in &SHAPES {
        for at in memchr::memmem::find_iter(text, shape.prefix) {
            let (before, rest) = text.split_at(at);
            let rest = rest.get(shape.prefix.len()..).unwrap_or_default();
            let len = rest
                .iter()
                .take_while(|byte| (shape.is_part)(**byte))
                .count();
            // `task-proj-…` is a word of its own.
            let begins = before
                .last()
                .is_none_or(|byte| !byte.is_ascii_alphanumeric());
            if len >= shape.at_least && (begins || is_escape(before)) {
                found(at, shape.what);
            }
        }
    }
}

/// Whether the last letter is that of an escape, such as `\n`.
fn is_escape(before: &[u8]) -> bool {
    matches!(before, [.., b'\\', b'n' | b't' | b'r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_shapes_are_found_and_words_are_not() {
        let check = |text: &str, expected: &[(usize, &str)]| {
            let mut seen = Vec::new();
            find_secrets(text.as_bytes(), |at, what| seen.push((at, what)));
            assert_eq!(seen, expected, "{text}");
        };
        let long = "0123456789abcdefghijklmnopqrstuvwxyzAB";
        check(&format!("key=ghp_{long}"), &[(4, "a GitHub token")]);
        check(&format!("a\\nsk-ant-{long}"), &[(3, "an Anthropic key")]);
        check("AKIAIOSFODNN7EXAMPLE", &[(0, "an AWS access key")]);
        check("-----BEGIN RSA PRIVATE KEY-----", &[(0, "a private key")]);
        check("ghp_short, sk-ant-…, AKIA, task-proj-", &[]);
        check(&format!("task-proj-{long} Xghp_{long}"), &[]);
    }
}
