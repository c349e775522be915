//! Branches: lines of events with their own file state, and how steps are numbered on them.

use std::ops::Range;

use crate::model::StepNumber;
use crate::tape::cache::{Keep, Reader, Writer};

/// What sort of branch it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// The main line, a rewind or a worktree: it numbers its own steps.
    Line,
    /// A transaction: its steps are numbered on the line it lies in.
    Transaction,
}

/// A branch.
#[derive(Clone, Debug)]
pub struct BranchEntry {
    /// Its name; `main` for the main line, the id of a transaction.
    pub name: String,
    /// What sort it is.
    pub kind: BranchKind,
    /// The branch it left, and how many events had happened.
    pub parent: Option<(u16, u32)>,
    /// The event that named it first.
    pub(super) named_at: u32,
    /// Of a line: the steps it shares with its parent.
    pub inherited: u32,
    /// Its own steps as runs: the number of the first, the index's number of the first, how many.
    runs: Vec<(u32, u32, u32)>,
    own: u32,
}

impl BranchEntry {
    pub(super) const fn new(
        name: String,
        kind: BranchKind,
        parent: Option<(u16, u32)>,
        named_at: u32,
        inherited: u32,
    ) -> Self {
        Self {
            name,
            kind,
            parent,
            named_at,
            inherited,
            runs: Vec::new(),
            own: 0,
        }
    }

    /// The branch as it was when the index had so many steps.
    pub(super) fn cut(&self, steps: u32) -> Self {
        let before = self.runs.partition_point(|(_, step, _)| *step < steps);
        let mut runs = self.runs.get(..before).unwrap_or_default().to_vec();
        if let Some((_, step, count)) = runs.last_mut() {
            *count = (*count).min(steps - *step);
        }
        let own = runs
            .last()
            .map_or(0, |(number, _, count)| number + count - 1 - self.inherited);
        Self {
            name: self.name.clone(),
            runs,
            own,
            ..*self
        }
    }

    /// Steps on it, the inherited ones included.
    pub const fn steps(&self) -> u32 {
        self.inherited + self.own
    }

    /// The index's number of a step of its own.
    pub fn own_step(&self, number: StepNumber) -> Option<u32> {
        let after = self.runs.partition_point(|run| run.0 <= number.0);
        let (first, step, count) = *self.runs.get(after.checked_sub(1)?)?;
        let ahead = number.0 - first;
        (ahead < count).then(|| step + ahead)
    }

    /// Its own steps with these numbers, in stretches.
    pub(super) fn own_stretches(
        &self,
        numbers: Range<u32>,
    ) -> impl DoubleEndedIterator<Item = Range<u32>> {
        let from = self
            .runs
            .partition_point(|(first, _, count)| first + count <= numbers.start);
        let to = self
            .runs
            .partition_point(|(first, ..)| *first < numbers.end);
        let runs = self.runs.get(from..to).unwrap_or_default();
        runs.iter().map(move |(first, step, count)| {
            let skipped = numbers.start.saturating_sub(*first);
            step + skipped..step + (numbers.end - first).min(*count)
        })
    }

    /// The number of a step of its own.
    pub fn number_of(&self, step: u32) -> Option<StepNumber> {
        let after = self.runs.partition_point(|run| run.1 <= step);
        let (number, first, count) = *self.runs.get(after.checked_sub(1)?)?;
        let ahead = step - first;
        (ahead < count).then(|| StepNumber(number + ahead))
    }

    /// How many of its own steps the index numbers below `step`.
    pub(super) fn own_before(&self, step: u32) -> u32 {
        let after = self.runs.partition_point(|run| run.1 < step);
        match after.checked_sub(1).and_then(|at| self.runs.get(at)) {
            Some((number, first, count)) => {
                number - 1 - self.inherited + (step - first).min(*count)
            }
            None => 0,
        }
    }

    pub(super) fn push_step(&mut self, step: u32) {
        let number = self.steps() + 1;
        self.own += 1;
        match self.runs.last_mut() {
            Some((_, first, count)) if *first + *count == step => *count += 1,
            _ => self.runs.push((number, step, 1)),
        }
    }
}

/// No branch: the main line has no parent.
const NO_PARENT: u32 = u32::MAX;

impl Keep for Vec<BranchEntry> {
    fn write(&self, out: &mut Writer<'_>) {
        out.lists(self.iter().map(|branch| branch.name.as_bytes()));
        let row = |branch: &BranchEntry| {
            let (parent, left) = branch
                .parent
                .map_or((NO_PARENT, 0), |(parent, left)| (u32::from(parent), left));
            let is_line = u32::from(branch.kind == BranchKind::Line);
            let runs = branch.runs.len() as u32;
            let named_at = branch.named_at;
            let steps = [branch.inherited, branch.own, runs];
            [
                is_line, parent, left, named_at, steps[0], steps[1], steps[2],
            ]
        };
        out.column(&self.iter().map(row).collect::<Vec<_>>());
        let runs = self.iter().flat_map(|branch| &branch.runs);
        let run = |(number, step, count): &(u32, u32, u32)| [*number, *step, *count];
        out.column(&runs.map(run).collect::<Vec<_>>());
    }

    fn read(from: &mut Reader) -> Self {
        let names: Vec<Box<[u8]>> = from.lists().collect();
        let rows = from.column::<[u32; 7]>();
        let all_runs = from.column::<[u32; 3]>();
        from.require(names.len() == rows.len());
        let mut runs = all_runs
            .iter()
            .map(|[number, step, count]| (*number, *step, *count));
        let branch = |(name, row): (Box<[u8]>, &[u32; 7])| {
            let [is_line, parent, left, named_at, inherited, own, count] = *row;
            BranchEntry {
                name: String::from_utf8_lossy(&name).into_owned(),
                kind: if is_line == 1 {
                    BranchKind::Line
                } else {
                    BranchKind::Transaction
                },
                parent: (parent != NO_PARENT).then_some((parent as u16, left)),
                named_at,
                inherited,
                runs: runs.by_ref().take(count as usize).collect(),
                own,
            }
        };
        names.into_iter().zip(rows.iter()).map(branch).collect()
    }
}
