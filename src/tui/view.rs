//! Draws the screen from its state, and reads nothing else.
//!
//! Text reaches the screen only as [`SafeText`] and through a pen, which leaves out nothing
//! without a `…`.

mod against;
mod choices;
mod context;
pub(super) mod conversation;
mod diff;
mod draft;
mod file;
mod footer;
mod header;
mod hints;
mod hunks;
mod note;
pub(super) mod numbers;
mod overlay;
mod pane;
mod pen;
mod picker;
mod reading;
mod strip;
mod timeline;
mod title;
mod tree;
mod versions;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub(super) use self::against::stretches;
pub(super) use self::choices::{mark_at, marks_area, palette_choice_at};
pub(super) use self::file::version_at;
pub(super) use self::pane::{spinner, tab_at};
use self::pen::{Pen, Selection};
use super::app::App;
use super::layout::{Layout, Pane, Sharing};
use super::panes::StateView;
use super::theme::Role;
use crate::text::SafeText;

/// Draws the screen.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if let Some(position) = render(app, area, frame.buffer_mut()) {
        frame.set_cursor_position(position);
    }
}

/// Draws into a buffer; returns where the terminal's cursor is, if it is seen.
fn render(app: &App, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    buffer.set_style(area, app.theme.style(Role::Text));
    // A screen that was resized while its event is still on the way is drawn as too small
    // or not at all, and anew a moment later.
    let Some(layout) = app.layout().filter(|_| area.as_size() == app.size) else {
        too_small(app, area, buffer);
        return None;
    };
    match &app.picker {
        Some(picker) => picker::draw(app, picker, &layout, buffer),
        None => draw_run(app, &layout, buffer),
    }
    let caret = draft::draw(app, &layout, buffer);
    overlay::draw(app, buffer);
    choices::draw(app, &layout, buffer);
    footer::draw(app, layout.footer, buffer).or(caret)
}

fn draw_run(app: &App, layout: &Layout, buffer: &mut Buffer) {
    header::draw(app, layout.header, buffer);
    if !against::draw_strip(app, layout.strip, buffer) {
        strip::draw(app, layout.strip, buffer);
    }
    if let Sharing::Tabbed(row) = layout.sharing {
        pane::draw_tabs(app, row, buffer);
    }
    if !pane::draw_instead(app, layout.body, buffer) {
        for which in Pane::ALL {
            draw_pane(app, layout, which, buffer);
        }
    }
}

fn draw_pane(app: &App, layout: &Layout, which: Pane, buffer: &mut Buffer) {
    let (Some(area), Some(content)) = (layout.pane(which), layout.content(which)) else {
        return;
    };
    if layout.sharing == Sharing::Framed {
        pane::draw_frame(app, which, area, buffer);
    }
    match which {
        Pane::Timeline if against::draw_rows(app, content, buffer) => {}
        Pane::Timeline => timeline::draw(app, content, buffer),
        Pane::State => match (&app.state.file, app.state.view) {
            (Some(file), _) => file::draw(app, file, content, buffer),
            (None, StateView::Files) => tree::draw(app, content, buffer),
            (None, StateView::Conversation) => conversation::draw(app, content, buffer),
            (None, StateView::Context) => context::draw(app, content, buffer),
            (None, StateView::Environment) => context::draw_environment(app, content, buffer),
            (None, StateView::Transaction) => context::draw_transaction(app, content, buffer),
            (None, StateView::Effects) => context::draw_effects(app, content, buffer),
            (None, StateView::Numbers) => numbers::draw(app, content, buffer),
        },
        Pane::Diff => {
            note::draw(app, layout, buffer);
            diff::draw(app, content, buffer);
        }
    }
    if let Some(extent) = app.extent(which) {
        pane::draw_bar(app, which, &extent, buffer);
    }
}

/// One line, as far as it fits.
fn too_small(app: &App, area: Rect, buffer: &mut Buffer) {
    if let Some(row) = area.rows().next() {
        let words = "too small: 30×8 at least";
        Pen::new(buffer, row, app.theme).text(&SafeText::literal(words), Role::Text);
    }
}

/// How a row of a pane is to be drawn, by the row that is selected there.
fn selection(app: &App, pane: Pane, is_selected: bool) -> Selection {
    match (is_selected, app.focus == pane) {
        (false, _) => Selection::None,
        (true, true) => Selection::Here,
        (true, false) => Selection::Elsewhere,
    }
}
