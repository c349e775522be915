//! `jukebox txn effect`: what jukebox.toml declares, made for a transaction, or said of one.

use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;

use serde_json::json;

use super::super::effects::SettleArg;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::output::{Output, warn};
use super::exec::{OURS, input};
use crate::debugger::{EffectAnswer, EffectCall, EffectSource};
use crate::model::Outcome;
use crate::text::SafeText;

/// Make an effect that jukebox.toml declares: a request, a message
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The transaction
    id: String,
    /// The effect, as it is declared
    #[arg(required_unless_present = "settle")]
    name: Option<String>,
    /// The key that the other side knows it by; without one, a new one
    #[arg(long)]
    key: Option<String>,
    /// Make it at once, where it would wait for the commit; a rollback leaves it
    #[arg(long)]
    now: bool,
    /// Record what became of effect N instead: done or not-done, where it is in doubt; dropped,
    /// where it is not to be sent
    #[arg(long, value_name = "N=WHAT", conflicts_with_all = ["name", "key", "now", "arguments"])]
    settle: Option<SettleArg>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Arguments of its command
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

const HELP: &str = "\
It is recorded before it is made, and again when it is answered, and runs outside the sandbox. Standard
input, if it is a pipe or a file, is the body of the request. The answer is printed as it is. The
same key with the same request is answered from the record, with another one it is an error. An
irreversible effect waits for the commit and is sent then, in order, unless --now wants it.

Ends with the code of the declared command; 0 if it waits; 125 if it is in doubt, or if it is
Jukebox that failed. What is declared stands in jukebox.toml, as `begin --config` named it.

JSON, one object: number, key, source (made, record, outbox), outcome (ok, failed, interrupted: in
doubt; pending: it waits), exit, output, omitted (bytes of it that were not kept), complaint,
remark. With --settle: settled.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Answer {
        match self.ask(around, out) {
            Ok(answer) => answer,
            Err(failure) => {
                if let Some(line) = failure.line() {
                    warn(line);
                }
                Answer::Ended(OURS)
            }
        }
    }

    fn ask(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let held = super::held(around, &self.id)?;
        if let Some(it) = self.settle {
            held.settle(it.number, it.said)?;
            if self.json {
                out.json(&json!({ "settled": [it.number] }))?;
            }
            return Ok(Answer::Yes);
        }
        let call = EffectCall {
            name: self.name.clone().unwrap_or_default(),
            key: self.key.clone(),
            arguments: self.arguments.clone(),
            is_needed_now: self.now,
        };
        let answer = held.effect(call, body()?)?;
        self.tell(&answer, out)
    }

    fn tell(&self, answer: &EffectAnswer, out: &mut Output) -> Result<Answer, Failure> {
        let number = answer.number;
        if self.json {
            out.json(&object(answer))?;
        } else {
            out.bytes(&answer.output)?;
            for line in answer.complaint.lines() {
                warn(line);
            }
            if answer.source == EffectSource::Outbox {
                warn(&format!("effect {number} waits for the commit"));
            }
            if let Some(remark) = &answer.remark {
                warn(&format!("effect {number}: {remark}"));
            }
        }
        Ok(match answer.outcome {
            Outcome::Interrupted => {
                if !self.json {
                    warn(&format!(
                        "effect {number} is in doubt; --settle {number}=done says that it was done"
                    ));
                }
                Answer::Ended(OURS)
            }
            Outcome::Failed => {
                let code = answer.exit.and_then(|code| u8::try_from(code).ok());
                Answer::Ended(code.unwrap_or(1))
            }
            _ => Answer::Yes,
        })
    }
}

fn object(answer: &EffectAnswer) -> serde_json::Value {
    let text = |text: &str| SafeText::line(text).to_string();
    json!({
        "number": answer.number,
        "key": text(&answer.key),
        "source": answer.source.as_str(),
        "outcome": answer.outcome.as_str(),
        "exit": answer.exit,
        "output": String::from_utf8_lossy(&answer.output),
        "omitted": answer.omitted,
        "complaint": answer.complaint,
        "remark": answer.remark,
    })
}

/// The body of the request, as a file to hand over. Standard input may be a pipe whose other end
/// is slow: the holder waits for nobody.
fn body() -> Result<Option<OwnedFd>, Failure> {
    if input().is_none() {
        return Ok(None);
    }
    let keep = || {
        let mut file = tempfile::tempfile()?;
        // One byte more than a request may have is told from one that fits.
        let most = crate::debugger::MAX_REQUEST as u64 + 1;
        let mut bytes = Vec::new();
        io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        file.write_all(&bytes)?;
        file.rewind()?;
        Ok(OwnedFd::from(file))
    };
    let kept: io::Result<OwnedFd> = keep();
    kept.map(Some)
        .map_err(|error| Failure::machine(format!("standard input cannot be read: {error}")))
}
