//! The rows of a difference: only those in view are looked at.

use std::iter;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::file::without_left;
use super::pen::Pen;
use crate::text::diff::{Side, word_emphasis};
use crate::text::{FileDiff, Hunk, LineEnds, Row, RowKind, SafeText};
use crate::tui::app::App;
use crate::tui::layout::scrolled;
use crate::tui::panes::{DiffRow, rows_from};
use crate::tui::theme::Role;

/// Stretches of more lines are not compared word by word.
const MAX_EMPHASIS: usize = 64;

/// From this many columns, both line numbers are shown.
const WIDE: u16 = 56;

/// What is the same for all rows.
struct Columns {
    digits: usize,
    numbers: usize,
    /// How lines end changed: the ends have to be seen.
    has_line_ends: bool,
    left: usize,
    width: usize,
}

/// Draws the hunks of a difference.
pub(super) fn draw(app: &App, diff: &FileDiff, area: Rect, buffer: &mut Buffer) {
    let rows: usize = diff.hunks.iter().map(|hunk| 1 + hunk.len()).sum();
    let first = scrolled(app.diff.top, None, rows, usize::from(area.height));
    let last = diff.hunks.last();
    let last = last.and_then(|hunk| hunk.row(hunk.len().checked_sub(1)?));
    let last_number = last.and_then(|row| row.old.max(row.new)).unwrap_or(0);
    let ends = |side: Option<Side>| side.map_or(LineEnds::None, |side| side.line_ends);
    let (old, new) = (ends(diff.old), ends(diff.new));
    let columns = Columns {
        digits: last_number.to_string().len().max(3),
        numbers: if area.width >= WIDE { 2 } else { 1 },
        has_line_ends: old != LineEnds::None && new != LineEnds::None && old != new,
        left: app.diff.left,
        width: usize::from(area.width),
    };
    for (row, line) in rows_from(diff, first).zip(area.rows()) {
        let pen = Pen::new(buffer, line, app.theme);
        match row {
            DiffRow::Head(hunk) => draw_head(hunk, &columns, pen),
            DiffRow::Line(hunk, index, row) => draw_line(hunk, index, row, &columns, pen),
        }
    }
}

fn draw_head(hunk: &Hunk, columns: &Columns, mut pen: Pen<'_>) {
    let indent = (columns.digits + 1) * columns.numbers;
    pen.text(&SafeText::line(&format!("{:>indent$}", "⋯ ")), Role::Quiet);
    pen.text(&SafeText::line(&hunk.header()), Role::Quiet);
    pen.gap(1);
    pen.fill("┄", Role::Quiet);
}

fn draw_line(hunk: &Hunk, index: usize, row: Row<'_>, columns: &Columns, mut pen: Pen<'_>) {
    let number = |line: Option<usize>| line.map(|line| line as u64);
    if columns.numbers == 2 {
        pen.number(number(row.old), columns.digits);
        pen.gap(1);
        pen.number(number(row.new), columns.digits);
    } else {
        pen.number(number(row.new.or(row.old)), columns.digits);
    }
    let (sign, role, word_role) = match row.kind {
        RowKind::Context => ("   ", Role::Text, Role::Text),
        RowKind::Added => (" + ", Role::AddedLine, Role::AddedWord),
        RowKind::Removed => (" − ", Role::RemovedLine, Role::RemovedWord),
    };
    pen.words(sign, role);
    if row.is_unterminated() {
        pen.right(&SafeText::literal("no newline at end"), Role::Warning);
        pen.right_gap(1);
    }
    let emphasis = emphasis(hunk, index, row, columns);
    let (text, cut) = without_left(&shown(row, columns), columns.left);
    pen.styled(&text, |at| {
        let is_word = emphasis.iter().any(|word| word.contains(&(at + cut)));
        if is_word { word_role } else { role }
    });
}

/// The line, and its end where ends changed. A line may be the whole file: no more of it is
/// made safe than can be seen.
fn shown(row: Row<'_>, columns: &Columns) -> SafeText {
    let content = row.content();
    let enough = (columns.left + columns.width).saturating_mul(8);
    let Some((start, _)) = content.split_at_checked(enough) else {
        let mut text = SafeText::from_bytes(content);
        if columns.has_line_ends {
            text.push(&SafeText::literal(match row.line_end() {
                b"\r\n" => "␍␊",
                b"\n" => "␊",
                _ => "",
            }));
        }
        return text;
    };
    let mut text = SafeText::line(&String::from_utf8_lossy(start));
    text.push(&SafeText::literal("…"));
    text
}

/// The words in which a line differs from the one that stands in its place on the other
/// side, where as many lines were added as were removed before them.
fn emphasis(hunk: &Hunk, index: usize, row: Row<'_>, columns: &Columns) -> Vec<Range<usize>> {
    let is_of = |kind| move |index: &usize| hunk.row(*index).is_some_and(|row| row.kind == kind);
    let before = |from: usize, kind| {
        let rows = (0..from).rev().take(MAX_EMPHASIS);
        rows.take_while(is_of(kind)).count()
    };
    let from = |from: usize, kind| {
        let rows = iter::successors(Some(from), |index| index.checked_add(1)).take(MAX_EMPHASIS);
        rows.take_while(is_of(kind)).count()
    };
    let (removed, added) = match row.kind {
        RowKind::Context => return Vec::new(),
        RowKind::Removed => {
            let middle = index + from(index, RowKind::Removed);
            (
                before(middle, RowKind::Removed),
                from(middle, RowKind::Added),
            )
        }
        RowKind::Added => {
            let middle = index - before(index, RowKind::Added);
            (
                before(middle, RowKind::Removed),
                from(middle, RowKind::Added),
            )
        }
    };
    if removed != added || removed >= MAX_EMPHASIS {
        return Vec::new();
    }
    let other = match row.kind {
        RowKind::Removed => index.checked_add(removed),
        _ => index.checked_sub(removed),
    };
    let Some(other) = other.and_then(|other| hunk.row(other)) else {
        return Vec::new();
    };
    let (here, there) = (shown(row, columns), shown(other, columns));
    match row.kind {
        RowKind::Removed => word_emphasis(here.as_str(), there.as_str()).0,
        _ => word_emphasis(there.as_str(), here.as_str()).1,
    }
}
