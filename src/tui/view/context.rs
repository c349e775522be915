//! What the model saw, and what is around the run: the size of the context over the run as
//! a plot, and the rest to be read.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::Pen;
use super::reading::{draw_row, draw_rows};
use super::selection;
use crate::debugger::ContextCell;
use crate::text::{SafeText, human};
use crate::tui::app::App;
use crate::tui::held::Held;
use crate::tui::layout::Pane;
use crate::tui::reading::ReadingRow;
use crate::tui::theme::Role;

/// From nothing to a full column.
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws the context.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let head = app.state.plot_height(height);
    let head = u16::try_from(head).unwrap_or(0).min(area.height);
    if let Some(run) = app.state.context_run.get().filter(|_| head > 0) {
        let plot = Rect {
            height: head,
            ..area
        };
        draw_plot(app, &run.cells, plot, buffer);
    }
    let body = Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
    };
    let first = app.state.first_row(height, usize::from(area.width));
    let chosen = app.state.context_index();
    let rows = app.state.context_rows().enumerate().skip(first);
    for ((index, row), line) in rows.zip(body.rows()) {
        let selection = selection(app, Pane::State, index == chosen);
        draw_row(row, Pen::new(buffer, line, app.theme).selected(selection));
    }
}

/// Draws what is around the run.
pub(super) fn draw_environment(app: &App, area: Rect, buffer: &mut Buffer) {
    draw_held(app, &app.state.environment, area, buffer);
}

/// Draws the transaction at the playhead.
pub(super) fn draw_transaction(app: &App, area: Rect, buffer: &mut Buffer) {
    draw_held(app, &app.state.transaction, area, buffer);
}

/// Draws what calls did outside the files.
pub(super) fn draw_effects(app: &App, area: Rect, buffer: &mut Buffer) {
    draw_held(app, &app.state.effects, area, buffer);
}

fn draw_held(app: &App, rows: &Held<Vec<ReadingRow>>, area: Rect, buffer: &mut Buffer) {
    let first = app
        .state
        .first_row(usize::from(area.height), usize::from(area.width));
    let rows = rows.get().into_iter().flatten();
    draw_rows(app, rows.skip(first), area, buffer);
}

/// The size of the context over the run: what it is about, bars, and below them where the
/// playhead is and where the context became much smaller.
fn draw_plot(app: &App, cells: &[ContextCell], area: Rect, buffer: &mut Buffer) {
    let most = cells.iter().map(|cell| cell.tokens).max().unwrap_or(0);
    let mut rows = area.rows();
    if let Some(row) = rows.next() {
        let mut pen = Pen::new(buffer, row, app.theme);
        pen.words("context over the run", Role::Heading);
        pen.gap(1);
        let most = format!(" {} tokens at most", human::count(most));
        pen.right(&SafeText::line(&most), Role::Quiet);
        pen.fill("─", Role::Quiet);
    }
    let marks = rows.next_back();
    let heights = u64::from(area.height.saturating_sub(2));
    for (row, above) in rows.zip((0..heights).rev()) {
        let mut pen = Pen::new(buffer, row, app.theme);
        pen.gap(1);
        for cell in cells {
            let eighths = (cell.tokens * heights * 8).div_ceil(most.max(1));
            let here = eighths.saturating_sub(above * 8).min(8);
            let sign = EIGHTHS.get(here as usize).copied().unwrap_or(" ");
            pen.words(sign, Role::Model);
        }
    }
    let Some(row) = marks else {
        return;
    };
    let here = app.travel.spot().map_or(0, |spot| spot.step.0).max(1);
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    for cells in cells.chunk_by(|left, right| left.steps == right.steps) {
        let middle = cells.len() / 2;
        for (column, cell) in cells.iter().enumerate() {
            let holds = (cell.steps.0..=cell.steps.1).contains(&here);
            let (sign, role) = match cell {
                _ if column != middle => ("─", Role::Quiet),
                _ if holds => ("▲", Role::Accent),
                cell if cell.has_compaction => ("↓", Role::Warning),
                _ => ("─", Role::Quiet),
            };
            pen.words(sign, role);
        }
    }
}
