//! The page of a case that says what it is; of a smallest set of files, with what was left out.
//!
//! What was recorded stands in fences that it cannot close, made safe to be shown.

use std::fmt::Write as _;

use super::case::Case;
use super::minimal::{Cut, Kept};
use crate::text::SafeText;

/// The page.
pub(super) fn of(case: &Case) -> String {
    let mut text = include_str!("../../assets/test-case/README.md").to_owned();
    if let Some(cut) = &case.cut {
        text.push('\n');
        text.push_str(&left_out(cut));
    }
    text
}

/// What was left out of a smallest set of files.
fn left_out(cut: &Cut) -> String {
    let mut rows = String::new();
    for (path, kept) in &cut.files {
        let path = path.to_text();
        let row = match kept {
            Kept::Nothing { lines: Some(lines) } => format!("{path}  (all of its {lines} lines)"),
            Kept::Nothing { lines: None } => path,
            Kept::Lines { kept, of } => format!("{path}  ({} of its {of} lines)", of - kept),
        };
        let _ = writeln!(rows, "{row}");
    }
    let mut text = fenced("What was left out", &rows);
    text.push('\n');
    text.push_str(if cut.is_least {
        "Without any other file, and without any other line, the call fails in another way, or not at all.\n"
    } else {
        "The time was up: there may be more that could be left out.\n"
    });
    text.push_str("`recorded.txt` is what the call said in the run, on all of its files; `output.txt` what it says on these.\n");
    text
}

/// A text of a tape in Markdown: made safe, in a fence that nothing in it can close.
pub fn fenced(title: &str, text: &str) -> String {
    let lines: Vec<SafeText> = SafeText::lines(text);
    let mut longest = 0;
    let mut run = 0;
    for character in lines.iter().flat_map(|line| line.as_str().chars()) {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(3.max(longest + 1));
    let mut block = format!("## {title}\n\n{fence}text\n");
    for line in &lines {
        block.push_str(line.as_str());
        block.push('\n');
    }
    block.push_str(&fence);
    block.push('\n');
    block
}
