//! Changes to a workspace, as commands that make them show them: what is to change, what
//! stands against it, and the question before it is done.

use std::io::{self, BufRead as _};
use std::path::Path;

use serde_json::{Value, json};

use super::environment::Environment;
use super::failure::Failure;
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{Committed, Conflict, Fingerprint, Preview, Previewed};
use crate::model::{ChangeKind, EntryKind};
use crate::text::{SafeText, human};

/// What may be typed at every command that changes a workspace.
#[derive(Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// Say what would change, and write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(super) yes: bool,
    /// One JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// What is done with a preview.
pub(super) enum Consent {
    Given,
    /// It was only to be looked at, or the answer was no.
    Withheld,
}

impl ChangeArgs {
    /// Refuses what nobody could be asked about, before anything is read.
    pub(super) fn check(&self, around: &Environment) -> Result<(), Failure> {
        let asks = !self.yes && !self.dry_run;
        if asks && (self.json || !around.can_ask) {
            return Err(Failure::unusable(
                "there is nobody to ask; nothing was written: --dry-run shows it, --yes does it",
            ));
        }
        Ok(())
    }

    /// Shows what would change, and asks where somebody is to be asked.
    pub(super) fn ask(
        &self,
        directory: &Path,
        preview: &Preview,
        out: &mut Output,
    ) -> Result<Consent, Failure> {
        if !self.json {
            for change in &preview.changes {
                out.spans(&[
                    (style(change), &SafeText::line(letter(change))),
                    (Style::Plain, &SafeText::literal(" ")),
                    (Style::Plain, &SafeText::from_bytes(change.path.as_bytes())),
                ])?;
            }
        }
        if self.dry_run {
            return Ok(Consent::Withheld);
        }
        if self.yes {
            return Ok(Consent::Given);
        }
        let paths = human::plural(preview.changes.len() as u64, "path", "paths");
        let question = format!("Change {paths} in {}?", directory.display());
        Ok(if is_agreed(&question, out)? {
            Consent::Given
        } else {
            Consent::Withheld
        })
    }
}

/// Asks a person, who has to say yes.
pub(super) fn is_agreed(question: &str, out: &mut Output) -> Result<bool, Failure> {
    let question = SafeText::line(&format!("{question} [y/N]"));
    out.line(Style::Strong, &question)?;
    out.flush()?;
    Ok(is_yes()?)
}

/// Whether the answer is yes.
pub(super) fn is_yes() -> io::Result<bool> {
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn kind(change: &Previewed) -> ChangeKind {
    match (&change.before, &change.after) {
        (Fingerprint::Absent, _) => ChangeKind::Added,
        (_, Fingerprint::Absent) => ChangeKind::Removed,
        _ => ChangeKind::Modified,
    }
}

fn letter(change: &Previewed) -> &'static str {
    match kind(change) {
        ChangeKind::Added => "A",
        ChangeKind::Removed => "D",
        _ => "M",
    }
}

fn style(change: &Previewed) -> Style {
    match kind(change) {
        ChangeKind::Added => Style::Good,
        ChangeKind::Removed => Style::Bad,
        _ => Style::Doubt,
    }
}

/// The changes, as JSON.
pub(super) fn changes(preview: &Preview) -> Value {
    let row = |change: &Previewed| {
        let more = json!({
            "change": letter(change),
            "before": fingerprint(&change.before),
            "after": fingerprint(&change.after),
        });
        fields::with_path(&change.path, more)
    };
    preview.changes.iter().map(row).collect()
}

/// Conflicts, as JSON.
pub(super) fn conflicts(conflicts: &[Conflict]) -> Value {
    let row = |conflict: &Conflict| {
        let more = json!({
            "base": fingerprint(&conflict.base),
            "ours": fingerprint(&conflict.ours),
            "theirs": fingerprint(&conflict.theirs),
            "kept": conflict.kept,
        });
        fields::with_path(&conflict.path, more)
    };
    conflicts.iter().map(row).collect()
}

/// Conflicts, for people: a line each.
pub(super) fn print_conflicts(conflicts: &[Conflict], out: &mut Output) -> io::Result<()> {
    for conflict in conflicts {
        let [base, ours, theirs] =
            [&conflict.base, &conflict.ours, &conflict.theirs].map(Fingerprint::in_words);
        let mut more = format!("  was {base}, is {theirs}, was to be {ours}");
        if let Some(kept) = &conflict.kept {
            more.push_str("; kept in ");
            more.push_str(kept);
        }
        out.spans(&[
            (Style::Bad, &SafeText::literal("! ")),
            (
                Style::Plain,
                &SafeText::from_bytes(conflict.path.as_bytes()),
            ),
            (Style::Doubt, &SafeText::line(&more)),
        ])?;
    }
    Ok(())
}

/// A change to a workspace and what became of it, as JSON: `done` is nothing where it was not
/// made.
pub(super) fn object(directory: &Path, preview: &Preview, done: Option<&Committed>) -> Value {
    json!({
        "directory": directory.to_string_lossy(),
        "written": done.is_some_and(|done| done.id.is_some()),
        "commit": done.and_then(|done| done.id),
        "changes": changes(preview),
        "conflicts": conflicts(&preview.conflicts),
        "late": conflicts(done.map_or(&[], |done| &done.late)),
    })
}

/// What became of a change, for people, after they were shown it.
pub(super) fn print_outcome(
    directory: &Path,
    preview: &Preview,
    done: Option<&Committed>,
    out: &mut Output,
) -> io::Result<()> {
    print_conflicts(&preview.conflicts, out)?;
    let summary = match done {
        Some(done) => {
            print_conflicts(&done.late, out)?;
            done.in_words(directory)
        }
        None if preview.conflicts.is_empty() => "nothing was written".to_owned(),
        None => return Ok(()),
    };
    out.line(Style::Strong, &SafeText::line(&summary))
}

/// What a path is, as JSON.
pub(super) fn fingerprint(found: &Fingerprint) -> Value {
    let kind = found.kind().map(EntryKind::as_str);
    match found {
        Fingerprint::Absent => Value::Null,
        Fingerprint::File { hash, len, mode } => json!({
            "type": kind, "blob": hash.to_string(), "len": len, "mode": fields::mode(*mode),
        }),
        Fingerprint::Directory { mode } => json!({ "type": kind, "mode": fields::mode(*mode) }),
        Fingerprint::Link(target) => {
            json!({ "type": kind, "target": String::from_utf8_lossy(target) })
        }
        Fingerprint::Other => json!({ "type": "other" }),
        Fingerprint::Unread => json!({ "type": "unread" }),
    }
}
