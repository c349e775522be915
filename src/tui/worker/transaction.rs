//! What is asked about the transaction whose tape the run is.
//!
//! The run is read for a moment only: whoever holds the transaction may take long, and the run
//! has to be free to grow meanwhile.

use std::path::Path;
use std::sync::RwLockReadGuard;
use std::time::Instant;

use super::TOLD;
use super::answer::safe;
use crate::debugger::{
    Debugger, LinkError, Patch, PatchForm, Prospect, TransactionEnd, conflict_patch, proposed_patch,
};
use crate::text::{SafeText, width};
use crate::tui::job::{LineCount, PatchOf, PatchRow, PatchSort, TransactionAnswer, TransactionJob};
use crate::tui::reading;

/// Changes of which the lines are counted; more are not listed.
const MAX_COUNTED: usize = 1000;
/// Rows of a patch; nobody reads more here.
const MAX_ROWS: usize = 20_000;
/// Columns before the rest of a line that is broken.
const CONTINUED: usize = 2;

/// Does the job and gives the answer to `reply`.
pub(super) fn answer<'a>(
    read: &dyn Fn() -> RwLockReadGuard<'a, Debugger>,
    job: &TransactionJob,
    is_cancelled: &dyn Fn() -> bool,
    reply: &mut dyn FnMut(TransactionAnswer),
) {
    let link = || read().transaction_link();
    match job {
        TransactionJob::Standing => {
            let standing = link().map_or(Ok(None), |link| link.standing());
            reply(TransactionAnswer::Standing(standing.map_err(safe)));
        }
        TransactionJob::View { at, columns } => {
            let view = read().transaction(*at);
            let standing = link().and_then(|link| link.standing().ok()?);
            let columns = usize::from(*columns);
            let rows = if let Some(view) = view {
                reading::sections(&view.sections(standing.as_ref()), columns)
            } else {
                let words = SafeText::literal("No transaction has begun up to here.");
                reading::lines(&[words], columns)
            };
            reply(TransactionAnswer::View(rows));
        }
        TransactionJob::Prospect(end) => {
            let prospect = prospect(read, *end).map_err(safe);
            let counted = prospect.clone().ok();
            reply(TransactionAnswer::Prospect(prospect.map(Box::new)));
            if let Some(prospect) = counted {
                count(&prospect, is_cancelled, reply);
            }
        }
        TransactionJob::End(shown) => {
            let ended = match link() {
                Some(link) => link.end(shown),
                None => Err(LinkError::None),
            };
            reply(TransactionAnswer::Ended(ended.map(Box::new).map_err(safe)));
        }
        TransactionJob::Patch {
            prospect,
            of,
            columns,
        } => reply(TransactionAnswer::Patch(patch(
            prospect,
            *of,
            usize::from(*columns),
        ))),
        TransactionJob::Stop => {}
    }
}

fn prospect<'a>(
    read: &dyn Fn() -> RwLockReadGuard<'a, Debugger>,
    end: TransactionEnd,
) -> Result<Prospect, LinkError> {
    let link = read().transaction_link().ok_or(LinkError::None)?;
    link.prospect(end)
}

/// Counts the lines of each change, and tells them as time goes by.
fn count(
    prospect: &Prospect,
    is_cancelled: &dyn Fn() -> bool,
    reply: &mut dyn FnMut(TransactionAnswer),
) {
    let workspace = &prospect.transaction.workspace;
    let (mut counts, mut told) = (Vec::new(), Instant::now());
    for change in prospect.changes.iter().take(MAX_COUNTED) {
        if is_cancelled() {
            return;
        }
        let patch = proposed_patch(change, workspace, PatchForm::Plain);
        counts.push(LineCount {
            added: patch.added,
            removed: patch.removed,
        });
        if told.elapsed() >= TOLD {
            told = Instant::now();
            reply(TransactionAnswer::Counted(std::mem::take(&mut counts)));
        }
    }
    if !counts.is_empty() {
        reply(TransactionAnswer::Counted(counts));
    }
}

/// How a path would change, set in lines.
fn patch(prospect: &Prospect, of: PatchOf, columns: usize) -> Vec<PatchRow> {
    let workspace: &Path = &prospect.transaction.workspace;
    let found = match of {
        PatchOf::Change(index) => {
            let change = prospect.changes.get(index);
            change.map(|change| proposed_patch(change, workspace, PatchForm::Plain))
        }
        PatchOf::Conflict(index) => prospect.conflicts.get(index).and_then(|conflict| {
            let mut changes = prospect.changes.iter();
            let change = changes.find(|change| change.path == conflict.path)?;
            let form = PatchForm::Plain;
            Some(conflict_patch(conflict, change, workspace, form))
        }),
    };
    found.map_or_else(Vec::new, |patch| rows(&patch, columns))
}

fn rows(patch: &Patch, columns: usize) -> Vec<PatchRow> {
    let mut rows = Vec::new();
    let mut push = |sort, text: &SafeText| {
        let total = width::width(text);
        let mut start = columns.min(total);
        rows.push(PatchRow {
            sort,
            text: width::slice(text, 0, columns),
        });
        while start < total && rows.len() < MAX_ROWS {
            let room = columns.saturating_sub(CONTINUED).max(1);
            let mut piece = SafeText::spaces(CONTINUED);
            piece.push(&width::slice(text, start, room));
            rows.push(PatchRow { sort, text: piece });
            start += room;
        }
        rows.len() < MAX_ROWS
    };
    for remark in &patch.remarks {
        for line in width::wrap(remark, columns) {
            push(PatchSort::Remark, &line);
        }
    }
    let mut is_in_hunk = false;
    for line in patch.bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        // Lines of a hunk begin with one of a few signs, and those of a head with a letter.
        is_in_hunk = match line.first() {
            Some(b'@') => true,
            Some(b'+' | b'-' | b' ' | b'\\') => is_in_hunk,
            _ => false,
        };
        let sort = match line.first() {
            Some(b'@') => PatchSort::Hunk,
            Some(b'+') if is_in_hunk => PatchSort::Added,
            Some(b'-') if is_in_hunk => PatchSort::Removed,
            _ if is_in_hunk => PatchSort::Kept,
            _ => PatchSort::Head,
        };
        if !push(sort, &SafeText::from_bytes(line)) {
            break;
        }
    }
    if patch.bytes.is_empty() && patch.remarks.is_empty() {
        let words = SafeText::literal("There are no lines to show: it is a directory.");
        push(PatchSort::Remark, &words);
    }
    rows
}
