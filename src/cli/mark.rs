//! `jukebox mark`: places of a run that a person named, listed, set and forgotten.

use std::collections::BTreeMap;
use std::io;

use serde_json::json;

use super::arguments::PlaceArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{Debugger, Left, Spot, is_mark_name};
use crate::text::{Align, SafeText, width};

/// List the marks of a run, or mark a place in it
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// What to call the place; on the screen, one letter goes there: 'a
    name: Option<String>,
    /// Forget the mark of this name, wherever it is
    #[arg(long, requires = "name")]
    remove: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Without a name, all marks are listed. @mark:NAME is a place for every command. Marks are kept in
the state directory of the user and never in the tape; they stay where they are when the tape
grows. A name that is taken moves.

JSON, one mark a line: name, place (as it is typed behind TAPE@), branch, step. What is set is
printed so, too; of a mark that was forgotten, all but the name is null.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let run = &looked.run;
        let marks = run.marks();
        let Some(name) = &self.name else {
            if self.place.names_a_place() {
                return Err(Failure::unusable(
                    "a place was named, and no mark; nothing was written: `jukebox mark \
                     TAPE@STEP NAME` sets one",
                ));
            }
            return self.list(run, &marks, out);
        };
        if !is_mark_name(name) {
            return Err(Failure::unusable(
                "a mark is called so that @mark:NAME names a place; nothing was written",
            ));
        }
        if self.remove {
            if !marks.contains_key(name) {
                let name = SafeText::line(name);
                return Err(Failure::no(format!("no mark is called `{name}`")));
            }
            run.remove_mark(name).map_err(unkept)?;
        } else {
            set(run, name, looked.spot)?;
        }
        if self.json {
            let spot = (!self.remove).then_some(looked.spot);
            out.json(&object(run, name, spot))?;
        }
        Ok(Answer::Yes)
    }

    fn list(
        &self,
        run: &Debugger,
        marks: &BTreeMap<String, Spot>,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        let names: Vec<SafeText> = marks.keys().map(|name| SafeText::line(name)).collect();
        let columns = names.iter().map(width::width).max().unwrap_or(0);
        for ((name, spot), shown) in marks.iter().zip(&names) {
            if self.json {
                out.json(&object(run, name, Some(*spot)))?;
                continue;
            }
            let line = run.line_of(*spot);
            let place = format!("  @{:<8}  ", run.written(line, *spot));
            let title = run.row(line, spot.step).map(|row| row.title);
            out.spans(&[
                (Style::Strong, &width::pad(shown, columns, Align::Left)),
                (Style::Faint, &SafeText::line(&place)),
                (Style::Plain, &title.unwrap_or_default()),
            ])?;
        }
        Ok(Answer::Yes)
    }
}

fn set(run: &Debugger, name: &str, spot: Spot) -> Result<(), Failure> {
    if !run.can_keep() {
        return Err(Failure::unusable(
            "a mark needs a tape in a file, with an id, and a home to keep it in; nothing was written",
        ));
    }
    let left = Left {
        marks: BTreeMap::from([(name.to_owned(), (run.line_of(spot), spot))]),
        ..Left::default()
    };
    run.keep(&left).map_err(unkept)
}

fn unkept(error: io::Error) -> Failure {
    Failure::machine(format!(
        "the mark could not be kept: {error}; the tape is untouched"
    ))
}

fn object(run: &Debugger, name: &str, spot: Option<Spot>) -> serde_json::Value {
    let line = spot.map(|spot| (run.line_of(spot), spot));
    json!({
        "name": name,
        "place": line.map(|(line, spot)| run.written(line, spot)),
        "branch": line.map(|(line, _)| branch(run, line).to_string()),
        "step": spot.map(|spot| spot.step.0),
    })
}

/// What a line is called.
fn branch(run: &Debugger, line: u16) -> SafeText {
    let mut branches = run.summary().branches.into_iter();
    let found = branches.find(|branch| branch.id == line);
    found.map(|branch| branch.name).unwrap_or_default()
}
