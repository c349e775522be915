//! Why an edit cannot be made, in words that say where.

/// An edit cannot be made on this content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text to replace is not in the file.
    #[error("the text to replace does not occur in the file: {}", first_line(.old))]
    NotFound {
        /// The text.
        old: String,
    },
    /// The text to replace is in the file more than once, and one place was meant.
    #[error("the text to replace occurs {} times, on lines {}: {}", .lines.len(), list(.lines), first_line(.old))]
    Ambiguous {
        /// The text.
        old: String,
        /// The lines on which it begins, from 1.
        lines: Vec<usize>,
    },
    /// No text to replace was given, which creates a file, but the file holds something.
    #[error("the edit names no text to replace, and the file is not empty")]
    NotEmpty,
    /// A file to be created is there already.
    #[error("the file exists already")]
    Exists,
    /// The file is not there.
    #[error("the file does not exist")]
    Absent,
    /// Nothing is known of the place that the edit changes.
    #[error("what the file holds where the edit changes it is not known")]
    Unknown,
    /// A line number lies outside the file.
    #[error("line {line} lies outside the file, which has {lines} lines")]
    NoSuchLine {
        /// The line asked for.
        line: usize,
        /// How many lines there are.
        lines: usize,
    },
    /// There is no earlier content to go back to.
    #[error("there is no earlier edit of this file to undo")]
    NothingToUndo,
    /// One of several edits cannot be made, so none is.
    #[error("edit {number} of {total}: {source}")]
    InSequence {
        /// Which, from 1.
        number: usize,
        /// How many there are.
        total: usize,
        /// Why.
        source: Box<EditError>,
    },
}

/// The first line of a text, cut to what fits in a message.
fn first_line(text: &str) -> String {
    const WIDTH: usize = 60;
    let line = text.trim_start().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(WIDTH).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    format!("“{short}”")
}

fn list(lines: &[usize]) -> String {
    const SHOWN: usize = 8;
    let mut words: Vec<String> = lines.iter().take(SHOWN).map(usize::to_string).collect();
    if lines.len() > SHOWN {
        words.push("…".to_owned());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where() {
        let check = |error: EditError, expected: &str| assert_eq!(error.to_string(), expected);
        check(
            EditError::Ambiguous {
                old: "x = 1\ny".to_owned(),
                lines: vec![2, 9],
            },
            "the text to replace occurs 2 times, on lines 2, 9: “x = 1…”",
        );
        check(
            EditError::InSequence {
                number: 2,
                total: 3,
                source: Box::new(EditError::NotFound {
                    old: "  a".to_owned(),
                }),
            },
            "edit 2 of 3: the text to replace does not occur in the file: “a”",
        );
    }
}
