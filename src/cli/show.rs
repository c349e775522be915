//! `jukebox show`: one step, whole.

mod around;

use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::log;
use super::output::{Output, Style};
use crate::debugger::{ChangeRow, EventRow, StepDetail};
use crate::model::{Certainty, TapePath, Target};
use crate::text::{SafeText, human};

/// Show one step, whole: what was said and done, its events and the files it changed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// The lines of its events as they stand on the tape, byte for byte unless they go to a
    /// terminal; with @seq:N only that one
    #[arg(long, conflicts_with = "json", group = "what")]
    raw: bool,
    /// Instead: what was said and done up to it, a turn for each step
    #[arg(long, group = "what")]
    conversation: bool,
    /// Instead: what the model saw: tokens by turn, files read and what became of them since,
    /// compactions, the system prompt and the tools where they were recorded
    #[arg(long, group = "what")]
    context: bool,
    /// Instead: agent, model, directory, git, what the record covers, open transactions, effects
    #[arg(long, group = "what")]
    environment: bool,
    /// Instead: the transaction at it: how it stands, its savepoints, what it changed, its effects
    #[arg(long, group = "what")]
    transaction: bool,
    /// Instead: what calls did outside the files so far, and what a rollback would do about it
    #[arg(long, group = "what")]
    effects: bool,
    /// One JSON object; of --conversation and --effects, one a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
JSON, one object: the fields of `jukebox log --json`; sections (name, lines, omitted: how many
lines were left out), events (seq, kind, t, title, bytes: the length of its line), omitted_events (how many events there
are behind these, which are the first 2000), changes (path, change: A added, M modified, D removed,
R renamed, ? may have been written; from: the path it had, of a rename, or null; before and after: the certainty; modes: before and after, where they
differ; outside: nobody's call did it).
Texts are made safe to show; --raw gives them as they are.
With --conversation, one turn a line: step, kind, who, title, outcome, agent, depth, spoken (sort:
words, thinking, or a name; lines, omitted).
With --context: step, agent (null: the main one), turns (step, seen, input, output, from_cache,
into_cache; the latest eight), reads (path, read: the step, since: step and how, or null), cut (not
all steps were looked at), compactions (step, before, after: tokens), system (step, bytes, lines)
and tools (step, names), or null.
With --environment: step, facts (null: not recorded), covers, transactions (name, begin: the step), effects (step, kind,
title), more_effects (there are earlier ones).
With --transaction: step, id (null: none had begun), began (the step), ended (step and how:
committed or rolled-back; or null: open here), state (of a transaction of yours, now: as of
`jukebox txn status`; or null), facts, savepoints (name, step), changed (how many paths), changes
(change, path; the first 200), effects (as of `jukebox effects`).
With --effects, one effect a line, as of `jukebox effects`.";

/// Prints what is around a step, as JSON or for people.
type Around = fn(&Looked, bool, &mut Output) -> Result<(), Failure>;

impl Args {
    pub(super) fn run(&self, world: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(world)?;
        let print_around = match self {
            Self {
                conversation: true, ..
            } => Some(around::conversation as Around),
            Self { context: true, .. } => Some(around::context as Around),
            Self {
                environment: true, ..
            } => Some(around::environment as Around),
            Self {
                transaction: true, ..
            } => Some(around::transaction as Around),
            Self { effects: true, .. } => Some(around::effects as Around),
            _ => None,
        };
        if let Some(print_around) = print_around {
            print_around(&looked, self.json, out)?;
            return Ok(Answer::Yes);
        }
        if looked.spot.step.0 == 0 {
            return Err(Failure::unusable(
                "this place is before the first step, where nothing happened; try @1",
            ));
        }
        let detail = looked.run.step(looked.spot)?;
        let note = note(&looked);
        if self.raw {
            raw(&looked, out)?;
        } else if self.json {
            out.json(&object(&looked, &detail, note.as_deref()))?;
        } else {
            print(&detail, note.as_deref(), out)?;
        }
        Ok(Answer::Yes)
    }
}

fn raw(looked: &Looked, out: &mut Output) -> Result<(), Failure> {
    let wanted = match looked.place.target {
        Target::Seq(seq) => vec![seq],
        _ => looked.run.events_of_step(looked.spot),
    };
    for seq in wanted {
        let mut record = looked.run.record(seq)?;
        record.push(b'\n');
        out.bytes(&record)?;
    }
    Ok(())
}

/// What a person wrote to the step.
fn note(looked: &Looked) -> Option<String> {
    let step = looked.spot.step;
    let home = looked.run.home_of(looked.run.line_of(looked.spot), step);
    looked.run.notes().remove(&(home, step))
}

fn object(looked: &Looked, detail: &StepDetail, note: Option<&str>) -> Value {
    let line = looked.run.line_of(looked.spot);
    let summary = looked.run.summary();
    let branch = summary.branches.iter().find(|branch| branch.id == line);
    let files: Vec<TapePath> = detail.changes.iter().map(|row| row.path.clone()).collect();
    let mut problems = looked.run.problems_by_step(line);
    let problems = problems.remove(&detail.row.number).unwrap_or_default();
    let mut object = branch.map_or(Value::Null, |branch| {
        log::object(&detail.row, branch, &files, &problems, note)
    });
    if let Value::Object(step) = &mut object {
        let sections: Vec<Value> = detail.sections.iter().map(fields::section).collect();
        let events: Vec<Value> = detail.events.iter().map(event).collect();
        let changes: Vec<Value> = detail.changes.iter().map(change).collect();
        step.insert("sections".to_owned(), sections.into());
        step.insert("events".to_owned(), events.into());
        let omitted = detail.omitted_events.into();
        step.insert("omitted_events".to_owned(), omitted);
        step.insert("changes".to_owned(), changes.into());
    }
    object
}

fn event(event: &EventRow) -> Value {
    json!({
        "seq": event.seq.0,
        "kind": event.kind_name.as_str(),
        "t": event.t,
        "title": event.title.as_str(),
        "bytes": event.bytes,
    })
}

fn change(row: &ChangeRow) -> Value {
    fields::with_both_paths(
        &row.path,
        row.from.as_ref(),
        json!({
            "change": row.letter().to_string(),
            "before": row.certainty.0.as_str(),
            "after": row.certainty.1.as_str(),
            "modes": row.mode.map(|(before, after)| {
                [fields::mode(Some(before)), fields::mode(Some(after))]
            }),
            "outside": row.is_outside,
        }),
    )
}

fn print(detail: &StepDetail, note: Option<&str>, out: &mut Output) -> Result<(), Failure> {
    let row = &detail.row;
    let mut words = vec![
        row.kind.as_str().to_owned(),
        row.outcome.as_str().to_owned(),
        human::clock(Duration::from_micros(row.t)),
    ];
    if let Some(duration) = row.duration {
        words.push(human::duration(Duration::from_micros(duration)));
    }
    words.extend(row.via.map(|via| via.label().to_owned()));
    if let Some(agent) = &row.agent {
        words.push(format!("agent {agent}"));
    }
    let number = SafeText::line(&format!("step {} ", row.number));
    let facts = SafeText::line(&format!(" ({})", words.join(", ")));
    let mut title = row.actor.clone();
    title.push(&SafeText::literal(if row.actor.is_empty() {
        ""
    } else {
        " "
    }));
    title.push(&row.title);
    out.spans(&[
        (Style::Faint, &number),
        (Style::Strong, &title),
        (Style::Faint, &facts),
    ])?;
    if let Some(note) = note {
        heading("¶ your note", out)?;
        for line in SafeText::lines(note) {
            out.line(Style::Plain, &line)?;
        }
    }
    for section in &detail.sections {
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
    if !detail.changes.is_empty() {
        heading("files", out)?;
        for change in &detail.changes {
            print_change(change, out)?;
        }
    }
    heading("events", out)?;
    for event in &detail.events {
        let start = SafeText::line(&format!("{:>6} {:<15} ", event.seq.0, event.kind_name));
        out.spans(&[(Style::Faint, &start), (Style::Plain, &event.title)])?;
    }
    if detail.omitted_events > 0 {
        let more = human::plural(detail.omitted_events as u64, "more event", "more events");
        let words = format!("… {more}; --raw prints them all");
        out.line(Style::Doubt, &SafeText::line(&words))?;
    }
    Ok(())
}

fn heading(name: &'static str, out: &mut Output) -> Result<(), Failure> {
    out.line(Style::Plain, &SafeText::default())?;
    out.line(Style::Strong, &SafeText::literal(name))?;
    Ok(())
}

fn print_change(row: &ChangeRow, out: &mut Output) -> Result<(), Failure> {
    let mut notes = Vec::new();
    if row.certainty.1 != Certainty::Exact && row.certainty.1 != Certainty::Absent {
        notes.push(row.certainty.1.as_str().to_owned());
    }
    if let Some((before, after)) = row.mode {
        notes.push(format!("mode {before:o} to {after:o}"));
    }
    if row.is_outside {
        notes.push("outside change".to_owned());
    }
    let letter = SafeText::line(&format!("{} ", row.letter()));
    let path = row.names();
    let notes = match notes.as_slice() {
        [] => SafeText::default(),
        notes => SafeText::line(&format!("  ({})", notes.join(", "))),
    };
    out.spans(&[
        (Style::Place, &letter),
        (Style::Plain, &path),
        (Style::Doubt, &notes),
    ])?;
    Ok(())
}
