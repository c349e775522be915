//! The context in words: sections to read, on a screen or on paper.

use super::{ContextRun, ContextView, ReadRow, Recorded, Staleness, TurnTokens};
use crate::debugger::Section;
use crate::text::{SafeText, human};

/// Tools that are named on a line.
const TOOLS_A_LINE: usize = 8;

impl ContextView {
    /// The turns and the files, in words. What was not recorded is said.
    pub fn sections(&self) -> Vec<Section> {
        let (whose, who) = match &self.agent {
            Some(agent) => (
                format!(" of sub-agent {agent}"),
                format!(" by sub-agent {agent}"),
            ),
            None => (String::new(), String::new()),
        };
        let mut turns: Vec<String> = vec![format!(
            "{:>6} {:>7} {:>7} {:>7} {:>7} {:>6}",
            "step", "seen", "new", "cached", "stored", "out"
        )];
        turns.extend(self.turns.iter().map(line_of_turn));
        if self.turns.is_empty() {
            turns = vec!["No tokens were recorded up to here.".to_owned()];
        }
        let mut reads: Vec<String> = self.reads.iter().map(line_of_read).collect();
        if reads.is_empty() {
            reads.push("No read of a file was recorded up to here.".to_owned());
        } else if self.is_cut {
            reads.push("… and those of earlier steps".to_owned());
        }
        reads.push("What shell commands print of files is not counted.".to_owned());
        vec![
            Section::of_lines(&format!("tokens by turn{whose}, up to here"), &turns),
            Section::of_lines(&format!("files read{who}, the latest first"), &reads),
        ]
    }
}

impl ContextRun {
    /// The compactions, the system prompt and the tools, in words. What was not recorded is
    /// said.
    pub fn sections(&self) -> Vec<Section> {
        let compactions: Vec<String> = self
            .compactions
            .iter()
            .map(|(step, before, after)| {
                let count = human::count;
                format!(
                    "step {step}: from {} to {} tokens",
                    count(*before),
                    count(*after)
                )
            })
            .collect();
        let compactions = match compactions.as_slice() {
            [] => vec!["The context never became much smaller.".to_owned()],
            _ => compactions,
        };
        let system = match &self.system {
            Some(system) => system.in_words(),
            None => vec!["It is not recorded.".to_owned()],
        };
        let tools = match &self.tools {
            Some((step, names)) => {
                let count = human::plural(names.len() as u64, "tool", "tools");
                let lists = names.chunks(TOOLS_A_LINE).map(|names| {
                    let names: Vec<&str> = names.iter().map(SafeText::as_str).collect();
                    names.join(", ")
                });
                std::iter::once(format!("{count}, at step {step}"))
                    .chain(lists)
                    .collect()
            }
            None => vec!["They are not recorded.".to_owned()],
        };
        vec![
            Section::of_lines("compactions in the whole run", &compactions),
            Section::of_lines("system prompt", &system),
            Section::of_lines("tools", &tools),
        ]
    }
}

impl Recorded {
    fn in_words(&self) -> Vec<String> {
        let head = format!("{}B, at step {}", human::size(self.bytes), self.step);
        let lines = self.lines.iter().map(|line| format!("  {line}"));
        std::iter::once(head).chain(lines).collect()
    }
}

fn line_of_turn(turn: &TurnTokens) -> String {
    let count = human::count;
    let usage = turn.usage;
    format!(
        "{:>6} {:>7} {:>7} {:>7} {:>7} {:>6}",
        turn.step,
        count(usage.seen()),
        count(usage.input),
        count(usage.cache_read),
        count(usage.cache_write),
        count(usage.output)
    )
}

fn line_of_read(row: &ReadRow) -> String {
    let path = SafeText::from_bytes(row.path.as_bytes());
    let since = match row.since {
        None => String::new(),
        Some((step, how)) => format!(", {}{} at {step}", how.sign(), how.as_str()),
    };
    format!("{path}: read at {}{since}", row.read)
}

impl Staleness {
    /// What happened, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed since",
            Self::Outside => "changed from outside",
            Self::Gone => "gone",
            Self::Suspected => "perhaps changed",
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Changed => "",
            Self::Outside => "≠ ",
            Self::Gone => "- ",
            Self::Suspected => "? ",
        }
    }
}
