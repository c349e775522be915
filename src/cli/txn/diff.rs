//! `jukebox txn diff`: what a commit would change.

use serde_json::{Value, json};

use super::super::change;
use super::super::effects;
use super::super::environment::Environment;
use super::super::failure::{Answer, Failure};
use super::super::fields;
use super::super::output::{Output, warn};
use crate::debugger::{
    HoldError, OpenTransactionError, Patch, PatchForm, Proposed, TransactionError, proposed_patch,
};
use crate::text::SafeText;

/// Show what a commit would change, as a unified diff that `git apply` accepts
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The transaction
    id: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Ends with code 0 whether a commit would change something or not: it is a preview. What no patch
can hold, such as an empty directory, is in the JSON only. Effects are listed behind the patch on a
terminal, else on standard error.

JSON, one object: id, directory, changes (path, change, before, after, added, removed, patch, remarks),
conflicts (path, base, ours, theirs): what others changed meanwhile; refused: why it cannot be
committed at all, or null. What a path is: null, or type, blob, len, mode, target. effects: as of
`jukebox effects`.";

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let held = super::held(around, &self.id)?;
        let workspace = held.entry().workspace();
        let proposed = held.proposed()?;
        let ledger = super::ledger(held.entry().tape(), around)?;
        let form = if out.has_terminal() && !self.json {
            PatchForm::Plain
        } else {
            PatchForm::Armoured
        };
        if self.json {
            let (conflicts, refused) = match held.preview() {
                Ok(preview) => (preview.conflicts, None),
                Err(HoldError::Open(OpenTransactionError::Transaction(
                    refused @ TransactionError::Refused { .. },
                ))) => (Vec::new(), Some(refused.to_string())),
                Err(error) => return Err(error.into()),
            };
            let changes = proposed.iter().map(|it| {
                let patch = proposed_patch(it, workspace, form);
                object(it, &patch)
            });
            out.json(&json!({
                "id": held.entry().id,
                "directory": workspace.to_string_lossy(),
                "changes": changes.collect::<Value>(),
                "conflicts": change::conflicts(&conflicts),
                "refused": refused,
                "effects": ledger.iter().map(fields::effect).collect::<Value>(),
            }))?;
            return Ok(Answer::Yes);
        }
        for proposed in &proposed {
            let patch = proposed_patch(proposed, workspace, form);
            let path = SafeText::from_bytes(patch.path.as_bytes());
            for remark in &patch.remarks {
                warn(&format!("{path}: {remark}"));
            }
            out.bytes(&patch.bytes)?;
        }
        // What is no patch goes where it is in the way of nobody who reads one.
        if out.has_terminal() {
            effects::print(&ledger, out)?;
        } else {
            for row in &ledger {
                warn(&format!(
                    "effect {} {}: {}",
                    row.number,
                    row.title(),
                    row.in_words()
                ));
            }
        }
        Ok(Answer::Yes)
    }
}

fn object(proposed: &Proposed, patch: &Patch) -> Value {
    let text = (!patch.bytes.is_empty()).then(|| String::from_utf8_lossy(&patch.bytes));
    let more = json!({
        "change": patch.change.letter().to_string(),
        "before": change::fingerprint(&proposed.base),
        "after": change::fingerprint(&proposed.ours),
        "added": patch.added,
        "removed": patch.removed,
        "patch": text,
        "remarks": fields::lines(&patch.remarks),
    });
    fields::with_path(&proposed.path, more)
}
