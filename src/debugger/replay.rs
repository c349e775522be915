//! The tool calls of a run, made again: each on the files as they were recorded before it.
//!
//! The workbench answers; here it is brought from one call to the next, and what comes of it
//! is held against the tape. Calls are made on their own: none sees what another one did when
//! it was made again, but for what commands leave outside the workspace.

mod against;
mod session;

pub(super) use against::Recorded as CallRecord;

use std::cell::RefCell;
use std::path::PathBuf;

use super::{Debugger, LeafRow, StepRow};
use crate::model::{Certainty, Cursor, Progress, StepKind, StepNumber, Tell, Unit};
use crate::replay::workbench::{Tree, Workbench};
use crate::text::SafeText;

pub use crate::replay::Reason;
use crate::replay::request::VolatileParts;
pub use crate::replay::workbench::{How, WorkbenchConfig, WorkbenchError};

/// Which calls are made again, and how.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The line, and its first and last step.
    pub line: u16,
    /// The first step.
    pub from: StepNumber,
    /// The last step.
    pub to: StepNumber,
    /// What is left out of account, besides where the workspace lies: sorts of text, and places
    /// such as `/exit`, `/output` and `/files/NAME`.
    pub volatile: VolatileParts,
    /// What the calls are answered with. Where the run had its workspace is filled in.
    pub workbench: WorkbenchConfig,
}

/// What became of the calls of a run.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Each call, in order.
    pub calls: Vec<ReplayedCall>,
    /// Where commands saw the workspace, if that is not where the run had it.
    pub seen_at: Option<PathBuf>,
    /// The program that told commands the time of their calls; `None`: there is none.
    pub clock: Option<&'static str>,
    /// What was left out of account, in the words that name it.
    pub volatile: Vec<String>,
    /// What the tape leaves out of the workspace: commands do not find it.
    pub left_out: Vec<&'static str>,
}

/// What became of a call.
#[derive(Clone, Debug)]
pub struct ReplayedCall {
    /// The step, as the timeline has it.
    pub row: StepRow,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a call that was made again.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It came to the same.
    Reproduced {
        /// How the answer came about.
        how: How,
        /// What of it was not compared, and why.
        aside: Vec<&'static str>,
    },
    /// It came to something else.
    Differs {
        /// How the answer came about.
        how: How,
        /// Where: what was recorded stands on the left.
        leaves: Vec<LeafRow>,
        /// Why that may be.
        reasons: Vec<Reason>,
        /// What of it was not compared, and why.
        aside: Vec<&'static str>,
    },
    /// It was not made again.
    NotAttempted(SafeText),
    /// The tape ends before it was answered: there is nothing to hold it against.
    Open,
}

impl Replay {
    /// How many calls could be held against the tape.
    pub fn answered(&self) -> usize {
        let is_answered = |call: &&ReplayedCall| !matches!(call.verdict, Verdict::Open);
        self.calls.iter().filter(is_answered).count()
    }

    /// How many were made again.
    pub fn attempted(&self) -> usize {
        let is_attempted = |call: &&ReplayedCall| {
            !matches!(call.verdict, Verdict::Open | Verdict::NotAttempted(_))
        };
        self.calls.iter().filter(is_attempted).count()
    }

    /// How many came to the same.
    pub fn reproduced(&self) -> usize {
        let is_same = |call: &&ReplayedCall| matches!(call.verdict, Verdict::Reproduced { .. });
        self.calls.iter().filter(is_same).count()
    }

    /// Whether every call that was answered came to the same again.
    pub fn is_whole(&self) -> bool {
        self.reproduced() == self.answered()
    }
}

impl Debugger {
    /// The files at a place, for calls to be answered from. Costs a walk over all of them,
    /// and for each a read of a line's head.
    pub fn tree_at(&self, at: Cursor) -> Tree<'_> {
        Tree::new(self.entries(at), self.state.is_whole(at), &self.tape)
    }

    /// Brings a workbench from one place of this run to another. Costs what changed between
    /// them, unless a call in between may have written any file.
    pub fn bring_on(&self, workbench: &mut Workbench<'_>, from: Cursor, to: Cursor) {
        let is_whole = self.state.is_whole(to);
        if self.state.doubt(from) != self.state.doubt(to) {
            return workbench.make(self.entries(to), is_whole);
        }
        let blobs = &self.tape.index.blobs;
        let touched = self.state.touched_between(from, to).into_iter();
        let paths = touched.filter_map(|id| {
            let path = self.state.paths.path(id)?;
            let state = self.state.at(blobs, to, id);
            let there = state.filter(|state| state.certainty != Certainty::Absent);
            let entry = there.map(|state| self.entry(path.clone(), &state));
            Some((path, entry))
        });
        workbench.bring_on(paths, is_whole);
    }

    /// Makes the tool calls of some steps again, each on the files before it. Costs a walk
    /// over the files before the first of them; from one to the next, what changed.
    pub fn replay(
        &self,
        options: &ReplayOptions,
        tell: &mut Tell<'_>,
    ) -> Result<Replay, WorkbenchError> {
        let index = &self.tape.index;
        let mut config = options.workbench.clone();
        config.root.clone_from(&self.header.root);
        config.keeps_directory = self.keeps_directory();
        let start = self.spot(options.line, StepNumber(0)).cursor;
        let tree = self.tree_at(start);
        let terms = self.terms(options.volatile.clone(), &tree);
        let mut bench = Workbench::new(config, tree);
        let mut at = start;
        let mut replay = Replay {
            left_out: terms.left_out(),
            volatile: options.volatile.words().to_vec(),
            ..Replay::default()
        };
        let tell = RefCell::new(tell);
        for number in 1..=options.to.0 {
            let number = StepNumber(number);
            let found = index.step_on(options.line, number);
            let Some((step, entry)) = found.and_then(|step| Some((step, index.steps.get(step)?)))
            else {
                continue;
            };
            if entry.kind != StepKind::Tool {
                continue;
            }
            let call = self.recorded_call(step);
            if number.0 < options.from.0 {
                // Where the shell is depends on all that came before.
                bench.follow(&call.call);
                continue;
            }
            let is_stopped = || {
                let progress = Progress {
                    done: u64::from(number.0 - options.from.0),
                    of: u64::from(options.to.0 - options.from.0 + 1),
                    unit: Unit::Steps,
                };
                (tell.borrow_mut())(progress).is_break()
            };
            if is_stopped() {
                return Err(WorkbenchError::Stopped);
            }
            let verdict = if let Some(verdict) = call.why_not() {
                verdict
            } else {
                let before = Cursor {
                    position: entry.opened + 1,
                    branch: entry.lane.view,
                };
                self.bring_on(&mut bench, at, before);
                at = before;
                match self.session_before((options.line, number), &call, bench.directory()) {
                    Err(why) => Verdict::NotAttempted(SafeText::line(&why)),
                    Ok(before) => {
                        bench.set_session(before.session);
                        match bench.answer(&call.call, &is_stopped)? {
                            Ok(answer) => self.verdict(step, &call, &answer, &bench, &terms),
                            Err(why) => Verdict::NotAttempted(SafeText::line(&why.to_string())),
                        }
                    }
                }
            };
            bench.follow(&call.call);
            if let Some(row) = self.row(options.line, number) {
                replay.calls.push(ReplayedCall { row, verdict });
            }
        }
        let is_elsewhere = |seen: &PathBuf| {
            let root = self.header.root.as_deref();
            root.is_some_and(|root| seen.as_os_str() != root.trim_end_matches('/'))
        };
        replay.seen_at = bench.seen_at().map(Into::into).filter(is_elsewhere);
        replay.clock = bench.clock();
        Ok(replay)
    }

    /// Whether the shell of this run's agent stays where a command left it.
    pub(super) fn keeps_directory(&self) -> bool {
        let agent = self.header.agent.as_deref().unwrap_or_default();
        agent.starts_with("claude")
    }
}
