//! Tokens that say themselves what they are: by a prefix that their issuer gave them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::context::{is_random, is_standing_for};
use super::{Secret, SecretKind};

/// A shape: what it is called, its pattern, and whether what matches must look random, too.
struct Shape {
    name: &'static str,
    pattern: &'static str,
    must_look_random: bool,
}

const fn shape(name: &'static str, pattern: &'static str) -> Shape {
    Shape {
        name,
        pattern,
        must_look_random: false,
    }
}

/// The shapes, in the order in which they are tried.
const SHAPES: &[Shape] = &[
    shape("an AWS key id", "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    shape("a GitHub token", "gh[pousr]_[A-Za-z0-9]{36,255}"),
    shape("a GitHub token", "github_pat_[A-Za-z0-9_]{40,255}"),
    shape(
        "a GitLab token",
        "gl(?:pat|dt|rt|cbt|ptt|soat|ft|agent)-[A-Za-z0-9_.-]{20,255}",
    ),
    shape("a Slack token", "xox[abeposr]-[A-Za-z0-9-]{10,255}"),
    shape("a Slack token", "xapp-[A-Za-z0-9-]{20,255}"),
    shape(
        "a Slack webhook",
        "hooks\\.slack\\.com/(?:services|workflows)/[A-Za-z0-9_/+-]{30,120}",
    ),
    shape("an Anthropic key", "sk-ant-[A-Za-z0-9_-]{20,255}"),
    Shape {
        name: "an OpenAI key",
        pattern: "sk-[A-Za-z0-9_-]{20,255}",
        must_look_random: true,
    },
    shape(
        "a Stripe key",
        "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}",
    ),
    shape("a webhook secret", "whsec_[A-Za-z0-9+/=]{24,255}"),
    shape("an npm token", "npm_[A-Za-z0-9]{36}"),
    shape("a PyPI token", "pypi-AgE[A-Za-z0-9_-]{40,512}"),
    shape("a crates.io token", "cio[a-zA-Z0-9]{32}\\b"),
    shape("a Google key", "AIza[0-9A-Za-z_-]{35}"),
    shape("a Google token", "ya29\\.[0-9A-Za-z_-]{20,512}"),
    shape("a Google secret", "GOCSPX-[A-Za-z0-9_-]{28}"),
    shape(
        "a SendGrid key",
        "SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}",
    ),
    shape("a Hugging Face token", "hf_[A-Za-z0-9]{30,64}"),
    shape("a DigitalOcean token", "do[opr]_v1_[a-f0-9]{64}"),
    shape("a Databricks token", "dapi[a-f0-9]{32}"),
    shape("a Shopify token", "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    shape("a Vault token", "hv[sbr]\\.[A-Za-z0-9_-]{24,255}"),
    shape("a Docker token", "dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,64}"),
    shape("an age key", "AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    shape("a Linear key", "lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    shape("a Grafana token", "gl(?:sa|c)_[A-Za-z0-9_+/=]{30,255}"),
    shape("a Groq key", "gsk_[A-Za-z0-9]{40,64}"),
    shape("an xAI key", "xai-[A-Za-z0-9]{60,100}"),
    shape(
        "a JSON Web Token",
        "eyJ[A-Za-z0-9_-]{10,}\\.eyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}",
    ),
    // A key's lines may stand in a string, or behind the numbers of lines.
    shape(
        "a private key",
        "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----\
         (?:[A-Za-z0-9+/=\\s:,|\\\\\"]|\\xE2\\x86\\x92|[A-Za-z]-[A-Za-z])*\
         (?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
];

/// How a private key begins.
const PRIVATE_KEY: &[u8] = b"-----BEGIN ";
/// Fewer characters of a private key than this are an example of how one begins.
const KEY_CHARACTERS: usize = 64;

/// Any of the shapes: one pass over a text that holds none.
static ANY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let patterns: Vec<&str> = SHAPES.iter().map(|shape| shape.pattern).collect();
    Regex::new(&format!("(?-u:{})", patterns.join("|"))).ok()
});

/// Each of them, to say which it was.
static EACH: LazyLock<Vec<(Option<Regex>, &'static Shape)>> = LazyLock::new(|| {
    let compile = |shape: &Shape| Regex::new(&format!("^(?-u:{})$", shape.pattern)).ok();
    SHAPES.iter().map(|shape| (compile(shape), shape)).collect()
});

/// The tokens in a text, and the passwords in its URLs.
pub(super) fn find(text: &[u8], found: &mut Vec<Secret>) {
    if let Some(any) = &*ANY {
        for hit in any.find_iter(text) {
            let before = hit.start().checked_sub(1).and_then(|at| text.get(at));
            if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                continue;
            }
            let is = |(regex, _): &&(Option<Regex>, &Shape)| {
                regex
                    .as_ref()
                    .is_some_and(|regex| regex.is_match(hit.as_bytes()))
            };
            let Some((_, shape)) = EACH.iter().find(is) else {
                continue;
            };
            if is_one(shape, hit.as_bytes()) {
                found.push(Secret {
                    range: hit.range(),
                    kind: SecretKind::Token(shape.name),
                    value: value_of(hit.as_bytes()),
                });
            }
        }
    }
    for slashes in memchr::memmem::find_iter(text, b"://") {
        if let Some(range) = password(text, slashes + 3) {
            found.push(Secret {
                kind: SecretKind::Url,
                value: text.get(range.clone()).unwrap_or_default().to_vec(),
                range,
            });
        }
    }
}

/// How many bytes at the end of a text are a private key without its end.
pub(super) fn unfinished(text: &[u8]) -> usize {
    let begun = memchr::memmem::rfind(text, PRIVATE_KEY);
    let begun = begun.filter(|begun| {
        let rest = text.get(*begun..).unwrap_or_default();
        memchr::memmem::find(rest, b"-----END ").is_none_or(|end| {
            let behind = rest.get(end + PRIVATE_KEY.len()..).unwrap_or_default();
            memchr::memmem::find(behind, b"-----").is_none()
        })
    });
    begun.map_or(0, |begun| text.len() - begun)
}

fn is_one(shape: &Shape, text: &[u8]) -> bool {
    if text.starts_with(PRIVATE_KEY) {
        let characters = text.iter().filter(|byte| byte.is_ascii_alphanumeric());
        return characters.count() >= KEY_CHARACTERS + PRIVATE_KEY.len();
    }
    !shape.must_look_random || is_random(text)
}

/// What is equal in equal secrets: of a private key, however its lines are broken, its
/// characters.
fn value_of(text: &[u8]) -> Vec<u8> {
    if !text.starts_with(PRIVATE_KEY) {
        return text.to_vec();
    }
    let text: Vec<u8> = text.split(|byte| *byte == b'\\').enumerate().fold(
        Vec::new(),
        |mut whole, (part, bytes)| {
            let is_break = part > 0 && matches!(bytes.first(), Some(b'n' | b'r'));
            whole.extend_from_slice(bytes.get(usize::from(is_break)..).unwrap_or_default());
            whole
        },
    );
    text.into_iter().filter(u8::is_ascii_alphanumeric).collect()
}

/// The password of a URL whose authority begins here.
fn password(text: &[u8], start: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 512;
    let rest = text.get(start..)?;
    let rest = rest.get(..rest.len().min(LONGEST))?;
    let end = rest.iter().position(|byte| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'`')
    });
    let authority = rest.get(..end.unwrap_or(rest.len()))?;
    let at = memchr::memrchr(b'@', authority)?;
    let colon = memchr::memchr(b':', authority.get(..at)?)?;
    let password = authority.get(colon + 1..at)?;
    let is_one = password.len() >= 3 && !is_standing_for(password);
    is_one.then(|| start + colon + 1..start + at)
}
