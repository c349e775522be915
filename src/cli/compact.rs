//! `jukebox compact`: a tape written again, smaller.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::TapeArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::text::SafeText;
use crate::text::human::{plural, size};

/// Write a tape again, smaller, with the same events and states; the old one is left alone
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// The new tape, a new file
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The new tape is verified and compared with the old one, event by event, before it is there.

JSON, one object: output, before and after (bytes), events, torn (bytes of a cut last line that
the new tape has not).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open(around)?;
        let done = run.compact(&self.output)?;
        if self.json {
            out.json(&json!({
                "output": self.output.to_string_lossy(),
                "before": done.before,
                "after": done.after,
                "events": done.events,
                "torn": done.torn,
            }))?;
            return Ok(Answer::Yes);
        }
        let summary = format!(
            "{} in {} written to {}, {} before",
            plural(done.events.into(), "event", "events"),
            size(done.after),
            self.output.display(),
            size(done.before),
        );
        out.line(Style::Strong, &SafeText::line(&summary))?;
        Ok(Answer::Yes)
    }
}
