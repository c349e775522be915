//! `jukebox compare`: where two runs part, where they meet again, what differs at the end.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::arguments::{Second, SourceArgs, split};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{
    Alignment, Debugger, LeafRow, Pair, Patch, PatchForm, Relation, Spot, StepRow, Stretch,
};
use crate::model::{Certainty, ChangeKind, StepKind, StepNumber};
use crate::text::{Align, SafeText, human, width};

/// Compare two runs, or two branches of one: where they part, where they meet again
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// A tape or a transcript, up to a place in it; `-` is standard input
    #[arg(value_name = "TAPE[@A]")]
    left: OsString,
    /// Another one, or a place on another branch of the same: @b2:end
    #[arg(value_name = "TAPE2[@B]|@B")]
    right: OsString,
    #[command(flatten)]
    source: SourceArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Steps are paired by what was asked (prompt, tool and arguments), what came back (what the model
said and called, what the tool printed), how they ended, and what became of files. Not counted
are ids, times, how long a tool took, temporary names, the directory the run worked in, what the
model thought, and tokens. A last call without an answer is where a tape ends, and no difference.
The code is 0 if steps and files are the same and 1 if anything differs.

JSON: left and right (name, branch, steps), same, changed, only_left and only_right (rows),
coarse (true: time ran out, more might be paired), divergence (left and right: steps or null;
parts: asked, answer, outcome, files; leaves: where, left and right; or null), meeting (left and
right: the first steps that are the same again, steps: for how many; or null), stretches
(relation: same, changed, only_left, only_right; parts; left and right: first steps or null;
steps: how many), files (path, change: A only right, D only left, M differs, ? may differ; left
and right: certainty; added and removed: lines).";

/// Columns of a side's name.
const SIDE: usize = 6;

/// Leaves that are printed for people; --json has more.
const SHOWN_LEAVES: usize = 12;

/// A run, and how far it is compared.
struct Side<'a> {
    name: &'static str,
    run: &'a Debugger,
    spot: Spot,
}

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let (tape, place) = split(&self.left)?;
        let run = self.source.open(tape, around)?;
        let (other, other_place) = match Second::read(&self.right)? {
            Second::Tape(tape, place) => (Some(self.source.open(tape, around)?), place),
            Second::Place(place) => (None, place),
        };
        let other = other.as_ref().unwrap_or(&run);
        let left = Side {
            name: "left",
            spot: run.locate(&place)?,
            run: &run,
        };
        let right = Side {
            name: "right",
            spot: other.locate(&other_place)?,
            run: other,
        };
        let never = || false;
        let alignment = run.align(left.spot, (other, right.spot), &never);
        let alignment = alignment.unwrap_or_default();
        let files: Vec<Patch> = run
            .patches(left.spot.cursor, other, right.spot.cursor, PatchForm::Plain)
            .collect();
        let is_known = |file: &Patch| file.change != ChangeKind::Suspected;
        let differs = alignment.tally().has_difference() || files.iter().any(is_known);
        let compared = Compared {
            left,
            right,
            alignment,
            files,
            columns: out.has_terminal().then_some(around.columns),
        };
        if self.json {
            out.json(&compared.object())?;
        } else {
            compared.print(out)?;
        }
        Ok(Answer::no_if(differs))
    }
}

struct Compared<'a> {
    left: Side<'a>,
    right: Side<'a>,
    alignment: Alignment,
    files: Vec<Patch>,
    /// Of the terminal, if there is one.
    columns: Option<usize>,
}

impl Side<'_> {
    fn branch(&self) -> SafeText {
        let line = self.run.line_of(self.spot);
        let branches = self.run.summary().branches.into_iter();
        let mut names = branches.filter(|branch| branch.id == line);
        names.next().map(|branch| branch.name).unwrap_or_default()
    }

    fn at(&self, step: StepNumber) -> Spot {
        self.run.spot(self.run.line_of(self.spot), step)
    }

    fn row(&self, step: Option<StepNumber>) -> Option<StepRow> {
        self.run.row(self.run.line_of(self.spot), step?)
    }

    fn object(&self) -> Value {
        json!({
            "name": self.run.summary().name.as_str(),
            "branch": self.branch().as_str(),
            "steps": self.spot.step.0,
        })
    }
}

fn number(step: Option<StepNumber>) -> Value {
    step.map_or(Value::Null, |step| step.0.into())
}

fn parts(relation: Relation) -> Vec<&'static str> {
    match relation {
        Relation::Changed(parts) => parts.names().collect(),
        Relation::Same | Relation::OnlyLeft | Relation::OnlyRight => Vec::new(),
    }
}

impl Compared<'_> {
    /// Where exactly the two steps differ at which the runs part.
    fn leaves(&self, parting: Pair) -> Vec<LeafRow> {
        match (parting.left, parting.right) {
            (Some(left), Some(right)) => self
                .left
                .run
                .leaves(self.left.at(left), (self.right.run, self.right.at(right))),
            _ => Vec::new(),
        }
    }

    fn object(&self) -> Value {
        let tally = self.alignment.tally();
        let words = |text: &Option<SafeText>| {
            let words = text.as_ref().map(SafeText::as_str);
            words.map_or(Value::Null, Value::from)
        };
        let leaf = |leaf: &LeafRow| {
            json!({
                "where": leaf.name.as_str(),
                "left": words(&leaf.left),
                "right": words(&leaf.right),
            })
        };
        let divergence = self.alignment.divergence().map(|parting| {
            json!({
                "left": number(parting.left),
                "right": number(parting.right),
                "parts": parts(parting.relation),
                "leaves": self.leaves(parting).iter().map(leaf).collect::<Vec<_>>(),
            })
        });
        let meeting = self.alignment.meeting().map(|meeting| {
            json!({
                "left": meeting.left + 1,
                "right": meeting.right + 1,
                "steps": meeting.len,
            })
        });
        let stretches = self.alignment.stretches().iter();
        let files = self.files.iter();
        json!({
            "left": self.left.object(),
            "right": self.right.object(),
            "same": tally.same,
            "changed": tally.changed,
            "only_left": tally.only_left,
            "only_right": tally.only_right,
            "coarse": self.alignment.is_coarse(),
            "divergence": divergence,
            "meeting": meeting,
            "stretches": stretches.map(|stretch| self.stretch(stretch)).collect::<Vec<_>>(),
            "files": files.map(file).collect::<Vec<_>>(),
        })
    }

    fn stretch(&self, stretch: &Stretch) -> Value {
        let first = self.alignment.pair(stretch.row);
        let relation = match stretch.relation {
            Relation::Same => "same",
            Relation::Changed(_) => "changed",
            Relation::OnlyLeft => "only_left",
            Relation::OnlyRight => "only_right",
        };
        json!({
            "relation": relation,
            "parts": parts(stretch.relation),
            "left": number(first.and_then(|pair| pair.left)),
            "right": number(first.and_then(|pair| pair.right)),
            "steps": stretch.len,
        })
    }

    fn print(&self, out: &mut Output) -> Result<(), Failure> {
        for side in [&self.left, &self.right] {
            let steps = human::plural(u64::from(side.spot.step.0), "step", "steps");
            let words = format!("{}, {}, {steps}", side.run.summary().name, side.branch());
            let name = SafeText::line(&format!("{:<SIDE$} ", side.name));
            out.spans(&[
                (Style::Strong, &name),
                (Style::Plain, &SafeText::line(&words)),
            ])?;
        }
        let tally = self.alignment.tally();
        let counts = format!(
            "{} same, {} changed, {} only left, {} only right",
            tally.same, tally.changed, tally.only_left, tally.only_right
        );
        let name = SafeText::line(&format!("{:<SIDE$} ", "steps"));
        let counts = SafeText::line(&counts);
        out.spans(&[(Style::Strong, &name), (Style::Plain, &counts)])?;
        if self.alignment.is_coarse() {
            let words = "too different to be paired in time: more steps may be alike";
            out.line(Style::Doubt, &SafeText::literal(words))?;
        }
        if let Some(parting) = self.alignment.divergence() {
            self.print_parting(parting, out)?;
        } else {
            out.line(Style::Plain, &SafeText::default())?;
            out.line(Style::Good, &SafeText::literal("The steps are the same."))?;
        }
        self.print_files(out)
    }

    fn print_parting(&self, parting: Pair, out: &mut Output) -> Result<(), Failure> {
        let nothing = SafeText::default();
        out.line(Style::Plain, &nothing)?;
        let words = match parting.relation {
            Relation::Changed(parts) => format!("They part here ({parts})"),
            _ => "They part here".to_owned(),
        };
        out.line(Style::Strong, &SafeText::line(&words))?;
        for (side, step) in [(&self.left, parting.left), (&self.right, parting.right)] {
            self.print_step(side, step, out)?;
        }
        let leaves = self.leaves(parting);
        for leaf in leaves.iter().take(SHOWN_LEAVES) {
            out.spans(&[
                (Style::Plain, &SafeText::literal("  ")),
                (Style::Place, &leaf.name),
            ])?;
            for (name, text, style) in [
                ("left", &leaf.left, Style::Bad),
                ("right", &leaf.right, Style::Good),
            ] {
                let name = SafeText::line(&format!("    {name:<SIDE$} "));
                let (style, text) = match text {
                    Some(text) => (style, self.fitted(&name, text)),
                    None => (Style::Faint, SafeText::literal("(nothing)")),
                };
                out.spans(&[(Style::Faint, &name), (style, &text)])?;
            }
        }
        if let Some(more) = leaves.len().checked_sub(SHOWN_LEAVES)
            && more > 0
        {
            let words = format!("  {more} more; --json lists them");
            out.line(Style::Faint, &SafeText::line(&words))?;
        }
        out.line(Style::Plain, &nothing)?;
        let Some(meeting) = self.alignment.meeting() else {
            let words = "They do not meet again.";
            out.line(Style::Strong, &SafeText::literal(words))?;
            return Ok(());
        };
        let steps = human::plural(u64::from(meeting.len), "step", "steps");
        let words = format!("They meet again, for {steps}");
        out.line(Style::Strong, &SafeText::line(&words))?;
        for (side, before) in [(&self.left, meeting.left), (&self.right, meeting.right)] {
            self.print_step(side, Some(StepNumber(before + 1)), out)?;
        }
        Ok(())
    }

    fn print_step(
        &self,
        side: &Side<'_>,
        step: Option<StepNumber>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let name = SafeText::line(&format!("  {:<SIDE$} ", side.name));
        let Some(row) = side.row(step) else {
            let words = SafeText::literal("(no step)");
            out.spans(&[(Style::Faint, &name), (Style::Faint, &words)])?;
            return Ok(());
        };
        let actor = match row.kind {
            StepKind::Model => SafeText::literal("model"),
            _ => width::fit(&row.actor, 10),
        };
        let head = format!("{:>4}  {} {actor} ", row.number, row.kind.sign());
        let title = format!("{} {}", row.title, row.outcome.sign());
        let head = SafeText::line(&head);
        let title = SafeText::line(title.trim_end());
        let mut taken = name.clone();
        taken.push(&head);
        let title = self.fitted(&taken, &title);
        out.spans(&[
            (Style::Faint, &name),
            (Style::Place, &head),
            (Style::Plain, &title),
        ])?;
        Ok(())
    }

    /// A text in what a name before it leaves of the terminal; whole where there is none.
    fn fitted(&self, before: &SafeText, text: &SafeText) -> SafeText {
        let Some(columns) = self.columns else {
            return text.clone();
        };
        let left = columns.saturating_sub(width::width(before));
        width::fit(text, left.max(columns / 3))
    }

    fn print_files(&self, out: &mut Output) -> Result<(), Failure> {
        out.line(Style::Plain, &SafeText::default())?;
        if self.files.is_empty() {
            let words = "The files are the same at the end.";
            out.line(Style::Good, &SafeText::literal(words))?;
            return Ok(());
        }
        let words = "Files that differ at the end";
        out.line(Style::Strong, &SafeText::literal(words))?;
        for file in &self.files {
            let (style, words) = match file.change {
                ChangeKind::Added => (Style::Good, "only right".to_owned()),
                ChangeKind::Removed => (Style::Bad, "only left".to_owned()),
                ChangeKind::Suspected => (Style::Doubt, "may differ".to_owned()),
                ChangeKind::Modified if file.added + file.removed > 0 => {
                    (Style::Plain, format!("+{} −{}", file.added, file.removed))
                }
                ChangeKind::Modified => (Style::Plain, "differs".to_owned()),
            };
            let words = width::pad(&SafeText::line(&words), 12, Align::Left);
            let sign = SafeText::line(&format!("  {} ", file.change.letter()));
            let path = SafeText::from_bytes(file.path.as_bytes());
            let remarks = SafeText::line(&doubts(file));
            out.spans(&[
                (style, &sign),
                (style, &words),
                (Style::Plain, &path),
                (Style::Faint, &remarks),
            ])?;
        }
        Ok(())
    }
}

/// What is not known exactly of a file, and on which side.
fn doubts(file: &Patch) -> String {
    let (left, right) = file.certainty;
    let is_doubt = |certainty| !matches!(certainty, Certainty::Exact | Certainty::Absent);
    let sides = [("left", left), ("right", right)].into_iter();
    let doubts: Vec<String> = sides
        .filter(|(_, certainty)| is_doubt(*certainty))
        .map(|(name, certainty)| format!("{name}: {certainty}"))
        .collect();
    if doubts.is_empty() {
        return String::new();
    }
    format!("  ({})", doubts.join(", "))
}

fn file(file: &Patch) -> Value {
    fields::with_path(
        &file.path,
        json!({
            "change": file.change.letter().to_string(),
            "left": file.certainty.0.as_str(),
            "right": file.certainty.1.as_str(),
            "added": file.added,
            "removed": file.removed,
        }),
    )
}
