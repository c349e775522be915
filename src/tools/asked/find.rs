//! What `Glob` and `Grep` of Claude Code are asked for. An option that changes the answer and is
//! not listed here makes the call one that is not understood.

use serde_json::{Map, Value};

/// A search for files, by their names or by what they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Find {
    /// Files whose path fits a pattern.
    Names {
        /// The pattern.
        pattern: String,
        /// Below which directory; `None`: where the agent is.
        path: Option<String>,
    },
    /// Lines that a regular expression fits.
    Lines {
        /// The expression.
        pattern: String,
        /// In which file, or below which directory; `None`: where the agent is.
        path: Option<String>,
        /// Only in files whose path fits this pattern.
        glob: Option<String>,
        /// Small letters are as good as capital ones.
        ignores_case: bool,
        /// What is told of them.
        shown: Sought,
        /// Lines of the answer at most.
        most: Option<u64>,
    },
}

/// What is told of lines that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// The files that they stand in.
    Files,
    /// The lines, with their numbers or without.
    Lines {
        /// Whether each has its number.
        are_numbered: bool,
        /// How many lines before each and behind it are told, too.
        around: (u64, u64),
    },
    /// How many there are in each file.
    Counts,
}

impl Find {
    /// Reads the arguments of `Glob`.
    pub(super) fn names(arguments: &Value) -> Option<Self> {
        let fields = only(arguments, &["pattern", "path"])?;
        Some(Self::Names {
            pattern: text(fields, "pattern")?,
            path: text(fields, "path"),
        })
    }

    /// Reads the arguments of `Grep`.
    pub(super) fn lines(arguments: &Value) -> Option<Self> {
        const KNOWN: [&str; 12] = [
            "pattern",
            "path",
            "glob",
            "output_mode",
            "-i",
            "-n",
            "-A",
            "-B",
            "-C",
            "context",
            "head_limit",
            "multiline",
        ];
        let fields = only(arguments, &KNOWN)?;
        let is_set = |name: &str| fields.get(name).and_then(Value::as_bool);
        if is_set("multiline") == Some(true) {
            return None;
        }
        let shown = match text(fields, "output_mode").as_deref() {
            None | Some("files_with_matches") => Sought::Files,
            Some("content") => Sought::Lines {
                are_numbered: is_set("-n").unwrap_or(true),
                around: around(fields),
            },
            Some("count") => Sought::Counts,
            Some(_) => return None,
        };
        Some(Self::Lines {
            pattern: text(fields, "pattern")?,
            path: text(fields, "path"),
            glob: text(fields, "glob"),
            ignores_case: is_set("-i").unwrap_or_default(),
            shown,
            most: fields.get("head_limit").and_then(Value::as_u64),
        })
    }
}

/// The lines before and behind one that fits: where both are said at once, that counts.
fn around(fields: &Map<String, Value>) -> (u64, u64) {
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let both = number("-C").or_else(|| number("context"));
    let side = |name: &str| both.or_else(|| number(name)).unwrap_or_default();
    (side("-B"), side("-A"))
}

/// The fields, if none is there but these.
fn only<'a>(arguments: &'a Value, known: &[&str]) -> Option<&'a Map<String, Value>> {
    let fields = arguments.as_object()?;
    let mut names = fields.keys();
    names
        .all(|name| known.contains(&name.as_str()))
        .then_some(fields)
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name)?.as_str().map(str::to_owned)
}
