//! The file tree: the rows that are in view.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::against::path_sign;
use super::pane::draw_centred;
use super::pen::Pen;
use super::selection;
use crate::debugger::TreeRow;
use crate::model::{Certainty, ChangeKind, EntryKind};
use crate::text::{SafeText, human, width};
use crate::tui::app::App;
use crate::tui::job::Job;
use crate::tui::layout::Pane;
use crate::tui::theme::Role;

/// Draws the tree.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let rows = app.state.rows();
    if rows.is_empty() && app.state.tree.current().is_some() {
        let lines = [
            (
                SafeText::literal("No file is known here yet."),
                Role::Strong,
            ),
            (
                SafeText::literal("Files show when the run reads or writes them."),
                Role::Quiet,
            ),
        ];
        draw_centred(area, &lines, app.theme, buffer);
        return;
    }
    let shown = app.state.tree.get_with_job();
    let is_against = matches!(shown, Some((Job::TreeAgainst { .. }, _)));
    let top = app.state.top(usize::from(area.height));
    let selected = app.state.selected_index();
    for ((index, row), line) in rows.iter().enumerate().skip(top).zip(area.rows()) {
        let is_selected = selected == Some(index);
        let selection = selection(app, Pane::State, is_selected);
        let mut pen = Pen::new(buffer, line, app.theme).selected(selection);
        pen.words(if is_selected { "▸" } else { " " }, Role::Accent);
        draw_row(row, is_against, &mut pen);
        pen.finish();
    }
}

/// Draws a row. Of two runs, what only one has is there all the same.
fn draw_row(row: &TreeRow, is_against: bool, pen: &mut Pen<'_>) {
    let is_directory = row.kind == EntryKind::Directory;
    let size = row.size.filter(|_| !is_directory).map(human::size);
    let size = format!("{:>5}", size.unwrap_or_default());
    pen.right(&SafeText::line(&size), Role::Quiet);
    let (sign, role) = match row.change {
        // That it is not there has been said.
        Some(ChangeKind::Removed) if !is_against => (" ", Role::Text),
        _ => certainty(row.certainty),
    };
    pen.right(&SafeText::literal(sign), role);
    let (sign, role) = match row.change.filter(|_| is_against) {
        Some(change) => path_sign(change),
        None => change(row),
    };
    pen.right(&SafeText::literal(sign), role);
    pen.right_gap(1);

    pen.gap(usize::from(row.depth.min(20)) * 2);
    let fold = match (is_directory, row.is_expanded) {
        (true, true) => "▾ ",
        (true, false) => "▹ ",
        (false, _) => "  ",
    };
    pen.words(fold, Role::Quiet);
    let mut name = row.name.clone();
    if is_directory {
        name.push(&SafeText::literal("/"));
    }
    let role = match (is_against, row.change) {
        (true, _) if is_directory => Role::Strong,
        (true, Some(change)) => path_sign(change).1,
        (true, None) => Role::Text,
        (false, _) => name_role(row),
    };
    pen.text(&width::fit_middle(&name, pen.left()), role);
    if let Some(target) = &row.target {
        pen.words(" → ", Role::Quiet);
        pen.text(target, Role::Quiet);
    }
}

fn name_role(row: &TreeRow) -> Role {
    match (row.kind, row.change) {
        (_, Some(ChangeKind::Removed)) => Role::Undone,
        (EntryKind::Directory, _) => Role::Strong,
        (_, Some(ChangeKind::Added)) => Role::Added,
        (_, Some(ChangeKind::Modified)) => Role::Changed,
        _ => Role::Text,
    }
}

/// The letter of a change; of a directory, that something below it changed.
fn change(row: &TreeRow) -> (&'static str, Role) {
    match (row.kind, row.change) {
        (_, None) => (" ", Role::Text),
        (EntryKind::Directory, Some(ChangeKind::Modified | ChangeKind::Suspected)) => {
            ("•", Role::Changed)
        }
        (_, Some(kind)) => change_sign(kind),
    }
}

/// The letter of a change.
pub(super) fn change_sign(kind: ChangeKind) -> (&'static str, Role) {
    match kind {
        ChangeKind::Added => ("A", Role::Added),
        ChangeKind::Modified => ("M", Role::Changed),
        ChangeKind::Removed => ("D", Role::Removed),
        ChangeKind::Suspected => ("?", Role::Warning),
    }
}

fn certainty(certainty: Certainty) -> (&'static str, Role) {
    match certainty {
        Certainty::Exact => (" ", Role::Text),
        Certainty::Unstored => ("#", Role::Quiet),
        Certainty::Redacted => ("*", Role::Quiet),
        Certainty::Uncertain => ("?", Role::Warning),
        Certainty::Partial => ("~", Role::Warning),
        Certainty::Absent => ("-", Role::Quiet),
        Certainty::Unknown => ("!", Role::Warning),
    }
}
