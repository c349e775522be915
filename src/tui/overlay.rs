//! What lies over the panes: the help, and what to know before trusting the view.
//!
//! Here is what they say and how far they can be scrolled; how they look is in `view`.

mod help;

use ratatui::layout::{Margin, Rect};

use super::app::App;
use super::layout::scrolled;
use super::theme::Role;
use crate::text::{SafeText, human, width};

/// Where the panes have fewer rows than this, an overlay covers the header, too.
const SMALL: u16 = 12;

/// A row of an overlay, in pieces.
pub(super) type Row = Vec<(SafeText, Role)>;

/// An overlay that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overlay {
    /// What it shows.
    pub(super) sort: OverlaySort,
    /// The first row to show, as far as there are so many.
    pub(super) top: usize,
}

/// The overlays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OverlaySort {
    /// Keys and signs.
    Help,
    /// What to know before trusting the view.
    Notices,
}

impl OverlaySort {
    /// What stands above it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Help => "Keys and signs",
            Self::Notices => "Before trusting the view",
        }
    }

    /// It gets no wider than this.
    const fn widest(self) -> u16 {
        match self {
            Self::Help => 156,
            Self::Notices => 84,
        }
    }
}

/// An overlay set for a screen.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Where it stands, its frame included.
    pub(super) area: Rect,
    /// All its rows.
    pub(super) rows: Vec<Row>,
}

impl Sheet {
    /// Where the rows stand.
    pub(super) fn inside(&self) -> Rect {
        self.area.inner(Margin::new(2, 1))
    }

    /// The first row to show.
    pub(super) fn first_row(&self, top: usize) -> usize {
        scrolled(
            top,
            None,
            self.rows.len(),
            usize::from(self.inside().height),
        )
    }

    /// Whether not all rows are in view.
    pub(super) fn is_long(&self) -> bool {
        self.rows.len() > usize::from(self.inside().height)
    }
}

impl App {
    /// The overlay that is open, in the middle of the panes.
    pub(super) fn sheet(&self) -> Option<Sheet> {
        let (overlay, layout) = self.overlay.zip(self.layout())?;
        // A small screen is covered, but for the hints.
        let body = if layout.body.height < SMALL {
            Rect::new(0, 0, layout.body.width, layout.footer.y)
        } else {
            layout.body
        };
        let width = body.width.min(overlay.sort.widest());
        let columns = usize::from(width - 4);
        let rows = match overlay.sort {
            OverlaySort::Help => help::rows(columns),
            OverlaySort::Notices => notices(self, columns),
        };
        let height = u16::try_from(rows.len() + 2)
            .unwrap_or(u16::MAX)
            .min(body.height);
        let area = Rect {
            x: body.x + (body.width - width) / 2,
            y: body.y + (body.height - height) / 2,
            width,
            height,
        };
        Some(Sheet { area, rows })
    }
}

/// What the façade has to say, and what is wrong with the file.
fn notices(app: &App, columns: usize) -> Vec<Row> {
    let Some(summary) = app.summary.get() else {
        return Vec::new();
    };
    let problems = app.problems.get().map_or(&[][..], Vec::as_slice);
    let mut rows = Vec::new();
    for text in summary.notices.iter().chain(problems) {
        let lines = width::wrap(text, columns.saturating_sub(2));
        for (index, line) in lines.into_iter().enumerate() {
            let sign = if index == 0 { "! " } else { "  " };
            rows.push(vec![
                (SafeText::literal(sign), Role::Warning),
                (line, Role::Text),
            ]);
        }
    }
    let words = match summary.problems - problems.len().min(summary.problems) {
        0 if rows.is_empty() => "Every line of the tape was read, and nothing is missing.".into(),
        0 => return rows,
        more => {
            let more = human::plural(more as u64, "more problem", "more problems");
            format!("… {more}; `jukebox verify` lists all.")
        }
    };
    let lines = width::wrap(&SafeText::line(&words), columns);
    rows.extend(lines.into_iter().map(|line| vec![(line, Role::Quiet)]));
    rows
}
