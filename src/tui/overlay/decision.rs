//! What is said of an end of the transaction: what it would do, what stands against it, what
//! became of it.
//!
//! Of a great many paths the first are listed; the command that lists all of them is named.

use std::collections::BTreeMap;

use super::Row;
use crate::debugger::{
    Conflict, EffectState, EndedTransaction, Fate, Fingerprint, LedgerRow, Proposed, Prospect,
    RolledBack, Sent, Standing, TransactionEnd, TransactionEnded,
};
use crate::text::{Align, SafeText, human, width};
use crate::tui::decision::{Decision, OpenPatch, Shown, Stage};
use crate::tui::job::{LineCount, PatchOf, PatchSort};
use crate::tui::theme::Role;

/// Paths that are listed.
const MOST: usize = 1000;
/// Columns of the count of lines.
const COUNT: usize = 12;

/// Effects of one fate: what is said of them, which they are, and how they look.
type Group = (&'static str, fn(&LedgerRow) -> bool, Role);

/// The patches behind rows, by the numbers of these.
type Page = super::page::Page<BTreeMap<usize, PatchOf>>;

/// The rows of a decision in so many columns.
pub(super) fn page(decision: &Decision, spinner: &'static str, columns: usize) -> Page {
    let mut page = Page::new(columns);
    match (&decision.stage, &decision.patch) {
        (Stage::Shown(shown), Some(patch)) => page.patch(&shown.prospect, patch),
        (Stage::Shown(shown), None) => page.shown(shown),
        (Stage::Asking(..), _) => {
            page.say(
                &format!("{spinner} asking the process that holds the transaction"),
                Role::Quiet,
            );
        }
        (Stage::Ending(..), _) => {
            let words = match decision.end {
                TransactionEnd::Commit => "committing",
                TransactionEnd::RollBack => "rolling back",
            };
            page.say(&format!("{spinner} {words}"), Role::Strong);
            page.say("It goes on when this is closed.", Role::Quiet);
        }
        (Stage::Ended(prospect, ended), _) => page.ended(prospect, ended),
        (Stage::Failed(why), _) => {
            page.say_text(why, Role::Failed);
        }
    }
    page
}

impl Page {
    fn head(&mut self, words: &str) {
        if !self.rows.is_empty() {
            self.blank();
        }
        self.say(words, Role::Heading);
    }

    fn shown(&mut self, shown: &Shown) {
        let prospect = &shown.prospect;
        let directory = prospect.transaction.workspace.display();
        if let Some(remark) = shown.remark {
            self.say(remark, Role::Warning);
        }
        let paths = human::plural(prospect.changes.len() as u64, "path", "paths");
        match prospect.end {
            TransactionEnd::Commit if !prospect.conflicts.is_empty() => {
                return self.conflicts(prospect);
            }
            TransactionEnd::Commit if prospect.changes.is_empty() => {
                let words = format!("Nothing would change in {directory}; a commit ends it.");
                self.say(&words, Role::Strong);
            }
            TransactionEnd::Commit => {
                let words = format!("Change {paths} in {directory}? All of them, or none.");
                self.say(&words, Role::Strong);
            }
            TransactionEnd::RollBack => {
                let words = format!("Forget what changed? Nothing in {directory} was touched.");
                self.say(&words, Role::Strong);
                if !prospect.changes.is_empty() {
                    self.head(&format!("forgotten: {paths}"));
                }
            }
        }
        for (index, change) in prospect.changes.iter().take(MOST).enumerate() {
            self.marks.insert(self.rows.len(), PatchOf::Change(index));
            let row = self.change(change, shown.counts.get(index));
            self.rows.push(row);
        }
        if let Some(more) = prospect
            .changes
            .len()
            .checked_sub(MOST)
            .filter(|more| *more > 0)
        {
            let (more, id) = (human::count(more as u64), &prospect.transaction.id);
            let words = format!("… and {more} more; `jukebox txn diff {id}` shows all");
            self.say(&words, Role::Quiet);
        }
        self.effects(prospect);
    }

    fn change(&self, change: &Proposed, count: Option<&LineCount>) -> Row {
        let (letter, role) = match (&change.base, &change.ours) {
            (Fingerprint::Absent, _) => ("A ", Role::Added),
            (_, Fingerprint::Absent) => ("D ", Role::Removed),
            _ => ("M ", Role::Changed),
        };
        let room = self.columns.saturating_sub(2 + COUNT);
        let path = SafeText::from_bytes(change.path.as_bytes());
        let path = width::pad(&width::fit_middle(&path, room), room, Align::Left);
        let mut row = vec![(SafeText::literal(letter), role), (path, Role::Text)];
        match count {
            None => row.push((of_columns("…"), Role::Quiet)),
            Some(count) if (count.added, count.removed) == (0, 0) => {
                row.push((of_columns(sort_of(change)), Role::Quiet));
            }
            Some(LineCount { added, removed }) => {
                let added = if *added > 0 {
                    format!("+{added}")
                } else {
                    String::new()
                };
                let removed = if *removed > 0 {
                    format!("−{removed}")
                } else {
                    String::new()
                };
                let gap = if added.is_empty() || removed.is_empty() {
                    ""
                } else {
                    " "
                };
                let both = format!("{added}{gap}{removed}");
                let indent = COUNT.saturating_sub(both.chars().count());
                row.push((SafeText::spaces(indent), Role::Quiet));
                row.push((SafeText::line(&format!("{added}{gap}")), Role::Added));
                row.push((SafeText::line(&removed), Role::Removed));
            }
        }
        row
    }

    /// What is done outside, in groups.
    fn effects(&mut self, prospect: &Prospect) {
        let is_committed = prospect.end == TransactionEnd::Commit;
        let groups: &[Group] = if is_committed {
            &[
                (
                    "sent after the commit, in order",
                    |row| row.state == EffectState::Waiting,
                    Role::Text,
                ),
                (
                    "in doubt: as long as nobody says whether it was made, nothing is committed",
                    |row| row.state == EffectState::InDoubt,
                    Role::Warning,
                ),
            ]
        } else {
            &[
                (
                    "taken back, the last first",
                    |row| row.standing == Standing::Open(Fate::Compensated),
                    Role::Text,
                ),
                (
                    "never sent",
                    |row| row.standing == Standing::Open(Fate::NotSent),
                    Role::Text,
                ),
                (
                    "left: it cannot be taken back",
                    |row| row.standing == Standing::Open(Fate::Remains),
                    Role::Warning,
                ),
                (
                    "left: nobody knows whether it was made",
                    |row| row.standing == Standing::Open(Fate::Asked),
                    Role::Warning,
                ),
            ]
        };
        for (name, is_in, role) in groups {
            let rows: Vec<&LedgerRow> = prospect.effects.iter().filter(|row| is_in(row)).collect();
            if rows.is_empty() {
                continue;
            }
            self.head(name);
            for row in rows {
                let sign = row.state.sign();
                let words = format!("{sign} {} {}, {}", row.number, row.title(), row.class);
                self.say(&words, *role);
                if is_committed && row.state == EffectState::InDoubt {
                    let (id, number) = (&prospect.transaction.id, row.number);
                    let words = format!("  `jukebox txn effect {id} --settle {number}=done`");
                    self.say(&words, Role::Quiet);
                }
            }
        }
    }

    fn conflicts(&mut self, prospect: &Prospect) {
        let count = human::plural(prospect.conflicts.len() as u64, "path", "paths");
        let words = format!("Nothing was written: somebody else changed {count} that it changes.");
        self.say(&words, Role::Failed);
        for (index, conflict) in prospect.conflicts.iter().take(MOST).enumerate() {
            self.marks.insert(self.rows.len(), PatchOf::Conflict(index));
            self.conflict(conflict);
        }
        self.blank();
        let id = &prospect.transaction.id;
        self.say(
            &format!(
                "The transaction is still open. Make the path what it was, and commit again; or \
                 take what it wrote from `jukebox txn diff {id}`, and roll it back."
            ),
            Role::Text,
        );
    }

    fn conflict(&mut self, conflict: &Conflict) {
        let room = self.columns.saturating_sub(2);
        let path = SafeText::from_bytes(conflict.path.as_bytes());
        self.rows.push(vec![
            (SafeText::literal("! "), Role::Failed),
            (width::fit_middle(&path, room), Role::Strong),
        ]);
        let sides = [
            ("base", &conflict.base),
            ("ours", &conflict.ours),
            ("theirs", &conflict.theirs),
        ];
        for (side, found) in sides {
            let room = self.columns.saturating_sub(10);
            let lines = width::wrap(&SafeText::line(&found.in_words()), room);
            for (index, line) in lines.into_iter().enumerate() {
                let side = if index == 0 { side } else { "" };
                let side = width::pad(&SafeText::literal(side), 8, Align::Left);
                self.rows.push(vec![
                    (SafeText::spaces(2), Role::Quiet),
                    (side, Role::Quiet),
                    (line, Role::Text),
                ]);
            }
        }
        if let Some(kept) = &conflict.kept {
            self.say(&format!("  ours is kept in {kept}"), Role::Text);
        }
    }

    fn patch(&mut self, prospect: &Prospect, patch: &OpenPatch) {
        let path = match patch.of {
            PatchOf::Change(index) => prospect.changes.get(index).map(|it| &it.path),
            PatchOf::Conflict(index) => {
                self.say("From what stands there to what was to be:", Role::Quiet);
                prospect.conflicts.get(index).map(|it| &it.path)
            }
        };
        if let Some(path) = path {
            let path = SafeText::from_bytes(path.as_bytes());
            let path = width::fit_middle(&path, self.columns);
            self.rows.push(vec![(path, Role::Strong)]);
        }
        for row in patch.rows.get().into_iter().flatten() {
            let role = match row.sort {
                PatchSort::Head => Role::Quiet,
                PatchSort::Hunk => Role::Heading,
                PatchSort::Added => Role::Added,
                PatchSort::Removed => Role::Removed,
                PatchSort::Kept => Role::Text,
                PatchSort::Remark => Role::Warning,
            };
            self.rows.push(vec![(row.text.clone(), role)]);
        }
    }

    fn ended(&mut self, prospect: &Prospect, ended: &TransactionEnded) {
        match ended {
            TransactionEnded::Committed(ended) => self.committed(prospect, ended),
            TransactionEnded::RolledBack(done) => self.rolled_back(done),
            // Either is shown as a question again.
            TransactionEnded::Conflicts(_) | TransactionEnded::Changed => {}
        }
    }

    fn committed(&mut self, prospect: &Prospect, ended: &EndedTransaction) {
        let done = &ended.committed;
        let workspace = &prospect.transaction.workspace;
        self.say(
            &format!("Committed: {}.", done.in_words(workspace)),
            Role::Strong,
        );
        if !done.late.is_empty() {
            self.head("somebody wrote while it was committed: theirs stands, ours is kept");
            for conflict in done.late.iter().take(MOST) {
                self.conflict(conflict);
            }
        }
        let id = &prospect.transaction.id;
        if let Err(why) = &ended.told {
            let words = format!(
                "The tape does not say so, and nothing was sent: {why}; `jukebox txn recover {id}` \
                 tells it."
            );
            self.say(&words, Role::Failed);
        }
        match &ended.sent {
            Ok(sent) if *sent == Sent::default() => {}
            Ok(sent) => {
                let role = if sent.stopped.is_some() {
                    Role::Warning
                } else {
                    Role::Text
                };
                self.say(&sent.in_words(), role);
                if sent.stopped.is_some() {
                    self.say("`jukebox effects TAPE --send` goes on there.", Role::Quiet);
                }
            }
            Err(error) => {
                let words = format!("What waited may not have been sent: {error}");
                self.say(&words, Role::Failed);
            }
        }
        if done.id.is_some() {
            self.say(
                &format!("`jukebox txn undo {id}` takes it back."),
                Role::Quiet,
            );
        }
    }

    fn rolled_back(&mut self, done: &RolledBack) {
        self.say("Rolled back: the workspace is as it was.", Role::Strong);
        let numbers = |numbers: &[u32]| {
            let numbers: Vec<String> = numbers.iter().map(|it| format!("effect {it}")).collect();
            numbers.join(", ")
        };
        if !done.compensated.is_empty() {
            self.say(
                &format!("taken back: {}", numbers(&done.compensated)),
                Role::Text,
            );
        }
        if !done.not_sent.is_empty() {
            self.say(
                &format!("never sent: {}", numbers(&done.not_sent)),
                Role::Text,
            );
        }
        for residue in &done.residue {
            self.say(&residue.to_string(), Role::Warning);
        }
        if !done.residue.is_empty() {
            self.say(
                "`jukebox effects TAPE --take-back` tries again.",
                Role::Quiet,
            );
        }
    }
}

/// What changes of a path that changes no lines.
fn sort_of(change: &Proposed) -> &'static str {
    let side = match &change.ours {
        Fingerprint::Absent => &change.base,
        ours => ours,
    };
    match side {
        Fingerprint::Directory { .. } => "directory",
        Fingerprint::Link(_) => "link",
        Fingerprint::File { .. } => match (&change.base, &change.ours) {
            (Fingerprint::File { hash: old, .. }, Fingerprint::File { hash: new, .. })
                if old == new =>
            {
                "mode"
            }
            _ => "no lines",
        },
        Fingerprint::Absent | Fingerprint::Other | Fingerprint::Unread => "",
    }
}

fn of_columns(words: &'static str) -> SafeText {
    width::pad(&SafeText::literal(words), COUNT, Align::Right)
}
