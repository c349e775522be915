//! `jukebox note`: what a person wrote to a step, read and written.

use serde_json::{Value, json};

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{Debugger, Left, MAX_NOTE, Notes};
use crate::model::StepNumber;
use crate::text::{SafeText, human};

/// Read the notes to the steps of a run, or write one
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// What to write to the step, in the place of what is there
    text: Option<String>,
    /// Take the note of the step away
    #[arg(long, conflicts_with = "text")]
    remove: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Without a place and a text, all notes are listed. Notes are kept in the state directory of the
user and never in the tape; they stay where they are when the tape grows.

JSON, one note a line: branch, step, note (as it was typed). What is written or taken away is
printed so, too; a note that was taken away is null.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let notes = looked.run.notes();
        if self.text.is_none() && !self.remove && !self.place.names_a_place() {
            for ((line, step), text) in &notes {
                self.print(&looked.run, (*line, *step), Some(text.as_str()), out)?;
            }
            return Ok(Answer::Yes);
        }
        let step = step(&looked)?;
        let text = match &self.text {
            None if !self.remove => {
                let Some(text) = notes.get(&step) else {
                    return Err(Failure::no(format!("step {} has no note", step.1)));
                };
                self.print(&looked.run, step, Some(text.as_str()), out)?;
                return Ok(Answer::Yes);
            }
            text => text.clone().unwrap_or_default(),
        };
        if text.is_empty() && !notes.contains_key(&step) {
            return Err(Failure::no(format!("step {} has no note", step.1)));
        }
        keep(&looked.run, step, &text)?;
        if self.json {
            let kept = Some(text.as_str()).filter(|text| !text.is_empty());
            self.print(&looked.run, step, kept, out)?;
        }
        Ok(Answer::Yes)
    }

    fn print(
        &self,
        run: &Debugger,
        (line, step): (u16, StepNumber),
        note: Option<&str>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let summary = run.summary();
        let branch = summary.branches.iter().find(|branch| branch.id == line);
        let branch = branch.map_or("", |branch| branch.name.as_str());
        if self.json {
            out.json(&json!({ "branch": branch, "step": step.0, "note": note.map(Value::from) }))?;
            return Ok(());
        }
        let place = match summary.branches.len() {
            1 => format!("{step}"),
            _ => format!("{branch}:{step}"),
        };
        let mut place = format!("{place:>6}  ");
        for text in SafeText::lines(note.unwrap_or_default()) {
            out.spans(&[
                (Style::Faint, &SafeText::line(&place)),
                (Style::Plain, &text),
            ])?;
            place = " ".repeat(place.chars().count());
        }
        Ok(())
    }
}

/// The step that was named, by the branch it was made on.
fn step(looked: &Looked) -> Result<(u16, StepNumber), Failure> {
    let step = looked.spot.step;
    if step.0 == 0 {
        return Err(Failure::unusable(
            "this place is before the first step, where nothing happened; try @1",
        ));
    }
    let line = looked.run.line_of(looked.spot);
    Ok((looked.run.home_of(line, step), step))
}

fn keep(run: &Debugger, step: (u16, StepNumber), text: &str) -> Result<(), Failure> {
    if text.len() > MAX_NOTE {
        let most = human::size(MAX_NOTE as u64);
        return Err(Failure::unusable(format!(
            "a note has at most {most} bytes; nothing was written"
        )));
    }
    if !run.can_keep() {
        return Err(Failure::unusable(
            "a note needs a tape in a file, with an id, and a home to keep it in; nothing was written",
        ));
    }
    let left = Left {
        notes: Notes::from([(step, text.to_owned())]),
        ..Left::default()
    };
    run.keep(&left).map_err(|error| {
        Failure::machine(format!(
            "the note could not be kept: {error}; the tape is untouched"
        ))
    })
}
