//! `jukebox diff`: what differs between two places, in files, in what the model said or in
//! what it was sent.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::arguments::{BranchArgs, Second, SourceArgs, split};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style, warn};
use crate::debugger::{Debugger, Patch, PatchForm, RequestBasis, RequestView, Spot};
use crate::model::{Certainty, ChangeKind, Place, StepKind, StepNumber, Target};
use crate::text::diff::{self, Named};
use crate::text::json_diff::{self, LineKind};
use crate::text::{FileDiff, GitMode, JsonChange, JsonChangeKind, SafeText, human};

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
    /// Compare what the model was sent last, not the files; without B with what it was sent before
    #[arg(long, conflicts_with = "response")]
    request: bool,
    /// Compare a call or an answer with the last one like it, path by path, not the files; with
    /// B that of B, with the last like it up to A
    #[arg(long, conflicts_with_all = ["response", "request"])]
    like: bool,
    /// With --response: path by path, not line by line
    #[arg(long, requires = "response")]
    paths: bool,
    /// Write everything as text, whatever is in it
    #[arg(long, conflicts_with_all = ["response", "request", "like", "json"])]
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

JSON, one path a line: path, change (A added, M modified, D removed, R renamed, ? may have been
written), from (the path it had, of a rename, or null), before and after (certainty), added and removed (lines), patch (the unified diff, or null),
remarks. With --response one object: from and to (steps), added, removed, patch, and changes: the
same path by path, or null. With --request one object: from and to (steps), basis (what the tape
holds of the requests: whole, added, what was new in each, or nothing), changes, sections (what
there is to read besides, as in `jukebox show --json`), remarks. With --like one object: from (the step like it, or null), to, changes, remarks. Of changes: path (elements count in
what came after; of what was removed, the last step counts in what was before), change (added,
removed, changed, moved, or rewritten: the same number, written otherwise), before and after (JSON
as it was written, or null), of what moved also from (its index before).";

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
        if self.like {
            return self.alike(&run, &from, to.as_ref(), other.is_some(), out);
        }
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
        if self.request {
            let view = match &self.to {
                None => run.request(to)?,
                Some(_) => run.requests(from, target, to)?,
            };
            return self.requests(&view, out);
        }
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
        let changes = if self.json || self.paths {
            run.responses(from, other, to)?
        } else {
            None
        };
        match changes {
            changes if self.json => out.json(&json!({
                "from": old_step.0,
                "to": new_step.0,
                "added": diff.added,
                "removed": diff.removed,
                "patch": String::from_utf8_lossy(&patch),
                "changes": changes.as_deref().map(changes_json),
            }))?,
            Some(changes) => print_changes(&changes, out)?,
            None => print(&patch, out)?,
        }
        Ok(Answer::no_if(old != new))
    }

    fn alike(
        &self,
        run: &Debugger,
        from: &Place,
        to: Option<&Place>,
        is_of_two: bool,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        if is_of_two {
            return Err(Failure::unusable(
                "--like looks in one run; `jukebox compare` pairs the steps of two",
            ));
        }
        let at = self.branch.spot(run, to.unwrap_or(from))?;
        let base = match to {
            Some(_) => Some(self.branch.spot(run, from)?),
            None => None,
        };
        let view = run.like(at, base)?;
        let is_same = view.before.is_some() && view.changes.is_empty();
        if self.json {
            out.json(&json!({
                "from": view.before.map(|step| step.0),
                "to": at.step.0,
                "changes": changes_json(&view.changes),
                "remarks": fields::lines(&view.remarks),
            }))?;
            return Ok(Answer::no_if(!is_same));
        }
        if let Some(before) = view.before {
            let title = format!("step {}, compared with step {before}", at.step);
            out.line(Style::Strong, &SafeText::line(&title))?;
        }
        for remark in &view.remarks {
            out.line(Style::Faint, remark)?;
        }
        print_changes(&view.changes, out)?;
        Ok(Answer::no_if(!is_same))
    }

    fn requests(&self, view: &RequestView, out: &mut Output) -> Result<Answer, Failure> {
        let Some(step) = view.step else {
            return Err(Failure::no("the model had not been asked at that place"));
        };
        let is_same = view.basis == RequestBasis::Whole
            && view.changes.is_empty()
            && view.sections.is_empty();
        if self.json {
            out.json(&json!({
                "from": view.before.map(|step| step.0),
                "to": step.0,
                "basis": basis_name(view.basis),
                "changes": changes_json(&view.changes),
                "sections": view.sections.iter().map(fields::section).collect::<Value>(),
                "remarks": fields::lines(&view.remarks),
            }))?;
            return Ok(Answer::no_if(!is_same));
        }
        let title = match view.before {
            Some(before) => format!("request of step {step}, compared with that of step {before}"),
            None => format!("request of step {step}"),
        };
        out.line(Style::Strong, &SafeText::line(&title))?;
        for remark in &view.remarks {
            out.line(Style::Faint, remark)?;
        }
        print_changes(&view.changes, out)?;
        for section in &view.sections {
            out.line(Style::Plain, &SafeText::default())?;
            out.line(Style::Strong, &section.name)?;
            for line in &section.lines {
                out.line(Style::Plain, line)?;
            }
            if section.omitted > 0 {
                let more = human::plural(section.omitted as u64, "more line", "more lines");
                out.line(Style::Faint, &SafeText::line(&format!("… {more}")))?;
            }
        }
        Ok(Answer::no_if(!is_same))
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

/// A path that differs.
pub(super) fn object(patch: &Patch) -> Value {
    let text = (!patch.bytes.is_empty()).then(|| String::from_utf8_lossy(&patch.bytes));
    fields::with_both_paths(
        &patch.path,
        patch.from.as_ref(),
        json!({
            "change": patch.letter().to_string(),
            "before": patch.certainty.0.as_str(),
            "after": patch.certainty.1.as_str(),
            "added": patch.added,
            "removed": patch.removed,
            "patch": text,
            "remarks": fields::lines(&patch.remarks),
        }),
    )
}

const fn basis_name(basis: RequestBasis) -> &'static str {
    match basis {
        RequestBasis::Nothing => "nothing",
        RequestBasis::Added => "added",
        RequestBasis::Whole => "whole",
    }
}

fn changes_json(changes: &[JsonChange]) -> Value {
    let change = |change: &JsonChange| {
        let (kind, from) = match change.kind {
            JsonChangeKind::Added => ("added", None),
            JsonChangeKind::Removed => ("removed", None),
            JsonChangeKind::Changed => ("changed", None),
            JsonChangeKind::Rewritten => ("rewritten", None),
            JsonChangeKind::Moved { from } => ("moved", Some(from)),
        };
        let mut object = json!({
            "path": change.path.to_string(),
            "change": kind,
            "before": change.before,
            "after": change.after,
        });
        if let (Some(from), Value::Object(fields)) = (from, &mut object) {
            fields.insert("from".to_owned(), from.into());
        }
        object
    };
    changes.iter().map(change).collect()
}

/// Changes with their paths, for a person.
fn print_changes(changes: &[JsonChange], out: &mut Output) -> Result<(), Failure> {
    for line in changes.iter().flat_map(json_diff::change_lines) {
        let (sign, style) = match line.kind {
            LineKind::Path(JsonChangeKind::Added) => ("+ ", Style::Place),
            LineKind::Path(JsonChangeKind::Removed) => ("- ", Style::Place),
            LineKind::Path(JsonChangeKind::Changed | JsonChangeKind::Rewritten) => {
                ("~ ", Style::Place)
            }
            LineKind::Path(JsonChangeKind::Moved { .. }) => ("> ", Style::Place),
            LineKind::Added => ("  + ", Style::Good),
            LineKind::Removed => ("  - ", Style::Bad),
            LineKind::Context => ("    ", Style::Plain),
            LineKind::Remark => ("    ", Style::Faint),
        };
        out.spans(&[(style, &SafeText::literal(sign)), (style, &line.text)])?;
    }
    Ok(())
}

/// A patch: its bytes to a pipe, its lines in colours to a person.
pub(super) fn print(patch: &[u8], out: &mut Output) -> Result<(), Failure> {
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
