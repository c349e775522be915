//! The last row: a prompt, a message, or hints at what can be done here.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::hints::hints;
use super::pane::spinner;
use super::pen::Pen;
use crate::text::{SafeText, width};
use crate::tui::action::ActionId;
use crate::tui::app::{App, Tone};
use crate::tui::keymap::Pending;
use crate::tui::prompt::{Prompt, Purpose};
use crate::tui::search::Search;
use crate::tui::theme::Role;

/// Columns between two hints.
const GAP: usize = 3;

/// Columns that are kept for what is typed.
const MIN_TYPED: usize = 40;

/// Draws the row; returns where the terminal's cursor is, if something is typed.
pub(super) fn draw(app: &App, row: Rect, buffer: &mut Buffer) -> Option<Position> {
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    if let Some(prompt) = &app.prompt {
        return Some(draw_prompt(app, prompt, row, pen));
    }
    pen.right_gap(1);
    if let Pending::Letter(action) = app.pending {
        let words = match action {
            ActionId::SetMark => "a letter marks this place",
            _ => "the letter of a mark goes to it",
        };
        pen.words(words, Role::Key);
        return None;
    }
    if let Some(typed) = typed(app) {
        pen.right(&SafeText::line(&typed), Role::Key);
        pen.right_gap(GAP);
    }
    if let Some(message) = &app.message {
        let (sign, role) = match message.tone {
            Tone::Plain => ("", Role::Text),
            Tone::Warning => ("! ", Role::Warning),
            Tone::Error => ("✗ ", Role::Failed),
        };
        pen.words(sign, role);
        pen.text(&message.text, role);
        return None;
    }
    if let Some(opening) = &app.opening_run {
        pen.words(spinner(app), Role::Quiet);
        pen.words(" opening ", Role::Text);
        pen.text(&opening.name, Role::Strong);
        pen.words("; Esc gives it up", Role::Quiet);
        return None;
    }
    let bisecting = app.bisecting.as_ref().filter(|it| it.is_running());
    if let Some(bisecting) = bisecting {
        pen.words(spinner(app), Role::Quiet);
        pen.gap(1);
        pen.text(&bisecting.describe(), Role::Text);
        return None;
    }
    if let Some(search) = app.search.as_ref().filter(|search| search.is_running()) {
        pen.text(&search.describe(), Role::Text);
        return None;
    }
    draw_hints(app, pen);
    None
}

/// What is typed stays in view at its end; the beginning gives way.
fn draw_prompt(app: &App, prompt: &Prompt, row: Rect, mut pen: Pen<'_>) -> Position {
    pen.words(prompt.purpose.label(), Role::Key);
    let room = pen.left();
    if prompt.purpose == Purpose::Search
        && let Some(search) = &app.search
        && pen.left() > MIN_TYPED
    {
        pen.right_gap(1);
        pen.right(&search.found(), Role::Quiet);
        pen.right_gap(1);
    }
    let end = row.right() - u16::try_from(room - pen.left()).unwrap_or(0);
    let (before, after) = prompt.halves();
    let room = pen.left().saturating_sub(1);
    let hidden = width::width(&before).saturating_sub(room);
    let before = if hidden == 0 {
        before
    } else {
        let mut shown = SafeText::literal("…");
        shown.push(&width::slice(&before, hidden + 1, room.saturating_sub(1)));
        shown
    };
    pen.text(&before, Role::Text);
    let left = u16::try_from(pen.left()).unwrap_or(0);
    let cursor = Position::new(end - left.clamp(1, row.width), row.y);
    if prompt.text().is_empty() {
        pen.gap(1);
        pen.words(prompt.purpose.example(), Role::Quiet);
    } else {
        pen.text(&after, Role::Text);
    }
    cursor
}

/// What has been typed of something longer, or what a search has found.
fn typed(app: &App) -> Option<String> {
    match app.pending {
        Pending::Count(count) => Some(format!("{count} …")),
        Pending::Nothing | Pending::PaneOrCount(_) | Pending::Letter(_) => {
            let search = app.search.as_ref().filter(|_| app.message.is_none());
            let search = search.filter(|search| !search.is_running());
            search.map(Search::describe).map(|words| words.to_string())
        }
    }
}

/// Draws as many hints as fit whole. The last, that there is help, is always there.
fn draw_hints(app: &App, mut pen: Pen<'_>) {
    let mut hints = hints(app);
    let columns =
        |(keys, word): &(SafeText, SafeText)| width::width(keys) + 1 + width::width(word) + GAP;
    while hints.len() > 1 && hints.iter().map(columns).sum::<usize>() > pen.left() + GAP {
        hints.remove(hints.len() - 2);
    }
    for (index, (keys, word)) in hints.iter().enumerate() {
        if index > 0 {
            pen.gap(GAP);
        }
        pen.text(keys, Role::Key);
        pen.gap(1);
        pen.text(word, Role::Quiet);
    }
}
