//! Draws what lies over the panes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pane::{draw_box, draw_thumb};
use super::pen::{Pen, Selection};
use crate::tui::app::App;
use crate::tui::decision::Decision;
use crate::tui::exporting::{self, Exporting};
use crate::tui::fork_tree;
use crate::tui::forking::Stage;
use crate::tui::theme::Role;

fn is_patch_open(decision: Option<&Decision>) -> bool {
    decision.is_some_and(|decision| decision.patch.is_some())
}

/// Draws the overlay that is open, if one is.
pub(super) fn draw(app: &App, buffer: &mut Buffer) {
    let Some((overlay, sheet)) = app.overlay.zip(app.sheet()) else {
        return;
    };
    let extent = sheet.extent(overlay.top);
    let decision = app.decision.as_ref().filter(|_| app.decision_is_open());
    let is_asked = decision.is_some_and(|decision| decision.offered().is_some());
    let stage = app.forking.as_ref().filter(|_| app.fork_is_shown());
    let stage = stage.map(|forking| &forking.stage);
    let is_asked = is_asked || matches!(stage, Some(Stage::Shown(_)));
    let tree = app.fork_tree.as_ref().filter(|_| app.fork_tree_is_shown());
    let tree = tree.map(|tree| &tree.stage);
    let is_asked = is_asked || matches!(tree, Some(fork_tree::Stage::Asked));
    let is_back = is_patch_open(decision)
        || matches!(stage, Some(Stage::Failed(_)))
        || matches!(tree, Some(fork_tree::Stage::Refused(_)));
    let is_running = matches!(stage, Some(Stage::Running(..)));
    let exporting = app.exporting.as_ref().filter(|_| app.export_is_shown());
    let is_asked = is_asked || exporting.is_some_and(Exporting::is_ready);
    let under_way = exporting.and_then(|exporting| match &exporting.stage {
        exporting::Stage::Writing(..) => Some("Esc stops it"),
        exporting::Stage::Shrinking(search) if search.is_enough => Some("Esc gives it up"),
        exporting::Stage::Shrinking(_) => Some("Esc ends it"),
        _ => None,
    });
    let note = match (is_back, is_asked, extent.is_some()) {
        (true, ..) => "q leads back",
        (false, true, _) => "Y does it, q does not",
        _ if is_running => "q breaks it off",
        (false, false, true) => under_way.unwrap_or("j/k scroll, q closes"),
        (false, false, false) => under_way.unwrap_or("q closes"),
    };
    draw_box(sheet.area, overlay.sort.title(), note, app.theme, buffer);
    let first = sheet.first_row(overlay.top);
    let rows = sheet.rows.iter().enumerate().skip(first);
    for ((number, row), area) in rows.zip(sheet.inside().rows()) {
        let selection = if sheet.chosen == Some(number) {
            Selection::Here
        } else {
            Selection::None
        };
        if selection == Selection::Here {
            // The column between the frame and the text.
            let sign = Rect {
                x: area.x - 1,
                width: 1,
                ..area
            };
            Pen::new(buffer, sign, app.theme).words("▸", Role::Accent);
        }
        let mut pen = Pen::new(buffer, area, app.theme).selected(selection);
        for (text, role) in row {
            pen.text(text, *role);
        }
        if selection == Selection::Here {
            pen.finish();
        }
    }
    if let Some(extent) = extent {
        draw_thumb(&extent, Role::Accent, app.theme, buffer);
    }
}
