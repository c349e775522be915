//! A step or an event, set in lines of a given width, to be read.
//!
//! Breaking long lines costs as much as there is text, so the worker does it and the
//! screen only shows a window of the result.

use crate::debugger::{Section, StepDetail};
use crate::text::{Align, SafeText, human, width};

/// A step with its text in lines.
#[derive(Clone, Debug)]
pub struct StepReading {
    /// The step.
    pub detail: StepDetail,
    /// Its sections, set in lines.
    pub rows: Vec<ReadingRow>,
}

/// A line to read.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadingRow {
    /// A section begins.
    Heading {
        /// What it is.
        name: SafeText,
        /// Characters that nobody sees were made visible in it.
        has_hidden: bool,
    },
    /// Text.
    Line(SafeText),
    /// Something the program says about the text.
    Remark(SafeText),
    /// Room between two sections.
    Blank,
}

/// Sets the sections of a step in lines of at most `columns`.
pub fn sections(sections: &[Section], columns: usize) -> Vec<ReadingRow> {
    let mut rows = Vec::new();
    for section in sections {
        if !rows.is_empty() {
            rows.push(ReadingRow::Blank);
        }
        rows.push(ReadingRow::Heading {
            name: section.name.clone(),
            has_hidden: section.has_hidden,
        });
        rows.extend(lines(&section.lines, columns));
        if section.omitted > 0 {
            let more = human::plural(section.omitted as u64, "more line", "more lines");
            rows.push(ReadingRow::Remark(SafeText::line(&format!("… {more}"))));
        }
        if section.lines.is_empty() && section.omitted == 0 {
            rows.push(ReadingRow::Remark(SafeText::literal("(empty)")));
        }
    }
    rows
}

/// Sets lines in lines of at most `columns`.
pub fn lines(lines: &[SafeText], columns: usize) -> Vec<ReadingRow> {
    let wrapped = lines.iter().flat_map(|line| wrap(line, columns));
    wrapped.map(ReadingRow::Line).collect()
}

/// Breaks a line; what is indented stays so.
fn wrap(line: &SafeText, columns: usize) -> Vec<SafeText> {
    let indent = line
        .as_str()
        .bytes()
        .take_while(|byte| *byte == b' ')
        .count();
    if indent == 0 || indent > columns / 2 {
        return width::wrap(line, columns);
    }
    let indented = |rest: SafeText| {
        let mut line = width::pad(&SafeText::default(), indent, Align::Left);
        line.push(&rest);
        line
    };
    let rest = width::slice(line, indent, usize::MAX);
    let lines = width::wrap(&rest, columns - indent).into_iter();
    lines.map(indented).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_indented_stays_so_when_it_is_broken() {
        let check = |line: &str, expected: &[&str]| {
            let rows = lines(&[SafeText::line(line)], 12);
            let line = |row: &ReadingRow| match row {
                ReadingRow::Line(line) => line.to_string(),
                other => panic!("{other:?}"),
            };
            assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), expected);
        };
        check("", &[""]);
        check("one two three", &["one two", "three"]);
        check("  \"averylongword\"", &["  \"averylong", "  word\""]);
        check("         deep", &["", "deep"]);
        check("    ", &["    "]);
    }

    #[test]
    fn sections_are_told_apart_and_what_is_left_out_is_said() {
        let section = |name: &str, lines: &str, omitted| Section {
            name: SafeText::line(name),
            lines: SafeText::lines(lines),
            omitted,
            has_hidden: false,
        };
        let rows = sections(&[section("a", "x", 2), section("b", "", 0)], 20);
        let words = |row: &ReadingRow| match row {
            ReadingRow::Heading { name, .. } => format!("# {name}"),
            ReadingRow::Line(text) | ReadingRow::Remark(text) => text.to_string(),
            ReadingRow::Blank => String::new(),
        };
        let rows: Vec<String> = rows.iter().map(words).collect();
        assert_eq!(rows, ["# a", "x", "… 2 more lines", "", "# b", "(empty)"]);
    }
}
