//! Time as a tape knows it: microseconds since the run began.

/// Microseconds since the run began. The order of lines is the truth: this may go backwards.
pub type Micros = u64;

/// A wall-clock time, microseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(pub i64);

impl WallTime {
    /// Reads an RFC 3339 timestamp such as `2026-01-01T10:00:01.000Z`.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(|timestamp| Self(timestamp.as_microsecond()))
    }

    /// Microseconds from `earlier` to this time; 0 when `earlier` is later.
    pub fn since(self, earlier: Self) -> Micros {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

impl std::fmt::Display for WallTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => write!(f, "{} µs after the Unix epoch", self.0),
        }
    }
}
