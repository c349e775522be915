//! `jukebox checkout`: the tree of a place, written into an empty or new directory.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::arguments::{PlaceArgs, short_name};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use super::progress::ProgressLine;
use crate::debugger::{Checkout, CheckoutOptions, CheckoutRow, Doubt, OutsideLinks, Skipped};
use crate::model::Certainty;
use crate::text::{SafeText, human};

/// Write the files of a place into an empty or new directory
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// The directory; the one above it must be there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Write nothing and end with code 1 if anything is not known exactly or left out
    #[arg(long)]
    strict: bool,
    /// Write links that lead out of the tree, too; they are never followed
    #[arg(long)]
    allow_outside_links: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Nothing outside DIR is touched and no link is followed. Left out are files outside the
workspace, files whose content is not known as a whole, links that lead out of the tree, and
what cannot be written; a file that something may have changed unseen is written as it was last
known, and one whose secrets were taken out with the placeholders that stand for them. All these
are listed. Permission bits are kept, but not setuid, setgid and sticky.

JSON, one object: directory, written (false: --strict stopped it), entries (how many were
written), skipped (path, certainty, reason: outside-workspace, link-leaves, below-link,
not-known, unreadable, occupied, failed; and message), doubtful (path, certainty).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let looked = self.place.open(around)?;
        let options = CheckoutOptions {
            links: if self.allow_outside_links {
                OutsideLinks::Write
            } else {
                OutsideLinks::Skip
            },
            doubt: if self.strict {
                Doubt::WriteNothing
            } else {
                Doubt::WriteKnown
            },
        };
        let (run, at) = (&looked.run, looked.spot.cursor);
        let name = short_name(self.directory.as_os_str());
        let mut line = ProgressLine::new("write", &name, around);
        let done = line.watch(|tell| run.checkout(at, &self.directory, options, tell))?;
        if self.json {
            out.json(&self.object(&done))?;
        } else {
            self.print(&done, out)?;
        }
        let has_failed = done
            .report
            .skipped()
            .any(|row| matches!(row.skipped, Some(Skipped::Failed(_) | Skipped::Occupied)));
        Ok(Answer::no_if(has_failed || !done.is_written))
    }

    fn object(&self, done: &Checkout) -> Value {
        let skipped = done.report.skipped().map(|row| {
            let skipped = row.skipped.as_ref();
            let more = json!({
                "certainty": row.certainty.as_str(),
                "reason": skipped.map(Skipped::as_str),
                "message": skipped.map(Skipped::to_string),
            });
            fields::with_path(&row.path, more)
        });
        let doubtful = done.report.doubtful().map(|row| {
            fields::with_path(&row.path, json!({ "certainty": row.certainty.as_str() }))
        });
        json!({
            "directory": self.directory.to_string_lossy(),
            "written": done.is_written,
            "entries": written(done),
            "skipped": skipped.collect::<Vec<_>>(),
            "doubtful": doubtful.collect::<Vec<_>>(),
        })
    }

    fn print(&self, done: &Checkout, out: &mut Output) -> Result<(), Failure> {
        let line = |row: &CheckoutRow, why: String| {
            let path = SafeText::from_bytes(row.path.as_bytes());
            (path, SafeText::line(&format!("  {why}")))
        };
        let skipped = done.report.skipped().filter_map(|row| {
            let why = row.skipped.as_ref()?;
            Some(line(row, format!("left out: {why}")))
        });
        let doubtful = done.report.doubtful();
        let doubtful = doubtful.map(|row| {
            let more = match row.certainty {
                Certainty::Redacted => ": placeholders stand where secrets were taken out",
                _ => "",
            };
            line(row, format!("({}{more})", row.certainty))
        });
        for (path, why) in skipped.chain(doubtful) {
            out.spans(&[(Style::Plain, &path), (Style::Doubt, &why)])?;
        }
        let summary = if done.is_written {
            let entries = human::plural(written(done), "entry", "entries");
            format!("{entries} written to {}", self.directory.display())
        } else {
            "nothing was written: not everything is known exactly".to_owned()
        };
        out.line(Style::Strong, &SafeText::line(&summary))?;
        Ok(())
    }
}

fn written(done: &Checkout) -> u64 {
    let rows = done.report.rows.len() - done.report.skipped().count();
    if done.is_written { rows as u64 } else { 0 }
}
