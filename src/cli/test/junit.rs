//! Results of test cases as JUnit XML, as continuous integration reads it.
//!
//! It holds no time and no name of a machine.

use std::fmt::Write as _;

use crate::debugger::{CaseRow, CaseStanding};
use crate::text::SafeText;

/// The report: a case that is fixed passed, one that is inconclusive is an error, all others
/// failed.
pub(super) fn report(rows: &[CaseRow]) -> String {
    let failures = rows.iter().filter(|row| {
        let standing = &row.standing;
        matches!(
            standing,
            CaseStanding::Reproduces | CaseStanding::Changed(_)
        )
    });
    let errors = rows
        .iter()
        .filter(|row| matches!(row.standing, CaseStanding::Inconclusive(_)));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuite name=\"jukebox\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
        rows.len(),
        failures.count(),
        errors.count()
    );
    for row in rows {
        let (name, place) = (escaped(&row.name), row.directory.to_string_lossy());
        let place = escaped(SafeText::line(&place).as_str());
        let _ = write!(text, "  <testcase name=\"{name}\" classname=\"{place}\"");
        match &row.standing {
            CaseStanding::Fixed => text.push_str("/>\n"),
            CaseStanding::Reproduces => {
                let message = "the recorded failure is still there";
                element(&mut text, "failure", message, "");
            }
            CaseStanding::Changed(leaves) => {
                let mut words = String::new();
                for leaf in leaves {
                    let side = |side: &Option<SafeText>| side.clone().unwrap_or_default();
                    let (left, right) = (side(&leaf.left), side(&leaf.right));
                    let _ = writeln!(words, "{}: {left} | {right}", leaf.name);
                }
                element(&mut text, "failure", "it fails in another way", &words);
            }
            CaseStanding::Inconclusive(why) => element(&mut text, "error", why.as_str(), ""),
        }
    }
    text.push_str("</testsuite>\n");
    text
}

fn element(text: &mut String, name: &str, message: &str, words: &str) {
    let (message, words) = (escaped(message), escaped(words));
    let _ = writeln!(
        text,
        ">\n    <{name} message=\"{message}\">{words}</{name}>\n  </testcase>"
    );
}

/// A text as it may stand in XML: what XML cannot hold at all becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            character if character.is_control() => escaped.push('?'),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_report_holds_whatever_was_said_as_text() {
        let why = SafeText::line("]]></error><testcase name=\"x\"/>\u{1b}[2J\0&");
        let row = CaseRow {
            name: "a".to_owned(),
            directory: PathBuf::from("d\"<"),
            standing: CaseStanding::Inconclusive(why),
            doubts: Vec::new(),
        };
        let text = report(&[row]);
        assert_eq!(text.matches("<testcase").count(), 1, "{text}");
        assert!(text.contains("classname=\"d&quot;&lt;\""), "{text}");
        assert!(text.contains("errors=\"1\""), "{text}");
        assert!(text.chars().all(|it| it == '\n' || !it.is_control()));
    }
}
