//! How far something long has come, and how it is told to stop.
//!
//! Whoever works tells; whoever listens may break it off. Nothing here shows anything, or
//! knows a clock.

use std::ops::ControlFlow;

/// Who is told how far something has come, every now and then; a break ends it early.
pub type Tell<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// How far something has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is done.
    pub done: u64,
    /// What there was to do when it began; a file that grows meanwhile may give more.
    pub of: u64,
    /// What is counted.
    pub unit: Unit,
}

/// What a progress counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a file.
    #[default]
    Bytes,
    /// Steps of a run.
    Steps,
    /// Entries of a tree.
    Entries,
    /// Runs of a command.
    Runs,
    /// Test cases.
    Cases,
    /// Seconds of those that there are for it.
    Seconds,
}

impl Progress {
    /// So many bytes of so many.
    pub const fn bytes(done: u64, of: u64) -> Self {
        Self {
            done,
            of,
            unit: Unit::Bytes,
        }
    }

    /// How much is done, in percent. All there was to do may be done before it is over: 100
    /// is said by who ended.
    pub fn percent(self) -> u64 {
        let (done, of) = (u128::from(self.done), u128::from(self.of.max(1)));
        u64::try_from(done * 100 / of).unwrap_or(99).min(99)
    }

    /// The progress of one of several passes over the same things, told as a progress of all
    /// of them: so many hundredths are over when the pass begins, and when it ends.
    #[must_use]
    pub fn within(self, from: u64, to: u64) -> Self {
        let share = u128::from(to.saturating_sub(from)) * u128::from(self.done.min(self.of));
        let all = u128::from(from) * u128::from(self.of) + share;
        Self {
            done: u64::try_from(all / 100).unwrap_or(self.of),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_a_part_of_the_whole() {
        let half = Progress::bytes(50, 100);
        assert_eq!(half.percent(), 50);
        assert_eq!(half.within(0, 20).done, 10);
        assert_eq!(half.within(20, 100).done, 60);
        assert_eq!(
            Progress::bytes(u64::MAX, u64::MAX)
                .within(20, 100)
                .percent(),
            99
        );
        assert_eq!(Progress::bytes(7, 0).percent(), 99);
        assert_eq!(Progress::default().percent(), 0);
    }
}
