//! The rows of the timeline that are in view.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::note;
use super::pane::Line;
use super::pen::Pen;
use super::selection;
use crate::debugger::{StepRow, TransactionEdge, TransactionMark};
use crate::model::{Outcome, StepKind};
use crate::text::{Align, SafeText, human, width};
use crate::tui::app::App;
use crate::tui::folding::Fold;
use crate::tui::job::Stop;
use crate::tui::layout::Pane;
use crate::tui::theme::Role;

/// From this many columns, names of tools stand in a column of their own, and signs in theirs.
const ALIGNED: u16 = 46;
/// Up to this many columns, no column is left free that could be spared.
const NARROW: u16 = 33;
/// From this many columns, rows say how long a step took, whatever its title.
const WIDE: u16 = 76;
/// From this many columns, rows say when a step began, whatever its title.
const VERY_WIDE: u16 = 100;

/// Columns of how long a step took, with the one that is free behind it.
const DURATION: usize = 6;

/// Columns of the signs at the end of a row, with the one that is free before them.
const SIGNS: usize = 4;

/// Columns of the name of a tool, in a row that is narrow and in one that is wide.
const ACTOR: (usize, usize) = (8, 10);

/// Columns of the name of a branch at most.
const BRANCH: usize = 16;

/// Columns of a title that no name of a branch takes away.
const LEAST_TITLE: usize = 16;

/// Columns of a title that no label of an answer takes away.
const LEAST_LABELLED: usize = 4;

/// Draws the rows around the playhead.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let Some(Stop { branch, .. }) = app.travel.stop else {
        return;
    };
    let steps = app.steps();
    let digits = steps.to_string().len().max(2);
    let here = app.listed_step();
    for (row, number) in area.rows().zip(app.listed_steps(area.height)) {
        let is_selected = here == Some(number);
        let selection = selection(app, Pane::Timeline, is_selected);
        let mut pen = Pen::new(buffer, row, app.theme).selected(selection);
        let step = app.timeline.row(branch, number);
        let (bracket, role) = step.map_or((" ", Role::Quiet), bracket);
        pen.words(bracket, role);
        pen.words(if is_selected { "▸" } else { " " }, Role::Accent);
        pen.number(Some(u64::from(number)), digits);
        pen.gap(if area.width > NARROW { 2 } else { 1 });
        match (app.fold_at(number), step) {
            (Some(fold), _) => draw_fold(app, fold, step, &mut pen),
            (None, Some(step)) => draw_step(app, step, area.width, &mut pen),
            (None, None) if number == 0 => pen.words("· the start of the run", Role::Quiet),
            (None, None) => pen.words("…", Role::Quiet),
        }
        pen.finish();
    }
}

/// Draws a folded sub-agent: how much it did, and what of that is worth unfolding it.
fn draw_fold(app: &App, fold: &Fold, step: Option<&StepRow>, pen: &mut Pen<'_>) {
    // Where in it the playhead stands, if not where the row does.
    let here = app.travel.spot().map_or(0, |spot| spot.step.0);
    if app.listed_step() == Some(fold.first) && here != fold.first {
        pen.right(&SafeText::line(&format!(" @{here}")), Role::Accent);
    }
    let duration = Duration::from_micros(fold.duration);
    let depth = step.map_or(1, |step| usize::from(step.depth.clamp(1, 8)));
    for _ in 1..depth {
        pen.words("╎ ", Role::Quiet);
    }
    pen.words("▹ ", Role::Accent);
    let columns =
        |pieces: &[Line]| -> usize { pieces.iter().map(|(text, _)| width::width(text)).sum() };
    let mut pieces = in_words(fold);
    if columns(&pieces) > pen.left() {
        pieces = in_numbers(fold);
    }
    for (text, role) in &pieces {
        pen.text(text, *role);
    }
    let duration = SafeText::line(&human::duration(duration));
    if fold.duration >= 1000 && pen.left() > width::width(&duration) {
        pen.right(&duration, Role::Quiet);
    }
}

/// `agent explore · 14 steps · ✗ 1 failed · • 3 hits`.
fn in_words(fold: &Fold) -> Vec<Line> {
    let steps = human::plural(u64::from(fold.steps), "step", "steps");
    let failed = format!(" · ✗ {} failed", fold.failed);
    let hits = human::plural(fold.hits as u64, "hit", "hits");
    let name = format!("agent {} · {steps}", fold.name);
    pieces(fold, [name, failed, format!(" · • {hits}")])
}

/// `explore 14 · ✗ 1 · • 3`.
fn in_numbers(fold: &Fold) -> Vec<Line> {
    let name = format!("{} {}", fold.name, fold.steps);
    let failed = format!(" · ✗ {}", fold.failed);
    pieces(fold, [name, failed, format!(" · • {}", fold.hits)])
}

/// What there is to say, of its name and its steps, its failures, its hits.
fn pieces(fold: &Fold, [name, failed, hits]: [String; 3]) -> Vec<Line> {
    let all = [
        (true, name, Role::Strong),
        (fold.failed > 0, failed, Role::Failed),
        (fold.hits > 0, hits, Role::Key),
    ];
    let said = all.into_iter().filter(|(is_said, ..)| *is_said);
    said.map(|(_, text, role)| (SafeText::line(&text), role))
        .collect()
}

/// The edge of a transaction; dotted where it was rolled back, a bar where it is open.
fn bracket(step: &StepRow) -> (&'static str, Role) {
    let Some(mark) = step.transaction else {
        return (" ", Role::Quiet);
    };
    let sign = match mark.edge {
        TransactionEdge::Begin => "╭",
        TransactionEdge::Inside if mark.is_open => "▎",
        TransactionEdge::Inside if mark.is_rolled_back => "┊",
        TransactionEdge::Inside => "│",
        TransactionEdge::End => "╰",
    };
    let role = match (mark.is_open, mark.is_rolled_back) {
        (true, _) => Role::Live,
        (false, true) => Role::Quiet,
        (false, false) => Role::Accent,
    };
    (sign, role)
}

fn draw_step(app: &App, step: &StepRow, columns: u16, pen: &mut Pen<'_>) {
    let is_aligned = columns >= ALIGNED;
    let is_undone = step.transaction.is_some_and(|mark| mark.is_rolled_back);
    let unless_undone = |role| if is_undone { Role::Quiet } else { role };
    let title = title_of(step);
    let depth = usize::from(step.depth.min(8));
    let actor = actor_of(step, is_aligned);
    let actor_columns = match columns {
        VERY_WIDE.. => ACTOR.1,
        ALIGNED.. => ACTOR.0,
        // Where there is little room, a name takes no more than it needs.
        _ => width::width(&actor),
    };
    // The steps of sub-agents give up columns of the name for their indent.
    let actor_columns = if is_aligned {
        actor_columns.saturating_sub(2 * depth).max(4)
    } else {
        actor_columns
    };
    let notes = notes(app, step);
    let before = 2 * depth + 2 + actor_columns + usize::from(actor_columns > 0);
    let wanted = before + width::width(&title);
    // Times give way to what was done.
    let duration = step.duration.map(Duration::from_micros);
    let duration = duration.filter(|time| time.as_millis() > 0);
    let has_room = |left: usize| left > wanted + DURATION;
    let has_times = columns >= VERY_WIDE
        || duration.is_some()
            && (columns >= WIDE || is_aligned && has_room(pen.left().saturating_sub(SIGNS)));
    let signs = flags(app, step);
    // Where nothing stands left of them that they would push out of its column, only those
    // that say something take room.
    let said = signs.iter().rposition(|(sign, _)| *sign != " ");
    let said = if has_times {
        signs.len()
    } else {
        said.map_or(0, |last| last + 1)
    };
    for (sign, role) in signs.into_iter().take(said) {
        // The names of branches say it, too.
        let has_forks = app.forks_in((step.number.0, step.number.0)) > 0;
        let is_said = sign == "⑂" && !has_forks && notes.iter().any(names_a_branch);
        let sign = if is_said { " " } else { sign };
        if is_aligned || sign != " " {
            pen.right(&SafeText::literal(sign), role);
        }
    }
    let is_noted = |stop: Stop| app.note(stop.branch, step.number.0).is_some();
    if app.travel.stop.is_some_and(is_noted) {
        pen.right(&SafeText::literal(note::SIGN), Role::Person);
    }
    pen.right_gap(1);
    if let Some(via) = step.via {
        // How an answer came about matters more than all of its title.
        let label = SafeText::literal(via.label());
        if pen.left() > before + LEAST_LABELLED + width::width(&label) {
            pen.right(&label, Role::Strong);
            pen.right_gap(1);
        }
    }
    for note in notes {
        let note = width::fit(&note, BRANCH);
        let room = wanted.min(before + LEAST_TITLE);
        if pen.left() > room + width::width(&note) {
            pen.right(&note, Role::Strong);
            pen.right_gap(1);
        }
    }
    if has_times && (columns >= WIDE || has_room(pen.left())) {
        let duration = duration.map(human::duration).unwrap_or_default();
        pen.right(&right_aligned(&duration, DURATION - 1), Role::Quiet);
        pen.right_gap(1);
    }
    if columns >= VERY_WIDE {
        let clock = human::clock(Duration::from_micros(step.t));
        pen.right(&right_aligned(&clock, 7), Role::Quiet);
        pen.right_gap(1);
    }
    for level in 1..=depth {
        let opens = level == depth && app.timeline.folding.opens_at(step.number.0);
        pen.words(if opens { "▾ " } else { "╎ " }, Role::Quiet);
    }
    let (sign, role) = kind_sign(step);
    pen.words(sign, unless_undone(role));
    pen.gap(1);
    let role = match step.kind {
        StepKind::Prompt => Role::Person,
        StepKind::Model => Role::Model,
        _ => Role::Strong,
    };
    if actor_columns > 0 {
        pen.column(&actor, actor_columns, Align::Left, unless_undone(role));
        pen.gap(1);
    }
    let role = match step.kind {
        StepKind::Outside | StepKind::Gap => Role::Warning,
        StepKind::Other => Role::Quiet,
        _ => Role::Text,
    };
    let is_path = step.kind == StepKind::Tool && !title.as_str().contains(' ');
    if is_path {
        // Of a path, the end says most.
        pen.text(&width::fit_middle(&title, pen.left()), unless_undone(role));
    } else {
        pen.text(&title, unless_undone(role));
    }
}

/// Who did it, where the sign before it does not say enough.
fn actor_of(step: &StepRow, is_aligned: bool) -> SafeText {
    match step.kind {
        // A model's name is long, and the same in most rows; the step itself says it.
        StepKind::Model if is_aligned => SafeText::literal("model"),
        StepKind::Prompt | StepKind::Tool if is_aligned => step.actor.clone(),
        StepKind::Tool if !step.is_suspect => step.actor.clone(),
        StepKind::Prompt | StepKind::Model | StepKind::Tool => SafeText::default(),
        _ if is_aligned => step.actor.clone(),
        _ => SafeText::default(),
    }
}

/// What has become of a transaction that the tape leaves open.
fn open_transaction(app: &App) -> SafeText {
    let standing = app.transaction();
    SafeText::literal(standing.map_or("open", |standing| standing.state.as_str()))
}

/// Whether a note is one of those that name branches.
fn names_a_branch(note: &SafeText) -> bool {
    note.as_str().starts_with(['⑂', '↶'])
}

/// What a row says at its end, where there is room: the forks and the branches that leave here,
/// the one that was left, and that what begins here was undone or is open.
fn notes(app: &App, step: &StepRow) -> Vec<SafeText> {
    let mut notes = Vec::new();
    let forks = app.forks_in((step.number.0, step.number.0));
    if forks > 0 {
        let forks = human::plural(u64::from(forks), "fork", "forks");
        notes.push(SafeText::line(&forks));
    }
    let begins = |mark: &TransactionMark| mark.edge == TransactionEdge::Begin;
    match step.transaction.filter(begins) {
        Some(mark) if mark.is_rolled_back => notes.push(SafeText::literal("rolled back")),
        Some(mark) if mark.is_open => notes.push(open_transaction(app)),
        _ => {}
    }
    let (Some(branch), Some(summary)) = (app.branch(), app.summary.get()) else {
        return notes;
    };
    if app.timeline.departures.is_empty() {
        return notes;
    }
    let named = |id: u16| {
        let index = summary.branches.binary_search_by_key(&id, |row| row.id);
        summary.branches.get(index.ok()?)
    };
    // The branch that the step is numbered on, up from the one that is shown.
    let mut owner = branch;
    while let Some((parent, shared)) = owner.parent
        && step.number <= shared
        && let Some(parent) = named(parent)
    {
        if step.number == shared {
            notes.push(SafeText::line(&format!("↶ {}", parent.name)));
        }
        owner = parent;
    }
    let leaving = app.timeline.departures.get(&(owner.id, step.number.0));
    let leaving = leaving.into_iter().flatten().filter(|id| **id != branch.id);
    let names: Vec<&str> = leaving
        .take(MAX_NAMED)
        .filter_map(|id| Some(named(*id)?.name.as_str()))
        .collect();
    if !names.is_empty() {
        notes.push(SafeText::line(&format!("⑂ {}", names.join(" "))));
    }
    notes
}

/// Branches that a row names.
const MAX_NAMED: usize = 4;

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
fn flags(app: &App, step: &StepRow) -> [(&'static str, Role); 3] {
    let has_forks = app.forks_in((step.number.0, step.number.0)) > 0;
    let place = match step {
        step if step.has_problem => ("!", Role::Warning),
        step if step.has_hidden => ("◌", Role::Warning),
        step if step.has_branches || has_forks => ("⑂", Role::Strong),
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
