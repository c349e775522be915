//! `jukebox doctor`: what this machine allows, and what to do about the rest.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style};
use crate::debugger::{Backend, Finding, Probe, Tested, probe_sandbox};
use crate::text::SafeText;

/// Say what this machine allows of the sandbox, and what is missing for what
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Look on the file system of this directory; otherwise where temporary files lie
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
A sandbox is started over a new directory, and a guarded process tries what commands may not.
Nothing is left behind. Ends with code 4 if the machine allows no sandbox.

JSON, one object: backend (overlay, copy; null: none is possible), findings (each: what; verdict,
one of holds, missing, unknown; detail, or cause and cure; needed, for the overlay).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let Some(program) = &around.program else {
            let line = "the program's own file cannot be found; is /proc mounted?";
            return Err(Failure::machine(line));
        };
        let place = self.dir.as_ref().unwrap_or(&around.temporary);
        let found = probe_sandbox(program, place).map_err(|error| {
            let place = place.display();
            Failure::unusable(format!(
                "`{place}`: {error}; --dir takes a directory to write in"
            ))
        })?;
        if self.json {
            out.json(&json!({
                "backend": found.backend.map(Backend::as_str),
                "findings": found.findings.iter().map(finding).collect::<Vec<_>>(),
            }))?;
        } else {
            print(&found, out)?;
        }
        match found.backend {
            Some(_) => Ok(Answer::Yes),
            None => Err(Failure::machine(
                "this machine allows no sandbox; everything that only reads works without",
            )),
        }
    }
}

fn finding(finding: &Finding) -> Value {
    let what = finding.what.as_str();
    match &finding.verdict {
        Tested::Holds(detail) => json!({"what": what, "verdict": "holds", "detail": detail}),
        Tested::Missing {
            cause,
            cure,
            is_needed,
        } => json!({
            "what": what,
            "verdict": "missing",
            "cause": cause,
            "cure": cure,
            "needed": is_needed,
        }),
        Tested::Unknown => json!({"what": what, "verdict": "unknown"}),
    }
}

fn print(found: &Probe, out: &mut Output) -> Result<(), Failure> {
    for finding in &found.findings {
        let (style, mark, words) = match &finding.verdict {
            Tested::Holds(detail) => (Style::Good, "holds", detail.clone()),
            Tested::Missing {
                cause,
                cure,
                is_needed,
            } => {
                let style = if *is_needed { Style::Bad } else { Style::Faint };
                (style, "missing", format!("{cause}; {cure}"))
            }
            Tested::Unknown => (Style::Faint, "unknown", "not reached".to_owned()),
        };
        let what = SafeText::line(&format!("{:<11} ", finding.what.as_str()));
        let mark = SafeText::line(&format!("{mark:<8} "));
        let words = SafeText::line(&words);
        out.spans(&[
            (Style::Plain, &what),
            (style, &mark),
            (Style::Plain, &words),
        ])?;
    }
    let backend = found.backend.map_or("none", Backend::as_str);
    let summary = SafeText::line(&format!("sandbox: {backend}"));
    Ok(out.line(Style::Strong, &summary)?)
}
