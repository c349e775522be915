//! `jukebox txn commit`: what a transaction changed becomes real, all of it or nothing.

use serde_json::{Value, json};

use super::super::change::{self, ChangeArgs, Consent};
use super::super::effects;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::output::{Output, Style};
use crate::debugger::{
    EndedTransaction, HeldTransaction, HoldError, OpenTransactionError, Preview, Sent,
    TransactionError,
};
use crate::text::SafeText;

/// Commit a transaction: all that its commands changed, or nothing
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The transaction
    id: String,
    #[command(flatten)]
    change: ChangeArgs,
}

const HELP: &str = "\
What commands left running is killed first. If somebody else changed what the transaction changes,
that is a conflict: code 3, nothing is written, and the transaction is still open. The same
bytes are no conflict, and a new time of a file is none. A FIFO, a socket or a device that was
made refuses the whole commit, by its name (code 2). `jukebox txn undo ID` takes a commit back.
On a terminal it asks; elsewhere it needs --yes.

Effects that wait are sent after the commit, in order; the first that does not succeed stops those
behind it, which is code 1: `jukebox effects TAPE --send` goes on. Nothing is sent if the tape could
not be told of the commit (code 1). As long as an effect is in doubt, nothing is committed (code 3).

JSON, one object: directory, written, commit (its number, or null), changes (path, change,
before, after), conflicts (path, base, ours, theirs, kept), late (conflicts that were only seen
when the rest was written), id, untold (why the tape does not say it, or null), sent (as of `jukebox
effects --send`, or null).";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        self.change.check(around)?;
        let held = super::held(around, &self.id)?;
        let preview = held.preview()?;
        if !preview.conflicts.is_empty() {
            return self.refuse(&held, preview, out);
        }
        let directory = held.entry().workspace();
        let done = match self.change.ask(directory, &preview, out)? {
            Consent::Withheld => None,
            Consent::Given => match held.commit() {
                Ok(done) => Some(done),
                // Somebody was quicker than the answer.
                Err(HoldError::Open(OpenTransactionError::Transaction(
                    TransactionError::Conflicts(conflicts),
                ))) => {
                    let preview = Preview {
                        conflicts,
                        ..preview
                    };
                    return self.refuse(&held, preview, out);
                }
                Err(error) => return Err(error.into()),
            },
        };
        self.tell(&held, &preview, done.as_ref(), out)?;
        Ok(Answer::no_if(
            done.is_some_and(|done| is_open_question(&done)),
        ))
    }

    fn refuse(
        &self,
        held: &HeldTransaction,
        preview: Preview,
        out: &mut Output,
    ) -> Result<Answer, Failure> {
        self.tell(held, &preview, None, out)?;
        let error = TransactionError::Conflicts(preview.conflicts);
        let id = &held.entry().id;
        Err(Failure::conflict(format!(
            "{error}; nothing was written, and the transaction is still open: \
             `jukebox txn diff {id}` shows it, `jukebox txn rollback {id}` drops it"
        )))
    }

    fn tell(
        &self,
        held: &HeldTransaction,
        preview: &Preview,
        done: Option<&EndedTransaction>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let directory = held.entry().workspace();
        let sent = done.map(|done| &done.sent);
        let untold = done.and_then(|done| done.told.as_ref().err());
        let done = done.map(|done| &done.committed);
        if self.change.json {
            let mut object = change::object(directory, preview, done);
            object["id"] = json!(held.entry().id);
            object["untold"] = json!(untold.map(|words| SafeText::line(words).as_str().to_owned()));
            object["sent"] = match sent {
                Some(Ok(sent)) => effects::of_sent(sent),
                Some(Err(_)) | None => Value::Null,
            };
            return Ok(out.json(&object)?);
        }
        change::print_outcome(directory, preview, done, out)?;
        if let Some(words) = untold {
            let id = &held.entry().id;
            let line = format!(
                "the files are committed, but the tape does not say so: {words}; `jukebox txn \
                 recover {id}` tells it"
            );
            out.line(Style::Bad, &SafeText::line(&line))?;
        }
        match sent {
            Some(Ok(sent)) if *sent != Sent::default() => {
                let line = sent.in_words();
                out.line(Style::Strong, &SafeText::line(&line))?;
            }
            Some(Err(error)) => {
                let line = format!("what waited may not have been sent: {error}");
                out.line(Style::Bad, &SafeText::line(&line))?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether something came of it that somebody has to look at.
fn is_open_question(done: &EndedTransaction) -> bool {
    let is_sent = matches!(&done.sent, Ok(sent) if sent.stopped.is_none());
    !is_sent || done.told.is_err() || !done.committed.late.is_empty()
}
