//! The rows of a difference: only those in view are looked at.

use std::iter;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::file::without_left;
use super::pen::Pen;
use crate::text::diff::{Side, word_emphasis};
use crate::text::{FileDiff, LineEnds, Row, RowKind, SafeText, SeenBlanks, human};
use crate::tui::app::App;
use crate::tui::difference::{DiffLine, DiffRow, Fold, Form, OpenDiff};
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

/// Draws the rows of a difference.
pub(super) fn draw(app: &App, open: &OpenDiff, diff: &FileDiff, area: Rect, buffer: &mut Buffer) {
    let form = app.diff_form();
    let first = scrolled(app.diff.top, None, open.len(form), usize::from(area.height));
    let lengths = open.sides.iter().map(|document| document.len());
    let last_number = lengths.max().unwrap_or(0);
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
            DiffRow::Fold(fold) => {
                let place = match form {
                    Form::Unified => place,
                    Form::SideBySide => Place::Old,
                };
                let is_marked = app.diff.marked == Some(fold.number);
                let pen = Pen::new(buffer, line, app.theme);
                draw_fold(fold, is_marked, place, &columns, pen);
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

fn draw_fold(
    fold: Fold<'_>,
    is_marked: bool,
    place: Place,
    columns: &Columns<'_>,
    mut pen: Pen<'_>,
) {
    let numbers = if place == Place::Both { 2 } else { 1 };
    let indent = (columns.digits + 1) * numbers;
    let (sign, role) = if is_marked {
        ("▸⋯", Role::Accent)
    } else {
        ("⋯", Role::Quiet)
    };
    pen.text(&SafeText::line(&format!("{sign:>indent$}")), role);
    let lines = human::plural(fold.lines as u64, "line unchanged ", "lines unchanged ");
    pen.text(&SafeText::line(&format!("  {lines}")), role);
    if let Some(heading) = fold.heading {
        pen.text(heading, Role::Quiet);
        pen.gap(1);
    }
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
    // On the ground of the line, and further back than its words.
    let blank_role = match row.kind {
        RowKind::Context => Role::Quiet,
        RowKind::Added => Role::AddedCode(Token::Comment),
        RowKind::Removed => Role::RemovedCode(Token::Comment),
    };
    let other = counterpart(line);
    let emphasis = emphasis(row, other, columns);
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
    if let Some(seen) = seen(row, other, columns) {
        let (text, cut) = without_left(&seen.text, columns.left);
        let blank = |at: usize| {
            let is_word = |byte| emphasis.iter().any(|word| word.contains(&byte));
            match seen.blank(at) {
                Some(byte) if is_word(byte) => word_role,
                None if other.is_some_and(|other| other.line_end() != row.line_end()) => word_role,
                _ => blank_role,
            }
        };
        pen.styled(&text, |at| match seen.plain(at + cut) {
            Some(plain) => at_plain(plain),
            None => blank(at + cut),
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

/// The line with its blanks seen, where that is wanted or they are what differs, and the line
/// is not all too long.
fn seen(row: Row<'_>, other: Option<Row<'_>>, columns: &Columns<'_>) -> Option<SeenBlanks> {
    if row.content().len() > columns.enough() {
        return None;
    }
    let is_wanted = columns.blanks == Blanks::Seen;
    let differs = other.is_some_and(|other| has_same_words(row, other));
    if is_wanted || differs {
        return Some(SeenBlanks::of(row.content(), row.line_end()));
    }
    // Where all ends changed they are seen, in the lines that are said to differ.
    let has_other_end = other.map_or(columns.has_line_ends, |other| {
        other.line_end() != row.line_end() && !row.is_unterminated() && !other.is_unterminated()
    });
    (has_other_end && row.kind != RowKind::Context)
        .then(|| SeenBlanks::of_end(row.content(), row.line_end()))
}

/// Whether two lines differ, and in their blanks only.
fn has_same_words(one: Row<'_>, other: Row<'_>) -> bool {
    let words = |row: Row<'_>| {
        let bytes = row.content().iter().copied();
        bytes
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect::<Vec<u8>>()
    };
    one.content() != other.content() && words(one) == words(other)
}

impl Columns<'_> {
    /// A line may be the whole file: no more bytes of it are made safe than can be seen.
    fn enough(&self) -> usize {
        (self.left + self.width).saturating_mul(8)
    }
}

/// The line, as much of it as can be seen.
fn shown(row: Row<'_>, columns: &Columns<'_>) -> SafeText {
    let content = row.content();
    let Some((start, _)) = content.split_at_checked(columns.enough()) else {
        return SafeText::from_bytes(content);
    };
    let mut text = SafeText::line(&String::from_utf8_lossy(start));
    text.push(&SafeText::literal("…"));
    text
}

/// The line that stands in the place of this one on the other side, where as many lines were
/// added as were removed before them.
fn counterpart(line: DiffLine<'_>) -> Option<Row<'_>> {
    let (hunk, index) = line.hunk?;
    let is_of = |kind| move |index: &usize| hunk.row(*index).is_some_and(|row| row.kind == kind);
    let before = |from: usize, kind| {
        let rows = (0..from).rev().take(MAX_EMPHASIS);
        rows.take_while(is_of(kind)).count()
    };
    let from = |from: usize, kind| {
        let rows = iter::successors(Some(from), |index| index.checked_add(1)).take(MAX_EMPHASIS);
        rows.take_while(is_of(kind)).count()
    };
    let (removed, added) = match line.row.kind {
        RowKind::Context => return None,
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
        return None;
    }
    let other = match line.row.kind {
        RowKind::Removed => index.checked_add(removed),
        _ => index.checked_sub(removed),
    };
    other.and_then(|other| hunk.row(other))
}

/// The words in which a line differs from the one in its place.
fn emphasis(row: Row<'_>, other: Option<Row<'_>>, columns: &Columns<'_>) -> Vec<Range<usize>> {
    let Some(other) = other else {
        return Vec::new();
    };
    let (here, there) = (shown(row, columns), shown(other, columns));
    match row.kind {
        RowKind::Removed => word_emphasis(here.as_str(), there.as_str()).0,
        _ => word_emphasis(there.as_str(), here.as_str()).1,
    }
}
