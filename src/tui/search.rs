//! A search and what it has found so far.

use super::held::Ticket;
use super::job::Progress;
use crate::debugger::{Direction, HitRow, Spot};
use crate::model;
use crate::text::{SafeText, human};

/// A search that runs or has run.
#[derive(Debug)]
pub(super) struct Search {
    /// What is searched.
    pub(super) query: String,
    /// The branch whose steps are searched.
    pub(super) branch: u16,
    /// Which replies belong to it.
    pub(super) ticket: Ticket,
    /// How far it is.
    pub(super) progress: Progress,
    /// What becomes of the playhead once there is a hit.
    pub(super) aim: Aim,
    /// Which steps the timeline lists.
    pub(super) filter: Filter,
    hits: Vec<HitRow>,
    /// The steps of the hits, each once.
    steps: Vec<u32>,
}

/// What becomes of the playhead once there is a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// It stays: the query is still being typed, or it has been there.
    Stay,
    /// It goes to the first one.
    Jump,
}

/// Which steps the timeline lists while there is a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Filter {
    /// All.
    #[default]
    Off,
    /// Those with a hit, and the one the playhead is in.
    Hits,
}

/// A hit with its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    /// The hit.
    pub(super) hit: &'a HitRow,
    /// Its number, from 1.
    pub(super) number: usize,
    /// Whether it was reached past the end of the run.
    pub(super) is_around: bool,
}

impl Search {
    /// A search that has begun.
    pub(super) fn new(query: String, branch: u16, ticket: Ticket, filter: Filter) -> Self {
        Self {
            query,
            branch,
            ticket,
            progress: Progress::Running(model::Progress::default()),
            aim: Aim::Stay,
            filter,
            hits: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Takes some more hits, in the order of the tape.
    pub(super) fn push(&mut self, hits: Vec<HitRow>, progress: Progress) {
        for hit in hits {
            if self.steps.last() != Some(&hit.spot.step.0) {
                self.steps.push(hit.spot.step.0);
            }
            self.hits.push(hit);
        }
        self.progress = progress;
    }

    /// The steps with a hit so far, in order.
    pub(super) fn steps(&self) -> &[u32] {
        &self.steps
    }

    /// Whether there is a hit from one step to another, both included.
    pub(super) fn has_hit_in(&self, (first, last): (u32, u32)) -> bool {
        let next = self.steps.partition_point(|step| *step < first);
        self.steps.get(next).is_some_and(|step| *step <= last)
    }

    /// The step with a hit that is so many further on, or back; as far as there are any.
    pub(super) fn step_from(&self, here: u32, delta: i64) -> Option<u32> {
        let count = usize::try_from(delta.unsigned_abs()).unwrap_or(usize::MAX);
        let index = if delta > 0 {
            let next = self.steps.partition_point(|step| *step <= here);
            let last = self.steps.len().checked_sub(1)?;
            (next <= last).then(|| next.saturating_add(count - 1).min(last))?
        } else {
            let before = self.steps.partition_point(|step| *step < here);
            before
                .checked_sub(1)?
                .saturating_sub(count.saturating_sub(1))
        };
        self.steps.get(index).copied()
    }

    /// How many hits there are so far.
    pub(super) fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether more hits may come.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.progress, Progress::Running(_))
    }

    /// The next hit at another place; around the end, if no more can come.
    pub(super) fn next(&self, from: Spot, direction: Direction) -> Option<Found<'_>> {
        let place = |hit: &HitRow| hit.spot.cursor.position;
        let here = from.cursor.position;
        let (index, is_around) = match direction {
            Direction::Forward => {
                let next = self.hits.partition_point(|hit| place(hit) <= here);
                (next, next == self.hits.len())
            }
            Direction::Back => {
                let next = self.hits.partition_point(|hit| place(hit) < here);
                (next.wrapping_sub(1), next == 0)
            }
        };
        let index = match (is_around, direction) {
            (false, _) => index,
            (true, _) if self.is_running() => return None,
            (true, Direction::Forward) => 0,
            (true, Direction::Back) => self.hits.len().checked_sub(1)?,
        };
        Some(Found {
            hit: self.hits.get(index)?,
            number: index + 1,
            is_around,
        })
    }

    /// The search in words: `/parse  17 hits`.
    pub(super) fn describe(&self) -> SafeText {
        SafeText::line(&format!("/{}  {}", self.query, self.found()))
    }

    /// What it has found, in words.
    pub(super) fn found(&self) -> SafeText {
        SafeText::line(&match (self.hits.len(), &self.progress) {
            (count, Progress::Running(progress)) => {
                let hits = human::plural(count as u64, "hit", "hits");
                format!("searching {} % · {hits}", progress.percent())
            }
            (count, Progress::Full) => format!("the first {count} hits"),
            (_, Progress::Failed(why)) => why.to_string(),
            (0, Progress::Finished) => "nothing found".into(),
            (1, Progress::Finished) => "1 hit".into(),
            (count, Progress::Finished) => format!("{count} hits"),
        })
    }
}
