//! A file's own history in one row: every step that changed it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pane::Line;
use super::pen::Pen;
use super::tree::change_sign;
use crate::debugger::{Spot, VersionRow, Versions};
use crate::text::{SafeText, human, width};
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Draws the steps that changed the file, around the one that made it what it is here.
pub(super) fn draw(app: &App, versions: &Versions, row: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    let Some(labels) = Labels::of(app, versions) else {
        pen.words("no step changed it", Role::Quiet);
        return;
    };
    pen.right(&labels.count(), Role::Quiet);
    pen.right_gap(2);
    let (first, last) = labels.shown(pen.left());
    pen.words(labels.before(first), Role::Quiet);
    for (text, role) in (first..=last).filter_map(|index| labels.get(index)) {
        pen.text(&text, role);
        pen.gap(1);
    }
    let is_cut = last + 1 < versions.rows.len() || versions.has_later;
    pen.words(if is_cut { "…" } else { "" }, Role::Quiet);
}

/// The version whose label stands in a column of the row.
pub(super) fn at(app: &App, versions: &Versions, row: Rect, column: u16) -> Option<Spot> {
    let labels = Labels::of(app, versions)?;
    // A free column on the left; on the right the count and two more.
    let around = 1 + width::width(&labels.count()) + 2;
    let (first, last) = labels.shown(usize::from(row.width).saturating_sub(around));
    let mut end = 1 + labels.before(first).chars().count();
    let column = usize::from(column.checked_sub(row.x)?);
    if column < end {
        return None;
    }
    let mut ends = (first..=last).filter_map(|index| {
        end += labels.columns(index)?;
        Some((index, end))
    });
    let (index, _) = ends.find(|(_, end)| column < *end)?;
    versions.rows.get(index).map(|version| version.spot)
}

struct Labels<'a> {
    versions: &'a Versions,
    current: Option<usize>,
}

impl<'a> Labels<'a> {
    fn of(app: &App, versions: &'a Versions) -> Option<Self> {
        let spot = app.travel.spot().filter(|_| !versions.rows.is_empty())?;
        let is_past = |version: &VersionRow| version.spot.cursor.position <= spot.cursor.position;
        let current = versions.rows.partition_point(is_past).checked_sub(1);
        Some(Self { versions, current })
    }

    fn count(&self) -> SafeText {
        match self.versions.count {
            Some(count) => SafeText::line(&human::plural(count as u64, "version", "versions")),
            None => SafeText::literal("very many versions"),
        }
    }

    /// What stands before the first label that is shown: whether there are earlier ones.
    fn before(&self, first: usize) -> &'static str {
        if first > 0 || self.versions.has_earlier {
            "… "
        } else {
            ""
        }
    }

    /// The first and the last label that are shown in so many columns. Two columns on each
    /// side are kept for the sign that there are more.
    fn shown(&self, columns: usize) -> (usize, usize) {
        self.around(self.current.unwrap_or(0), columns.saturating_sub(4))
    }

    /// The sign and the step of a version; the current one is told by `▸`.
    fn get(&self, index: usize) -> Option<Line> {
        let version = self.versions.rows.get(index)?;
        let (sign, role) = if version.is_outside {
            ("≠", Role::Warning)
        } else {
            change_sign(version.change)
        };
        let (before, role) = if self.current == Some(index) {
            ("▸", Role::Accent)
        } else {
            (" ", role)
        };
        let label = format!("{before}{sign}{}", version.spot.step);
        Some((SafeText::line(&label), role))
    }

    fn columns(&self, index: usize) -> Option<usize> {
        self.get(index).map(|(text, _)| width::width(&text) + 1)
    }

    /// The first and the last label that fit around one, as far as there is room.
    fn around(&self, index: usize, columns: usize) -> (usize, usize) {
        let (mut first, mut last) = (index, index);
        let mut room = columns.saturating_sub(self.columns(index).unwrap_or(0));
        loop {
            let after = self.columns(last + 1).filter(|columns| *columns <= room);
            if let Some(columns) = after {
                (last, room) = (last + 1, room - columns);
            }
            let before = first.checked_sub(1).and_then(|index| self.columns(index));
            let before = before.filter(|columns| *columns <= room);
            if let Some(columns) = before {
                (first, room) = (first - 1, room - columns);
            }
            if after.is_none() && before.is_none() {
                return (first, last);
            }
        }
    }
}
