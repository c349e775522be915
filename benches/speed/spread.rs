//! Durations of single cases, and their quantiles.

use std::time::Duration;

/// Durations, to be asked for their quantiles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread(pub(crate) Vec<Duration>);

impl Spread {
    /// The duration that this share of them does not exceed.
    pub(crate) fn at(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let index = (share * sorted.len() as f64).ceil() as usize;
        let duration = sorted.get(index.saturating_sub(1)).copied();
        duration.unwrap_or_default()
    }

    /// The duration in the middle.
    pub(crate) fn median(&self) -> Duration {
        self.at(0.5)
    }
}
