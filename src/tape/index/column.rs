//! A column of numbers near a base, in as few bytes as they need.

/// Numbers stored as distances from a base: two bytes each while they fit, then four,
/// then eight. Widening copies the column once; columns are short (a block of events).
#[derive(Clone, Debug)]
pub(super) struct Column {
    base: u64,
    distances: Distances,
}

#[derive(Clone, Debug)]
enum Distances {
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl Column {
    /// An empty column; most of its numbers are expected at or a little above `base`.
    pub(super) const fn new(base: u64) -> Self {
        Self {
            base,
            distances: Distances::Two(Vec::new()),
        }
    }

    pub(super) fn push(&mut self, value: u64) {
        let distance = value.wrapping_sub(self.base);
        match &mut self.distances {
            Distances::Two(column) if let Ok(distance) = distance.try_into() => {
                column.push(distance);
            }
            Distances::Four(column) if let Ok(distance) = distance.try_into() => {
                column.push(distance);
            }
            Distances::Eight(column) => column.push(distance),
            Distances::Two(_) | Distances::Four(_) => self.widen_and_push(distance),
        }
    }

    /// The number at `at`; the base where there is none.
    pub(super) fn get(&self, at: usize) -> u64 {
        let distance = match &self.distances {
            Distances::Two(column) => column.get(at).copied().map(u64::from),
            Distances::Four(column) => column.get(at).copied().map(u64::from),
            Distances::Eight(column) => column.get(at).copied(),
        };
        self.base.wrapping_add(distance.unwrap_or(0))
    }

    /// Gives back the room for numbers that will not come.
    pub(super) fn shrink(&mut self) {
        match &mut self.distances {
            Distances::Two(column) => column.shrink_to_fit(),
            Distances::Four(column) => column.shrink_to_fit(),
            Distances::Eight(column) => column.shrink_to_fit(),
        }
    }

    #[cold]
    fn widen_and_push(&mut self, distance: u64) {
        if let Distances::Two(column) = &self.distances {
            self.distances = Distances::Four(column.iter().copied().map(u32::from).collect());
        }
        if let Distances::Four(column) = &mut self.distances {
            if let Ok(distance) = distance.try_into() {
                return column.push(distance);
            }
            let mut wide: Vec<u64> = column.iter().copied().map(u64::from).collect();
            wide.push(distance);
            self.distances = Distances::Eight(wide);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_through_every_width() {
        let numbers = [70, 71, 70_000, 3, 9_000_000_000, u64::MAX, 0];
        let mut column = Column::new(70);
        for number in numbers {
            column.push(number);
        }
        let seen: Vec<u64> = (0..numbers.len()).map(|at| column.get(at)).collect();
        assert_eq!(seen, numbers);
    }
}
