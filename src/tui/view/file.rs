//! The open file: what is known of it, every step that changed it, and its lines.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::pane::{draw_centred, draw_error};
use super::pen::Pen;
use super::selection;
use super::versions;
use crate::debugger::{Spot, Writer};
use crate::model::Certainty;
use crate::text::{Align, SafeText, width};
use crate::tui::action::ActionId;
use crate::tui::app::App;
use crate::tui::document::{Document, DocumentRow};
use crate::tui::job::OpenFile;
use crate::tui::layout::{Pane, scrolled};
use crate::tui::panes::{BlameColumn, FilePane};
use crate::tui::theme::Role;

/// Draws the open file.
pub(super) fn draw(app: &App, pane: &FilePane, area: Rect, buffer: &mut Buffer) {
    let head = u16::try_from(pane.head_height(usize::from(area.height))).unwrap_or(0);
    let body = Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
    };
    match pane.open.get() {
        None => draw_name(app, pane, None, area, buffer),
        Some(Err(why)) => {
            draw_name(app, pane, None, area, buffer);
            draw_error(app, "This file cannot be shown.", why, body, buffer);
        }
        Some(Ok(open)) => {
            let head = Rect {
                height: head,
                ..area
            };
            draw_head(app, pane, open, head, buffer);
            if open.document.is_empty() {
                draw_nothing(app, open, body, buffer);
            } else {
                draw_lines(app, pane, open, body, buffer);
            }
        }
    }
}

/// The version of the open file that stands in this place of the pane.
pub(in crate::tui) fn version_at(app: &App, area: Rect, place: Position) -> Option<Spot> {
    let pane = app.state.file.as_ref()?;
    let versions = pane.head(usize::from(area.height)).versions()?;
    let row = area.rows().nth(versions)?;
    if !row.contains(place) {
        return None;
    }
    versions::at(app, &pane.versions, row, place.x)
}

/// The name, what is known and the versions, as far as there is room, and a line below.
fn draw_head(app: &App, pane: &FilePane, open: &OpenFile, area: Rect, buffer: &mut Buffer) {
    let said = pane.said();
    let shown = usize::from(area.height).saturating_sub(3).max(1);
    let mut rows = area.rows();
    let line = rows.next_back();
    if let Some(row) = rows.next() {
        draw_name(app, pane, Some(open), row, buffer);
    }
    for (index, row) in rows.by_ref().take(shown).enumerate() {
        let Some(text) = said.get(index) else {
            continue;
        };
        let mut pen = Pen::new(buffer, row, app.theme);
        pen.gap(1);
        if index + 1 == shown && said.len() > shown {
            pen.right(&more(), Role::Key);
        }
        draw_said(open, index, text, &mut pen);
    }
    if let Some(row) = rows.next() {
        versions::draw(app, &pane.versions, row, buffer);
    }
    if let Some(row) = line.filter(|_| area.height > 1) {
        Pen::new(buffer, row, app.theme).fill("─", Role::Quiet);
    }
}

fn draw_name(app: &App, pane: &FilePane, open: Option<&OpenFile>, row: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    let height = app.height_of(Pane::State);
    if let Some(open) = open.filter(|_| pane.head(height).said == 0) {
        // There is no room for the reason, and the notices have it.
        let certainty = open.view.certainty;
        if certainty != Certainty::Exact || !open.view.remarks.is_empty() {
            pen.right(&more(), Role::Key);
            pen.right_gap(1);
        }
        pen.words(certainty.as_str(), role_of(certainty));
        pen.gap(1);
    }
    let path = SafeText::from_bytes(pane.path.as_bytes());
    let badges = open.map_or(&[][..], |open| open.document.badges());
    for badge in badges.iter().rev() {
        if pen.left() > width::width(&path) + width::width(badge) + 3 {
            pen.right(badge, Role::Warning);
            pen.right_gap(2);
        }
    }
    pen.text(&width::fit_middle(&path, pen.left()), Role::Strong);
}

/// There is more to say, and which key says it.
fn more() -> SafeText {
    SafeText::line(&format!("… {}", ActionId::Notices.key()))
}

/// A line of what is known; the first one begins with the certainty.
fn draw_said(open: &OpenFile, index: usize, text: &SafeText, pen: &mut Pen<'_>) {
    let certainty = open.view.certainty;
    let reason = match (certainty, open.view.remarks.is_empty()) {
        (Certainty::Exact, true) => Role::Quiet,
        _ => Role::Text,
    };
    let word = match index {
        0 => certainty.as_str().len() + 1,
        _ => 0,
    };
    pen.styled(text, |at| {
        if at < word {
            role_of(certainty)
        } else {
            reason
        }
    });
}

fn role_of(certainty: Certainty) -> Role {
    match certainty {
        Certainty::Exact => Role::Added,
        Certainty::Redacted | Certainty::Unstored => Role::Text,
        Certainty::Absent => Role::Removed,
        Certainty::Uncertain | Certainty::Partial | Certainty::Unknown => Role::Warning,
    }
}

/// Says why there are no lines.
fn draw_nothing(app: &App, open: &OpenFile, area: Rect, buffer: &mut Buffer) {
    let (what, why) = match (open.view.certainty, open.document.absence()) {
        (Certainty::Absent, _) => (
            "There is no such file at this step.",
            SafeText::literal("{ and } go to the steps that changed it."),
        ),
        (_, Some(why)) => ("Its content is not known here.", why.clone()),
        (_, None) => ("The file is empty.", SafeText::default()),
    };
    let lines = [(SafeText::literal(what), Role::Strong), (why, Role::Quiet)];
    draw_centred(area, &lines, app.theme, buffer);
}

fn draw_lines(app: &App, pane: &FilePane, open: &OpenFile, area: Rect, buffer: &mut Buffer) {
    let document = &open.document;
    let height = usize::from(area.height);
    let first = scrolled(pane.top, pane.chosen_row(), document.len(), height);
    let digits = digits(document);
    let painted = pane.painted_of(document);
    let columns = pane.left + usize::from(area.width);
    let chosen = pane.chosen_row();
    for (index, row) in (first..document.len()).zip(area.rows()) {
        let selection = selection(app, Pane::State, chosen == Some(index));
        let mut pen = Pen::new(buffer, row, app.theme).selected(selection);
        let row = document.row(index, columns);
        if let Some(blame) = &pane.blame {
            let number = |row: Option<&DocumentRow>| match row {
                Some(DocumentRow::Line { number, .. }) => Some(*number),
                _ => None,
            };
            let above = index.checked_sub(1).filter(|_| index > first);
            let above = above.and_then(|above| document.row(above, 0));
            let of = [number(row.as_ref()), number(above.as_ref())];
            draw_origin(app, blame, of, &mut pen);
        }
        match row {
            None => {}
            Some(DocumentRow::Line { number, text }) => {
                pen.number(Some(number), digits);
                pen.gap(2);
                let pieces = painted.map_or(&[][..], |painted| painted.line(index));
                let (text, cut) = without_left(&text, pane.left);
                pen.styled(&text, |at| {
                    let is_here = |(range, _): &&(Range<usize>, _)| range.contains(&(at + cut));
                    let piece = pieces.iter().find(is_here);
                    piece.map_or(Role::Text, |(_, token)| Role::Code(*token))
                });
            }
            Some(DocumentRow::Bytes { offset, text }) => {
                let offset = SafeText::line(&format!("{offset:0digits$x}"));
                pen.text(&offset, Role::Quiet);
                pen.gap(2);
                pen.text(&without_left(&text, pane.left).0, Role::Text);
            }
            Some(DocumentRow::Gap { from, to }) => {
                pen.gap(digits + 2);
                pen.text(&SafeText::line(&gap(from, to)), Role::Warning);
            }
        }
        if chosen.is_some() {
            pen.finish();
        }
    }
}

/// Which step wrote a line, where it is another one than of the line above; on a wide screen
/// with a sign of what is special about it.
fn draw_origin(app: &App, blame: &BlameColumn, of: [Option<u64>; 2], pen: &mut Pen<'_>) {
    let is_wide = pen.left() >= WIDE;
    let columns = blame.digits.max(1) + usize::from(is_wide);
    let [origin, above] = of.map(|number| blame.origin_of(number?));
    let here = app.travel.spot().map(|spot| spot.step);
    let (text, role) = match origin {
        Some(origin) if above != Some(origin) => {
            let step = origin.spot.map(|spot| spot.step);
            let mut text = step.map_or_else(|| "·".to_owned(), |step| step.to_string());
            if is_wide {
                text.push(origin.sign());
            }
            let role = match origin.writer {
                _ if !origin.is_certain => Role::Warning,
                Writer::Outside => Role::Warning,
                Writer::Step if step == here => Role::Changed,
                Writer::Step => Role::Accent,
                Writer::Before => Role::Quiet,
            };
            (text, role)
        }
        _ => (String::new(), Role::Quiet),
    };
    pen.column(&SafeText::line(&text), columns, Align::Right, role);
    pen.gap(1);
}

/// From so many columns on there is room for a sign.
const WIDE: usize = 44;

fn gap(from: u64, to: Option<u64>) -> String {
    match to {
        Some(to) if to == from + 1 => format!("░ line {from} is not known"),
        Some(to) => format!("░ lines {from} to {} are not known", to - 1),
        None => format!("░ from line {from} on nothing is known"),
    }
}

fn digits(document: &Document) -> usize {
    let last = document.last_number();
    match document.row(0, 0) {
        Some(DocumentRow::Bytes { .. }) => format!("{last:x}").len().max(4),
        _ => last.to_string().len().max(3),
    }
}

/// A text without its first columns, and how many bytes were taken off.
pub(super) fn without_left(text: &SafeText, columns: usize) -> (SafeText, usize) {
    if columns == 0 {
        return (text.clone(), 0);
    }
    let rest = width::slice(text, columns, usize::from(u16::MAX));
    let cut = text.as_str().len().saturating_sub(rest.as_str().len());
    (rest, cut)
}
