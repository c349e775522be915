//! The rows of the timeline that are in view.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::note;
use super::pen::Pen;
use super::selection;
use crate::debugger::{StepRow, TransactionEdge};
use crate::model::{Outcome, StepKind};
use crate::text::{Align, SafeText, human, width};
use crate::tui::app::App;
use crate::tui::job::Stop;
use crate::tui::layout::Pane;
use crate::tui::theme::Role;

/// From this many columns, rows say how long a step took.
const WIDE: u16 = 52;
/// From this many columns, rows say when a step began, too.
const VERY_WIDE: u16 = 76;

/// Columns of the name of a tool, in a row that is narrow and in one that is wide.
const ACTOR: (usize, usize) = (8, 10);

/// Draws the rows around the playhead.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(Stop { branch, spot }) = app.travel.stop else {
        return;
    };
    let steps = app.steps();
    let digits = steps.to_string().len().max(2);
    for (row, number) in area.rows().zip(app.listed_steps(area.height)) {
        let is_selected = number == spot.step.0;
        let selection = selection(app, Pane::Timeline, is_selected);
        let mut pen = Pen::new(buffer, row, app.theme).selected(selection);
        let step = app.timeline.row(branch, number);
        let (bracket, role) = step.map_or((" ", Role::Quiet), bracket);
        pen.words(bracket, role);
        pen.words(if is_selected { "▸" } else { " " }, Role::Accent);
        pen.number(Some(u64::from(number)), digits);
        pen.gap(2);
        match step {
            Some(step) => {
                let note = app.note(branch, number).is_some();
                draw_step(step, note.then_some(note::SIGN), area.width, &mut pen);
            }
            None if number == 0 => pen.words("· the start of the run", Role::Quiet),
            None => pen.words("…", Role::Quiet),
        }
        pen.finish();
    }
}

/// The edge of a transaction; dotted where it was rolled back.
fn bracket(step: &StepRow) -> (&'static str, Role) {
    let Some(mark) = step.transaction else {
        return (" ", Role::Quiet);
    };
    let sign = match (mark.edge, mark.is_rolled_back) {
        (TransactionEdge::Begin, _) => "╭",
        (TransactionEdge::Inside, false) => "│",
        (TransactionEdge::Inside, true) => "┊",
        (TransactionEdge::End, _) => "╰",
    };
    let role = if mark.is_rolled_back {
        Role::Quiet
    } else {
        Role::Accent
    };
    (sign, role)
}

fn draw_step(step: &StepRow, note: Option<&'static str>, columns: u16, pen: &mut Pen<'_>) {
    let is_undone = step.transaction.is_some_and(|mark| mark.is_rolled_back);
    let unless_undone = |role| if is_undone { Role::Quiet } else { role };
    if columns >= WIDE {
        let duration = step.duration.map(Duration::from_micros);
        let duration = duration
            .filter(|time| time.as_millis() > 0)
            .map(human::duration);
        pen.right(
            &right_aligned(&duration.unwrap_or_default(), 5),
            Role::Quiet,
        );
        pen.right_gap(1);
    }
    if columns >= VERY_WIDE {
        let clock = human::clock(Duration::from_micros(step.t));
        pen.right(&right_aligned(&clock, 7), Role::Quiet);
        pen.right_gap(1);
    }
    for (sign, role) in flags(step) {
        pen.right(&SafeText::literal(sign), role);
    }
    if let Some(sign) = note {
        pen.right(&SafeText::literal(sign), Role::Person);
    }
    pen.right_gap(1);
    let depth = usize::from(step.depth.min(8));
    for _ in 0..depth {
        pen.words("╎ ", Role::Quiet);
    }
    let (sign, role) = kind_sign(step);
    pen.words(sign, unless_undone(role));
    pen.gap(1);
    // A model's name is long, and the same in most rows; the step itself says it.
    let actor = match step.kind {
        StepKind::Model => SafeText::literal("model"),
        _ => step.actor.clone(),
    };
    let role = match step.kind {
        StepKind::Prompt => Role::Person,
        StepKind::Model => Role::Model,
        _ => Role::Strong,
    };
    // The steps of sub-agents give up columns of the name for their indent.
    let actor_columns = if columns >= VERY_WIDE {
        ACTOR.1
    } else {
        ACTOR.0
    };
    let actor_columns = actor_columns.saturating_sub(2 * depth).max(4);
    pen.column(&actor, actor_columns, Align::Left, unless_undone(role));
    pen.gap(1);
    let role = match step.kind {
        StepKind::Outside | StepKind::Gap => Role::Warning,
        StepKind::Other => Role::Quiet,
        _ => Role::Text,
    };
    let title = title_of(step);
    let is_path = step.kind == StepKind::Tool && !title.as_str().contains(' ');
    if is_path {
        // Of a path, the end says most.
        pen.text(&width::fit_middle(&title, pen.left()), unless_undone(role));
    } else {
        pen.text(&title, unless_undone(role));
    }
}

/// The title, without the name of the tool that stands before it already.
pub(super) fn title_of(step: &StepRow) -> SafeText {
    let title = step.title.as_str();
    let rest = title.strip_prefix(step.actor.as_str());
    match rest.and_then(|rest| rest.strip_prefix(' ')) {
        Some(rest) if !step.actor.is_empty() => SafeText::line(rest),
        _ => step.title.clone(),
    }
}

fn right_aligned(text: &str, columns: usize) -> SafeText {
    SafeText::line(&format!("{text:>columns$}"))
}

/// The sign of a step's sort. Tools are told apart by what they do to files.
pub(super) fn kind_sign(step: &StepRow) -> (&'static str, Role) {
    match step.kind {
        StepKind::Prompt => ("›", Role::Person),
        StepKind::Model => ("◆", Role::Model),
        StepKind::Tool if step.is_suspect => ("$", Role::Text),
        StepKind::Tool if step.file_events > 0 => ("✎", Role::Changed),
        StepKind::Tool => ("○", Role::Text),
        StepKind::Outside => ("≠", Role::Warning),
        StepKind::Transaction => ("┃", Role::Accent),
        StepKind::Gap => ("░", Role::Warning),
        StepKind::Other => ("·", Role::Quiet),
    }
}

/// The three signs at the right end, the last one first: what else is here, what it means
/// for the files, how it ended.
fn flags(step: &StepRow) -> [(&'static str, Role); 3] {
    let place = match step {
        step if step.has_problem => ("!", Role::Warning),
        step if step.has_branches => ("⑂", Role::Strong),
        _ => (" ", Role::Text),
    };
    let files = match step {
        step if step.has_outside_change => ("≠", Role::Warning),
        step if step.is_suspect => ("?", Role::Warning),
        _ => (" ", Role::Text),
    };
    [place, files, outcome_sign(step)]
}

/// How a step ended, where that is worth a sign.
pub(super) fn outcome_sign(step: &StepRow) -> (&'static str, Role) {
    match step.outcome {
        Outcome::None | Outcome::Ok => (" ", Role::Text),
        Outcome::Failed => ("✗", Role::Failed),
        Outcome::Refused => ("⊘", Role::Failed),
        Outcome::Interrupted => ("‖", Role::Failed),
        Outcome::Pending => ("…", Role::Quiet),
    }
}
