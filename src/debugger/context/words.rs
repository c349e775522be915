//! The context in words: sections to read, on a screen or on paper.

use super::{ContextRun, ContextView, ReadRow, Recorded, Staleness, TurnTokens};
use crate::debugger::Section;
use crate::model::StepNumber;
use crate::text::{SafeText, human};

/// A section with the steps that its lines are about.
#[derive(Clone, Debug, PartialEq)]
pub struct LeadingSection {
    /// The section.
    pub section: Section,
    /// For each of its first lines, the step that it is about, if it is about one.
    pub steps: Vec<Option<StepNumber>>,
}

impl ReadRow {
    /// The step that says the latest of it: that in which the file became stale, else that
    /// which read it.
    fn step(&self) -> StepNumber {
        self.since.map_or(self.read, |(step, _)| step)
    }
}

/// Tools that are named on a line.
const TOOLS_A_LINE: usize = 8;

impl ContextView {
    /// The turns and the files, in words, for so many columns: of a table that would be wider,
    /// columns are left out. That is said, and so is what was not recorded.
    pub fn sections(&self, columns: usize) -> Vec<LeadingSection> {
        let (whose, who) = match &self.agent {
            Some(agent) => (
                format!(" of sub-agent {agent}"),
                format!(" by sub-agent {agent}"),
            ),
            None => (String::new(), String::new()),
        };
        let turns = if self.turns.is_empty() {
            vec!["No tokens were recorded up to here.".to_owned()]
        } else {
            table(&self.turns, columns)
        };
        // The head of the table is about no step.
        let steps_of_turns = self.turns.iter().map(|turn| Some(turn.step));
        let steps_of_turns = std::iter::once(None).chain(steps_of_turns);
        let steps_of_reads = self.reads.iter().map(ReadRow::step).map(Some);
        let mut reads: Vec<String> = self.reads.iter().map(line_of_read).collect();
        if reads.is_empty() {
            reads.push("No read of a file was recorded up to here.".to_owned());
        } else if self.is_cut {
            reads.push("… and those of earlier steps".to_owned());
        }
        reads.push("What shell commands print of files is not counted.".to_owned());
        vec![
            LeadingSection {
                section: Section::of_lines(&format!("tokens by turn{whose}, up to here"), &turns),
                steps: steps_of_turns.collect(),
            },
            LeadingSection {
                section: Section::of_lines(&format!("files read{who}, the latest first"), &reads),
                steps: steps_of_reads.collect(),
            },
        ]
    }
}

impl ContextRun {
    /// The compactions, the system prompt and the tools, in words. What was not recorded is
    /// said.
    pub fn sections(&self) -> Vec<LeadingSection> {
        let steps_of_compactions = self.compactions.iter().map(|(step, ..)| Some(*step));
        let step_of_system = self.system.as_ref().map(|system| system.step);
        let step_of_tools = self.tools.as_ref().map(|(step, _)| *step);
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
            LeadingSection {
                section: Section::of_lines("compactions in the whole run", &compactions),
                steps: steps_of_compactions.collect(),
            },
            LeadingSection {
                section: Section::of_lines("system prompt", &system),
                steps: vec![step_of_system],
            },
            LeadingSection {
                section: Section::of_lines("tools", &tools),
                steps: vec![step_of_tools],
            },
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

/// A column of the table of turns: its name, and what stands in it.
type Column = (&'static str, fn(&TurnTokens) -> String);

/// The columns of the table of turns, in order.
const COLUMNS: [Column; 6] = [
    ("step", |turn| turn.step.to_string()),
    ("seen", |turn| human::count(turn.usage.seen())),
    ("new", |turn| human::count(turn.usage.input)),
    ("cached", |turn| human::count(turn.usage.cache_read)),
    ("stored", |turn| human::count(turn.usage.cache_write)),
    ("out", |turn| human::count(turn.usage.output)),
];

/// The columns that are left out where there is too little room, the first one first. The
/// rest always fits.
const SPARED: [usize; 3] = [4, 3, 2];

/// The widths that the columns have where there is room.
const WIDTHS: [usize; 6] = [6, 7, 7, 7, 7, 6];

/// The tokens of turns as a table.
fn table(turns: &[TurnTokens], columns: usize) -> Vec<String> {
    let cells = |(name, cell): &Column| -> Vec<String> {
        let named = std::iter::once((*name).to_owned());
        named.chain(turns.iter().map(cell)).collect()
    };
    let all = COLUMNS.map(|column| cells(&column));
    let needed = |cells: &Vec<String>| cells.iter().map(String::len).max().unwrap_or(0);
    let mut kept: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut widths = WIDTHS;
    let total = |kept: &[usize], widths: &[usize; 6]| -> usize {
        let widths = kept.iter().filter_map(|at| widths.get(*at));
        widths.sum::<usize>() + kept.len().saturating_sub(1)
    };
    let mut spared = SPARED.iter();
    while total(&kept, &widths) > columns {
        let narrow = all.each_ref().map(needed);
        if widths != narrow {
            widths = narrow;
        } else if let Some(column) = spared.next() {
            kept.retain(|at| at != column);
        } else {
            break;
        }
    }
    let row = |row: usize| -> String {
        let cell = |at: &usize| {
            let (cells, width) = (all.get(*at)?, widths.get(*at)?);
            Some(format!("{:>width$}", cells.get(row)?))
        };
        kept.iter().filter_map(cell).collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = (0..=turns.len()).map(row).collect();
    let left_out = COLUMNS.iter().enumerate();
    let left_out: Vec<&str> = left_out
        .filter(|(at, _)| !kept.contains(at))
        .map(|(_, (name, _))| *name)
        .collect();
    if !left_out.is_empty() {
        lines.push(format!("Where it is wider: {}", left_out.join(", ")));
    }
    lines
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
