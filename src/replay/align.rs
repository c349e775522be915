//! Which step of one line is which of another.
//!
//! Steps are paired from the strongest likeness to the weakest: those that are the same,
//! then those that ask the same, then those of the same sort; a weaker pair never crosses a
//! stronger one. What is left has no counterpart. The result is kept as stretches, so that
//! two lines that are alike cost little however long they are, and every question about a
//! row is a binary search.

use std::hash::Hash;
use std::ops::Range;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::fingerprint::{Fingerprint, Parts};
use crate::model::StepNumber;
use crate::text::diff::{Common, common};

/// How long an alignment may be looked for, unless said otherwise.
pub const BUDGET: Duration = Duration::from_secs(1);

/// How the two steps of a row stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are the same.
    Same,
    /// They are of one sort, and differ in these parts.
    Changed(Parts),
    /// Only the left line has a step here.
    OnlyLeft,
    /// Only the right line has a step here.
    OnlyRight,
}

impl Relation {
    /// Whether the two lines differ here.
    pub fn is_difference(self) -> bool {
        self != Self::Same
    }

    const fn has_left(self) -> bool {
        !matches!(self, Self::OnlyRight)
    }

    const fn has_right(self) -> bool {
        !matches!(self, Self::OnlyLeft)
    }
}

/// Rows one after the other that stand in one relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// How the two steps of each row stand to each other.
    pub relation: Relation,
    /// The first row, from 1.
    pub row: u32,
    /// How many rows.
    pub len: u32,
    /// The steps of the left line before it.
    pub left: u32,
    /// The steps of the right line before it.
    pub right: u32,
    /// The rows before it whose steps are paired and differ.
    changed: u32,
}

/// A row: a step of the left line beside its counterpart on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The row, from 1.
    pub row: u32,
    /// How the two stand to each other.
    pub relation: Relation,
    /// The step of the left line, if there is one.
    pub left: Option<StepNumber>,
    /// The step of the right line, if there is one.
    pub right: Option<StepNumber>,
}

/// How many rows there are of each relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Steps that are the same.
    pub same: u32,
    /// Steps that are paired and differ.
    pub changed: u32,
    /// Steps of the left line alone.
    pub only_left: u32,
    /// Steps of the right line alone.
    pub only_right: u32,
}

impl Tally {
    /// Whether any row is a difference.
    pub const fn has_difference(self) -> bool {
        self.changed + self.only_left + self.only_right > 0
    }
}

/// The steps of two lines side by side.
///
/// Rows count from 1; row 0 is the place before the first step of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    stretches: Vec<Stretch>,
    /// Where the lines differ: rows, whatever the difference is, as far as they hang together.
    differences: Vec<Range<u32>>,
    rows: u32,
    steps: (u32, u32),
    changed: u32,
    is_coarse: bool,
}

impl Alignment {
    /// Aligns two lines, for about as long as `budget` ([`BUDGET`]) at most; then coarser.
    pub fn of(left: &[Fingerprint], right: &[Fingerprint], budget: Duration) -> Self {
        let deadline = Instant::now() + budget;
        let mut search = Search {
            left,
            right,
            deadline,
            pairs: Vec::new(),
            is_coarse: false,
        };
        let gaps = vec![(0..left.len(), 0..right.len())];
        let gaps = search.pair_ends(gaps);
        let gaps = search.pair_by(gaps, Fingerprint::whole);
        let gaps = search.pair_by(gaps, Fingerprint::request);
        search.pair_by(gaps, Fingerprint::sort);
        search.finish()
    }

    /// The stretches, in order.
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// The last row.
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// The steps of the left line and of the right one.
    pub const fn steps(&self) -> (u32, u32) {
        self.steps
    }

    /// Time ran out: true, but fewer steps may be paired than could be.
    pub const fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// How many rows there are of each relation.
    pub fn tally(&self) -> Tally {
        self.tally_before(self.rows.saturating_add(1))
    }

    /// How many rows there are of each relation in a range of rows.
    pub fn tally_of(&self, rows: Range<u32>) -> Tally {
        let (before, after) = (self.tally_before(rows.start), self.tally_before(rows.end));
        Tally {
            same: after.same.saturating_sub(before.same),
            changed: after.changed.saturating_sub(before.changed),
            only_left: after.only_left.saturating_sub(before.only_left),
            only_right: after.only_right.saturating_sub(before.only_right),
        }
    }

    fn tally_before(&self, row: u32) -> Tally {
        let row = row.min(self.rows.saturating_add(1)).max(1);
        let (left, right, changed) = match self.stretch_at(row) {
            Some(stretch) => {
                let inside = row - stretch.row;
                let of = |is_counted| if is_counted { inside } else { 0 };
                let is_changed = matches!(stretch.relation, Relation::Changed(_));
                (
                    stretch.left + of(stretch.relation.has_left()),
                    stretch.right + of(stretch.relation.has_right()),
                    stretch.changed + of(is_changed),
                )
            }
            None => (self.steps.0, self.steps.1, self.changed),
        };
        // Each row has a step on the left, on the right, or on both.
        let paired = (left + right).saturating_sub(row - 1);
        Tally {
            same: paired - changed,
            changed,
            only_left: left - paired,
            only_right: right - paired,
        }
    }

    fn stretch_at(&self, row: u32) -> Option<&Stretch> {
        let after = self.stretches.partition_point(|stretch| stretch.row <= row);
        let stretch = self.stretches.get(after.checked_sub(1)?)?;
        (row - stretch.row < stretch.len).then_some(stretch)
    }

    /// A row; `None` for row 0 and behind the last one.
    pub fn pair(&self, row: u32) -> Option<Pair> {
        let stretch = self.stretch_at(row)?;
        let step = |before: u32| Some(StepNumber(before + row - stretch.row + 1));
        Some(Pair {
            row,
            relation: stretch.relation,
            left: step(stretch.left).filter(|_| stretch.relation.has_left()),
            right: step(stretch.right).filter(|_| stretch.relation.has_right()),
        })
    }

    /// How far both lines have come at a row: their last steps up to it.
    pub fn steps_at(&self, row: u32) -> (StepNumber, StepNumber) {
        let tally = self.tally_before(row.saturating_add(1));
        let paired = tally.same + tally.changed;
        (
            StepNumber(paired + tally.only_left),
            StepNumber(paired + tally.only_right),
        )
    }

    /// The row of a step of the left line; 0 before the first one.
    pub fn row_of_left(&self, step: StepNumber) -> u32 {
        self.row_of(step, |stretch| (stretch.left, stretch.relation.has_left()))
    }

    /// The row of a step of the right line; 0 before the first one.
    pub fn row_of_right(&self, step: StepNumber) -> u32 {
        self.row_of(step, |stretch| {
            (stretch.right, stretch.relation.has_right())
        })
    }

    fn row_of(&self, step: StepNumber, side: impl Fn(&Stretch) -> (u32, bool)) -> u32 {
        // The stretch that holds the step is the last one with fewer steps before it: those
        // behind it that have none of this side begin with as many as the step's number.
        let after = self
            .stretches
            .partition_point(|stretch| side(stretch).0 < step.0);
        let before = self.stretches.get(..after).unwrap_or_default();
        let holds = |stretch: &&Stretch| side(stretch).1;
        before.iter().rev().find(holds).map_or(0, |stretch| {
            let inside = step.0 - side(stretch).0 - 1;
            stretch.row + inside.min(stretch.len - 1)
        })
    }

    /// Where the two lines part: the first row in which they differ. Where only one of them
    /// has a step there, the next one of the other before they meet again stands beside it.
    pub fn divergence(&self) -> Option<Pair> {
        let rows = self.differences.first()?;
        let first = self.pair(rows.start)?;
        let (before, after) = (self.steps_at(rows.start - 1), self.steps_at(rows.end - 1));
        let next = |before: StepNumber, after: StepNumber| {
            (after > before).then_some(StepNumber(before.0 + 1))
        };
        Some(Pair {
            left: next(before.0, after.0),
            right: next(before.1, after.1),
            ..first
        })
    }

    /// Where they meet again after they parted for the first time: rows that are the same.
    pub fn meeting(&self) -> Option<Stretch> {
        self.stretch_at(self.differences.first()?.end).copied()
    }

    /// How many places there are in which the lines differ.
    pub fn differences(&self) -> usize {
        self.differences.len()
    }

    /// The first row of the next place in which the lines differ.
    pub fn difference_after(&self, row: u32) -> Option<u32> {
        let next = self.differences.partition_point(|rows| rows.start <= row);
        Some(self.differences.get(next)?.start)
    }

    /// The first row of the place before, or of the one that `row` is inside of.
    pub fn difference_before(&self, row: u32) -> Option<u32> {
        let before = self.differences.partition_point(|rows| rows.start < row);
        Some(self.differences.get(before.checked_sub(1)?)?.start)
    }

    fn push(&mut self, relation: Relation, len: u32) {
        if len == 0 {
            return;
        }
        if relation.is_difference() {
            match self.differences.last_mut() {
                Some(rows) if rows.end == self.rows + 1 => rows.end += len,
                _ => self.differences.push(self.rows + 1..self.rows + 1 + len),
            }
        }
        match self.stretches.last_mut() {
            Some(last) if last.relation == relation => last.len += len,
            _ => self.stretches.push(Stretch {
                relation,
                row: self.rows + 1,
                len,
                left: self.steps.0,
                right: self.steps.1,
                changed: self.changed,
            }),
        }
        self.rows += len;
        self.steps.0 += if relation.has_left() { len } else { 0 };
        self.steps.1 += if relation.has_right() { len } else { 0 };
        self.changed += match relation {
            Relation::Changed(_) => len,
            _ => 0,
        };
    }
}

/// Steps of both lines, by their indices, that are not paired yet.
type Gap = (Range<usize>, Range<usize>);

struct Search<'a> {
    left: &'a [Fingerprint],
    right: &'a [Fingerprint],
    deadline: Instant,
    /// Stretches that are paired, by their indices.
    pairs: Vec<Common>,
    is_coarse: bool,
}

impl Search<'_> {
    /// Pairs what is the same at both ends: all there is in most runs, and the cheapest.
    fn pair_ends(&mut self, gaps: Vec<Gap>) -> Vec<Gap> {
        let mut rest = Vec::new();
        for (left, right) in gaps {
            let (one, two) = (
                self.left.get(left.clone()).unwrap_or_default(),
                self.right.get(right.clone()).unwrap_or_default(),
            );
            let is_same = |(one, two): &(&Fingerprint, &Fingerprint)| one.whole() == two.whole();
            let head = one.iter().zip(two).take_while(is_same).count();
            let shorter = one.len().min(two.len()) - head;
            let ends = one.iter().rev().zip(two.iter().rev()).take(shorter);
            let tail = ends.take_while(is_same).count();
            let inner = (
                left.start + head..left.end - tail,
                right.start + head..right.end - tail,
            );
            self.pair(left.start, right.start, head);
            self.pair(inner.0.end, inner.1.end, tail);
            rest.push(inner);
        }
        rest
    }

    /// Pairs, in each gap, the steps with equal keys as far as they come in the same order.
    /// What is left are the gaps between them.
    fn pair_by<K: Eq + Hash>(
        &mut self,
        gaps: Vec<Gap>,
        key: impl Fn(&Fingerprint) -> K,
    ) -> Vec<Gap> {
        let mut rest = Vec::new();
        for (left, right) in gaps {
            if left.is_empty() || right.is_empty() {
                continue;
            }
            let mut numbers: HashMap<K, u32, FixedState> = HashMap::default();
            let mut number = |steps: &[Fingerprint]| -> Vec<u32> {
                let numbered = steps.iter().map(|step| {
                    let next = numbers.len() as u32;
                    *numbers.entry(key(step)).or_insert(next)
                });
                numbered.collect()
            };
            let one = number(self.left.get(left.clone()).unwrap_or_default());
            let two = number(self.right.get(right.clone()).unwrap_or_default());
            let (found, is_coarse) = common(&one, &two, self.deadline);
            self.is_coarse |= is_coarse;
            let (mut left_at, mut right_at) = (left.start, right.start);
            for Common { old, new, len } in found {
                let (old, new) = (left.start + old, right.start + new);
                rest.push((left_at..old, right_at..new));
                self.pair(old, new, len);
                (left_at, right_at) = (old + len, new + len);
            }
            rest.push((left_at..left.end, right_at..right.end));
        }
        rest
    }

    fn pair(&mut self, old: usize, new: usize, len: usize) {
        if len > 0 {
            self.pairs.push(Common { old, new, len });
        }
    }

    fn finish(mut self) -> Alignment {
        self.pairs.sort_unstable_by_key(|pair| pair.old);
        let mut alignment = Alignment {
            is_coarse: self.is_coarse,
            ..Alignment::default()
        };
        let (mut left_at, mut right_at) = (0, 0);
        let ends = Common {
            old: self.left.len(),
            new: self.right.len(),
            len: 0,
        };
        for Common { old, new, len } in self.pairs.into_iter().chain([ends]) {
            alignment.push(Relation::OnlyLeft, (old - left_at) as u32);
            alignment.push(Relation::OnlyRight, (new - right_at) as u32);
            (left_at, right_at) = (old + len, new + len);
            let one = self.left.get(old..left_at).unwrap_or_default();
            let two = self.right.get(new..right_at).unwrap_or_default();
            for (one, two) in one.iter().zip(two) {
                let parts = one.parts_unlike(two);
                let relation = if parts.is_empty() {
                    Relation::Same
                } else {
                    Relation::Changed(parts)
                };
                alignment.push(relation, 1);
            }
        }
        alignment
    }
}

#[cfg(test)]
mod tests;
