//! The note to a step, above what the step did.

use ratatui::buffer::Buffer;

use super::pen::Pen;
use crate::tui::app::App;
use crate::tui::layout::Layout;
use crate::tui::theme::Role;

/// The sign of a note.
pub(super) const SIGN: &str = "¶";

/// Draws the note and a line below it.
pub(super) fn draw(app: &App, layout: &Layout, buffer: &mut Buffer) {
    let Some(area) = layout.note_area() else {
        return;
    };
    let mut rows = area.rows();
    for (index, line) in layout.note.iter().enumerate() {
        let Some(row) = rows.next() else { return };
        let mut pen = Pen::new(buffer, row, app.theme);
        pen.gap(1);
        pen.words(if index == 0 { SIGN } else { " " }, Role::Person);
        pen.gap(1);
        pen.text(line, Role::Person);
    }
    if let Some(row) = rows.next() {
        Pen::new(buffer, row, app.theme).fill("─", Role::Quiet);
    }
}
