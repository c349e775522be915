//! `jukebox stats`: a run in numbers.

use std::time::Duration;

use serde_json::{Value, json};

use super::arguments::{Looked, PlaceArgs};
use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::fields;
use super::output::{Output, Style};
use crate::debugger::{ChurnRow, Count, Statistics, ToolRow};
use crate::text::{SafeText, human, width};

/// Count what a run took: time, tokens, tools and their failures, files and their changes
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
What lies behind the place is not counted. Times are those that the tape knows: a call without an
end counts as none.

JSON: steps, failed (steps that failed, were refused or interrupted), duration, model_time and
tool_time (all in microseconds), responses, tokens (input, output, from_cache, into_cache),
tools (name, calls, failed, time; the one that was called most first), files (path, with
path_base64 beside it where it is not UTF-8, and steps: how many changed it; most first).";

/// Columns of the longest bar.
const BAR: usize = 20;

/// Columns of the names before the bars, at most.
const NAMES: usize = 44;

impl Args {
    pub(super) fn run(&self, around: &Environment, out: &mut Output) -> Result<Answer, Failure> {
        let Looked { run, spot, .. } = self.place.open(around)?;
        let count = Count::new(run.line_of(spot)).up_to(spot.step);
        let mut progress = self.place.progress("count", around);
        let statistics =
            progress.watch(|tell| run.statistics(count, tell).ok_or(Failure::stopped()))?;
        if self.json {
            out.json(&object(&statistics))?;
        } else {
            print(&statistics, out)?;
        }
        Ok(Answer::Yes)
    }
}

fn object(statistics: &Statistics) -> Value {
    let tool = |tool: &ToolRow| {
        json!({
            "name": tool.name.as_str(),
            "calls": tool.calls,
            "failed": tool.failed,
            "time": tool.time,
        })
    };
    let file = |file: &ChurnRow| fields::with_path(&file.path, json!({ "steps": file.steps }));
    let tokens = statistics.tokens;
    json!({
        "steps": statistics.steps,
        "failed": statistics.failed,
        "duration": statistics.duration,
        "model_time": statistics.model_time,
        "tool_time": statistics.tool_time,
        "responses": statistics.responses,
        "tokens": {
            "input": tokens.input,
            "output": tokens.output,
            "from_cache": tokens.cache_read,
            "into_cache": tokens.cache_write,
        },
        "tools": statistics.tools.iter().map(tool).collect::<Vec<_>>(),
        "files": statistics.files.iter().map(file).collect::<Vec<_>>(),
    })
}

fn print(statistics: &Statistics, out: &mut Output) -> Result<(), Failure> {
    for (name, words) in statistics.in_words() {
        let name = SafeText::line(&format!("{name:<8}"));
        out.spans(&[(Style::Strong, &name), (Style::Plain, &words)])?;
    }
    let tools = statistics.tools.iter().map(|tool| Bar {
        name: tool.name.clone(),
        count: tool.calls,
        failed: tool.failed,
        time: tool.time,
    });
    print_bars("tools", tools.collect(), out)?;
    let files = statistics.files.iter().map(|file| Bar {
        name: SafeText::from_bytes(file.path.as_bytes()),
        count: file.steps,
        failed: 0,
        time: 0,
    });
    print_bars("files", files.collect(), out)
}

/// A name with a number, and what else is known.
struct Bar {
    name: SafeText,
    count: u32,
    failed: u32,
    time: u64,
}

fn print_bars(heading: &'static str, bars: Vec<Bar>, out: &mut Output) -> Result<(), Failure> {
    let Some(most) = bars.iter().map(|bar| bar.count).max() else {
        return Ok(());
    };
    let names = bars.iter().map(|bar| width::width(&bar.name)).max();
    let names = names.unwrap_or(0).min(NAMES);
    out.line(Style::Plain, &SafeText::default())?;
    out.line(Style::Strong, &SafeText::literal(heading))?;
    for bar in bars {
        let name = width::fit_middle(&bar.name, names);
        let name = width::pad(&name, names, crate::text::Align::Left);
        let count = SafeText::line(&format!("  {:>5} ", bar.count));
        let drawn = SafeText::line(&human::bar(bar.count.into(), most.into(), BAR));
        let failed = match bar.failed {
            0 => SafeText::default(),
            failed => SafeText::line(&format!("  ✗ {failed} failed")),
        };
        let time = match Duration::from_micros(bar.time) {
            time if time.as_millis() == 0 => SafeText::default(),
            time => SafeText::line(&format!("  {}", human::duration(time))),
        };
        out.spans(&[
            (Style::Place, &name),
            (Style::Plain, &count),
            (Style::Faint, &drawn),
            (Style::Bad, &failed),
            (Style::Faint, &time),
        ])?;
    }
    Ok(())
}
