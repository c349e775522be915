//! Tools that show a file, as functions of the tree.

use std::fmt::Write as _;

use super::session::Session;
use super::tree::{Found, Tree};
use super::{Answer, How, NotAttempted, Place, Words};
use crate::model::Outcome;
use crate::tools::{Refusal, Shown, Unanswerable};

/// Lines that are shown where nobody says how many.
const LINES: u64 = 2000;
/// A longer line is cut by some tools, each in its own way.
const LONGEST: usize = 2000;

/// Shows a file, or some lines of it.
pub(super) fn read(
    (tree, session): (&Tree<'_>, &Session),
    place: Place<'_>,
    path: &str,
    (first, lines): (u64, Option<u64>),
    form: Shown,
) -> Result<Answer, NotAttempted> {
    let bytes = match tree.find(&place.path(path)?)? {
        Found::File(bytes) => bytes,
        Found::Nothing => return Ok(failed(Refusal::NoFile, "File does not exist.")),
        Found::Directory => return Ok(failed(Refusal::Directory, "It is a directory.")),
    };
    let is_whole = first <= 1 && lines.is_none();
    if is_whole
        && session
            .largest()
            .is_some_and(|most| bytes.len() as u64 > most)
    {
        let words = "File content exceeds maximum allowed size.";
        return Ok(failed(Refusal::TooLarge, words));
    }
    // What is no text is shown as something else than text; of nothing, something is said.
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(Unanswerable::Form.into());
    };
    let extension = path.rsplit('.').next().unwrap_or_default();
    let is_special = matches!(extension, "ipynb" | "pdf" | "svg") || text.is_empty();
    if is_special || text.lines().any(|line| line.len() > LONGEST) {
        return Err(Unanswerable::Form.into());
    }
    let most = lines.unwrap_or(match form {
        Shown::Numbered => LINES,
        Shown::Plain => u64::MAX,
    });
    let output = match form {
        Shown::Plain if first <= 1 && most == u64::MAX => text.to_owned(),
        form => some_lines(text, first, most, form),
    };
    Ok(Answer {
        outcome: Outcome::Ok,
        words: Words::Exact,
        refusal: None,
        ..answer(output)
    })
}

fn some_lines(text: &str, first: u64, most: u64, form: Shown) -> String {
    let numbered = (1..).zip(text.split('\n'));
    let wanted = numbered.filter(|(number, _)| *number >= first);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut output = String::new();
    for (number, line) in wanted.take(most) {
        if !output.is_empty() {
            output.push('\n');
        }
        match form {
            Shown::Numbered => {
                // A string takes whatever is written to it.
                let _ = write!(output, "{number:>6}→{line}");
            }
            Shown::Plain => output.push_str(line),
        }
    }
    output
}

fn failed(why: Refusal, words: &str) -> Answer {
    Answer {
        refusal: Some(why),
        ..answer(words.to_owned())
    }
}

pub(super) fn answer(output: String) -> Answer {
    Answer {
        outcome: Outcome::Failed,
        exit: None,
        output,
        streams: None,
        changes: Vec::new(),
        refused: Vec::new(),
        how: How::Computed,
        words: Words::Own,
        refusal: None,
        needs_network: false,
        duration: None,
    }
}
