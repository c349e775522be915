//! `jukebox verify`: everything that is wrong with a tape.

use serde_json::json;

use super::arguments::TapeArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::text::{SafeText, human};

/// Check a tape: its chain, its order, its contents, its snapshots against its events
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Ends with code 1 if there is a problem.

JSON, one object: events, steps, problems (each: line, from 1; offset, in bytes; kind; message).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open_quietly(around)?;
        let found = run.verify()?;
        if self.json {
            out.json(&json!({
                "events": found.events,
                "steps": found.steps,
                "problems": found.problems.iter().map(fields::problem).collect::<Vec<_>>(),
            }))?;
        } else {
            for problem in &found.problems {
                let kind = SafeText::line(&format!("{}  ", problem.kind.as_str()));
                let problem = SafeText::line(&problem.to_string());
                out.spans(&[(Style::Bad, &kind), (Style::Plain, &problem)])?;
            }
            let summary = format!(
                "{}, {}: {}",
                human::plural(found.events, "event", "events"),
                human::plural(found.steps, "step", "steps"),
                human::plural(found.problems.len() as u64, "problem", "problems"),
            );
            out.line(Style::Strong, &SafeText::line(&summary))?;
        }
        Ok(Answer::no_if(!found.problems.is_empty()))
    }
}
