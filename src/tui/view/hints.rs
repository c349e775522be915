//! Which actions are worth a hint here, in the words of the table of actions.

use crate::debugger::{HeldState, TransactionEnd};
use crate::model::{Outcome, StepKind};
use crate::text::SafeText;
use crate::tui::action::{ACTIONS, Action, ActionId, Argument};
use crate::tui::app::App;
use crate::tui::decision::Decision;
use crate::tui::exporting::{self, Exporting, Wish};
use crate::tui::fork_tree::{ForkTree, Stage};
use crate::tui::forking;
use crate::tui::keymap::Pending;
use crate::tui::layout::{Pane, Zoom};
use crate::tui::panes::{StateView, View};
use crate::tui::reading::ReadingRow;
use crate::tui::travel::Follow;

/// The hints that make sense here, keys and a word each, what matters most first; at the
/// end, that there is help.
pub(super) fn hints(app: &App) -> Vec<(SafeText, SafeText)> {
    if app.picker.is_some() && app.overlay.is_none() {
        return in_picker(app);
    }
    if let Some(decision) = app.decision.as_ref().filter(|_| app.decision_is_open()) {
        return in_decision(decision);
    }
    if app.draft().is_some() {
        return in_draft();
    }
    if let Some(forking) = app.forking.as_ref().filter(|_| app.fork_is_shown()) {
        return in_fork(&forking.stage);
    }
    if let Some(exporting) = app.exporting.as_ref().filter(|_| app.export_is_shown()) {
        return in_export(exporting);
    }
    if let Some(tree) = app.fork_tree.as_ref().filter(|_| app.fork_tree_is_shown()) {
        return in_fork_tree(app, tree);
    }
    let mut actions: Vec<&Action> = ACTIONS
        .iter()
        .filter(|action| is_hinted(app, action))
        .collect();
    actions.sort_by_key(|action| rank(app, action.id));
    let mut hints: Vec<(String, &'static str)> = Vec::new();
    for action in actions {
        let Some(key) = action.shown_keys().into_iter().next() else {
            continue;
        };
        let word = word(app, action);
        match hints.last_mut() {
            Some((keys, last)) if *last == word => {
                keys.push('/');
                keys.push_str(&key);
            }
            _ => hints.push((key, word)),
        }
    }
    let safe =
        |(keys, word): (String, &'static str)| (SafeText::line(&keys), SafeText::literal(word));
    hints.into_iter().map(safe).collect()
}

/// The hints for the list of runs.
fn in_picker(app: &App) -> Vec<(SafeText, SafeText)> {
    let close = match &app.picker {
        _ if app.opening_run.is_some() => "give up",
        Some(picker) if picker.is_filtered() => "all runs",
        _ if app.has_run => "back to the run",
        _ => "quit",
    };
    let hints: [(&[ActionId], &'static str); 5] = [
        (&[ActionId::Open], "open"),
        (&[ActionId::Down, ActionId::Up], "choose"),
        (&[ActionId::Search], "filter"),
        (&[ActionId::Close], close),
        (&[ActionId::Help], "help"),
    ];
    named(&hints)
}

/// The hints while it is asked how the transaction is to end. What matters most is not left
/// out: how to say yes, and how not to.
fn in_decision(decision: &Decision) -> Vec<(SafeText, SafeText)> {
    let yes = match decision.end {
        TransactionEnd::Commit => "commit",
        TransactionEnd::RollBack => "roll back",
    };
    let mut hints: Vec<(&[ActionId], &'static str)> = Vec::new();
    if decision.offered().is_some() {
        hints.push((&[ActionId::Confirm], yes));
    }
    if decision.shown().is_some() && decision.patch.is_none() {
        hints.push((&[ActionId::Open], "patch"));
        hints.push((&[ActionId::Down, ActionId::Up], "choose"));
    }
    let close = match (&decision.patch, decision.offered()) {
        (Some(_), _) => "all paths",
        (None, Some(_)) => "cancel",
        (None, None) => "close",
    };
    hints.push((&[ActionId::Close], close));
    named(&hints)
}

/// The hints while what a step gave is altered.
fn in_draft() -> Vec<(SafeText, SafeText)> {
    let hints = [
        ("Ctrl-s", "go on"),
        ("Esc", "cancel"),
        ("Ctrl-u", "undo"),
        ("Ctrl-o", "$EDITOR"),
    ];
    let safe = |(key, word)| (SafeText::literal(key), SafeText::literal(word));
    hints.into_iter().map(safe).collect()
}

/// The hints for the sheet about a fork.
fn in_fork(stage: &forking::Stage) -> Vec<(SafeText, SafeText)> {
    match stage {
        forking::Stage::Shown(_) => named(&[
            (&[ActionId::Confirm], "make it"),
            (&[ActionId::Close], "back to the text"),
            (&[ActionId::NextPane], "go on otherwise"),
        ]),
        forking::Stage::Failed(_) => named(&[(&[ActionId::Close], "back to the text")]),
        forking::Stage::Running(..) => named(&[(&[ActionId::Close], "break off")]),
        _ => named(&[(&[ActionId::Close], "close")]),
    }
}

/// The hints for the sheet about a test case.
fn in_export(exporting: &Exporting) -> Vec<(SafeText, SafeText)> {
    match &exporting.stage {
        exporting::Stage::Preparing(_) | exporting::Stage::Shown(_) => {
            let mut hints: Vec<(&[ActionId], &'static str)> = Vec::new();
            if exporting.is_ready() {
                let yes = if exporting.shrinks() {
                    "look for them"
                } else {
                    "write it"
                };
                hints.push((&[ActionId::Confirm], yes));
            }
            let change = match exporting.chosen {
                Wish::Directory => "another directory",
                Wish::Check => "another check",
                Wish::Uncertain => "write it or not",
                Wish::Form | Wish::Files | Wish::Budget => "change",
            };
            hints.extend([
                (&[ActionId::Open][..], change),
                (&[ActionId::Down, ActionId::Up], "choose"),
                (&[ActionId::Close], "cancel"),
            ]);
            named(&hints)
        }
        exporting::Stage::Shrinking(search) if search.is_enough => {
            named(&[(&[ActionId::Back], "give it up")])
        }
        exporting::Stage::Shrinking(_) => named(&[(&[ActionId::Back], "that is enough")]),
        exporting::Stage::Writing(..) => named(&[(&[ActionId::Back], "stop")]),
        exporting::Stage::Written(_) => named(&[
            (&[ActionId::Copy], "copy the command"),
            (&[ActionId::Close], "close"),
        ]),
        exporting::Stage::None(none) => {
            let failure = match (none.next, none.before) {
                (Some(_), _) => Some(ActionId::NextFailure),
                (None, Some(_)) => Some(ActionId::PreviousFailure),
                (None, None) => None,
            };
            let failure = failure.as_ref().map(std::slice::from_ref);
            let there = failure.map(|failure| (failure, "to the failure"));
            let is_asked = !exporting.wishes().is_empty();
            let words = match exporting.chosen {
                Wish::Check => "a check",
                _ => "another form",
            };
            let change = is_asked.then_some((&[ActionId::Open][..], words));
            let close = (&[ActionId::Close][..], "close");
            let hints = there.into_iter().chain(change).chain([close]);
            named(&hints.collect::<Vec<_>>())
        }
    }
}

/// The hints for the tree of forks.
fn in_fork_tree(app: &App, tree: &ForkTree) -> Vec<(SafeText, SafeText)> {
    let is_fork = tree.chosen_row().is_some_and(|row| row.seq.is_some());
    match tree.stage {
        _ if app.opening_run.is_some() => named(&[(&[ActionId::Close], "give up")]),
        Stage::Asked => named(&[
            (&[ActionId::Confirm], "delete it"),
            (&[ActionId::Close], "keep it"),
        ]),
        Stage::Refused(_) => named(&[(&[ActionId::Close], "back to the forks")]),
        Stage::Looking | Stage::Changing(..) => named(&[(&[ActionId::Close], "close")]),
        Stage::Listed if tree.rows.len() < 2 => named(&[(&[ActionId::Close], "close")]),
        Stage::Listed => {
            let mut hints = named(&[
                (&[ActionId::Open], "open"),
                (&[ActionId::Down, ActionId::Up], "choose"),
            ]);
            if is_fork {
                hints.extend(named(&[(&[ActionId::Against], "beside its parent")]));
                hints.push((SafeText::literal("r"), SafeText::literal("rename")));
                hints.extend(named(&[(&[ActionId::DiffFrom], "delete…")]));
            }
            hints.extend(named(&[(&[ActionId::Close], "close")]));
            hints
        }
    }
}

/// Hints for actions, each with the word that it has here.
fn named(hints: &[(&[ActionId], &'static str)]) -> Vec<(SafeText, SafeText)> {
    let hint = |(actions, word): &(&[ActionId], &'static str)| {
        let keys: Vec<String> = actions.iter().map(|id| id.key()).collect();
        (SafeText::line(&keys.join("/")), SafeText::literal(word))
    };
    hints.iter().map(hint).collect()
}

/// What is left out first where there is little room: the highest rank.
fn rank(app: &App, action: ActionId) -> u8 {
    match action {
        ActionId::Follow if app.unread.is_some() => 0,
        ActionId::StepBack
        | ActionId::StepForward
        | ActionId::NextFailure
        | ActionId::PreviousFailure
        | ActionId::NextVersion
        | ActionId::PreviousVersion
        | ActionId::NextDifference
        | ActionId::PreviousDifference
        | ActionId::Commit
        | ActionId::RollBack => 0,
        // These make sense in some places only, and it is good to know where.
        ActionId::Back
        | ActionId::Open
        | ActionId::OpenNamed
        | ActionId::NextFile
        | ActionId::PreviousFile
        | ActionId::NextView
        | ActionId::Export
        | ActionId::NextHit
        | ActionId::PreviousHit
        | ActionId::OnlyHits => 1,
        ActionId::Play
        | ActionId::NextBranch
        | ActionId::Follow
        | ActionId::Notices
        | ActionId::ForkTree => 3,
        ActionId::Close => 4,
        ActionId::Help => 5,
        _ => 2,
    }
}

fn word(app: &App, action: &Action) -> &'static str {
    match action.id {
        ActionId::Close if app.has_layer() => "close",
        ActionId::Zoom if app.zoom == Zoom::In => "all panes",
        ActionId::Play if app.play.is_on() => "stop playing",
        ActionId::DiffFromHere if app.travel.base.is_some() => "diff step by step",
        ActionId::NextStateView => app.state_view_after().name(),
        ActionId::NextBranch if app.is_at_a_file() => match &app.state.file {
            Some(file) if file.blame.is_some() => "lines alone",
            _ => "who wrote it",
        },
        ActionId::Fold if app.fold_here().is_some() => "unfold",
        ActionId::Open if app.chosen_line().is_some() => "go there",
        ActionId::Open if app.focus == Pane::State && app.state.view == StateView::Conversation => {
            let here = app.travel.spot().map_or(0, |spot| spot.step.0);
            match app.state.conversation.chosen(here) == here {
                false => "go there",
                true if app.state.conversation.is_whole(here) => "less",
                true => "whole",
            }
        }
        ActionId::Open if app.focus == Pane::State && app.state.view == StateView::Context => {
            "go there"
        }
        ActionId::OnlyHits if app.filtered(0).is_some() => "all steps",
        ActionId::Follow if app.unread.is_some() => "read on",
        ActionId::Follow if app.travel.follow != Follow::Off => "stop following",
        ActionId::Back if app.is_comparing() => "give up",
        ActionId::Back if app.is_reading() && app.search.is_none() => "stop reading",
        _ => action.hint,
    }
}

/// Whether an action can do something here that is worth a hint.
fn is_hinted(app: &App, action: &Action) -> bool {
    let is_covered = app.overlay.is_some();
    // What stands behind a count is one of these.
    if matches!(app.pending, Pending::Count(_)) && action.argument != Argument::Count {
        return action.id == ActionId::Help;
    }
    match action.id {
        _ if action.hint.is_empty() => false,
        ActionId::Close | ActionId::Help => true,
        ActionId::Back => {
            app.search.is_some()
                || app.bisecting.is_some()
                || app.travel.base.is_some()
                || app.is_reading()
                || app.is_comparing()
        }
        ActionId::Follow if app.is_reading() => false,
        _ if is_covered => false,
        _ if app.summary.get().is_none() => false,
        ActionId::Follow | ActionId::NextBranch | ActionId::Notices => is_worth(app, action),
        // Without a step there is nowhere to go and nothing to look at.
        _ => app.steps() > 0 && is_worth(app, action),
    }
}

/// Whether an action can do something in the run that is shown.
fn is_worth(app: &App, action: &Action) -> bool {
    match action.id {
        ActionId::NextFailure | ActionId::PreviousFailure => {
            app.branch().is_some_and(|branch| branch.failed > 0)
        }
        ActionId::PreviousVersion | ActionId::NextVersion => app.chosen_file().is_some(),
        ActionId::NextBranch if app.is_at_a_file() => true,
        ActionId::Commit | ActionId::RollBack => app
            .transaction()
            .is_some_and(|standing| standing.state == HeldState::Open && standing.is_within_reach),
        ActionId::Confirm => false,
        ActionId::ForkTree => {
            let is_fork = app.summary.get().is_some_and(|it| it.fork.is_some());
            is_fork || app.fork_points().is_some_and(|points| points.forks > 0)
        }
        ActionId::Fork => app.current_row().is_some_and(|row| {
            matches!(
                row.kind,
                StepKind::Model | StepKind::Tool | StepKind::Prompt
            )
        }),
        ActionId::Export => app
            .current_row()
            .is_some_and(|row| row.kind == StepKind::Tool && row.outcome == Outcome::Failed),
        ActionId::NextBranch => app
            .summary
            .get()
            .is_some_and(|summary| summary.branches.len() > 1),
        ActionId::Context => matches!(app.diff.effective_view(), View::Files | View::Both),
        ActionId::NextFile | ActionId::PreviousFile => {
            app.diff.effective_view() == View::Files && app.diff.count_of_files() > 1
        }
        ActionId::Open => match app.focus {
            Pane::Timeline => false,
            Pane::State if app.state.file.is_some() => app.chosen_line().is_some(),
            Pane::State => match app.state.view {
                StateView::Files | StateView::Conversation => true,
                StateView::Context => matches!(app.state.context_row(), Some(ReadingRow::Lead(..))),
                StateView::Environment
                | StateView::Transaction
                | StateView::Effects
                | StateView::Numbers => false,
            },
            Pane::Diff => app.diff.effective_view() == View::Files,
        },
        ActionId::NextDifference | ActionId::PreviousDifference => {
            let rows = app.rows_shown();
            rows.is_some_and(|(_, alignment)| alignment.differences() > 0)
        }
        ActionId::Against => app.against.is_some(),
        ActionId::DiffFromHere => app.against.is_none(),
        ActionId::NextView => app.focus == Pane::Diff,
        ActionId::NextStateView => app.focus == Pane::State,
        ActionId::Fold | ActionId::FoldAll => {
            app.focus == Pane::Timeline
                && app
                    .timeline
                    .agents
                    .get()
                    .is_some_and(|agents| !agents.is_empty())
        }
        ActionId::OpenNamed => {
            app.state.file.is_none()
                && app
                    .current_row()
                    .is_some_and(|row| row.kind == StepKind::Tool)
        }
        ActionId::NextHit | ActionId::PreviousHit | ActionId::OnlyHits => app.search.is_some(),
        ActionId::Notices => app
            .summary
            .get()
            .is_some_and(|summary| summary.problems > 0 || !summary.notices.is_empty()),
        _ => true,
    }
}
