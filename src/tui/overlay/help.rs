//! The help: every key and every sign, in as many columns as fit.
//!
//! Columns are filled one after the other and end as evenly as they can: where a group goes on
//! in the next one, its heading is there again. Nothing is left out; what is too long for the
//! screen is scrolled.

use super::Row;
use crate::text::{Align, SafeText, width};
use crate::tui::action::{ACTIONS, Category};
use crate::tui::theme::Role;

/// Columns of the keys or the signs of a group at most: most need fewer.
const KEYS: usize = 12;

/// And at least, so that groups look alike.
const FEWEST_KEYS: usize = 7;

/// Columns between two stacks of groups.
const GAP: usize = 3;

/// No stack is narrower than this beside another.
const NARROWEST: usize = 46;

/// The signs of the screen, and what they say.
const SIGNS: [(&str, &str); 27] = [
    ("›", "a person or the system speaks"),
    ("◆", "the model"),
    ("✎", "a tool that changed files"),
    ("$", "a tool that may have changed any"),
    ("○", "a tool that changed no file"),
    ("≠", "a change that no call explains"),
    ("≠ − +", "two runs: differs, only left, only right"),
    ("═ ▀ ▄", "on their strip: the same three"),
    ("╭ │ ╰", "a transaction; ┊ rolled back, ▎ open"),
    ("╎ ▾ ▹", "a sub-agent: a step, its first, folded"),
    ("░", "a part is missing"),
    ("⑂ ↶", "a branch or forks leave; left its parent"),
    ("✗ ⊘ ‖ …", "failed, refused, interrupted, pending"),
    ("!", "a problem of the file lies here"),
    ("¶", "a note that you wrote"),
    ("◌", "hidden characters in what was said"),
    ("A M D R", "added, modified, removed, renamed"),
    ("•", "changes below; on the strip: a hit"),
    ("✓ ✘", "on the strip: good and bad, of a bisect"),
    ("?", "uncertain: perhaps written since"),
    ("~", "partial: some lines are known"),
    ("#", "unstored: only the hash is known"),
    ("*", "redacted: placeholders stand in it"),
    ("- !", "absent; named and never seen"),
    ("⋯ █", "lines unchanged; what is in view"),
    ("· → ↵ ^M↵", "space, tab, end of line: LF, CRLF"),
    ("^[ <U+202E>", "shown, not obeyed"),
];

/// Keys or signs that belong together, each with what it means.
struct Group {
    title: &'static str,
    /// The rows of each; they stay together.
    entries: Vec<Vec<Row>>,
}

/// The rows of the help in so many columns.
pub(super) fn rows(columns: usize) -> Vec<Row> {
    let count = ((columns + GAP) / (NARROWEST + GAP)).clamp(1, 3);
    let each = (columns + GAP) / count - GAP;
    let stacks = stacks(&groups(each), count);
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

/// A row of a stack, before it is set: heights are tried, and rows made for one of them alone.
enum Line<'a> {
    Blank,
    Heading { title: &'a str, is_begun: bool },
    Row(&'a Row),
}

impl Line<'_> {
    fn row(&self) -> Row {
        match self {
            Self::Blank => Row::new(),
            Self::Heading { title, is_begun } if *is_begun => heading(&format!("{title}, more")),
            Self::Heading { title, .. } => heading(title),
            Self::Row(row) => (*row).clone(),
        }
    }
}

/// The groups in so many stacks, as low as they can be.
fn stacks(groups: &[Group], count: usize) -> Vec<Vec<Row>> {
    let entries = groups.iter().flat_map(|group| &group.entries);
    let all: usize = entries.map(Vec::len).sum();
    // Each group has a heading and all but one a blank row: so low they may be, or higher.
    let heights = all.div_ceil(count)..=all + 2 * groups.len();
    let fitting = heights
        .map(|height| filled(groups, height))
        .find(|stacks| stacks.len() <= count);
    let stacks = fitting.unwrap_or_else(|| filled(groups, usize::MAX));
    let rows = |stack: &Vec<Line>| stack.iter().map(Line::row).collect();
    stacks.iter().map(rows).collect()
}

/// The groups in stacks of at most so many rows, as many as that takes.
fn filled(groups: &[Group], height: usize) -> Vec<Vec<Line<'_>>> {
    let mut stacks: Vec<Vec<Line>> = vec![Vec::new()];
    for group in groups {
        let mut is_begun = false;
        for entry in &group.entries {
            let Some(stack) = stacks.last_mut() else {
                continue;
            };
            // A heading stands above one of its entries at least.
            let head = match (is_begun, stack.is_empty()) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            if stack.len() + head + entry.len() > height && !stack.is_empty() {
                let title = group.title;
                let mut stack = vec![Line::Heading { title, is_begun }];
                stack.extend(entry.iter().map(Line::Row));
                stacks.push(stack);
            } else {
                if head == 2 {
                    stack.push(Line::Blank);
                }
                if head > 0 {
                    let title = group.title;
                    stack.push(Line::Heading { title, is_begun });
                }
                stack.extend(entry.iter().map(Line::Row));
            }
            is_begun = true;
        }
    }
    stacks
}

/// Everything there is to say, in so many columns.
fn groups(columns: usize) -> Vec<Group> {
    let keys = Category::ALL.into_iter().map(|category| {
        let actions = ACTIONS.iter().filter(|action| action.category == category);
        let meanings = actions.map(|action| (action.shown_keys().join(" "), action.description));
        group(category.title(), Role::Key, meanings.collect(), columns)
    });
    let signs = SIGNS.map(|(sign, meaning)| (sign.to_owned(), meaning));
    let signs = group("Signs", Role::Strong, signs.to_vec(), columns);
    keys.chain([signs]).collect()
}

fn group(
    title: &'static str,
    role: Role,
    meanings: Vec<(String, &'static str)>,
    columns: usize,
) -> Group {
    let signs = meanings.iter().map(|(sign, _)| SafeText::line(sign));
    let widest = signs.map(|sign| width::width(&sign)).max().unwrap_or(0);
    let keys = (widest + 1).clamp(FEWEST_KEYS, KEYS);
    let entry =
        |(sign, meaning): &(String, &'static str)| entry(sign, role, meaning, (keys, columns));
    Group {
        title,
        entries: meanings.iter().map(entry).collect(),
    }
}

fn heading(words: &str) -> Row {
    vec![(SafeText::line(words), Role::Heading)]
}

/// Keys or a sign and what they mean, on as many rows as that takes.
fn entry(
    sign: &str,
    role: Role,
    meaning: &'static str,
    (keys, columns): (usize, usize),
) -> Vec<Row> {
    let lines = width::wrap(&SafeText::literal(meaning), columns.saturating_sub(keys));
    let rows = lines.into_iter().enumerate().map(|(index, line)| {
        let sign = if index == 0 { sign } else { "" };
        let sign = width::pad(&SafeText::line(sign), keys, Align::Left);
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

    #[test]
    fn columns_are_as_low_as_they_can_be() {
        let group = |title, lengths: &[usize]| Group {
            title,
            entries: lengths
                .iter()
                .map(|length| vec![heading("entry"); *length])
                .collect(),
        };
        let groups = [group("one", &[1; 5]), group("two", &[1, 2, 1, 1])];
        let words = |stacks: Vec<Vec<Row>>| -> Vec<String> {
            let word = |row: &Row| {
                row.first()
                    .map_or(String::new(), |(text, _)| text.to_string())
            };
            let joined = |stack: &Vec<Row>| stack.iter().map(word).collect::<Vec<_>>().join(" ");
            stacks.iter().map(joined).collect()
        };
        assert_eq!(
            words(stacks(&groups, 2)),
            [
                "one entry entry entry entry entry",
                "two entry entry entry entry entry"
            ]
        );
        assert_eq!(
            words(stacks(&groups, 3)),
            [
                "one entry entry entry entry",
                "one, more entry  two entry",
                "two, more entry entry entry entry"
            ]
        );
        assert_eq!(stacks(&groups, 1).len(), 1);
    }
}
