//! `jukebox compact`: a tape written again, smaller.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::TapeArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{CompactOptions, Debugger};
use crate::model::{Place, Seq};
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
    /// Drop what happened before this place, and put a snapshot of the files there
    #[arg(long, value_name = "STEP")]
    keep_from: Option<Place>,
    /// Write a fork with all that it shares, as a tape that needs no other one
    #[arg(long)]
    standalone: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The new tape is verified and compared with the old one, event by event, before it is there.
Events and steps keep their numbers, with --keep-from too. It cuts where no call, transaction or
branch reaches over: at the step, or as little before it as it takes. Forks that left the old tape
take the new one for it.

JSON, one object: output, before and after (bytes), events, kept_from (the first event kept,
null: all are), torn (bytes of a cut last line that the new tape has not).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let run = self.tape.open(around)?;
        let options = CompactOptions {
            keep_from: self.keep_from(&run)?,
            standalone: self.standalone,
            ..CompactOptions::default()
        };
        let done = {
            let mut line = self.tape.progress("compact", around);
            line.watch(|tell| run.compact(&self.output, &options, tell))?
        };
        if self.json {
            out.json(&json!({
                "output": self.output.to_string_lossy(),
                "before": done.before,
                "after": done.after,
                "events": done.events,
                "kept_from": done.kept_from.map(|seq| seq.0),
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

    /// The event that opened the step from which on the tape is kept.
    fn keep_from(&self, run: &Debugger) -> Result<Option<Seq>, Failure> {
        let Some(place) = &self.keep_from else {
            return Ok(None);
        };
        let spot = run.locate(place)?;
        Ok(run.row(run.line_of(spot), spot.step).map(|row| row.seq))
    }
}
