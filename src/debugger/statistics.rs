//! What a run cost and where it went: time, tokens, tools, files.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use super::search::PART;
use super::{Debugger, StepRow};
use crate::model::{
    Body, Event, Kind, Progress, StepKind, StepNumber, TapePath, Tell, Unit, Usage,
};
use crate::text::{SafeText, human};

/// A branch in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Its steps.
    pub steps: u32,
    /// The steps that failed, were refused or interrupted.
    pub failed: u32,
    /// From the first step to the end of the last, in microseconds.
    pub duration: u64,
    /// The time in which the model was waited for, in microseconds, as far as it is known.
    pub model_time: u64,
    /// The time in which tools ran, in microseconds, as far as it is known.
    pub tool_time: u64,
    /// How often the model answered.
    pub responses: u32,
    /// The tokens of all answers.
    pub tokens: Usage,
    /// The tools, the one that was called most first.
    pub tools: Vec<ToolRow>,
    /// The files, the one that most steps changed first.
    pub files: Vec<ChurnRow>,
}

/// A tool in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRow {
    /// Its name.
    pub name: SafeText,
    /// How often it was called.
    pub calls: u32,
    /// How many of the calls failed, were refused or interrupted.
    pub failed: u32,
    /// How long its calls ran, in microseconds, as far as it is known.
    pub time: u64,
}

/// How much a file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChurnRow {
    /// The file.
    pub path: TapePath,
    /// How many steps changed it.
    pub steps: u32,
}

impl Statistics {
    /// The run as a whole: what is counted, and the count in words.
    pub fn in_words(&self) -> Vec<(&'static str, SafeText)> {
        let time = |micros| human::duration(Duration::from_micros(micros));
        let failed = match self.failed {
            0 => "none failed".to_owned(),
            failed => format!("{failed} failed"),
        };
        let mut words = vec![
            ("steps", format!("{}, {failed}", self.steps)),
            (
                "time",
                format!(
                    "{}: model {}, tools {}",
                    time(self.duration),
                    time(self.model_time),
                    time(self.tool_time)
                ),
            ),
        ];
        if self.responses > 0 {
            let answers = human::plural(u64::from(self.responses), "answer", "answers");
            let tokens = match &self.tokens {
                tokens if tokens.is_counted() => format!(
                    "{} in, {} out, {} from cache, {} into cache",
                    human::count(tokens.input),
                    human::count(tokens.output),
                    human::count(tokens.cache_read),
                    human::count(tokens.cache_write)
                ),
                _ => "not recorded".to_owned(),
            };
            words.push(("tokens", format!("{tokens}; {answers}")));
        }
        let safe = |(name, words): (&'static str, String)| (name, SafeText::line(&words));
        words.into_iter().map(safe).collect()
    }
}

/// The counting of a branch, which can be done in parts: between two of them, whoever counts
/// may let others at the run.
#[derive(Clone, Debug)]
pub struct Count {
    line: u16,
    /// The last step to be counted.
    last: StepNumber,
    /// The steps that were counted.
    done: u32,
    statistics: Statistics,
    tools: BTreeMap<String, ToolRow>,
    files: BTreeMap<TapePath, u32>,
    start: Option<u64>,
    end: u64,
}

impl Count {
    /// Begins to count a branch.
    pub fn new(line: u16) -> Self {
        Self {
            line,
            last: StepNumber(u32::MAX),
            done: 0,
            statistics: Statistics::default(),
            tools: BTreeMap::new(),
            files: BTreeMap::new(),
            start: None,
            end: 0,
        }
    }

    /// Only up to this step.
    #[must_use]
    pub fn up_to(self, last: StepNumber) -> Self {
        Self { last, ..self }
    }

    /// What was counted.
    pub fn finish(self) -> Statistics {
        let mut statistics = self.statistics;
        statistics.duration = self.end.saturating_sub(self.start.unwrap_or(0));
        statistics.tools = self.tools.into_values().collect();
        // Where the counts are the same, the names stay in their order.
        statistics
            .tools
            .sort_by_key(|tool| std::cmp::Reverse(tool.calls));
        let churn = |(path, steps)| ChurnRow { path, steps };
        statistics.files = self.files.into_iter().map(churn).collect();
        statistics
            .files
            .sort_by_key(|file| std::cmp::Reverse(file.steps));
        statistics
    }

    fn add(&mut self, row: &StepRow) {
        let time = row.duration.unwrap_or(0);
        let failures = u32::from(row.outcome.is_failure());
        self.statistics.steps += 1;
        self.statistics.failed += failures;
        self.start.get_or_insert(row.t);
        self.end = self.end.max(row.t.saturating_add(time));
        match row.kind {
            StepKind::Model => self.statistics.model_time += time,
            StepKind::Tool => {
                self.statistics.tool_time += time;
                let name = row.actor.as_str().to_owned();
                let tool = self.tools.entry(name).or_insert_with(|| ToolRow {
                    name: row.actor.clone(),
                    calls: 0,
                    failed: 0,
                    time: 0,
                });
                tool.calls += 1;
                tool.failed += failures;
                tool.time += time;
            }
            _ => {}
        }
    }
}

impl Debugger {
    /// A branch in numbers; `None` if `tell` breaks it off. Costs a read of the line that
    /// opened each step, and of each answer of the model.
    pub fn statistics(&self, mut count: Count, tell: &mut Tell<'_>) -> Option<Statistics> {
        loop {
            let mut left = PART;
            let mut is_enough = || {
                left -= 1;
                left == 0
            };
            if self.count_on(&mut count, &mut is_enough).is_continue() {
                return Some(count.finish());
            }
            if tell(self.counted(&count)).is_break() {
                return None;
            }
        }
    }

    /// Counts the next steps, until there are no more, or it is enough for now: which of the
    /// two. Costs a read of the line that opened each, and of each answer of the model.
    pub fn count_on(
        &self,
        count: &mut Count,
        is_enough: &mut dyn FnMut() -> bool,
    ) -> ControlFlow<()> {
        while count.done < self.steps_to_count(count) {
            count.done += 1;
            let number = StepNumber(count.done);
            let Some(row) = self.row(count.line, number) else {
                continue;
            };
            count.add(&row);
            self.add_usage(count.line, number, &mut count.statistics);
            if row.file_events > 0 {
                for path in self.paths_changed(count.line, number) {
                    *count.files.entry(path).or_default() += 1;
                }
            }
            if is_enough() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// How much of its branch was counted, in steps.
    pub fn counted(&self, count: &Count) -> Progress {
        Progress {
            done: count.done.into(),
            of: self.steps_to_count(count).into(),
            unit: Unit::Steps,
        }
    }

    fn steps_to_count(&self, count: &Count) -> u32 {
        self.steps_on(count.line).min(count.last.0)
    }

    fn add_usage(&self, line: u16, number: StepNumber, statistics: &mut Statistics) {
        let Some(step) = self.tape.index.step_on(line, number) else {
            return;
        };
        let answers = self
            .events_of(step)
            .filter(|(_, kind)| *kind == Kind::ModelResponse);
        for (position, _) in answers {
            statistics.responses += 1;
            if let Ok(Event {
                body:
                    Body::ModelResponse {
                        usage: Some(usage), ..
                    },
                ..
            }) = self.tape.event(position)
            {
                let tokens = &mut statistics.tokens;
                tokens.input = tokens.input.saturating_add(usage.input);
                tokens.output = tokens.output.saturating_add(usage.output);
                tokens.cache_read = tokens.cache_read.saturating_add(usage.cache_read);
                tokens.cache_write = tokens.cache_write.saturating_add(usage.cache_write);
            }
        }
    }
}
