//! What became of a fork, as its tape tells: how its answers came about, and why it ended.
//!
//! Only the heads of the fork's own lines are read: what it shares is its parent's.

use std::io;
use std::ops::ControlFlow;

use super::ForkRow;
use crate::debugger::parents::tape_at;
use crate::model::{Kind, Problem, Via};
use crate::tape::{Record, ScanEnd, ScanSink, scan};
use crate::text::SafeText;

/// What became of a fork.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkAccount {
    /// How many answers came about in each way, those of which there are any.
    pub shares: Vec<(Via, usize)>,
    /// Why it ended; `None` where its tape does not say.
    pub ended: Option<SafeText>,
}

/// Lines between two looks at whether anybody still waits.
const STRIDE: usize = 256;

impl ForkRow {
    /// What became of the fork. Costs one pass over its own lines; `None` if that was stopped.
    pub fn account(&self, is_stopped: &dyn Fn() -> bool) -> io::Result<Option<ForkAccount>> {
        let found = self.path.as_deref().and_then(tape_at);
        let Some((bytes, _)) = found.filter(|(_, header)| header.id == self.id) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut count = Counting {
            counts: [0; Via::ALL.len()],
            ended: None,
            lines: 0,
            is_stopped,
            was_stopped: false,
        };
        scan(&bytes, ScanEnd::default(), &mut count)?;
        let shares = Via::ALL.into_iter().zip(count.counts);
        Ok((!count.was_stopped).then(|| ForkAccount {
            shares: shares.filter(|(_, count)| *count > 0).collect(),
            ended: count.ended,
        }))
    }
}

struct Counting<'a> {
    /// In the order of [`Via::ALL`].
    counts: [usize; Via::ALL.len()],
    ended: Option<SafeText>,
    lines: usize,
    is_stopped: &'a dyn Fn() -> bool,
    was_stopped: bool,
}

impl ScanSink for Counting<'_> {
    fn record(&mut self, record: Record<'_>) -> ControlFlow<()> {
        self.lines += 1;
        if self.lines.is_multiple_of(STRIDE) && (self.is_stopped)() {
            self.was_stopped = true;
            return ControlFlow::Break(());
        }
        if let Some(via) = record.head.via {
            let ways = Via::ALL.into_iter().zip(&mut self.counts);
            for (_, count) in ways.filter(|(way, _)| *way == via) {
                *count += 1;
            }
        }
        if record.kind == Kind::End {
            let title = record.head.title;
            self.ended = title.map(|title| SafeText::line(&title.decode()));
        }
        ControlFlow::Continue(())
    }

    fn problem(&mut self, _: Problem) {}

    fn wants_whole(&self, _: Kind) -> bool {
        false
    }
}
