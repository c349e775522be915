//! A line on standard error that says how far a long command has come.
//!
//! It is shown where a person looks on, after a moment, and gone when the command goes on.
//! Whoever works tells it how far it has come; it tells the worker when to stop: when the
//! user does. Nothing is ever shown where standard error is no terminal.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::environment::Environment;
use super::failure::Failure;
use super::interrupt::Interrupt;
use super::output;
use crate::model::{Progress, Tell, Unit};
use crate::text::{SafeText, human, width};

/// What takes no longer is not worth a line.
const PATIENCE: Duration = Duration::from_millis(300);
/// Between two states of the line.
const PACE: Duration = Duration::from_millis(100);
/// Before this, nobody knows how long it will take.
const KNOWN: Duration = Duration::from_millis(1500);

/// The line of a command.
pub(super) struct ProgressLine {
    /// What is done to what: `verify run.jsonl`.
    task: String,
    /// Columns of the terminal, if one is there.
    columns: Option<usize>,
    begun: Instant,
    /// When the line was drawn last; `None` while it is not there.
    drawn: Option<Instant>,
    interrupt: Interrupt,
}

impl ProgressLine {
    /// For a command that does something to what has this name.
    pub(super) fn new(what: &str, name: &str, around: &Environment) -> Self {
        Self {
            task: format!("{what} {name}"),
            columns: around.error_columns,
            begun: Instant::now(),
            drawn: None,
            interrupt: Interrupt::arm(),
        }
    }

    /// Does something long, and shows how far it has come. If the user stops it, what it
    /// says about that is said.
    pub(super) fn watch<T, E: Into<Failure>>(
        &mut self,
        work: impl FnOnce(&mut Tell<'_>) -> Result<T, E>,
    ) -> Result<T, Failure> {
        let done = work(&mut |progress| self.tell(progress));
        self.erase();
        done.map_err(|error| match self.interrupt.take() {
            Some(signal) => error.into().ended_by(signal),
            None => error.into(),
        })
    }

    /// Ends work that could be broken off without a word: by the user, then.
    pub(super) fn end(mut self, flow: ControlFlow<()>) -> Result<(), Failure> {
        self.watch(|_| match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Failure::stopped()),
        })
    }

    /// Takes the line away, for something else to be printed there.
    pub(super) fn erase(&mut self) {
        if self.drawn.take().is_some() {
            output::status("");
        }
    }

    /// Says how far it has come.
    pub(super) fn tell(&mut self, progress: Progress) -> ControlFlow<()> {
        if self.interrupt.is_asked() {
            return ControlFlow::Break(());
        }
        let Some(columns) = self.columns else {
            return ControlFlow::Continue(());
        };
        let now = Instant::now();
        let is_due = match self.drawn {
            None => now - self.begun >= PATIENCE,
            Some(drawn) => now - drawn >= PACE,
        };
        if is_due {
            self.drawn = Some(now);
            let line = describe(&self.task, progress, now - self.begun);
            // In the last column, some terminals go to the next row.
            let line = width::fit(&SafeText::line(&line), columns.saturating_sub(1));
            output::status(line.as_str());
        }
        ControlFlow::Continue(())
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.erase();
    }
}

/// The line: `verify run.jsonl  43 %  1.2G of 2.8G  3s left`.
fn describe(task: &str, progress: Progress, elapsed: Duration) -> String {
    let Progress { done, of, unit } = progress;
    let amount = match unit {
        Unit::Bytes => format!("{}B of {}B", human::size(done), human::size(of)),
        Unit::Steps => format!("{} of {} steps", human::count(done), human::count(of)),
        Unit::Entries => format!("{} of {} entries", human::count(done), human::count(of)),
        Unit::Runs => format!("run {} of about {}", done + 1, of),
        Unit::Cases => format!("{} of {} cases", human::count(done), human::count(of)),
        Unit::Seconds => format!("{done}s of at most {of}s"),
    };
    let mut line = format!("{task}  {} %  {amount}", progress.percent());
    // Time that is given is not how long it takes.
    if elapsed >= KNOWN && done > 0 && unit != Unit::Seconds {
        let left = elapsed.mul_f64(of.saturating_sub(done) as f64 / done as f64);
        let _ = write!(line, "  {} left", human::duration(left));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_done_and_how_long_it_will_take() {
        let progress = Progress::bytes(430 << 20, 1 << 30);
        let check = |elapsed: u64, expected: &str| {
            let elapsed = Duration::from_millis(elapsed);
            assert_eq!(describe("verify run.jsonl", progress, elapsed), expected);
        };
        check(400, "verify run.jsonl  41 %  430MB of 1.0GB");
        check(4300, "verify run.jsonl  41 %  430MB of 1.0GB  5.9s left");
        let steps = Progress {
            done: 0,
            of: 12_345,
            unit: Unit::Steps,
        };
        let line = describe("search run.jsonl", steps, Duration::from_secs(9));
        assert_eq!(line, "search run.jsonl  0 %  0 of 12k steps");
    }
}
