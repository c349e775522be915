//! In which order the parts of a difference stand, and where each ends.
//!
//! Parts are found by their row with a binary search, in either form.

use std::ops::Range;

use super::Form;

/// The parts of a difference, with the rows up to the end of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    parts: Vec<(Part, [usize; 2])>,
}

/// Rows of one sort.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// One row for these lines of a gap.
    Fold(usize, Range<usize>),
    /// These lines of a gap.
    Lines(usize, Range<usize>),
    /// A hunk.
    Hunk(usize),
}

impl Plan {
    /// Adds a part with so many rows in each form, unless it has none.
    pub(super) fn push(&mut self, part: Part, [unified, beside]: [usize; 2]) {
        if unified + beside > 0 {
            let [unified_end, beside_end] = self.parts.last().map_or([0; 2], |(_, ends)| *ends);
            let ends = [unified_end + unified, beside_end + beside];
            self.parts.push((part, ends));
        }
    }

    pub(super) fn len(&self, form: Form) -> usize {
        self.parts.last().map_or(0, |(_, ends)| end(*ends, form))
    }

    /// The parts from a row on: each with its first row that is wanted, and how many it has.
    pub(super) fn parts(
        &self,
        form: Form,
        from: usize,
    ) -> impl Iterator<Item = (&Part, usize, usize)> {
        let first = self
            .parts
            .partition_point(|(_, ends)| end(*ends, form) <= from);
        (first..self.parts.len()).filter_map(move |at| {
            let (part, ends) = self.parts.get(at)?;
            let start = self.start(form, at);
            Some((part, from.saturating_sub(start), end(*ends, form) - start))
        })
    }

    /// The row that is so many rows into the first part that `wanted` knows.
    pub(super) fn find(
        &self,
        form: Form,
        wanted: impl Fn(&Part) -> Option<usize>,
    ) -> Option<usize> {
        let mut parts = self.parts.iter().enumerate();
        parts.find_map(|(at, (part, _))| Some(self.start(form, at) + wanted(part)?))
    }

    fn start(&self, form: Form, at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|before| self.parts.get(before));
        before.map_or(0, |(_, ends)| end(*ends, form))
    }
}

fn end([unified, beside]: [usize; 2], form: Form) -> usize {
    match form {
        Form::Unified => unified,
        Form::SideBySide => beside,
    }
}
