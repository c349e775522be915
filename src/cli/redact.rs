//! `jukebox redact`: a tape written again without its secrets.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::TapeArgs;
use super::configuration::ConfigArgs;
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::{Output, Style, warn};
use crate::debugger::Redacted;
use crate::text::SafeText;
use crate::text::human::plural;

/// Write a tape again without its secrets, with placeholders; the old one is left alone
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    tape: TapeArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// The new tape, a new file
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
A secret becomes [REDACTED:1], the same one the same number, in whatever text it stands: prompts,
arguments, outputs, names, paths, links, titles and contents of files; as it is, in base64, hex,
JSON and URLs, and over the frames of a stream. A file that lost one is called redacted, and
never exact.

What is one: tokens that say so themselves (of clouds, GitHub, GitLab, Slack, OpenAI, Anthropic,
Stripe, npm, PyPI and others; JSON Web Tokens, private keys), passwords in URLs, headers like
Authorization and Cookie, random values behind names like api_key, the values of variables of
your environment that are named like secrets, and what [redact] in your jukebox.toml says:

  [redact]
  values = [\"correct horse battery\"]    # secret wherever they stand
  variables = [\"MY_LOGIN\"]              # so are the values of these
  patterns = [\"acme_[0-9a-f]{32}\"]      # of the first group, if there is one
  allow = [\"^acme_0+$\"]                 # what is none, whatever it looks like

Contents that are packed or encrypted are not looked into, and a secret that is a plain word and
that nothing names is not found. Events and steps keep their numbers. The new tape is verified,
and searched for secrets, before it is there; copies of the old one hold them still.

JSON, one object: output, events, changed (events that lost something), placeholders (how many
secrets), found (how often, by sort), left_out (lines that could not be read).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let redacting = self.config.redacting(around, None)?;
        let run = self.tape.open(around)?;
        let done = {
            let mut line = self.tape.progress("redact", around);
            line.watch(|tell| run.redact(&self.output, &redacting, tell))?
        };
        if self.json {
            out.json(&json!({
                "output": self.output.to_string_lossy(),
                "events": done.events,
                "changed": done.changed,
                "placeholders": done.placeholders,
                "found": done.secrets,
                "left_out": done.left_out,
            }))?;
        } else {
            self.print(&done, out)?;
        }
        if done.changed > 0 {
            warn("the old tape is as it was: it and every copy of it hold the secrets still");
        }
        Ok(Answer::Yes)
    }

    fn print(&self, done: &Redacted, out: &mut Output) -> Result<(), Failure> {
        for (kind, count) in &done.secrets {
            let row = format!("{count:>6}  {kind}");
            out.line(Style::Plain, &SafeText::line(&row))?;
        }
        if done.left_out > 0 {
            let lines = plural(done.left_out.into(), "line", "lines");
            let row = format!("{lines} could not be read, and what they held was left out");
            out.line(Style::Doubt, &SafeText::line(&row))?;
        }
        let summary = format!(
            "{} in {} of {}; written to {}",
            plural(done.placeholders.into(), "secret", "secrets"),
            plural(done.changed.into(), "event", "events"),
            done.events,
            self.output.display(),
        );
        out.line(Style::Strong, &SafeText::line(&summary))?;
        Ok(())
    }
}
