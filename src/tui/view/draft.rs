//! Draws what a step gave while it is altered: lines with their numbers, and a caret.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};

use super::pane::draw_box;
use super::pen::Pen;
use crate::debugger::StepOutput;
use crate::text::{SafeText, human, width};
use crate::tui::app::App;
use crate::tui::draft::Draft;
use crate::tui::layout::Layout;
use crate::tui::theme::Role;

/// Below this many rows the draft covers the header, too.
const SMALL: u16 = 12;

impl App {
    /// Rows of the draft that is being altered.
    pub(in crate::tui) fn draft_rows(&self) -> usize {
        let area = self.layout().map(|layout| inside(area_of(&layout)));
        area.map_or(1, |area| usize::from(area.height)).max(1)
    }
}

fn area_of(layout: &Layout) -> Rect {
    if layout.body.height < SMALL {
        return Rect::new(0, 0, layout.body.width, layout.footer.y);
    }
    layout.body
}

/// Where the lines stand: between the frame, above the row of what is wrong.
fn inside(area: Rect) -> Rect {
    let area = area.inner(Margin::new(2, 1));
    Rect {
        height: area.height.saturating_sub(1),
        ..area
    }
}

/// Draws the draft, if one is altered; returns where its caret is.
pub(super) fn draw(app: &App, layout: &Layout, buffer: &mut Buffer) -> Option<Position> {
    let draft = app.draft()?;
    let area = area_of(layout);
    let editable = app.forking.as_ref()?.editable.as_ref()?;
    let title = match editable.output {
        StepOutput::Response(_) => "Another response",
        StepOutput::Result { .. } => "Another result",
        StepOutput::Prompt { .. } => "Another prompt",
    };
    draw_box(
        area,
        title,
        "Ctrl-s goes on, Esc does not",
        app.theme,
        buffer,
    );
    let inside = inside(area);
    let digits = human::count(draft.lines().len() as u64).len();
    let margin = digits + 1;
    let room = usize::from(inside.width).saturating_sub(margin);
    let wrong = draft.mistake.as_ref();
    let lines = draft.lines().iter().enumerate().skip(draft.top);
    let mut caret = None;
    for ((number, line), row) in lines.zip(inside.rows()) {
        let mut pen = Pen::new(buffer, row, app.theme);
        let is_wrong = wrong.is_some_and(|(line, _)| *line == number);
        let sign = SafeText::line(&(number + 1).to_string());
        let role = if is_wrong { Role::Failed } else { Role::Quiet };
        pen.column(&sign, digits, crate::text::Align::Right, role);
        pen.words(if is_wrong { "✗" } else { " " }, Role::Failed);
        let text = SafeText::line(line);
        let is_here = number == draft.caret().line;
        let hidden = if is_here { hidden(draft, room) } else { 0 };
        let shown = if hidden == 0 {
            text
        } else {
            let mut shown = SafeText::literal("…");
            shown.push(&width::slice(&text, hidden + 1, room));
            shown
        };
        pen.text(&shown, role_of(line));
        if is_here {
            let column = (margin + draft.column() - hidden).min(usize::from(inside.width));
            let x = inside.x + u16::try_from(column).unwrap_or(0);
            caret = Some(Position::new(x, row.y));
        }
    }
    let last = Rect {
        y: inside.bottom(),
        height: 1,
        ..inside
    };
    let mut pen = Pen::new(buffer, last, app.theme);
    if let Some((_, why)) = wrong {
        pen.words("✗ ", Role::Failed);
        pen.text(why, Role::Failed);
    }
    caret
}

/// Columns of the caret's line that are left out at its beginning.
fn hidden(draft: &Draft, room: usize) -> usize {
    let column = draft.column();
    if column < room {
        return 0;
    }
    column - room / 2
}

/// How a line looks: a remark, the head of a section, or words.
fn role_of(line: &str) -> Role {
    if line.starts_with("== ") {
        Role::Heading
    } else if line.starts_with('#') {
        Role::Quiet
    } else {
        Role::Text
    }
}
