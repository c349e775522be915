//! Words that stand for the paths of a recording, so that a case can be made again elsewhere.
//!
//! A word is chosen that occurs in none of the texts: what was recorded can be had back exactly.

use serde_json::{Map, Value};

/// Where commands see the files of a case.
pub(super) const ROOT: &str = "/workspace";
/// The home directory that files of a case tell of, if they tell of one.
pub(super) const HOME: &str = "/home/user";

/// The words of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholders {
    /// For the workspace.
    pub root: String,
    /// For the home directory.
    pub home: String,
}

/// The paths of a recording.
#[derive(Clone, Debug, Default)]
pub struct Recorded<'a> {
    root: Option<&'a str>,
    home: Option<&'a str>,
}

impl<'a> Recorded<'a> {
    /// Of a run whose workspace was at this absolute path. Whose home it lies in, its path tells.
    pub fn new(root: Option<&'a str>) -> Self {
        let root = root.map(|root| root.trim_end_matches('/'));
        let root = root.filter(|root| root.len() > 1);
        Self {
            root,
            home: root.and_then(home_of),
        }
    }
}

impl Recorded<'_> {
    /// A text with the places where a case is made again instead of those of the recording.
    pub fn moved(&self, text: &str) -> String {
        let text = hide(text, self.root, ROOT);
        hide(&text, self.home, HOME)
    }

    /// Whether bytes that are no text name a place of the recording, as far as can be seen.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        let mut paths = self.root.into_iter().chain(self.home);
        paths.any(|path| memchr::memmem::find(bytes, path.as_bytes()).is_some())
    }
}

/// The home directory that a path lies in, by the names that such directories have.
fn home_of(path: &str) -> Option<&str> {
    if path == "/root" || path.starts_with("/root/") {
        return path.get(.."/root".len());
    }
    let above = ["/home/", "/Users/"];
    let above = above.into_iter().find(|above| path.starts_with(above))?;
    let name = path.get(above.len()..)?.split('/').next()?;
    path.get(..above.len() + name.len())
        .filter(|_| !name.is_empty())
}

impl Placeholders {
    /// Words that occur in none of these.
    pub fn new(texts: &[&str], value: &Value) -> Self {
        let occurs =
            |word: &str| texts.iter().any(|text| text.contains(word)) || holds(value, word);
        let choose = |name: &str| {
            let mut word = format!("{{{name}}}");
            let mut number = 0;
            while occurs(&word) {
                number += 1;
                word = format!("{{{name}-{number}}}");
            }
            word
        };
        Self {
            root: choose("root"),
            home: choose("home"),
        }
    }

    /// A text with the words in place of the paths.
    pub fn hide(&self, text: &str, paths: &Recorded<'_>) -> String {
        let text = hide(text, paths.root, &self.root);
        hide(&text, paths.home, &self.home)
    }

    /// A text with these paths in place of the words.
    pub fn fill(&self, text: &str, root: &str, home: &str) -> String {
        let parts: Vec<String> = text
            .split(self.root.as_str())
            .map(|part| part.replace(self.home.as_str(), home))
            .collect();
        parts.join(root)
    }

    /// The same, of each text in a value.
    pub fn hide_in(&self, value: &Value, paths: &Recorded<'_>) -> Value {
        each(value, &|text| self.hide(text, paths))
    }

    /// The same, of each text in a value.
    pub fn fill_in(&self, value: &Value, root: &str, home: &str) -> Value {
        each(value, &|text| self.fill(text, root, home))
    }
}

fn hide(text: &str, path: Option<&str>, word: &str) -> String {
    let Some(path) = path else {
        return text.to_owned();
    };
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(path) {
        hidden.push_str(before);
        let begins = !before.ends_with(|before| is_part_of_name(before) || before == '.');
        let ends = !after.starts_with(is_part_of_name);
        hidden.push_str(if begins && ends { word } else { path });
        rest = after;
    }
    hidden.push_str(rest);
    hidden
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

fn holds(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word),
        Value::Array(values) => values.iter().any(|value| holds(value, word)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains(word) || holds(value, word)),
        _ => false,
    }
}

/// A value with each of its texts, the names of fields among them, made another one.
pub(super) fn each(value: &Value, make: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(make(text)),
        Value::Array(values) => values.iter().map(|value| each(value, make)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (make(name), each(value, make)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(text: &str) -> Placeholders {
        Placeholders::new(&[text], &Value::Null)
    }

    #[test]
    fn paths_of_the_recording_are_hidden_where_they_stand_as_such() {
        let paths = Recorded::new(Some("/home/ann/app/"));
        let check = |text: &str, expected: &str| {
            assert_eq!(words(text).hide(text, &paths), expected);
        };
        check("cd /home/ann/app && ls", "cd {root} && ls");
        check("'/home/ann/app/a.py'", "'{root}/a.py'");
        check("file:///home/ann/app.", "file://{root}.");
        check(
            "/home/ann/apple /home/ann/.cache",
            "{home}/apple {home}/.cache",
        );
        check("/home/anna x/home/ann/app", "/home/anna x/home/ann/app");
        check("{root} /home/ann/app", "{root} {root-1}");
        let nowhere = Recorded::new(Some("/"));
        assert_eq!(words("/ a").hide("/ a", &nowhere), "/ a");
    }

    #[test]
    fn what_was_hidden_can_be_had_back() {
        let text = "{root} {root-1} /w/x{home}/w/x/root}/w//w/x {ro/w/xot}\0\u{202e}";
        let paths = Recorded::new(Some("/w/x"));
        let value = json!({"/w/x": [text, 1, null], "b": {"c": text}});
        let words = Placeholders::new(&[text], &value);
        let hidden = words.hide(text, &paths);
        assert!(hidden.contains("{root-2}"), "{hidden}");
        assert_eq!(words.fill(&hidden, "/w/x", "/h"), text);
        let hidden = words.hide_in(&value, &paths);
        assert_eq!(words.fill_in(&hidden, "/w/x", "/h"), value);
    }
}
