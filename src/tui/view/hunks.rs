//! The rows of a difference: only those in view are looked at.

use std::iter;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::file::without_left;
use super::pen::Pen;
use crate::text::diff::{Side, word_emphasis};
use crate::text::{FileDiff, Hunk, LineEnds, Row, RowKind, SafeText, SeenBlanks};
use crate::tui::app::App;
use crate::tui::difference::{DiffLine, DiffRow, Form, OpenDiff};
use crate::tui::highlight::{Painted, Token};
use crate::tui::layout::scrolled;
use crate::tui::panes::Blanks;
use crate::tui::theme::Role;

/// Stretches of more lines are not compared word by word.
const MAX_EMPHASIS: usize = 64;

/// From this many columns, both line numbers are shown.
const WIDE: u16 = 56;

/// What is the same for all rows.
struct Columns<'a> {
    digits: usize,
    /// How lines end changed: the ends have to be seen.
    has_line_ends: bool,
    blanks: Blanks,
    /// The colours of the lines before and after, once they are known.
    painted: Option<&'a [Painted; 2]>,
    left: usize,
    width: usize,
}

/// Which of the two contents the place of a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// To the one before.
    Old,
    /// To the one after.
    New,
    /// To both: numbers of both are shown.
    Both,
    /// To both, and there is room for one number.
    Either,
}

/// Draws the hunks of a difference.
pub(super) fn draw(app: &App, open: &OpenDiff, diff: &FileDiff, area: Rect, buffer: &mut Buffer) {
    let form = app.diff_form();
    let first = scrolled(app.diff.top, None, open.len(form), usize::from(area.height));
    let last = diff.hunks.last();
    let last = last.and_then(|hunk| hunk.row(hunk.len().checked_sub(1)?));
    let last_number = last.and_then(|row| row.old.max(row.new)).unwrap_or(0);
    let ends = |side: Option<Side>| side.map_or(LineEnds::None, |side| side.line_ends);
    let (old, new) = (ends(diff.old), ends(diff.new));
    let columns = Columns {
        digits: last_number.to_string().len().max(3),
        has_line_ends: old != LineEnds::None && new != LineEnds::None && old != new,
        blanks: app.diff.blanks,
        painted: app.diff.painted_of(open),
        left: app.diff.left,
        width: usize::from(area.width),
    };
    let place = if area.width >= WIDE {
        Place::Both
    } else {
        Place::Either
    };
    for (row, line) in open.rows(form, first).zip(area.rows()) {
        match row {
            DiffRow::Head(hunk) => {
                let place = match form {
                    Form::Unified => place,
                    Form::SideBySide => Place::Old,
                };
                draw_head(hunk, place, &columns, Pen::new(buffer, line, app.theme));
            }
            DiffRow::Line(of) => draw_line(of, place, &columns, Pen::new(buffer, line, app.theme)),
            DiffRow::Pair(old, new) => {
                let (left, middle, right) = halves(line);
                for (side, place, area) in [(old, Place::Old, left), (new, Place::New, right)] {
                    let pen = Pen::new(buffer, area, app.theme);
                    match side {
                        Some(of) => draw_line(of, place, &columns, pen),
                        None => pen.finish(),
                    }
                }
                Pen::new(buffer, middle, app.theme).words("│", Role::Quiet);
            }
        }
    }
}

/// Two halves of a row, and a column between them.
fn halves(row: Rect) -> (Rect, Rect, Rect) {
    let half = row.width.saturating_sub(1) / 2;
    let part = |x, width| Rect { x, width, ..row };
    let middle = row.x + half;
    (
        part(row.x, half),
        part(middle, row.width.min(1)),
        part(middle + 1, (row.width - half).saturating_sub(1)),
    )
}

fn draw_head(hunk: &Hunk, place: Place, columns: &Columns<'_>, mut pen: Pen<'_>) {
    let numbers = if place == Place::Both { 2 } else { 1 };
    let indent = (columns.digits + 1) * numbers;
    pen.text(&SafeText::line(&format!("{:>indent$}", "⋯ ")), Role::Quiet);
    pen.text(&SafeText::line(&hunk.header()), Role::Quiet);
    pen.gap(1);
    pen.fill("┄", Role::Quiet);
}

fn draw_line(line: DiffLine<'_>, place: Place, columns: &Columns<'_>, mut pen: Pen<'_>) {
    let row = line.row;
    let number = |line: Option<usize>| line.map(|line| line as u64);
    match place {
        Place::Both => {
            pen.number(number(row.old), columns.digits);
            pen.gap(1);
            pen.number(number(row.new), columns.digits);
        }
        Place::Old => pen.number(number(row.old), columns.digits),
        Place::New => pen.number(number(row.new), columns.digits),
        Place::Either => pen.number(number(row.new.or(row.old)), columns.digits),
    }
    let (sign, sign_role, role, word_role) = match row.kind {
        RowKind::Context => ("   ", Role::Text, Role::Text, Role::Text),
        RowKind::Added => (" + ", Role::Added, Role::AddedLine, Role::AddedWord),
        RowKind::Removed => (" − ", Role::Removed, Role::RemovedLine, Role::RemovedWord),
    };
    pen.words(sign, sign_role);
    if row.is_unterminated() {
        pen.right(&SafeText::literal("no newline at end"), Role::Warning);
        pen.right_gap(1);
    }
    let emphasis = emphasis(line, columns);
    let pieces = pieces(row, columns);
    let at_plain = |at: usize| {
        if emphasis.iter().any(|word| word.contains(&at)) {
            return word_role;
        }
        let piece = pieces.iter().find(|(range, _)| range.contains(&at));
        match (piece, row.kind) {
            (None, _) => role,
            (Some((_, token)), RowKind::Context) => Role::Code(*token),
            (Some((_, token)), RowKind::Added) => Role::AddedCode(*token),
            (Some((_, token)), RowKind::Removed) => Role::RemovedCode(*token),
        }
    };
    if let Some(seen) = seen(row, columns) {
        let (text, cut) = without_left(&seen.text, columns.left);
        pen.styled(&text, |at| {
            seen.plain(at + cut).map_or(Role::Quiet, at_plain)
        });
    } else {
        let (text, cut) = without_left(&shown(row, columns), columns.left);
        pen.styled(&text, |at| at_plain(at + cut));
    }
    pen.fill(" ", role);
}

/// What the pieces of the line are, as far as it is known.
fn pieces<'a>(row: Row<'_>, columns: &Columns<'a>) -> &'a [(Range<usize>, Token)] {
    let Some([old, new]) = columns.painted else {
        return &[];
    };
    match (row.old, row.new) {
        (_, Some(number)) => new.line(number - 1),
        (Some(number), None) => old.line(number - 1),
        (None, None) => &[],
    }
}

/// The line with its blanks seen, where that is wanted and the line is not all too long.
fn seen(row: Row<'_>, columns: &Columns<'_>) -> Option<SeenBlanks> {
    let is_short = row.content().len() <= columns.enough();
    (columns.blanks == Blanks::Seen && is_short)
        .then(|| SeenBlanks::of(row.content(), row.line_end()))
}

impl Columns<'_> {
    /// A line may be the whole file: no more bytes of it are made safe than can be seen.
    fn enough(&self) -> usize {
        (self.left + self.width).saturating_mul(8)
    }
}

/// The line, and its end where ends changed.
fn shown(row: Row<'_>, columns: &Columns<'_>) -> SafeText {
    let content = row.content();
    let Some((start, _)) = content.split_at_checked(columns.enough()) else {
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
fn emphasis(line: DiffLine<'_>, columns: &Columns<'_>) -> Vec<Range<usize>> {
    let DiffLine { hunk, index, row } = line;
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
