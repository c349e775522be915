//! `jukebox verify`: everything that is wrong with a tape.

use serde_json::{Value, json};

use super::arguments::TapeArgs;
use super::configuration::ConfigArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{ReadError, VerifyStats};
use crate::text::SafeText;
use crate::text::human::{plural, size};

/// Check a tape: its chain, its order, its contents, its snapshots against its events
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    /// List the secrets on it instead: where, and what sort, never what they say
    #[arg(long, conflicts_with = "stats")]
    secrets: bool,
    #[command(flatten)]
    config: ConfigArgs,
    /// Say what the bytes went into, and what the snapshots cost and bought
    #[arg(long)]
    stats: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Ends with code 1 if there is a problem, or with --secrets a secret. What counts as one,
`jukebox redact --help` says; `jukebox redact TAPE -o NEW` takes them out.

Of a fork, what it shares with its parent is checked, too, and that this is the parent it left.

JSON, one object: events, steps, problems (each: line, from 1; offset, in bytes; kind; message;
file, where it is one of a fork's parents);
with --secrets only secrets (each: seq, step, field, kind);
with --stats also stats: bytes, file_events, file_bytes (of their lines), contents (how many by
how they travel, and decoded_bytes), snapshots (count, bytes; longest_way and mean_way: bytes of
file events from a snapshot to an event; mean_way_without: from the start of the tape).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        if self.secrets {
            return self.list_secrets(around, out);
        }
        let run = self.tape.open_quietly(around)?;
        let mut line = self.tape.progress("verify", around);
        let found = line.watch(|tell| {
            let found = run.verify(tell)?;
            found.is_complete.then_some(found).ok_or(Failure::stopped())
        })?;
        if self.json {
            let mut object = json!({
                "events": found.events,
                "steps": found.steps,
                "problems": found.problems.iter().map(fields::problem).collect::<Vec<_>>(),
            });
            if self.stats {
                object["stats"] = stats(&found.stats);
            }
            out.json(&object)?;
            return Ok(Answer::no_if(!found.problems.is_empty()));
        }
        for problem in &found.problems {
            let kind = SafeText::line(&format!("{}  ", problem.kind.as_str()));
            let problem = SafeText::line(&problem.to_string());
            out.spans(&[(Style::Bad, &kind), (Style::Plain, &problem)])?;
        }
        if self.stats {
            print_stats(&found.stats, out)?;
        }
        let summary = format!(
            "{}, {}: {}",
            plural(found.events.into(), "event", "events"),
            plural(found.steps.into(), "step", "steps"),
            plural(found.problems.len() as u64, "problem", "problems"),
        );
        out.line(Style::Strong, &SafeText::line(&summary))?;
        Ok(Answer::no_if(!found.problems.is_empty()))
    }

    fn list_secrets(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let redacting = self.config.redacting(around, None)?;
        let run = self.tape.open(around)?;
        let mut found = Vec::new();
        let mut line = self.tape.progress("verify", around);
        line.watch(|tell| {
            let complete = run.find_secrets(&redacting, tell, &mut |leak| found.push(leak));
            complete
                .map_err(ReadError::from)?
                .then_some(())
                .ok_or(Failure::stopped())
        })?;
        if self.json {
            let rows = found.iter().map(|leak| {
                json!({
                    "seq": leak.seq.0,
                    "step": leak.step.map(|step| step.0),
                    "field": leak.field,
                    "kind": leak.kind,
                })
            });
            let rows: Vec<Value> = rows.collect();
            out.json(&json!({ "secrets": rows }))?;
            return Ok(Answer::no_if(!found.is_empty()));
        }
        for leak in &found {
            let step = leak.step.map_or_else(String::new, |step| step.to_string());
            let place = format!("{step:>5}  @seq:{:<6} {:<12} ", leak.seq, leak.field);
            let (place, kind) = (SafeText::line(&place), SafeText::line(&leak.kind));
            out.spans(&[(Style::Place, &place), (Style::Bad, &kind)])?;
        }
        let summary = plural(found.len() as u64, "secret", "secrets");
        out.line(Style::Strong, &SafeText::line(&summary))?;
        Ok(Answer::no_if(!found.is_empty()))
    }
}

fn stats(stats: &VerifyStats) -> Value {
    let (contents, snapshots) = (&stats.contents, &stats.snapshots);
    json!({
        "bytes": stats.bytes,
        "file_events": stats.file_events,
        "file_bytes": stats.file_bytes,
        "contents": {
            "text": contents.text,
            "zstd": contents.zstd,
            "splice": contents.splice,
            "elsewhere": contents.elsewhere,
            "unstored": contents.unstored,
            "decoded_bytes": contents.decoded_bytes,
        },
        "snapshots": {
            "count": snapshots.count(),
            "bytes": snapshots.bytes,
            "longest_way": snapshots.longest_way,
            "mean_way": snapshots.mean_way,
            "mean_way_without": snapshots.mean_way_without,
        },
    })
}

fn print_stats(stats: &VerifyStats, out: &mut Output) -> Result<(), Failure> {
    let (contents, snapshots) = (&stats.contents, &stats.snapshots);
    let facts = [
        format!(
            "{} in all, {} of them in {}",
            size(stats.bytes),
            size(stats.file_bytes),
            plural(stats.file_events, "file event", "file events"),
        ),
        format!(
            "contents: {} as text, {} compressed, {} as a change of another, {} stored elsewhere, \
             {} not kept; {} decoded",
            contents.text,
            contents.zstd,
            contents.splice,
            contents.elsewhere,
            contents.unstored,
            size(contents.decoded_bytes),
        ),
        format!(
            "{} in {}; from one to an event {} on average, {} at most, {} without them",
            plural(snapshots.count(), "snapshot", "snapshots"),
            size(snapshots.bytes),
            size(snapshots.mean_way),
            size(snapshots.longest_way),
            size(snapshots.mean_way_without),
        ),
    ];
    for fact in &facts {
        out.line(Style::Plain, &SafeText::line(fact))?;
    }
    Ok(())
}
