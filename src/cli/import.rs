//! `jukebox import`: a transcript written as a tape, and what the import made of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::arguments::{BaseArgs, short_name, source};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use super::progress::ProgressLine;
use crate::debugger::{self, ImportReport};
use crate::text::SafeText;
use crate::text::human::plural;

/// Write a transcript as a tape, or say what that would make of it
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The transcript; `-` is standard input
    file: OsString,
    #[command(flatten)]
    base: BaseArgs,
    /// The tape, a new file
    #[arg(short, long, value_name = "TAPE", required_unless_present = "report")]
    output: Option<PathBuf>,
    /// Say what was read, what was guessed and what was lost
    #[arg(long)]
    report: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
With --report and without -o nothing is written.

JSON, one object: output (the tape, or null), format, records (how many, by type), events,
branches, agents; edits (that succeeded), edits_with_preimage (of these, those whose record
holds the file as it was before), edits_base_known (of these, those of a file known before),
edits_matched (of these, those of a file that was what it was thought to be, byte for byte),
edits_partial (only some lines are known after it), edits_unknown (not rebuilt);
outside_changes, certainty (files at the end, by how well they are known), unreachable (records
that no later one follows), repeated, progress (records and bytes that were counted and not
kept), not_understood, guessed, lost (each: what, and how often), problems (line, offset, kind,
message).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let source = source(&self.file);
        let options = self.base.options(&source, around);
        let mut line = ProgressLine::new("import", &short_name(&self.file), around);
        let report = match &self.output {
            Some(tape) => line.watch(|tell| debugger::import(source, tape, &options, tell))?,
            None => line.watch(|tell| debugger::import_report(source, &options, tell))?,
        };
        if self.json {
            out.json(&self.object(&report))?;
            return Ok(Answer::Yes);
        }
        if self.report {
            print(&report, out)?;
        }
        if let Some(tape) = &self.output {
            let events = plural(report.events, "event", "events");
            let summary = format!("{events} written to {}", tape.display());
            out.line(Style::Strong, &SafeText::line(&summary))?;
        }
        Ok(Answer::Yes)
    }

    fn object(&self, report: &ImportReport) -> Value {
        let certainty: serde_json::Map<String, Value> = report
            .files
            .iter()
            .map(|(certainty, files)| (certainty.to_string(), (*files).into()))
            .collect();
        json!({
            "output": self.output.as_ref().map(|tape| tape.to_string_lossy()),
            "format": report.format,
            "records": report.records,
            "events": report.events,
            "branches": report.branches,
            "agents": report.agents,
            "edits": report.edits.all,
            "edits_with_preimage": report.edits.with_preimage,
            "edits_base_known": report.edits.base_known,
            "edits_matched": report.edits.matched,
            "edits_partial": report.edits.partial,
            "edits_unknown": report.edits.unknown,
            "outside_changes": report.outside_changes,
            "certainty": certainty,
            "unreachable": report.unreachable,
            "repeated": report.repeated,
            "progress": {
                "records": report.progress.records,
                "bytes": report.progress.bytes,
            },
            "not_understood": report.not_understood,
            "guessed": report.guessed,
            "lost": report.lost,
            "problems": report.problems.iter().map(fields::problem).collect::<Vec<_>>(),
        })
    }
}

fn print(report: &ImportReport, out: &mut Output) -> Result<(), Failure> {
    let edits = report.edits;
    let records: u64 = report.records.values().sum();
    let facts = [
        format!(
            "{} of {}: {}",
            plural(records, "record", "records"),
            report.format,
            counts(&report.records),
        ),
        format!(
            "{}, {}, {}",
            plural(report.events, "event", "events"),
            plural(report.branches, "branch", "branches"),
            plural(report.agents, "sub-agent", "sub-agents"),
        ),
        format!(
            "{}, {} only in part, {} not at all",
            plural(edits.all, "edit", "edits"),
            edits.partial,
            edits.unknown,
        ),
        format!(
            "{} with the file as it was before; of these {} of a file known before; \
             of these {} matched byte for byte",
            edits.with_preimage, edits.base_known, edits.matched,
        ),
        plural(report.outside_changes, "outside change", "outside changes"),
    ];
    let names = ["read", "tape", "edits", "", "outside"];
    for (name, fact) in names.into_iter().zip(&facts) {
        row(name, fact, Style::Plain, out)?;
    }
    let files = report.files.iter();
    let files: Vec<String> = files
        .map(|(certainty, count)| format!("{count} {certainty}"))
        .collect();
    row("files", &files.join(", "), Style::Plain, out)?;
    let asides = [
        (
            report.unreachable,
            "not followed by any later record, and kept",
        ),
        (report.repeated, "standing a second time, and left out"),
        (
            report.progress.records,
            "only of progress, counted and not kept",
        ),
    ];
    for (count, what) in asides.into_iter().filter(|(count, _)| *count > 0) {
        let records = plural(count, "record", "records");
        row("aside", &format!("{records} {what}"), Style::Plain, out)?;
    }
    list("unknown", &report.not_understood, Style::Doubt, out)?;
    list("guessed", &report.guessed, Style::Doubt, out)?;
    list("lost", &report.lost, Style::Bad, out)?;
    for problem in &report.problems {
        row("problem", &problem.to_string(), Style::Bad, out)?;
    }
    Ok(())
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter().map(|(what, count)| format!("{count} {what}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn list(
    name: &'static str,
    counts: &BTreeMap<String, u64>,
    style: Style,
    out: &mut Output,
) -> Result<(), Failure> {
    for (what, count) in counts {
        row(name, &format!("{count} × {what}"), style, out)?;
    }
    Ok(())
}

fn row(name: &str, fact: &str, style: Style, out: &mut Output) -> Result<(), Failure> {
    let name = SafeText::line(&format!("{name:<8} "));
    out.spans(&[(Style::Faint, &name), (style, &SafeText::line(fact))])?;
    Ok(())
}
