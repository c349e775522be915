//! Draws what lies over the panes.

use ratatui::buffer::Buffer;

use super::pane::{draw_box, draw_thumb};
use super::pen::Pen;
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Draws the overlay that is open, if one is.
pub(super) fn draw(app: &App, buffer: &mut Buffer) {
    let Some((overlay, sheet)) = app.overlay.zip(app.sheet()) else {
        return;
    };
    let extent = sheet.extent(overlay.top);
    let note = if extent.is_some() {
        "j/k scroll, q closes"
    } else {
        "q closes"
    };
    draw_box(sheet.area, overlay.sort.title(), note, app.theme, buffer);
    let rows = sheet.rows.iter().skip(sheet.first_row(overlay.top));
    for (row, area) in rows.zip(sheet.inside().rows()) {
        let mut pen = Pen::new(buffer, area, app.theme);
        for (text, role) in row {
            pen.text(text, *role);
        }
    }
    if let Some(extent) = extent {
        draw_thumb(&extent, Role::Accent, app.theme, buffer);
    }
}
