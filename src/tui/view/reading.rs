//! The step and the raw event, to be read.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pane::{draw_centred, draw_error};
use super::pen::Pen;
use crate::debugger::Spot;
use crate::text::{SafeText, human};
use crate::tui::app::App;
use crate::tui::layout::scrolled;
use crate::tui::reading::ReadingRow;
use crate::tui::theme::Role;

/// Draws the sections of the step.
pub(super) fn draw_step(app: &App, area: Rect, buffer: &mut Buffer) {
    if app.travel.spot().is_some_and(|spot| spot.step.0 == 0) {
        draw_start(app, area, buffer);
        return;
    }
    match app.diff.detail.get() {
        None => {}
        Some(Err(why)) => draw_error(app, "This step cannot be read.", why, area, buffer),
        Some(Ok(step)) => draw_rows(app, &step.rows, area, buffer),
    }
}

/// Draws the event as it stands on the tape, below a line that says which it is.
pub(super) fn draw_event(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(spot) = app.travel.spot().filter(|spot| spot.step.0 > 0) else {
        draw_start(app, area, buffer);
        return;
    };
    let mut rows = area.rows();
    if let Some(row) = rows.next() {
        draw_event_name(app, spot, row, buffer);
    }
    if let Some(row) = rows.next() {
        Pen::new(buffer, row, app.theme).fill("─", Role::Quiet);
    }
    let head = area.height.min(2);
    let body = Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
    };
    match app.diff.raw.get() {
        None => {}
        Some(Err(why)) => draw_error(app, "This event cannot be read.", why, body, buffer),
        Some(Ok(rows)) => draw_rows(app, rows, body, buffer),
    }
}

fn draw_event_name(app: &App, spot: Spot, row: Rect, buffer: &mut Buffer) {
    let Some((event, step)) = app.current_event(spot).zip(app.diff.step()) else {
        return;
    };
    let events = &step.detail.events;
    let index = events.iter().position(|other| other.seq == event.seq);
    let number = index.map_or(0, |index| index + 1);
    let size = human::size(event.bytes);
    let note = format!("event {number}/{} of the step, {size}B", events.len());
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    pen.right(&SafeText::line(&note), Role::Quiet);
    pen.right_gap(2);
    pen.text(&event.kind_name, Role::Strong);
    pen.gap(2);
    pen.text(&event.title, Role::Text);
}

fn draw_start(app: &App, area: Rect, buffer: &mut Buffer) {
    let lines = [
        (SafeText::literal("Before the first step."), Role::Strong),
        (
            SafeText::literal("l goes on, e to the first failure."),
            Role::Quiet,
        ),
    ];
    draw_centred(area, &lines, app.theme, buffer);
}

fn draw_rows(app: &App, rows: &[ReadingRow], area: Rect, buffer: &mut Buffer) {
    let first = scrolled(app.diff.top, None, rows.len(), usize::from(area.height));
    for (row, line) in rows.iter().skip(first).zip(area.rows()) {
        let mut pen = Pen::new(buffer, line, app.theme);
        match row {
            ReadingRow::Heading { name, has_hidden } => {
                pen.text(name, Role::Heading);
                pen.gap(1);
                if *has_hidden {
                    pen.words("! hidden characters, made visible ", Role::Warning);
                }
                pen.fill("─", Role::Quiet);
            }
            ReadingRow::Line(text) => {
                pen.gap(1);
                pen.text(text, Role::Text);
            }
            ReadingRow::Remark(text) => {
                pen.gap(1);
                pen.text(text, Role::Quiet);
            }
            ReadingRow::Blank => {}
        }
    }
}
