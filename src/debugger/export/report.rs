//! What happened in a case, to be read by people.

use std::fmt::Write as _;

use crate::export::{Case, CaseItem, fenced};
use crate::model::TapePath;

/// The report.
pub(super) fn report(case: &Case) -> String {
    let mut text = format!("# A tool call that {}\n\n", case.expected.outcome);
    let _ = writeln!(text, "{}", fenced("The tool", &case.tool));
    let arguments = serde_json::to_string_pretty(&case.arguments).unwrap_or_default();
    let _ = writeln!(text, "{}", fenced("What it was given", &arguments));
    let _ = writeln!(
        text,
        "It {}{}.\n",
        case.expected.outcome,
        case.expected
            .exit
            .map_or_else(String::new, |exit| format!(", with exit code {exit}"))
    );
    let output = case.expected.output.as_deref().unwrap_or_default();
    let _ = writeln!(text, "{}", fenced("What it said", output));
    let held = case.files.iter();
    let held = held.filter(|(_, file)| !matches!(file.item, CaseItem::Nothing));
    let files: Vec<String> = held.map(|(path, _)| TapePath::to_text(path)).collect();
    let _ = writeln!(
        text,
        "{}",
        fenced("The files before it, in `files/`", &files.join("\n"))
    );
    if !case.doubts.is_empty() {
        let doubts = case.doubts.join("\n");
        let _ = writeln!(text, "{}", fenced("What is not known", &doubts));
    }
    if !case.remarks.is_empty() {
        let remarks = case.remarks.join("\n");
        let _ = writeln!(text, "{}", fenced("What to know of it besides", &remarks));
    }
    text.push_str("To see it again: `jukebox test .` in this directory.\n");
    text
}
