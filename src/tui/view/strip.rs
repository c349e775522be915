//! The whole run in one row: how much happened, and what stands out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::note;
use super::pane::Line;
use super::pen::Pen;
use crate::debugger::{BisectVerdict, StripCell};
use crate::text::SafeText;
use crate::tui::app::App;
use crate::tui::bisection::Probed;
use crate::tui::search::Search;
use crate::tui::theme::Role;

const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Draws the strip. A stretch that spans several columns has its sign in the middle one.
pub(super) fn draw(app: &App, row: Rect, buffer: &mut Buffer) {
    let cells = app.timeline.strip.get().map_or(&[][..], Vec::as_slice);
    let scale = Scale::of(cells);
    let playhead = app.travel.spot().and_then(|spot| {
        let holds = |cell: &StripCell| holds(cell, spot.step.0);
        cells.iter().find(|cell| holds(cell)).map(|cell| cell.steps)
    });
    let noted = app.travel.stop.map(|stop| app.noted_steps(stop.branch));
    let noted = noted.unwrap_or_default();
    let mut pen = Pen::new(buffer, row, app.theme);
    for stretch in cells.chunk_by(|left, right| left.steps == right.steps) {
        let middle = stretch.len() / 2;
        for (column, cell) in stretch.iter().enumerate() {
            let sign = if playhead == Some(cell.steps) {
                Some((SafeText::literal("┃"), Role::Accent))
            } else {
                sign(app, &noted, cell)
            };
            let sign = sign.filter(|_| column == middle);
            let (sign, role) = sign.unwrap_or_else(|| scale.bar(cell));
            pen.text(&sign, role);
        }
    }
}

/// What stands out in a stretch, the most important thing only.
fn sign(app: &App, noted: &[u32], cell: &StripCell) -> Option<Line> {
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
    let next = noted.partition_point(|step| *step < cell.steps.0);
    if noted.get(next).is_some_and(|step| *step <= cell.steps.1) {
        return literal(note::SIGN, Role::Person);
    }
    let bisecting = app.bisecting.as_ref();
    let here = app.travel.stop.map(|stop| stop.branch);
    let bisecting = bisecting.filter(|bisecting| Some(bisecting.branch) == here);
    match bisecting.and_then(|bisecting| bisecting.sign(cell.steps)) {
        Some(Probed::Asked) => return literal("▾", Role::Key),
        Some(Probed::Answered(BisectVerdict::Good)) => return literal("✓", Role::Added),
        Some(Probed::Answered(BisectVerdict::Bad)) => return literal("✘", Role::Failed),
        Some(Probed::Answered(BisectVerdict::Skip)) => return literal("?", Role::Warning),
        None => {}
    }
    let is_hit = |search: &Search| search.has_hit_in(cell.steps);
    if app.search_here().is_some_and(is_hit) {
        return literal("•", Role::Key);
    }
    match cell {
        cell if cell.has_failure => literal("✗", Role::Failed),
        cell if cell.has_gap => literal("░", Role::Warning),
        cell if cell.has_outside_change => literal("≠", Role::Warning),
        cell if cell.has_branches || app.forks_in(cell.steps) > 0 => literal("⑂", Role::Strong),
        _ => None,
    }
}

/// Whether a stretch holds a step. The place before the first one counts as the first.
fn holds(cell: &StripCell, step: u32) -> bool {
    let (first, last) = cell.steps;
    (first..=last).contains(&step.max(1))
}

/// How much happened, between the quietest stretch and the busiest.
struct Scale {
    quietest: u32,
    busiest: u32,
}

impl Scale {
    /// One stretch far above the others does not flatten them, and small differences stay
    /// small.
    fn of(cells: &[StripCell]) -> Self {
        let mut events: Vec<u32> = cells.iter().map(|cell| cell.events).collect();
        events.sort_unstable();
        let at = |index: usize| events.get(index).copied().unwrap_or(0);
        let (quietest, usual) = (at(0), at(events.len() / 2));
        let busiest = at(events.len().saturating_sub(1)).min(usual.saturating_mul(8));
        Self {
            quietest,
            busiest: busiest.max(quietest.saturating_add(7)),
        }
    }

    fn bar(&self, cell: &StripCell) -> Line {
        let above = u64::from(cell.events.saturating_sub(self.quietest));
        let range = u64::from(self.busiest - self.quietest);
        let level = (above * 7 + range / 2) / range.max(1);
        let bar = usize::try_from(level)
            .ok()
            .and_then(|level| BARS.get(level));
        let role = if cell.file_events > 0 {
            Role::Text
        } else {
            Role::Quiet
        };
        (SafeText::literal(bar.copied().unwrap_or("█")), role)
    }
}
