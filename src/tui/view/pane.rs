//! What panes have in common: frames, tabs, and what stands in their place.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::symbols::border;
use ratatui::widgets::{Block, Clear, Widget as _};
use unicode_width::UnicodeWidthStr as _;

use super::pen::Pen;
use super::title::{Title, name};
use crate::text::{SafeText, human, width};
use crate::tui::app::App;
use crate::tui::layout::Pane;
use crate::tui::scroll::Extent;
use crate::tui::theme::{Role, Theme};
use crate::tui::travel::Follow;

/// A line of text with its role.
pub(super) type Line = (SafeText, Role);

/// Draws a pane's frame. The focused one is told by its heavy lines and by `▸`.
pub(super) fn draw_frame(app: &App, pane: Pane, area: Rect, buffer: &mut Buffer) {
    let is_focused = pane == app.focus;
    let (lines, frame, title_role, sign) = if is_focused {
        (border::THICK, Role::Accent, Role::Accent, "▸")
    } else {
        (border::PLAIN, Role::Quiet, Role::Title, "")
    };
    Block::bordered()
        .border_set(lines)
        .border_style(app.theme.style(frame))
        .render(area, buffer);
    let title = Title::of(app, pane);
    let row = Rect { height: 1, ..area }.inner(Margin::new(2, 0));
    let words = SafeText::line(&format!(" {sign}{} {} ", number(pane), title.text));
    let note = SafeText::line(&format!(" {} ", title.note));
    let columns = width::width(&note);
    if !title.note.is_empty() && width::width(&words) + columns < usize::from(row.width) {
        let columns = columns as u16;
        let x = row.right() - columns;
        let row = Rect::new(x - 1, row.y, columns, 1);
        Pen::new(buffer, row, app.theme).text(&note, Role::Quiet);
    }
    Pen::new(buffer, row, app.theme).text(&words, title_role);
}

/// Draws the thumb of a pane's scrollbar on its frame, or where a frame would be. Its shape
/// tells it from the frame, not its colour.
pub(super) fn draw_bar(app: &App, pane: Pane, extent: &Extent, buffer: &mut Buffer) {
    let role = if pane == app.focus {
        Role::Accent
    } else {
        Role::Quiet
    };
    draw_thumb(extent, role, app.theme, buffer);
}

/// Draws the thumb of a scrollbar.
pub(super) fn draw_thumb(extent: &Extent, role: Role, theme: Theme, buffer: &mut Buffer) {
    let thumb = extent.thumb();
    let rows = extent.bar.rows().skip(usize::from(thumb.start));
    for row in rows.take(usize::from(thumb.end - thumb.start)) {
        Pen::new(buffer, row, theme).words("█", role);
    }
}

/// Draws the tabs of a screen that has room for one pane.
pub(super) fn draw_tabs(app: &App, row: Rect, buffer: &mut Buffer) {
    let title = Title::of(app, app.focus);
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.right_gap(1);
    if !title.note.is_empty() {
        pen.right(&title.note, Role::Quiet);
        pen.right_gap(TAB_GAP);
    }
    for (pane, words) in tabs(app, &title, pen.left()) {
        let role = if pane == app.focus {
            Role::Accent
        } else {
            Role::Quiet
        };
        pen.text(&words, role);
        pen.gap(TAB_GAP);
    }
}

/// The pane whose tab stands in this column.
pub(in crate::tui) fn tab_at(app: &App, row: Rect, column: u16) -> Option<Pane> {
    let title = Title::of(app, app.focus);
    let note = match width::width(&title.note) {
        0 => 1,
        columns => 1 + columns + TAB_GAP,
    };
    let room = usize::from(row.width).saturating_sub(note);
    let column = usize::from(column.checked_sub(row.x)?);
    let mut end = 0;
    let mut ends = tabs(app, &title, room).into_iter().map(|(pane, words)| {
        end += width::width(&words) + TAB_GAP;
        (pane, end.min(room))
    });
    ends.find(|(_, end)| column < *end).map(|(pane, _)| pane)
}

/// Columns behind a tab.
const TAB_GAP: usize = 2;

/// What stands on the tabs; numbers alone where there is no room for names.
fn tabs(app: &App, title: &Title, room: usize) -> [(Pane, SafeText); 3] {
    let named = |pane: Pane| {
        if pane == app.focus {
            title.text.as_str()
        } else {
            name(pane)
        }
    };
    // Sign, number and space stand before a name.
    let names = Pane::ALL.map(|pane| named(pane).chars().count() + 3 + TAB_GAP);
    let has_room = names.iter().sum::<usize>() <= room + TAB_GAP;
    Pane::ALL.map(|pane| {
        let words = match (pane == app.focus, has_room) {
            (true, _) => format!("▸{} {}", number(pane), named(pane)),
            (false, true) => format!(" {} {}", number(pane), named(pane)),
            (false, false) => format!(" {}", number(pane)),
        };
        (pane, SafeText::line(&words))
    })
}

fn number(pane: Pane) -> usize {
    let index = Pane::ALL.iter().position(|other| *other == pane);
    index.map_or(0, |index| index + 1)
}

/// Turns while something is waited for.
pub(in crate::tui) fn spinner(app: &App) -> &'static str {
    match app.desk.ticks() % 4 {
        0 => "◐",
        1 => "◓",
        2 => "◑",
        _ => "◒",
    }
}

/// Draws what stands in the place of all panes when there is no run to show: while it is
/// being opened, and when it holds no step. Returns whether it did.
pub(super) fn draw_instead(app: &App, body: Rect, buffer: &mut Buffer) -> bool {
    let lines = match app.summary.get() {
        None if app.summary.is_late(&app.desk) => {
            let words = format!("{} opening the run", spinner(app));
            vec![(SafeText::line(&words), Role::Quiet)]
        }
        None => Vec::new(),
        Some(summary) if summary.branches.iter().all(|branch| branch.steps == 0) => {
            let events = human::plural(u64::from(summary.events), "event", "events");
            let bytes = human::plural(summary.bytes, "byte", "bytes");
            let next = match app.travel.follow {
                Follow::Off => "F follows it while it is written · q quits",
                Follow::Sticking | Follow::Behind(_) => "waiting for the first one …",
            };
            let mut lines = vec![
                (SafeText::literal("This tape holds no step."), Role::Strong),
                (SafeText::line(&format!("{events}, {bytes}")), Role::Quiet),
                (SafeText::default(), Role::Text),
            ];
            let notices = summary.notices.iter();
            lines.extend(notices.map(|notice| (notice.clone(), Role::Warning)));
            lines.push((SafeText::literal(next), Role::Quiet));
            lines
        }
        Some(_) => return false,
    };
    draw_centred(body, &lines, app.theme, buffer);
    true
}

/// Draws lines in the middle of an area. Where there is little room, blank ones are left out;
/// where there is still too little, the last one says that there is more.
pub(super) fn draw_centred(area: Rect, lines: &[Line], theme: Theme, buffer: &mut Buffer) {
    let columns = usize::from(area.width.saturating_sub(2));
    let wrap = |(text, role): &Line| {
        let lines = width::wrap(text, columns).into_iter();
        let role = *role;
        lines.map(move |line| (line, role))
    };
    let mut wrapped: Vec<Line> = lines.iter().flat_map(wrap).collect();
    let height = usize::from(area.height);
    if wrapped.len() > height {
        wrapped.retain(|(text, _)| !text.is_empty());
    }
    if wrapped.len() > height {
        wrapped.truncate(height.saturating_sub(1));
        wrapped.push((SafeText::literal("…"), Role::Quiet));
    }
    let above = height.saturating_sub(wrapped.len()) / 2;
    for (row, (text, role)) in area.rows().skip(above).zip(&wrapped) {
        let mut pen = Pen::new(buffer, row, theme);
        pen.gap(pen.left().saturating_sub(width::width(text)) / 2);
        pen.text(text, *role);
    }
}

/// Says that something cannot be shown, and why.
pub(super) fn draw_error(
    app: &App,
    what: &'static str,
    why: &SafeText,
    area: Rect,
    buffer: &mut Buffer,
) {
    let lines = [
        (SafeText::literal(what), Role::Strong),
        (why.clone(), Role::Failed),
    ];
    draw_centred(area, &lines, app.theme, buffer);
}

/// Empties an area and draws a frame with a title around it.
pub(super) fn draw_box(
    area: Rect,
    title: &'static str,
    note: &'static str,
    theme: Theme,
    buffer: &mut Buffer,
) {
    cut_left_edge(area, buffer);
    Clear.render(area, buffer);
    buffer.set_style(area, theme.style(Role::Text));
    Block::bordered()
        .border_set(border::DOUBLE)
        .border_style(theme.style(Role::Accent))
        .render(area, buffer);
    let row = Rect { height: 1, ..area }.inner(Margin::new(2, 0));
    let mut pen = Pen::new(buffer, row, theme);
    let [title, note] = [title, note].map(|words| SafeText::line(&format!(" {words} ")));
    // A title without its note says more than a note without its title.
    if width::width(&title) + width::width(&note) <= pen.left() {
        pen.right(&note, Role::Quiet);
    }
    pen.text(&title, Role::Accent);
}

/// A wide character that begins before an area and reaches into it would hide its edge: it
/// gives way.
fn cut_left_edge(area: Rect, buffer: &mut Buffer) {
    let Some(column) = area.x.checked_sub(1) else {
        return;
    };
    for row in area.intersection(buffer.area).rows() {
        if let Some(cell) = buffer.cell_mut((column, row.y))
            && cell.symbol().width() > 1
        {
            cell.set_symbol(" ");
        }
    }
}
