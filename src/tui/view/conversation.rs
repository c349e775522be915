//! The conversation: the turns up to the playhead that are in view.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pane::draw_centred;
use super::pen::Pen;
use super::selection;
use crate::text::SafeText;
use crate::tui::app::App;
use crate::tui::conversation::TurnTone;
use crate::tui::layout::Pane;
use crate::tui::theme::Role;

/// Columns before the text of a turn, in a run of so many events: the sign of the chosen
/// turn, the number, the sign of who speaks.
pub(in crate::tui) fn margin(events: u32) -> u16 {
    digits(events) + 5
}

/// Columns of a number: of a step, of which there are no more than events.
fn digits(events: u32) -> u16 {
    u16::try_from(events.to_string().len()).unwrap_or(10).max(2)
}

/// Draws the turns.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let here = app.travel.spot().map_or(0, |spot| spot.step.0);
    if here == 0 {
        let words = SafeText::literal("Before the first step nothing was said.");
        draw_centred(area, &[(words, Role::Quiet)], app.theme, buffer);
        return;
    }
    let pane = &app.state.conversation;
    let digits = usize::from(digits(
        app.summary.get().map_or(1, |summary| summary.events),
    ));
    let chosen = pane.chosen(here);
    let lines = pane.in_view(here, usize::from(area.height));
    for ((number, index), row) in lines.into_iter().zip(area.rows()) {
        let is_chosen = number == chosen;
        let selection = selection(app, Pane::State, is_chosen && index == 0);
        let mut pen = Pen::new(buffer, row, app.theme).selected(selection);
        pen.words(if is_chosen { "▸" } else { " " }, Role::Accent);
        let is_first = index == 0;
        pen.number(is_first.then_some(u64::from(number)), digits);
        pen.gap(1);
        if let Some(turn) = pane.turn(number) {
            for _ in 0..turn.depth.min(8) {
                pen.words("╎ ", Role::Quiet);
            }
            if let Some(line) = turn.lines.get(index) {
                let (sign, role) = sign(line.tone);
                pen.words(if is_first { sign } else { " " }, role);
                pen.gap(1);
                pen.text(&line.text, role_of(line.tone));
            }
        } else {
            pen.words("…", Role::Quiet);
        }
        pen.finish();
    }
}

fn sign(tone: TurnTone) -> (&'static str, Role) {
    match tone {
        TurnTone::Person => ("›", Role::Person),
        TurnTone::Model | TurnTone::Thinking => ("◆", Role::Model),
        TurnTone::Call => ("○", Role::Quiet),
        TurnTone::Failed => ("○", Role::Failed),
        TurnTone::Warning => ("!", Role::Warning),
        TurnTone::Aside | TurnTone::Text => ("·", Role::Quiet),
    }
}

fn role_of(tone: TurnTone) -> Role {
    match tone {
        TurnTone::Person => Role::Strong,
        TurnTone::Model | TurnTone::Text => Role::Text,
        TurnTone::Thinking | TurnTone::Aside | TurnTone::Call => Role::Quiet,
        TurnTone::Failed => Role::Failed,
        TurnTone::Warning => Role::Warning,
    }
}
