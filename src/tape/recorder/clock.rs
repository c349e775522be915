//! The time of events that say none.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::model::{Micros, WallTime};

/// What time an event has that says none.
#[derive(Debug)]
pub(super) enum Clock {
    /// That of the event before: nothing in memory depends on when it was written.
    Still,
    Running {
        at_start: Micros,
        since: Instant,
    },
}

impl Clock {
    /// A clock that runs from now, on a tape whose run began at `started`.
    pub(super) fn running(started: Option<WallTime>) -> Self {
        Self::Running {
            at_start: started.map_or(0, |started| now().since(started)),
            since: Instant::now(),
        }
    }

    /// A clock of a tape that is gone on with, and whose last event is of the time `last`.
    pub(super) fn going_on(started: Option<WallTime>, last: Micros) -> Self {
        match started {
            Some(started) => Self::running(Some(started)),
            None => Self::Running {
                at_start: last,
                since: Instant::now(),
            },
        }
    }

    /// The time of the event that comes next, `last` being that of the one before.
    pub(super) fn time(&self, last: Micros) -> Micros {
        match self {
            Self::Still => last,
            Self::Running { at_start, since } => {
                let passed = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
                at_start.saturating_add(passed)
            }
        }
    }
}

/// The wall clock.
pub(super) fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallTime(since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }))
}
