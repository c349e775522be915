//! A step, a request or an event, set in lines of a given width, to be read.
//!
//! Breaking long lines costs as much as there is text, so the worker does it and the
//! screen only shows a window of the result.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::action::ActionId;
use super::document::Document;
use crate::debugger::{
    ContextCell, ContextRun, LeadingSection, LikeView, RequestView, Section, StepDetail,
};
use crate::model::StepNumber;
use crate::text::json_diff::{self, LineKind};
use crate::text::{Align, JsonChange, JsonChangeKind, SafeText, human, width};

/// How long two contents are compared by paths.
const BUDGET: Duration = Duration::from_millis(100);

/// Lines of changes that are set; nobody reads more here.
const MAX_CHANGE_LINES: usize = 20_000;

/// The section with what a model was sent.
const REQUEST: &str = "request";

/// Columns before a line of a change.
const SIGN: usize = 4;

/// A step with its text in lines.
#[derive(Clone, Debug)]
pub struct StepReading {
    /// The step.
    pub detail: StepDetail,
    /// Its sections, set in lines.
    pub rows: Vec<ReadingRow>,
}

/// What the model was sent, with its text in lines.
#[derive(Clone, Debug)]
pub struct RequestReading {
    /// What is known of it.
    pub view: RequestView,
    /// It, set in lines.
    pub rows: Vec<ReadingRow>,
}

/// A piece of a line of a change: long lines are broken.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRow {
    /// What the line says.
    pub kind: LineKind,
    /// Whether it goes on a line that began above.
    pub is_continued: bool,
    /// The text.
    pub text: SafeText,
    /// The bytes of it that differ from what stands in their place.
    pub emphasis: Vec<Range<usize>>,
}

/// The context over a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextLines {
    /// The run in columns.
    pub cells: Vec<ContextCell>,
    /// The rest of it, set in lines.
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
    /// Text that is about a step, and leads to it.
    Lead(StepNumber, SafeText),
    /// Something the program says about the text.
    Remark(SafeText),
    /// A line of a change.
    Change(ChangeRow),
    /// Room between two sections.
    Blank,
}

/// Sets a step in lines of at most `columns`. What a model was sent is one line behind what it
/// answered: it has a view of its own.
pub fn step(detail: StepDetail, columns: u16) -> StepReading {
    let is_request = |section: &&Section| section.name.as_str() == REQUEST;
    let (sent, told): (Vec<&Section>, Vec<&Section>) = detail.sections.iter().partition(is_request);
    let is_answered = !told.is_empty();
    let whole = if is_answered { &told } else { &sent };
    let whole = whole.iter().map(|section| (*section, &[][..]));
    let mut rows = set(whole, usize::from(columns));
    for section in sent.into_iter().filter(|_| is_answered) {
        let lines = (section.lines.len() + section.omitted) as u64;
        let (lines, key) = (
            human::plural(lines, "line", "lines"),
            ActionId::NextView.key(),
        );
        let words = SafeText::line(&format!("request: {lines}; {key} shows it"));
        rows.extend([ReadingRow::Blank, ReadingRow::Remark(words)]);
    }
    if detail.omitted_events > 0 {
        let more = human::plural(detail.omitted_events as u64, "more event", "more events");
        let words = SafeText::line(&format!("… {more} of this step are not shown"));
        rows.extend([ReadingRow::Blank, ReadingRow::Remark(words)]);
    }
    StepReading { detail, rows }
}

/// Sets what is to be read of a run's context in lines of at most `columns`.
pub fn context_run(run: ContextRun, columns: u16) -> ContextLines {
    ContextLines {
        rows: leading(&run.sections(), usize::from(columns)),
        cells: run.cells,
    }
}

/// Sets the sections of a step in lines of at most `columns`.
pub fn sections(sections: &[Section], columns: usize) -> Vec<ReadingRow> {
    set(sections.iter().map(|section| (section, &[][..])), columns)
}

/// Sets sections whose lines lead to steps in lines of at most `columns`.
pub fn leading(sections: &[LeadingSection], columns: usize) -> Vec<ReadingRow> {
    let parts = sections
        .iter()
        .map(|leading| (&leading.section, &leading.steps[..]));
    set(parts, columns)
}

/// Sets sections in lines. The second of each are the steps that its first lines lead to.
fn set<'a>(
    sections: impl Iterator<Item = (&'a Section, &'a [Option<StepNumber>])>,
    columns: usize,
) -> Vec<ReadingRow> {
    let mut rows = Vec::new();
    for (section, steps) in sections {
        if !rows.is_empty() {
            rows.push(ReadingRow::Blank);
        }
        rows.push(ReadingRow::Heading {
            name: section.name.clone(),
            has_hidden: section.has_hidden,
        });
        for (index, line) in section.lines.iter().enumerate() {
            let step = steps.get(index).copied().flatten();
            rows.extend(wrap(line, columns).into_iter().map(|line| match step {
                Some(step) => ReadingRow::Lead(step, line),
                None => ReadingRow::Line(line),
            }));
        }
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

/// Sets what the model was sent in lines of at most `columns`.
pub fn request(view: &RequestView, columns: usize) -> Vec<ReadingRow> {
    let remarks = view.remarks.iter().flat_map(|remark| wrap(remark, columns));
    let mut rows: Vec<ReadingRow> = remarks.map(ReadingRow::Remark).collect();
    rows.extend(changes(&view.changes, columns));
    if !rows.is_empty() && !view.sections.is_empty() {
        rows.push(ReadingRow::Blank);
    }
    rows.extend(sections(&view.sections, columns));
    rows
}

/// Sets a step beside the last one like it in lines of at most `columns`.
pub fn like(view: &LikeView, columns: usize) -> Vec<ReadingRow> {
    let mut rows = Vec::new();
    if let Some(before) = view.before {
        rows.push(ReadingRow::Heading {
            name: SafeText::line(&format!("beside step {before}, by paths")),
            has_hidden: false,
        });
    }
    let remarks = view.remarks.iter().flat_map(|remark| wrap(remark, columns));
    rows.extend(remarks.map(ReadingRow::Remark));
    rows.extend(changes(&view.changes, columns));
    rows
}

/// How two contents differ, by paths; `None` where they are no JSON, or too much of it.
pub fn by_path([old, new]: &[Arc<Document>; 2], columns: usize) -> Option<Vec<ReadingRow>> {
    let (old, new) = (old.bytes(), new.bytes());
    let (old, new) = (str::from_utf8(&old).ok()?, str::from_utf8(&new).ok()?);
    let found = json_diff::between(old, new, BUDGET)?;
    let mut rows = changes(&found, columns);
    if rows.is_empty() {
        let words = "The values are the same: only blanks or the order of members differ.";
        rows.push(ReadingRow::Remark(SafeText::literal(words)));
    }
    Some(rows)
}

/// Sets changes in lines of at most `columns`.
fn changes(changes: &[JsonChange], columns: usize) -> Vec<ReadingRow> {
    let lines = changes.iter().flat_map(json_diff::change_lines);
    let shown = lines.take(MAX_CHANGE_LINES + 1);
    let mut rows: Vec<ReadingRow> = Vec::new();
    for (index, line) in shown.enumerate() {
        if index == MAX_CHANGE_LINES {
            let words = "… and more; `jukebox diff` prints all";
            rows.push(ReadingRow::Remark(SafeText::literal(words)));
            break;
        }
        let mut start = 0;
        let room = columns.saturating_sub(SIGN);
        for (index, piece) in wrap(&line.text, room).into_iter().enumerate() {
            // Pieces are parts of the line, in order, without the blanks between them.
            let rest = line.text.as_str().get(start..).unwrap_or_default();
            let at = start + rest.find(piece.as_str()).unwrap_or(0);
            let end = at + piece.as_str().len();
            let inside = |range: &Range<usize>| {
                let cut = range.start.max(at)..range.end.min(end);
                (!cut.is_empty()).then(|| cut.start - at..cut.end - at)
            };
            rows.push(ReadingRow::Change(ChangeRow {
                kind: line.kind,
                is_continued: index > 0,
                emphasis: line.emphasis.iter().filter_map(inside).collect(),
                text: piece,
            }));
            start = end;
        }
    }
    rows
}

impl ChangeRow {
    /// What stands before the line, in `SIGN` columns.
    pub fn sign(&self) -> &'static str {
        use JsonChangeKind::{Added, Changed, Moved, Removed, Rewritten};
        if self.is_continued {
            return "    ";
        }
        match self.kind {
            LineKind::Path(Added) => "+ ",
            LineKind::Path(Removed) => "− ",
            LineKind::Path(Changed | Rewritten) => "~ ",
            LineKind::Path(Moved { .. }) => "↕ ",
            LineKind::Added => "  + ",
            LineKind::Removed => "  − ",
            LineKind::Context | LineKind::Remark => "    ",
        }
    }
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

    fn section(name: &str, lines: &str, omitted: usize) -> Section {
        Section {
            name: SafeText::line(name),
            lines: SafeText::lines(lines),
            omitted,
            has_hidden: false,
        }
    }

    /// What stands in each row.
    fn words(rows: &[ReadingRow]) -> Vec<String> {
        let words = |row: &ReadingRow| match row {
            ReadingRow::Heading { name, .. } => format!("# {name}"),
            ReadingRow::Line(text) | ReadingRow::Remark(text) | ReadingRow::Lead(_, text) => {
                text.to_string()
            }
            ReadingRow::Change(line) => line.text.to_string(),
            ReadingRow::Blank => String::new(),
        };
        rows.iter().map(words).collect()
    }

    #[test]
    fn sections_are_told_apart_and_what_is_left_out_is_said() {
        let rows = sections(&[section("a", "x", 2), section("b", "", 0)], 20);
        let expected = ["# a", "x", "… 2 more lines", "", "# b", "(empty)"];
        assert_eq!(words(&rows), expected);
    }
}
