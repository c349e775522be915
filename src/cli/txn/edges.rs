//! `jukebox txn savepoint` and `jukebox txn rollback`: what is remembered of a transaction, and
//! what is taken back.

use serde_json::{Value, json};

use super::super::effects;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::fields;
use super::super::output::{Output, Style};
use crate::debugger::RolledBack;
use crate::text::SafeText;

/// Remember what the workspace is in a transaction, under a name
#[derive(Debug, clap::Args)]
#[command(after_help = SAVEPOINT)]
pub(super) struct SavepointArgs {
    /// The transaction
    id: String,
    /// The name
    name: String,
}

/// Take back what a transaction did, wholly or to a savepoint
#[derive(Debug, clap::Args)]
#[command(after_help = ROLLBACK)]
pub(super) struct RollbackArgs {
    /// The transaction
    id: String,
    /// Back to this savepoint; the transaction stays open
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Say what a whole rollback does about effects, and do nothing
    #[arg(long, conflicts_with = "to")]
    dry_run: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const SAVEPOINT: &str = "\
What commands left running is killed first.";

const ROLLBACK: &str = "\
The workspace was never changed, and is byte for byte what it was. What commands left running is
killed. Of a savepoint that was gone back to, only later ones are forgotten.

What was done outside is taken back, the last first, by the compensations that jukebox.toml
declares, and what waits is never sent. What remains is printed, and ends with code 1; `jukebox
effects TAPE --take-back` tries again.

JSON, one object: not_sent, compensated, residue, as of `jukebox effects --take-back`; with
--dry-run: effects, as of `jukebox effects`.";

impl SavepointArgs {
    pub(super) fn run(&self, around: &Environment) -> Result<Answer, Failure> {
        super::held(around, &self.id)?.savepoint(&self.name)?;
        Ok(Answer::Yes)
    }
}

impl RollbackArgs {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let held = super::held(around, &self.id)?;
        if self.dry_run {
            let rows = super::ledger(held.entry().tape(), around)?;
            if self.json {
                out.json(
                    &json!({ "effects": rows.iter().map(fields::effect).collect::<Value>() }),
                )?;
            } else {
                effects::print(&rows, out)?;
            }
            return Ok(Answer::Yes);
        }
        let done = held.roll_back(self.to.as_deref())?;
        if self.json {
            out.json(&effects::of_rolled_back(&done))?;
        } else if done != RolledBack::default() {
            out.line(Style::Strong, &SafeText::line(&done.to_string()))?;
        }
        Ok(Answer::no_if(!done.residue.is_empty()))
    }
}
