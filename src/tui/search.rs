//! A search and what it has found so far.

use super::held::Ticket;
use super::job::Progress;
use crate::debugger::{Direction, HitRow, Spot};
use crate::text::SafeText;

/// A search that runs or has run.
#[derive(Debug)]
pub(super) struct Search {
    /// What is searched.
    pub(super) query: String,
    /// Which replies belong to it.
    pub(super) ticket: Ticket,
    /// How far it is.
    pub(super) progress: Progress,
    /// The playhead goes to the first hit as soon as there is one.
    pub(super) is_jump_due: bool,
    hits: Vec<HitRow>,
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
    pub(super) fn new(query: String, ticket: Ticket) -> Self {
        Self {
            query,
            ticket,
            progress: Progress::Running,
            is_jump_due: true,
            hits: Vec::new(),
        }
    }

    /// Takes some more hits, in the order of the tape.
    pub(super) fn push(&mut self, hits: Vec<HitRow>, progress: Progress) {
        self.hits.extend(hits);
        self.progress = progress;
    }

    /// How many hits there are so far.
    pub(super) fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether more hits may come.
    pub(super) fn is_running(&self) -> bool {
        self.progress == Progress::Running
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

    /// The search in words: `/parse 17 hits`.
    pub(super) fn describe(&self) -> SafeText {
        let query = &self.query;
        let hits = match (self.hits.len(), &self.progress) {
            (count, Progress::Running) => format!("{count} hits so far, searching …"),
            (count, Progress::Full) => format!("the first {count} hits"),
            (_, Progress::Failed(why)) => why.to_string(),
            (0, Progress::Finished) => "nothing found".into(),
            (1, Progress::Finished) => "1 hit".into(),
            (count, Progress::Finished) => format!("{count} hits"),
        };
        SafeText::line(&format!("/{query}  {hits}"))
    }
}
