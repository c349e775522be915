//! Numbers near a base, in as few bytes as they need.

use crate::tape::cache::{Column, Reader, Writer};

/// Numbers stored as distances from a base: two bytes each while they fit, then four,
/// then eight. Widening copies the column once; columns are short (a block of events).
#[derive(Clone, Debug)]
pub(super) struct Distances {
    base: u64,
    column: Widths,
}

#[derive(Clone, Debug)]
enum Widths {
    Two(Column<u16>),
    Four(Column<u32>),
    Eight(Column<u64>),
}

impl Distances {
    /// An empty column; most of its numbers are expected at or a little above `base`.
    pub(super) fn new(base: u64) -> Self {
        Self {
            base,
            column: Widths::Two(Column::default()),
        }
    }

    pub(super) fn push(&mut self, value: u64) {
        let distance = value.wrapping_sub(self.base);
        match &mut self.column {
            Widths::Two(column) if let Ok(distance) = distance.try_into() => {
                column.to_mut().push(distance);
            }
            Widths::Four(column) if let Ok(distance) = distance.try_into() => {
                column.to_mut().push(distance);
            }
            Widths::Eight(column) => column.to_mut().push(distance),
            Widths::Two(_) | Widths::Four(_) => self.widen_and_push(distance),
        }
    }

    /// The number at `at`; the base where there is none.
    pub(super) fn get(&self, at: usize) -> u64 {
        let distance = match &self.column {
            Widths::Two(column) => column.get(at).copied().map(u64::from),
            Widths::Four(column) => column.get(at).copied().map(u64::from),
            Widths::Eight(column) => column.get(at).copied(),
        };
        self.base.wrapping_add(distance.unwrap_or(0))
    }

    /// Gives back the room for numbers that will not come.
    pub(super) fn shrink(&mut self) {
        match &mut self.column {
            Widths::Two(column) => column.to_mut().shrink_to_fit(),
            Widths::Four(column) => column.to_mut().shrink_to_fit(),
            Widths::Eight(column) => column.to_mut().shrink_to_fit(),
        }
    }

    /// The first of them, all moved by so much, modulo 2^64.
    pub(super) fn cut(&self, len: usize, moved: u64) -> Self {
        let column = match &self.column {
            Widths::Two(column) => Widths::Two(column.cut(len)),
            Widths::Four(column) => Widths::Four(column.cut(len)),
            Widths::Eight(column) => Widths::Eight(column.cut(len)),
        };
        Self {
            base: self.base.wrapping_add(moved),
            column,
        }
    }

    /// What the distances are from.
    pub(super) const fn base(&self) -> u64 {
        self.base
    }

    /// Writes the distances.
    pub(super) fn write(&self, out: &mut Writer<'_>) {
        match &self.column {
            Widths::Two(column) => out.column(column),
            Widths::Four(column) => out.column(column),
            Widths::Eight(column) => out.column(column),
        }
    }

    /// Takes the distances from this base.
    pub(super) fn read(from: &mut Reader, base: u64) -> Self {
        let column = match from.next_width() {
            2 => Widths::Two(from.column()),
            4 => Widths::Four(from.column()),
            _ => Widths::Eight(from.column()),
        };
        Self { base, column }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match &self.column {
            Widths::Two(column) => column.len(),
            Widths::Four(column) => column.len(),
            Widths::Eight(column) => column.len(),
        }
    }

    #[cold]
    fn widen_and_push(&mut self, distance: u64) {
        if let Widths::Two(column) = &self.column {
            self.column = Widths::Four(column.iter().copied().map(u32::from).collect());
        }
        if let Widths::Four(column) = &mut self.column {
            if let Ok(distance) = distance.try_into() {
                return column.to_mut().push(distance);
            }
            let mut wide: Column<u64> = column.iter().copied().map(u64::from).collect();
            wide.to_mut().push(distance);
            self.column = Widths::Eight(wide);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_through_every_width() {
        let numbers = [70, 71, 70_000, 3, 9_000_000_000, u64::MAX, 0];
        let mut column = Distances::new(70);
        for number in numbers {
            column.push(number);
        }
        let seen: Vec<u64> = (0..numbers.len()).map(|at| column.get(at)).collect();
        assert_eq!(seen, numbers);
    }
}
