//! `jukebox log`: a line per step.

use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{BranchRow, Debugger, StepRow, TransactionEdge};
use crate::model::{Outcome, Problem, StepKind, TapePath, Via};
use crate::text::{Align, SafeText, human, width};

/// Steps that are made at a time.
const PAGE: u32 = 1000;
/// Columns of the tool's or role's name.
const ACTOR: usize = 10;

/// List the steps of a run, one a line
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// All branches, each from where it leaves its parent
    #[arg(long, conflicts_with = "branch")]
    all: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The steps up to the place are listed. Before the title: $ tool, › prompt, ◆ model, ≠ outside
change, ┃ transaction, ░ gap; ✗ failed, ⊘ refused, ‖ interrupted, … pending. Behind it: of a fork's
own steps, where the answer came from (edited, recorded, re-run, scripted, live, stale, not known);
how long it took, the files it changed, and ¶ where a note was written to it.

JSON, one step a line: step (its number on the branch), seq (of the event that opened it), kind
(prompt, model, tool, outside, transaction, gap, other), title, outcome (ok, failed, refused,
interrupted, pending, none), agent (of a sub-agent, or null), branch, files (paths changed),
problems (line, offset, kind, message of each), tool (or role, model, or null), t (microseconds
since the run began), duration (microseconds or null), depth (of the sub-agent), suspect (files
may have been written unseen), outside (an outside change), branches (branches leave here),
transaction (edge: begin, inside, end; rolled_back; or null), via (of a fork's own step: edit,
recorded, rerun, script, live, stale, unknown; or null), note (as it was typed, or null).
Titles are made safe to show.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        if self.all && self.place.names_a_place() {
            return Err(Failure::unusable(
                "--all lists every branch to its end; leave out the place, or --all",
            ));
        }
        let Looked { run, spot, .. } = self.place.open(around)?;
        let summary = run.summary();
        let line = run.line_of(spot);
        let is_wanted = |branch: &&BranchRow| self.all || branch.id == line;
        for branch in summary.branches.iter().filter(is_wanted) {
            // A branch listed beside its parent does not list what they share again.
            let first = match branch.parent {
                Some((_, shared)) if self.all => shared.0 + 1,
                _ => 1,
            };
            let last = if self.all { branch.steps } else { spot.step.0 };
            let has_title = self.all && summary.branches.len() > 1 && !self.json;
            if has_title {
                out.line(Style::Strong, &title_of_branch(branch, &summary.branches))?;
            }
            self.list(&run, branch, first..last + 1, around, out)?;
        }
        Ok(Answer::Yes)
    }

    fn list(
        &self,
        run: &Debugger,
        branch: &BranchRow,
        steps: Range<u32>,
        around: &Environment,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let digits = branch.steps.to_string().len().max(3);
        let columns = out.has_terminal().then_some(around.columns);
        let problems = run.problems_by_step(branch.id);
        let notes = run.notes();
        let mut from = steps.start;
        while from < steps.end {
            let page = from..from.saturating_add(PAGE).min(steps.end);
            for row in run.timeline(branch.id, page) {
                let files = run.paths_changed(branch.id, row.number);
                let home = run.home_of(branch.id, row.number);
                let note = notes.get(&(home, row.number)).map(String::as_str);
                if self.json {
                    let problems = problems.get(&row.number).map_or(&[][..], Vec::as_slice);
                    out.json(&object(&row, branch, &files, problems, note))?;
                } else {
                    let [left, title, right] = cells(&row, &files, note.is_some(), digits);
                    let title = fit(&left, title, &right, columns);
                    let style = style(&row);
                    out.spans(&[
                        (Style::Faint, &left),
                        (style, &title),
                        (Style::Faint, &right),
                    ])?;
                }
            }
            from = from.saturating_add(PAGE);
        }
        Ok(())
    }
}

fn title_of_branch(branch: &BranchRow, all: &[BranchRow]) -> SafeText {
    let mut title = SafeText::literal("branch ");
    title.push(&branch.name);
    if let Some((parent, shared)) = branch.parent {
        let parent = all.iter().find(|row| row.id == parent);
        title.push(&SafeText::line(&format!(
            ", leaves {} after step {shared}",
            parent.map_or("its parent", |parent| parent.name.as_str())
        )));
    }
    title
}

/// A step as JSON. `show` prints the same, and more.
pub(super) fn object(
    row: &StepRow,
    branch: &BranchRow,
    files: &[TapePath],
    problems: &[Problem],
    note: Option<&str>,
) -> Value {
    let transaction = row.transaction.map(|mark| {
        let edge = match mark.edge {
            TransactionEdge::Begin => "begin",
            TransactionEdge::Inside => "inside",
            TransactionEdge::End => "end",
        };
        json!({ "edge": edge, "rolled_back": mark.is_rolled_back })
    });
    json!({
        "step": row.number.0,
        "seq": row.seq.0,
        "kind": row.kind.as_str(),
        "title": row.title.as_str(),
        "outcome": row.outcome.as_str(),
        "agent": row.agent.as_ref().map(SafeText::as_str),
        "branch": branch.name.as_str(),
        "files": files.iter().map(TapePath::to_text).collect::<Vec<_>>(),
        "problems": problems.iter().map(fields::problem).collect::<Vec<_>>(),
        "tool": fields::words(&row.actor),
        "t": row.t,
        "duration": row.duration,
        "depth": row.depth,
        "suspect": row.is_suspect,
        "outside": row.has_outside_change,
        "branches": row.has_branches,
        "transaction": transaction,
        "via": row.via.map(Via::as_str),
        "note": note,
    })
}

/// What stands before the title, the title, and what stands behind it.
fn cells(row: &StepRow, files: &[TapePath], has_note: bool, digits: usize) -> [SafeText; 3] {
    let clock = human::clock(Duration::from_micros(row.t));
    let mut left = SafeText::line(&format!(
        "{:>digits$}  {clock}  {}{} ",
        row.number.0,
        "  ".repeat(usize::from(row.depth)),
        row.kind.sign(),
    ));
    left.push(&width::pad(&row.actor, ACTOR, Align::Left));
    left.push(&SafeText::line(&format!(" {} ", row.outcome.sign())));

    let mut notes = Vec::new();
    notes.extend(row.via.map(|via| via.label().to_owned()));
    if let Some(duration) = row.duration.filter(|duration| *duration > 0) {
        notes.push(human::duration(Duration::from_micros(duration)));
    }
    match files {
        [] => {}
        [one] => notes.push(one.to_text()),
        [one, rest @ ..] => notes.push(format!("{} +{}", one.to_text(), rest.len())),
    }
    let signs = [
        (row.is_suspect, "? files uncertain from here"),
        (
            row.has_outside_change && row.kind != StepKind::Outside,
            "≠ outside change",
        ),
        (row.has_branches, "⑂ a branch leaves"),
        (row.has_problem, "! a damaged line"),
        (has_note, "¶ a note"),
    ];
    notes.extend(
        signs
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, note)| (*note).to_owned()),
    );
    if row.transaction.is_some_and(|mark| mark.is_rolled_back) {
        notes.push("rolled back".to_owned());
    }
    let right = if notes.is_empty() {
        SafeText::default()
    } else {
        SafeText::line(&format!("  [{}]", notes.join(", ")))
    };
    [left, row.title.clone(), right]
}

/// The title in what the other two leave of the terminal; whole where there is none.
fn fit(left: &SafeText, title: SafeText, right: &SafeText, columns: Option<usize>) -> SafeText {
    let Some(columns) = columns else { return title };
    let taken = width::width(left) + width::width(right);
    width::fit(&title, columns.saturating_sub(taken).max(columns / 3))
}

fn style(row: &StepRow) -> Style {
    match row.outcome {
        Outcome::Failed | Outcome::Refused | Outcome::Interrupted => Style::Bad,
        _ if row.kind == StepKind::Outside || row.kind == StepKind::Gap => Style::Doubt,
        _ => Style::Plain,
    }
}
