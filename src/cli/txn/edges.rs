//! `jukebox txn savepoint` and `jukebox txn rollback`: what is remembered of a transaction, and
//! what is taken back.

use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};

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
}

const SAVEPOINT: &str = "\
What commands left running is killed first.";

const ROLLBACK: &str = "\
The workspace was never changed, and is byte for byte what it was. What commands left running is
killed. Of a savepoint that was gone back to, only later ones are forgotten.";

impl SavepointArgs {
    pub(super) fn run(&self, around: &Environment) -> Result<Answer, Failure> {
        super::held(around, &self.id)?.savepoint(&self.name)?;
        Ok(Answer::Yes)
    }
}

impl RollbackArgs {
    pub(super) fn run(&self, around: &Environment) -> Result<Answer, Failure> {
        super::held(around, &self.id)?.roll_back(self.to.as_deref())?;
        Ok(Answer::Yes)
    }
}
