//! The diff pane: the files that differ, and how the chosen one does.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::against::path_sign;
use super::hunks;
use super::pane::{draw_centred, draw_error};
use super::pen::Pen;
use super::reading;
use super::selection;
use super::tree::change_sign;
use crate::debugger::{ChangeRow, DiffView};
use crate::model::Certainty;
use crate::text::{SafeText, human, width};
use crate::tui::app::App;
use crate::tui::job::Job;
use crate::tui::layout::Pane;
use crate::tui::panes::View;
use crate::tui::theme::Role;

/// Draws the view of the pane that there is something to show for.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    match app.diff.effective_view() {
        View::Files | View::Both => draw_files(app, area, buffer),
        View::Step => reading::draw_step(app, area, buffer),
        View::Request => reading::draw_request(app, area, buffer),
        View::Event => reading::draw_event(app, area, buffer),
    }
}

fn draw_files(app: &App, area: Rect, buffer: &mut Buffer) {
    let list = app.diff.list_height(usize::from(area.height));
    let top = app.diff.list_top(usize::from(area.height));
    let mut rows = area.rows();
    draw_list(app, rows.by_ref().take(list), top, buffer);
    if list > 0
        && let Some(row) = rows.next()
    {
        Pen::new(buffer, row, app.theme).fill("─", Role::Quiet);
    }
    let open = match app.diff.diff.get() {
        None if app.diff.diff.is_given_up() => return draw_given_up(app, area, buffer),
        None => return,
        Some(Err(why)) => {
            draw_error(app, "The difference cannot be shown.", why, area, buffer);
            return;
        }
        Some(Ok(open)) => open,
    };
    if let Some(row) = rows.next() {
        draw_name(app, &open.view, row, buffer);
    }
    let shown = &open.view;
    for remark in app.diff.remarks(usize::from(area.height)) {
        if let Some(row) = rows.next() {
            let mut pen = Pen::new(buffer, row, app.theme);
            pen.gap(1);
            pen.text(&remark, Role::Warning);
        }
    }
    let height = u16::try_from(rows.count()).unwrap_or(0);
    let body = Rect {
        y: area.bottom() - height,
        height,
        ..area
    };
    match &shown.diff {
        Some(_) if app.diff.paths().is_some() => {
            let rows = app.diff.paths().unwrap_or_default();
            reading::draw_scrolled(app, rows, body, buffer);
        }
        Some(diff) if !diff.hunks.is_empty() => hunks::draw(app, open, diff, body, buffer),
        _ => draw_nothing(app, shown, body, buffer),
    }
}

/// The files that differ, around the one that is shown.
fn draw_list(app: &App, rows: impl Iterator<Item = Rect>, top: usize, buffer: &mut Buffer) {
    let selected = app.diff.selected_index();
    for (index, row) in (top..).zip(rows) {
        let Some(file) = app.diff.file(index) else {
            return;
        };
        let is_selected = selected == Some(index);
        let selection = selection(app, Pane::Diff, is_selected);
        let mut pen = Pen::new(buffer, row, app.theme).selected(selection);
        pen.words(if is_selected { "▸" } else { " " }, Role::Accent);
        let (sign, sign_role) = sign_of(app, &file);
        pen.words(sign, sign_role);
        pen.gap(1);
        pen.text(&width::fit_middle(&file.names(), pen.left()), Role::Text);
        pen.finish();
    }
}

/// How a path differs: from what it was, or from what it is in the other run.
fn sign_of(app: &App, change: &ChangeRow) -> (&'static str, Role) {
    match app.diff.changes.get_with_job() {
        Some((Job::ChangesAgainst { .. }, _)) => path_sign(change.change),
        _ if change.from.is_some() => ("R", Role::Changed),
        _ => change_sign(change.change),
    }
}

/// The file's name, how it changed, and by how many lines.
fn draw_name(app: &App, shown: &DiffView, row: Rect, buffer: &mut Buffer) {
    let change = &shown.change;
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    if let Some(diff) = shown
        .diff
        .as_ref()
        .filter(|diff| diff.added + diff.removed > 0)
    {
        let count =
            |sign, lines: usize| SafeText::line(&format!("{sign}{}", human::count(lines as u64)));
        pen.right(&count('−', diff.removed), Role::Removed);
        pen.right_gap(1);
        pen.right(&count('+', diff.added), Role::Added);
        pen.right_gap(2);
    }
    let (sign, role) = sign_of(app, change);
    pen.words(sign, role);
    pen.gap(1);
    let path = change.names();
    for badge in badges(change) {
        let badge = SafeText::line(&badge);
        if pen.left() > width::width(&path) + width::width(&badge) + 3 {
            pen.right(&badge, Role::Warning);
            pen.right_gap(2);
        }
    }
    pen.text(&width::fit_middle(&path, pen.left()), Role::Strong);
}

/// What else is to be said of a change, the most important last.
fn badges(change: &ChangeRow) -> Vec<String> {
    let mut badges = Vec::new();
    if change.from.is_some() {
        badges.push("renamed".into());
    }
    if let Some((before, after)) = change.mode {
        badges.push(format!("mode {:o}→{:o}", before & 0o7777, after & 0o7777));
    }
    match change.certainty.1 {
        Certainty::Exact | Certainty::Absent => {}
        certainty => badges.push(certainty.as_str().into()),
    }
    if change.is_outside {
        badges.push("≠ outside".into());
    }
    badges
}

fn draw_given_up(app: &App, area: Rect, buffer: &mut Buffer) {
    let lines = [
        (
            SafeText::literal("The comparison was given up."),
            Role::Strong,
        ),
        (
            SafeText::literal("Another step or file, and back, compares again."),
            Role::Quiet,
        ),
    ];
    draw_centred(area, &lines, app.theme, buffer);
}

/// Says why there are no rows.
fn draw_nothing(app: &App, shown: &DiffView, area: Rect, buffer: &mut Buffer) {
    let words = match (&shown.diff, shown.change.mode) {
        _ if !shown.remarks.is_empty() => return,
        (None, _) => "One of the contents is not known.",
        (Some(_), Some(_)) => "Only the mode differs.",
        _ if shown.change.from.is_some() => "Only the name differs.",
        (Some(diff), None) => match (diff.old, diff.new) {
            (None, Some(_)) => "An empty file was made.",
            (Some(_), None) => "An empty file was removed.",
            _ => "The contents are the same.",
        },
    };
    let line = (SafeText::literal(words), Role::Quiet);
    draw_centred(area, &[line], app.theme, buffer);
}
