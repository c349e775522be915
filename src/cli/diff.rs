//! `jukebox diff`: what differs between two places, in files or in what the model said.

use std::ffi::{OsStr, OsString};

use serde_json::{Value, json};

use super::arguments::{BranchArgs, SourceArgs, split};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style, warn};
use crate::debugger::{Debugger, Patch, PatchForm, Spot};
use crate::model::{Certainty, ChangeKind, Place, StepKind, StepNumber, Target};
use crate::text::diff::{self, Named};
use crate::text::{FileDiff, GitMode, SafeText};

/// Show what differs between two places, as a unified diff that `git apply` accepts
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// A place in a tape or a transcript; `-` is standard input
    #[arg(value_name = "TAPE[@A]")]
    from: OsString,
    /// Another place in it, or in another tape. Without it: what step A changed, or without A
    /// what the whole run changed
    #[arg(value_name = "[TAPE2]@B")]
    to: Option<OsString>,
    #[command(flatten)]
    branch: BranchArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Compare what the model said last, not the files
    #[arg(long)]
    response: bool,
    /// Write everything as text, whatever is in it
    #[arg(long, conflicts_with_all = ["response", "json"])]
    text: bool,
    /// End with code 1 if any file that differs is not known exactly, and say so
    #[arg(long)]
    strict: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
In a pipe, what is no harmless text (binary files, control characters) travels as git's binary
patch; --text writes it as it is. What no patch can hold is said on standard error. The code is
0 if nothing is known to differ and 1 if something is.

JSON, one path a line: path, change (A added, M modified, D removed, ? may have been written),
before and after (certainty), added and removed (lines), patch (the unified diff, or null),
remarks. With --response one object: from and to (steps), added, removed, patch.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let (tape, from) = split(&self.from)?;
        let run = self.source.open(tape, around)?;
        let typed = self.to.as_deref().map(Second::read).transpose()?;
        let (other, to) = match typed {
            Some(Second::Tape(tape, place)) => (Some(self.source.open(tape, around)?), Some(place)),
            Some(Second::Place(place)) => (None, Some(place)),
            None => (None, None),
        };
        let target = other.as_ref().unwrap_or(&run);
        let (from, to) = match to {
            Some(to) => (
                self.branch.spot(&run, &from)?,
                self.branch.spot(target, &to)?,
            ),
            None if from.target == Target::End => {
                let start = Place {
                    target: Target::Step(StepNumber(0)),
                    ..from.clone()
                };
                (
                    self.branch.spot(&run, &start)?,
                    self.branch.spot(&run, &from)?,
                )
            }
            None => {
                let spot = self.branch.spot(&run, &from)?;
                (run.spot_before(spot), spot)
            }
        };
        if self.response {
            return self.responses((&run, from), (target, to), out);
        }
        self.files((&run, from), (target, to), out)
    }

    fn files(
        &self,
        (run, from): (&Debugger, Spot),
        (other, to): (&Debugger, Spot),
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let form = if self.text || (out.has_terminal() && !self.json) {
            PatchForm::Plain
        } else {
            PatchForm::Armoured
        };
        let (mut differs, mut is_doubtful) = (false, false);
        for patch in run.patches(from.cursor, other, to.cursor, form) {
            differs |= patch.change != ChangeKind::Suspected;
            let is_known = |certainty| matches!(certainty, Certainty::Exact | Certainty::Absent);
            is_doubtful |= !is_known(patch.certainty.0) || !is_known(patch.certainty.1);
            if self.json {
                out.json(&object(&patch))?;
                continue;
            }
            let path = SafeText::from_bytes(patch.path.as_bytes());
            for remark in &patch.remarks {
                warn(&format!("{path}: {remark}"));
            }
            print(&patch.bytes, out)?;
        }
        if self.strict && is_doubtful {
            return Err(Failure::no("not every file that differs is known exactly"));
        }
        Ok(Answer::no_if(differs))
    }

    fn responses(
        &self,
        (run, from): (&Debugger, Spot),
        (other, to): (&Debugger, Spot),
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let (old_step, old) = response(run, from)?;
        let (new_step, new) = response(other, to)?;
        let diff = FileDiff::between(Some(old.as_bytes()), Some(new.as_bytes()), diff::BUDGET);
        let named = Named {
            path: b"response",
            mode: GitMode::File,
        };
        let patch = diff::unified(named, named, &diff);
        if self.json {
            out.json(&json!({
                "from": old_step.0,
                "to": new_step.0,
                "added": diff.added,
                "removed": diff.removed,
                "patch": String::from_utf8_lossy(&patch),
            }))?;
        } else {
            print(&patch, out)?;
        }
        Ok(Answer::no_if(old != new))
    }
}

/// The second place as typed: in another tape, or in the same one.
enum Second<'a> {
    Place(Place),
    Tape(&'a OsStr, Place),
}

impl<'a> Second<'a> {
    fn read(typed: &'a OsStr) -> Result<Self, Failure> {
        match typed.to_str() {
            Some(text) if text.starts_with('@') => Ok(Self::Place(text.parse()?)),
            _ => {
                let (tape, place) = split(typed)?;
                Ok(Self::Tape(tape, place))
            }
        }
    }
}

/// What the model said last at a place, and in which step: made safe, a line each.
fn response(run: &Debugger, at: Spot) -> Result<(StepNumber, String), Failure> {
    let line = run.line_of(at);
    let mut steps = (1..=at.step.0).rev().map(StepNumber);
    let answered = steps.find(|number| {
        run.row(line, *number)
            .is_some_and(|row| row.kind == StepKind::Model)
    });
    let Some(number) = answered else {
        return Err(Failure::no("the model had not said anything at that place"));
    };
    let mut text = String::new();
    for section in run.step(run.spot(line, number))?.sections {
        if matches!(section.name.as_str(), "request" | "usage") {
            continue;
        }
        for line in std::iter::once(&section.name).chain(&section.lines) {
            text.push_str(line.as_str());
            text.push('\n');
        }
    }
    Ok((number, text))
}

fn object(patch: &Patch) -> Value {
    let text = (!patch.bytes.is_empty()).then(|| String::from_utf8_lossy(&patch.bytes));
    fields::with_path(
        &patch.path,
        json!({
            "change": patch.change.letter().to_string(),
            "before": patch.certainty.0.as_str(),
            "after": patch.certainty.1.as_str(),
            "added": patch.added,
            "removed": patch.removed,
            "patch": text,
            "remarks": fields::lines(&patch.remarks),
        }),
    )
}

/// A patch: its bytes to a pipe, its lines in colours to a person.
fn print(patch: &[u8], out: &mut Output) -> Result<(), Failure> {
    if !out.has_terminal() {
        out.bytes(patch)?;
        return Ok(());
    }
    // In the head of a patch, `---` and `+++` are names.
    let mut is_head = true;
    for line in SafeText::exact_lines(patch) {
        let text = line.as_str();
        is_head = match text {
            text if text.starts_with("diff --git ") => true,
            text if text.starts_with("@@") => false,
            _ => is_head,
        };
        let style = match text.chars().next() {
            Some('@') => Style::Place,
            _ if is_head => Style::Strong,
            Some('+') => Style::Good,
            Some('-') => Style::Bad,
            Some('\\') => Style::Faint,
            _ => Style::Plain,
        };
        out.line(style, &line)?;
    }
    Ok(())
}
