//! The whole run in one row: how much happened, and what stands out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pane::Line;
use super::pen::Pen;
use crate::debugger::StripCell;
use crate::text::SafeText;
use crate::tui::app::App;
use crate::tui::theme::Role;

const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws the strip. A stretch that spans several columns has its sign in the middle one.
pub(super) fn draw(app: &App, row: Rect, buffer: &mut Buffer) {
    let cells = app.timeline.strip.get().map_or(&[][..], Vec::as_slice);
    let magnitudes = cells.iter().map(magnitude);
    let quietest = magnitudes.clone().fold(f64::INFINITY, f64::min);
    let busiest = magnitudes.fold(quietest + 1.0, f64::max);
    let playhead = app.travel.spot().and_then(|spot| {
        let holds = |cell: &StripCell| holds(cell, spot.step.0);
        cells.iter().find(|cell| holds(cell)).map(|cell| cell.steps)
    });
    let mut pen = Pen::new(buffer, row, app.theme);
    for stretch in cells.chunk_by(|left, right| left.steps == right.steps) {
        let middle = stretch.len() / 2;
        for (column, cell) in stretch.iter().enumerate() {
            let sign = if playhead == Some(cell.steps) {
                Some((SafeText::literal("┃"), Role::Accent))
            } else {
                sign(app, cell)
            };
            let sign = sign.filter(|_| column == middle);
            let (sign, role) = sign.unwrap_or_else(|| bar(cell, quietest, busiest));
            pen.text(&sign, role);
        }
    }
}

/// What stands out in a stretch, the most important thing only.
fn sign(app: &App, cell: &StripCell) -> Option<Line> {
    let literal = |sign, role| Some((SafeText::literal(sign), role));
    let mut marks = app.travel.marks.iter();
    if let Some((letter, _)) = marks.find(|(_, stop)| holds(cell, stop.spot.step.0)) {
        return Some((SafeText::line(&letter.to_string()), Role::Strong));
    }
    if app
        .travel
        .base
        .is_some_and(|base| holds(cell, base.spot.step.0))
    {
        return literal("╎", Role::Accent);
    }
    match cell {
        cell if cell.has_failure => literal("✗", Role::Failed),
        cell if cell.has_gap => literal("░", Role::Warning),
        cell if cell.has_outside_change => literal("≠", Role::Warning),
        cell if cell.has_branches => literal("⑂", Role::Strong),
        _ => None,
    }
}

/// Whether a stretch holds a step. The place before the first one counts as the first.
fn holds(cell: &StripCell, step: u32) -> bool {
    let (first, last) = cell.steps;
    (first..=last).contains(&step.max(1))
}

/// How much happened, between the quietest stretch and the busiest. The scale is that of
/// magnitudes, so that one busy stretch does not flatten all others.
fn bar(cell: &StripCell, quietest: f64, busiest: f64) -> Line {
    let share = (magnitude(cell) - quietest) / (busiest - quietest);
    let level = (share * 7.0).round() as usize;
    let bar = BARS.get(level).copied().unwrap_or("█");
    let role = if cell.file_events > 0 {
        Role::Text
    } else {
        Role::Quiet
    };
    (SafeText::literal(bar), role)
}

fn magnitude(cell: &StripCell) -> f64 {
    f64::from(cell.events).ln_1p()
}
