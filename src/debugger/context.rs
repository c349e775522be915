//! What the model saw: tokens, the files that it read and how stale they are, the system
//! prompt and the tools.
//!
//! A place costs a look back over a bounded number of steps. The run as a whole costs a walk
//! over its steps and a read of each answer of the model.

mod words;

pub use self::words::LeadingSection;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::{Debugger, Spot};
use crate::model::{Body, Certainty, Cursor, Kind, StepKind, StepNumber, TapePath, Usage};
use crate::state::PathId;
use crate::tape::{StepEntry, StepFlags, StepTotal};
use crate::text::SafeText;

/// What the model saw at a step, as far as it was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextView {
    /// The sub-agent that is meant; `None` is the main agent.
    pub agent: Option<SafeText>,
    /// Its turns of which tokens were recorded, the latest last; not all of them.
    pub turns: Vec<TurnTokens>,
    /// The files that it read, the latest read first; not all of them.
    pub reads: Vec<ReadRow>,
    /// Not all steps were looked at: there may be more of the one or the other.
    pub is_cut: bool,
}

/// The tokens of a turn of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnTokens {
    /// The step.
    pub step: StepNumber,
    /// The tokens.
    pub usage: Usage,
}

/// A file that was read, and what became of it since.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadRow {
    /// The file.
    pub path: TapePath,
    /// The step that read it last.
    pub read: StepNumber,
    /// What became of it since, and in which step.
    pub since: Option<(StepNumber, Staleness)>,
}

/// What became of a file since it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// A call changed it.
    Changed,
    /// It changed, and no call did it.
    Outside,
    /// It is gone.
    Gone,
    /// A call may have changed it, and nobody saw.
    Suspected,
}

/// The context of the main agent over a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextRun {
    /// The run in columns: the most tokens that the model saw in each.
    pub cells: Vec<ContextCell>,
    /// Where it became much smaller from one turn to the next: the step, the tokens before
    /// and after. Not more than some thousand.
    pub compactions: Vec<(StepNumber, u64, u64)>,
    /// The system prompt, where it was recorded.
    pub system: Option<Recorded>,
    /// The names of the tools, where they were recorded.
    pub tools: Option<(StepNumber, Vec<SafeText>)>,
}

/// A stretch of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextCell {
    /// The first step of the stretch, and the last.
    pub steps: (u32, u32),
    /// The most tokens that the model saw in a turn of it; 0 where none were recorded.
    pub tokens: u64,
    /// The context became much smaller in it.
    pub has_compaction: bool,
}

/// A text that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The step that holds it.
    pub step: StepNumber,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first lines.
    pub lines: Vec<SafeText>,
}

/// Turns that are told of a place.
const MAX_TURNS: usize = 8;
/// Files that are told of a place.
const MAX_READS: usize = 100;
/// Steps that are looked at for them.
const MAX_LOOKED_AT: usize = 4096;
/// Steps at the start of a run in which the system prompt and the tools are looked for.
const FIRST_STEPS: u32 = 64;
/// Compactions that are told.
const MAX_COMPACTIONS: usize = 2000;
/// A context smaller than this is not said to be compacted.
const LEAST_COMPACTED: u64 = 2000;
/// Lines of the system prompt that are told.
const PROMPT_LINES: usize = 12;
/// A record longer than this is not decoded for it.
const MAX_DECODED: u64 = 16 << 20;

impl Debugger {
    /// What the model saw at a place: of the agent whose step it is.
    pub fn context(&self, spot: Spot) -> ContextView {
        let line = self.line_of(spot);
        let index = &self.tape.index;
        let here = index.step_on(line, spot.step);
        let agent = here
            .and_then(|step| index.steps.get(step))
            .map_or(0, |entry| entry.lane.agent);
        let mut view = ContextView {
            agent: (agent > 0).then(|| self.agent_name(agent)).flatten(),
            ..ContextView::default()
        };
        let numbers = 1..spot.step.0.saturating_add(1);
        let may_hold = |total: &StepTotal| total.has_kind(StepKind::Model);
        let mut looked_at = 0;
        for (step, entry) in self.steps_back(line, numbers.clone(), may_hold) {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT || view.turns.len() == MAX_TURNS {
                view.is_cut = true;
                break;
            }
            if entry.kind == StepKind::Model
                && entry.lane.agent == agent
                && let Some(step_number) = index.number_of(step)
                && let Some(usage) = self.usage_of(step, Some(spot.cursor.position))
            {
                view.turns.push(TurnTokens {
                    step: step_number,
                    usage,
                });
            }
        }
        view.turns.reverse();
        let may_hold = |total: &StepTotal| total.flags.has(StepFlags::READS);
        let mut seen = HashSet::new();
        looked_at = 0;
        for (step, entry) in self.steps_back(line, numbers, may_hold) {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT || view.reads.len() >= MAX_READS {
                view.is_cut = true;
                break;
            }
            if entry.flags.has(StepFlags::READS) && entry.lane.agent == agent {
                self.add_reads(line, step, spot.cursor, &mut seen, &mut view.reads);
            }
        }
        view
    }

    fn agent_name(&self, agent: u16) -> Option<SafeText> {
        let entry = self.tape.index.agents.get(usize::from(agent))?;
        Some(SafeText::line(&self.sort_of_agent(entry)))
    }

    /// The steps of a line backwards, as far as their block may hold what is looked for.
    pub(super) fn steps_back(
        &self,
        line: u16,
        numbers: Range<u32>,
        may_hold: impl Fn(&StepTotal) -> bool,
    ) -> impl Iterator<Item = (u32, StepEntry)> {
        let steps = &self.tape.index.steps;
        self.tape
            .index
            .stretches(line, numbers)
            .rev()
            .flat_map(|stretch| steps.blocks(stretch).rev())
            .filter(move |(_, total)| may_hold(total))
            .flat_map(|(part, _)| part.rev())
            .filter_map(|step| Some((step, steps.get(step)?)))
    }

    /// The tokens of a turn: of the parts of an answer, the last one's count.
    fn usage_of(&self, step: u32, until: Option<u32>) -> Option<Usage> {
        let answers = self.telling_events_of(step).filter(|(position, kind)| {
            *kind == Kind::ModelResponse && until.is_none_or(|until| *position < until)
        });
        let usages =
            answers.filter_map(|(position, _)| match self.tape.event(position).ok()?.body {
                Body::ModelResponse { usage, .. } => usage.filter(Usage::is_counted),
                _ => None,
            });
        usages.last()
    }

    fn add_reads(
        &self,
        line: u16,
        step: u32,
        at: Cursor,
        seen: &mut HashSet<PathId>,
        reads: &mut Vec<ReadRow>,
    ) {
        let index = &self.tape.index;
        let looks = self
            .telling_events_of(step)
            .filter(|(position, kind)| *kind == Kind::FsObserve && *position < at.position);
        for (position, _) in looks {
            let told = self
                .tape
                .with_head(position, |head| head.tape_path().ok().flatten());
            let (Ok(Ok(Some(path))), Some(read)) = (told, index.number_of(step)) else {
                continue;
            };
            let Some(node) = self.state.paths.find(&path) else {
                continue;
            };
            if seen.insert(node) {
                reads.push(ReadRow {
                    path,
                    read,
                    since: self.since(line, node, position, at),
                });
            }
        }
    }

    /// What became of a file after an event that showed it.
    fn since(
        &self,
        line: u16,
        node: PathId,
        shown: u32,
        at: Cursor,
    ) -> Option<(StepNumber, Staleness)> {
        let state = self.state.at(&self.tape.index.blobs, at, node)?;
        // What is known to have happened says more than what may have.
        let (position, how) = match state.suspect {
            _ if state.since > shown && state.is_outside => (state.since, Staleness::Outside),
            _ if state.since > shown && !state.is_observed => {
                let is_gone = state.certainty == Certainty::Absent;
                let how = if is_gone {
                    Staleness::Gone
                } else {
                    Staleness::Changed
                };
                (state.since, how)
            }
            Some(suspect) if suspect > shown => (suspect, Staleness::Suspected),
            _ => return None,
        };
        Some((self.spot_of_change(line, position).step, how))
    }

    /// The context of the main agent over a line, in so many columns. `None` when
    /// `is_cancelled` says to stop.
    pub fn context_run(
        &self,
        line: u16,
        columns: u16,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Option<ContextRun> {
        let index = &self.tape.index;
        let steps = self.strip(line, columns);
        let mut run = ContextRun {
            cells: steps
                .iter()
                .map(|cell| ContextCell {
                    steps: cell.steps,
                    ..ContextCell::default()
                })
                .collect(),
            ..ContextRun::default()
        };
        let mut before = 0;
        for number in 1..=self.steps_on(line) {
            if is_cancelled() {
                return None;
            }
            let step = index.step_on(line, StepNumber(number));
            let Some((step, entry)) = step.and_then(|step| Some((step, index.steps.get(step)?)))
            else {
                continue;
            };
            if number <= FIRST_STEPS {
                self.look_for_prompt(step, StepNumber(number), &mut run);
            }
            if entry.kind != StepKind::Model || entry.lane.agent > 0 {
                continue;
            }
            let Some(tokens) = self.usage_of(step, None).map(|usage| usage.seen()) else {
                continue;
            };
            let is_compaction = before > LEAST_COMPACTED && tokens < before / 10 * 6;
            if is_compaction && run.compactions.len() < MAX_COMPACTIONS {
                run.compactions.push((StepNumber(number), before, tokens));
            }
            before = tokens;
            let holds = |cell: &&mut ContextCell| (cell.steps.0..=cell.steps.1).contains(&number);
            let first = run.cells.partition_point(|cell| cell.steps.1 < number);
            // Where there are more columns than steps, several show the same one.
            for cell in run.cells.iter_mut().skip(first).take_while(holds) {
                cell.tokens = cell.tokens.max(tokens);
                cell.has_compaction |= is_compaction;
            }
        }
        // Between two turns it stays what it was.
        let mut before = 0;
        for cell in &mut run.cells {
            if cell.tokens == 0 {
                cell.tokens = before;
            }
            before = cell.tokens;
        }
        Some(run)
    }

    fn look_for_prompt(&self, step: u32, number: StepNumber, run: &mut ContextRun) {
        let told = self.telling_events_of(step);
        let told = told.filter(|(_, kind)| matches!(kind, Kind::Prompt | Kind::ModelRequest));
        for (position, _) in told {
            let is_short = self
                .tape
                .record_len(position)
                .is_ok_and(|len| len <= MAX_DECODED);
            let Ok(event) = self.tape.event(position).map(|event| event.body) else {
                continue;
            };
            match event {
                Body::Prompt { role, text, .. } if role == "system" && run.system.is_none() => {
                    run.system = Some(Recorded::of(number, &text));
                }
                Body::ModelRequest { added, .. } if is_short => {
                    if run.system.is_none()
                        && let Some(system) = added.get("system").filter(|value| !value.is_null())
                    {
                        let text = match system {
                            Value::String(text) => text.clone(),
                            other => texts_of(other),
                        };
                        run.system = Some(Recorded::of(number, &text));
                    }
                    if run.tools.is_none()
                        && let Some(Value::Array(tools)) = added.get("tools")
                    {
                        let name = |tool: &Value| {
                            let plain = tool.get("name");
                            let inside = tool.get("function").and_then(|tool| tool.get("name"));
                            let name = plain.or(inside).and_then(Value::as_str);
                            SafeText::line(name.unwrap_or("(without a name)"))
                        };
                        run.tools = Some((number, tools.iter().map(name).collect()));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The texts of a list of blocks, one after the other.
fn texts_of(blocks: &Value) -> String {
    let mut text = String::new();
    for block in blocks.as_array().into_iter().flatten() {
        if let Some(words) = block.get("text").and_then(Value::as_str) {
            let _ = writeln!(text, "{words}");
        }
    }
    text
}

impl Recorded {
    fn of(step: StepNumber, text: &str) -> Self {
        let start: Vec<&str> = text.lines().take(PROMPT_LINES).collect();
        Self {
            step,
            bytes: text.len() as u64,
            lines: SafeText::lines(start.join("\n")),
        }
    }
}
