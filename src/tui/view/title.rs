//! The titles of the panes: what is shown, which for a moment may be the answer before.

use super::against::{relation_in_words, tally_in_signs};
use super::pane::spinner;
use crate::debugger::StepRow;
use crate::model::Via;
use crate::text::{SafeText, human};
use crate::tui::against::Against;
use crate::tui::app::App;
use crate::tui::job::Job;
use crate::tui::layout::Pane;
use crate::tui::panes::{StateView, View};

/// The name of a pane, and something to know of what it shows.
pub(super) struct Title {
    /// Stands on the left.
    pub(super) text: SafeText,
    /// Stands on the right.
    pub(super) note: SafeText,
}

/// What a pane is called where there is no room for more.
pub(super) const fn name(pane: Pane) -> &'static str {
    match pane {
        Pane::Timeline => "Timeline",
        Pane::State => "State",
        Pane::Diff => "Diff",
    }
}

impl Title {
    /// The title of a pane.
    pub(super) fn of(app: &App, pane: Pane) -> Self {
        let (text, mut note) = match pane {
            Pane::Timeline => of_timeline(app),
            Pane::State => of_state(app),
            Pane::Diff => of_diff(app),
        };
        if is_late(app, pane) {
            note = format!("{note} {}", spinner(app));
        }
        Self {
            text: SafeText::line(&text),
            note: SafeText::line(note.trim_start()),
        }
    }
}

fn is_late(app: &App, pane: Pane) -> bool {
    let desk = &app.desk;
    match (pane, &app.state.file) {
        (Pane::Timeline, _) => {
            let is_late = |against: &Against| against.is_late(desk);
            app.timeline.rows.is_late(desk) || app.against.as_ref().is_some_and(is_late)
        }
        (Pane::State, Some(file)) => file.open.is_late(desk),
        (Pane::State, None) => match app.state.view {
            StateView::Files => app.state.tree.is_late(desk),
            StateView::Conversation => app.state.conversation.turns.is_late(desk),
            StateView::Context => {
                app.state.context.is_late(desk) || app.state.context_run.is_late(desk)
            }
            StateView::Environment => app.state.environment.is_late(desk),
            StateView::Transaction => app.state.transaction.is_late(desk),
            StateView::Effects => app.state.effects.is_late(desk),
            StateView::Numbers => app.state.statistics.is_late(desk),
        },
        (Pane::Diff, _) => {
            app.diff.changes.is_late(desk)
                || app.diff.diff.is_late(desk)
                || app.diff.detail.is_late(desk)
                || app.diff.raw.is_late(desk)
        }
    }
}

fn of_timeline(app: &App) -> (String, String) {
    if let Some((against, alignment)) = app.rows_shown() {
        let text = format!("Both runs · {}", tally_in_signs(alignment.tally()));
        return (text, relation_in_words(against.pair()));
    }
    let branches = app
        .summary
        .get()
        .map_or(0, |summary| summary.branches.len());
    let text = match app.branch().filter(|_| branches > 1) {
        Some(branch) => format!("Timeline · {}", branch.name),
        None => "Timeline".into(),
    };
    let steps = human::plural(u64::from(app.steps()), "step", "steps");
    match app.filtered(0) {
        Some((hits, _)) => (
            text,
            format!("{} of {steps}", human::count(hits.len() as u64)),
        ),
        None => match app.timeline.folding.len() {
            0 => (text, steps),
            folded => (text, format!("{steps}, {folded} folded")),
        },
    }
}

fn of_state(app: &App) -> (String, String) {
    if let Some(file) = &app.state.file {
        let step = app.travel.spot().map_or(0, |spot| spot.step.0);
        let rows = file.file().map_or(0, |open| open.document.len());
        let top = file.first_row(app.height_of(Pane::State)) + 1;
        let note = if rows == 0 {
            String::new()
        } else {
            format!("line {top}/{rows}")
        };
        return (format!("File @{step}"), note);
    }
    let step = app.travel.spot().map_or(0, |spot| spot.step.0);
    match app.state.view {
        StateView::Files => {}
        StateView::Conversation => {
            let chosen = app.state.conversation.chosen(step);
            let note = match chosen {
                chosen if chosen == step => String::new(),
                chosen => format!("turn {chosen}"),
            };
            return (format!("Conversation @{step}"), note);
        }
        StateView::Context => return (format!("Context @{step}"), String::new()),
        StateView::Environment => return (format!("Environment @{step}"), String::new()),
        StateView::Transaction => return (format!("Transaction @{step}"), String::new()),
        StateView::Effects => return (format!("Effects @{step}"), String::new()),
        StateView::Numbers => return ("Numbers".into(), String::new()),
    }
    if let Some((Job::TreeAgainst { at, of, .. }, _)) = app.state.tree.get_with_job() {
        return (format!("State {}→{}", at.step, of.step), String::new());
    }
    let Some((Job::Tree { at, .. }, _)) = app.state.tree.get_with_job() else {
        return ("State".into(), String::new());
    };
    let since = match app.travel.base {
        Some(base) => format!("since {}", base.spot.step),
        None => String::new(),
    };
    (format!("State @{}", at.step), since)
}

fn of_diff(app: &App) -> (String, String) {
    let diff = &app.diff;
    match diff.effective_view() {
        View::Files => {
            let text = match diff.changes.get_with_job() {
                Some((Job::ChangesAgainst { at, of }, _)) => {
                    format!("Files {}→{}", at.step, of.step)
                }
                Some((Job::Changes { at, .. }, changes)) if changes.from.step == at.step => {
                    format!("Diff in {}", at.step)
                }
                Some((Job::Changes { at, .. }, changes)) => {
                    format!("Diff {}→{}", changes.from.step, at.step)
                }
                _ => "Diff".into(),
            };
            let files = diff.count_of_files();
            let note = match diff.selected_index() {
                Some(index) if files > 1 => format!("file {}/{files}", index + 1),
                _ => String::new(),
            };
            (text, note)
        }
        View::Both => {
            let text = match diff.diff.get_with_job() {
                Some((Job::StepAgainst { at, of }, _)) => format!("Step {}→{}", at.step, of.step),
                _ => "Step".into(),
            };
            (text, String::new())
        }
        View::Step => {
            let spot = app.travel.spot().filter(|spot| spot.step.0 > 0);
            let step = spot.and(diff.step());
            let text = step.map_or("Step".into(), |step| of_step(&step.detail.row));
            let rows = diff.reading().map_or(0, <[_]>::len);
            (text, scrolled(app, rows, 0))
        }
        View::Request => {
            let rows = diff.reading().map_or(0, <[_]>::len);
            ("Request".into(), scrolled(app, rows, 2))
        }
        View::Event => {
            // Before the first step there is none, whatever was shown last.
            let spot = app.travel.spot().filter(|spot| spot.step.0 > 0);
            let raw = spot.and(diff.raw.get_with_job());
            let text = match raw {
                Some((Job::Raw { seq, .. }, _)) => format!("Event {seq}"),
                _ => "Event".into(),
            };
            let rows = raw.and_then(|(_, raw)| raw.as_ref().ok());
            (text, scrolled(app, rows.map_or(0, Vec::len), 2))
        }
    }
}

/// The step and who did it; in a fork, how its answer came about.
fn of_step(row: &StepRow) -> String {
    let number = row.number;
    let mut words = format!("Step {number}");
    let label = row.via.map(Via::label);
    let said = [row.actor.as_str(), label.unwrap_or_default()];
    for said in said.into_iter().filter(|said| !said.is_empty()) {
        words.push_str(" · ");
        words.push_str(said);
    }
    words
}

/// Where in a text one is, if it is longer than the pane.
fn scrolled(app: &App, rows: usize, head: usize) -> String {
    let height = app.height_of(Pane::Diff);
    if rows + head <= height {
        return String::new();
    }
    format!(
        "line {}/{rows}",
        app.diff.first_row(height, app.diff_form()) + 1
    )
}
