//! What a run cost and where it went: time, tokens, tools, files.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Debugger;
use crate::model::{Body, Event, Kind, StepKind, StepNumber, TapePath, Usage};
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
            let Usage {
                input,
                output,
                cache_read,
                cache_write,
            } = self.tokens;
            let count = human::count;
            let answers = human::plural(u64::from(self.responses), "answer", "answers");
            words.push((
                "tokens",
                format!(
                    "{} in, {} out, {} from cache, {} into cache; {answers}",
                    count(input),
                    count(output),
                    count(cache_read),
                    count(cache_write)
                ),
            ));
        }
        let safe = |(name, words): (&'static str, String)| (name, SafeText::line(&words));
        words.into_iter().map(safe).collect()
    }
}

impl Debugger {
    /// A branch in numbers. Costs one walk over its steps, a read of the line that opened
    /// each and of each answer of the model. `None` when `is_cancelled` says to stop.
    pub fn statistics(&self, line: u16, is_cancelled: &dyn Fn() -> bool) -> Option<Statistics> {
        let mut statistics = Statistics::default();
        let mut tools: BTreeMap<String, ToolRow> = BTreeMap::new();
        let mut files: BTreeMap<TapePath, u32> = BTreeMap::new();
        let (mut start, mut end) = (None, 0);
        for number in (1..=self.steps_on(line)).map(StepNumber) {
            if is_cancelled() {
                return None;
            }
            let Some(row) = self.row(line, number) else {
                continue;
            };
            let time = row.duration.unwrap_or(0);
            let failures = u32::from(row.outcome.is_failure());
            statistics.steps += 1;
            statistics.failed += failures;
            start.get_or_insert(row.t);
            end = end.max(row.t.saturating_add(time));
            match row.kind {
                StepKind::Model => statistics.model_time += time,
                StepKind::Tool => {
                    statistics.tool_time += time;
                    let name = row.actor.as_str().to_owned();
                    let tool = tools.entry(name).or_insert_with(|| ToolRow {
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
            self.add_usage(line, number, &mut statistics);
            if row.file_events > 0 {
                for path in self.paths_changed(line, number) {
                    *files.entry(path).or_default() += 1;
                }
            }
        }
        statistics.duration = end.saturating_sub(start.unwrap_or(0));
        statistics.tools = tools.into_values().collect();
        // Where the counts are the same, the names stay in their order.
        statistics
            .tools
            .sort_by_key(|tool| std::cmp::Reverse(tool.calls));
        let churn = |(path, steps)| ChurnRow { path, steps };
        statistics.files = files.into_iter().map(churn).collect();
        statistics
            .files
            .sort_by_key(|file| std::cmp::Reverse(file.steps));
        Some(statistics)
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
