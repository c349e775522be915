//! What is done in the tree of forks: choosing, opening, holding beside, renaming, deleting.

use std::path::PathBuf;

use crate::debugger::{ForkPoints, ForkRow, Presence, RunSource};
use crate::text::SafeText;
use crate::tui::action::ActionId;
use crate::tui::app::{App, Tone};
use crate::tui::fork_tree::{Change, ForkTree, OpeningRun, Refusal, Stage, file_name, name_of};
use crate::tui::held::Ticket;
use crate::tui::job::{Answered, ForkTreeAnswer, ForkTreeJob, Job};
use crate::tui::key::Key;
use crate::tui::layout::scrolled;
use crate::tui::overlay::{Overlay, OverlaySort, Sheet};
use crate::tui::panes::offset;
use crate::tui::prompt::{Prompt, Purpose};

/// The key that renames, which means nothing elsewhere.
const RENAME: &str = "r";

impl App {
    fn ask_about_forks(&mut self, job: ForkTreeJob) -> Ticket {
        self.desk.ask(Job::ForkTree(job))
    }

    /// Shows the tree, or no longer.
    pub(super) fn toggle_fork_tree(&mut self) {
        if self.fork_tree_is_shown() {
            self.overlay = None;
            return;
        }
        let asked = self.ask_about_forks(ForkTreeJob::Tree);
        self.fork_tree = Some(ForkTree::new(asked));
        let sort = OverlaySort::ForkTree;
        self.overlay = Some(Overlay { sort, top: 0 });
    }

    /// Whether the tree lies over the panes.
    pub(in crate::tui) fn fork_tree_is_shown(&self) -> bool {
        let sort = self.overlay.map(|overlay| overlay.sort);
        self.fork_tree.is_some() && sort == Some(OverlaySort::ForkTree)
    }

    /// Whether its tapes are listed, so that one can be chosen.
    pub(super) fn fork_tree_is_listed(&self) -> bool {
        let tree = self.fork_tree.as_ref();
        let is_listed = tree.is_some_and(|tree| matches!(tree.stage, Stage::Listed));
        is_listed && self.fork_tree_is_shown()
    }

    /// What keys do to it that mean something else elsewhere; whether this one did.
    pub(super) fn press_in_fork_tree(&mut self, key: Key, action: Option<ActionId>) -> bool {
        if !self.fork_tree_is_shown() {
            return false;
        }
        let Some(tree) = &mut self.fork_tree else {
            return false;
        };
        let is_back = matches!(action, Some(ActionId::Close | ActionId::Back));
        match &tree.stage {
            // What is being done to a file is waited for: that takes a moment.
            Stage::Changing(..) => return is_back || action == Some(ActionId::ForkTree),
            Stage::Asked if action == Some(ActionId::Confirm) => self.delete_chosen_fork(),
            Stage::Asked | Stage::Refused(_) if is_back => {
                tree.stage = Stage::Listed;
                self.keep_chosen_fork_in_view();
            }
            _ if is_back && self.opening_run.take().is_some() => {}
            _ if is_back => self.overlay = None,
            // There is nothing to choose among; and nothing is lost by a key that means yes
            // elsewhere.
            Stage::Listed if tree.rows.len() > 1 => return self.press_in_listed(key, action),
            _ => return action == Some(ActionId::Open),
        }
        true
    }

    /// What keys do to the tapes that are listed; whether this one did.
    fn press_in_listed(&mut self, key: Key, action: Option<ActionId>) -> bool {
        match action {
            _ if key.to_string() == RENAME => self.begin_rename(),
            Some(ActionId::Open) => self.open_chosen_fork(),
            Some(ActionId::Against) => self.hold_beside_parent(),
            Some(ActionId::DiffFrom) => self.ask_to_delete(),
            _ => return false,
        }
        true
    }

    /// Down by tapes; up when negative.
    pub(super) fn choose_in_fork_tree(&mut self, delta: i64) {
        let Some(tree) = &mut self.fork_tree else {
            return;
        };
        let here = tree.chosen_index().unwrap_or(0);
        let last = tree.rows.len().saturating_sub(1);
        let there = tree.rows.get(offset(here, delta).min(last));
        tree.chosen = there.map(|row| row.id.clone());
        self.keep_chosen_fork_in_view();
    }

    /// Chooses the tape that stands in a row of the screen; opens it where it was chosen before.
    pub(super) fn click_in_fork_tree(&mut self, sheet: &Sheet, y: u16) {
        let top = self
            .overlay
            .map_or(0, |overlay| sheet.first_row(overlay.top));
        let row = top + usize::from(y.saturating_sub(sheet.inside().y));
        let index = sheet.starts.partition_point(|start| *start <= row);
        let Some(tree) = &mut self.fork_tree else {
            return;
        };
        let Some(index) = index.checked_sub(1) else {
            return;
        };
        if tree.chosen_index() == Some(index) {
            self.open_chosen_fork();
        } else {
            tree.chosen = tree.rows.get(index).map(|row| row.id.clone());
        }
    }

    fn keep_chosen_fork_in_view(&mut self) {
        let Some(sheet) = self.sheet() else { return };
        let (Some(overlay), Some(chosen)) = (&mut self.overlay, sheet.chosen) else {
            return;
        };
        let (rows, height) = (sheet.rows.len(), usize::from(sheet.inside().height));
        // What is said below its first row, too, as far as there is room for that.
        let last = (chosen + ROWS_OF_A_FORK - 1).min(rows.saturating_sub(1));
        let top = scrolled(overlay.top, Some(last), rows, height);
        overlay.top = scrolled(top, Some(chosen), rows, height);
    }

    fn refuse_in_fork_tree(&mut self, what: &str, why: Vec<SafeText>, next: &str) {
        if let Some(tree) = &mut self.fork_tree {
            tree.stage = Stage::Refused(Refusal {
                what: SafeText::line(what),
                why,
                next: SafeText::line(next),
            });
        }
        if let Some(overlay) = &mut self.overlay {
            overlay.top = 0;
        }
    }

    /// The chosen tape and where it lies; where it does not, that is said instead.
    fn chosen_fork_file(&mut self) -> Option<(ForkRow, PathBuf)> {
        let row = self.fork_tree.as_ref()?.chosen_row()?.clone();
        let name = file_name(&row);
        let path = row.path.clone();
        match (row.presence, path) {
            (Presence::There, Some(path)) => return Some((row, path)),
            (Presence::Other, Some(path)) => self.refuse_in_fork_tree(
                &format!("{name} cannot be opened."),
                vec![line_of(&format!(
                    "{} is another tape now, or none that can be read.",
                    path.display()
                ))],
                "`jukebox verify` says what is wrong with that file.",
            ),
            (_, Some(path)) => self.refuse_in_fork_tree(
                &format!("{name} is not there any more."),
                vec![line_of(&format!("It lay at {}.", path.display()))],
                "If it was moved: `jukebox open FORK --parent FILE` tells where it is, once; a \
                 fork that was moved is found when it is opened.",
            ),
            (_, None) => self.refuse_in_fork_tree(
                &format!("Nobody knows where the tape {} lies.", row.id),
                vec![line_of(
                    "It is the one that the tapes below it left. What they hold themselves is \
                     shown; what they share with it is not.",
                )],
                "`jukebox open FORK --parent FILE` tells where it is, once.",
            ),
        }
        None
    }

    /// Opens the chosen tape in the place of the run.
    fn open_chosen_fork(&mut self) {
        let Some((row, path)) = self.chosen_fork_file() else {
            return;
        };
        if row.is_this {
            self.say(Tone::Plain, "this is the run that is open");
            return;
        }
        self.open_from_tree(&row, path, None);
    }

    fn open_from_tree(&mut self, row: &ForkRow, path: PathBuf, beside: Option<PathBuf>) {
        let tree = self.fork_tree.as_ref();
        let from = tree.and_then(ForkTree::this).map(|this| this.id.clone());
        let opening = self.open_run(RunSource::File(path), file_name(row));
        opening.from = from;
        opening.beside = beside;
    }

    /// Has a run opened. The one on the screen stays until that is done.
    pub(super) fn open_run(&mut self, source: RunSource, name: SafeText) -> &mut OpeningRun {
        self.keep();
        let ticket = self.desk.ask(Job::OpenRun(source));
        self.opening_run.insert(OpeningRun {
            ticket,
            name,
            from: None,
            beside: None,
        })
    }

    /// What was to be opened from the tree cannot be.
    pub(super) fn refuse_to_open(&mut self, name: &SafeText, why: SafeText) {
        self.refuse_in_fork_tree(
            &format!("{name} cannot be opened."),
            vec![why],
            "`jukebox verify` lists all that is wrong with a tape.",
        );
    }

    /// Holds the chosen fork against the tape that it left.
    fn hold_beside_parent(&mut self) {
        let Some((row, path)) = self.chosen_fork_file() else {
            return;
        };
        let Some(tree) = &self.fork_tree else { return };
        let index = tree.chosen_index().unwrap_or(0);
        let parent = tree.parent_of(index).cloned();
        let Some(parent) = parent else {
            self.say(
                Tone::Plain,
                "it is no fork, and so left no run to stand beside",
            );
            return;
        };
        let Some(left) = parent.path.clone().filter(|_| parent.is_there()) else {
            self.refuse_in_fork_tree(
                &format!("The run that {} left is not there.", file_name(&row)),
                Vec::new(),
                "`jukebox open FORK --parent FILE` tells where it is, once.",
            );
            return;
        };
        // The run that was left stands on the left, wherever one comes from: what the fork added
        // is what is added.
        if parent.is_this {
            self.hold_beside(path);
        } else {
            self.open_from_tree(&parent, left, Some(path));
        }
    }

    /// Holds the run against the one in a file, and goes where they part.
    pub(super) fn hold_beside(&mut self, path: PathBuf) {
        self.overlay = None;
        self.opening = Some(self.ask_about_forks(ForkTreeJob::Beside(path)));
    }

    fn take_beside(&mut self, generation: u64, answer: Answered<()>) {
        if !self.opening.is_some_and(|ticket| ticket.is_for(generation)) {
            return;
        }
        match answer {
            Ok(()) => {
                self.take_right(generation, Ok(None));
                if let Some(against) = &mut self.against {
                    against.seeks_divergence = true;
                }
                self.diff.rewind();
            }
            Err(why) => self.take_right(generation, Err(why)),
        }
    }

    /// Asks for another name.
    fn begin_rename(&mut self) {
        let Some((row, path)) = self.chosen_fork_file() else {
            return;
        };
        if row.seq.is_none() {
            self.refuse_what_is_no_fork(&row);
            return;
        }
        let mut prompt = Prompt::new(Purpose::RenameFork);
        let stem = path.file_stem().unwrap_or_default();
        prompt.insert(&stem.to_string_lossy());
        self.prompt = Some(prompt);
    }

    fn refuse_what_is_no_fork(&mut self, row: &ForkRow) {
        self.refuse_in_fork_tree(
            &format!("{} is no fork.", file_name(row)),
            vec![line_of("Only forks are renamed and deleted here.")],
            "Nothing was changed.",
        );
    }

    /// Renames the chosen fork.
    pub(super) fn rename_fork(&mut self, name: &str) {
        let Some((row, path)) = self.chosen_fork_file() else {
            return;
        };
        let (id, name) = (row.id, name.to_owned());
        self.change_fork(Change::Rename, ForkTreeJob::Rename { id, path, name });
    }

    fn change_fork(&mut self, change: Change, job: ForkTreeJob) {
        let ticket = self.ask_about_forks(job);
        if let Some(tree) = &mut self.fork_tree {
            tree.stage = Stage::Changing(ticket, change);
            tree.remark = None;
        }
    }

    /// Asks whether the chosen fork is to be deleted, where it can be.
    fn ask_to_delete(&mut self) {
        let Some((row, _)) = self.chosen_fork_file() else {
            return;
        };
        let name = file_name(&row);
        if row.seq.is_none() {
            return self.refuse_what_is_no_fork(&row);
        }
        let Some(tree) = &mut self.fork_tree else {
            return;
        };
        let index = tree.chosen_index().unwrap_or(0);
        let forks: Vec<SafeText> = tree.forks_of(index).map(file_name).collect();
        if !forks.is_empty() {
            let (what, next) = match forks.len() {
                1 => (
                    format!("{name} has a fork, which shares its events."),
                    "Nothing was deleted. Delete that one first.",
                ),
                count => (
                    format!("{name} has {count} forks, which share its events."),
                    "Nothing was deleted. Delete these first, from the last one up.",
                ),
            };
            return self.refuse_in_fork_tree(&what, forks, next);
        }
        if row.is_this {
            return self.refuse_in_fork_tree(
                &format!("{name} is the run that is open."),
                Vec::new(),
                "Nothing was deleted. Open the run that it left, and delete it from there.",
            );
        }
        tree.stage = Stage::Asked;
        if let Some(overlay) = &mut self.overlay {
            overlay.top = 0;
        }
    }

    fn delete_chosen_fork(&mut self) {
        if let Some((row, path)) = self.chosen_fork_file() {
            let id = row.id;
            self.change_fork(Change::Delete, ForkTreeJob::Delete { id, path });
        }
    }

    /// A tree that nobody looks at is none; what is being done to a file is told all the same.
    pub(super) fn settle_fork_tree(&mut self) {
        let is_shown = self.fork_tree_is_shown();
        let is_over = |tree: &mut ForkTree| !is_shown && !matches!(tree.stage, Stage::Changing(..));
        if self.fork_tree.take_if(is_over).is_some() {
            self.ask_about_forks(ForkTreeJob::Stop);
            // Nor is a run opened that was chosen in it.
            self.opening_run = None;
        }
    }

    /// Takes an answer in that is about forks.
    pub(super) fn take_fork_tree(&mut self, generation: u64, answer: ForkTreeAnswer) {
        match answer {
            ForkTreeAnswer::Points(points) => {
                self.timeline.forks.take(generation, points);
            }
            ForkTreeAnswer::Beside(answer) => self.take_beside(generation, answer),
            ForkTreeAnswer::Tree(rows) => {
                let from = self.came_from.as_ref();
                if let Some(tree) = &mut self.fork_tree
                    && tree.is_asked(generation)
                {
                    tree.take(rows, from);
                    self.keep_chosen_fork_in_view();
                }
            }
            ForkTreeAnswer::Account { id, account } => {
                if let Some(tree) = &mut self.fork_tree
                    && tree.is_asked(generation)
                {
                    tree.accounts.insert(id, account);
                }
            }
            ForkTreeAnswer::Renamed(answer) => self.take_change(generation, Change::Rename, answer),
            ForkTreeAnswer::Deleted(answer) => self.take_change(generation, Change::Delete, answer),
        }
    }

    /// A fork was renamed or deleted, or was not.
    fn take_change(&mut self, generation: u64, change: Change, answer: Answered<PathBuf>) {
        let Some(tree) = &self.fork_tree else { return };
        let Stage::Changing(ticket, _) = &tree.stage else {
            return;
        };
        if !ticket.is_for(generation) {
            return;
        }
        let is_this = tree.chosen_row().is_some_and(|row| row.is_this);
        let is_shown = self.fork_tree_is_shown();
        let path = match answer {
            Ok(path) => path,
            Err(why) if is_shown => {
                self.refuse_in_fork_tree("It was not done.", vec![why], "Nothing was changed.");
                return;
            }
            Err(why) => {
                self.fork_tree = None;
                self.say(Tone::Error, &format!("{why}; nothing was changed"));
                return;
            }
        };
        let name = name_of(&path);
        let said = match change {
            Change::Rename => format!("{name} is its name now"),
            Change::Delete => format!("{name} is deleted"),
        };
        self.outdate_fork_points();
        if is_shown {
            let asked = self.ask_about_forks(ForkTreeJob::Tree);
            if let Some(tree) = &mut self.fork_tree {
                tree.remark = Some(SafeText::line(&said));
                tree.ask_anew(asked);
            }
        } else {
            self.fork_tree = None;
            self.say(Tone::Plain, &said);
        }
        if change == Change::Rename && is_this {
            // What is read from now on is read from there.
            let from = self.came_from.clone();
            self.open_run(RunSource::File(path), name).from = from;
        }
    }

    /// Forks may have been made or deleted.
    pub(super) fn outdate_fork_points(&mut self) {
        self.timeline.forks.outdate();
    }

    /// The forks of the run, where they are known.
    pub(in crate::tui) fn fork_points(&self) -> Option<&ForkPoints> {
        self.timeline.forks.get()
    }

    /// How many forks leave the run in these steps of the branch that is shown.
    pub(in crate::tui) fn forks_in(&self, (first, last): (u32, u32)) -> u32 {
        let Some(points) = self.fork_points() else {
            return 0;
        };
        let from = points.steps.partition_point(|(step, _)| step.0 < first);
        let steps = points.steps.get(from..).unwrap_or_default().iter();
        let steps = steps.take_while(|(step, _)| step.0 <= last);
        steps.map(|(_, forks)| *forks).sum()
    }
}

/// Rows that a fork takes where there is room: what it is, how it came about, why it ended.
const ROWS_OF_A_FORK: usize = 3;

fn line_of(words: &str) -> SafeText {
    SafeText::line(words)
}
