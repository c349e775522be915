//! The step, the request and the raw event, to be read.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pane::{draw_centred, draw_error};
use super::pen::Pen;
use crate::debugger::Spot;
use crate::text::json_diff::LineKind;
use crate::text::{JsonChangeKind, SafeText, human, width};
use crate::tui::against::Against;
use crate::tui::app::App;
use crate::tui::layout::scrolled;
use crate::tui::panes::Grain;
use crate::tui::reading::{ChangeRow, ReadingRow};
use crate::tui::theme::Role;

/// Draws the sections of the step.
pub(super) fn draw_step(app: &App, area: Rect, buffer: &mut Buffer) {
    let is_only_right = app.against.as_ref().is_some_and(Against::is_only_right);
    if app.travel.spot().is_some_and(|spot| spot.step.0 == 0) && !is_only_right {
        draw_start(app, area, buffer);
        return;
    }
    if app.diff.grain == Grain::Paths && !is_only_right {
        match app.diff.like.get() {
            None => {}
            Some(Err(why)) => draw_error(app, "This step cannot be compared.", why, area, buffer),
            Some(Ok(rows)) => draw_scrolled(app, rows, area, buffer),
        }
        return;
    }
    match app.diff.detail.get() {
        None => {}
        Some(Err(why)) => draw_error(app, "This step cannot be read.", why, area, buffer),
        Some(Ok(step)) => draw_scrolled(app, &step.rows, area, buffer),
    }
}

/// Draws the event as it stands on the tape, below a line that says which it is.
pub(super) fn draw_event(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(spot) = app.travel.spot().filter(|spot| spot.step.0 > 0) else {
        draw_start(app, area, buffer);
        return;
    };
    let [name, line] = head(area);
    draw_event_name(app, spot, name, buffer);
    Pen::new(buffer, line, app.theme).fill("─", Role::Quiet);
    let body = below(area);
    match app.diff.raw.get() {
        None => {}
        Some(Err(why)) => draw_error(app, "This event cannot be read.", why, body, buffer),
        Some(Ok(rows)) => draw_scrolled(app, rows, body, buffer),
    }
}

/// Draws what the model was sent, below a line that says whose turn it was.
pub(super) fn draw_request(app: &App, area: Rect, buffer: &mut Buffer) {
    if app.travel.spot().is_some_and(|spot| spot.step.0 == 0) {
        draw_start(app, area, buffer);
        return;
    }
    let (Some(request), [name, line]) = (app.diff.request.get(), head(area)) else {
        return;
    };
    let request = match request {
        Ok(request) => request,
        Err(why) => {
            draw_error(app, "The request cannot be read.", why, area, buffer);
            return;
        }
    };
    let Some(step) = request.view.step else {
        let lines = [
            (
                SafeText::literal("The model was not asked up to here."),
                Role::Strong,
            ),
            (
                SafeText::literal("l goes on; v shows the event as it was recorded."),
                Role::Quiet,
            ),
        ];
        draw_centred(area, &lines, app.theme, buffer);
        return;
    };
    let mut pen = Pen::new(buffer, name, app.theme);
    pen.gap(1);
    pen.text(
        &SafeText::line(&format!("request of step {step}")),
        Role::Strong,
    );
    if let Some(before) = request.view.before {
        let words = format!(", beside that of step {before}");
        pen.text(&SafeText::line(&words), Role::Quiet);
    }
    Pen::new(buffer, line, app.theme).fill("─", Role::Quiet);
    draw_scrolled(app, &request.rows, below(area), buffer);
}

/// The two rows that stand still above a text.
fn head(area: Rect) -> [Rect; 2] {
    let row = |y| Rect::new(area.x, y, area.width, 1).intersection(area);
    [row(area.y), row(area.y + 1)]
}

/// What is left below them.
fn below(area: Rect) -> Rect {
    let head = area.height.min(2);
    Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
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
    let total = events.len() + step.detail.omitted_events;
    let note = |of: &str| SafeText::line(&format!("event {number}/{total}{of}, {size}B"));
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    let wanted = width::width(&event.kind_name) + width::width(&event.title) + 4;
    let long = note(" of the step");
    let is_roomy = wanted + width::width(&long) <= pen.left();
    let note = if is_roomy { long } else { note("") };
    pen.right(&note, Role::Quiet);
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

/// Draws rows to read, from the one on that the pane is scrolled to.
pub(super) fn draw_scrolled(app: &App, rows: &[ReadingRow], area: Rect, buffer: &mut Buffer) {
    let first = scrolled(app.diff.top, None, rows.len(), usize::from(area.height));
    draw_rows(app, rows.iter().skip(first), area, buffer);
}

/// Draws as many of these rows as there is room for.
pub(super) fn draw_rows<'a>(
    app: &App,
    rows: impl Iterator<Item = &'a ReadingRow>,
    area: Rect,
    buffer: &mut Buffer,
) {
    for (row, line) in rows.zip(area.rows()) {
        draw_row(row, Pen::new(buffer, line, app.theme));
    }
}

/// Draws a row to read.
pub(super) fn draw_row(row: &ReadingRow, mut pen: Pen<'_>) {
    match row {
        ReadingRow::Heading { name, has_hidden } => {
            pen.text(name, Role::Heading);
            pen.gap(1);
            if *has_hidden {
                pen.words("! hidden characters, made visible ", Role::Warning);
            }
            pen.fill("─", Role::Quiet);
        }
        ReadingRow::Line(text) | ReadingRow::Lead(_, text) => {
            pen.gap(1);
            pen.text(text, Role::Text);
            pen.finish();
        }
        ReadingRow::Remark(text) => {
            pen.gap(1);
            pen.text(text, Role::Quiet);
            pen.finish();
        }
        ReadingRow::Change(line) => draw_change(line, pen),
        ReadingRow::Blank => pen.finish(),
    }
}

/// A line of a change by paths.
fn draw_change(line: &ChangeRow, mut pen: Pen<'_>) {
    let (sign_role, role, word_role) = match line.kind {
        LineKind::Path(JsonChangeKind::Added) => (Role::Added, Role::Strong, Role::Strong),
        LineKind::Path(JsonChangeKind::Removed) => (Role::Removed, Role::Strong, Role::Strong),
        LineKind::Path(_) => (Role::Changed, Role::Strong, Role::Strong),
        LineKind::Added => (Role::Added, Role::AddedLine, Role::AddedWord),
        LineKind::Removed => (Role::Removed, Role::RemovedLine, Role::RemovedWord),
        LineKind::Context => (Role::Text, Role::Text, Role::Text),
        LineKind::Remark => (Role::Quiet, Role::Quiet, Role::Quiet),
    };
    pen.words(line.sign(), sign_role);
    pen.styled(&line.text, |at| {
        if line.emphasis.iter().any(|word| word.contains(&at)) {
            word_role
        } else {
            role
        }
    });
    if matches!(line.kind, LineKind::Added | LineKind::Removed) {
        pen.fill(" ", role);
    }
}
