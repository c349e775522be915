//! Likely reasons why a call did not come to the same again. Guesses from two texts, for a
//! person who looks for the cause; nothing is decided by them.

use super::leaves::Leaf;

/// Why two runs of the same thing may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It asks what time it is.
    Clock,
    /// It makes up something to tell things apart, or draws a number.
    Chance,
    /// It makes temporary files.
    Temporary,
    /// The same lines came in another order.
    Order,
    /// A directory was renamed in the sandbox.
    CrossDevice,
    /// It wanted the network.
    Network,
    /// A program is not there.
    Program,
    /// It looked into a repository, which is not on the tape.
    Repository,
    /// It could read standard input, and what it read there is not on the tape.
    Input,
}

impl Reason {
    /// What is said of it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clock => "a clock",
            Self::Chance => "an id or a number drawn by chance",
            Self::Temporary => "the name of a temporary file",
            Self::Order => "the order of a directory or of a hash",
            Self::CrossDevice => "EXDEV: a directory cannot be renamed in the sandbox",
            Self::Network => "it needs the network, and there is none",
            Self::Program => "a program that is not there on this machine",
            Self::Repository => "a repository, whose .git no tape holds",
            Self::Input => "standard input, which no tape holds",
        }
    }
}

/// The likely reasons for these differences, from both texts of each and from all that the
/// call said when it was made again.
pub fn reasons(leaves: &[Leaf], recorded: &str, again: &str, exit: Option<i32>) -> Vec<Reason> {
    let mut found = Vec::new();
    let again_says = |words: &[&str]| {
        words
            .iter()
            .any(|words| again.contains(words) && !recorded.contains(words))
    };
    if again_says(&["Invalid cross-device link", "EXDEV", "cross-device"]) {
        found.push(Reason::CrossDevice);
    }
    if again_says(&["not a git repository"]) {
        found.push(Reason::Repository);
    }
    if exit == Some(127) || again_says(&["command not found", ": not found"]) {
        found.push(Reason::Program);
    }
    if recorded != again && has_same_parts(recorded, again) {
        found.push(Reason::Order);
    } else {
        for leaf in leaves {
            let text = |value: &Option<serde_json::Value>| match value {
                Some(serde_json::Value::String(text)) => text.clone(),
                _ => String::new(),
            };
            found.extend(of_words(&text(&leaf.left), &text(&leaf.right)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether two texts are the same lines, or one line of the same words, in another order.
fn has_same_parts(one: &str, two: &str) -> bool {
    let sorted = |text: &str, by: fn(char) -> bool| {
        let mut parts: Vec<String> = text.split(by).map(str::to_owned).collect();
        parts.sort_unstable();
        parts
    };
    let is_line_end: fn(char) -> bool = |c| c == '\n';
    let is_between: fn(char) -> bool = |c| !c.is_alphanumeric();
    let is_one_line = one.trim_end().lines().count() == 1;
    sorted(one, is_line_end) == sorted(two, is_line_end)
        || is_one_line && sorted(one, is_between) == sorted(two, is_between)
}

/// What the words in which two texts differ look like, if they are as many.
fn of_words(one: &str, two: &str) -> Vec<Reason> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ',' | '(' | ')');
    let words = |text: &str| -> Vec<String> {
        let words = text.split(is_between).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let (one, two) = (words(one), words(two));
    if one.len() != two.len() {
        return Vec::new();
    }
    let pairs = one.iter().zip(&two).filter(|(one, two)| one != two);
    pairs.filter_map(|(one, two)| of_pair(one, two)).collect()
}

fn of_pair(one: &str, two: &str) -> Option<Reason> {
    let both = |is: fn(&str) -> bool| is(one) && is(two);
    if both(|word| word.contains("/tmp") || word.contains("tmp.")) {
        Some(Reason::Temporary)
    } else if both(is_moment) {
        Some(Reason::Clock)
    } else if both(is_drawn) {
        Some(Reason::Chance)
    } else {
        None
    }
}

/// `12:34:56`, `2026-01-31`, or seconds since 1970, with or without a fraction.
fn is_moment(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = |sign: char, count: usize| {
        let parts: Vec<&str> = word.split(sign).collect();
        parts.len() >= count && parts.iter().all(|part| digits(part.trim_end_matches('Z')))
    };
    let seconds = word.split('.').next().unwrap_or_default();
    let is_since_1970 = digits(seconds)
        && matches!(seconds.len(), 10 | 13 | 16 | 19)
        && seconds.starts_with(['1', '2']);
    let is_whole = word.len() >= 16 && word.contains('T') && word.contains(':');
    parts(':', 2) || parts('-', 3) || is_since_1970 || is_whole
}

/// A number, or hexadecimal digits enough for an id.
fn is_drawn(word: &str) -> bool {
    let word = word.trim_start_matches(['-', '+']);
    let is_number = word.bytes().any(|byte| byte.is_ascii_digit())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'-'));
    let is_id = word.len() >= 8
        && word
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_number || is_id
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_differs_looks_like_what_made_it() {
        let check = |one: &str, two: &str, expected: &[Reason]| {
            let leaf = Leaf {
                name: "output".to_owned(),
                left: Some(Value::String(one.to_owned())),
                right: Some(Value::String(two.to_owned())),
            };
            assert_eq!(
                reasons(&[leaf], one, two, Some(0)),
                expected,
                "{one:?} {two:?}"
            );
        };
        check("at 12:34:56", "at 12:34:58", &[Reason::Clock]);
        check("1767225600.25", "1767225601.75", &[Reason::Clock]);
        check(
            "2026-01-31T10:00:00Z",
            "2026-01-31T10:00:01Z",
            &[Reason::Clock],
        );
        check("seed 17", "seed 4711", &[Reason::Chance]);
        check("id=0f3a5c7e9b", "id=11aa22bb33", &[Reason::Chance]);
        check("in /tmp/tmp.Ab12", "in /tmp/tmp.Cd34", &[Reason::Temporary]);
        check("a\nb\nc\n", "b\na\nc\n", &[Reason::Order]);
        check("{'a', 'b'}", "{'b', 'a'}", &[Reason::Order]);
        check(
            "ok",
            "mv: Invalid cross-device link",
            &[Reason::CrossDevice],
        );
        check("1 passed", "1 failed", &[]);
    }
}
