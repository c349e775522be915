//! Which files a call names, or what it said.
//!
//! What a command read is not recorded: a file that is named nowhere may be needed all the same.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::TapePath;

/// The paths that some texts may name.
#[derive(Debug, Default)]
pub struct Touched {
    texts: Vec<String>,
    words: HashSet<String>,
}

impl Touched {
    /// Takes in a text.
    pub fn take(&mut self, text: &str) {
        for word in text.split(|character| !is_plain(character)) {
            let word = word.trim_end_matches(['.', ':', ',', '/']);
            // `/w/src/a.py:12` and `./src/a.py` name `src/a.py`.
            let mut rest = word;
            loop {
                if rest.is_empty() || !self.words.insert(rest.to_owned()) {
                    break;
                }
                match rest.split_once('/') {
                    Some((_, after)) => rest = after,
                    None => break,
                }
            }
        }
        self.texts.push(text.to_owned());
    }

    /// Takes in each text of a value.
    pub fn take_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.take(text),
            Value::Array(values) => values.iter().for_each(|value| self.take_value(value)),
            Value::Object(fields) => fields.values().for_each(|value| self.take_value(value)),
            _ => {}
        }
    }

    /// Whether a path is named.
    pub fn names(&self, path: &TapePath) -> bool {
        let Ok(text) = std::str::from_utf8(path.as_bytes()) else {
            return false;
        };
        if text.chars().all(is_plain) {
            self.words.contains(text)
        } else {
            self.texts.iter().any(|said| said.contains(text))
        }
    }
}

/// Whether a path may hold it without being quoted.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+' | '@' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_however_they_are_written() {
        let check = |text: &str, path: &str, expected: bool| {
            let mut touched = Touched::default();
            touched.take(text);
            let path = TapePath::new(path).unwrap();
            assert_eq!(touched.names(&path), expected, "{text}: {path:?}");
        };
        check("sh tests/run.sh", "tests/run.sh", true);
        check("at /w/src/a.py:12: oops", "src/a.py", true);
        check("see 'src/a.py'.", "src/a.py", true);
        check("see ./src/a.py.", "src/a.py", true);
        check("src/a.pyc", "src/a.py", false);
        check("src/a.py", "src", false);
        check("cat 'a b.txt'", "a b.txt", true);
        check("xsrc/a.py", "src/a.py", false);
    }
}
