//! `jukebox restore`: a workspace put back to a step, all or nothing.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::arguments::PlaceArgs;
use super::change::{self, ChangeArgs, Consent};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{Committed, LeftAlone, Pending, Preview, TransactionError, Workspace};
use crate::text::{SafeText, human};

/// Put a workspace back to a place: what the run made, and nobody changed since
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// The workspace
    #[arg(long = "dir", value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    change: ChangeArgs,
}

const HELP: &str = "\
Only paths that calls of the run wrote are touched, and only while they hold a version that the
run knows: anything else there is a conflict (code 3), and nothing at all is written. Files
whose content then is not known for certain are left as they are, listed, and end with code 1:
so are those whose secrets were taken out of the tape. No placeholder is ever written.
All changes happen or none, even if the power goes. What they replace is kept in
DIR/.jukebox: `jukebox txn undo --dir DIR` takes the restore back. On a terminal it asks;
elsewhere it needs --yes.

JSON, one object: directory, written, commit (its number, or null), changes (path, change,
before, after), conflicts (path, base, ours, theirs, kept), left (path, reason, message), late
(conflicts that were only seen when the rest was written). What a path is: null, or type,
blob, len, mode, target.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        self.change.check(around)?;
        let looked = self.place.open(around)?;
        let mut workspace = Workspace::open(&self.directory)?;
        match workspace.status()?.pending {
            Pending::Nothing => {}
            Pending::Commit(_) => {
                return Err(Failure::conflict(
                    "a change to this workspace was cut off; nothing was written: \
                     `jukebox txn recover --dir DIR` finishes it first",
                ));
            }
            Pending::Damaged => return Err(TransactionError::Damaged.into()),
        }
        let restore = looked.run.restore(looked.spot, &workspace)?;
        let preview = workspace.preview(&restore.plan)?;
        if !preview.conflicts.is_empty() {
            self.tell(&preview, &restore.left, None, out)?;
            return Err(TransactionError::Conflicts(preview.conflicts).into());
        }
        let is_there = preview.changes.is_empty();
        let consents = is_there
            || matches!(
                self.change.ask(&self.directory, &preview, out)?,
                Consent::Given
            );
        let done = if consents && !self.change.dry_run {
            Some(workspace.commit(&restore.plan)?)
        } else {
            None
        };
        self.tell(&preview, &restore.left, done.as_ref(), out)?;
        let is_late = done.is_some_and(|done| !done.late.is_empty());
        Ok(Answer::no_if(is_late || !restore.left.is_empty()))
    }

    fn tell(
        &self,
        preview: &Preview,
        left: &[LeftAlone],
        done: Option<&Committed>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        if self.change.json {
            return Ok(out.json(&self.object(preview, left, done))?);
        }
        change::print_conflicts(&preview.conflicts, out)?;
        for left in left {
            let why = format!("  left as it is: {}", left.reason);
            let spans = [
                (Style::Plain, &left.name()),
                (Style::Doubt, &SafeText::line(&why)),
            ];
            out.spans(&spans)?;
        }
        if let Some(done) = done {
            change::print_conflicts(&done.late, out)?;
            let summary = done.in_words(&self.directory);
            out.line(Style::Strong, &SafeText::line(&summary))?;
        } else if preview.conflicts.is_empty() {
            let paths = human::plural(preview.changes.len() as u64, "path", "paths");
            let summary = format!("{paths} would change; nothing was written");
            out.line(Style::Strong, &SafeText::line(&summary))?;
        }
        Ok(())
    }

    fn object(&self, preview: &Preview, left: &[LeftAlone], done: Option<&Committed>) -> Value {
        let left = left.iter().map(|left| {
            let more = json!({
                "reason": left.reason.as_str(),
                "message": left.reason.to_string(),
            });
            fields::with_path(&left.path, more)
        });
        let mut object = change::object(&self.directory, preview, done);
        object["left"] = left.collect();
        object
    }
}
