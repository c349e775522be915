//! The help: every key and every sign, in as many columns as fit.

use std::iter;

use super::Row;
use crate::text::{SafeText, width};
use crate::tui::action::{ACTIONS, Category};
use crate::tui::theme::Role;

/// Columns of the keys and the signs.
const KEYS: usize = 12;

/// Columns between two stacks of groups.
const GAP: usize = 3;

/// No stack is narrower than this beside another.
const NARROWEST: usize = 46;

/// The signs of the screen, and what they say.
const SIGNS: [(&str, &str); 26] = [
    ("›", "a person or the system speaks"),
    ("◆", "the model"),
    ("✎", "a tool that changed files"),
    ("$", "a tool that may have changed any"),
    ("○", "a tool that changed no file"),
    ("≠", "a change that no call explains"),
    ("≠ − +", "two runs: differs, only left, only right"),
    ("═ ▀ ▄", "on their strip: the same three"),
    ("╭ │ ╰", "a transaction; ┊ is rolled back"),
    ("╎ ▾ ▹", "a sub-agent: a step, its first, folded"),
    ("░", "a part is missing"),
    ("⑂ ↶", "a branch leaves here; left its parent"),
    ("✗ ⊘ ‖ …", "failed, refused, interrupted, pending"),
    ("!", "a problem of the file lies here"),
    ("¶", "a note that you wrote"),
    ("◌", "hidden characters in what was said"),
    ("A M D", "added, modified, removed"),
    ("•", "changes below; on the strip: a hit"),
    ("?", "uncertain: perhaps written since"),
    ("~", "partial: some lines are known"),
    ("#", "unstored: only the hash is known"),
    ("*", "redacted: placeholders stand in it"),
    ("- !", "absent; named and never seen"),
    ("⋯ █", "lines unchanged; what is in view"),
    ("· → ↵ ^M↵", "space, tab, end of line: LF, CRLF"),
    ("^[ <U+202E>", "shown, not obeyed"),
];

/// The rows of the help in so many columns.
pub(super) fn rows(columns: usize) -> Vec<Row> {
    let count = ((columns + GAP) / (NARROWEST + GAP)).clamp(1, 3);
    let each = (columns + GAP) / count - GAP;
    let stacks = stacks(count, each);
    let height = stacks.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows = vec![Row::new(); height];
    for (index, stack) in stacks.into_iter().enumerate() {
        for (row, mut piece) in rows.iter_mut().zip(stack) {
            let used: usize = row.iter().map(|(text, _)| width::width(text)).sum();
            let indent = (index * (each + GAP)).saturating_sub(used);
            row.push((SafeText::line(&" ".repeat(indent)), Role::Text));
            row.append(&mut piece);
        }
    }
    rows
}

/// The groups of the help in stacks of about the same height, in their order.
fn stacks(count: usize, columns: usize) -> Vec<Vec<Row>> {
    let keys = Category::ALL
        .into_iter()
        .map(|category| keys(category, columns));
    let groups: Vec<Vec<Row>> = keys.chain([signs(columns)]).collect();
    let total: usize = groups.iter().map(|group| group.len() + 1).sum();
    let mut stacks: Vec<Vec<Row>> = vec![Vec::new()];
    for group in groups {
        let is_last = stacks.len() == count;
        match stacks.last_mut() {
            Some(stack) if stack.is_empty() => stack.extend(group),
            Some(stack) if is_last || stack.len() + group.len() / 2 <= total / count => {
                stack.push(Row::new());
                stack.extend(group);
            }
            _ => stacks.push(group),
        }
    }
    stacks
}

fn keys(category: Category, columns: usize) -> Vec<Row> {
    let actions = ACTIONS.iter().filter(|action| action.category == category);
    let rows = actions.flat_map(|action| {
        let keys = action.shown_keys().join(" ");
        entry(&keys, Role::Key, action.description, columns)
    });
    iter::once(heading(category.title())).chain(rows).collect()
}

fn signs(columns: usize) -> Vec<Row> {
    let rows = SIGNS
        .into_iter()
        .flat_map(|(sign, meaning)| entry(sign, Role::Strong, meaning, columns));
    iter::once(heading("Signs")).chain(rows).collect()
}

fn heading(words: &'static str) -> Row {
    vec![(SafeText::literal(words), Role::Heading)]
}

/// Keys or a sign and what they mean, on as many rows as that takes.
fn entry(sign: &str, role: Role, meaning: &'static str, columns: usize) -> Vec<Row> {
    let lines = width::wrap(&SafeText::literal(meaning), columns.saturating_sub(KEYS));
    let rows = lines.into_iter().enumerate().map(|(index, line)| {
        let sign = if index == 0 { sign } else { "" };
        let sign = SafeText::line(&format!("{sign:<KEYS$}"));
        vec![(sign, role), (line, Role::Text)]
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_says_everything_in_whole_at_any_width() {
        for columns in 26..200 {
            let rows = rows(columns);
            let text: String = rows
                .iter()
                .flatten()
                .map(|(text, _)| text.as_str())
                .collect();
            assert!(!text.contains("……"));
            for row in &rows {
                let used: usize = row.iter().map(|(text, _)| width::width(text)).sum();
                assert!(used <= columns, "{used} of {columns}: {row:?}");
            }
            if columns >= 60 {
                for action in ACTIONS {
                    let first = action.description.split(' ').next().unwrap();
                    assert!(text.contains(first), "{}", action.name);
                }
            }
        }
    }
}
