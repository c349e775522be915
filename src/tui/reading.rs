//! A step or an event, set in lines of a given width, to be read.
//!
//! Breaking long lines costs as much as there is text, so the worker does it and the
//! screen only shows a window of the result.

use crate::debugger::{Section, StepDetail};
use crate::text::{SafeText, human, width};

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
    let wrapped = lines.iter().flat_map(|line| width::wrap(line, columns));
    wrapped.map(ReadingRow::Line).collect()
}
