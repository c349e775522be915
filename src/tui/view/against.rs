//! Two runs side by side: a row for each step that both have, a gap where one has none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::pen::{Pen, Selection};
use super::selection;
use super::timeline::{kind_sign, outcome_sign, title_of};
use crate::debugger::{Alignment, Pair, Relation, StepRow, Tally};
use crate::model::{ChangeKind, StepKind, StepNumber, Via};
use crate::text::{Align, SafeText, width};
use crate::tui::against::Against;
use crate::tui::app::App;
use crate::tui::job::Stop;
use crate::tui::layout::Pane;
use crate::tui::theme::Role;

/// Columns between the two sides.
const MIDDLE: u16 = 3;

/// From this many columns of a side on, names of tools have more room.
const WIDE: u16 = 44;

/// Columns of the name of a tool, in a side that is narrow and in one that is wide.
const ACTOR: (usize, usize) = (5, 8);

/// The sign between two steps that stand in a relation.
pub(super) const fn relation_sign(relation: Relation) -> (&'static str, Role) {
    match relation {
        Relation::Same => (" ", Role::Text),
        Relation::Changed(_) => ("≠", Role::Warning),
        Relation::OnlyLeft => ("−", Role::Removed),
        Relation::OnlyRight => ("+", Role::Added),
    }
}

/// The sign of a path that differs between the trees of two runs.
pub(super) const fn path_sign(change: ChangeKind) -> (&'static str, Role) {
    match change {
        ChangeKind::Added => ("+", Role::Added),
        ChangeKind::Removed => ("−", Role::Removed),
        ChangeKind::Modified => ("≠", Role::Warning),
        ChangeKind::Suspected => ("?", Role::Warning),
    }
}

/// Draws the rows around the playhead. Returns whether there are any yet.
pub(super) fn draw_rows(app: &App, area: Rect, buffer: &mut Buffer) -> bool {
    let (Some((against, alignment)), Some(Stop { branch, .. })) =
        (app.rows_shown(), app.travel.stop)
    else {
        return false;
    };
    let side = area.width.saturating_sub(MIDDLE) / 2;
    let (left, right) = alignment.steps();
    let digits = left.max(right).to_string().len().max(2);
    for (line, row) in area.rows().zip(against.view(area.height)) {
        let selection = selection(app, Pane::Timeline, row == against.row);
        let pair = alignment.pair(row);
        let [before, between, after] = parts(line, side);
        let start = if pair.is_some() { before } else { line };
        let mut start = Pen::new(buffer, start, app.theme).selected(selection);
        let sign = if row == against.row { "▸" } else { " " };
        start.words(sign, Role::Accent);
        let Some(pair) = pair else {
            start.number(Some(0), digits);
            start.words("  · the start of both runs", Role::Quiet);
            start.finish();
            continue;
        };
        let step = |step: StepNumber| app.timeline.row(branch, step.0);
        draw_side(
            pair.left,
            pair.left.and_then(step),
            Tone::Full,
            digits,
            start,
        );
        let mut middle = Pen::new(buffer, between, app.theme).selected(selection);
        let (sign, role) = relation_sign(pair.relation);
        middle.gap(1);
        middle.words(sign, role);
        middle.finish();
        let end = Pen::new(buffer, after, app.theme).selected(selection);
        let step = pair.right.and_then(|step| against.step(step));
        // What is the same is read on the left.
        let tone = match (pair.relation, selection) {
            (Relation::Same, Selection::None) => Tone::Faint,
            _ => Tone::Full,
        };
        draw_side(pair.right, step, tone, digits, end);
    }
    true
}

/// The two sides of a row, and what stands between them.
fn parts(row: Rect, side: u16) -> [Rect; 3] {
    let part = |x, width| Rect { x, width, ..row };
    let middle = MIDDLE.min(row.width - side);
    [
        part(row.x, side),
        part(row.x + side, middle),
        part(row.x + side + middle, row.width - side - middle),
    ]
}

/// How much a side stands out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tone {
    Full,
    Faint,
}

fn draw_side(
    number: Option<StepNumber>,
    step: Option<&StepRow>,
    tone: Tone,
    digits: usize,
    mut pen: Pen<'_>,
) {
    let is_wide = pen.left() >= usize::from(WIDE);
    let role = |role| match tone {
        Tone::Full => role,
        Tone::Faint => Role::Quiet,
    };
    pen.number(number.map(|number| u64::from(number.0)), digits);
    pen.gap(1 + usize::from(is_wide));
    match step {
        Some(step) => {
            let (sign, sign_role) = outcome_sign(step);
            pen.right(&SafeText::literal(sign), sign_role);
            let (sign, sign_role) = kind_sign(step);
            pen.words(sign, role(sign_role));
            pen.gap(1);
            let (actor, actor_role) = match step.kind {
                StepKind::Model => (SafeText::literal("model"), Role::Model),
                StepKind::Prompt => (step.actor.clone(), Role::Person),
                _ => (step.actor.clone(), Role::Strong),
            };
            let columns = if is_wide { ACTOR.1 } else { ACTOR.0 };
            pen.column(&actor, columns, Align::Left, role(actor_role));
            pen.gap(1);
            if let Some(via) = step.via {
                let label_role = match via {
                    Via::Unknown | Via::Stale => Role::Warning,
                    Via::Edit => Role::Accent,
                    _ => Role::Quiet,
                };
                pen.words(via.label(), label_role);
                pen.gap(1);
            }
            pen.text(&title_of(step), role(Role::Text));
        }
        None if number.is_some() => pen.words("…", Role::Quiet),
        None => {}
    }
    pen.finish();
}

/// Draws both runs in one row: where they are the same, where they differ, where one has no
/// counterpart. Returns whether there is anything to draw yet.
pub(super) fn draw_strip(app: &App, row: Rect, buffer: &mut Buffer) -> bool {
    let Some((against, alignment)) = app.rows_shown() else {
        return false;
    };
    let mut pen = Pen::new(buffer, row, app.theme);
    let columns = stretches(alignment, row.width);
    for stretch in columns.chunk_by(|left, right| left == right) {
        let middle = stretch.len() / 2;
        let holds = |rows: &std::ops::Range<u32>| rows.contains(&against.row.max(1));
        for (column, rows) in stretch.iter().enumerate() {
            let (sign, role) = if column == middle && holds(rows) {
                ("┃", Role::Accent)
            } else {
                strip_sign(alignment.tally_of(rows.clone()))
            };
            pen.words(sign, role);
        }
    }
    true
}

/// The rows of each column of a strip.
pub(in crate::tui) fn stretches(alignment: &Alignment, columns: u16) -> Vec<std::ops::Range<u32>> {
    let (rows, columns) = (u64::from(alignment.rows()), u64::from(columns));
    let cell = |column: u64| {
        let first = (rows * column / columns.max(1)) as u32 + 1;
        let end = (rows * (column + 1) / columns.max(1)) as u32 + 1;
        first..end.max(first + 1)
    };
    (0..columns.min(columns * rows)).map(cell).collect()
}

/// The upper half of a column is the left run, the lower one the right.
fn strip_sign(tally: Tally) -> (&'static str, Role) {
    let only = (tally.only_left > 0, tally.only_right > 0);
    match (tally.changed > 0, only) {
        (true, _) | (false, (true, true)) => ("═", Role::Warning),
        (false, (true, false)) => ("▀", Role::Removed),
        (false, (false, true)) => ("▄", Role::Added),
        (false, (false, false)) => ("─", Role::Quiet),
    }
}

/// The names of both runs, the one on the left first.
pub(super) fn names(left: &SafeText, against: &Against, columns: usize) -> SafeText {
    let right = against.summary.get();
    let right = right.map_or(SafeText::literal("…"), |summary| summary.name.clone());
    let each = columns.saturating_sub(3) / 2;
    let rest = columns.saturating_sub(3 + width::width(&right).min(each));
    let mut names = width::fit_middle(left, rest);
    names.push(&SafeText::literal(" → "));
    let rest = columns.saturating_sub(width::width(&names));
    names.push(&width::fit_middle(&right, rest));
    names
}

/// How many rows differ, by their signs.
pub(super) fn tally_in_signs(tally: Tally) -> String {
    let counts = [
        ("≠", tally.changed),
        ("−", tally.only_left),
        ("+", tally.only_right),
    ];
    let told = counts.into_iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = told
        .map(|(sign, count)| format!("{count} {sign}"))
        .collect();
    if words.is_empty() {
        return "all the same".to_owned();
    }
    words.join("  ")
}

/// How the two steps of the playhead's row stand to each other, in words.
pub(super) fn relation_in_words(pair: Option<Pair>) -> String {
    match pair.map(|pair| pair.relation) {
        None => String::new(),
        Some(Relation::Same) => "the same".to_owned(),
        Some(Relation::Changed(parts)) => format!("≠ {parts}"),
        Some(Relation::OnlyLeft) => "− only left".to_owned(),
        Some(Relation::OnlyRight) => "+ only right".to_owned(),
    }
}
