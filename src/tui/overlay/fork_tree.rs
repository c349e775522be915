//! What is said of the forks of a run: the tree, what is asked about one, why something is
//! refused.

use crate::debugger::{ForkRow, Presence};
use crate::text::{SafeText, human, width};
use crate::tui::fork_tree::{Change, ForkTree, Refusal, Stage, file_name};
use crate::tui::theme::Role;

/// Levels that are drawn; whatever is deeper stands there, too.
const MOST_LEVELS: usize = 12;

/// The first row of each tape, where they are listed.
type Page = super::page::Page<Vec<usize>>;

/// The rows of the tree in so many columns.
pub(super) fn page(tree: &ForkTree, spinner: &'static str, columns: usize) -> Page {
    let mut page = Page::new(columns);
    match &tree.stage {
        Stage::Looking if tree.rows.is_empty() => {
            page.say(&format!("{spinner} looking for forks"), Role::Quiet);
        }
        Stage::Asked => page.asked(tree),
        Stage::Refused(refusal) => page.refused(refusal),
        Stage::Changing(_, change) => {
            let words = match change {
                Change::Rename => "renaming it",
                Change::Delete => "deleting it",
            };
            page.say(&format!("{spinner} {words}"), Role::Strong);
        }
        Stage::Looking | Stage::Listed => page.listed(tree),
    }
    page
}

impl Page {
    fn listed(&mut self, tree: &ForkTree) {
        if let Some(remark) = &tree.remark {
            self.say_text(remark, Role::Live);
            self.blank();
        }
        if let [only] = &tree.rows[..] {
            return self.none(only);
        }
        let lines = Lines::of(&tree.rows);
        for (row, lines) in tree.rows.iter().zip(lines) {
            self.marks.push(self.rows.len());
            self.tape(tree, row, &lines);
        }
    }

    /// What stands in the place of a tree of one tape.
    fn none(&mut self, only: &ForkRow) {
        self.say(
            &format!("{} has no forks yet.", file_name(only)),
            Role::Strong,
        );
        self.blank();
        self.say(
            "f on a prompt, a model's turn or a tool call makes one: alter what the step gave, and \
             see what would have followed. The run itself is only read.",
            Role::Text,
        );
    }

    fn tape(&mut self, tree: &ForkTree, row: &ForkRow, lines: &Lines) {
        let mut head = vec![(SafeText::line(&lines.first), Role::Quiet)];
        let mut tail = Vec::new();
        if row.is_this {
            tail.push((SafeText::literal("  this run"), Role::Live));
        }
        let role = if row.is_there() {
            Role::Strong
        } else {
            Role::Quiet
        };
        if let Some(edit) = &row.edit {
            let step = match &edit.branch {
                Some(branch) => format!("{branch}:{}", edit.step),
                None => edit.step.to_string(),
            };
            let place = format!("⑂ step {step}, {}  ", edit.of);
            head.push((SafeText::line(&place), Role::Accent));
        } else if row.seq.is_some() {
            head.push((SafeText::literal("⑂ "), Role::Accent));
        }
        let room = self.columns.saturating_sub(columns(&head) + columns(&tail));
        head.push((width::fit(&row.title, room), role));
        head.extend(tail);
        self.rows.push(head);
        let margin = width::width(&SafeText::line(&lines.more));
        let room = self.columns.saturating_sub(margin).max(1);
        for (words, role) in facts(tree, row) {
            for line in width::wrap(&words, room) {
                let more = SafeText::line(&lines.more);
                self.rows.push(vec![(more, Role::Quiet), (line, role)]);
            }
        }
    }

    fn asked(&mut self, tree: &ForkTree) {
        let Some(row) = tree.chosen_row() else { return };
        self.say(&format!("Delete {}?", file_name(row)), Role::Strong);
        self.blank();
        if let Some(path) = &row.path {
            self.say(&path.display().to_string(), Role::Text);
        }
        if let Some(edit) = &row.edit {
            let words = format!("step {}, {}: {}", edit.step, edit.of, edit.title);
            self.say(&words, Role::Text);
        }
        for (words, role) in answers(tree, row) {
            self.say_text(&words, role);
        }
        self.blank();
        self.say(
            "The run that it left stays as it is. A deleted fork does not come back.",
            Role::Warning,
        );
    }

    fn refused(&mut self, refusal: &Refusal) {
        self.say_text(&refusal.what, Role::Strong);
        for why in &refusal.why {
            self.say_text(why, Role::Failed);
        }
        self.blank();
        self.say_text(&refusal.next, Role::Text);
    }
}

fn columns(row: &[(SafeText, Role)]) -> usize {
    row.iter().map(|(text, _)| width::width(text)).sum()
}

/// What is said of a tape below its title: where it lies, how it came about, why it ended.
fn facts(tree: &ForkTree, row: &ForkRow) -> Vec<(SafeText, Role)> {
    let name = file_name(row);
    let mut facts = match row.presence {
        Presence::There if row.seq.is_none() && !row.is_named => Vec::new(),
        Presence::There => vec![(name, Role::Text)],
        Presence::Gone => {
            let words = format!("{name} is not there any more");
            vec![(SafeText::line(&words), Role::Warning)]
        }
        Presence::Other => {
            let words = format!("{name} is another tape now, or cannot be read");
            vec![(SafeText::line(&words), Role::Warning)]
        }
        Presence::Nowhere => {
            let words = "not found: nobody knows where it lies";
            vec![(SafeText::literal(words), Role::Warning)]
        }
    };
    facts.extend(answers(tree, row));
    facts
}

/// How the answers of a fork came about, how it was to go on, and why it ended.
fn answers(tree: &ForkTree, row: &ForkRow) -> Vec<(SafeText, Role)> {
    let mut said = Vec::new();
    let account = match tree.accounts.get(&row.id) {
        Some(Ok(account)) => account,
        Some(Err(why)) => {
            let words = format!("what became of it cannot be read: {why}");
            return vec![(SafeText::line(&words), Role::Warning)];
        }
        None => return said,
    };
    let shares = account.shares.iter();
    let mut shares: Vec<String> = shares
        .map(|(via, count)| format!("{} {}", human::count(*count as u64), via.label()))
        .collect();
    let then = row.edit.as_ref().and_then(|edit| edit.then.as_ref());
    shares.extend(then.map(|then| format!("then {then}")));
    if !shares.is_empty() {
        said.push((SafeText::line(&shares.join(", ")), Role::Quiet));
    }
    if let Some(ended) = &account.ended {
        said.push((SafeText::line(&format!("stopped: {ended}")), Role::Quiet));
    }
    said
}

/// The lines of the tree that stand before a tape: before its first row, and before the others.
struct Lines {
    first: String,
    more: String,
}

impl Lines {
    /// Those of all tapes, from the last one up: what comes later says whether a line goes on.
    fn of(rows: &[ForkRow]) -> Vec<Self> {
        let mut goes_on = [false; MOST_LEVELS + 2];
        let mut all = Vec::with_capacity(rows.len());
        for row in rows.iter().rev() {
            let depth = usize::from(row.depth).min(MOST_LEVELS);
            let has_forks = goes_on.get(depth + 1).copied().unwrap_or(false);
            let levels = |range: std::ops::Range<usize>| -> String {
                let levels = goes_on.get(range).unwrap_or_default().iter();
                levels.map(|on| if *on { "│ " } else { "  " }).collect()
            };
            let is_last = !goes_on.get(depth).copied().unwrap_or(false);
            let below = if has_forks { "│ " } else { "  " };
            all.push(match depth {
                0 => Self {
                    first: String::new(),
                    more: below.to_owned(),
                },
                _ => Self {
                    first: levels(1..depth) + if is_last { "└ " } else { "├ " },
                    more: levels(1..depth + 1) + below,
                },
            });
            for (level, on) in goes_on.iter_mut().enumerate() {
                *on = match level {
                    level if level > depth => false,
                    level if level == depth => true,
                    _ => *on,
                };
            }
        }
        all.reverse();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(depth: u16) -> ForkRow {
        ForkRow {
            id: String::new(),
            path: None,
            presence: Presence::Nowhere,
            is_this: false,
            depth,
            seq: None,
            edit: None,
            title: SafeText::default(),
            is_named: false,
        }
    }

    #[test]
    fn lines_lead_from_each_tape_to_its_forks() {
        let check = |depths: &[u16], expected: &str| {
            let rows: Vec<ForkRow> = depths.iter().map(|depth| row(*depth)).collect();
            let lines = Lines::of(&rows).into_iter();
            let drawn: Vec<String> = lines
                .map(|lines| format!("{}*\n{}.\n", lines.first, lines.more))
                .collect();
            assert_eq!(drawn.concat(), expected);
        };
        check(&[0], "*\n  .\n");
        check(
            &[0, 1, 2, 1],
            "*\n│ .\n├ *\n│ │ .\n│ └ *\n│     .\n└ *\n    .\n",
        );
        let chain: Vec<u16> = (0..40).collect();
        let rows: Vec<ForkRow> = chain.iter().map(|depth| row(*depth)).collect();
        // Two columns for each level, and two for what is below.
        let widest = 2 * MOST_LEVELS + 2;
        for lines in Lines::of(&rows) {
            assert!(lines.more.chars().count() <= widest);
        }
    }
}
