//! `jukebox recent`: the runs that were opened on the screen, the latest first.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::RecentRun;
use crate::model::WallTime;
use crate::text::{Align, SafeText, human, width};

/// List the runs that were opened on the screen, the latest first
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The list is kept in the state directory of the user, and holds the last 200 runs.

JSON, one run a line: path (path_base64, where it is no text), there (the file is there), opened
(when it was open last), agent, words (of its first prompt), steps and failed (of the branch that
was looked at), step (at which it was left). Texts are as the tape has them.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let runs = around.places.recent();
        for run in &runs {
            if self.json {
                out.json(&object(run))?;
            } else {
                print(run, out)?;
            }
        }
        if runs.is_empty() && !self.json {
            let words = "no run was opened yet; `jukebox FILE` opens one, `jukebox demo` one that is built in";
            out.line(Style::Faint, &SafeText::literal(words))?;
        }
        Ok(Answer::Yes)
    }
}

fn object(run: &RecentRun) -> serde_json::Value {
    let more = json!({
        "there": run.path.is_file(),
        "opened": run.opened.to_string(),
        "agent": run.agent,
        "words": run.words,
        "steps": run.steps,
        "failed": run.failed,
        "step": run.step,
    });
    fields::with_path_bytes(run.path.as_os_str().as_bytes(), more)
}

fn print(run: &RecentRun, out: &mut Output) -> io::Result<()> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    });
    let age = Duration::from_micros(WallTime(now).since(run.opened));
    let age = width::pad(&SafeText::line(&human::ago(age)), 13, Align::Left);
    let mut facts = vec![format!("step {} of {}", run.step, run.steps)];
    facts.extend((run.failed > 0).then(|| format!("{} failed", run.failed)));
    facts.extend((!run.agent.is_empty()).then(|| run.agent.clone()));
    let facts = SafeText::line(&format!("  [{}]", facts.join(", ")));
    let path = SafeText::from_bytes(run.path.as_os_str().as_bytes());
    let gone = if run.path.is_file() {
        ""
    } else {
        "  is not there any more"
    };
    out.spans(&[
        (Style::Faint, &age),
        (Style::Place, &path),
        (Style::Faint, &facts),
        (Style::Doubt, &SafeText::literal(gone)),
    ])
}
