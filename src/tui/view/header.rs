//! The first row: which run this is, and where in it the playhead stands.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::against::names;
use super::pane::Line;
use super::pen::Pen;
use crate::debugger::HeldState;
use crate::text::{SafeText, human, width};
use crate::tui::app::App;
use crate::tui::command::Stage;
use crate::tui::theme::Role;
use crate::tui::travel::Follow;

/// Columns between two facts.
const GAP: usize = 3;

/// From this many columns on, a sign is told in words.
const ROOMY: u16 = 80;

/// Draws the row. Where it is too narrow, what matters least is left out whole; only the
/// name of the run is shortened.
pub(super) fn draw(app: &App, row: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, row, app.theme);
    pen.gap(1);
    pen.right_gap(1);
    let Some(summary) = app.summary.get() else {
        pen.words("jukebox", Role::Strong);
        return;
    };
    let mut place = place(app);
    while place.len() > 1 && columns(&place) > pen.left() / 2 {
        place.pop();
    }
    place.sort_by_key(|(order, _)| *order);
    for (_, (text, role)) in place.iter().rev() {
        pen.right(text, *role);
        pen.right_gap(GAP);
    }
    let mut facts = facts(app);
    let names = match &app.against {
        Some(against) => names(&summary.name, against, pen.left()),
        None => summary.name.clone(),
    };
    while !facts.is_empty() && width::width(&names) + columns(&facts) > pen.left() {
        facts.pop();
    }
    facts.sort_by_key(|(order, _)| *order);
    pen.text(&names, Role::Strong);
    for (_, (text, role)) in &facts {
        pen.gap(GAP);
        pen.text(text, *role);
    }
}

/// A fact, and where it stands among the others. Facts are listed by what matters most.
type Fact = (u8, Line);

fn columns(facts: &[Fact]) -> usize {
    let columns = |(_, (text, _)): &Fact| width::width(text) + GAP;
    facts.iter().map(columns).sum()
}

/// What is said of the run.
fn facts(app: &App) -> Vec<Fact> {
    let Some(summary) = app.summary.get() else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    let mut say = |order, text: String, role| facts.push((order, (SafeText::line(&text), role)));
    match app.command.as_ref().map(|command| &command.stage) {
        Some(Stage::Running) => say(5, "▶ command runs".into(), Role::Live),
        Some(Stage::Ending) => say(5, "▶ command is ending".into(), Role::Warning),
        Some(Stage::Over(end)) => {
            let role = if end.is_well {
                Role::Added
            } else {
                Role::Failed
            };
            say(5, format!("■ {}", end.fact), role);
        }
        None => {}
    }
    match app.transaction().map(|standing| standing.state) {
        Some(HeldState::Open) if app.size.width < ROOMY => say(4, "▎ open".into(), Role::Live),
        Some(HeldState::Open) => say(4, "▎ transaction open".into(), Role::Live),
        Some(HeldState::Committing) => say(4, "▎ committing".into(), Role::Live),
        Some(HeldState::Abandoned) => say(4, "▎ abandoned".into(), Role::Warning),
        Some(HeldState::CutOff) => say(4, "▎ commit cut off".into(), Role::Warning),
        Some(HeldState::Unclear) => say(4, "▎ commit unclear".into(), Role::Warning),
        Some(HeldState::Committed(_)) | None => {}
    }
    if summary.problems > 0 {
        let problems = human::plural(summary.problems as u64, "problem", "problems");
        say(3, format!("! {problems}"), Role::Warning);
    } else if !summary.notices.is_empty() {
        let notices = human::plural(summary.notices.len() as u64, "notice", "notices");
        say(3, format!("! {notices}"), Role::Warning);
    }
    let failed = app.branch().map_or(0, |branch| branch.failed);
    if failed > 0 {
        say(2, format!("✗ {failed} failed"), Role::Failed);
    }
    let others = summary.branches.len().saturating_sub(1);
    if let Some(branch) = app.branch().filter(|_| others > 0) {
        let others = human::plural(others as u64, "other branch", "other branches");
        say(1, format!("⑂ {}, {others}", branch.name), Role::Text);
    }
    let forks = app.fork_points().map_or(0, |points| points.forks);
    if forks > 0 {
        let forks = human::plural(forks as u64, "fork", "forks");
        say(1, format!("⑂ {forks}"), Role::Strong);
    }
    if let Some(fork) = &summary.fork {
        let at = fork
            .step
            .map_or_else(String::new, |step| format!("@{step}"));
        say(1, format!("fork of {}{at}", fork.parent), Role::Accent);
    }
    if !summary.agent.is_empty() {
        say(0, summary.agent.to_string(), Role::Quiet);
    }
    facts
}

/// Where the playhead stands: the step, whether the run is followed, the time.
fn place(app: &App) -> Vec<Fact> {
    let Some(spot) = app.travel.spot() else {
        return Vec::new();
    };
    let mut place = Vec::new();
    let mut say = |order, text: String, role| place.push((order, (SafeText::line(&text), role)));
    let inside = if app.travel.is_inside { "inside " } else { "" };
    let mut step = format!("{inside}step {}/{}", spot.step, app.steps());
    if let Some((against, alignment)) = app.rows_shown() {
        let (_, right) = alignment.steps_at(against.row);
        step = format!("{step} → {right}/{}", alignment.steps().1);
    }
    say(0, step, Role::Accent);
    if app.play.is_on() {
        say(3, format!("▶ {}", app.play.speed()), Role::Live);
    }
    // What takes no time is not worth a word.
    if let Some(opening) = app.unread.as_ref().filter(|opening| opening.has_begun()) {
        let role = if opening.is_running() {
            Role::Live
        } else {
            Role::Warning
        };
        say(2, opening.describe(), role);
    }
    match app.travel.follow {
        _ if app.unread.is_some() => {}
        Follow::Off => {}
        _ if app.file.is_gone => say(2, "○ gone".into(), Role::Warning),
        Follow::Sticking => say(2, "● live".into(), Role::Live),
        Follow::Behind(steps) => match app.steps().saturating_sub(steps) {
            0 => say(2, "○ live".into(), Role::Warning),
            new => say(2, format!("○ {new} new"), Role::Warning),
        },
    }
    if let Some(row) = app.current_row() {
        let clock = human::clock(Duration::from_micros(row.t));
        say(1, clock, Role::Text);
    }
    place
}
