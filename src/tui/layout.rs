//! Where everything stands on a screen of a given size.
//!
//! Three panes from 120 columns, two columns of panes from 80, one pane with tabs below
//! that. A pure function of the size, the focus and the zoom: nothing is remembered, so a
//! screen that is resized and resized back looks as before.

use ratatui::layout::{Margin, Rect, Size};

use super::notes;
use crate::text::SafeText;

/// The panes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    /// The steps.
    #[default]
    Timeline,
    /// The files.
    State,
    /// What a step did.
    Diff,
}

impl Pane {
    /// Every pane, left to right.
    pub(super) const ALL: [Self; 3] = [Self::Timeline, Self::State, Self::Diff];

    /// The pane after this one, around the end.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Timeline => Self::State,
            Self::State => Self::Diff,
            Self::Diff => Self::Timeline,
        }
    }

    /// The pane before this one, around the start.
    pub(super) fn previous(self) -> Self {
        self.next().next()
    }
}

/// Whether one pane has the screen for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Zoom {
    /// All panes that fit are shown.
    #[default]
    Out,
    /// Only the focused one.
    In,
}

/// What the state pane shows, which says how much room it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Names.
    Tree,
    /// Lines of a file.
    File,
}

/// What the timeline shows, which says how much room it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// The steps of one run.
    One,
    /// Those of two, side by side.
    Two,
}

/// How the panes share the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// All stand side by side, or one has it all, each in a frame of its own.
    Framed,
    /// One is shown, and tabs say which others there are.
    Tabbed(Rect),
}

/// The parts of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The run's name and the place.
    pub(super) header: Rect,
    /// The run in one row.
    pub(super) strip: Rect,
    /// What the panes share.
    pub(super) body: Rect,
    /// How they share it.
    pub(super) sharing: Sharing,
    /// The hints, a message, or a prompt.
    pub(super) footer: Rect,
    /// The note to the step, set in lines. It stands above what the step did.
    pub(super) note: Vec<SafeText>,
    panes: [Option<Rect>; 3],
}

/// Columns before a line of a note: its sign.
pub(super) const NOTE_SIGN: u16 = 3;

/// From this many columns, the panes stand side by side.
const THREE_COLUMNS: u16 = 120;
/// From this many columns, the timeline stands beside the two others.
const TWO_COLUMNS: u16 = 80;
/// From this many rows, two panes stand one above the other.
const STACKED: u16 = 14;
/// From this many rows, panes stand below a timeline that has the whole width.
const TWO_ROWS: u16 = 8;
/// Below this, one line says that the screen is too small.
const SMALLEST: Size = Size::new(30, 8);

impl Layout {
    /// The parts of a screen of this size; `None` when it is too small.
    pub(super) fn of(
        size: Size,
        focus: Pane,
        zoom: Zoom,
        state: Contents,
        lines: Lines,
    ) -> Option<Self> {
        let Size { width, height } = size;
        if width < SMALLEST.width || height < SMALLEST.height {
            return None;
        }
        let row = |y| Rect::new(0, y, width, 1);
        let body = Rect::new(0, 2, width, height - 3);
        let only = |area| Pane::ALL.map(|pane| (pane == focus).then_some(area));
        let (sharing, body, panes) = if width < TWO_COLUMNS {
            let below = Rect::new(0, body.y + 1, width, body.height - 1);
            (Sharing::Tabbed(row(body.y)), below, only(below))
        } else if zoom == Zoom::In {
            (Sharing::Framed, body, only(body))
        } else if lines == Lines::Two {
            (Sharing::Framed, body, timeline_above(body, state, focus))
        } else if width < THREE_COLUMNS {
            (Sharing::Framed, body, two_columns(body, state, focus))
        } else {
            (Sharing::Framed, body, three_columns(body, state).map(Some))
        };
        Some(Self {
            header: row(0),
            strip: row(1),
            body,
            sharing,
            footer: row(height - 1),
            note: Vec::new(),
            panes,
        })
    }

    /// Gives up to a third of the pane of what the step did to the note to it.
    pub(super) fn with_note(self, note: &str) -> Self {
        let Some(area) = self.content(Pane::Diff) else {
            return self;
        };
        let columns = usize::from(area.width.saturating_sub(NOTE_SIGN));
        let note = notes::lines(note, columns, usize::from(area.height / 3));
        Self { note, ..self }
    }

    /// Where the note stands, and the line below it.
    pub(super) fn note_area(&self) -> Option<Rect> {
        let area = self.inside(Pane::Diff)?;
        let height = match self.note.len() {
            0 => return None,
            lines => u16::try_from(lines + 1)
                .unwrap_or(u16::MAX)
                .min(area.height),
        };
        Some(Rect { height, ..area })
    }

    /// Where the rows of the list of runs stand, which has all but the first row and the last
    /// two for itself.
    pub(super) fn picker(&self) -> Rect {
        self.picker_frame().inner(Margin::new(1, 1))
    }

    /// Where the list of runs stands with its frame.
    pub(super) fn picker_frame(&self) -> Rect {
        let height = self.footer.y.saturating_sub(2);
        Rect::new(0, 1, self.footer.width, height)
    }

    /// Where a pane stands with its frame; `None` when it is not shown.
    pub(super) fn pane(&self, pane: Pane) -> Option<Rect> {
        let [timeline, state, diff] = self.panes;
        match pane {
            Pane::Timeline => timeline,
            Pane::State => state,
            Pane::Diff => diff,
        }
    }

    /// Where a pane's content stands, with a free column on its right; `None` when it is
    /// not shown.
    pub(super) fn content(&self, pane: Pane) -> Option<Rect> {
        let area = self.inside(pane)?;
        let note = self.note_area().filter(|_| pane == Pane::Diff);
        let above = note.map_or(0, |note| note.height);
        Some(Rect {
            y: area.y + above,
            height: area.height - above,
            ..area
        })
    }

    /// A pane without its frame, with a free column on its right.
    fn inside(&self, pane: Pane) -> Option<Rect> {
        let area = self.pane(pane)?;
        let inside = match self.sharing {
            Sharing::Framed => area.inner(Margin::new(1, 1)),
            Sharing::Tabbed(_) => area,
        };
        Some(Rect {
            width: inside.width - 1,
            ..inside
        })
    }
}

fn three_columns(body: Rect, state: Contents) -> [Rect; 3] {
    let share = |percent: u32| (u32::from(body.width) * percent / 100) as u16;
    let (timeline, state) = match state {
        Contents::Tree => (share(35), share(26).clamp(29, 52)),
        Contents::File => (share(29), share(36)),
    };
    let column = |x, width| Rect { x, width, ..body };
    [
        column(0, timeline),
        column(timeline, state),
        column(timeline + state, body.width - timeline - state),
    ]
}

/// The timeline beside the two others, one above the other where there is room for both.
fn two_columns(body: Rect, state: Contents, focus: Pane) -> [Option<Rect>; 3] {
    let left = (u32::from(body.width) * 45 / 100) as u16;
    let timeline = Rect {
        width: left,
        ..body
    };
    let right = Rect {
        x: left,
        width: body.width - left,
        ..body
    };
    if body.height < STACKED {
        return match focus {
            Pane::State => [Some(timeline), Some(right), None],
            Pane::Timeline | Pane::Diff => [Some(timeline), None, Some(right)],
        };
    }
    let percent = match state {
        Contents::Tree => 42,
        Contents::File => 55,
    };
    let height = (u32::from(body.height) * percent / 100) as u16;
    let above = Rect { height, ..right };
    let below = Rect {
        y: body.y + height,
        height: body.height - height,
        ..right
    };
    [Some(timeline), Some(above), Some(below)]
}

/// The timeline over the whole width, and the two others side by side below it.
fn timeline_above(body: Rect, state: Contents, focus: Pane) -> [Option<Rect>; 3] {
    if body.height < TWO_ROWS {
        return Pane::ALL.map(|pane| (pane == focus).then_some(body));
    }
    let height = (u32::from(body.height) * 45 / 100) as u16;
    let timeline = Rect { height, ..body };
    let below = Rect {
        y: body.y + height,
        height: body.height - height,
        ..body
    };
    let percent = match state {
        Contents::Tree => 30,
        Contents::File => 50,
    };
    let left = (u32::from(body.width) * percent / 100) as u16;
    let left = left.clamp(29, (body.width / 2).max(29));
    let state = Rect {
        width: left,
        ..below
    };
    let diff = Rect {
        x: below.x + left,
        width: below.width - left,
        ..below
    };
    [Some(timeline), Some(state), Some(diff)]
}

/// The first row to show of a list: `top`, moved as little as needed so that the selected
/// row is seen and no room is wasted at the end.
pub(super) fn scrolled(top: usize, selected: Option<usize>, length: usize, height: usize) -> usize {
    let top = match selected {
        Some(selected) if selected < top => selected,
        Some(selected) if selected >= top.saturating_add(height) => selected + 1 - height.max(1),
        _ => top,
    };
    top.min(length.saturating_sub(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_fill_the_screen_and_never_leave_it() {
        for width in (0..260).chain([1000]) {
            for height in (0..80).chain([600]) {
                for (focus, zoom, lines) in [
                    (Pane::Timeline, Zoom::Out, Lines::One),
                    (Pane::State, Zoom::Out, Lines::Two),
                    (Pane::Diff, Zoom::In, Lines::One),
                ] {
                    let size = Size::new(width, height);
                    let state = if width % 2 == 0 {
                        Contents::Tree
                    } else {
                        Contents::File
                    };
                    let Some(layout) = Layout::of(size, focus, zoom, state, lines) else {
                        assert!(width < 30 || height < 8);
                        continue;
                    };
                    let shown = Pane::ALL.into_iter().filter_map(|pane| layout.pane(pane));
                    let area: u32 = shown.clone().map(Rect::area).sum();
                    assert_eq!(area, layout.body.area(), "{size}");
                    for pane in shown {
                        assert_eq!(pane.intersection(layout.body), pane, "{size}");
                        assert!(pane.height >= 3 && pane.width >= 29, "{size}: {pane}");
                    }
                    assert!(layout.content(focus).is_some());
                }
            }
        }
    }

    #[test]
    fn the_selected_row_is_seen() {
        assert_eq!(scrolled(0, Some(4), 100, 10), 0);
        assert_eq!(scrolled(0, Some(10), 100, 10), 1);
        assert_eq!(scrolled(50, Some(10), 100, 10), 10);
        assert_eq!(scrolled(95, None, 100, 10), 90);
        assert_eq!(scrolled(5, Some(2), 3, 10), 0);
        assert_eq!(scrolled(0, Some(7), 8, 0), 7);
    }
}
