//! What lies over the panes: the help, what to know before trusting the view, the end of the
//! transaction, forks and test cases.
//!
//! Here is what they say and how far they can be scrolled; how they look is in `view`.

mod decision;
mod export;
mod fork;
mod fork_tree;
mod help;
mod page;

use std::collections::BTreeMap;

use ratatui::layout::{Margin, Rect};

use super::app::App;
use super::job::PatchOf;
use super::layout::scrolled;
use super::panes::FilePane;
use super::scroll::Extent;
use super::theme::Role;
use super::view::spinner;
use crate::debugger::TransactionEnd;
use crate::model::Certainty;
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
    /// How the transaction is to end.
    Decision(TransactionEnd),
    /// A fork, before it is made and behind that.
    Fork,
    /// A test case, before it is made and behind that.
    Export,
    /// The forks that there are.
    ForkTree,
}

impl OverlaySort {
    /// What stands above it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Fork => "Fork",
            Self::Export => "Test case",
            Self::ForkTree => "Forks",
            Self::Help => "Keys and signs",
            Self::Notices => "Before trusting the view",
            Self::Decision(TransactionEnd::Commit) => "Commit",
            Self::Decision(TransactionEnd::RollBack) => "Roll back",
        }
    }

    /// It gets no wider than this.
    const fn widest(self) -> u16 {
        match self {
            Self::Help => 160,
            Self::Notices => 84,
            Self::Decision(_) | Self::Fork | Self::ForkTree | Self::Export => 100,
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
    /// The chosen one, where one can be chosen.
    pub(super) chosen: Option<usize>,
    /// The patches that rows lead to, by the numbers of these.
    pub(super) targets: BTreeMap<usize, PatchOf>,
    /// The first row of each tape that can be chosen.
    pub(super) starts: Vec<usize>,
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

    /// What of it is in view; `None` where that is all.
    pub(super) fn extent(&self, top: usize) -> Option<Extent> {
        let inside = self.inside();
        let shown = usize::from(inside.height);
        (self.rows.len() > shown && shown > 0).then(|| Extent {
            bar: Rect {
                x: self.area.right() - 1,
                width: 1,
                ..inside
            },
            first: self.first_row(top),
            shown,
            total: self.rows.len(),
        })
    }
}

impl App {
    /// The overlay that is open, in the middle of the panes.
    pub(super) fn sheet(&self) -> Option<Sheet> {
        let (overlay, layout) = self.overlay.zip(self.layout())?;
        let width = layout.body.width.min(overlay.sort.widest());
        let columns = usize::from(width - 4);
        let (mut chosen, mut targets, mut starts) = (None, BTreeMap::new(), Vec::new());
        let rows = match (overlay.sort, &self.decision) {
            (OverlaySort::Help, _) => help::rows(columns),
            (OverlaySort::Notices, _) => notices(self, columns),
            (OverlaySort::Decision(_), None) => Vec::new(),
            (OverlaySort::Fork, _) => match &self.forking {
                Some(forking) => fork::rows(forking, spinner(self), columns),
                None => Vec::new(),
            },
            (OverlaySort::Export, _) => match &self.exporting {
                Some(exporting) => {
                    let page = export::page(exporting, spinner(self), columns);
                    chosen = page.marks;
                    page.rows
                }
                None => Vec::new(),
            },
            (OverlaySort::ForkTree, _) => match &self.fork_tree {
                Some(tree) => {
                    let page = fork_tree::page(tree, spinner(self), columns);
                    let index = tree.chosen_index();
                    chosen = index.and_then(|index| page.marks.get(index).copied());
                    starts = page.marks;
                    page.rows
                }
                None => Vec::new(),
            },
            (OverlaySort::Decision(_), Some(decision)) => {
                let page = decision::page(decision, spinner(self), columns);
                let first = page.marks.keys().next().copied();
                chosen = first.map(|first| {
                    let last = page.rows.len().saturating_sub(1);
                    decision.chosen.unwrap_or(first).min(last)
                });
                targets = page.marks;
                page.rows
            }
        };
        let whole = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
        // All is covered but for the hints where the screen is small, or that shows the rest.
        let all = Rect::new(0, 0, layout.body.width, layout.footer.y);
        let body =
            if layout.body.height < SMALL || (layout.body.height < whole && whole <= all.height) {
                all
            } else {
                layout.body
            };
        let height = whole.min(body.height);
        let area = Rect {
            x: body.x + (body.width - width) / 2,
            y: body.y + (body.height - height) / 2,
            width,
            height,
        };
        Some(Sheet {
            area,
            rows,
            chosen,
            targets,
            starts,
        })
    }
}

/// What is to be known of the file that is open, or else of the difference that is shown: the
/// panes may have too little room for it.
fn about_file(app: &App, columns: usize) -> Vec<Row> {
    let file = app.state.file.as_ref().and_then(FilePane::file);
    let (name, said) = match (file, app.diff.difference()) {
        (Some(file), _) => {
            let view = &file.view;
            let is_sure = view.certainty == Certainty::Exact;
            let certainty = (!is_sure).then(|| SafeText::literal(view.certainty.as_str()));
            let said: Vec<SafeText> = certainty.into_iter().chain(view.remarks.clone()).collect();
            (SafeText::from_bytes(view.path.as_bytes()), said)
        }
        (None, Some(view)) => (view.change.names(), view.remarks.clone()),
        (None, None) => return Vec::new(),
    };
    if said.is_empty() {
        return Vec::new();
    }
    let name = width::fit_middle(&name, columns);
    let lines = said.iter().flat_map(|text| width::wrap(text, columns));
    let lines = lines.map(|line| vec![(line, Role::Warning)]);
    let head = std::iter::once(vec![(name, Role::Strong)]);
    head.chain(lines).chain([Row::new()]).collect()
}

/// What the façade has to say, and what is wrong with the file.
fn notices(app: &App, columns: usize) -> Vec<Row> {
    let Some(summary) = app.summary.get() else {
        return Vec::new();
    };
    let problems = app.problems.get().map_or(&[][..], Vec::as_slice);
    let mut rows = about_file(app, columns);
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
        0 if summary.notices.is_empty() && problems.is_empty() => {
            "Every line of the tape was read, and nothing is missing.".into()
        }
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
