//! `jukebox blame`: which step last wrote each line of a file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style, warn};
use crate::debugger::{BlameOrigin, BlameView, StepRow, Writer};
use crate::model::TapePath;
use crate::text::{SafeText, human, width};

/// Show which step last wrote each line of a file
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// The file, as `jukebox tree` names it or as the run did
    path: OsString,
    /// Then list the steps, each with the model's turn that asked for it
    #[arg(long)]
    why: bool,
    /// End with code 1 if any line may have been written before its step, unseen
    #[arg(long)]
    strict: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Columns: the step (-: the line stood there before the tape tells of any change), a sign, who did
it, the line's number, the line. Signs: ≠ nobody's call wrote it, and the step found it there;
? what stood there before the step is not known, so something unseen may have written it. Renames
and committed transactions are followed. Of a file that is known in part, the known lines are told.
A file without lines to tell of (a binary one, one of unknown content) ends with code 1.

JSON, one object: path, certainty, remarks, origins (step, or null; writer: before, step, outside;
certain; path: what the file was called then, or null; actor, title; turn: the model's turn that
asked for it, with its step and title, or null) and lines (number, origin: a place in origins from
0, text).";

/// Columns of an actor's name.
const ACTOR: usize = 10;

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let path = looked.run.path(self.path.as_bytes())?;
        let blame = looked.run.blame(looked.spot.cursor, &path)?;
        if self.json {
            out.json(&object(&looked, &blame))?;
        } else {
            for remark in &blame.remarks {
                warn(&format!(
                    "{}: {remark}",
                    SafeText::from_bytes(path.as_bytes())
                ));
            }
            print(&looked, &blame, out)?;
            if self.why {
                print_origins(&looked, &blame, out)?;
            }
        }
        let doubtful = (0..blame.lines.len()).filter_map(|line| blame.origin_of(line));
        let is_doubtful = doubtful.into_iter().any(|origin| !origin.is_certain);
        Ok(Answer::no_if(
            blame.lines.is_empty() && !blame.remarks.is_empty() || self.strict && is_doubtful,
        ))
    }
}

/// The row of the step of an origin.
fn row(looked: &Looked, origin: &BlameOrigin) -> Option<StepRow> {
    let spot = origin.spot?;
    looked.run.row(looked.run.line_of(spot), spot.step)
}

/// The row of the model's turn that asked for it.
fn turn(looked: &Looked, origin: &BlameOrigin) -> Option<StepRow> {
    if origin.writer != Writer::Step {
        return None;
    }
    let turn = looked.run.asked_for_by(origin.spot?)?;
    looked.run.row(looked.run.line_of(turn), turn.step)
}

/// The lines of the text, without their ends.
fn texts(blame: &BlameView) -> impl Iterator<Item = &[u8]> {
    let lines = blame.text.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

fn step_of(origin: &BlameOrigin) -> String {
    let step = origin.spot.map(|spot| spot.step.to_string());
    step.unwrap_or_else(|| "-".to_owned())
}

fn print(looked: &Looked, blame: &BlameView, out: &mut Output) -> Result<(), Failure> {
    let wide = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(1);
    let step = wide(&mut blame.origins.iter().map(|origin| step_of(origin).len()));
    let number = wide(&mut blame.lines.iter().map(|line| line.number.to_string().len()));
    let actor = |origin: &BlameOrigin| {
        let actor = row(looked, origin).map(|row| row.actor).unwrap_or_default();
        width::pad(&actor, ACTOR, width::Align::Left)
    };
    let heads: Vec<(SafeText, SafeText)> = blame
        .origins
        .iter()
        .map(|origin| {
            let step = format!("{:>step$}{} ", step_of(origin), origin.sign());
            (SafeText::line(&step), actor(origin))
        })
        .collect();
    for (line, text) in blame.lines.iter().zip(texts(blame)) {
        let Some((step, actor)) = heads.get(line.origin as usize) else {
            continue;
        };
        let number = SafeText::line(&format!(" {:>number$}  ", line.number));
        out.spans(&[
            (Style::Place, step),
            (Style::Faint, actor),
            (Style::Faint, &number),
            (Style::Plain, &SafeText::from_bytes(text)),
        ])?;
    }
    Ok(())
}

/// The steps that wrote lines which are still there, and who asked for them.
fn print_origins(looked: &Looked, blame: &BlameView, out: &mut Output) -> Result<(), Failure> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for line in &blame.lines {
        *counts.entry(line.origin).or_default() += 1;
    }
    for (origin, count) in counts {
        let Some(origin) = blame.origins.get(origin as usize) else {
            continue;
        };
        let lines = human::plural(count, "line", "lines");
        let title = match row(looked, origin) {
            Some(row) => row.title,
            None => SafeText::literal("before the tape tells of any change"),
        };
        let head = format!("{}{} {lines}  ", step_of(origin), origin.sign());
        out.line(Style::Plain, &SafeText::default())?;
        out.spans(&[
            (Style::Place, &SafeText::line(&head)),
            (Style::Plain, &title),
        ])?;
        if let Some(path) = &origin.path {
            let was = format!("   in {}", SafeText::from_bytes(path.as_bytes()));
            out.line(Style::Faint, &SafeText::line(&was))?;
        }
        if let Some(turn) = turn(looked, origin) {
            let asked = SafeText::line(&format!("   asked for in {}  ", turn.number));
            out.spans(&[(Style::Faint, &asked), (Style::Plain, &turn.title)])?;
        }
    }
    Ok(())
}

fn object(looked: &Looked, blame: &BlameView) -> Value {
    let origins: Vec<Value> = blame
        .origins
        .iter()
        .map(|origin| {
            let row = row(looked, origin);
            let turn = turn(looked, origin);
            json!({
                "step": origin.spot.map(|spot| spot.step.0),
                "writer": origin.writer.as_str(),
                "certain": origin.is_certain,
                "path": origin.path.as_ref().map(TapePath::to_text),
                "actor": row.as_ref().map(|row| row.actor.as_str()),
                "title": row.as_ref().map(|row| row.title.as_str()),
                "turn": turn.map(|turn| json!({
                    "step": turn.number.0,
                    "title": turn.title.as_str(),
                })),
            })
        })
        .collect();
    let lines: Vec<Value> = blame
        .lines
        .iter()
        .zip(texts(blame))
        .map(|(line, text)| {
            json!({
                "number": line.number,
                "origin": line.origin,
                "text": String::from_utf8_lossy(text),
            })
        })
        .collect();
    fields::with_path(
        &blame.path,
        json!({
            "certainty": blame.certainty.as_str(),
            "remarks": fields::lines(&blame.remarks),
            "origins": origins,
            "lines": lines,
        }),
    )
}
