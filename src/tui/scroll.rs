//! How much of each pane is in view, and what part of it: its scrollbar, drawn and dragged.
//!
//! One place says it for all panes, so that a bar stands where it is taken hold of. Where
//! everything is in view there is no bar.

use std::ops::Range;

use ratatui::layout::Rect;

use super::app::App;
use super::layout::Pane;
use super::panes::{StateView, first_in_view};

/// A pane that shows a part of what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The column of the bar, beside the rows that scroll.
    pub(super) bar: Rect,
    /// The first row in view, how many are, and how many there are.
    pub(super) first: usize,
    pub(super) shown: usize,
    pub(super) total: usize,
}

/// What the mouse holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drag {
    /// The playhead, on the strip.
    Strip,
    /// The thumb of a pane's bar, so many rows below its start.
    Bar(Pane, u16),
}

impl Extent {
    /// The rows of the bar that stand for what is in view, from its top.
    pub(super) fn thumb(&self) -> Range<u16> {
        let rows = usize::from(self.bar.height);
        let length = (rows * self.shown / self.total.max(1)).clamp(1, rows.max(1));
        let (room, last) = (rows - length.min(rows), self.total - self.shown);
        let start = (self.first * room).div_ceil(last.max(1)).min(room);
        start as u16..(start + length) as u16
    }

    /// The first row in view when the thumb starts here.
    pub(super) fn first_at(&self, start: u16) -> usize {
        let thumb = self.thumb();
        let room = usize::from(self.bar.height - (thumb.end - thumb.start));
        let last = self.total - self.shown;
        usize::from(start).min(room) * last / room.max(1)
    }
}

impl App {
    /// What of a pane is in view; `None` where that is all.
    pub(super) fn extent(&self, pane: Pane) -> Option<Extent> {
        let layout = self.layout()?;
        let (area, content) = (layout.pane(pane)?, layout.content(pane)?);
        let height = usize::from(content.height);
        let (fixed, first, total) = match pane {
            Pane::Timeline => {
                let here = self.travel.spot()?.step.0;
                let folding = &self.timeline.folding;
                let last = folding.last_row(self.steps());
                let first = first_in_view(folding.row_of(here), last, content.height);
                let all = (0, first as usize, last as usize + 1);
                let hits = self.filtered(height);
                hits.map_or(all, |(steps, view)| (0, view.start, steps.len()))
            }
            Pane::State => match &self.state.file {
                Some(file) => {
                    let rows = file.file().map_or(0, |open| open.document.len());
                    (file.head_height(height), file.first_row(height), rows)
                }
                None => match self.state.view {
                    StateView::Files => (0, self.state.top(height), self.state.rows().len()),
                    StateView::Conversation => {
                        // A place for each turn, since only some are held.
                        let here = self.travel.spot()?.step.0;
                        let chosen = self.state.conversation.chosen(here);
                        (0, chosen.saturating_sub(1) as usize, here as usize)
                    }
                    StateView::Context
                    | StateView::Environment
                    | StateView::Transaction
                    | StateView::Effects
                    | StateView::Numbers => {
                        let columns = usize::from(content.width);
                        let first = self.state.first_row(height, columns);
                        let (head, rows) = self.state.rows_to_read(height, columns);
                        (head, first, rows)
                    }
                },
            },
            Pane::Diff => {
                let form = self.diff_form();
                let first = self.diff.first_row(height, form);
                (self.diff.fixed_height(height), first, self.diff.rows(form))
            }
        };
        let shown = height.saturating_sub(fixed);
        let fixed = u16::try_from(fixed).unwrap_or(0);
        let bar = Rect {
            x: area.right().saturating_sub(1),
            y: content.y + fixed,
            width: 1,
            height: content.height.saturating_sub(fixed),
        };
        (shown > 0 && total > shown).then(|| Extent {
            bar,
            first: first.min(total - shown),
            shown,
            total,
        })
    }

    /// Scrolls a pane so that this row is its first. The timeline scrolls by moving the
    /// playhead through the whole run.
    pub(super) fn scroll_to(&mut self, pane: Pane, extent: &Extent, first: usize) {
        let last = extent.total - extent.shown;
        match pane {
            Pane::Timeline => {
                let index = first * (extent.total - 1) / last.max(1);
                let step = if let Some((steps, _)) = self.filtered(0) {
                    steps.get(index).copied()
                } else {
                    let row = u32::try_from(index).ok();
                    row.map(|row| self.timeline.folding.step_at(row))
                };
                let is_new = |step: &u32| self.travel.spot().is_some_and(|at| at.step.0 != *step);
                if let Some(step) = step.filter(is_new) {
                    self.travel.give_up();
                    self.step_to(step);
                }
            }
            Pane::State => match &mut self.state.file {
                Some(file) => file.scroll_to(first, extent.shown),
                None => match self.state.view {
                    StateView::Files => self.state.scroll_to(first, extent.shown),
                    StateView::Conversation => {
                        let turn = first * (extent.total - 1) / last.max(1) + 1;
                        let turn = u32::try_from(turn).unwrap_or(u32::MAX);
                        self.state.conversation.choose(turn);
                    }
                    StateView::Context => self.state.scroll_context_to(first, extent.shown),
                    StateView::Environment
                    | StateView::Transaction
                    | StateView::Effects
                    | StateView::Numbers => {
                        self.state.view_top = first;
                    }
                },
            },
            Pane::Diff => self.diff.top = first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thumb_is_at_the_ends_only_where_the_view_is_and_leads_back_to_it() {
        for height in 1..40 {
            for total in 2..200_usize {
                for shown in 1..total.min(60) {
                    let extent = |first| Extent {
                        bar: Rect::new(0, 0, 1, height),
                        first,
                        shown,
                        total,
                    };
                    let last = total - shown;
                    assert_eq!(extent(0).thumb().start, 0);
                    assert_eq!(extent(last).thumb().end, height);
                    assert_eq!(extent(0).first_at(0), 0);
                    let end = extent(last).thumb();
                    if end.start > 0 {
                        assert!(extent(1.min(last)).thumb().start > 0);
                        assert_eq!(extent(0).first_at(end.start), last);
                    }
                }
            }
        }
    }
}
