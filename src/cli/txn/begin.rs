//! `jukebox txn begin`: a transaction that stays open when the command has ended.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;

use super::super::configuration::ConfigArgs;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::output::{Output, Style};
use crate::debugger::{Backend, HeldTransaction, HoldBegin, Isolation, begin_transaction};
use crate::text::SafeText;

/// Begin a transaction, and print its id
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The workspace
    #[arg(long = "dir", value_name = "DIR")]
    directory: PathBuf,
    /// What must be as it was when the transaction is committed
    #[arg(long, value_enum, default_value_t = Kept::Writes, value_name = "WHAT")]
    isolation: Kept,
    /// What keeps commands from the workspace
    #[arg(long, value_enum, default_value_t = By::Overlay, value_name = "HOW")]
    backend: By,
    /// Leave secrets in what is recorded
    #[arg(long)]
    keep_secrets: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What must be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// What the transaction writes
    Writes,
    /// Everything: any change by others is a conflict
    Base,
}

/// What keeps commands from the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// An overlay over the workspace's own path
    Overlay,
    /// A full copy at another path
    Copy,
}

const HELP: &str = "\
Prints the id and nothing else. What is recorded lies in DIR/.jukebox/tapes/ID.jsonl, and can be
read while it grows: `jukebox open DIR/.jukebox/tapes/ID.jsonl --follow`.

What others change in the workspace shows through to the commands, until they have changed the
same file themselves: with --isolation writes that is a conflict only where the transaction
changes it too. What is read is not recorded. With --isolation base every file is read at the
beginning. A true snapshot of the workspace is what --backend copy gives.

What `jukebox txn effect` may make is declared in jukebox.toml, which is read again whenever an
effect is made or taken back. One in DIR is refused.

Secrets are taken out before anything is on the tape, and placeholders stand for them: `jukebox
redact --help` says what is one; of variables, those that are set now count. Files and effects are
made with the secrets all the same, as long as the process lives that holds the transaction: after
its death nothing is made from a placeholder, and `jukebox effects` says which effects those are.

Ends with code 4 if the machine allows no sandbox: `jukebox doctor` says what is missing.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let state = super::state_directory(around)?;
        let Some(program) = around.program.clone() else {
            let line = "the program's own file cannot be found; is /proc mounted?";
            return Err(Failure::machine(line));
        };
        let surroundings = self.config.surroundings(around)?;
        let workspace = self.directory.canonicalize().map_err(|error| {
            let directory = self.directory.display();
            Failure::unusable(format!("`{directory}`: {error}; --dir takes a directory"))
        })?;
        // A mistake is told now, and not when the first effect is to be made.
        surroundings.declarations(&workspace)?;
        let redacting = if self.keep_secrets {
            None
        } else {
            Some(self.config.redacting(around, Some(&workspace))?)
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let id = begin_transaction(&HoldBegin {
            workspace,
            program,
            backend: match self.backend {
                By::Overlay => Backend::Overlay,
                By::Copy => Backend::Copy,
            },
            home: around.home.clone(),
            state: state.to_owned(),
            runtime: around.runtime.clone(),
            isolation: match self.isolation {
                Kept::Writes => Isolation::Writes,
                Kept::Base => Isolation::Base,
            },
            now: since.map_or(0, |since| since.as_secs()),
            surroundings,
            redacting,
        })?;
        let printed = out.line(Style::Plain, &SafeText::line(&id));
        if let Err(error) = printed.and_then(|()| out.flush()) {
            // Nobody knows its id: nobody would ever end it.
            let registry = super::registry(around)?;
            HeldTransaction::find(&registry, &id)?.roll_back(None)?;
            return Err(error.into());
        }
        Ok(Answer::Yes)
    }
}
